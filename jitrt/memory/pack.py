"""Packing: offsets for buffers whose lifetimes are known."""

from __future__ import annotations

import math
import time
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ..ir.strided import depends
from .sections import Sections, preorders, sections_of

Buffer = tuple[int, int, int]

PLANNERS = ("best", "greedy", "nnc")
_MOST_FOR_DIVES = 4000  # buffers: a dive holds a matrix of which of them overlap


def plan_offsets(
    buffers: Sequence[Buffer],
    budget: float = 0.1,
    planner: str = "best",
    companions: Sequence[tuple[int, int]] = (),
) -> tuple[list[int], int]:
    """Offsets at which buffers that are alive at the same time do not overlap.

    Parameters
    ----------
    buffers : sequence of (size, first, end)
        Bytes, and the half-open lifetime ``first <= t < end``.
    budget : float
        Seconds that may be spent on what is better than the first greedy plan. It is not spent when the plan reaches
        the lower bound, the most bytes that are alive at one time.
    planner : {"best", "greedy", "nnc"}
        ``"greedy"``: by size, best fit. ``"best"``: that, further greedy orders, and an exact search. ``"nnc"``: the
        allocation graph of liuliu's NNC, which reuses parts of buffers along its edges.
    companions : sequence of (int, int)
        Pairs of buffers that get one offset; they must not be alive at the same time. For ``"nnc"`` only.

    Returns
    -------
    offsets : list of int
        In bytes, one for each buffer.
    total : int
        Bytes that the buffers occupy together.

    Raises
    ------
    ValueError
        If a size is negative, `planner` is unknown, or companions are alive at the same time or not for this planner.

    Notes
    -----
    With the same outcome of the search (finished, or stopped by the budget at the same place) the plan is the same.

    Examples
    --------
    >>> plan_offsets([(64, 0, 2), (64, 1, 3), (128, 2, 4)])
    ([0, 128, 0], 192)
    >>> plan_offsets([(64, 0, 2), (64, 1, 3), (128, 2, 4)], planner="nnc")
    ([0, 128, 0], 192)
    """
    deadline = time.perf_counter() + budget
    if planner not in PLANNERS:
        raise ValueError(f"planner must be one of {', '.join(PLANNERS)}, not {planner!r}")
    if companions and planner != "nnc":
        raise ValueError("companions are for planner='nnc'")
    if any(size < 0 for size, _, _ in buffers):
        raise ValueError("the size of a buffer cannot be negative")
    # Offsets are sums of sizes, so a common divisor changes nothing; what never lives lies anywhere.
    sizes = [size for size, _, _ in buffers]
    unit = 1 if depends(sizes) else math.gcd(*sizes) or 1
    kept = [k for k, (size, first, end) in enumerate(buffers) if size and first < end]
    scaled = [(buffers[k][0] // unit, *buffers[k][1:]) for k in kept]
    if planner == "nnc":
        number = {k: n for n, k in enumerate(kept)}
        pairs = [(number[i], number[j]) for i, j in companions if i in number and j in number]
        from .nnc import allocation_graph  # the frames of programs do not ask for it

        placed = allocation_graph(scaled, pairs)
    else:
        placed = _best(scaled, deadline) if planner == "best" else best_fit(scaled, by_size(scaled))
    offsets = [0] * len(buffers)
    for k, offset in zip(kept, placed):
        offsets[k] = offset * unit
    return offsets, height(scaled, placed) * unit


def _best(buffers: list[Buffer], deadline: float) -> list[int]:
    """The lowest plan that is found in time."""
    bound = lower_bound(buffers)
    best = best_fit(buffers, by_size(buffers))
    if depends([size for size, _, _ in buffers]):
        return best
    lowest = height(buffers, best)
    for plan in further_plans(buffers):
        if lowest == bound or time.perf_counter() > deadline:
            return best
        offsets = plan()
        if height(buffers, offsets) < lowest:
            best, lowest = offsets, height(buffers, offsets)
    if lowest == bound:
        return best
    from .exact import improve  # hardly any frame needs it

    return improve(buffers, best, bound, deadline)


def height(buffers: Sequence[Buffer], offsets: Sequence[int]) -> int:
    """Where the highest buffer ends."""
    return max((offset + size for offset, (size, _, _) in zip(offsets, buffers)), default=0)


def lower_bound(buffers: Sequence[Buffer]) -> int:
    """The most bytes that are alive at one time, below which no plan gets.

    Examples
    --------
    >>> lower_bound([(64, 0, 2), (64, 1, 3), (128, 2, 4)])
    192
    """
    change: dict[int, int] = {}
    for size, first, end in buffers:
        if first < end:
            change[first] = change.get(first, 0) + size
            change[end] = change.get(end, 0) - size
    most = live = 0
    for t in sorted(change):
        live += change[t]
        most = max(most, live)
    return most


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
    offsets = [0] * len(buffers)
    placed: list[int] = []  # in the order of offsets
    for k in order:
        size, first, end = buffers[k]
        top, gaps = 0, []
        for j in placed:
            if buffers[j][1] < end and buffers[j][2] > first:
                if offsets[j] - top >= size:
                    gaps.append((offsets[j] - top, top))
                top = max(top, offsets[j] + buffers[j][0])
        offsets[k] = min(gaps)[1] if gaps else top
        insort(placed, k, key=offsets.__getitem__)
    return offsets


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
