"""NumPy's functions of ordered values in Python: medians, quantiles, unique values. See `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_SORTED = 1024  # elements; of more, NumPy's selection takes less time than a sort


def _rows(a: Any, axis: Any) -> Any:
    """A copy of an array with `axis` as the last one of two."""
    assert a.ndim == 2 or a.ndim == 3
    if axis == -1 or axis == a.ndim - 1:
        if a.ndim == 3:
            return a.copy().reshape(a.shape[0] * a.shape[1], a.shape[2])
        return a.copy()
    assert a.ndim == 2
    return np.transpose(a).copy()


def _shaped(made: Any, a: Any, axis: Any) -> Any:
    """Results of rows in the shape of `a` without `axis`."""
    if a.ndim == 2:
        return made
    return made.reshape(a.shape[0], a.shape[1])


def _middle(values: Any) -> Any:
    """The median of an array."""
    n = len(values)
    assert n > 0
    assert n <= _SORTED
    values = np.sort(values)
    assert values[n - 1] == values[n - 1]  # the median of nan is nan, with a sign of its own
    return np.mean(values[(n - 1) // 2 : n // 2 + 1])


def _median(a: Any, axis: Any = None) -> Any:
    if axis is None or a.ndim == 1:
        return _middle(a.flatten())
    rows = _rows(a, axis)
    made = np.empty(len(rows), np.mean(rows[:1]).dtype)
    for k in range(len(rows)):
        made[k] = _middle(rows[k])
    return _shaped(made, a, axis)


def _nanmedian(a: Any, axis: Any = None) -> Any:
    if axis is None or a.ndim == 1:
        values = a.flatten()
        return _middle(values[values == values])
    rows = _rows(a, axis)
    made = np.empty(len(rows), np.mean(rows[:1]).dtype)
    for k in range(len(rows)):
        row = rows[k]
        made[k] = _middle(row[row == row])
    return _shaped(made, a, axis)


def _between(values: Any, q: Any) -> Any:
    """The quantile `q` of a sorted array, as NumPy interpolates."""
    n = len(values)
    assert q >= 0
    assert q <= 1
    place = (n - 1) * q
    before = int(np.floor(place))
    gamma = place - before
    if before >= n - 1:
        before = n - 1
        gamma = place + 1.0
    low = values[before]
    step = values[min(before + 1, n - 1)] - low
    if gamma >= 0.5:
        return np.float64(values[min(before + 1, n - 1)] - step * (1 - gamma))
    return np.float64(low + step * gamma)


def _quantiles(values: Any, q: Any) -> Any:
    assert values.dtype == np.float64
    n = len(values)
    assert n > 0
    assert n <= _SORTED
    values = np.sort(values)
    assert values[n - 1] == values[n - 1]
    if np.ndim(q) == 0:
        return _between(values, np.float64(q))
    assert q.ndim == 1
    q = q.astype(np.float64)
    made = np.empty(len(q), np.float64)
    for k in range(len(q)):
        made[k] = _between(values, q[k])
    return made


def _quantile(a: Any, q: Any, axis: Any = None) -> Any:
    if isinstance(q, (list, tuple)):
        return _quantile(a, np.array(q), axis)
    if axis is None or a.ndim == 1:
        return _quantiles(a.flatten(), q)
    rows = _rows(a, axis)
    assert np.ndim(q) == 0
    made = np.empty(len(rows), np.float64)
    for k in range(len(rows)):
        made[k] = _quantiles(rows[k], q)
    return _shaped(made, a, axis)


def _percentile(a: Any, q: Any, axis: Any = None) -> Any:
    if isinstance(q, (list, tuple)):
        return _quantile(a, np.array(q) / 100.0, axis)
    return _quantile(a, q / 100.0, axis)


def _without_nan(a: Any) -> Any:
    values = a.flatten()
    return values[values == values]


def _nanquantile(a: Any, q: Any, axis: Any = None) -> Any:
    assert axis is None or a.ndim == 1
    return _quantile(_without_nan(a), q)


def _nanpercentile(a: Any, q: Any, axis: Any = None) -> Any:
    assert axis is None or a.ndim == 1
    return _percentile(_without_nan(a), q)


def _unique(ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False) -> Any:
    """Of integers in a small range by counting, of others by sorting."""
    assert not return_index
    assert not return_inverse
    values = np.ravel(ar)
    assert values.dtype.kind in "iu"
    assert values.dtype != np.uint64
    assert len(values) > 0
    low = int(np.min(values))
    if int(np.max(values)) - low > 4 * len(values) + 1000:
        return _runs(np.sort(values), return_counts)
    counts = np.zeros(int(np.max(values)) - low + 1, np.int64)
    np.add.at(counts, values.astype(np.int64) - low, np.int64(1))
    found = np.flatnonzero(counts)
    made = (found + low).astype(values.dtype)
    return (made, counts[found]) if return_counts else made


def _runs(values: Any, return_counts: Any) -> Any:
    """Of a sorted array the different values, and how often each is there."""
    n = len(values)
    starts = np.ones(n, np.bool_)
    starts[1:] = values[1:] != values[:-1]
    places = np.flatnonzero(starts)
    made = values[places]
    if not return_counts:
        return made
    counts = np.empty(len(places), np.int64)
    for k in range(len(places)):
        counts[k] = (places[k + 1] if k + 1 < len(places) else n) - places[k]
    return made, counts


ORDER: dict[Any, Callable[..., Any]] = {
    np.median: _median, np.nanmedian: _nanmedian, np.quantile: _quantile, np.percentile: _percentile,
    np.nanquantile: _nanquantile, np.nanpercentile: _nanpercentile, np.unique: _unique,
}  # fmt: skip
