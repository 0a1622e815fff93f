"""NumPy's functions, and the methods of arrays, in staged functions: all rows of the table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..python.elsewhere import vectorized
from . import choosing, creation, folding, ordering, products, reshaping, searching, shapes  # noqa: F401 (their rows are in the table)
from .products import product
from .registry import FUNCTIONS, METHODS, scalar_if_0d, ufunc
from .written import WRITTEN
from .written_arrays import ARRAYS

__all__ = ["FUNCTIONS", "METHODS", "has_loops_for", "product", "scalar_if_0d", "ufunc"]


def has_loops_for(function: Callable[..., Any]) -> bool:
    """Whether a staged function does by loops over elements what NumPy's `function` does one element after the other.

    Those are choices by masks and indices, searches, and what is written in Python; views, folds, sorts, filters and
    linear algebra are NumPy's where a trace leaves them to it.
    """
    if function in (operator.getitem, operator.setitem, np.where, vectorized):
        return True
    name = getattr(function, "__name__", "")
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return name == "at"
    if function in WRITTEN:
        return function not in ARRAYS and not str(function.__module__).startswith("numpy.linalg")
    is_method = getattr(np.ndarray, name, None) is function
    row = METHODS.get(name) if is_method else FUNCTIONS.get(function)
    return getattr(row, "__module__", "") in (choosing.__name__, searching.__name__)
