"""Packing: offsets for buffers whose lifetimes are known."""

from __future__ import annotations

from collections.abc import Sequence


def plan_offsets(buffers: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Offsets at which buffers that are alive at the same time do not overlap.

    Greedy by size, best fit: the largest buffer first, each at the smallest gap that holds it (as XLA's
    ``GlobalDecreasingSizeBestFitHeap``).

    Parameters
    ----------
    buffers : sequence of (size, first, end)
        Bytes, and the half-open lifetime ``first <= t < end``.

    Returns
    -------
    offsets : list of int
        In bytes, one for each buffer.
    total : int
        Bytes that the buffers occupy together.

    Examples
    --------
    >>> plan_offsets([(64, 0, 2), (64, 1, 3), (128, 2, 4)])
    ([0, 128, 0], 192)
    """
    offsets = [0] * len(buffers)
    placed: list[int] = []
    total = 0
    for k in sorted(range(len(buffers)), key=lambda k: (-buffers[k][0], buffers[k][1], k)):
        size, first, end = buffers[k]
        taken = sorted(
            (offsets[j], offsets[j] + buffers[j][0]) for j in placed if first < buffers[j][2] and buffers[j][1] < end
        )
        offsets[k] = _best_fit(size, taken)
        placed.append(k)
        total = max(total, offsets[k] + size)
    return offsets, total


def _best_fit(size: int, taken: list[tuple[int, int]]) -> int:
    """Start of the smallest gap between `taken` ranges that holds `size` bytes; behind them all if there is none."""
    best, smallest, top = -1, -1, 0
    for start, stop in taken:
        gap = start - top
        if gap >= size and (smallest < 0 or gap < smallest):
            best, smallest = top, gap
        top = max(top, stop)
    return top if best < 0 else best
