"""NumPy's histograms in Python. See `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_BLOCK = 65536  # elements, whose weights NumPy adds up before it adds them to those in front
_SEARCHED = 8192  # values between given edges; for more, NumPy's sorts take less time than searches


def _edges(values: Any, bins: Any, limits: Any) -> Any:
    """The edges of bins of one width."""
    assert bins >= 1
    if limits is None:
        assert len(values) > 0
        first = np.min(values)
        last = np.max(values)
    else:
        first, last = limits
    assert first < last
    assert last - first < np.inf
    return np.linspace(first, last, bins + 1)


def _bin(value: Any, first: Any, span: Any, edges: Any) -> Any:
    """The bin of a value between the outer edges, as NumPy finds it: computed, and corrected by the edges."""
    bins = len(edges) - 1
    k = min(int((value - first) / span * bins), bins - 1)
    if value < edges[k]:
        k -= 1
    if value >= edges[k + 1] and k != bins - 1:
        k += 1
    return k


def _counted(values: Any, edges: Any) -> Any:
    first = edges[0]
    last = edges[len(edges) - 1]
    counts = np.zeros(len(edges) - 1, np.int64)
    for value in values:
        if value >= first and value <= last:
            counts[_bin(value, first, last - first, edges)] += 1
    return counts


def _weighed(values: Any, edges: Any, weights: Any) -> Any:
    assert weights.dtype == np.float64
    assert len(weights) == len(values)
    first = edges[0]
    last = edges[len(edges) - 1]
    sums = np.zeros(len(edges) - 1)
    for start in range(0, len(values), _BLOCK):
        part = np.zeros(len(edges) - 1)
        for k in range(start, min(start + _BLOCK, len(values))):
            if values[k] >= first and values[k] <= last:
                part[_bin(values[k], first, last - first, edges)] += weights[k]
        sums += part
    return sums


def _found(values: Any, edges: Any) -> Any:
    """Counts between any edges, of which the last one belongs to its bin."""
    assert edges.ndim == 1
    assert edges.dtype == np.float64
    assert len(values) <= _SEARCHED
    bins = len(edges) - 1
    assert bins >= 1
    for k in range(bins):
        assert edges[k] <= edges[k + 1]
    places = np.searchsorted(edges, values, side="right")
    counts = np.zeros(bins, np.int64)
    for k in range(len(values)):
        place = bins if values[k] == edges[bins] else places[k]
        if place >= 1 and place <= bins:
            counts[place - 1] += 1
    return counts


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    values = np.ravel(a)
    assert values.dtype == np.float64
    if np.ndim(bins) > 0:
        assert weights is None
        assert range is None
        edges = bins
        counts = _found(values, edges)
    else:
        edges = _edges(values, bins, range)
        counts = _counted(values, edges) if weights is None else _weighed(values, edges, np.ravel(weights))
    return counts / np.diff(edges) / counts.sum() if density else counts, edges


def _given_edges(values: Any, bins: Any, limits: Any) -> Any:
    """The edges along one axis: those that are given, or of so many bins."""
    if np.ndim(bins) == 0:
        return _edges(values, bins, limits)
    assert bins.ndim == 1
    assert bins.dtype == np.float64
    for k in range(1, len(bins)):
        assert bins[k - 1] <= bins[k]
    return bins


def _places(values: Any, edges: Any) -> Any:
    """The bins of values, from 1 on, of which the last one has its outer edge; 0 in front of all, and one behind."""
    assert values.ndim == 1
    assert values.dtype == np.float64
    places = np.searchsorted(edges, values, side="right")
    last = edges[len(edges) - 1]
    for k in range(len(values)):
        if values[k] == last:
            places[k] -= 1
    return places


def _histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """The counts are a view, as NumPy's are: it leaves out the bins behind the outer edges."""
    assert not density
    assert len(x) == len(y)
    if weights is not None:
        assert weights.ndim == 1
        assert weights.dtype == np.float64
        assert len(weights) == len(x)
    first, second = bins if isinstance(bins, (tuple, list)) else (bins, bins)
    limits, others = (None, None) if range is None else range
    rows = _given_edges(x, first, limits)
    columns = _given_edges(y, second, others)
    below = _places(y, columns)
    made = np.zeros((len(rows) + 1, len(columns) + 1))
    for k, row in enumerate(_places(x, rows)):
        made[row, below[k]] += 1.0 if weights is None else weights[k]
    return made[1:-1, 1:-1], rows, columns


HISTOGRAMS: dict[Any, Callable[..., Any]] = {np.histogram: _histogram, np.histogram2d: _histogram2d}
