"""Rows of the primitive folds (`reduce_add` …) and of the searches for their extremes: what kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .optable import Kind, Op, row


def _fold(ufunc: np.ufunc, identity: Callable[[np.dtype], Any]) -> Op:
    def compute(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        of_nothing = {} if x.size or ufunc.identity is not None else {"initial": identity(x.dtype)}
        return ufunc.reduce(x, axis=axes, dtype=x.dtype, **of_nothing)

    op = row(Op(f"reduce_{ufunc.__name__}", Kind.REDUCTION, numpy=compute, ufunc=ufunc))
    FOLD_IDENTITY[op] = identity
    return op


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind in "fc":
        return dtype.type(-np.inf if dtype.kind == "f" else complex(-np.inf, -np.inf))
    return np.False_ if dtype.kind == "b" else dtype.type(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind in "fc":
        return dtype.type(np.inf if dtype.kind == "f" else complex(np.inf, np.inf))
    return np.True_ if dtype.kind == "b" else dtype.type(np.iinfo(dtype).max)


# The neutral element by which a fold or a scan starts; a sum starts from 0.0: that of negative zeros is a positive one.
FOLD_IDENTITY: dict[Op, Callable[[np.dtype], Any]] = {}

REDUCE_ADD = _fold(np.add, lambda t: t.type(0))
REDUCE_MULTIPLY = _fold(np.multiply, lambda t: t.type(1))
REDUCE_MAXIMUM = _fold(np.maximum, _lowest)
REDUCE_MINIMUM = _fold(np.minimum, _highest)
# The neutral element of fmax and fmin is nan, which they ignore; integers have no nan.
REDUCE_FMAX = _fold(np.fmax, lambda t: t.type(np.nan) if t.kind in "fc" else _lowest(t))
REDUCE_FMIN = _fold(np.fmin, lambda t: t.type(np.nan) if t.kind in "fc" else _highest(t))
REDUCE_OR = _fold(np.logical_or, lambda t: np.False_)
REDUCE_AND = _fold(np.logical_and, lambda t: np.True_)
FOLDS = {op.ufunc.__name__: op for op in FOLD_IDENTITY if op.ufunc is not None}
"""The folds by the names of their ufuncs."""


def reduce(op: Op, x: Node, axes: tuple[int, ...], keepdims: bool = False) -> Node:
    """Fold `x` over `axes` (sorted, non-negative) with `op`; over no axes, every element is folded into the start.

    Sums and products of half precision are formed in single precision and rounded at the end, as NumPy's loops do.
    """
    if axes:
        if x.dtype == np.float16 and op in (REDUCE_ADD, REDUCE_MULTIPLY):
            return b.cast(reduce(op, b.cast(x, np.dtype(np.float32)), axes, keepdims), x.dtype)
        shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        result = Node(op, (x,), b.params(axes=axes), ArrayType(x.dtype, shape))
        return keep_dims(result, axes) if keepdims else result
    assert op.ufunc is not None
    if op.ufunc.identity is None:
        return x
    return b.elementwise(op.ufunc, b.constant(x.dtype.type(op.ufunc.identity)), x)


def keep_dims(x: Node, axes: tuple[int, ...]) -> Node:
    """Let a result have `axes` again, of extent 1."""
    return b.view("expand_dims", x, axis=axes) if axes else x


def _arg_fold(extreme: Op) -> Op:
    """The row of a search: where along the last axis the extreme stands first."""
    find = np.argmax if extreme is REDUCE_MAXIMUM else np.argmin

    def compute(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return find(x, axis=axes[0])

    op = row(Op(f"arg_{extreme.name}", Kind.REDUCTION, numpy=compute, ufunc=extreme.ufunc))
    EXTREME[op] = extreme
    return op


EXTREME: dict[Op, Op] = {}  # of a search: the fold that gives the value which it finds
SEARCHES = {np.argmax: _arg_fold(REDUCE_MAXIMUM), np.argmin: _arg_fold(REDUCE_MINIMUM)}
