"""Rows of the operations that move elements: views, assemblies of parts, gathers, and what is made of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import build as b
from .node import Node
from .optable import Kind, NotCovered, Op, numpy_function, row
from .types import ArrayType, canonical
from .ufuncs import clip_ufunc, where_dtype

_NO_VALUE = np._NoValue

Index = tuple[Any, ...]


def encode_index(index: Any) -> Index:
    """A basic index (integers, slices, ``None``, ``...``) as a hashable tuple.

    Raises
    ------
    NotCovered
        For arrays, booleans and whatever else makes the index an advanced one.
    """
    items = index if isinstance(index, tuple) else (index,)
    encoded: list[Any] = []
    for item in items:
        if item is None or item is Ellipsis:
            encoded.append(item)
        elif isinstance(item, slice):
            bounds = (item.start, item.stop, item.step)
            encoded.append(tuple(None if v is None else operator.index(v) for v in bounds))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            encoded.append(operator.index(item))
        else:
            raise NotCovered("an index that is not made of integers and slices")
    return tuple(encoded)


def decode_index(encoded: Index) -> tuple[Any, ...]:
    """The index that `encode_index` was given."""
    return tuple(slice(*item) if isinstance(item, tuple) else item for item in encoded)


def _view(name: str, numpy: Callable[..., Any]) -> None:
    row(Op(name, Kind.VIEW, numpy=numpy, view_like=True))


_view("getitem", lambda x, index: np.asarray(x)[decode_index(index)])
_view("reshape", lambda x, shape: np.reshape(x, shape))
_view("transpose", lambda x, axes: np.transpose(x, axes))
_view("broadcast_to", lambda x, shape: np.broadcast_to(x, shape))
_view("expand_dims", lambda x, axis: np.expand_dims(x, axis))
_view("squeeze", lambda x, axis: np.squeeze(x, axis))
_view("diagonal", lambda x, offset, axis1, axis2: np.diagonal(x, offset, axis1, axis2))
_view("real", np.real)
_view("imag", np.imag)


def _node(x: Any) -> Node:
    if not isinstance(x, Node):
        raise NotCovered("an operand that is not an array")
    return b.cast(x, x.dtype)


def getitem(x: Node, index: Any) -> Node:
    """``x[index]`` for a basic index, or for one integer array among the first axes."""
    if isinstance(index, (Node, np.ndarray, list)) and not isinstance(index, tuple):
        return take(x, index, axis=0, mode="raise", indexing=True)
    return b.view("getitem", x, index=encode_index(index))


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)


@numpy_function(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Node:
    if order != "C" or copy is not None:
        raise NotCovered("reshape in another order")
    return b.view("reshape", _node(a), shape=_extents(newshape if shape is None else shape))


@numpy_function(np.ravel)
def ravel(a: Any, order: str = "C") -> Node:
    if order != "C":
        raise NotCovered("ravel in another order")
    return b.view("reshape", _node(a), shape=(-1,))


@numpy_function(np.transpose)
def transpose(a: Any, axes: Any = None) -> Node:
    a = _node(a)
    order = range(a.type.ndim)[::-1] if axes is None else [operator.index(k) for k in axes]
    return b.view("transpose", a, axes=tuple(k % max(a.type.ndim, 1) for k in _checked(order, a.type.ndim)))


def _checked(axes: Sequence[int], ndim: int) -> Sequence[int]:
    if len(axes) != ndim:
        raise ValueError("axes don't match array")
    b.normalize_axes(tuple(axes), ndim)
    return axes


def _through_transpose(function: Callable[..., Any], method: str | None = None) -> None:
    """Rows that only permute axes: NumPy does it to an array whose extents name its axes."""

    @numpy_function(function, method=method)
    def bind(a: Any, *args: Any, **kwargs: Any) -> Node:
        a = _node(a)
        if a.type.ndim == 0:
            return a
        probe = b.phantom(tuple(range(1, a.type.ndim + 1)))
        moved = function(probe, *args, **kwargs)
        return b.view("transpose", a, axes=tuple(extent - 1 for extent in moved.shape))


_through_transpose(np.swapaxes, "swapaxes")
_through_transpose(np.moveaxis)
_through_transpose(np.rollaxis)
if hasattr(np, "matrix_transpose"):
    _through_transpose(np.matrix_transpose)


@numpy_function(np.permute_dims)
def permute_dims(a: Any, axes: Any = None) -> Node:
    return transpose(a, axes)


@numpy_function(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Node:
    return b.view("broadcast_to", _node(array), shape=_extents(shape))


@numpy_function(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Node:
    axes = tuple(map(operator.index, axis)) if isinstance(axis, (tuple, list)) else (operator.index(axis),)
    return b.view("expand_dims", _node(a), axis=axes)


@numpy_function(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Node:
    a = _node(a)
    if axis is None:
        return b.view("squeeze", a, axis=tuple(k for k, n in enumerate(a.shape) if n == 1))
    return b.view("squeeze", a, axis=b.normalize_axes(axis, a.type.ndim))


@numpy_function(np.diagonal, method="diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    return b.view("diagonal", _node(a), offset=operator.index(offset), axis1=axis1, axis2=axis2)


@numpy_function(np.real)
def real(val: Any) -> Node:
    val = _node(val)
    return b.real(val)


@numpy_function(np.imag)
def imag(val: Any) -> Node:
    val = _node(val)
    if val.dtype.kind != "c":
        return b.broadcast_to(b.constant(val.dtype.type(0)), val.shape)
    return b.imag(val)


@numpy_function(np.flip)
def flip(m: Any, axis: Any = None) -> Node:
    m = _node(m)
    axes = b.normalize_axes(axis, m.type.ndim)
    return getitem(m, tuple(slice(None, None, -1 if k in axes else None) for k in range(m.type.ndim)))


@numpy_function(np.flipud)
def flipud(m: Any) -> Node:
    return flip(m, 0)


@numpy_function(np.fliplr)
def fliplr(m: Any) -> Node:
    if _node(m).type.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


def _assemble(*parts: np.ndarray, shape: tuple[int, ...], starts: tuple[tuple[int, ...], ...]) -> np.ndarray:
    result = np.empty(shape, parts[0].dtype)
    for part, start in zip(parts, starts):
        result[tuple(slice(s, s + n) for s, n in zip(start, part.shape))] = part
    return result


ASSEMBLE = row(Op("assemble", Kind.ASSEMBLE, numpy=_assemble, view_like=True))


def assemble(shape: tuple[int, ...], parts: Sequence[Node], starts: Sequence[tuple[int, ...]]) -> Node:
    """An array of which part k occupies ``[start, start + part.shape)``; the parts cover it without overlap."""
    kept = [(part, start) for part, start in zip(parts, starts) if part.type.size] or [(parts[0], starts[0])]
    type_ = ArrayType(kept[0][0].dtype, shape)
    arguments = {"shape": shape, "starts": tuple(start for _, start in kept)}
    return b.compound("assemble", tuple(part for part, _ in kept), type_, **arguments)


def _operands(arrays: Any) -> list[Node]:
    if isinstance(arrays, Node):
        return [getitem(arrays, k) for k in range(arrays.shape[0])]
    nodes = [a if isinstance(a, Node) else b.constant(np.asarray(a)) for a in arrays]
    dtype = np.result_type(*(a.dtype for a in nodes))
    return [b.cast(a, dtype) for a in nodes]


@numpy_function(np.concatenate)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Node:
    if out is not None or dtype is not None:
        raise NotCovered("concatenate into a given array")
    parts = _operands(arrays)
    if axis is None:
        parts, axis = [b.view("reshape", p, shape=(-1,)) for p in parts], 0
    if not parts or parts[0].type.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    (axis,) = b.normalize_axes(axis, parts[0].type.ndim)
    rest = [tuple(n for k, n in enumerate(p.shape) if k != axis) for p in parts]
    if any(r != rest[0] for r in rest):
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    starts, end = [], 0
    for part in parts:
        starts.append(tuple(end if k == axis else 0 for k in range(part.type.ndim)))
        end += part.shape[axis]
    return assemble((*parts[0].shape[:axis], end, *parts[0].shape[axis + 1 :]), parts, starts)


@numpy_function(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Node:
    if out is not None or dtype is not None:
        raise NotCovered("stack into a given array")
    parts = _operands(arrays)
    if len({p.shape for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate([b.view("expand_dims", p, axis=(operator.index(axis),)) for p in parts], axis)


def _at_least(x: Node, ndim: int) -> Node:
    """`x` as ``atleast_1d`` … ``atleast_3d`` make it."""
    shape = (getattr(np, f"atleast_{ndim}d"))(b.phantom(x.shape)).shape
    return x if shape == x.shape else b.view("reshape", x, shape=shape)


def _declare_at_least(ndim: int) -> None:
    @numpy_function(getattr(np, f"atleast_{ndim}d"))
    def bind(*arrays: Any) -> Any:
        results = tuple(_at_least(_node(a), ndim) for a in arrays)
        return results[0] if len(results) == 1 else results


for _ndim in (1, 2, 3):
    _declare_at_least(_ndim)


@numpy_function(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Node:
    if dtype is not None:
        raise NotCovered("vstack with a dtype")
    return concatenate([_at_least(p, 2) for p in _operands(tup)], 0)


@numpy_function(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Node:
    if dtype is not None:
        raise NotCovered("hstack with a dtype")
    parts = [_at_least(p, 1) for p in _operands(tup)]
    return concatenate(parts, 0 if parts and parts[0].type.ndim == 1 else 1)


@numpy_function(np.dstack)
def dstack(tup: Any) -> Node:
    return concatenate([_at_least(p, 3) for p in _operands(tup)], 2)


@numpy_function(np.column_stack)
def column_stack(tup: Any) -> Node:
    parts = [b.view("expand_dims", p, axis=(1,)) if p.type.ndim == 1 else _at_least(p, 2) for p in _operands(tup)]
    return concatenate(parts, 1)


def _declare_split(function: Callable[..., Any]) -> None:
    @numpy_function(function)
    def bind(ary: Any, indices_or_sections: Any, *axis: Any, **kwargs: Any) -> Any:
        ary = _node(ary)
        offset = 0
        probe = np.ndarray(ary.shape, np.int8, buffer=bytes(1), strides=(0,) * ary.type.ndim)
        pieces = function(probe, indices_or_sections, *axis, **kwargs)
        along = [k for k in range(ary.type.ndim) if any(p.shape[k] != ary.shape[k] for p in pieces)]
        if not along:
            return [ary for _ in pieces]
        results = []
        for piece in pieces:
            extent = piece.shape[along[0]]
            index = [slice(None)] * ary.type.ndim
            index[along[0]] = slice(offset, offset + extent)
            results.append(getitem(ary, tuple(index)))
            offset += extent
        if offset != ary.shape[along[0]]:
            raise NotCovered("a split whose parts overlap or leave gaps")
        return results


for _function in (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit):
    _declare_split(_function)


@numpy_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Node:
    a = _node(a)
    if axis is None:
        return b.view("reshape", roll(b.view("reshape", a, shape=(-1,)), shift, 0), shape=a.shape)
    shifts, axes = np.broadcast_arrays(np.asarray(shift), np.asarray(axis))
    if isinstance(shift, Node) or shifts.ndim > 1 or shifts.dtype.kind not in "iu":
        raise NotCovered("roll by a computed shift")
    for by, along in zip(shifts.ravel().tolist(), axes.ravel().tolist()):
        (k,) = b.normalize_axes(along, a.type.ndim)
        extent = a.shape[k]
        if extent and by % extent:
            cut = extent - by % extent
            before = (slice(None),) * k
            a = concatenate([getitem(a, (*before, slice(cut, None))), getitem(a, (*before, slice(0, cut)))], k)
    return a


@numpy_function(np.tile)
def tile(A: Any, reps: Any) -> Node:
    a = _node(A)
    counts = _extents(reps)
    ndim = max(a.type.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - a.type.ndim) + a.shape
    a = b.view("reshape", a, shape=tuple(m for n in shape for m in (1, n)))
    a = b.broadcast_to(a, tuple(m for c, n in zip(counts, shape) for m in (c, n)))
    return b.view("reshape", a, shape=tuple(c * n for c, n in zip(counts, shape)))


@numpy_function(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Node:
    a = _node(a)
    if isinstance(repeats, (Node, np.ndarray, list, tuple)):
        raise NotCovered("repeat by an array")
    count = operator.index(repeats)
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    if axis is None:
        a, axis = b.view("reshape", a, shape=(-1,)), 0
    (k,) = b.normalize_axes(axis, a.type.ndim)
    wide = b.view("expand_dims", a, axis=(k + 1,))
    wide = b.broadcast_to(wide, (*a.shape[: k + 1], count, *a.shape[k + 1 :]))
    return b.view("reshape", wide, shape=(*a.shape[:k], a.shape[k] * count, *a.shape[k + 1 :]))


@numpy_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Node:
    a = _node(array)
    fill = kwargs.pop("constant_values", 0)
    if (
        mode != "constant"
        or kwargs
        or isinstance(pad_width, (Node, dict))
        or not isinstance(fill, (int, float, complex))
    ):
        raise NotCovered("pad in another mode")
    widths = np.broadcast_to(np.asarray(pad_width), (a.type.ndim, 2)).tolist()
    if any(not isinstance(w, int) or w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    value = b.constant(np.asarray(fill).astype(a.dtype)[()])
    shape = tuple(low + n + high for n, (low, high) in zip(a.shape, widths))
    parts, starts = [a], [tuple(low for low, _ in widths)]
    for k, (low, high) in enumerate(widths):  # slabs before and after along axis k, inside of the slabs of earlier axes
        for extent, start in ((low, 0), (high, low + a.shape[k])):
            if extent:
                slab = (*a.shape[:k], extent, *shape[k + 1 :])
                parts.append(b.broadcast_to(value, slab))
                starts.append((*(w[0] for w in widths[:k]), start, *(0 for _ in shape[k + 1 :])))
    return assemble(shape, parts, starts)


TAKE = row(Op("take", Kind.HOST, numpy=lambda x, i, axis, mode: np.take(x, i, axis=axis, mode=mode)))


@numpy_function(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise", indexing: bool = False) -> Node:
    a = _node(a)
    if not isinstance(indices, Node):
        indices = b.constant(np.asarray(indices))
    if out is not None or indices.dtype.kind not in "iu" or (indexing and not a.type.ndim):
        raise NotCovered("take with such indices")
    if axis is None:
        a, axis = b.view("reshape", a, shape=(-1,)), 0
    (k,) = b.normalize_axes(axis, a.type.ndim)
    type_ = ArrayType(a.dtype, a.shape[:k] + indices.shape + a.shape[k + 1 :])
    return b.compound("take", (a, b.cast(indices, indices.dtype)), type_, axis=k, mode=mode)


@numpy_function(np.where)
def where(condition: Any, /, *choices: Any) -> Node:
    if len(choices) != 2:
        raise NotCovered("where with one argument")
    c, x, y = (v if isinstance(v, Node) else b.constant(v) for v in (condition, *choices))
    if where_dtype(x.type, y.type).kind not in "biufcmM":
        raise NotCovered("where of such operands")
    return b.where(c, x, y)


@numpy_function(np.clip, method="clip")
def clip(a: Any, a_min: Any = _NO_VALUE, a_max: Any = _NO_VALUE, out: Any = None, **kwargs: Any) -> Node:
    low = kwargs.pop("min", None) if a_min is _NO_VALUE else a_min
    high = kwargs.pop("max", None) if a_max is _NO_VALUE else a_max
    if out is not None or kwargs or not isinstance(a, Node):
        raise NotCovered("clip with such arguments")
    bounds = [v if isinstance(v, Node) else b.constant(v) for v in (low, high) if v is not None]
    if not bounds:
        return a
    if len(bounds) == 2:
        return b.elementwise(clip_ufunc, a, *bounds)
    return b.elementwise(np.maximum if low is not None else np.minimum, a, bounds[0])


def _declare_filled(function: Callable[..., Any], value: Any) -> None:
    @numpy_function(function)
    def bind(a: Any, *args: Any, **kwargs: Any) -> Node:
        fill = value
        if function is np.full_like:
            fill, *args = args or (kwargs.pop("fill_value"),)  # type: ignore[assignment]
        dtype = kwargs.pop("dtype", None) if not args else args[0]
        shape = kwargs.pop("shape", None)
        kwargs.pop("device", None)
        if len(args) > 1 or any(v not in ("K", "C", True) for v in kwargs.values()) or isinstance(fill, np.ndarray):
            raise NotCovered(f"{function.__name__} with such arguments")
        target = canonical(np.dtype(dtype)) if dtype is not None else a.dtype
        node = fill if isinstance(fill, Node) else b.constant(np.asarray(fill).astype(target)[()])
        return b.broadcast_to(b.cast(node, target), a.shape if shape is None else _extents(shape))


for _function, _value in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0), (np.full_like, None)):
    _declare_filled(_function, _value)
