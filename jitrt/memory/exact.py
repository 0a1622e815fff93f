"""Exact packing: the lower bound itself, or as near to it as the time allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..kernels import packing
from .sections import Sections, preorders, sections_of

Buffer = tuple[int, int, int]

_MOST_BUFFERS = 5000
_SECONDS_A_PAIR = 5e-8  # to find out which buffers overlap, for each two of them
# Seconds that have to be left for it to be worth while to load, or to compile, the machine code of the search.
_TO_LOAD, _TO_COMPILE = 0.6, 6.0
_SHORT = 0.1  # seconds: the interpreter is good enough for a search that takes it no longer
# Steps a second, before there is a measurement, times the number of buffers, all of which a step looks at.
_INTERPRETED_RATE, _COMPILED_RATE = 1.5e6, 3e7


def improve(buffers: Sequence[Buffer], offsets: list[int], bound: int, deadline: float) -> list[int]:
    """The lowest plan that is found until `deadline`, or `offsets`.

    The lower bound is tried first: it can nearly always be reached, and a search for it fails early where it is wrong.
    Three orders and a few capacities take turns with as many steps each, then with twice as many, and so on.

    Parameters
    ----------
    buffers : sequence of (size, first, end)
        All of them of positive size and duration.
    offsets : list of int
        A plan.
    bound : int
        A height below which there is no plan.
    deadline : float
        As `time.perf_counter` gives it.
    """
    left = deadline - time.perf_counter()
    if len(buffers) > _MOST_BUFFERS or len(buffers) ** 2 * _SECONDS_A_PAIR > left:
        return offsets
    sections = sections_of(buffers)
    searches = _Searches(buffers, sections, deadline)
    best = max(offset + size for offset, (size, _, _) in zip(offsets, buffers))
    steps = 3 * len(buffers) // 2
    first_round = True
    while bound < best:
        for capacity in [bound] if first_round else _capacities(bound, best):
            for order in range(len(searches.ranks)):
                if not bound <= capacity < best:
                    break
                outcome, found = searches.run(order, capacity, steps)
                if outcome == packing.SOLVED:
                    offsets = found
                    best = max(offset + size for offset, (size, _, _) in zip(offsets, buffers))
                elif outcome == packing.IMPOSSIBLE:
                    bound = capacity + 1
                elif searches.out_of_time:
                    return offsets
        steps *= 2
        first_round = False
    return offsets


def _capacities(bound: int, best: int) -> list[int]:
    """Heights to try: the bound, half way up to the best known one, and nearly up to it."""
    gap = best - bound
    return sorted({bound, bound + gap // 2, bound + 7 * gap // 8})


class _Searches:
    """The search in three orders, interpreted at first, compiled when there is time for it."""

    def __init__(self, buffers: Sequence[Buffer], sections: Sections, deadline: float):
        self.deadline = deadline
        self.out_of_time = False
        self.size = [size for size, _, _ in buffers]
        self.sections = sections
        self.ranks = preorders(buffers, sections)
        self.starts, self.near = sections.neighbours()
        self.is_compiled = False
        self.rate = _INTERPRETED_RATE / len(buffers)
        self._prepare()

    def _prepare(self) -> None:
        """Problems and a state as the interpreter, or compiled code, likes them."""
        columns = (self.size, self.sections.first, self.sections.end, self.starts, self.near)
        convert: Callable[[Sequence[int]], Any] = list
        if self.is_compiled:
            convert = partial(np.array, dtype=np.int64)
        shared = [convert(column) for column in columns]
        self.problems = [packing.Problem(*shared, convert(rank)) for rank in self.ranks]
        zeros = lambda length: convert([0] * length)  # noqa: E731
        self.state = packing.new_state(len(self.size), self.sections.count, len(self.near), zeros)

    def run(self, order: int, capacity: int, steps: int) -> tuple[int, list[int]]:
        """The outcome of a search of at most so many steps, fewer if time is short, and the offsets."""
        self._compile_if_there_is_time(steps)
        left = self.deadline - time.perf_counter()
        affordable = int(left * self.rate)
        if affordable < len(self.size):
            self.out_of_time = True
            return packing.STOPPED, []
        search = packing.compiled() if self.is_compiled else packing.search
        start = time.perf_counter()
        outcome, taken = search(self.problems[order], self.state, capacity, min(steps, affordable))
        self.rate = max(taken, 1) / (time.perf_counter() - start)
        return outcome, [int(offset) for offset in self.state.offset[: len(self.size)]]

    def _compile_if_there_is_time(self, steps: int) -> None:
        if self.is_compiled:
            return
        left = self.deadline - time.perf_counter()
        is_short = steps < _SHORT * self.rate or left < _TO_LOAD
        if not packing.is_loaded() and (is_short or (left < _TO_COMPILE and not packing.is_on_disk())):
            return
        self.is_compiled = True
        self._prepare()
        packing.compiled()(self.problems[0], self.state, 0, 0)
        self.rate = _COMPILED_RATE / len(self.size)
