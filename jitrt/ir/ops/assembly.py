"""Rows that put parts side by side: concatenations, stacks, pads, rolls; and the splits and repeats that are akin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import build as b
from ..extents import is_extent
from ..node import Node
from ..types import ArrayType
from .movement import getitem
from .operands import array_node, check_casting, extents, known, strong_node
from .optable import Kind, NotCovered, Op, ValueWanted, numpy_function, row


def _assemble(*parts: np.ndarray, shape: tuple[int, ...], starts: tuple[tuple[int, ...], ...]) -> np.ndarray:
    result = np.empty(shape, parts[0].dtype)
    for part, start in zip(parts, starts):
        result[tuple(slice(s, s + n) for s, n in zip(start, part.shape))] = part
    return result


ASSEMBLE = row(Op("assemble", Kind.ASSEMBLE, numpy=_assemble, view_like=True))


def assemble(
    shape: tuple[int, ...], parts: Sequence[Node], starts: Sequence[tuple[int, ...]], keeps_empty: bool = False
) -> Node:
    """An array of which part k occupies ``[start, start + part.shape)``; the parts cover it without overlap."""
    kept = [pair for pair in zip(parts, starts) if keeps_empty or pair[0].type.size] or [(parts[0], starts[0])]
    type_ = ArrayType(kept[0][0].dtype, shape)
    arguments = {"shape": shape, "starts": tuple(start for _, start in kept)}
    return b.compound("assemble", tuple(part for part, _ in kept), type_, **arguments)


def _operands(arrays: Any) -> list[Node]:
    if isinstance(arrays, Node):
        return [getitem(arrays, k) for k in range(arrays.shape[0])]
    if not isinstance(arrays, (list, tuple)):
        raise NotCovered("arrays that are in no list")
    nodes = [array_node(a) for a in arrays]
    dtype = np.result_type(*(a.dtype for a in nodes))
    if not all(np.can_cast(a.dtype, dtype, "same_kind") for a in nodes):
        raise NotCovered(f"times beside durations, which are no {dtype}")
    return [b.cast(a, dtype) for a in nodes]


def _is_number(value: Any) -> bool:
    return value.type.weak if isinstance(value, Node) else isinstance(value, (bool, int, float, complex))


@numpy_function(np.concatenate)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Node:
    if out is not None or dtype is not None:
        raise NotCovered("concatenate into a given array")
    check_casting(casting)
    if not isinstance(arrays, Node) and any(_is_number(a) for a in arrays):
        raise NotCovered("concatenate with Python numbers, which do not decide the dtype")
    parts = _operands(arrays)
    if axis is None:
        parts, axis = [b.view("reshape", p, shape=(-1,)) for p in parts], 0
    if not parts or parts[0].type.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = b.normalize_axis(axis, parts[0].type.ndim)
    rest = [tuple(n for k, n in enumerate(p.shape) if k != axis) for p in parts]
    if any(r != rest[0] for r in rest):
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    starts, end = [], 0
    for part in parts:
        starts.append(tuple(end if k == axis else 0 for k in range(part.type.ndim)))
        end += part.shape[axis]
    shape = (*parts[0].shape[:axis], end, *parts[0].shape[axis + 1 :])
    return assemble(shape, parts, starts, keeps_empty=len(shape) > 1)  # they, too, decide on the order of memory


@numpy_function(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Node:
    if out is not None or dtype is not None:
        raise NotCovered("stack into a given array")
    check_casting(casting)
    parts = _operands(arrays)
    if len({p.shape for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate([b.view("expand_dims", p, axis=(b.integer(axis),)) for p in parts], axis)


def _at_least(x: Node, ndim: int) -> Node:
    """`x` as ``atleast_1d`` … ``atleast_3d`` make it."""
    if x.type.ndim == 0 < ndim:
        return b.view("reshape", x, shape=(1,) * ndim)
    index = {(1, 2): (None, ...), (1, 3): (None, ..., None), (2, 3): (..., None)}.get((x.type.ndim, ndim))
    return x if index is None else getitem(x, index)


def _declare_at_least(ndim: int) -> None:
    @numpy_function(getattr(np, f"atleast_{ndim}d"), view=True)
    def bind(*arrays: Any) -> Any:
        results = tuple(_at_least(strong_node(a), ndim) for a in arrays)
        return results[0] if len(results) == 1 else results


for _ndim in (1, 2, 3):
    _declare_at_least(_ndim)


@numpy_function(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Node:
    if dtype is not None:
        raise NotCovered("vstack with a dtype")
    check_casting(casting)
    return concatenate([_at_least(p, 2) for p in _operands(tup)], 0)


@numpy_function(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Node:
    if dtype is not None:
        raise NotCovered("hstack with a dtype")
    check_casting(casting)
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
    @numpy_function(function, view=True)
    def bind(ary: Any, indices_or_sections: Any, *axis: Any, **kwargs: Any) -> Any:
        ary = strong_node(ary)
        try:
            places, axis, kwargs = known(indices_or_sections), known(axis), {k: known(v) for k, v in kwargs.items()}
        except ValueWanted:
            raise NotCovered("a split at computed places") from None
        offset = 0
        probe = np.ndarray(ary.shape, np.int8, buffer=bytes(1), strides=(0,) * ary.type.ndim)
        pieces = function(probe, places, *axis, **kwargs)
        along = [k for k in range(ary.type.ndim) if any(p.shape[k] != ary.shape[k] for p in pieces)]
        if not along:  # each is a view, and not the array itself
            return [getitem(ary, (slice(None),)) for _ in pieces]
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


def _shifts(shift: Any, axis: Any) -> Iterable[tuple[int, int]]:
    """How far `numpy.roll` moves elements along which axes."""
    try:
        shifts, axes = np.broadcast_arrays(np.asarray(known(shift)), np.asarray(known(axis)))
    except ValueWanted:
        raise NotCovered("roll by a computed shift") from None
    if shifts.ndim > 1 or shifts.dtype.kind not in "iu" or axes.dtype.kind not in "iu":
        raise NotCovered("roll by such a shift")
    return zip(shifts.ravel().tolist(), axes.ravel().tolist())


@numpy_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Node:
    a = strong_node(a)
    if axis is None:
        return b.view("reshape", roll(b.view("reshape", a, shape=(-1,)), shift, 0), shape=a.shape)
    for by, along in [(shift, axis)] if is_extent(shift) and type(axis) is int else _shifts(shift, axis):
        k = b.normalize_axis(along, a.type.ndim)
        extent = a.shape[k]
        if extent and by % extent:
            cut = extent - by % extent
            before = (slice(None),) * k
            a = concatenate([getitem(a, (*before, slice(cut, None))), getitem(a, (*before, slice(0, cut)))], k)
    return a


@numpy_function(np.tile)
def tile(A: Any, reps: Any) -> Node:
    a = strong_node(A)
    counts = extents(reps)
    if any(count < 0 for count in counts):
        raise NotCovered("a negative number of copies")
    if all(count == 1 for count in counts):
        raise NotCovered("a copy in NumPy's order")
    if not a.type.size:
        raise NotCovered("copies of nothing, which are a view")
    ndim = max(a.type.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - a.type.ndim) + a.shape
    given = reps if isinstance(reps, (tuple, list)) else (reps,)
    most = min((np.iinfo(n.dtype).max for n in given if isinstance(n, np.integer)), default=None)
    if most is not None and any(c * n > most for c, n in zip(counts, shape)):
        raise NotCovered("extents that the counts' dtype cannot hold")  # in which NumPy computes them
    if a.type.size != 0:
        a = b.view("reshape", a, shape=tuple(m for n in shape for m in (1, n)))
        a = b.broadcast_to(a, tuple(m for c, n in zip(counts, shape) for m in (c, n)))
    return b.view("reshape", a, shape=tuple(c * n for c, n in zip(counts, shape)))


@numpy_function(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Node:
    a = strong_node(a)
    if isinstance(repeats, (np.ndarray, list, tuple)) or (isinstance(repeats, Node) and repeats.shape):
        raise NotCovered("repeat by an array")
    count = b.integer(repeats)
    if count < 0:
        raise NotCovered("a negative number of copies, which NumPy refuses of elements and not of none")
    if axis is None or not a.type.ndim:
        a, axis = b.view("reshape", a, shape=(-1,)), 0 if axis is None else axis
    k = b.normalize_axis(axis, a.type.ndim)
    wide = b.view("expand_dims", a, axis=(k + 1,))
    wide = b.broadcast_to(wide, (*a.shape[: k + 1], count, *a.shape[k + 1 :]))
    return b.view("reshape", wide, shape=(*a.shape[:k], a.shape[k] * count, *a.shape[k + 1 :]))


@numpy_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Node:
    a = strong_node(array)
    fill = kwargs.pop("constant_values", 0)
    if mode != "constant" or kwargs or isinstance(pad_width, dict) or not isinstance(fill, (int, float, complex)):
        raise NotCovered("pad in another mode")
    if isinstance(pad_width, Node) and pad_width.dtype.kind != "i":
        raise NotCovered("pad by widths of another kind")
    if is_extent(pad_width):
        widths = [[pad_width] * 2] * a.type.ndim
    else:
        given = np.asarray(known(pad_width))
        if given.dtype.kind != "i":
            raise NotCovered("pad by widths of another kind")
        widths = np.broadcast_to(given, (a.type.ndim, 2)).tolist()
        if given.min(initial=0) < 0:
            raise ValueError("index can't contain negative values")
    if any(w < 0 for pair in widths for w in pair):
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
