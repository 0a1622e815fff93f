"""What a function was compiled to: explanations, profiles, and compiling ahead of calls."""
