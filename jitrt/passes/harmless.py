"""What nothing reads is left out where it raises nothing: for inputs within ranges, which the program looks at.

    force (multiply t2 t2)  →  assume (x0 <= 4096.0 and x0 >= -4096.0);  left_out[flags=('under',)]

The ranges are made from the values of one call. They are powers of two as wide as lets nothing overflow, so that later
calls stay within them. What raises an underflow, which NumPy ignores if not told otherwise, is no reason to compute it:
the program does not run where that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..base.frozen import replaced
from ..ir import build as b
from ..ir.control import is_of_control
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.assumptions import assumption
from ..ir.ops.folds import REDUCE_MAXIMUM, REDUCE_MINIMUM, reduce
from ..ir.ops.optable import CONSTANT, Kind, Op
from ..ir.ops.raising import FORCE, can_raise, force, leave_out
from ..ir.ops.ranges import Range, either
from ..ir.ops.ufuncs import WHERE, resolved
from .unread import harmful

# Below, what looks at the inputs costs as much as what it spares.
_LEAST_OPERATIONS, _OPERATIONS_PER_INPUT = 16, 4
_WIDTHS = (64, 8, 1)  # binary orders of magnitude between the largest value and the end of its range
_ROUNDING = 8  # units in the last place that elementary functions may be off
_HAVE_VALUES = (Kind.VIEW, Kind.ASSEMBLE, Kind.UPDATE)  # those of their operands
_FLOATS = "fd"


def left_out(graph: Graph, values: Sequence[Any]) -> Graph:
    """`graph` without what nothing reads, as far as inputs like `values` let it raise nothing; or `graph` itself."""
    if not any(n.op is FORCE for n in graph.outputs):
        return graph
    results = [n for n in graph.outputs if n.op is not FORCE]
    before = topological_order(results)
    read = frozenset(before)
    unread = topological_order(harmful(graph, before), read)
    order = before + unread
    given = frozenset(order)
    floats = [(n, value) for n, value in zip(graph.inputs, values) if n.dtype.char in _FLOATS and n in given]
    if len(unread) < _LEAST_OPERATIONS + _OPERATIONS_PER_INPUT * len(floats):
        return graph
    extremes = {n: found for n, value in floats if (found := _extremes(value)) is not None}
    box, raising = _best(order, unread, extremes)
    kept = frozenset(topological_order(raising, read))
    left = [n for n in unread if n not in kept]
    if len(left) < _LEAST_OPERATIONS + _OPERATIONS_PER_INPUT * len(floats):
        return graph
    needed = frozenset(topological_order(left))
    conditions = [c for n, range_ in box.items() if n in needed for c in _lies_within(n, range_)]
    checks = [assumption(conditions)] if conditions else []
    flags = frozenset({"under"} if any("under" in n.op.flags for n in left) else ())
    outputs = [*results, *checks, leave_out(flags), *map(force, raising)]
    strides = graph.strides[: len(results)] + (None,) * (len(outputs) - len(results))
    return replaced(graph, outputs=tuple(outputs), strides=strides)


def _extremes(value: Any) -> Range | None:
    """The least and the largest number of an array; None if there is none, or one is not finite."""
    array = np.asarray(value)
    if array.size == 0 or array.dtype.kind not in "biuf":
        return None
    least, largest = (float(array),) * 2 if array.ndim == 0 else (float(array.min()), float(array.max()))
    return (least, largest) if math.isfinite(least) and math.isfinite(largest) else None


def _boxes(extremes: dict[Node, Range]) -> Iterator[dict[Node, Range]]:
    """Ranges with these extremes, the more general ones first: of any sign, with zero, and of positive numbers."""
    ranges = [(n, *found, np.finfo(n.dtype)) for n, found in extremes.items()]
    tried: list[dict[Node, Range]] = []
    for sign in range(3):
        for width in _WIDTHS:
            box = {}
            for node, least, largest, info in ranges:
                most = 2.0 ** min(math.frexp(max(-least, largest))[1] + width, info.maxexp - 1)
                low = -most if sign == 0 or least < 0 else 0.0
                if sign == 2 and least > 0:
                    low = 2.0 ** max(math.frexp(least)[1] - 1 - width, info.minexp)
                box[node] = low, most
            if box not in tried:
                tried.append(box)
                yield box


def _lies_within(node: Node, range_: Range) -> list[Node]:
    """Conditions that hold if the elements of `node` are in the range, and no nan."""
    axes = tuple(range(node.type.ndim))
    least, largest = (reduce(op, node, axes) if axes else node for op in (REDUCE_MINIMUM, REDUCE_MAXIMUM))
    low, high = (b.constant(node.dtype.type(end)) for end in range_)
    return [b.elementwise(np.greater_equal, least, low), b.elementwise(np.less_equal, largest, high)]


def _best(
    order: Sequence[Node], unread: Sequence[Node], extremes: dict[Node, Range]
) -> tuple[dict[Node, Range], list[Node]]:
    """Ranges for which fewest of the nodes `unread` may raise, and these nodes."""
    best: tuple[dict[Node, Range], list[Node]] | None = None
    for box in _boxes(extremes):
        raising = _raising(order, unread, box)
        if best is None or len(raising) < len(best[1]):
            best = box, raising
        if not raising:
            break
    assert best is not None  # without any inputs there is one box, an empty one
    return best


def _raising(order: Sequence[Node], unread: Sequence[Node], box: dict[Node, Range]) -> list[Node]:
    """Those of the nodes `unread` that may raise more than an underflow, for inputs in the ranges of `box`."""
    found: dict[Node, Range | None] = {}
    harmless: set[Node] = set()
    for node in order:
        range_ = box[node] if node in box else _range(node, found)
        if range_ is not None:
            harmless.add(node)
        found[node] = _all_of(node.dtype) if range_ is None else range_
    return [n for n in unread if n not in harmless and (can_raise(n) or is_of_control(n))]


def _range(node: Node, found: dict[Node, Range | None]) -> Range | None:
    """The range of a node, given those of its arguments; None if it may raise more than an underflow, or in doubt."""
    if node.op is CONSTANT:
        return _extremes(node["value"].value)
    rule = _rule(node.op, tuple([a.type.promotion_key for a in node.args]), node.dtype)
    if rule is None:
        return None
    function, dtypes = rule
    operands = []
    for arg, dtype in zip(node.args[len(node.args) - len(dtypes) :], dtypes):
        range_ = found[arg]
        if range_ is not None and arg.dtype is not dtype:
            range_ = _rounded(range_, dtype)
        if range_ is None:
            return None
        operands.append(range_)
    try:
        range_ = function(*operands)
    except OverflowError:
        return None
    return None if range_ is None else _rounded(range_, node.dtype)


@lru_cache(maxsize=4096)
def _rule(
    op: Op, keys: tuple[np.dtype | type, ...], result: np.dtype
) -> tuple[Callable[..., Range | None], tuple[np.dtype, ...]] | None:
    """The function for the ranges of an operation on operands with these promotion keys, and the dtypes of its loop.

    Operands in front of those that have a dtype there choose among the others; None if there is no function.
    """
    if op.kind in _HAVE_VALUES:
        return (either, (result,) * len(keys)) if all(key == result for key in keys) else None
    if op.range is None:
        return None
    if op is WHERE:
        return op.range, (result,) * 2
    return op.range, (tuple(map(np.dtype, keys)) if op.ufunc is None else resolved(op.ufunc, keys)[:-1])


@cache
def _all_of(dtype: np.dtype) -> Range | None:
    """The range of all integers or truth values of a dtype."""
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind in "iu":
        return float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    return None


@cache
def _precision(dtype: np.dtype) -> tuple[float, float, float, float]:
    """The error that a result may have, relative and absolute, and the ends of the numbers of full precision."""
    info = np.finfo(dtype)
    return _ROUNDING * float(info.eps), float(info.smallest_subnormal), float(info.tiny), float(info.max)


def _rounded(range_: Range, dtype: np.dtype) -> Range | None:
    """The range of the numbers of `range_` as elements of `dtype`; None if these may be too large for it."""
    low, high = range_
    if dtype.char not in _FLOATS:
        ends = _all_of(dtype)
        return ends if ends is not None and (dtype.kind == "b" or (ends[0] <= low and high < ends[1])) else None
    relative, absolute, least, largest = _precision(dtype)
    low = low - low * relative if low > 0 else low + low * relative - (absolute if low else 0.0)
    high = high - high * relative if high < 0 else high + high * relative + (absolute if high else 0.0)
    if not (-largest < low and high < largest):
        return None
    return 0.0 if 0 < low < least else low, 0.0 if -least < high < 0 else high
