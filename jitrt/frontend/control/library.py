"""NumPy's functions, and the methods of arrays, in staged functions: all rows of the table."""

from __future__ import annotations

from . import creation, folding, products, shapes  # noqa: F401 (their rows are in the table then)
from .products import product
from .registry import FUNCTIONS, METHODS, scalar_if_0d, ufunc

__all__ = ["FUNCTIONS", "METHODS", "product", "scalar_if_0d", "ufunc"]
