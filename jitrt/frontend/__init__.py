"""From a Python function to what is compiled: tracing runs it once on symbols, staging reads its statements."""
