"""The order of independent steps: one in which little memory is alive at one time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from ..base.frozen import frozen

_WIDTH = 8  # orders that are followed at one time
_MOST_FOR_WIDTH = 40  # steps; of more, one order is followed


@frozen(eq=False)
class _Begun:
    """Steps that have been put in order: which (as bits), the most bytes so far, and those alive behind them."""

    done: int
    most: int
    alive: int
    order: tuple[int, ...]


def lighter_order(
    after: Sequence[Collection[int]], touched: Sequence[Collection[Any]], nbytes: Mapping[Any, int]
) -> list[int]:
    """An order of steps in which little memory is alive at one time: a beam search over topological orders.

    The value that a step begins takes no memory if one of the same size ends there, since it can lie in its place.

    Parameters
    ----------
    after : sequence of collection of int
        For each step those that have to come after it.
    touched : sequence of collection
        For each step the values that it reads or writes.
    nbytes : mapping
        Sizes of the values that matter.

    Examples
    --------
    Two sums of two large arrays each: one after the other needs one array at a time.

    >>> steps = [["a"], ["b"], ["a", "s"], ["b", "t"], ["s", "t"]]
    >>> lighter_order([[2], [3], [4], [4], []], steps, {"a": 100, "b": 100, "s": 1, "t": 1})
    [0, 2, 1, 3, 4]
    """
    count = len(after)
    if count > _MOST_FOR_WIDTH:
        return _greedy_order(after, touched, nbytes)
    before = [0] * count
    for k, later in enumerate(after):
        for j in later:
            before[j] |= 1 << k
    users: dict[Any, int] = {}
    for k, values in enumerate(touched):
        for value in values:
            users[value] = users.get(value, 0) | 1 << k
    sizes = [{v: nbytes[v] for v in dict.fromkeys(values) if v in nbytes} for values in touched]
    beam = [_Begun(0, 0, 0, ())]
    for _ in range(count):
        found: dict[int, _Begun] = {}
        for state in beam:
            for k in range(count):
                bit = 1 << k
                if state.done & bit or before[k] & ~state.done:
                    continue
                made = _with_step(state, k, sizes[k], users)
                known = found.get(made.done)
                if known is None or (made.most, made.alive) < (known.most, known.alive):
                    found[made.done] = made
        beam = sorted(found.values(), key=lambda s: (s.most, s.alive, s.order))[:_WIDTH]
    return list(beam[0].order)


def _with_step(state: _Begun, k: int, sizes: Mapping[Any, int], users: Mapping[Any, int]) -> _Begun:
    done = state.done | 1 << k
    begins = {value: size for value, size in sizes.items() if not users[value] & state.done}
    ends = {value: size for value, size in sizes.items() if not users[value] & ~done}
    needed, gained = _change(begins, ends)
    return _Begun(done, max(state.most, state.alive + needed), state.alive + gained, (*state.order, k))


def _change(begins: Mapping[Any, int], ends: Mapping[Any, int]) -> tuple[int, int]:
    """Bytes that a step needs beside those alive before it, and how many more are alive behind it."""
    left = [size for value, size in ends.items() if value not in begins]
    needed = 0
    for size in begins.values():
        if size in left:
            left.remove(size)
        else:
            needed += size
    return needed, sum(begins.values()) - sum(ends.values())


def _greedy_order(
    after: Sequence[Collection[int]], touched: Sequence[Collection[Any]], nbytes: Mapping[Any, int]
) -> list[int]:
    """The order in which always the step runs that needs least beyond the most so far, and leaves least alive.

    Steps wait in two heaps, those that do not raise the most and those that do. What is in the wrong one since memory
    was freed or taken is moved when it comes to the top.
    """
    count = len(after)
    sizes = [{v: nbytes[v] for v in dict.fromkeys(values) if v in nbytes} for values in touched]
    users: dict[Any, list[int]] = {}
    for k, values in enumerate(sizes):
        for value in values:
            users.setdefault(value, []).append(k)
    left = {value: len(steps) for value, steps in users.items()}
    waiting = [0] * count
    for later in after:
        for j in later:
            waiting[j] += 1
    changes: dict[int, tuple[int, int]] = {}  # of the steps that may run
    low: list[tuple[int, int, int]] = []  # what is alive behind a step, its number, what it needs
    high: list[tuple[int, int, int]] = []  # what a step needs, what is alive behind it, its number

    def note(k: int) -> None:
        begins = {v: size for v, size in sizes[k].items() if left[v] == len(users[v])}
        ends = {v: size for v, size in sizes[k].items() if left[v] == 1}
        needed, gained = changes[k] = _change(begins, ends)
        heappush(high, (needed, gained, k))

    for k in range(count):
        if not waiting[k]:
            note(k)
    order: list[int] = []
    most = alive = 0
    while changes:
        while high and high[0][0] <= most - alive:
            needed, gained, k = heappop(high)
            heappush(low, (gained, k, needed))
        while low and (changes.get(low[0][1]) != (low[0][2], low[0][0]) or low[0][2] > most - alive):
            gained, k, needed = heappop(low)
            if changes.get(k) == (needed, gained):
                heappush(high, (needed, gained, k))
        while not low and changes.get(high[0][2]) != high[0][:2]:
            heappop(high)
        if low:
            gained, k, needed = heappop(low)
        else:
            needed, gained, k = heappop(high)
        del changes[k]
        order.append(k)
        most, alive = max(most, alive + needed), alive + gained
        changed = dict.fromkeys(j for j in after[k] if waiting[j] == 1)
        for j in after[k]:
            waiting[j] -= 1
        for value in sizes[k]:
            left[value] -= 1
            if left[value] in (1, len(users[value]) - 1):  # it ends with its last user; it has begun
                changed |= dict.fromkeys(j for j in users[value] if j in changes)
        for j in changed:
            note(j)
    return order
