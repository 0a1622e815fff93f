"""The allocation graph of NNC: buffers hand parts of their memory on to later ones.

Nodes are buffers, a source and a sink. An edge of weight w says that w bytes of the buffer at its tail are free for
the one at its head; source and sink stand for memory before its first and after its last use. A buffer is inserted by
splitting an edge, or by taking new memory on an edge from source to sink.

Of the rules of its document one is read as its code has it: an edge can be split unless *both* of its ends are source
and sink. If neither end might be a dummy, as the text says, the first buffer could never be followed by a second one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.frozen import record

Buffer = tuple[int, int, int]

_DUMMY = -1  # the source as a tail, the sink as a head


@record
class _Edge:
    tail: int
    head: int
    weight: int
    block: int  # which piece of new memory
    offset: int  # in it


def allocation_graph(buffers: Sequence[Buffer], companions: Sequence[tuple[int, int]] = ()) -> list[int]:
    """Offsets by insertion into the allocation graph.

    Parameters
    ----------
    buffers : sequence of (size, first, end)
    companions : sequence of (int, int)
        Pairs that get one offset, such as a loop's parameter and its next value.

    Raises
    ------
    ValueError
        If companions are alive at the same time, or a buffer has several.

    Examples
    --------
    The third buffer takes memory of the first, and of what lies behind it:

    >>> allocation_graph([(4, 0, 2), (2, 1, 3), (3, 3, 4)])
    [0, 4, 0]
    """
    return _Insertion(buffers, companions).run()


class _Insertion:
    def __init__(self, buffers: Sequence[Buffer], companions: Sequence[tuple[int, int]]):
        self.buffers = buffers
        self.horizon = max((end for _, _, end in buffers), default=0) + 1
        self.units = self._units(companions)
        self.edges: list[_Edge] = []
        self.blocks: list[int] = []  # sizes of pieces of new memory
        self.place: dict[int, tuple[int, int]] = {}  # block, and offset in it
        self.hopeless: set[tuple[int, ...]] = set()  # what no edge can take until there is new memory

    def _units(self, companions: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
        """What is inserted at once: single buffers, and companions in the order of their use."""
        partner: dict[int, int] = {}
        for i, j in companions:
            if i in partner or j in partner or i == j:
                raise ValueError("a buffer can have one companion only")
            partner |= {i: j, j: i}
            first, second = sorted((i, j), key=lambda k: self.buffers[k][1])
            if self.buffers[first][2] > self.buffers[second][1]:
                raise ValueError(f"companions {i} and {j} are alive at the same time")
        units: list[tuple[int, ...]] = []
        for k in range(len(self.buffers)):
            other = partner.get(k)
            if other is None:
                units.append((k,))
            elif k < other:
                units.append((k, other) if self.buffers[k][1] < self.buffers[other][1] else (other, k))
        return units

    def run(self) -> list[int]:
        waiting = sorted(self.units, key=lambda u: -self._size(u))
        crowd = {u: sum(self._interfere(u, v) for v in waiting if v != u) for u in waiting}
        while waiting:
            largest = self._size(waiting[0])
            candidates = [u for u in waiting if self._size(u) == largest]
            candidates.sort(key=lambda u: -crowd[u])
            chosen, edge = self._select(candidates)
            self._insert(chosen, edge)
            waiting.remove(chosen)
            for u in waiting:
                crowd[u] -= self._interfere(u, chosen)
        starts = [sum(self.blocks[:k]) for k in range(len(self.blocks))]
        return [starts[self.place[k][0]] + self.place[k][1] for k in range(len(self.buffers))]

    def _size(self, unit: tuple[int, ...]) -> int:
        return max(self.buffers[k][0] for k in unit)

    def _interfere(self, u: tuple[int, ...], v: tuple[int, ...]) -> bool:
        return any(
            self.buffers[i][1] < self.buffers[j][2] and self.buffers[j][1] < self.buffers[i][2] for i in u for j in v
        )

    def _select(self, candidates: list[tuple[int, ...]]) -> tuple[tuple[int, ...], _Edge | None]:
        """The first candidate that an edge can take, and its tightest edge; else the first, and none."""
        for unit in candidates:
            if unit in self.hopeless:
                continue
            edge = self._tightest(unit)
            if edge is not None:
                return unit, edge
            self.hopeless.add(unit)
        return candidates[0], None

    def _tightest(self, unit: tuple[int, ...]) -> _Edge | None:
        size, (_, first, _), (_, _, end) = self._size(unit), self.buffers[unit[0]], self.buffers[unit[-1]]
        best, least = None, 2 * self.horizon + 1
        for edge in self.edges:
            if edge.weight < size or (edge.tail == _DUMMY and edge.head == _DUMMY):
                continue
            before = self.horizon if edge.tail == _DUMMY else first - self.buffers[edge.tail][2]
            after = self.horizon if edge.head == _DUMMY else self.buffers[edge.head][1] - end
            if before >= 0 and after >= 0 and before + after < least:
                best, least = edge, before + after
        return best

    def _insert(self, unit: tuple[int, ...], edge: _Edge | None) -> None:
        size = self._size(unit)
        if edge is None:
            edge = _Edge(_DUMMY, _DUMMY, size, len(self.blocks), 0)
            self.edges.append(edge)
            self.blocks.append(size)
            # Only what does not interfere with the new buffer can use what it leaves.
            self.hopeless = {u for u in self.hopeless if self._interfere(u, unit)}
        block, offset = edge.block, edge.offset
        edge.weight -= size
        edge.offset += size
        if not edge.weight:
            self.edges.remove(edge)
        self._connect(edge.tail, unit[0], self.buffers[unit[0]][0], block, offset)
        self._connect(unit[-1], edge.head, self.buffers[unit[-1]][0], block, offset)
        if len(unit) == 2:
            one, two = (self.buffers[k][0] for k in unit)
            common = min(one, two)
            self._connect(unit[0], unit[1], common, block, offset)
            self._connect(edge.tail, unit[1], two - common, block, offset + common)
            self._connect(unit[0], edge.head, one - common, block, offset + common)
        for k in unit:
            self.place[k] = block, offset

    def _connect(self, tail: int, head: int, weight: int, block: int, offset: int) -> None:
        if weight:
            self.edges.append(_Edge(tail, head, weight, block, offset))
