"""Greedy packing: one pass over the buffers in some order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ..ir.strided import depends
from .sections import Sections, preorders, sections_of

Buffer = tuple[int, int, int]

_MOST_FOR_DIVES = 4000  # buffers: a dive holds a matrix of which of them overlap


def by_size(buffers: Sequence[Buffer]) -> list[int]:
    """Largest first (the spatial order of XLA's heap simulator)."""
    return sorted(range(len(buffers)), key=lambda k: (-buffers[k][0], buffers[k][1], k))


def by_duration(buffers: Sequence[Buffer]) -> list[int]:
    """Longest lifetime first (its temporal order)."""
    return sorted(range(len(buffers)), key=lambda k: (buffers[k][1] - buffers[k][2], -buffers[k][0], k))


def further_plans(buffers: Sequence[Buffer]) -> Iterator[Callable[[], list[int]]]:
    """Plans to try when the first is above the lower bound."""
    yield partial(best_fit, buffers, by_duration(buffers))
    if len(buffers) <= _MOST_FOR_DIVES:
        sections = sections_of(buffers)
        for rank in preorders(buffers, sections):
            yield partial(dive, buffers, sections, rank)


def best_fit(buffers: Sequence[Buffer], order: Sequence[int]) -> list[int]:
    """Offsets if each buffer, in this order, goes into the smallest gap that holds it.

    Parameters
    ----------
    buffers : sequence of (size, first, end)
    order : sequence of int
        Numbers of the buffers.
    """
    if depends([size for size, _, _ in buffers]):
        return _best_fit(buffers, order)
    offsets = [0] * len(buffers)
    # What is placed, in the order of offsets.
    bottoms, tops, firsts, ends = (np.zeros(len(buffers), np.int64) for _ in range(4))
    for count, k in enumerate(order):
        size, first, end = buffers[k]
        near = np.flatnonzero((firsts[:count] < end) & (ends[:count] > first))
        offset = _smallest_gap(size, bottoms[near], tops[near])
        offsets[k] = offset
        place = int(np.searchsorted(bottoms[:count], offset))
        for column, value in ((bottoms, offset), (tops, offset + size), (firsts, first), (ends, end)):
            column[place + 1 : count + 1] = column[place:count]
            column[place] = value
    return offsets


def _best_fit(buffers: Sequence[Buffer], order: Sequence[int]) -> list[int]:
    """The same for sizes that depend on variables."""
    offsets: dict[int, int] = {}
    for k in order:
        size, first, end = buffers[k]
        near = [j for j in offsets if buffers[j][1] < end and buffers[j][2] > first]
        near.sort(key=lambda j: offsets[j])
        top, gaps = 0, []
        for j in near:
            if offsets[j] - top >= size:
                gaps.append((offsets[j] - top, top))
            top = max(top, offsets[j] + buffers[j][0])
        offsets[k] = min(gaps)[1] if gaps else top
    return [offsets[k] for k in range(len(buffers))]


def _smallest_gap(size: int, bottoms: np.ndarray, tops: np.ndarray) -> int:
    """Start of the smallest gap between ranges that holds `size` bytes; behind them all if there is none."""
    if not len(bottoms):
        return 0
    reached = np.maximum.accumulate(tops)
    starts = np.concatenate(([0], reached[:-1]))
    gaps = bottoms - starts
    gaps[gaps < size] = np.iinfo(np.int64).max
    best = int(np.argmin(gaps))
    return int(reached[-1] if gaps[best] == np.iinfo(np.int64).max else starts[best])


def dive(buffers: Sequence[Buffer], sections: Sections, rank: Sequence[int]) -> list[int]:
    """Offsets if always the buffer that can lie lowest is placed; the lower rank where several can.

    The first descent of MiniMalloc's search, without going back.
    """
    order = np.argsort(np.asarray(rank))
    size = np.array([buffers[k][0] for k in order], np.int64)
    first, end = np.asarray(sections.first)[order], np.asarray(sections.end)[order]
    overlaps = (first[:, None] < end) & (first < end[:, None])
    lowest = np.zeros(len(buffers), np.int64)
    waiting = np.zeros(len(buffers), np.int64)  # the same while a buffer is not placed, then out of reach
    for _ in buffers:
        k = int(np.argmin(waiting))
        waiting[k] = np.iinfo(np.int64).max
        raised = overlaps[k] & (waiting < lowest[k] + size[k])
        waiting[raised] = lowest[raised] = lowest[k] + size[k]
    offsets = np.empty(len(buffers), np.int64)
    offsets[order] = lowest
    return offsets.tolist()
