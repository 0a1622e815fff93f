"""NumPy's functions that are plain Python here: a staged function has their statements in place of the call.

Each gives what NumPy's gives, operation by operation; what NumPy would refuse or treat differently fails an assertion,
which stops the procedure, so that the plain function answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .written_arrays import ARRAYS
from .written_complex import COMPLEX
from .written_draws import DRAWS
from .written_histograms import HISTOGRAMS
from .written_lists import LISTS
from .written_maps import MAPS
from .written_math import MATH
from .written_order import ORDER

MOST_INLINE = 12  # rows of matrices, for larger ones LAPACK's blocks pay


def _place(x: Any, xp: Any, guess: Any) -> Any:
    """The last element of `xp` that is not above `x`, searched from a guess: -1 in front of all, their number behind.

    The steps are those of NumPy's C code, and so is what they find where `xp` does not increase.
    """
    n = len(xp)
    if x > xp[n - 1]:
        return n
    if x < xp[0]:
        return -1
    low, high = 1, n
    if n <= 4:
        while low < n and x >= xp[low]:
            low += 1
        return low - 1
    guess = max(1, min(guess, n - 3))
    if x < xp[guess]:
        if not x < xp[guess - 1]:
            return guess - 1
        high = guess - 1
        if guess > 8 and x >= xp[guess - 8]:
            low = guess - 8
        else:
            low = 0
    else:
        if x < xp[guess + 1]:
            return guess
        if x < xp[guess + 2]:
            return guess + 1
        low = guess + 2
        if guess < n - 9 and x < xp[guess + 8]:
            high = guess + 8
    while low < high:
        middle = (low + high) // 2
        if x >= xp[middle]:
            low = middle + 1
        else:
            high = middle
    return low - 1


def _interpolated(x: Any, xp: Any, fp: Any, k: Any) -> Any:
    """As NumPy's C code has it, where `xp[k]` is the last element not above `x`; the end values hold outside."""
    if k < 0:
        return fp[0]
    if k >= len(xp) - 1:
        return fp[len(xp) - 1]
    if xp[k] == x:
        return fp[k]
    slope = (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k])
    return slope * (x - xp[k]) + fp[k]


def _interp(x: Any, xp: Any, fp: Any) -> Any:
    xp = np.asarray(xp, np.float64)
    fp = np.asarray(fp, np.float64)
    assert len(xp) > 0
    assert len(xp) == len(fp)
    if np.ndim(x) == 0:
        value = np.float64(_interpolated(x, xp, fp, _place(x, xp, 0)))
        assert value == value
        return value
    assert x.ndim == 1
    x = x.astype(np.float64)
    made = np.empty(len(x), np.float64)
    if len(x) < len(xp):
        place = 0
        for k in range(len(x)):
            place = _place(x[k], xp, place)
            made[k] = _interpolated(x[k], xp, fp, place)
    else:
        assert np.all(xp[1:] >= xp[:-1])
        places = np.searchsorted(xp, x, side="right")
        for k in range(len(x)):
            made[k] = _interpolated(x[k], xp, fp, places[k] - 1)
    assert not np.any(np.isnan(made))
    return made


def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    assert x.ndim == 1
    assert minlength >= 0
    length = minlength
    if len(x) > 0:
        assert np.min(x) >= 0
        length = max(length, int(np.max(x)) + 1)
    if weights is None:
        counts = np.zeros(length, np.int64)
        np.add.at(counts, x, np.int64(1))
        return counts
    assert weights.ndim == 1
    assert len(x) > 0
    assert len(weights) == len(x)
    sums = np.zeros(length, np.float64)
    np.add.at(sums, x, weights if weights.dtype == np.float64 else weights.astype(np.float64))
    return sums


def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    bins = np.asarray(bins)
    assert bins.ndim == 1
    for k in range(1, len(bins)):
        assert bins[k - 1] <= bins[k]
    return np.searchsorted(bins, x, side="left" if right else "right")


def _isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False) -> Any:
    """By a table of the integers between the extremes of `test_elements`."""
    values = np.ravel(test_elements)
    assert values.dtype.kind == "i"
    assert element.dtype.kind == "i"
    assert len(values) > 0
    low = int(np.min(values))
    high = int(np.max(values))
    assert high - low < 1048576
    table = np.zeros(high - low + 2, np.bool_)
    table[values.astype(np.int64) - low] = True
    flat = np.ravel(element)
    made = np.empty(len(flat), np.bool_)
    for k in range(len(flat)):
        value = int(flat[k])
        place = value - low if low <= value and value <= high else high - low + 1
        made[k] = table[place]
    found = made.reshape(element.shape)
    return ~found if invert else found


