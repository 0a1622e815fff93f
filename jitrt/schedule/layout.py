"""Layouts: where the elements of a node lie in the memory that holds them.

A view is a layout on its base. NumPy itself composes them: it is asked what the movement operation does to an array
with the strides of the base.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base.frozen import frozen
from ..ir.node import Node
from ..ir.ops.movement import as_view
from ..ir.ops.optable import Kind
from ..ir.strided import RETYPED, VIEWS, Strided, depends, view
from ..ir.types import contiguous_strides

_PROBE = np.zeros(1, np.int8)
_PROBE_ADDRESS = _PROBE.__array_interface__["data"][0]


@frozen
class Layout:
    """Elements of a node in memory: element ``i`` is at ``offset + sum(i * strides)`` bytes of the buffer of `base`."""

    base: Node
    offset: int
    strides: tuple[int, ...]


def view_layout(node: Node, of: Layout) -> Layout | None:
    """The layout of a view node whose argument has the layout `of`; None if only a copy has the wanted shape."""
    if node.op.name in RETYPED:
        part = node.dtype.itemsize if node.op.name == "imag" else 0
        return Layout(of.base, of.offset + part, of.strides)
    (source,) = node.args
    if node.op.name in VIEWS and depends(source.shape, of.strides, node.shape):
        found = view(node.op.name, Strided(source.shape, of.strides), node.kwargs, node.shape)
        return None if found is None else Layout(of.base, of.offset + found.offset, found.strides)
    # Views of one-byte elements with the strides in bytes; nothing is read, so no memory has to be there.
    probe = as_strided(_PROBE, source.shape, of.strides)
    moved = as_view(probe, node.op.name, node.kwargs, node.shape)
    if moved is None:
        return None
    offset = moved.__array_interface__["data"][0] - _PROBE_ADDRESS if moved.size else 0
    return Layout(of.base, of.offset + offset, moved.strides)


class Layouts:
    """Layouts of all nodes of a graph, computed on demand.

    Parameters
    ----------
    input_strides : dict of Node to tuple of int
        Strides in bytes of the actual inputs; every other stored array is C-contiguous.
    """

    def __init__(self, input_strides: dict[Node, tuple[int, ...]]):
        self._input_strides = input_strides
        self._known: dict[Node, Layout | None] = {}

    def __getitem__(self, node: Node) -> Layout:
        layout = self.find(node)
        assert layout is not None, node
        return layout

    def define(self, node: Node, strides: tuple[int, ...], base: Node | None = None) -> None:
        """Say how a stored node lies in its memory, or in that of `base`."""
        self._known[node] = Layout(node if base is None else base, 0, strides)

    def find(self, node: Node) -> Layout | None:
        """The layout of `node`; None for a reshape that needs a copy."""
        if node not in self._known:
            self._known[node] = self._compute(node)
        return self._known[node]

    def place(self, node: Node, strides: tuple[int, ...]) -> None:
        """Store `node`, of which nothing is known yet, with these strides."""
        self._input_strides[node] = strides
        self._known.pop(node, None)

    def _compute(self, node: Node) -> Layout | None:
        if node.op.kind is Kind.VIEW:
            of = self.find(node.args[0])
            return None if of is None else view_layout(node, of)
        strides = self._input_strides.get(node)
        return Layout(node, 0, contiguous_strides(node.shape, node.dtype.itemsize) if strides is None else strides)


def local_layout(node: Node, own: Sequence[int], rows: int) -> tuple[tuple[int, ...], int, int]:
    """Where a value lies that lasts for `rows` turns of the innermost of the loops over its axes `own`.

    Returns
    -------
    tuple of int
        Strides; those of its own axes are 0, since every turn sees the same memory.
    int
        Bytes from turn to turn, as long as it lasts.
    int
        Bytes of it all.
    """
    last = own[-1] if own else None
    extents = tuple(rows if k == last else 1 if k in own else n for k, n in enumerate(node.shape))
    strides = contiguous_strides(extents, node.dtype.itemsize)
    turn = 0 if last is None else strides[last]
    return tuple(0 if k in own else s for k, s in enumerate(strides)), turn, math.prod(extents) * node.dtype.itemsize


def window_offsets(view: Node, layouts: Layouts) -> tuple[int, ...] | None:
    """For each axis of a view the index of the same axis of the stored array at which it begins.

    None if the view is not the elements of a stored, contiguous array between two corners, as it is for a transposed or
    a reversed one.
    """
    layout = layouts.find(view)
    if layout is None or view.dtype != layout.base.dtype or len(layout.strides) != layout.base.type.ndim:
        return None
    shape, left = layout.base.shape, layout.offset
    steps = contiguous_strides(shape, view.dtype.itemsize)
    if layouts[layout.base].strides != steps:
        return None
    offsets = []
    for extent, stride, whole, step in zip(view.shape, layout.strides, shape, steps):
        first, left = divmod(left, step)
        if (extent != 1 and stride != step) or first + extent > whole:
            return None
        offsets.append(first)
    return tuple(offsets) if not left else None


def mapped_axes(view: Node, layouts: Layouts) -> tuple[int | None, ...]:
    """For each axis of a view the axis of the stored array that it runs over, from end to end; None if it is another.

    An axis that is mapped decides alone about the index along that axis: at its index i, the view shows elements
    of index i only.
    """
    layout = layouts[view]
    shape = layout.base.shape
    strides = layouts[layout.base].strides
    axes = [(e, s) for e, s in zip(view.shape, layout.strides) if e != 1]
    result: list[int | None] = []
    for extent, stride in zip(view.shape, layout.strides):
        found = None
        for k, (whole, step) in enumerate(zip(shape, strides)):
            if extent != 1 and stride == step and extent == whole and _decides(layout.offset, axes, whole, step):
                found = k
        result.append(found)
    return tuple(result)


def _decides(offset: int, axes: list[tuple[int, int]], extent: int, step: int) -> bool:
    """Whether only the axis of stride `step` changes the index along the array's axis of this extent and stride."""
    low = high = offset % step if step else 0
    if step <= 0 or offset // step % extent:
        return False
    own = False
    for n, stride in axes:
        if stride == step and not own:
            own = True
        elif stride % (step * extent):
            low += min(0, (n - 1) * stride)
            high += max(0, (n - 1) * stride)
    return low >= 0 and high < step
