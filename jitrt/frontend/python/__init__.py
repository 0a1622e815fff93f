"""What Python says about a function: what it reads, calls and changes, and stand-ins for what it may not use."""
