"""Sections of time: intervals in which the same buffers are alive."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen

Buffer = tuple[int, int, int]


@frozen
class Sections:
    """Lifetimes in sections: buffer ``i`` lives in the sections ``first[i] <= s < end[i]`` of `count`."""

    first: list[int]
    end: list[int]
    count: int

    def neighbours(self) -> tuple[list[int], list[int]]:
        """Buffers that share a section with each buffer: where the list of each starts, and all lists in a row."""
        firsts, ends = np.array(self.first), np.array(self.end)
        starts, near = [0], []
        for i, (first, end) in enumerate(zip(self.first, self.end)):
            together = (firsts < end) & (ends > first)
            together[i] = False
            near += np.flatnonzero(together).tolist()
            starts.append(len(near))
        return starts, near


def sections_of(buffers: Sequence[Buffer]) -> Sections:
    """The sections in which most buffers live: those that are contained in a neighbouring one say nothing new.

    Such a section begins where a buffer does and ends where the next buffer ends.

    Examples
    --------
    >>> sections_of([(64, 0, 9), (64, 1, 3), (64, 2, 4), (64, 5, 7)])
    Sections(first=[0, 0, 0, 1], end=[2, 1, 1, 2], count=2)
    """
    begins = {first for _, first, _ in buffers}
    ends = {end for _, _, end in buffers}
    inside: list[int] = []  # the time at which each section begins
    latest: int | None = None
    for t in sorted(begins | ends):
        if t in ends and latest is not None:
            inside.append(latest)
            latest = None
        if t in begins:
            latest = t
    first = [bisect_left(inside, first) for _, first, _ in buffers]
    end = [bisect_left(inside, end) for _, _, end in buffers]
    return Sections(first, end, len(inside))


def preorders(buffers: Sequence[Buffer], sections: Sections) -> list[list[int]]:
    """Ranks of the buffers in MiniMalloc's three orders: by total, width and area; all of them largest first.

    Total is the most bytes that are alive in a section of the buffer, width its duration, area size times duration.
    """
    change = np.zeros(sections.count + 1, np.int64)
    sizes = np.array([size for size, _, _ in buffers], np.int64)
    np.add.at(change, sections.first, sizes)
    np.subtract.at(change, sections.end, sizes)
    alive = np.cumsum(change)
    total = [int(alive[first:end].max()) for first, end in zip(sections.first, sections.end)]
    width = [end - first for _, first, end in buffers]
    area = [size * w for (size, _, _), w in zip(buffers, width)]
    return [_rank(total, area, width), _rank(total, width, area), _rank(width, area, total)]


def _rank(*keys: Sequence[Any]) -> list[int]:
    order = sorted(range(len(keys[0])), key=lambda k: tuple(-key[k] for key in keys))
    rank = [0] * len(order)
    for place, k in enumerate(order):
        rank[k] = place
    return rank
