"""The frame: one buffer in which a program keeps its temporaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate

import numpy as np

from ..base.frozen import frozen
from ..ir.extents import rather_below
from ..ir.node import Node
from ..ir.ops.optable import INPUT
from ..ir.types import dtype_name
from .blocks import ALIGNMENT, Block, Member, rounded
from .inplace import Decision
from .pack import lower_bound, plan_offsets

__all__ = ["ALIGNMENT", "FrameLayout", "Slot", "plan_frame"]

_LARGE = 1 << 20  # bytes of slots: in a smaller frame a few per cent are not worth a search
_SEARCH_SECONDS = 0.05


@frozen
class Slot:
    """A place in the frame.

    Parameters
    ----------
    offset : int
        In bytes from the start of the frame.
    dtype, shape
        Of the array that it holds.
    first, end : int
        Half-open lifetime, in steps of the program.
    """

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    first: int
    end: int

    def __str__(self) -> str:
        return f"{_type(self)} @0x{self.offset:02X}  steps {self.first}..{self.end - 1}"


@frozen
class FrameLayout:
    """Where a program keeps its temporaries.

    Parameters
    ----------
    slots : dict of Node to Slot
        Places in the frame, by the node whose value they hold.
    nbytes : int
        Size of the frame.
    bound_nbytes : int
        The most bytes in it that are alive at one time, below which no frame can be.
    unshared_nbytes : int
        What the temporaries would need if none shared memory with anything.
    hosted : dict of Node to (Node, Slot)
        Values that lie in the memory of a result or of an argument that was donated, and their places in it.
    over : dict of Node to tuple of Node
        For values that lie in the memory of others which they replace: those.
    saved : dict of Node to (int, int)
        For arguments that are written in their place, the bytes that change: what has to be saved if a call may fail.
    """

    slots: dict[Node, Slot]
    nbytes: int
    bound_nbytes: int
    unshared_nbytes: int
    hosted: dict[Node, tuple[Node, Slot]]
    over: dict[Node, tuple[Node, ...]]
    saved: dict[Node, tuple[int, int]] = field(default_factory=dict)

    def overwritten(self) -> set[Node]:
        """The arguments whose memory is used."""
        return {host for host, _ in self.hosted.values() if host.op is INPUT}

    def __str__(self) -> str:
        lines = [f"frame of {self.nbytes} bytes ({self.unshared_nbytes} without sharing)"]
        ordered = sorted(self.slots.items(), key=lambda item: (item[1].offset, item[1].first))
        lines += [f"  {slot}  {node.op.name} {dtype_name(node.dtype)}" for node, slot in ordered]
        lines += [
            f"  {slot}  {node.op.name} {dtype_name(node.dtype)}  in {_host(host)}"
            for node, (host, slot) in self.hosted.items()
        ]
        return "\n".join(lines)


def _host(node: Node) -> str:
    return f"the {'argument' if node.op is INPUT else 'result'} {_type(node)}"


def _type(array: Slot | Node) -> str:
    return f"{array.dtype.name.upper()}{list(array.shape)}"


def plan_frame(
    permanent: Sequence[Node], blocks: Sequence[Block], decisions: Sequence[Decision], place: Sequence[int]
) -> FrameLayout:
    """The layout of a frame.

    Parameters
    ----------
    permanent : sequence of Node
        Values that live as long as the frame, such as scalar inputs.
    blocks : sequence of Block
        Everything else that is stored.
    decisions : sequence of Decision
    place : sequence of int
        For each step that blocks were made for, and for the end, the number of the step as it is counted now.
    """
    end = max(len(place) - 1, 1)
    alone = [Block([Member(n, 0, n.type.nbytes, 0, end)]) for n in permanent]
    shared = [b for b in blocks if b.host is None]
    buffers = [(rounded(b.nbytes), b.first, b.end) for b in shared]
    framed = [*alone, *shared]
    members = [m for b in (*framed, *blocks) for m in b.members if m.node is not b.host]
    unshared = sum(rounded(m.nbytes) for m in {m.node: m for m in members}.values())
    *starts, base = accumulate((rounded(b.nbytes) for b in alone), initial=0)
    offsets, total = plan_offsets(buffers, budget=0 if rather_below(unshared, _LARGE) else _SEARCH_SECONDS)
    offsets = [*starts, *(base + offset for offset in offsets)]
    slots: dict[Node, Slot] = {}
    hosted: dict[Node, tuple[Node, Slot]] = {}
    for block, offset in [*zip(framed, offsets), *((b, 0) for b in blocks if b.host is not None)]:
        for m in block.members:
            first, end = place[m.first], place[min(m.end, len(place) - 1)]
            slot = Slot(offset + m.offset, m.node.dtype, m.node.shape, first, end)
            if block.host is None:
                slots[m.node] = slot
            elif block.host is not m.node:
                hosted[m.node] = block.host, slot
    over = {d.node: d.over for d in decisions if d.over}
    return FrameLayout(slots, base + total, base + lower_bound(buffers), unshared, hosted, over)
