"""Memory: lifetimes, what shares memory, and the layout of the frame in which a program works."""

from .pack import plan_offsets

__all__ = ["plan_offsets"]
