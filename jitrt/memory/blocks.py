"""Blocks: stored values that share memory, in places and for times that do not conflict."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr.node import Node
from ..frozen import record
from .pack import lower_bound

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
FOREVER = 1 << 40  # the end of the lifetime of a result of the program


def rounded(nbytes: int) -> int:
    """Bytes of a slot: whole cache lines, so that every slot begins at one."""
    return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)


@record
class Member:
    """A stored value in a block: `nbytes` at `offset`, alive in the steps ``first <= k < end``."""

    node: Node
    offset: int
    nbytes: int
    first: int
    end: int

    def conflicts(self, other: Member) -> bool:
        """Whether the two are alive at one time and have bytes in common."""
        together = self.first < other.end and other.first < self.end
        return together and self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes


@record(eq=False)
class Block:
    """Stored values that share memory, of which `host`, if not None, is memory outside of the frame."""

    members: list[Member]
    host: Node | None = None

    @property
    def nbytes(self) -> int:
        return max(m.offset + m.nbytes for m in self.members)

    @property
    def first(self) -> int:
        return min(m.first for m in self.members)

    @property
    def end(self) -> int:
        return max(m.end for m in self.members)

    def member(self, node: Node) -> Member:
        return next(m for m in self.members if m.node is node)


def frame_bound(blocks: Sequence[Block]) -> int:
    """The least size of a frame for the blocks that lie in it."""
    return lower_bound([(rounded(b.nbytes), b.first, b.end) for b in blocks if b.host is None])


def crowd(blocks: Sequence[Block]) -> list[Block]:
    """The blocks that are alive in the first step in which most memory is."""
    changes: list[tuple[int, int]] = []
    for b in blocks:
        nbytes = rounded(b.nbytes)
        changes += [(b.first, nbytes), (b.end, -nbytes)]
    alive = most = crowded = 0
    for step, change in sorted(changes):  # at one step, ends come before beginnings
        alive += change
        if alive > most:
            most, crowded = alive, step
    return [b for b in blocks if b.first <= crowded < b.end]
