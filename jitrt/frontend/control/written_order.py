"""NumPy's statistics in Python: medians, quantiles, unique values, covariances. See `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_SORTED = 1024  # elements; of more, NumPy's selection takes less time than a sort
_SAMPLE = 512  # elements, between two of which the wanted one is looked for
_MARGIN = 32  # elements of the sample; almost three standard deviations of the wanted one's place in it
_EXACT = 1 << 53  # the largest integer up to which float64 has all
_SORTED_FOR_MANY = 16384  # elements, and for each quantile `_SORTED`: a sort takes less time than selections
_SELECTED = 64  # quantiles; for more, NumPy parts the array once for all of them


def is_long() -> Any:
    """Whether the procedure is for calls with many elements; it is for the others where it is not."""
    raise NotImplementedError  # a row of the functions that procedures have


def next_permutation(order: Any, turns: Any, k: Any) -> None:
    """Make the permutation with the number `k` of the one before it, as `itertools.permutations` does."""
    if k > 0:
        n = len(order)
        at = len(turns) - 1
        turns[at] -= 1
        while turns[at] == 0:
            first = order[at]
            for j in range(at, n - 1):
                order[j] = order[j + 1]
            order[n - 1] = first
            turns[at] = n - at
            at -= 1
            turns[at] -= 1
        other = order[n - turns[at]]
        order[n - turns[at]] = order[at]
        order[at] = other


def _check_axis(a: Any, axis: Any) -> None:
    if axis is not None:
        assert isinstance(axis, (int, np.integer))
        assert -a.ndim <= axis < a.ndim


def _rows(a: Any, axis: Any) -> Any:
    """An array as one of two axes, of which `axis` is the last."""
    assert a.ndim == 2 or a.ndim == 3
    if axis == -1 or axis == a.ndim - 1:
        return a.reshape(a.shape[0] * a.shape[1], a.shape[2]) if a.ndim == 3 else a
    assert a.ndim == 2
    return np.transpose(a).copy()  # of which rows are read several times


def _mean_dtype(dtype: Any) -> Any:
    """The dtype of means."""
    return np.float64 if dtype.kind in "biu" else dtype


def _shaped(made: Any, a: Any, axis: Any) -> Any:
    """Results of rows in the shape of `a` without `axis`."""
    if a.ndim == 2:
        return made
    return made.reshape(a.shape[0], a.shape[1])


def _check_order(values: Any) -> None:
    """Stop where the order is not the one of numbers: nan keeps its sign, and so do zeros, in NumPy's own order."""
    if values.dtype.kind == "f":
        assert np.count_nonzero((values != values) | (values == 0) & np.signbit(values)) == 0


def _neighbours(values: Any, k: Any) -> Any:
    """The elements `k` and `k + 1` of an array in order; where there are not so many, the last one.

    Selection by a sample (Floyd and Rivest 1975), which says between which values the wanted element should be; the
    counts of elements on both sides say where it is. The sample's steps are the golden section, so that no period of
    the data is its own. Where many elements are equal, a value of the sample by itself parts the others.
    """
    kept = values
    place = k
    margin = _MARGIN
    while len(kept) > _SORTED:
        count = len(kept)
        ordered = np.sort(kept[np.arange(_SAMPLE) * int(0.6180339887498949 * count) % count])
        middle = place * _SAMPLE // count
        least = ordered[max(middle - margin, 0)]
        most = ordered[min(middle + margin, _SAMPLE - 1)]
        below = np.count_nonzero(kept < least)
        above = np.count_nonzero(kept > most)
        if place < below:
            most = np.nextafter(least, -np.inf)
            least = values.dtype.type(-np.inf)
        elif place >= count - above:
            least = np.nextafter(most, np.inf)
            most = values.dtype.type(np.inf)
            place -= count - above
        else:
            place -= below
        kept = kept[(kept >= least) & (kept <= most)]
        if least == most:
            break
        margin = 0 if 8 * len(kept) > 7 * count else _MARGIN
    ordered = np.sort(kept[:_SORTED])  # if there are more, all are the same
    found = ordered[min(place, len(ordered) - 1)]
    if place + 1 < len(kept):
        return found, ordered[min(place + 1, len(ordered) - 1)]
    return found, np.min(np.where(values > found, values, np.inf)) if k + 1 < len(values) else found


