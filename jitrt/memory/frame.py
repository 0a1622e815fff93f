"""The frame: one buffer in which a program keeps its temporaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..expr.node import Node
from ..expr.types import dtype_name
from .pack import plan_offsets

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
_LARGE = 1 << 20  # bytes of slots: in a smaller frame a few per cent are not worth a search
_SEARCH_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
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
        return f"{self.dtype.name.upper()}{list(self.shape)} @0x{self.offset:02X}  steps {self.first}..{self.end - 1}"


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """Slots by the node whose value they hold, and the size of the frame in bytes."""

    slots: dict[Node, Slot]
    nbytes: int
    unshared_nbytes: int

    def __str__(self) -> str:
        lines = [f"frame of {self.nbytes} bytes ({self.unshared_nbytes} without sharing)"]
        ordered = sorted(self.slots.items(), key=lambda item: (item[1].offset, item[1].first))
        lines += [f"  {slot}  {node.op.name} {dtype_name(node.dtype)}" for node, slot in ordered]
        return "\n".join(lines)


def plan_frame(permanent: Sequence[Node], temporaries: dict[Node, tuple[int, int]], steps: int) -> FrameLayout:
    """The layout of a frame.

    Parameters
    ----------
    permanent : sequence of Node
        Values that live as long as the frame, such as scalar inputs.
    temporaries : dict of Node to (first, end)
        Half-open lifetimes in steps of the program.
    steps : int
        Number of steps.
    """
    lifetimes = dict.fromkeys(permanent, (0, max(steps, 1))) | temporaries
    nodes = list(lifetimes)
    buffers = [(_rounded(node.type.nbytes), *lifetimes[node]) for node in nodes]
    unshared = sum(size for size, _, _ in buffers)
    offsets, total = plan_offsets(buffers, budget=_SEARCH_SECONDS if unshared >= _LARGE else 0)
    slots = {node: Slot(offset, node.dtype, node.shape, *lifetimes[node]) for node, offset in zip(nodes, offsets)}
    return FrameLayout(slots, total, unshared)


def _rounded(nbytes: int) -> int:
    return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
