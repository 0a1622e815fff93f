"""From a call of a decorated function to what serves it."""
