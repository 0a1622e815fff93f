"""Tracing: running the user's function once on symbols that record what it does."""
