"""Room in results: memory of results that are not yet written, and of arguments that are not needed any more."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from .blocks import FOREVER, Block, rounded

_MOST_TRIED = 64  # places for one block


class ResultRoom:
    """What room there is in blocks that lie in memory outside of the frame, as long as others are put into it.

    The blocks stay as they are; `filled` gives what takes their place.
    """

    def __init__(self, blocks: Iterable[Block]):
        blocks = list(blocks)
        spans = [b.span(b.host) for b in blocks if b.host is not None]
        # Most are results, which are taken from some step on for ever; in their order, so that a search begins there.
        order = sorted(range(len(blocks)), key=lambda k: spans[k][0])
        self._results = [blocks[k] for k in order if spans[k][1] == FOREVER]
        self._from = [spans[k][0] for k in order if spans[k][1] == FOREVER]
        self._others = [b for b, span in zip(blocks, spans) if span[1] != FOREVER]
        self._filled: dict[Block, Block] = {}
        self._tops: dict[Block, dict[int, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._results or self._others)

    def filled(self) -> Iterable[Block]:
        """The blocks that others have been put into, with these."""
        return self._filled.values()

    def put(self, block: Block) -> bool:
        """Put a block into the first room that it fits in; whether there was one."""
        tried = 0
        for hosts, start in ((self._results, bisect_left(self._from, block.end)), (self._others, 0)):
            for k in range(start, len(hosts)):
                host = hosts[k]
                for place in self._places(host):
                    tried += 1
                    if tried > _MOST_TRIED:
                        return False
                    if self._fits(block, host, place):
                        self._take(host, block, place)
                        return True
        return False

    def _places(self, host: Block) -> Iterable[int]:
        """Where something might begin: at the bottom, or behind what is there."""
        if host not in self._tops:
            self._tops[host] = dict.fromkeys((0, *(rounded(m.offset + m.nbytes) for m in host.members)))
        return self._tops[host]

    def _fits(self, block: Block, host: Block, place: int) -> bool:
        assert host.host is not None
        if place + block.nbytes > host.host.type.nbytes:
            return False
        there = self._filled.get(host, host)
        move = there.bottom + place - block.bottom
        return not any(there.conflict(m, move) for m in block.each())

    def _take(self, host: Block, block: Block, place: int) -> None:
        if host not in self._filled:
            self._filled[host] = Block(list(host.each()), host.host)
        there = self._filled[host]
        there.take(block, there.bottom + place - block.bottom, host.host)
        self._tops[host] |= dict.fromkeys(rounded(place + m.offset + m.nbytes) for m in block.members)
