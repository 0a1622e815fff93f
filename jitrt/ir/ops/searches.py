"""Rows of the functions that give the place of an extreme: `argmax`, `argmin`, and those that ignore nan."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .folds import EXTREME, REDUCE_MINIMUM, SEARCHES, keep_dims, reduce
from .operands import strong_node
from .optable import Kind, NotCovered, Op, numpy_function, row
from .reductions import given_arguments, reduced_shape

FEWEST_COLUMNS = 8  # NumPy copies columns to rows, and compares several elements at once


def _lower_arg(function: Callable[..., Any], n: Node) -> Node:
    """A search along the last axis, or the least of the places along another at which the extreme stands.

    A nan is the extreme: where it is a number, no element is nan.
    """
    (x,) = n.args
    axis, keepdims = n["axis"], n["keepdims"]
    search = SEARCHES[function]
    if axis is None:
        x, axis, kept = b.view("reshape", x, shape=(-1,)), 0, tuple(range(x.type.ndim))
    else:
        kept = (axis,)
    shape = reduced_shape(x, (axis,), False)
    if x.shape[axis] == 1:
        result = b.broadcast_to(b.constant(np.intp(0)), shape)
    elif axis == x.type.ndim - 1 or x.dtype.char not in "?bBhHiIlLqQfd":
        result = Node(search, (x,), b.params(axes=(axis,)), ArrayType(np.dtype(np.intp), shape))
    else:
        extreme = reduce(EXTREME[search], x, (axis,), keepdims=True)
        found = b.elementwise(np.equal, x, extreme)
        if x.dtype.kind == "f":
            found = b.elementwise(np.logical_or, found, b.elementwise(np.isnan, x))
        along = b.view("reshape", b.positions(x.shape[axis]), shape=(x.shape[axis], *(1,) * (x.type.ndim - 1 - axis)))
        places = b.broadcast_to(along, x.shape)
        result = reduce(REDUCE_MINIMUM, b.where(found, places, b.count(x.shape[axis])), (axis,))
    return keep_dims(result, kept) if keepdims else result


def _declare_index(function: Callable[..., Any], method: str | None = None, compiled: bool = False) -> None:
    """Add the row of a function that gives the index of an extreme; NumPy executes those that have to raise."""
    name = function.__name__
    if compiled:
        row(Op(name, Kind.COMPOUND, numpy=function, lower=partial(_lower_arg, function), order="C"))
    else:
        row(Op(name, Kind.HOST, numpy=function, order="C"))

    @numpy_function(function, method=method)
    def bind(*args: Any, **kwargs: Any) -> Node:
        given = given_arguments(function, args, kwargs)
        a, axis, keepdims = given.pop("a"), given.pop("axis", None), bool(given.pop("keepdims", False))
        a = strong_node(a)
        if any(v is not None for v in given.values()) or not a.type.size or not a.type.ndim:
            raise NotCovered(f"{name} of such operands")
        axes = b.normalize_axes(axis if axis is None else b.integer(axis), a.type.ndim)
        if compiled and axis is not None and 1 < math.prod(a.shape[axes[0] + 1 :]) < FEWEST_COLUMNS < a.shape[axes[0]]:
            raise NotCovered(f"{name} of few columns")
        type_ = ArrayType(b.probe_dtype(function, a.type), reduced_shape(a, axes, keepdims))
        return b.compound(name, (a,), type_, axis=axis if axis is None else axes[0], keepdims=keepdims)


_declare_index(np.argmin, "argmin", compiled=True)
_declare_index(np.argmax, "argmax", compiled=True)
_declare_index(np.nanargmin)
_declare_index(np.nanargmax)
