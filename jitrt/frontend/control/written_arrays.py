"""Differences, filters, repetitions and what treats nan apart, in plain Python. See `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    assert isinstance(n, (int, np.integer)) and not isinstance(n, bool)
    assert 1 <= n <= 3
    assert -a.ndim <= axis < a.ndim
    along = axis % a.ndim
    assert along == 0 or along == a.ndim - 1
    values = a if n == 1 else _diff(a, n - 1, axis)
    after = values[1:] if along == 0 else values[..., 1:]
    before = values[:-1] if along == 0 else values[..., :-1]
    return after != before if a.dtype == np.bool_ else after - before


def _ediff1d(ary: Any) -> Any:
    values = ary.ravel()
    return values[1:] - values[:-1]


def _cumsum(a: Any, axis: Any = None) -> Any:
    return np.add.accumulate(a.ravel() if axis is None else a, 0 if axis is None else axis)


def _cumprod(a: Any, axis: Any = None) -> Any:
    return np.multiply.accumulate(a.ravel() if axis is None else a, 0 if axis is None else axis)


def _gradient(f: Any, spacing: Any = 1.0) -> Any:
    """Along the only axis, of points that are equally far apart."""
    assert f.ndim == 1
    assert np.ndim(spacing) == 0
    assert len(f) >= 2
    values = f.astype(np.float64) if f.dtype.kind in "iu" else f
    assert values.dtype == np.float64 or values.dtype == np.float32
    made = np.empty(values.shape, values.dtype)
    made[1:-1] = (values[2:] - values[:-2]) / (2.0 * spacing)
    made[0] = (values[1] - values[0]) / spacing
    made[-1] = (values[-1] - values[-2]) / spacing
    return made


def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    a = np.asarray(a)
    v = np.asarray(v)
    assert a.ndim == 1
    assert v.ndim == 1
    n = len(a)
    m = len(v)
    assert min(n, m) > 0
    assert mode == "full" or mode == "same" or mode == "valid"
    first = 0 if mode == "full" else (min(n, m) - 1) // 2 if mode == "same" else min(n, m) - 1
    count = n + m - 1 if mode == "full" else max(n, m) if mode == "same" else max(n, m) - min(n, m) + 1
    made = np.empty(count, (a[:1] * v[:1]).dtype)
    turned = v[::-1]
    for k in range(count):
        last = k + first
        low = max(0, last - m + 1)
        high = min(n, last + 1)
        made[k] = np.sum(a[low:high] * turned[low - last + m - 1 : high - last + m - 1])
    return made


def _correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Of the longer one with the shorter one: the other way round NumPy reverses what it gives."""
    a = np.asarray(a)
    v = np.asarray(v)
    assert v.ndim == 1
    assert v.dtype.kind != "c"
    assert len(a) >= len(v)
    return _convolve(a, v[::-1], mode)


def _delete(arr: Any, obj: Any) -> Any:
    assert arr.ndim == 1
    assert np.ndim(obj) == 0
    n = len(arr)
    assert -n <= obj < n
    at = obj + n if obj < 0 else obj
    made = np.empty(n - 1, arr.dtype)
    made[:at] = arr[:at]
    made[at:] = arr[at + 1 :]
    return made


def _insert(arr: Any, obj: Any, values: Any) -> Any:
    assert arr.ndim == 1
    assert np.ndim(obj) == 0
    assert np.ndim(values) == 0
    n = len(arr)
    assert -n <= obj <= n
    at = obj + n if obj < 0 else obj
    made = np.empty(n + 1, arr.dtype)
    made[:at] = arr[:at]
    made[at] = values
    made[at + 1 :] = arr[at:]
    return made


def _repeat(a: Any, repeats: Any) -> Any:
    assert np.ndim(repeats) == 0
    assert repeats >= 0
    values = a.ravel()
    made = np.empty(len(values) * repeats, values.dtype)
    for k in range(len(values)):
        for j in range(repeats):
            made[k * repeats + j] = values[k]
    return made


def _tile(A: Any, reps: Any) -> Any:
    assert A.ndim == 1
    assert np.ndim(reps) == 0
    assert reps >= 0
    n = len(A)
    made = np.empty(n * reps, A.dtype)
    for j in range(reps):
        for k in range(n):
            made[j * n + k] = A[k]
    return made


def _inner(a: Any, b: Any) -> Any:
    assert a.ndim == 1
    assert b.ndim == 1
    return np.dot(a, b)


