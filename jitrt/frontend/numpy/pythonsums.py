"""Python's ``sum``, which since version 3.12 adds its own floats, and no others, with what rounding has lost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ir.extents import Size
from ...ir.node import Node
from ...ir.ops.ufuncs import WHERE
from ...ir.types import ArrayType
from ..rolling.loopnumber import LoopNumber
from .operators import is_tracer

_KINDS: dict[type, str] = {float: "f", int: "i", bool: "b", Size: "i", LoopNumber: "i"}
_LARGEST = 1 << 63  # integers from here on, and all that comes behind them, are added one by one
_FLOAT = ArrayType(np.dtype(np.float64), (), weak=True)


def accurate_sum(values: Iterable[Any], /, start: Any = 0) -> Any:
    """The sum as CPython has it: integers first, then floats (Neumaier 1974); whatever else comes ends that for good.

    Examples
    --------
    >>> accurate_sum([0.1] * 10), accurate_sum([1e16, 1.0, -1e16], 0.5), accurate_sum([2, True])
    (1.0, 1.5, 3)
    """
    rest, total = iter(values), start
    if _kind(total) == "i":
        for value in rest:
            total = total + value
            if _kind(value) not in ("i", "b") or _is_long(total):
                break
    if _kind(total) == "f":
        lost: Any = 0.0
        for value in rest:
            kind = _kind(value)
            if kind not in ("f", "i", "b") or _is_long(value):
                total = _corrected(total, lost) + value
                break
            larger = total + value
            if kind == "f":
                lost = lost + _lost(total, value, larger)
            total = larger
        else:
            return _corrected(total, lost)
    for value in rest:
        total = total + value
    return total


def _kind(value: Any) -> str:
    """The kind of a number of Python's, or of what stands for one; empty for other values."""
    if is_tracer(value):
        return value.dtype.kind if value._is_weak() else ""
    return _KINDS.get(type(value), "")


def _is_long(value: Any) -> bool:
    return type(value) is int and not -_LARGEST <= value < _LARGEST


def _lost(total: Any, value: Any, larger: Any) -> Any:
    """What the sum of two floats is without, exactly."""
    return _chosen(abs(total) >= abs(value), (total - larger) + value, (value - larger) + total)


def _corrected(total: Any, lost: Any) -> Any:
    """The sum with what was lost, if that is a number; -0.0 is kept."""
    if not is_tracer(lost):
        return total + lost if lost and math.isfinite(lost) else total
    return _chosen(lost - lost == 0.0, _chosen(lost != 0.0, total + lost, total), total)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    """One of two of Python's floats."""
    if not is_tracer(condition):
        return x if condition else y
    nodes = (condition._trace.node_of(v) for v in (x, y))
    return condition._new(Node(WHERE, (condition._node, *nodes), (), _FLOAT))
