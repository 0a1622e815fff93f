"""Loops of a traced function whose iterations record the same: each becomes one node."""