def _middle(values: Any) -> Any:
    """The median of an array."""
    n = len(values)
    assert n > 0
    _check_order(values)
    if is_long():
        if values.dtype.kind in "iu":
            assert np.min(values) >= -_EXACT
            assert np.max(values) <= _EXACT
        low, high = _neighbours(values.astype(_mean_dtype(values.dtype)), (n - 1) // 2)
        return np.mean(np.array([low, high])[: 2 - n % 2])
    assert n <= _SORTED
    return np.mean(np.sort(values)[(n - 1) // 2 : n // 2 + 1])


def _median(a: Any, axis: Any = None) -> Any:
    _check_axis(a, axis)
    if axis is None or a.ndim == 1:
        return _middle(np.ravel(a))
    rows = _rows(a, axis)
    made = np.empty(len(rows), _mean_dtype(rows.dtype))
    for k in range(len(rows)):
        made[k] = _middle(rows[k])
    return _shaped(made, a, axis)


def _nanmedian(a: Any, axis: Any = None) -> Any:
    _check_axis(a, axis)
    if axis is None or a.ndim == 1:
        return _middle(_without_nan(a))
    rows = _rows(a, axis)
    made = np.empty(len(rows), _mean_dtype(rows.dtype))
    for k in range(len(rows)):
        row = rows[k]
        made[k] = _middle(row[row == row])
    return _shaped(made, a, axis)


def _quantiles(values: Any, q: Any) -> Any:
    """Quantiles of an array, as NumPy interpolates."""
    assert values.dtype == np.float64
    n = len(values)
    assert n > 0
    _check_order(values)
    q = np.ravel(q).astype(np.float64)
    is_sorted = not is_long() or n <= min(_SORTED * len(q), _SORTED_FOR_MANY)
    if is_sorted:
        assert n <= _SORTED or is_long()
        values = np.sort(values)
    else:
        assert len(q) <= _SELECTED
    made = np.empty(len(q))
    for j in range(len(q)):
        assert 0 <= q[j] <= 1
        place = (n - 1) * q[j]
        k = int(place)
        gamma = place - k if k < n - 1 else place + 1.0
        low, high = (values[k], values[min(k + 1, n - 1)]) if is_sorted else _neighbours(values, k)
        step = high - low
        made[j] = high - step * (1 - gamma) if gamma >= 0.5 else low + step * gamma
    return made


def _quantile(a: Any, q: Any, axis: Any = None) -> Any:
    _check_axis(a, axis)
    if isinstance(q, (list, tuple)):
        return _quantile(a, np.array(q), axis)
    if axis is None or a.ndim == 1:
        made = _quantiles(np.ravel(a), q)
        return made[0] if np.ndim(q) == 0 else made
    rows = _rows(a, axis)
    assert np.ndim(q) == 0
    made = np.empty(len(rows), np.float64)
    for k in range(len(rows)):
        made[k] = _quantiles(rows[k], q)[0]
    return _shaped(made, a, axis)


def _percentile(a: Any, q: Any, axis: Any = None) -> Any:
    if isinstance(q, (list, tuple)):
        return _quantile(a, np.array(q) / 100.0, axis)
    return _quantile(a, q / 100.0, axis)


def _without_nan(a: Any) -> Any:
    values = np.ravel(a)
    return values[values == values]


def _nanquantile(a: Any, q: Any, axis: Any = None) -> Any:
    _check_axis(a, axis)
    assert axis is None or a.ndim == 1
    return _quantile(_without_nan(a), q)


def _nanpercentile(a: Any, q: Any, axis: Any = None) -> Any:
    _check_axis(a, axis)
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


def _variables(m: Any, y: Any) -> Any:
    """The variables as rows of floats."""
    if y is None:
        assert m.ndim == 2
        return m.astype(np.float64)
    assert m.ndim == 1
    assert y.ndim == 1
    return np.stack((m.astype(np.float64), y.astype(np.float64)))


def _cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    rows = _variables(m, y)
    if not rowvar:
        assert y is None
        rows = np.transpose(rows)
    if ddof is None:
        ddof = 0 if bias else 1
    count = rows.shape[1] - ddof
    assert count > 0
    assert rows.shape[0] > 1  # NumPy gives an array without axes for one
    apart = rows - np.mean(rows, axis=1)[:, np.newaxis]
    return (apart @ np.transpose(apart)) * (1 / count)


def _corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    covariances = _cov(x, y, rowvar)
    deviations = np.sqrt(np.diag(covariances))
    return np.clip(covariances / deviations[:, np.newaxis] / deviations, -1, 1)


ORDER: dict[Any, Callable[..., Any]] = {
    np.median: _median, np.nanmedian: _nanmedian, np.quantile: _quantile, np.percentile: _percentile,
    np.nanquantile: _nanquantile, np.nanpercentile: _nanpercentile, np.unique: _unique,
    np.cov: _cov, np.corrcoef: _corrcoef,
}  # fmt: skip
