"""What dask's functions of blocks do with NumPy's arrays, as functions that can be compiled.

dask's own find what to do by the classes of arrays, in tables to which any package may add. Those that have no
counterpart here stay in front of compiled functions, or behind them.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.array import chunk, core, reductions

from ..values.functions import is_numpy

# Packages whose functions are about arrays of many kinds.
_OF_MANY_KINDS = {"dask", "distributed", "xarray", "toolz", "cytoolz", "zarr", "h5py", "fsspec", "pandas"}


class Counterpart:
    """One of dask's functions, for which another one stands in traces.

    Parameters
    ----------
    original : callable
    traced : function
        What it does with NumPy's arrays.
    gain : int
        How many of its steps are better compiled.
    """

    def __init__(self, original: Callable[..., Any], traced: Callable[..., Any], gain: int):
        self._original, self._traced, self.gain = original, traced, gain
        self.__name__ = traced.__name__

    @property
    def __jitrt_function__(self) -> Callable[..., Any]:
        return self._traced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._original(*args, **kwargs)


def getitem(x: Any, index: Any) -> Any:
    """A part of a block."""
    return x[index]


def concatenated(arrays: Any, axes: Sequence[int] = (), dtype: Any = None, ndim: int = 0) -> Any:
    """Nested lists of arrays as one.

    Parameters
    ----------
    arrays : array, list or tuple
    axes : sequence of int
        The axis for each level of the lists.
    dtype : dtype, optional
        Of the result; by default the one that holds all.
    ndim : int
        Arrays of fewer axes get some in front.
    """
    if not isinstance(arrays, list | tuple):
        block = arrays[(None,) * (ndim - arrays.ndim)] if arrays.ndim < ndim else arrays
        return block if dtype in (None, block.dtype) else block.astype(dtype)
    if not axes:
        return arrays[0]
    parts = [concatenated(a, axes[1:], dtype, ndim) for a in arrays]
    return np.concatenate(parts, axis=axes[0])


def assembled(arrays: Any) -> Any:
    """Nested lists of blocks as one array, the lists at depth ``k`` along axis ``k``; of the dtype of the first."""
    depth, first = 0, arrays
    while isinstance(first, list | tuple):
        depth, first = depth + 1, first[0]
    return concatenated(arrays, range(depth), first.dtype, depth)


def assembled_in_shape(arrays: Sequence[Any], shape: Sequence[int]) -> Any:
    """Blocks in C's order as one array; `shape` says how many there are along each axis."""
    return assembled(core.reshapelist(shape, arrays))


def count(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = np.float64, **_: Any) -> Any:
    """How many elements a reduction takes for each of its results."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    extents = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes]
    return np.full(tuple(extents), math.prod(x.shape[k] for k in axes), dtype)[()]


def count_of_numbers(x: Any, **kwargs: Any) -> Any:
    """How many elements are no NaN."""
    return np.sum(~np.isnan(x), **kwargs)


def mean(x: Any, sum: Any = np.sum, numel: Any = count, dtype: Any = "f8", **kwargs: Any) -> dict[str, Any]:
    """What the mean of a block needs."""
    return {"n": numel(x, dtype=dtype, **kwargs), "total": sum(x, dtype=dtype, **kwargs)}


def moments(
    x: Any,
    order: int = 2,
    sum: Any = np.sum,
    numel: Any = count,
    dtype: Any = "f8",
    implicit_complex_dtype: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """What the central moments of a block need."""
    n = numel(x, **kwargs).astype(np.int64)
    total = sum(x, **kwargs) if implicit_complex_dtype else sum(x, dtype=dtype, **kwargs)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
    d = x - mean
    if np.issubdtype(x.dtype, np.complexfloating):
        d = np.abs(d)
    powers = [sum(d**k, dtype=dtype, **kwargs) for k in range(2, order + 1)]
    return {"total": total, "n": n, "M": np.stack(powers, axis=-1)}


def least(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The least elements; of a block without elements the block."""
    return np.min(x, axis=axis, keepdims=keepdims) if x.size else np.array([], x.dtype, ndmin=x.ndim)


def greatest(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest elements; of a block without elements the block."""
    return np.max(x, axis=axis, keepdims=keepdims) if x.size else np.array([], x.dtype, ndmin=x.ndim)


def of_dtype(x: Any, dtype: Any) -> Any:
    """A result as the dtype that has been promised for it.

    Raises
    ------
    ValueError
        If that is of another kind.
    """
    return core._enforce_dtype(x, enforce_dtype=dtype, enforce_dtype_function=_same)


def _same(x: Any) -> Any:
    return x


def _of_dtype(x: Any, dtype: Any) -> Any:
    if not hasattr(x, "dtype") or dtype in (x.dtype, np.dtype(object)):
        return x
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise ValueError(f"a function was expected to give {dtype}, and gave {x.dtype}")
    return x.astype(dtype)


def root(x: Any) -> Any:
    """The square root."""
    return np.sqrt(x)


_TRACED: dict[Callable[..., Any], tuple[Callable[..., Any], int]] = {
    chunk.getitem: (getitem, 0),
    core._concatenate2: (concatenated, 0),
    core.concatenate3: (assembled, 0),
    core.concatenate_shaped: (assembled_in_shape, 0),
    of_dtype: (_of_dtype, 0),
    reductions.numel: (count, 1),
    reductions.nannumel: (count_of_numbers, 1),
    reductions.mean_chunk: (mean, 1),
    reductions.moment_chunk: (moments, 2),
    reductions.chunk_min: (least, 1),
    reductions.chunk_max: (greatest, 1),
    reductions._sqrt: (root, 1),
}


_COUNTERPARTS = {original: Counterpart(original, traced, gain) for original, (traced, gain) in _TRACED.items()}


def counterpart(function: Any) -> Any:
    """What compiled code may use in place of a function: mostly the function; None if there is nothing."""
    if type(function) is functools.partial:
        inner = counterpart(function.func)
        args = [counterpart(a) if callable(a) else a for a in function.args]
        keywords = {name: counterpart(a) if callable(a) else a for name, a in function.keywords.items()}
        unknown = any(callable(a) and b is None for a, b in zip(function.args, args))
        unknown |= any(a is None and callable(function.keywords[name]) for name, a in keywords.items())
        return None if inner is None or unknown else functools.partial(inner, *args, **keywords)
    try:
        found = _COUNTERPARTS.get(function)
    except TypeError:  # not hashable
        return None
    package = (getattr(function, "__module__", None) or type(function).__module__).partition(".")[0]
    return found if found is not None else None if package in _OF_MANY_KINDS else function


def gain(function: Any, gets_data: bool) -> int:
    """How many steps of what `counterpart` gives are better compiled; 2 for Python functions that get data."""
    if isinstance(function, Counterpart):
        return function.gain
    is_python = type(function) is types.FunctionType and not is_numpy(function)
    return 2 if is_python and gets_data else 1
