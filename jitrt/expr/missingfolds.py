"""Folds of values of which elements may be missing: those that are there are folded, as `numpy.ma` does.

A result is there where one of its elements is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .calls import Operation, register

Folded = tuple[Any, Any]
"""What an optional value is made of."""


def kept(x: Any) -> Any:
    """Which elements are there, one by one."""
    return np.logical_and(np.ones_like(x.value, dtype=bool), x.present)


def filled(x: Any, filling: Any) -> Any:
    """The value with `filling` in place of what is missing."""
    return np.where(kept(x), x.value, filling)


def _any(x: Any, axis: Any, options: dict[str, Any]) -> Any:
    there = np.any(kept(x), axis=axis, **{key: value for key, value in options.items() if key != "initial"})
    return np.logical_or(there, True) if "initial" in options else there


def count(x: Any, axis: Any = None, **options: Any) -> Any:
    """How many elements are there."""
    return np.sum(kept(x), axis=axis, **options)


def simple(function: Any, filling: Any) -> Any:
    """A fold in which `filling` changes nothing."""

    def fold(x: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Folded:
        typed = {} if dtype is None else {"dtype": dtype}
        return function(filled(x, filling), axis=axis, **typed, **options), _any(x, axis, options)

    return fold


def extreme(function: Any, other: np.ufunc) -> Any:
    """The smallest or largest element: what is missing is as good as the `other` extreme of all."""

    def fold(x: Any, axis: Any = None, **options: Any) -> Folded:
        filling = other.reduce(x.value, axis=None, **{k: v for k, v in options.items() if k == "initial"})
        return function(filled(x, filling), axis=axis, **options), _any(x, axis, options)

    return fold


def running(function: Any, filling: Any) -> Any:
    """A running fold, which leaves out what is missing."""

    def fold(x: Any, axis: Any = None, dtype: Any = None) -> Folded:
        there = kept(x)
        typed = {} if dtype is None else {"dtype": dtype}
        return function(filled(x, filling), axis=axis, **typed), np.ravel(there) if axis is None else there

    return fold


def _mean(value: Any, there: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    # As `numpy.ma` does it: half floats are added up as single ones.
    is_half = dtype is None and getattr(value, "dtype", None) == np.float16
    kept = np.logical_and(np.ones_like(value, dtype=bool), there)
    total = np.sum(np.where(kept, value, 0), axis=axis, dtype=np.float32 if is_half else dtype, **options)
    found = total * 1.0 / np.maximum(np.sum(kept, axis=axis, **options), 1)
    return found.astype(np.float16) if is_half else found


# An operation, as the dtype may be known at the first call only.
_MEAN = register(Operation("mean_of_present", _mean))


def mean(x: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Folded:
    """The mean of the elements that are there."""
    return _MEAN(x.value, x.present, axis=axis, dtype=dtype, **options), _any(x, axis, options)


def variance(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, **options: Any) -> Folded:
    """The variance of the elements that are there; missing where there are no more than `ddof`."""
    own = options | {"keepdims": True}
    centred = np.abs(x.value - mean(x, axis, dtype, **own)[0])
    squares = np.where(kept(x), centred * centred, 0)
    freedom = count(x, axis, **options) - ddof
    return np.sum(squares, axis=axis, **options) / np.maximum(freedom, 1), freedom > 0


def deviation(x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, **options: Any) -> Folded:
    """The square root of the variance."""
    found, there = variance(x, axis, dtype, ddof, **options)
    return np.sqrt(found), there


FOLDS = {
    "sum": simple(np.sum, 0),
    "prod": simple(np.prod, 1),
    "any": simple(np.any, False),
    "all": simple(np.all, True),
    "min": extreme(np.min, np.fmax),
    "max": extreme(np.max, np.fmin),
    "mean": mean,
    "var": variance,
    "std": deviation,
    "cumsum": running(np.cumsum, 0),
    "cumprod": running(np.cumprod, 1),
}
"""By the names of NumPy's methods."""
