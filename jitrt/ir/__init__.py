"""The languages between the user's function and machine code: graphs of typed, immutable nodes, and loops."""