def _vdot(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c":
        return np.dot(np.conj(a).ravel(), b.ravel())
    return np.dot(a.ravel(), b.ravel())


def _kron(a: Any, b: Any) -> Any:
    assert a.ndim == 1
    assert b.ndim == 1
    return (a[:, np.newaxis] * b).flatten()


def _fill_diagonal(a: Any, val: Any) -> None:
    assert a.ndim == 2
    assert np.ndim(val) == 0
    for k in range(min(a.shape[0], a.shape[1])):
        a[k, k] = val


def _flip(m: Any, axis: Any = None) -> Any:
    assert 1 <= m.ndim <= 2
    if axis is None:
        return m[::-1] if m.ndim == 1 else m[::-1, ::-1]
    assert -m.ndim <= axis < m.ndim
    return m[::-1] if axis % m.ndim == 0 else m[:, ::-1]


def _rot90(m: Any, k: Any = 1) -> Any:
    assert m.ndim == 2
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return m[::-1, ::-1]
    turned = np.transpose(m)
    return turned[::-1] if k % 4 == 1 else turned[:, ::-1]


def _polyval(p: Any, x: Any) -> Any:
    """Horner's scheme."""
    assert type(x) is float or x.dtype == np.float64
    y = np.float64(0.0) * np.abs(x)  # nan where NumPy's is, after the first product
    for value in p:
        y = y * x + value
    return y


def _is_nan(a: Any) -> Any:
    assert a.dtype == np.float64
    return np.isnan(a)


def _nansum(a: Any, axis: Any = None) -> Any:
    return np.sum(np.where(_is_nan(a), 0.0, a), axis=axis)


def _nanmean(a: Any, axis: Any = None) -> Any:
    are_nan = _is_nan(a)
    count = np.sum(~are_nan, axis=axis)
    assert np.all(count > 0)
    return np.sum(np.where(are_nan, 0.0, a), axis=axis) / count


def _nanvar(a: Any, ddof: Any = 0) -> Any:
    are_nan = _is_nan(a)
    count = np.sum(~are_nan)
    assert count > 0
    assert count > ddof
    mean = np.sum(np.where(are_nan, 0.0, a)) / count
    apart = np.where(are_nan, 0.0, a - mean)
    return np.sum(apart * apart) / (count - ddof)


def _nanstd(a: Any, ddof: Any = 0) -> Any:
    return np.sqrt(_nanvar(a, ddof))


def _nanmax(a: Any) -> Any:
    assert a.dtype == np.float64
    most = np.float64(-np.inf)
    for value in a.ravel():
        if value > most:
            most = value
    assert most > -np.inf  # there may be nothing but nan, of which NumPy warns
    assert most != 0.0  # of which there are two
    return most


def _nanmin(a: Any) -> Any:
    return -_nanmax(-a)


def _nan_to_num(x: Any) -> Any:
    assert x.dtype == np.float64
    most = np.finfo(np.float64).max
    return np.where(np.isnan(x), 0.0, np.where(x == np.inf, most, np.where(x == -np.inf, -most, x)))


def _average(a: Any, weights: Any = None) -> Any:
    if weights is None:
        return np.mean(a)
    assert a.shape == weights.shape
    assert weights.dtype == np.float64
    assert a.dtype == np.float64 or a.dtype.kind in "iu"
    total = np.sum(weights)
    assert total != 0.0
    return np.sum(a * weights) / total


def _are_close(a: Any, b: Any, rtol: Any, atol: Any) -> Any:
    assert np.isfinite(rtol)  # of others NumPy warns
    assert np.isfinite(atol)
    other = b.astype(np.float64) if np.ndim(b) > 0 and b.dtype.kind in "biu" else b * 1.0 if type(b) is int else b
    return (np.abs(a - other) <= atol + rtol * np.abs(other)) & np.isfinite(other) | (a == other)


def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    assert np.ndim(a) + np.ndim(b) > 0
    return _are_close(a, b, rtol, atol)


def _allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    return bool(np.all(_are_close(a, b, rtol, atol)))


def _array_equal(a1: Any, a2: Any) -> Any:
    if a1.ndim != a2.ndim:
        return False
    for n, m in zip(a1.shape, a2.shape):
        if n != m:
            return False
    return bool(np.all(a1 == a2))


def _sinc(x: Any) -> Any:
    scaled = np.pi * x
    y = np.where(scaled != 0, scaled, np.finfo(scaled.dtype).eps)
    return np.sin(y) / y


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    assert len(condlist) == len(choicelist)
    made = np.full(condlist[0].shape, np.float64(default))
    floats = int(type(default) is float)
    for k in range(len(condlist)):
        assert condlist[k].dtype == np.bool_
        kind = type(choicelist[k])
        assert kind is float or kind is int or choicelist[k].dtype == np.float64
        floats += int(kind is not int)
    assert floats > 0  # of integers alone NumPy makes integers
    for k in range(len(condlist) - 1, -1, -1):
        made[:] = np.where(condlist[k], choicelist[k], made)
    return made


def _pad(array: Any, pad_width: Any, mode: Any = "constant") -> Any:
    assert array.ndim == 1
    assert np.ndim(pad_width) == 0
    assert pad_width >= 0
    n = len(array)
    made = np.zeros(n + 2 * pad_width, array.dtype)
    made[pad_width : pad_width + n] = array
    if mode == "edge":
        assert n > 0
        made[:pad_width] = array[0]
        made[pad_width + n :] = array[-1]
    else:
        assert mode == "constant"
    return made


ARRAYS: dict[Any, Callable[..., Any]] = {
    np.diff: _diff, np.ediff1d: _ediff1d, np.cumsum: _cumsum, np.cumprod: _cumprod, np.gradient: _gradient,
    np.convolve: _convolve, np.repeat: _repeat, np.tile: _tile, np.inner: _inner, np.vdot: _vdot, np.kron: _kron,
    np.fill_diagonal: _fill_diagonal, np.flip: _flip, np.rot90: _rot90, np.polyval: _polyval,
    np.nansum: _nansum, np.nanmax: _nanmax, np.nanmin: _nanmin, np.nanmean: _nanmean, np.nanvar: _nanvar,
    np.nanstd: _nanstd, np.nan_to_num: _nan_to_num, np.average: _average, np.isclose: _isclose, np.allclose: _allclose,
    np.array_equal: _array_equal, np.sinc: _sinc, np.select: _select, np.pad: _pad, np.correlate: _correlate,
    np.delete: _delete, np.insert: _insert,
}  # fmt: skip
