"""Rows of the selections, and of the arrays that are filled with one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import build as b
from ..extents import is_extent
from ..node import Node
from ..types import canonical
from .operands import array_node, extents
from .optable import NotCovered, numpy_function
from .ufuncs import clip_ufunc, where_dtype

_NO_VALUE = np._NoValue


@numpy_function(np.where, by_value=True)
def where(condition: Any, /, *choices: Any) -> Node:
    if len(choices) != 2:
        raise NotCovered("where with one argument")
    c, x, y = (v if isinstance(v, Node) else _literal(v) for v in (condition, *choices))
    dtype = where_dtype(x.type, y.type)
    if dtype.kind not in "biufcmM":
        raise NotCovered("where of such operands")
    x, y = _wrapped(x, dtype), _wrapped(y, dtype)
    decided, shape = b.literal(c), b.broadcast_shape((c, x, y))
    if decided is not None and _may_overflow(y if decided else x, dtype):
        raise NotCovered("where of a number that may overflow, of which NumPy warns, chosen or not")
    if shape and (decided is not None or x is y):  # what is not chosen is no operand, so that it counts as unread
        chosen = b.broadcast_to(b.cast(x if decided or x is y else y, dtype), shape)
        return b.where(b.constant(np.True_), chosen, chosen)  # in the order of its operands, which a copy is not
    return b.where(c, x, y)


def _may_overflow(x: Node, dtype: np.dtype) -> bool:
    """Whether `x` is a Python number that is no literal, and becomes a smaller float."""
    is_float = x.type.weak and x.op.name != "constant" and x.dtype.kind in "fc"
    return is_float and dtype.kind in "fc" and not np.can_cast(x.dtype, dtype)


def _literal(value: Any) -> Node:
    return array_node(value) if isinstance(value, (list, tuple)) else b.constant(value)


def _wrapped(x: Node, dtype: np.dtype) -> Node:
    """A Python number as `numpy.where` takes it: integers wrap beyond the range of the dtype, and raise nothing.

    Raises
    ------
    NotCovered
        If it is a float that overflows, of which NumPy warns, chosen or not.
    """
    if x.type.weak and x.op.name == "constant":
        value = np.asarray(x["value"].value)
        if dtype.kind in "iu":
            return b.constant(value.astype(dtype)[()])
        with np.errstate(over="ignore"):
            if value.dtype.kind in "fc" and np.isfinite(value) and not np.isfinite(value.astype(dtype)):
                raise NotCovered("where of a number that overflows")
    return x


@numpy_function(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Node:
    """The choice of the first condition that holds, in the dtype that all choices have in common."""
    if isinstance(condlist, Node) or isinstance(choicelist, Node):
        raise NotCovered("select of what is no list")
    conditions, choices = list(condlist), [*choicelist, default]
    if len(conditions) + 1 != len(choices) or not conditions:
        raise NotCovered("select of lists that do not match")
    nodes = [array_node(c) for c in conditions]
    plain = [c for c in choices if type(c) in (int, float, complex)]
    if any(isinstance(c, Node) and c.type.weak for c in choices) or any(n.dtype.kind != "b" for n in nodes):
        raise NotCovered("select of such operands")
    arrays = [array_node(c).dtype for c in choices if type(c) not in (int, float, complex)]
    dtype = canonical(np.result_type(*plain, *arrays))
    if dtype.kind not in "biufc":
        raise NotCovered(f"select of {dtype}")
    own = [c.dtype if isinstance(c, Node) else np.asarray(c).dtype for c in choices[:-1]]
    if not all(np.can_cast(t, dtype, "same_kind") for t in own):
        raise NotCovered("select of numbers that are no weak ones where they are copied")
    values = [b.cast(array_node(c), dtype) for c in choices]
    result = values[-1]
    for condition, value in zip(nodes[::-1], values[-2::-1]):
        result = b.where(condition, value, result)
    if not result.shape:
        raise NotCovered("select of single elements")
    return result


@numpy_function(np.clip, by_value=True)
def clip(a: Any, a_min: Any = _NO_VALUE, a_max: Any = _NO_VALUE, out: Any = None, **named: Any) -> Node:
    given = [v is not _NO_VALUE for v in (a_min, a_max)]
    if out is not None or not isinstance(a, Node) or any(given) != all(given) or (any(given) and named):
        raise NotCovered("clip with such arguments")
    low, high = (a_min, a_max) if all(given) else (named.pop("min", None), named.pop("max", None))
    if named:
        raise NotCovered("clip with options of a ufunc")
    if a.dtype.kind in "iu":  # as NumPy does, which compares with the range of the dtype before it converts
        info = np.iinfo(a.dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    bounds = [v if isinstance(v, Node) else _literal(v) for v in (low, high) if v is not None]
    if not bounds:
        return b.elementwise(np.positive, a)
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
        if (
            not isinstance(a, Node)
            or len(args) > 1
            or any(v not in ("K", "A", "C", "F", True) for v in kwargs.values())
            or not (isinstance(fill, (Node, int, float, np.generic, type(None))) or is_extent(fill))
            or isinstance(fill, (np.flexible, np.complexfloating))
            or (fill is None and (a.dtype if dtype is None else b.given_dtype(dtype)).kind != "f")
        ):
            raise NotCovered(f"{function.__name__} with such arguments")
        target = b.given_dtype(dtype) if dtype is not None else a.dtype
        node = (
            fill
            if isinstance(fill, Node)
            else b.constant(np.full((), int(fill) if is_extent(fill) else fill, target)[()])
        )
        # A view even of one element: 0-d arrays stay arrays here.
        return b.view("broadcast_to", b.cast(node, target), shape=a.shape if shape is None else extents(shape))


for _function, _value in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0), (np.full_like, None)):
    _declare_filled(_function, _value)
