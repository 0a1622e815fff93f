"""The loops of groups that are computed side by side, and where the few rows lie that they pass on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..base.frozen import frozen, replaced
from ..ir.extents import ceiling
from ..ir.node import Node
from ..ir.types import contiguous_strides
from .axes import Access, NestAxis, accesses_of, coalesced, expressions
from .groups import Group, Sliding
from .layout import Layout, Layouts, window_offsets
from .statements import Member


def sliding_members(
    sliding: Sliding, layouts: Layouts, inlined: Callable[[Node], bool]
) -> tuple[list[NestAxis], list[Member], dict[Node, int]]:
    """The common loops, the members inside of them, and the bytes of what they pass on.

    Parameters
    ----------
    sliding : Sliding
    layouts : Layouts
        Where stored nodes lie.
    inlined : callable
        Whether a node is computed in the nest if the nest does not read it from memory.
    """
    rows = _Rows(sliding, layouts)
    parts = []
    for group, windows in zip(sliding.members, sliding.windows):
        order, leaves, gathers = expressions(group, inlined)
        accesses = [rows.access(a) for a in accesses_of(group, leaves, gathers, layouts)]
        parts.append((group, windows, order, accesses))
    members = [
        Member(group, order, accesses, _own_axes(sliding, group, windows, accesses), "elementwise")
        for group, windows, order, accesses in parts
    ]
    return _common_axes(sliding, rows, [a for p in parts for a in p[3]]), members, rows.nbytes


def _common_axes(sliding: Sliding, rows: _Rows, accesses: Sequence[Access]) -> list[NestAxis]:
    """Loops over the axes without windows, over blocks, and over turns."""
    domain = sliding.members[0].kind[0]
    axes = [
        NestAxis(domain[k], False, tuple(a.layout.strides[k] for a in accesses))
        for k in range(sliding.first)
        if domain[k] != 1
    ]
    axes = coalesced(axes)
    results = [g.kind[0] for g in sliding.members if not all(s.into in sliding.local for s in g.sinks)]
    if sliding.blocked is not None:
        k = sliding.blocked
        count = ceiling(max(d[k] for d in results), sliding.block)
        back = tuple(-sliding.block * a.layout.strides[k] if a.is_local else 0 for a in accesses)
        axes.append(NestAxis(count, False, back, counts=True))
    if sliding.axis is not None:
        turns = max(d[sliding.axis] for d in results)
        axes.append(NestAxis(turns, False, (0,) * len(accesses), counts=True))
    return axes


def _own_axes(
    sliding: Sliding, group: Group, windows: Sequence[tuple[int, int]], accesses: Sequence[Access]
) -> list[NestAxis]:
    """Loops of a member inside of the common ones: over the rows of its window, over a block, and over the rest."""
    domain = group.kind[0]
    own: list[NestAxis] = []
    rest: list[NestAxis] = []
    for k in range(sliding.first, len(domain)):
        axis = NestAxis(domain[k], False, tuple(a.layout.strides[k] for a in accesses))
        if k == sliding.axis:
            own.append(replaced(axis, window=windows[k], slides=True))
        elif k == sliding.blocked:
            own.append(replaced(axis, window=windows[k], blocked=True, block=sliding.block))
        elif domain[k] != 1:
            rest.append(axis)
    return [*own, *coalesced(rest)]


@frozen
class _Place:
    """Where a local value lies: strides along the axes of its domain, and how many rows there are."""

    strides: tuple[int, ...]
    rows: int


class _Rows:
    """Memory of local values, of the elements that one turn needs."""

    def __init__(self, sliding: Sliding, layouts: Layouts):
        self.sliding, self.layouts = sliding, layouts
        self.places: dict[Node, _Place] = {}
        self.nbytes: dict[Node, int] = {}
        for group, windows in zip(sliding.members, sliding.windows):
            for sink in group.sinks:
                if sink.into in sliding.local:
                    self._place(sink.into, windows)

    def _place(self, node: Node, windows: Sequence[tuple[int, int]]) -> None:
        extents = list(node.shape)
        rows = 1
        for k, (first, last) in enumerate(windows):
            if k < self.sliding.first:
                extents[k] = 1
            elif k == self.sliding.axis:
                extents[k] = rows = 1 + last - first
            elif k == self.sliding.blocked:
                extents[k] = self.sliding.block + last
        strides = contiguous_strides(tuple(extents), node.dtype.itemsize)
        one_row = self.sliding.axis is not None and rows == 1
        kept = (
            0 if k < self.sliding.first or (one_row and k == self.sliding.axis) else s for k, s in enumerate(strides)
        )
        self.places[node] = _Place(tuple(kept), rows)
        self.nbytes[node] = math.prod(extents) * node.dtype.itemsize

    def access(self, access: Access) -> Access:
        """`access`, in local memory if that is where the value lies."""
        base = access.layout.base
        if base not in self.places:
            return access
        place = self.places[base]
        offsets = (0,) * base.type.ndim if access.written else window_offsets(access.node, self.layouts)
        assert offsets is not None
        behind = sum(o * s for k, (o, s) in enumerate(zip(offsets, place.strides)) if k != self.sliding.axis)
        axis = self.sliding.axis
        ring = None if axis is None or place.rows == 1 else (offsets[axis], place.rows)
        return Access(access.node, Layout(base, behind, place.strides), access.written, True, ring=ring)