def _cross(a: Any, b: Any) -> Any:
    assert a.ndim == 1
    assert b.ndim == 1
    assert len(a) == 3
    assert len(b) == 3
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0) -> Any:
    assert y.ndim == 1
    if x is None:
        return np.sum(dx * (y[1:] + y[:-1]) / 2.0)
    return np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0)


def _trace(a: Any) -> Any:
    assert a.ndim == 2
    n = min(a.shape[0], a.shape[1])
    found = np.empty(n, a.dtype)
    for k in range(n):
        found[k] = a[k, k]
    return np.sum(found)


def _diag(v: Any, k: Any = 0) -> Any:
    assert k == 0
    if v.ndim == 2:
        return np.diagonal(v)
    assert v.ndim == 1
    return _diagflat(v)


def _unravel_index(indices: Any, shape: Any) -> Any:
    """Of one element of an array with two axes."""
    rows, columns = shape
    assert 0 <= indices < rows * columns
    row, column = divmod(indices, columns)
    return np.intp(row), np.intp(column)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    assert isinstance(axes, int)
    assert 0 <= axes <= min(a.ndim, b.ndim)
    rows = inner = columns = 1
    for n in a.shape[: a.ndim - axes]:
        rows = rows * n
    for n, m in zip(a.shape[a.ndim - axes :], b.shape[:axes]):
        assert n == m
        inner = inner * n
    for n in b.shape[axes:]:
        columns = columns * n
    made = np.dot(a.copy().reshape(rows, inner), b.copy().reshape(inner, columns))
    return made.reshape(a.shape[: a.ndim - axes] + b.shape[axes:])


def _diagflat(v: Any) -> Any:
    values = v.ravel()
    made = np.zeros((len(values), len(values)), v.dtype)
    for k in range(len(values)):
        made[k, k] = values[k]
    return made


def _tril(m: Any, k: Any = 0) -> Any:
    assert m.ndim == 2
    made = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(min(i + k + 1, m.shape[1])):
            made[i, j] = m[i, j]
    return made


def _triu(m: Any, k: Any = 0) -> Any:
    assert m.ndim == 2
    made = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(max(i + k, 0), m.shape[1]):
            made[i, j] = m[i, j]
    return made


def _flipud(m: Any) -> Any:
    return m[::-1]


def _fliplr(m: Any) -> Any:
    assert m.ndim >= 2
    return m[:, ::-1]


def _ptp(a: Any) -> Any:
    return np.max(a) - np.min(a)


def _det(a: Any) -> Any:
    """By elimination with partial pivoting; as NumPy has it, through the logarithms of the pivots."""
    assert a.ndim == 2
    n = a.shape[0]
    assert n == a.shape[1]
    assert n <= MOST_INLINE
    m = a.astype(np.float64)
    sign = 1.0
    logarithm = 0.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(m[i, k]) > abs(m[pivot, k]):
                pivot = i
        assert m[pivot, k] != 0
        assert np.isfinite(m[pivot, k])
        if pivot != k:
            sign = -sign
            for j in range(k, n):
                kept = m[k, j]
                m[k, j] = m[pivot, j]
                m[pivot, j] = kept
        if m[k, k] < 0:
            sign = -sign
        logarithm += np.log(abs(m[k, k]))
        for i in range(k + 1, n):
            factor = m[i, k] / m[k, k]
            for j in range(k + 1, n):
                m[i, j] -= factor * m[k, j]
    return np.float64(sign * np.exp(logarithm))


def _cholesky(a: Any) -> Any:
    assert a.ndim == 2
    n = a.shape[0]
    assert n == a.shape[1]
    assert n <= MOST_INLINE
    made = np.zeros((n, n), np.float64)
    for j in range(n):
        square = a[j, j] - np.float64(0.0)
        for k in range(j):
            square -= made[j, k] * made[j, k]
        assert 0 < square < np.inf
        diagonal = np.sqrt(square)
        made[j, j] = diagonal
        for i in range(j + 1, n):
            part = a[i, j] - np.float64(0.0)
            for k in range(j):
                part -= made[i, k] * made[j, k]
            made[i, j] = part / diagonal
    return made


WRITTEN: dict[Any, Callable[..., Any]] = {
    np.interp: _interp, np.bincount: _bincount, np.digitize: _digitize,
    np.isin: _isin, np.cross: _cross,
    np.trapezoid: _trapezoid, np.trace: _trace, np.diag: _diag, np.diagflat: _diagflat, np.tril: _tril,
    np.triu: _triu, np.unravel_index: _unravel_index, np.tensordot: _tensordot,
    np.linalg.det: _det, np.linalg.cholesky: _cholesky, np.flipud: _flipud,
    np.fliplr: _fliplr, np.ptp: _ptp,
    **ARRAYS, **DRAWS, **ORDER, **MATH, **MAPS, **LISTS, **HISTOGRAMS, **COMPLEX,
}  # fmt: skip
