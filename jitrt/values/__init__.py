"""What a call may hold, and what of that matters."""
