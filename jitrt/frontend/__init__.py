"""From a Python function to what is compiled."""
