"""Methods of ufuncs in plain Python. See `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _accumulate(function: Any, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    assert dtype is None
    if function is np.add:
        kind = np.sum(array[:0]).dtype
    elif function is np.multiply:
        kind = np.prod(array[:0]).dtype
    else:
        kind = function(array[:0], array[:0]).dtype
    made = np.empty(array.shape, kind)
    if axis == 0 or (axis == -1 and array.ndim == 1):
        rows = array
        totals = made
    else:
        assert array.ndim == 2
        assert axis == 1 or axis == -1
        rows = np.transpose(array)
        totals = np.transpose(made)
    if len(rows) > 0:
        totals[0] = rows[0]
    for k in range(1, len(rows)):
        totals[k] = function(totals[k - 1], rows[k])
    return made


def _outer(function: Any, first: Any, second: Any) -> Any:
    assert first.ndim == 1
    assert second.ndim == 1
    return function(first[:, np.newaxis], second)


def _reduce(function: Any, array: Any) -> Any:
    """Of those whose order does not matter, or is that of the elements."""
    is_of_bits = function is np.bitwise_and or function is np.bitwise_or or function is np.bitwise_xor
    assert is_of_bits or function is np.logaddexp or function is np.logaddexp2
    assert array.ndim == 1
    assert len(array) > 1
    total = array[0]
    for k in range(1, len(array)):
        total = function(total, array[k])
    return total


UFUNC_METHODS: dict[str, Callable[..., Any]] = {"reduce": _reduce, "accumulate": _accumulate, "outer": _outer}
