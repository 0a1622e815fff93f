"""Dtypes that are equal to others: NumPy has several types of integers of one size, and gives each its own results."""

from __future__ import annotations

import numpy as np

_TWINS = frozenset(np.dtype(c).num for c in "iIlLqQ" if np.dtype(c).num != np.dtype(np.dtype(c).str).num)


def is_twin(dtype: np.dtype) -> bool:
    """Whether `dtype` is equal to one of NumPy's usual ones, and another: ``longlong``, where ``long`` is int64.

    Kernels know the usual ones alone: what uses another runs as plain NumPy, which tells them apart.
    """
    return dtype.num in _TWINS
