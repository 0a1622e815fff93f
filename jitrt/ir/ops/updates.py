"""Rows of the updates: arrays of which regions have been written, as values.

A *region* is a chain of views that leads from a whole array to the part that is written. An update is a new value of
the whole array, so what reads the array before the assignment reads another node than what reads it afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import build as b
from ..node import Node, Params
from ..strided import RETYPED, positions
from ..types import ArrayType
from .movement import as_view, decode_index
from .optable import OPS, Kind, Op, row

Region = tuple[tuple[str, Params, ArrayType], ...]


def region_between(view: Node, base: Node) -> Region:
    """The views that lead from `base` to `view`."""
    steps = []
    while view is not base:
        steps.append((view.op.name, view.params, view.type))
        (view,) = view.args
    return tuple(reversed(steps))


def through(base: Node, region: Region) -> Node:
    """`base` seen through the views of `region`.

    Examples
    --------
    >>> x = b.constant(np.arange(6.0).reshape(2, 3))
    >>> row = b.view("getitem", x, index=(1,))
    >>> through(x, region_between(row, x)) is row
    True
    """
    for name, params, type in region:
        base = Node(OPS[name], (base,), params, type)
    return base


def is_read_only(region: Region) -> bool:
    """Whether NumPy lets nobody write through such a view, though its array is writable."""
    return any(OPS[name].read_only for name, *_ in region)


def region_shape(region: Region, whole: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a region of an array of the shape `whole`."""
    return region[-1][2].shape if region else whole


def write_region(array: np.ndarray, region: Region, value: Any) -> None:
    """``region of array = value`` for a C-contiguous `array`."""
    target: np.ndarray | None = array
    for name, params, type in region:
        target = as_view(target, name, dict(params), type.shape)
        if target is None:
            break
    if target is not None:
        target.flags.writeable = True  # NumPy's diagonals are read-only
        target[...] = value
        return
    # A reshape of what is not contiguous: the positions of the elements are moved instead of the elements.
    positions = np.arange(array.size).reshape(array.shape)
    flat = array.reshape(-1)
    for name, params, _ in region:
        function = OPS[name].numpy
        assert function is not None
        if name in RETYPED:
            flat = function(flat, **dict(params))
        else:
            positions = np.asarray(function(positions, **dict(params)))
    flat[positions] = value


def _update(old: np.ndarray, value: np.ndarray, region: Region) -> np.ndarray:
    result = np.array(old, order="C")
    write_region(result, region, value)
    return result


def _overwrite(*parts: np.ndarray, shape: tuple[int, ...], dtype: np.dtype, regions: tuple[Region, ...]) -> np.ndarray:
    result = np.empty(shape, dtype)
    for part, region in zip(parts, regions):
        write_region(result, region, part)
    return result


UPDATE = row(Op("update", Kind.UPDATE, numpy=_update, view_like=True))
OVERWRITE = row(Op("overwrite", Kind.ASSEMBLE, numpy=_overwrite, view_like=True))


def update(old: Node, value: Node, region: Region) -> Node:
    """`old` with `value`, which has the shape and dtype of the region, in `region`."""
    return Node(UPDATE, (old, value), b.params(region=region), old.type)


def overwrite(type: ArrayType, parts: Sequence[Node], regions: Sequence[Region]) -> Node:
    """An array into whose regions the parts are written one after the other; together they cover it."""
    arguments = b.params(shape=type.shape, dtype=type.dtype, regions=tuple(regions))
    return Node(OVERWRITE, tuple(parts), arguments, type)


Box = tuple[tuple[int, int, int], ...]


def box(region: Region, shape: tuple[int, ...]) -> Box | None:
    """The region as (start, step, count) with a positive step for each axis of the array; None for other regions.

    Examples
    --------
    >>> x = b.constant(np.arange(6.0).reshape(2, 3))
    >>> box(region_between(b.view("getitem", x, index=(1, (None, None, -2))), x), x.shape)
    ((1, 1, 1), (0, 2, 2))
    """
    if not region:
        return tuple((0, 1, n) for n in shape)
    name, params, _ = region[0]
    if name != "getitem" or len(region) > 1:
        return None
    index: list[Any] = [i for i in decode_index(dict(params)["index"]) if i is not None]
    if Ellipsis in index:
        k = index.index(Ellipsis)
        index[k : k + 1] = [slice(None)] * (len(shape) - len(index) + 1)
    index += [slice(None)] * (len(shape) - len(index))
    axes = []
    for item, extent in zip(index, shape):
        if isinstance(item, slice):
            first, step, count = positions(item.start, item.stop, item.step, extent)
            if step < 0:
                first, step = first + (count - 1) * step, -step
            axes.append((first, step if count > 1 else 1, count))
        else:
            axes.append((item if item >= 0 else item + extent, 1, 1))
    return tuple(axes)


def are_disjoint(a: Box, b: Box) -> bool:
    """Whether two boxes of one array have no element in common; if in doubt, they do."""
    for (start, step, count), (other_start, other_step, other_count) in zip(a, b):
        if not count or not other_count:
            return True
        if start + step * (count - 1) < other_start or other_start + other_step * (other_count - 1) < start:
            return True
        if (start - other_start) % math.gcd(step, other_step):
            return True
    return False


def box_size(a: Box) -> int:
    """Number of elements of a box."""
    return math.prod(count for _, _, count in a)


def complement(a: Box, shape: tuple[int, ...], most: int) -> list[Box] | None:
    """Disjoint boxes that cover what `a` leaves of an array; None if that takes more than `most`.

    Examples
    --------
    >>> complement(((1, 1, 2), (0, 1, 3)), (4, 3), 4)
    [((0, 1, 1), (0, 1, 3)), ((3, 1, 1), (0, 1, 3))]
    """
    boxes: list[Box] = []
    inside: Box = ()
    for k, (start, step, count) in enumerate(a):
        outside = tuple((0, 1, n) for n in shape[k + 1 :])
        end = start + step * (count - 1) + 1
        gaps = [(0, 1, start), (end, 1, shape[k] - end)]
        if step - 1 > most:
            return None
        gaps += [(start + g, step, count - 1) for g in range(1, step)]
        boxes += [(*inside, gap, *outside) for gap in gaps if gap[2] > 0]
        inside = (*inside, a[k])
    boxes = [found for found in boxes if box_size(found)]
    return boxes if len(boxes) <= most else None


def box_index(a: Box) -> tuple[tuple[int, int, int], ...]:
    """The index, as `encode_index` writes it, of a box that is not empty."""
    return tuple((start, start + step * (count - 1) + 1, step) for start, step, count in a)


def box_view(x: Node, a: Box) -> Node:
    """The elements of `x` in a box that is not empty; `x` itself if the box is all of it."""
    if all(start == 0 and count == n for (start, _, count), n in zip(a, x.shape)):
        return x
    return b.view("getitem", x, index=box_index(a))
