"""What calls a function, or a ufunc, for each element or for each row, in Python. See `written`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def spread(x: Any, *others: Any) -> Any:
    """An array or a number as an array in the shape that it has together with `others`, not to be written."""
    raise NotImplementedError  # a row of the functions that procedures have


def vectorized_1(function: Any, dtype: Any, x: Any) -> Any:
    """``np.vectorize(function)(x)``: NumPy sees the type from a call with its own scalar."""
    elements = x.ravel()
    if dtype is None:
        assert len(elements) > 0
        made = np.full(len(elements), function(elements[0]))
    else:
        made = np.empty(len(elements), dtype)
    for k in range(len(elements)):
        made[k] = function(elements[k].item())
    return made.reshape(x.shape)


def vectorized_2(function: Any, dtype: Any, x: Any, y: Any) -> Any:
    """``np.vectorize(function)(x, y)``."""
    values = spread(x, y)
    first, second = values.ravel(), spread(y, x).ravel()
    if dtype is None:
        assert len(first) > 0
        made = np.full(len(first), function(first[0], second[0]))
    else:
        made = np.empty(len(first), dtype)
    for k in range(len(first)):
        made[k] = function(first[k].item(), second[k].item())
    return made.reshape(values.shape)


def _apply_along_axis(func1d: Any, axis: Any, arr: Any) -> Any:
    """For functions that give a number; the first one's type is that of the result."""
    assert arr.ndim == 2
    assert axis == 0 or axis == 1 or axis == -1
    rows = np.transpose(arr) if axis == 0 else arr
    assert len(rows) > 0
    first = func1d(rows[0])
    assert np.ndim(first) == 0
    made = np.full(len(rows), first)
    for k in range(1, len(rows)):
        made[k] = func1d(rows[k])
    return made


def _reduce(function: Any, sequence: Any, *initial: Any) -> Any:
    assert len(sequence) + len(initial) > 0
    total = initial[0] if initial else sequence[0]
    for value in sequence if initial else sequence[1:]:
        total = function(total, value)
    return total


def accumulate(iterable: Any, function: Any = None) -> Any:
    """All that ``itertools.accumulate`` gives."""
    made = [iterable[0]]
    for value in iterable[1:]:
        made.append(made[-1] + value if function is None else function(made[-1], value))
    return made


def _accumulate_ufunc(function: Any, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    assert dtype is None
    if function is np.add:
        kind = np.sum(array[:0]).dtype
    elif function is np.multiply:
        kind = np.prod(array[:0]).dtype
    else:
        kind = function(array[:0], array[:0]).dtype
        is_logical = function is np.logical_and or function is np.logical_or or function is np.logical_xor
        assert is_logical or kind == array.dtype or kind != np.bool_  # comparisons have no loop that goes on
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


def _outer_ufunc(function: Any, first: Any, second: Any) -> Any:
    assert first.ndim == 1
    assert second.ndim == 1
    return function(first[:, np.newaxis], second)


def _reduce_ufunc(function: Any, array: Any) -> Any:
    """Of those whose order does not matter, or is that of the elements."""
    is_of_bits = function is np.bitwise_and or function is np.bitwise_or or function is np.bitwise_xor
    assert is_of_bits or function is np.logaddexp or function is np.logaddexp2
    assert array.ndim == 1
    assert len(array) > 1
    total = array[0]
    for k in range(1, len(array)):
        total = function(total, array[k])
    return total


VECTORIZED: dict[int, Callable[..., Any]] = {1: vectorized_1, 2: vectorized_2}
MAPS: dict[Any, Callable[..., Any]] = {np.apply_along_axis: _apply_along_axis, functools.reduce: _reduce}
UFUNC_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce_ufunc, "accumulate": _accumulate_ufunc, "outer": _outer_ufunc,
}  # fmt: skip
