"""Rows of means, variances and standard deviations, with the definitions that NumPy's own sources give them."""

from __future__ import annotations

import math

import numpy as np

from .. import build as b
from ..extents import is_extent
from ..node import Node
from .folds import REDUCE_ADD, keep_dims, reduce
from .reductions import declare


def _count(n: Node, selected: Node | None, keepdims: bool) -> Node:
    """How many elements each result is made of, as NumPy counts them: an ``intp``."""
    if selected is None:
        return b.count(_number(n))
    return reduce(REDUCE_ADD, b.cast(selected, np.dtype(np.intp)), n["axis"], keepdims)


def _number(n: Node) -> int:
    """How many elements each result is made of if all are selected."""
    return math.prod(n.args[0].shape[a] for a in n["axis"])


def _divide(total: Node, count: Node) -> Node:
    """``true_divide(total, count, casting="unsafe")`` into the dtype of `total`."""
    return b.cast(b.elementwise(np.divide, total, count), total.dtype)


def _moment_dtype(n: Node) -> np.dtype:
    """dtype in which NumPy accumulates a mean or a variance of the operand."""
    x = n.args[0]
    if x.dtype == np.float16 and not n.op.name.startswith("nan"):
        return n.kwargs.get("dtype", np.dtype(np.float32))
    return n.kwargs.get("dtype", x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64))


def _lower_mean(n: Node) -> Node:
    x, selected = n.args[0], n.args[1] if len(n.args) == 2 else None
    x = b.cast(x, _moment_dtype(n))
    if selected is not None:
        x = b.where(selected, x, b.constant(x.dtype.type(0)))
    mean = b.cast(_divide(reduce(REDUCE_ADD, x, n["axis"]), _count(n, selected, keepdims=False)), n.dtype)
    return keep_dims(mean, n["axis"]) if n["keepdims"] else mean


def _variance(n: Node, selected: Node | None, in_place: bool = False) -> Node:
    """The two-pass algorithm of NumPy's ``_var`` over the elements that are `selected`.

    A given dtype is that of the sums; deviations are from the operand itself, and with `in_place` of its dtype.
    """
    x, moment = n.args[0], _moment_dtype(n)
    if "mean" in n.kwargs:
        mean = n.args[-1]
    else:
        total = reduce(REDUCE_ADD, _select(selected, b.cast(x, moment)), n["axis"])
        mean = keep_dims(_divide(total, _count(n, selected, keepdims=False)), n["axis"])
    deviation = b.elementwise(np.subtract, x, mean)
    if in_place:
        deviation = b.cast(deviation, x.dtype)
    if deviation.dtype.kind == "c":
        conjugate = b.elementwise(np.conjugate, deviation)
        square = b.real(b.elementwise(np.multiply, deviation, conjugate))
    else:
        square = b.elementwise(np.multiply, deviation, deviation)
    if "dtype" in n.kwargs or moment.kind != "c":
        square = b.cast(square, moment)
    total = reduce(REDUCE_ADD, _select(selected, square), n["axis"], n["keepdims"])
    ddof = n["ddof"].value if "ddof" in n.kwargs else 0
    if selected is None and is_extent(_number(n)) and type(ddof) is int:
        return _divide(total, b.count(max(_number(n) - ddof, 0)))
    count = _count(n, selected, n["keepdims"])
    freedom = b.elementwise(np.subtract, count, b.constant(ddof))
    return _divide(total, b.elementwise(np.maximum, freedom, b.constant(0)))


def _select(selected: Node | None, x: Node) -> Node:
    return x if selected is None else b.where(selected, x, b.constant(x.dtype.type(0)))


def _lower_var(n: Node) -> Node:
    return b.cast(_variance(n, _selected(n)), n.dtype)


def _not_nan(n: Node) -> Node | None:
    x = n.args[0]
    return b.elementwise(np.logical_not, b.elementwise(np.isnan, x)) if x.dtype.kind in "fc" else None


def _selected_not_nan(n: Node) -> Node | None:
    present = _not_nan(n)
    if len(n.args) == 1 or present is None:
        return n.args[1] if len(n.args) == 2 else present
    return b.elementwise(np.logical_and, present, n.args[1])


def _lower_nanmean(n: Node) -> Node:
    selected = _selected_not_nan(n)
    x = _select(selected, b.cast(n.args[0], _moment_dtype(n)))
    total = reduce(REDUCE_ADD, x, n["axis"], n["keepdims"])
    return b.cast(_divide(total, _count(n, selected, n["keepdims"])), n.dtype)


def _lower_nanvar(n: Node) -> Node:
    selected = _selected_not_nan(n)
    variance = b.cast(_variance(n, selected, in_place=n.args[0].dtype.kind in "fc"), n.dtype)
    if selected is None:
        return variance
    ddof = b.constant(n["ddof"].value if "ddof" in n.kwargs else 0)
    enough = b.elementwise(np.greater, _count(n, selected, n["keepdims"]), ddof)
    return b.where(enough, variance, b.constant(n.dtype.type(np.nan)))


def _warns_of_nothing(n: Node) -> Node:
    """Where a mean is one of no elements."""
    selected = _selected(n)
    if selected is None:
        return b.constant(np.bool_(_number(n) == 0))
    return b.elementwise(np.equal, _count(n, selected, n["keepdims"]), b.constant(0))


def _warns_of_freedom(n: Node) -> Node:
    """Where there are no degrees of freedom."""
    ddof = b.constant(n["ddof"].value if "ddof" in n.kwargs else 0)
    selected = _selected(n)
    if selected is None and not isinstance(ddof["value"].value, np.ndarray):
        return b.constant(np.bool_(ddof["value"].value >= _number(n)))
    return b.elementwise(np.greater_equal, ddof, _count(n, selected, n["keepdims"]))


def _selected(n: Node) -> Node | None:
    if n.op.name.startswith("nan"):
        return _selected_not_nan(n)
    return n.args[1] if len(n.args) - ("mean" in n.kwargs) == 2 else None


declare(np.mean, _lower_mean, "mean", warns=_warns_of_nothing)
declare(np.var, _lower_var, "var", without="e", warns=_warns_of_freedom)  # whose squares NumPy rounds to half precision
declare(np.std, lambda n: b.elementwise(np.sqrt, _lower_var(n)), "std", without="e", warns=_warns_of_freedom)
declare(np.nanmean, _lower_nanmean, rounds=True, warns=_warns_of_nothing)
declare(np.nanvar, _lower_nanvar, without="e", warns=_warns_of_freedom)
declare(np.nanstd, lambda n: b.elementwise(np.sqrt, _lower_nanvar(n)), without="e", warns=_warns_of_freedom)
