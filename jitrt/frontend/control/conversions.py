"""Arrays that are made of arrays, numbers and lists: copies, and other types."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays as a
from . import scalars, subscripts
from .lists import RunTimeList
from .recorder import Recorder
from .registry import FUNCTIONS, as_array, function, known_dtype
from .shapes import contiguous
from .values import Array, NotStaged, dtype_of, is_number, is_python_number, is_static


@function(np.copy, method="copy")
def _copy(r: Recorder, array: Any, order: str = "C") -> Array:
    if order != "C":
        raise NotStaged("a memory order")
    made = a.materialise(r, as_array(r, array), always=True)
    return Array(made.dtype, made.shape, made.element, made.reads, made.view)


@function(np.ascontiguousarray)
def _ascontiguousarray(r: Recorder, value: Any, dtype: Any = None) -> Array:
    made = _asarray(r, value, dtype)
    if not made.ndim:
        raise NotStaged("an array of one number")
    return contiguous(r, made)


@function(np.asarray, np.asanyarray)
def _asarray(r: Recorder, value: Any, dtype: Any = None) -> Array:
    """An array that has this dtype is itself the result."""
    known = None if dtype is None else known_dtype(dtype)
    made = as_array(r, value, known)
    if known is not None:
        made = a.cast(r, made, known)
    return a.materialise(r, made, always=True) if isinstance(value, RunTimeList) else made


@function(np.array)
def _array(r: Recorder, value: Any, dtype: Any = None, copy: Any = True) -> Array:
    if copy is False:
        raise NotStaged("an array that is not copied")
    made = _asarray(r, value, dtype)
    return _copy(r, made) if copy and made is value else made


@function(np.atleast_1d)
def _atleast_1d(r: Recorder, value: Any) -> Array:
    return as_array(r, [value] if is_number(value) else value)


@function(np.atleast_2d)
def _atleast_2d(r: Recorder, value: Any) -> Array:
    made = as_array(r, value)
    if not made.ndim:
        raise NotStaged("an array of one number")
    return a.with_axes(r, made, [0]) if made.ndim == 1 else made


@function(np.copyto)
def _copyto(r: Recorder, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Array):
        raise NotStaged("a copy to what is no array")
    source = src if is_number(src) else as_array(r, src)
    if not _can_be_cast(source, dst.dtype, casting):
        raise NotStaged("a copy to another kind of numbers")
    if where is not True:
        source = FUNCTIONS[np.where](r, where, scalars.stored(r, source, dst.dtype), dst)
    subscripts.assign(r, dst, Ellipsis, scalars.stored(r, source, dst.dtype))


def _can_be_cast(value: Any, dtype: np.dtype, casting: Any) -> bool:
    """Whether NumPy copies a value to an array of this type. Numbers of Python's adapt to it."""
    if not is_number(value) or is_python_number(value) is False:
        return bool(np.can_cast(dtype_of(value), dtype, casting))
    return is_static(value) and bool(np.can_cast(np.min_scalar_type(value), dtype))


@function(method="astype")
def _astype(r: Recorder, array: Array, dtype: Any, copy: Any = True) -> Array:
    made = a.cast(r, array, known_dtype(dtype))
    return _copy(r, made) if copy and made is array else made
