"""Blocks: stored values that share memory, in places and for times that do not conflict."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from ..base.frozen import record, replaced
from ..ir.node import Node

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
FOREVER = 1 << 40  # the end of the lifetime of a result of the program


def rounded(nbytes: int) -> int:
    """Bytes of a slot: whole cache lines, so that every slot begins at one."""
    return max(ALIGNMENT, (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)


@record
class Member:
    """A stored value in a block: `nbytes` at `offset`, alive in the steps ``first <= k < end``."""

    node: Node
    offset: int
    nbytes: int
    first: int
    end: int


class Block:
    """Stored values that share memory, of which `host`, if not None, is memory outside of the frame.

    Members are found by when they are alive: for each length of life, a power of two, in the order of its beginning.
    """

    def __init__(self, members: Sequence[Member], host: Node | None = None):
        self.host = host
        self._members: dict[Node, Member] = {}
        self._alive: dict[int, list[tuple[int, int, Member]]] = {}
        self.bottom, self._top, self.first, self.end = 1 << 62, 0, 1 << 62, 0
        for m in members:
            self._add(m)

    def _add(self, m: Member) -> None:
        self._members[m.node] = m
        insort(self._alive.setdefault((m.end - m.first).bit_length(), []), (m.first, len(self._members), m))
        self.bottom, self._top = min(self.bottom, m.offset), max(self._top, m.offset + m.nbytes)
        self.first, self.end = min(self.first, m.first), max(self.end, m.end)

    def each(self) -> Iterable[Member]:
        """The members as they are: the lowest of them lies at `bottom`."""
        return self._members.values()

    def span(self, node: Node) -> tuple[int, int]:
        """When a member is alive."""
        return self._members[node].first, self._members[node].end

    def __len__(self) -> int:
        return len(self._members)

    @property
    def nbytes(self) -> int:
        return self._top - self.bottom

    @property
    def members(self) -> list[Member]:
        """The members, the lowest of them at 0."""
        return [replaced(m, offset=m.offset - self.bottom) if self.bottom else m for m in self._members.values()]

    def offset(self, node: Node) -> int:
        """Where a member lies, from a place that stays the same as long as the block only gains members."""
        return self._members[node].offset

    def nbytes_with(self, other: Block, move: int) -> int:
        """Bytes that the block would have with the members of another one, `move` bytes further."""
        return max(self._top, other._top + move) - min(self.bottom, other.bottom + move)

    def conflict(self, m: Member, move: int = 0, but: frozenset[Node] = frozenset()) -> Member | None:
        """A member that is alive at one time with `m` and has bytes in common with it, `move` bytes further.

        That of the two nodes `but` does not count if `m` is the other one.
        """
        start, stop = m.offset + move, m.offset + move + m.nbytes
        for length, alive in self._alive.items():
            for k in range(bisect_left(alive, (m.first - (1 << length), 0)), len(alive)):
                first, _, other = alive[k]
                if first >= m.end:
                    break
                in_common = start < other.offset + other.nbytes and other.offset < stop
                if in_common and m.first < other.end and not (m.node in but and other.node in but):
                    return other
        return None

    def take(self, other: Block, move: int, host: Node | None) -> None:
        """Gain the members of another block, `move` bytes further."""
        for m in other._members.values():
            self._add(replaced(m, offset=m.offset + move) if move else m)
        self.host = host
