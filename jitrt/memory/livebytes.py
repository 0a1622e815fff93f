"""Live bytes: how much memory of a frame is alive in each step, while blocks come and go."""

from __future__ import annotations

from collections.abc import Iterator

from .blocks import Block, rounded


class LiveBytes:
    """The bytes of the blocks that are in a frame, for each of `steps` steps.

    A segment tree: each node has what is counted for all of its steps together (`own`), and the most that is alive in
    one of them. A block changes some nodes in each level.
    """

    def __init__(self, steps: int):
        self._leaves = 1 << max(steps - 1, 1).bit_length()
        self._own = [0] * (2 * self._leaves)
        self._most = [0] * (2 * self._leaves)
        self._waiting: dict[int, list[Block]] = {}

    @property
    def most(self) -> int:
        """The most bytes that are alive in one step."""
        return self._most[1]

    def add(self, first: int, end: int, nbytes: int) -> None:
        """Let `nbytes` more be alive in the steps ``first <= k < end``."""
        if first >= end:
            return
        for k in self._nodes(first, end):
            self._own[k] += nbytes
            self._most[k] += nbytes
        for k in (first + self._leaves, min(end, self._leaves) - 1 + self._leaves):
            while k := k // 2:
                self._most[k] = max(self._most[2 * k], self._most[2 * k + 1]) + self._own[k]

    def add_block(self, block: Block, sign: int = 1) -> None:
        """Let a block be alive, or with -1 no longer."""
        self.add(block.first, block.end, sign * rounded(block.nbytes))

    def wait(self, block: Block) -> None:
        """Let `next_in_crowd` give a block some time; the largest ones are to come last."""
        for k in self._nodes(block.first, block.end):
            self._waiting.setdefault(k, []).append(block)

    def next_in_crowd(self, rank: dict[Block, int]) -> Block | None:
        """Of the blocks that wait and are alive in the first step in which most memory is, the highest in rank.

        It is taken out of `rank`, in which those are that wait.
        """
        k, best = 1, None
        while True:
            waiting = self._waiting.get(k, [])
            while waiting and waiting[-1] not in rank:
                waiting.pop()
            if waiting and (best is None or rank[waiting[-1]] > rank[best]):
                best = waiting[-1]
            if k >= self._leaves:
                break
            k = 2 * k + (self._most[2 * k + 1] > self._most[2 * k])
        if best is not None:
            del rank[best]
        return best

    def _nodes(self, first: int, end: int) -> Iterator[int]:
        """The nodes whose steps together are these."""
        low, high = first + self._leaves, min(end, self._leaves) + self._leaves
        while low < high:
            if low & 1:
                yield low
                low += 1
            if high & 1:
                high -= 1
                yield high
            low, high = low // 2, high // 2
