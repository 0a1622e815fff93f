"""Packing: offsets for buffers whose lifetimes are known."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from ..ir.strided import depends
from . import greedy

Buffer = tuple[int, int, int]

PLANNERS = ("best", "greedy", "nnc")


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
        placed = _best(scaled, deadline) if planner == "best" else greedy.best_fit(scaled, greedy.by_size(scaled))
    offsets = [0] * len(buffers)
    for k, offset in zip(kept, placed):
        offsets[k] = offset * unit
    return offsets, height(scaled, placed) * unit


def _best(buffers: list[Buffer], deadline: float) -> list[int]:
    """The lowest plan that is found in time."""
    bound = lower_bound(buffers)
    best = greedy.best_fit(buffers, greedy.by_size(buffers))
    if depends([size for size, _, _ in buffers]):
        return best
    lowest = height(buffers, best)
    for plan in greedy.further_plans(buffers):
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
