"""Rows of the scans: folds along an axis that keep every intermediate result.

NumPy forms them strictly in order, so they round alike however they are computed: a scan is never reassociated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .folds import FOLD_IDENTITY, REDUCE_FMAX, REDUCE_FMIN, REDUCE_MAXIMUM, REDUCE_MINIMUM
from .movement import getitem
from .operands import strong_node
from .optable import Kind, NotCovered, Op, numpy_function, row
from .reductions import replace_nan

_COST = 4  # additions: each waits for the one before


def _scan(ufunc: np.ufunc, start: Callable[[np.dtype], Any]) -> Op:
    """The row of a scan; `start` is what changes no value that it is combined with, not even the sign of a zero."""

    def compute(x: np.ndarray, axis: int) -> np.ndarray:
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype)

    op = row(Op(f"scan_{ufunc.__name__}", Kind.SCAN, numpy=compute, ufunc=ufunc, cost=_COST))
    FOLD_IDENTITY[op] = start
    return op


def _negative_zero(dtype: np.dtype) -> Any:
    return dtype.type(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0 if dtype.kind == "f" else 0)


SCANS: dict[np.ufunc, Op] = {
    ufunc: _scan(ufunc, start)
    for ufunc, start in (
        (np.add, _negative_zero),
        (np.multiply, lambda t: t.type(1)),
        (np.maximum, FOLD_IDENTITY[REDUCE_MAXIMUM]),
        (np.minimum, FOLD_IDENTITY[REDUCE_MINIMUM]),
        (np.fmax, FOLD_IDENTITY[REDUCE_FMAX]),
        (np.fmin, FOLD_IDENTITY[REDUCE_FMIN]),
        (np.logical_or, lambda t: np.False_),
        (np.logical_and, lambda t: np.True_),
    )
}


def _accumulated(ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any) -> Node:
    """``ufunc.accumulate(x, axis, dtype)``."""
    x = strong_node(x)
    if x.dtype.kind not in "biufc" or not x.type.ndim or out is not None:
        raise NotCovered(f"{ufunc.__name__}.accumulate of such operands")
    (k,) = b.normalize_axes(axis, x.type.ndim)
    arguments = {} if dtype is None else {"dtype": b.given_dtype(dtype)}
    result = b.probe_dtype(ufunc.accumulate, x.type, **arguments)
    if result.kind not in "biufc":
        raise NotCovered(f"{ufunc.__name__}.accumulate with a result of {result}")
    return Node(SCANS[ufunc], (b.cast(x, result),), b.params(axis=k), ArrayType(result, x.shape))


def _declare_accumulate(ufunc: np.ufunc) -> None:
    @numpy_function(ufunc.accumulate)
    def bind(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Node:
        return _accumulated(ufunc, array, axis, dtype, out)


for _ufunc in SCANS:
    _declare_accumulate(_ufunc)


def _declare_cumulative(
    function: Callable[..., Any], ufunc: np.ufunc, method: str | None = None, nan: float | None = None
) -> None:
    """``cumsum`` and its like: along an axis, or of everything; `nan` is what a nan counts as."""

    @numpy_function(function, method=method)
    def bind(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Node:
        a = strong_node(a)
        if not a.type.ndim:
            raise NotCovered(f"{function.__name__} of such operands")
        if nan is not None:
            a = replace_nan(b.cast(a, a.dtype), nan)
        if axis is None:
            a, axis = b.view("reshape", a, shape=(-1,)), 0
        axis = b.normalize_axis(axis, a.type.ndim)
        return _accumulated(ufunc, a, axis, dtype, out)


_declare_cumulative(np.cumsum, np.add, method="cumsum")
_declare_cumulative(np.cumprod, np.multiply, method="cumprod")
_declare_cumulative(np.nancumsum, np.add, nan=0.0)
_declare_cumulative(np.nancumprod, np.multiply, nan=1.0)


@numpy_function(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Node:
    """Differences of neighbours, of booleans whether they differ."""
    a, times = strong_node(a), b.integer(n)
    if not a.type.ndim or prepend is not None or append is not None or times < 1:
        raise NotCovered("diff of such operands")
    k = b.normalize_axis(axis, a.type.ndim)
    before = (slice(None),) * k
    for _ in range(times):
        high, low = getitem(a, (*before, slice(1, None))), getitem(a, (*before, slice(None, -1)))
        a = b.elementwise(np.not_equal if a.dtype.kind == "b" else np.subtract, high, low)
    return a
