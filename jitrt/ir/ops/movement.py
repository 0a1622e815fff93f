"""Rows of the views: other ways to index the same memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import build as b
from ..extents import is_extent, plain
from ..node import Node
from ..types import ArrayType
from .operands import extents, known, strong_node
from .optable import OPS, Kind, NotCovered, Op, numpy_function, row

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
            encoded.append(tuple(None if v is None else _index(v) for v in bounds))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            encoded.append(_index(item))
        else:
            raise NotCovered("an index that is not made of integers and slices")
    return tuple(encoded)


def _index(value: Any) -> int:
    return plain(value) if is_extent(value) else operator.index(value)


@lru_cache(maxsize=4096)  # views of arguments are made anew at every call
def decode_index(encoded: Index) -> tuple[Any, ...]:
    """The index that `encode_index` was given."""
    return tuple(slice(*item) if isinstance(item, tuple) else item for item in encoded)


def _view(name: str, numpy: Callable[..., Any], read_only: bool = False) -> Op:
    return row(Op(name, Kind.VIEW, numpy=numpy, view_like=True, read_only=read_only))


_view("getitem", lambda x, index: np.asarray(x)[decode_index(index)])
_view("reshape", lambda x, shape: np.reshape(x, shape))
_view("transpose", lambda x, axes: np.transpose(x, axes))
_view("broadcast_to", lambda x, shape: np.broadcast_to(x, shape), read_only=True)
_view("expand_dims", lambda x, axis: np.expand_dims(x, axis))
_view("squeeze", lambda x, axis: np.squeeze(x, axis))
_view("diagonal", lambda x, offset, axis1, axis2: np.diagonal(x, offset, axis1, axis2), True)
_view("sliding_window_view", np.lib.stride_tricks.sliding_window_view, read_only=True)
_view("real", np.real)
_view("imag", np.imag)
BITCAST = _view("bitcast", lambda x, dtype: np.asarray(x).view(dtype))


def as_view(array: Any, name: str, arguments: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray | None:
    """What the view `name` makes of `array`, single elements as 0-d arrays; None if NumPy would copy it.

    `shape` is that of the result.
    """
    if name == "reshape":
        try:
            return np.reshape(array, shape, copy=False)
        except ValueError:
            return None
    if name == "getitem":
        index = decode_index(arguments["index"])
        return array[index if Ellipsis in index else (*index, ...)]
    function = OPS[name].numpy
    assert function is not None
    return function(array, **arguments)


def getitem(x: Node, index: Any) -> Node:
    """``x[index]`` for a basic index."""
    return b.view("getitem", x, index=encode_index(index))


def bitcast(x: Node, dtype: np.dtype) -> Node:
    """``x.view(dtype)``, for elements of the same size.

    Raises
    ------
    NotCovered
        For elements that are no numbers or dates, and booleans, which may be no others than 0 and 1.
    """
    if dtype == x.dtype:
        return getitem(x, ...)
    kinds = x.dtype.kind + dtype.kind
    if dtype.itemsize != x.dtype.itemsize or not set(kinds) <= set("biufmM") or dtype.kind == "b" or not dtype.isnative:
        raise NotCovered("a view of another type")
    return Node(BITCAST, (x,), b.params(dtype=dtype), ArrayType(dtype, x.shape))


@numpy_function(np.reshape, view=True)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Node:
    if order not in ("C", "F") or copy is not None:
        raise NotCovered("reshape in another order")
    wanted = extents(newshape if shape is None else shape)
    if order == "F":
        return transpose(b.view("reshape", transpose(strong_node(a)), shape=wanted[::-1]))
    return b.view("reshape", strong_node(a), shape=wanted)


@numpy_function(np.ravel, view=True, contiguous=True)
def ravel(a: Any, order: str = "C") -> Node:
    if order not in ("C", "F"):
        raise NotCovered("ravel in another order")
    return b.view("reshape", transpose(strong_node(a)) if order == "F" else strong_node(a), shape=(-1,))


@numpy_function(np.transpose, view=True)
def transpose(a: Any, axes: Any = None) -> Node:
    a = strong_node(a)
    order = range(a.type.ndim)[::-1] if axes is None else extents(axes)
    return b.view("transpose", a, axes=tuple(k % max(a.type.ndim, 1) for k in _checked(order, a.type.ndim)))


def _checked(axes: Sequence[int], ndim: int) -> Sequence[int]:
    if len(axes) != ndim:
        raise ValueError("axes don't match array")
    b.normalize_axes(tuple(axes), ndim)
    return axes


def _through_transpose(function: Callable[..., Any], method: str | None = None) -> None:
    """Rows that only permute axes: NumPy does it to an array whose extents name its axes."""

    @numpy_function(function, method=method, view=True)
    def bind(a: Any, *args: Any, **kwargs: Any) -> Node:
        a = strong_node(a)
        probe = b.phantom(tuple(range(1, a.type.ndim + 1)))
        moved = function(probe, *map(known, args), **{k: known(v) for k, v in kwargs.items()})
        if a.type.ndim == 0:
            return a
        return b.view("transpose", a, axes=tuple(extent - 1 for extent in moved.shape))


_through_transpose(np.swapaxes, "swapaxes")
_through_transpose(np.moveaxis)
_through_transpose(np.rollaxis)
_through_transpose(np.matrix_transpose)


@numpy_function(np.permute_dims, view=True)
def permute_dims(a: Any, axes: Any = None) -> Node:
    return transpose(a, axes)


@numpy_function(np.broadcast_to, view=True)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Node:
    return b.view("broadcast_to", strong_node(array), shape=extents(shape))


@numpy_function(np.expand_dims, view=True)
def expand_dims(a: Any, axis: Any) -> Node:
    axes = tuple(map(b.integer, axis)) if isinstance(axis, (tuple, list)) else (b.integer(axis),)
    return b.view("expand_dims", strong_node(a), axis=axes)


@numpy_function(np.squeeze, method="squeeze", view=True)
def squeeze(a: Any, axis: Any = None) -> Node:
    if isinstance(a, Node) and a.type.weak:  # of which NumPy makes an array without axes
        raise NotCovered("squeeze of a number of Python's")
    a = strong_node(a)
    every = tuple(k for k, n in enumerate(a.shape) if n == 1) if axis is None else ()
    axes = every if axis is None else b.normalize_axes(axis, a.type.ndim)
    return b.view("squeeze", a, axis=axes) if axes else a  # without any, NumPy gives the array itself


@numpy_function(np.diagonal, method="diagonal", view=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    first, second = b.integer(axis1), b.integer(axis2)
    return b.view("diagonal", strong_node(a), offset=b.integer(offset), axis1=first, axis2=second)


@numpy_function(np.lib.stride_tricks.sliding_window_view, view=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Node:
    if not isinstance(x, Node) or writeable is not False:
        raise NotCovered("windows of a list, or such as may be written")
    window, ndim = extents(window_shape), x.type.ndim
    axes = tuple(range(ndim)) if axis is None else extents(axis)
    if not window or len(window) != len(axes) or not all(-ndim <= k < ndim for k in axes):
        raise NotCovered("no windows, or an error, which NumPy describes")
    axes = tuple(k % ndim for k in axes)
    left = list(x.shape)
    for k, n in zip(axes, window):
        left[k] = left[k] - n + 1
        if n < 0 or left[k] < 1:
            raise NotCovered("windows that are larger than their array, or negative")
    return b.view("sliding_window_view", x, window_shape=window, axis=axes)


@numpy_function(np.real, view=True)
def real(val: Any) -> Node:
    val = strong_node(val)
    return b.real(val)


@numpy_function(np.imag, view=True)
def imag(val: Any) -> Node:
    val = strong_node(val)
    if val.dtype.kind != "c":
        raise NotCovered("zeros that may not be written")
    return b.imag(val)


@numpy_function(np.flip, view=True)
def flip(m: Any, axis: Any = None) -> Node:
    m = strong_node(m)
    if not m.type.ndim:
        raise NotCovered("flip of a single element, which gives a scalar")
    axes = b.normalize_axes(tuple(axis) if isinstance(axis, list) else axis, m.type.ndim)
    return getitem(m, tuple(slice(None, None, -1 if k in axes else None) for k in range(m.type.ndim)))


@numpy_function(np.flipud, view=True)
def flipud(m: Any) -> Node:
    return flip(m, 0)


@numpy_function(np.fliplr, view=True)
def fliplr(m: Any) -> Node:
    if strong_node(m).type.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@numpy_function(np.rot90, view=True)
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Node:
    m = strong_node(m)
    axes, turns = extents(axes), b.integer(k) % 4
    if len(axes) != 2 or not all(-m.type.ndim <= axis < m.type.ndim for axis in axes):
        raise NotCovered("rot90 of such arrays")
    first, second = (axis % m.type.ndim for axis in axes)
    if first == second:
        raise NotCovered("rot90 about one axis")  # an error, which NumPy describes
    if turns == 0:
        return getitem(m, ())
    if turns == 2:
        return flip(m, (first, second))
    order = list(range(m.type.ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(flip(m, second), order) if turns == 1 else flip(transpose(m, order), second)


def base_of(node: Node) -> Node:
    """The node whose memory holds `node`: itself, or the base of a view, or the call that a result comes from."""
    while node.op.kind is Kind.VIEW:
        node = node.args[0]
    return node
