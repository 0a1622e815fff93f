"""A search for offsets below a capacity: sizes and sections of time, no graph.

Time is divided into *sections*, in each of which the same buffers live. Buffers are placed bottom up, each at the
lowest offset that the placed ones leave it, in *canonical* order: offsets never decrease, and equal offsets go by a
given rank. Every solution can be pushed down into one of this form. A branch is left when some section cannot hold
what is still to be placed in it, or when a buffer that is not yet placed would fit below; parts that no longer share a
section are searched one after the other, each on its own (M. D. Moffitt, *MiniMalloc*, ASPLOS 2023).

The functions are ordinary Python on sequences of integers, which numba compiles as they stand. For a few hundred
steps, lists and the interpreter are faster than loading the compiled code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, MutableSequence, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

SOLVED, IMPOSSIBLE, STOPPED = 1, 0, -1

_FAR = 1 << 62
_NONE = -1


class Problem(NamedTuple):
    """Buffers to be placed.

    Buffer ``i`` has `size[i]`, lives in the sections ``first[i] <= s < end[i]``, shares sections with
    ``near[near_start[i]:near_start[i + 1]]`` and comes at place `rank[i]` among buffers of one offset.
    """

    size: Sequence[int]
    first: Sequence[int]
    end: Sequence[int]
    near_start: Sequence[int]
    near: Sequence[int]
    rank: Sequence[int]


class State(NamedTuple):
    """Where a search stands; all zero at first.

    `offset` is where a placed buffer lies, and the lowest place left for another. A *frame* is one decision: the
    buffers ``order[low:high]`` of a part, the last one tried, and the frame to return to if none of them fits. A
    *part* is what is to be searched after the current one. The *trail* notes offsets that were changed.
    """

    offset: MutableSequence[int]
    placed: MutableSequence[int]
    order: MutableSequence[int]
    # By section.
    unplaced: MutableSequence[int]  # bytes
    crossing: MutableSequence[int]  # unplaced buffers that live in this section and in the one before
    lowest: MutableSequence[int]  # scratch: the lowest offset of an unplaced buffer
    # By frame.
    low: MutableSequence[int]
    high: MutableSequence[int]
    parent: MutableSequence[int]
    following: MutableSequence[int]
    tried_offset: MutableSequence[int]
    tried_rank: MutableSequence[int]
    chosen: MutableSequence[int]
    last: MutableSequence[int]
    trail_mark: MutableSequence[int]
    part_mark: MutableSequence[int]
    # By part.
    part_low: MutableSequence[int]
    part_high: MutableSequence[int]
    part_parent: MutableSequence[int]
    part_following: MutableSequence[int]
    # By change.
    trail_buffer: MutableSequence[int]
    trail_offset: MutableSequence[int]


def new_state(buffers: int, sections: int, neighbours: int, make: Callable[[int], MutableSequence[int]]) -> State:
    """An empty state for a problem of that many buffers, sections and entries of `Problem.near`.

    Parameters
    ----------
    buffers, sections, neighbours : int
    make : callable
        Gives a sequence of so many zeros: a list for the interpreter, an array for compiled code.
    """
    lengths = dict.fromkeys(State._fields, buffers + 1)
    lengths |= dict.fromkeys(("unplaced", "crossing", "lowest"), sections + 1)
    lengths |= {name: 2 * buffers + 1 for name in State._fields if name.startswith("part_")}
    lengths |= dict.fromkeys(("trail_buffer", "trail_offset"), neighbours + 1)
    lengths["part_mark"] = buffers + 1
    return State(*(make(lengths[name]) for name in State._fields))


def search(problem: Problem, state: State, capacity: int, most_steps: int) -> tuple[int, int]:
    """Look for offsets such that no buffer ends above `capacity`.

    Parameters
    ----------
    problem : Problem
    state : State
        Of the right lengths; its `offset` is the result.
    capacity : int
    most_steps : int
        Placements that may be tried.

    Returns
    -------
    outcome : int
        `SOLVED`, `IMPOSSIBLE`, or `STOPPED` after that many steps.
    steps : int
        Placements that were tried.
    """
    _begin(problem, state)
    count = len(problem.size)
    parts, following = _split(problem, state, 0, count, _NONE, _NONE, 0)
    depth, trail, steps = 0, 0, 0
    while following != _NONE:
        # Open the frame of the next part.
        state.low[depth], state.high[depth] = state.part_low[following], state.part_high[following]
        parent = state.part_parent[following]
        state.parent[depth], state.following[depth] = parent, state.part_following[following]
        state.chosen[depth], state.last[depth] = _NONE, 0
        state.trail_mark[depth], state.part_mark[depth] = trail, parts
        if parent == _NONE:
            state.tried_offset[depth], state.tried_rank[depth] = 0, _NONE
        else:  # canonical order continues behind the buffer whose placement made this part
            before = state.chosen[parent]
            state.tried_offset[depth], state.tried_rank[depth] = state.offset[before], problem.rank[before]
        depth += 1
        while True:  # until a placement holds
            frame = depth - 1
            buffer = _NONE if state.last[frame] else _next_candidate(problem, state, frame)
            if buffer == _NONE:
                target = state.parent[frame]
                if target == _NONE:
                    return IMPOSSIBLE, steps
                for above in range(frame - 1, target - 1, -1):
                    _take_back(problem, state, above)
                trail = _undo(state, trail, state.trail_mark[target])
                parts, depth = state.part_mark[target], target + 1
                continue
            if steps == most_steps:
                return STOPPED, steps
            steps += 1
            trail = _place(problem, state, frame, buffer, trail)
            if _fits(problem, state, frame, capacity):
                break
            _take_back(problem, state, frame)
            trail = _undo(state, trail, state.trail_mark[frame])
        low, high = state.low[frame] + 1, state.high[frame]
        parts, following = _split(problem, state, low, high, frame, state.following[frame], parts)
    return SOLVED, steps


def _begin(problem: Problem, state: State) -> None:
    for s in range(len(state.unplaced)):
        state.unplaced[s] = state.crossing[s] = 0
    for i in range(len(problem.size)):
        state.order[i] = i
        state.offset[i] = state.placed[i] = 0
        for s in range(problem.first[i], problem.end[i]):
            state.unplaced[s] += problem.size[i]
        for s in range(problem.first[i] + 1, problem.end[i]):
            state.crossing[s] += 1


def _split(
    problem: Problem, state: State, low: int, high: int, parent: int, following: int, parts: int
) -> tuple[int, int]:
    """Note the parts into which ``order[low:high]`` falls, in front of `following`: their number, and the first."""
    order = state.order
    while low < high:
        start = problem.first[order[low]]
        end = problem.end[order[low]]
        while state.crossing[start] > 0:
            start -= 1
        while state.crossing[end] > 0:
            end += 1
        middle = low
        for k in range(low, high):
            i = order[k]
            if start <= problem.first[i] < end:
                order[k] = order[middle]
                order[middle] = i
                middle += 1
        state.part_low[parts], state.part_high[parts] = low, middle
        state.part_parent[parts], state.part_following[parts] = parent, following
        following = parts
        parts += 1
        low = middle
    return parts, following


def _next_candidate(problem: Problem, state: State, frame: int) -> int:
    """The buffer to be tried after the last one, in canonical order; none if a solution would have it elsewhere."""
    best, best_offset, best_rank, lowest_top = _NONE, _FAR, _FAR, _FAR
    tried_offset, tried_rank = state.tried_offset[frame], state.tried_rank[frame]
    for k in range(state.low[frame], state.high[frame]):
        i = state.order[k]
        offset, rank = state.offset[i], problem.rank[i]
        lowest_top = min(lowest_top, offset + problem.size[i])
        behind = offset > tried_offset or (offset == tried_offset and rank > tried_rank)
        if behind and (offset < best_offset or (offset == best_offset and rank < best_rank)):
            best, best_offset, best_rank = i, offset, rank
    # Dominance: a buffer that would fit entirely below could as well be placed first.
    return best if best_offset < lowest_top else _NONE


def _place(problem: Problem, state: State, frame: int, buffer: int, trail: int) -> int:
    """Place `buffer` at its lowest offset and raise its neighbours; the new length of the trail."""
    order, offset = state.order, state.offset
    low = state.low[frame]
    for k in range(low, state.high[frame]):
        if order[k] == buffer:
            order[k], order[low] = order[low], buffer
            break
    state.chosen[frame] = buffer
    state.tried_offset[frame], state.tried_rank[frame] = offset[buffer], problem.rank[buffer]
    state.placed[buffer] = 1
    first, end, size = problem.first[buffer], problem.end[buffer], problem.size[buffer]
    for s in range(first, end):
        state.unplaced[s] -= size
    for s in range(first + 1, end):
        state.crossing[s] -= 1
    top = offset[buffer] + size
    covered = 0
    for k in range(problem.near_start[buffer], problem.near_start[buffer + 1]):
        i = problem.near[k]
        if not state.placed[i]:
            covered = 1
            if offset[i] < top:
                state.trail_buffer[trail], state.trail_offset[trail] = i, offset[i]
                trail += 1
                offset[i] = top
    # With nothing above it, a buffer cannot be in the way: no other choice in its place does better.
    state.last[frame] = 1 - covered
    return trail


def _take_back(problem: Problem, state: State, frame: int) -> None:
    """Undo what `_place` did to the sections."""
    buffer = state.chosen[frame]
    state.placed[buffer] = 0
    first, end, size = problem.first[buffer], problem.end[buffer], problem.size[buffer]
    for s in range(first, end):
        state.unplaced[s] += size
    for s in range(first + 1, end):
        state.crossing[s] += 1


def _undo(state: State, trail: int, mark: int) -> int:
    """Undo what `_place` did to the offsets, back to the length `mark` of the trail."""
    while trail > mark:
        trail -= 1
        state.offset[state.trail_buffer[trail]] = state.trail_offset[trail]
    return trail


def _fits(problem: Problem, state: State, frame: int, capacity: int) -> bool:
    """Whether every section of the part can still hold what is to be placed in it."""
    chosen = state.chosen[frame]
    bottom = state.offset[chosen]
    if bottom + problem.size[chosen] > capacity:
        return False
    start, end = problem.first[chosen], problem.end[chosen]
    for k in range(state.low[frame] + 1, state.high[frame]):
        start = min(start, problem.first[state.order[k]])
        end = max(end, problem.end[state.order[k]])
    for s in range(start, end):
        state.lowest[s] = _FAR
    for k in range(state.low[frame] + 1, state.high[frame]):
        i = state.order[k]
        offset = max(state.offset[i], bottom)
        for s in range(problem.first[i], problem.end[i]):
            if offset < state.lowest[s]:
                state.lowest[s] = offset
    for s in range(start, end):
        if state.unplaced[s] > 0 and state.lowest[s] + state.unplaced[s] > capacity:
            return False
    return True


@lru_cache(maxsize=1)
def compiled() -> Callable[[Problem, State, int, int], tuple[int, int]]:
    """`search` as machine code, for arrays of 64-bit integers; compiled at its first call, or loaded if it once was."""
    from numba import njit
    from numba.extending import register_jitable

    for function in (_begin, _split, _next_candidate, _place, _take_back, _undo, _fits):
        register_jitable(function)
    try:
        return njit(search, cache=True, nogil=True)
    except RuntimeError:  # no folder for a cache can be written
        return njit(search, nogil=True)


def is_loaded() -> bool:
    """Whether `compiled` has been called, so that it costs no more time."""
    return compiled.cache_info().currsize > 0 and bool(getattr(compiled(), "signatures", True))


def is_on_disk() -> bool:
    """Whether `compiled` gives code that was kept on disk by an earlier process."""
    statistics: Any = getattr(compiled(), "stats", None)
    folder = getattr(statistics, "cache_path", None)
    if not folder:
        return False
    changed = os.stat(__file__).st_mtime
    indices = Path(folder).glob("packing.search-*.nbi")
    return any(index.stat().st_mtime >= changed for index in indices)
