"""NumPy's functions, and the methods of arrays, in staged functions: all rows of the table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import choosing, creation, folding, products, searching, shapes  # noqa: F401 (their rows are in the table then)
from .products import product
from .registry import FUNCTIONS, METHODS, scalar_if_0d, ufunc
from .written import WRITTEN

__all__ = ["FUNCTIONS", "METHODS", "has_loops_for", "product", "scalar_if_0d", "ufunc"]


def has_loops_for(function: Callable[..., Any]) -> bool:
    """Whether a staged function does by loops over elements what NumPy's `function` does."""
    if function in (operator.getitem, operator.setitem) or function in FUNCTIONS or function in WRITTEN:
        return True
    name = getattr(function, "__name__", "")
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return name == "at"
    return name in METHODS and getattr(np.ndarray, name, None) is function
