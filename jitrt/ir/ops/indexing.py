"""Rows of the gathers: elements that arrays of integers choose.

A *gather* has one element for each of its indices: along some axes of the source its position is computed, along the
others it is that of the element itself. Kernels compute it together with what uses it, and cannot raise; so bounds are
checked in front of it, from the least and the greatest index. Where a check fails the program ends, having written
nothing that its caller sees, and the plain function raises NumPy's exception.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .folds import REDUCE_MAXIMUM, REDUCE_MINIMUM, reduce
from .movement import encode_index
from .operands import array_node, strong_node
from .optable import Kind, NotCovered, Op, numpy_function, row

_COST = 8  # additions: a load from anywhere
_INTP = np.dtype(np.intp)
_COMPILED = frozenset("?bBhHiIlLqQefdFDmM")  # dtypes of elements that kernels can move
Source = tuple[int, ...]  # for each axis of the source the axis of the result, or -1 - k for index k


def _gather(x: np.ndarray, *operands: np.ndarray, source: Source) -> np.ndarray:
    indices = operands[: sum(s < 0 for s in source)]
    shape = np.shape(indices[0])
    along = [np.arange(n).reshape(-1, *(1,) * (len(shape) - 1 - d)) for d, n in enumerate(shape)]
    return np.asarray(x[tuple(indices[-1 - s] if s < 0 else along[s] for s in source)])


def _check_bounds(low: Any, high: Any, extent: int, axis: int) -> np.ndarray:
    wrong = low if low < -extent else high
    if not -extent <= wrong < extent:
        raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {extent}")
    return np.zeros((), np.int8)


GATHER = row(Op("gather", Kind.GATHER, numpy=_gather, cost=_COST))
CHECK_BOUNDS = row(Op("check_bounds", Kind.CHECK, numpy=_check_bounds))


def gathered_indices(n: Node) -> tuple[Node, ...]:
    """The operands of a gather that are its indices; the first is its source, the last are checks of bounds."""
    return n.args[1 : 1 + sum(s < 0 for s in n["source"])]


def _take_at(
    x: np.ndarray, *indices: Any, axes: tuple[int, ...], at: int, names: Any, mode: str, is_take: bool = False
) -> Any:
    if is_take:  # elements as they are in `chosen`, and in C's order: sums of them depend on that
        return np.take(x, indices[0], axis=axes[0], mode=mode)  # type: ignore[call-overload]
    chosen = np.moveaxis(x, axes, range(len(axes)))[indices]
    joint = np.ndim(chosen) - x.ndim + len(axes)
    return np.moveaxis(chosen, range(joint), range(at, at + joint)) if joint else chosen


def _take_along(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    return np.take_along_axis(x, index, axis)


def _positions(index: Node, extent: int, mode: str = "raise") -> Node:
    """An index into an axis of that extent as an ``intp`` that is not negative."""
    position = b.cast(index, _INTP)
    if mode == "clip":
        return b.elementwise(np.minimum, b.elementwise(np.maximum, position, b.count(0)), b.count(extent - 1))
    if mode == "wrap":
        return b.elementwise(np.remainder, position, b.count(extent))
    if index.dtype.kind == "u":
        return position
    negative = b.elementwise(np.less, position, b.count(0))
    return b.where(negative, b.elementwise(np.add, position, b.count(extent)), position)


def _checks(index: Node, extent: int, name: int) -> list[Node]:
    """What fails if an index is out of bounds; literal ones have been looked at."""
    range_ = np.iinfo(index.dtype)
    if index.op.name == "constant" or not index.type.size or -extent <= range_.min <= range_.max < extent:
        return []
    every, position = tuple(range(index.type.ndim)), b.cast(index, _INTP)
    bounds = tuple(reduce(op, position, every) if every else position for op in _EXTREMES)
    return [Node(CHECK_BOUNDS, bounds, b.params(extent=extent, axis=name), _DONE)]


def _lower_take_at(n: Node) -> Node:
    """Indices of the shape of the result, none of them negative."""
    x, *indices = n.args
    joint = b.joint_shape([i.shape for i in indices])
    at, axes = n["at"], n["axes"]
    rest = iter((*range(at), *range(at + len(joint), n.type.ndim)))
    source = tuple(-1 - axes.index(k) if k in axes else next(rest) for k in range(x.type.ndim))
    behind = n.type.ndim - at - len(joint)
    full, checks = [], []
    for index, axis, name in zip(indices, axes, n["names"]):
        if n["mode"] == "raise":
            checks += _checks(index, x.shape[axis], name)
        if behind and index.type.ndim:
            index = b.view("reshape", index, shape=(*index.shape, *(1,) * behind))
        full.append(_positions(b.broadcast_to(index, n.shape), x.shape[axis], n["mode"]))
    return Node(GATHER, (x, *full, *checks), b.params(source=source), n.type)


def _lower_take_along(n: Node) -> Node:
    x, index = n.args
    axis = n["axis"]
    position = _positions(b.broadcast_to(index, n.shape), x.shape[axis])
    checks = _checks(index, x.shape[axis], axis)
    x = b.broadcast_to(x, tuple(m if k == axis else n.shape[k] for k, m in enumerate(x.shape)))
    source = tuple(-1 if k == axis else k for k in range(n.type.ndim))
    return Node(GATHER, (x, position, *checks), b.params(source=source), n.type)


_EXTREMES = (REDUCE_MINIMUM, REDUCE_MAXIMUM)
_DONE = ArrayType(np.dtype(np.int8), ())


row(Op("take_at", Kind.COMPOUND, numpy=_take_at, lower=_lower_take_at, cost=_COST))
row(Op("take_along_axis", Kind.COMPOUND, numpy=_take_along, lower=_lower_take_along, cost=_COST))


def _index_node(index: Any) -> Node:
    """An operand that chooses elements."""
    node = array_node(index)
    if node.dtype.kind not in "iu" or node.dtype == np.uint64:
        raise NotCovered("an index of another kind")
    return node


def _choose_elements(
    x: Node,
    axes: tuple[int, ...],
    indices: tuple[Node, ...],
    at: int,
    names: tuple[int, ...],
    mode: str = "raise",
    **options: bool,
) -> Node:
    """Elements of `x` at `indices` along `axes`; their broadcast axes stand at `at` in the result.

    Raises
    ------
    IndexError
        If a literal index is out of bounds.
    """
    if x.dtype.char not in _COMPILED:
        raise NotCovered(f"elements of {x.dtype}")
    try:
        joint = b.joint_shape([i.shape for i in indices])
    except ValueError:
        shapes = " ".join(str(i.shape).replace(" ", "") for i in indices)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} "
        ) from None
    for index, axis, name in zip(indices, axes, names):
        if mode == "raise":
            _check_literal(index, x.shape[axis], name)
        elif not x.shape[axis] and 0 not in joint:
            raise IndexError("cannot do a non-empty take from an empty axes.")
    direct = [n for k, n in enumerate(x.shape) if k not in axes]
    type_ = ArrayType(x.dtype, (*direct[:at], *joint, *direct[at:]))
    return b.compound("take_at", (x, *indices), type_, axes=axes, at=at, names=names, mode=mode, **options)


def _check_literal(index: Node, extent: int, axis: int) -> None:
    if index.op.name == "constant" and index.type.size:
        values = np.asarray(index["value"].value)
        wrong = values[(values < -extent) | (values >= extent)]
        if wrong.size:
            raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with size {extent}")


def choose_by_arrays(x: Node, items: tuple[Any, ...]) -> Node:
    """``x[items]`` where some of the items are arrays of integers: a copy."""
    if sum(i is Ellipsis for i in items if not isinstance(i, (Node, np.ndarray))) > 1:
        raise NotCovered("an index with two ellipses")
    if any(isinstance(i, (bool, np.bool_)) for i in items):
        raise NotCovered("an index that is a truth value")
    items = tuple(_index_node(i) if isinstance(i, (Node, np.ndarray, list)) else i for i in items)
    used = sum(not (isinstance(i, (type(None), type(Ellipsis)))) for i in items)
    if used > x.type.ndim:
        raise IndexError(f"too many indices for array: array is {x.type.ndim}-dimensional, but {used} were indexed")
    place = next((k for k, i in enumerate(items) if i is Ellipsis), len(items))
    items = (*items[:place], *(slice(None),) * (x.type.ndim - used), *items[place + 1 :])
    basic: list[Any] = []  # what becomes a view first: integers and arrays keep their axes
    axes, names, indices = [], [], []
    axis = 0
    for item in items:
        if item is not None and not isinstance(item, slice):
            axes.append(len(basic))
            names.append(axis)
            indices.append(_index_node(np.intp(item) if isinstance(item, (int, np.integer)) else item))
        basic.append(item if item is None or isinstance(item, slice) else slice(None))
        axis += item is not None
    x = b.view("getitem", x, index=encode_index(tuple(basic)))
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    return _choose_elements(x, tuple(axes), tuple(indices), axes[0] if together else 0, tuple(names))


@numpy_function(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Node:
    a, index = strong_node(a), _index_node(indices)
    if out is not None or mode not in ("raise", "clip", "wrap"):
        raise NotCovered("take with such arguments")
    if axis is None or not a.type.ndim:
        a, axis = b.view("reshape", a, shape=(-1,)), 0 if axis is None else axis
    k = b.normalize_axis(axis, a.type.ndim)
    return _choose_elements(a, (k,), (index,), k, (k,), mode, is_take=True)


@numpy_function(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Node:
    if isinstance(indices, (list, tuple)):
        raise NotCovered("take_along_axis of a list, which NumPy does not take")
    x, index = strong_node(arr), _index_node(indices)
    if axis is None:
        x, axis = b.view("reshape", x, shape=(-1,)), 0
    if x.type.ndim != index.type.ndim or x.dtype.char not in _COMPILED:
        raise NotCovered("take_along_axis of such operands")
    k = b.normalize_axis(axis, x.type.ndim)
    try:
        shape = b.joint_shape([(*x.shape[:k], 1, *x.shape[k + 1 :]), index.shape])
    except ValueError:
        raise NotCovered("take_along_axis of shapes that do not broadcast") from None
    _check_literal(index, x.shape[k], k)
    return b.compound("take_along_axis", (x, index), ArrayType(x.dtype, shape), axis=k)
