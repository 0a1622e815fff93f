"""Sequences and matrices of a size that is a variable: `numpy.arange` and its kind where extents are symbols.

A literal has the same elements in every call. What depends on sizes is computed: from the positions along an axis,
which are the first ones of a literal that is long enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import build as b
from ...ir.extents import ceiling, is_extent, plain
from ...ir.node import Node
from ...ir.ops.optable import NotCovered
from ...ir.types import canonical

_EXACT = ("int64", "float64")  # dtypes that hold all positions
_LEAST_STEP = 1e-250  # of `linspace`, which goes another way where the distance of two elements vanishes


def sequence(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Node | None:
    """The array that one of NumPy's functions makes of extents; None if that is not known here."""
    maker = _MAKERS.get(function)
    if maker is None or not any(map(is_extent, (*args, *kwargs.values()))):
        return None
    try:
        return maker(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
    except (NotCovered, TypeError):  # NumPy says what is wrong with its arguments
        return None


def _whole(value: Any) -> Any:
    if is_extent(value) or isinstance(value, (int, np.integer)):
        return value
    raise NotCovered("a number with a fraction")


def _in(dtype: Any, node: Node, default: str) -> Node:
    kind = canonical(np.dtype(default if dtype is None else dtype))
    if kind.kind not in "biufc":
        raise NotCovered(f"elements of {kind}")
    return b.cast(node, kind)


def _arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Node:
    start, stop = (0, start) if stop is None else (start, stop)
    first, last, by = _whole(start), _whole(stop), _whole(1 if step is None else step)
    if is_extent(by) or not by or np.dtype(dtype or "int64").name not in _EXACT:
        raise NotCovered("another step, or inexact elements")
    length = ceiling(last - first, by) if by > 0 else ceiling(first - last, -by)
    made = b.positions(length if length > 0 else 0)
    made = made if by == 1 else b.elementwise(np.multiply, made, b.count(by))
    return _in(dtype, b.elementwise(np.add, made, b.count(first)), "int64")


def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C", device: Any = None) -> Node:
    if order != "C":
        raise NotCovered("another order")
    rows, columns = b.positions(_whole(N)), b.positions(_whole(N if M is None else M))
    rows = b.elementwise(np.add, b.view("reshape", rows, shape=(rows.shape[0], 1)), b.count(_whole(k)))
    return _in(dtype, b.elementwise(np.equal, rows, columns), "float64")


def _identity(n: Any, dtype: Any = None) -> Node:
    return _eye(n, dtype=float if dtype is None else dtype)


def _linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True) -> Node:
    if not all(isinstance(v, (int, float, np.floating)) and not is_extent(v) for v in (start, stop)):
        raise NotCovered("ends that are arrays, or not known")
    first, last = np.float64(start), np.float64(stop)
    delta, parts = last - first, num - 1 if endpoint else num
    if not _LEAST_STEP < abs(delta) < np.inf or parts < 1:
        raise NotCovered("elements that are all equal")
    places = b.positions(num)
    step = b.elementwise(np.divide, b.constant(delta), b.cast(b.count(parts), np.dtype(np.float64)))
    made = b.elementwise(np.multiply, b.cast(places, np.dtype(np.float64)), step)
    made = b.elementwise(np.add, made, b.constant(first))
    return b.where(b.elementwise(np.equal, places, b.count(parts)), b.constant(last), made) if endpoint else made


_MAKERS: dict[Callable[..., Any], Callable[..., Node]] = {
    np.arange: _arange, np.eye: _eye, np.identity: _identity, np.linspace: _linspace,
}  # fmt: skip
