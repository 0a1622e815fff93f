"""The order of independent steps: one in which little memory is alive at one time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..frozen import frozen

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
    before = [0] * count
    for k, later in enumerate(after):
        for j in later:
            before[j] |= 1 << k
    users: dict[Any, int] = {}
    for k, values in enumerate(touched):
        for value in values:
            users[value] = users.get(value, 0) | 1 << k
    sizes = [{v: nbytes[v] for v in dict.fromkeys(values) if v in nbytes} for values in touched]
    width = _WIDTH if count <= _MOST_FOR_WIDTH else 1
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
        beam = sorted(found.values(), key=lambda s: (s.most, s.alive, s.order))[:width]
    return list(beam[0].order)


def _with_step(state: _Begun, k: int, sizes: Mapping[Any, int], users: Mapping[Any, int]) -> _Begun:
    done = state.done | 1 << k
    begins = {value: size for value, size in sizes.items() if not users[value] & state.done}
    ends = {value: size for value, size in sizes.items() if not users[value] & ~done}
    left = [size for value, size in ends.items() if value not in begins]
    needed = state.alive
    for size in begins.values():
        if size in left:
            left.remove(size)
        else:
            needed += size
    alive = state.alive + sum(begins.values()) - sum(ends.values())
    return _Begun(done, max(state.most, needed), alive, (*state.order, k))
