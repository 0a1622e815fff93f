"""Where the values that a loop carries lie, so that no iteration copies them.

Each carried value is a *role*; the buffers that hold them are numbered by the role that they have before the first
iteration, and spare ones follow. An iteration reads old values from some buffers and writes new ones into others; what
it merely hands on stays where it is. The buffers therefore change their roles by the same permutation in each
iteration, and after as many iterations as its order, the repeat length, every buffer has its first role again (the
multi-view tensors of liu liu's "NNC tensor allocation": the pointer is chosen by the iteration modulo repeat length).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..base.frozen import frozen


@frozen
class Rotation:
    """How buffers change their roles from one iteration to the next.

    Parameters
    ----------
    roles : int
        Number of carried values; further roles are those of spare buffers.
    source : tuple of int
        For each role the role, one iteration earlier, of the buffer that it has now.
    """

    roles: int
    source: tuple[int, ...]

    @property
    def length(self) -> int:
        """Iterations after which every buffer has its first role again."""
        return math.lcm(1, *(len(c) for c in self.cycles()))

    def cycles(self) -> list[list[int]]:
        """Roles that a buffer has one after the other."""
        found: list[list[int]] = []
        seen: set[int] = set()
        for start in range(len(self.source)):
            cycle = []
            role = start
            while role not in seen:
                seen.add(role)
                cycle.append(role)
                role = self.source[role]
            if cycle:
                found.append(cycle)
        return found

    def buffers(self, iteration: int) -> tuple[int, ...]:
        """For each role its buffer before that iteration.

        Examples
        --------
        >>> double_buffered = Rotation(1, (1, 0))
        >>> [double_buffered.buffers(k) for k in range(3)]
        [(0, 1), (1, 0), (0, 1)]
        """
        state = tuple(range(len(self.source)))
        for _ in range(iteration % self.length):
            state = tuple(state[s] for s in self.source)
        return state


def plan_rotation(
    sizes: Sequence[int], handed_on: Sequence[int | None], may_replace: Callable[[int, int], bool]
) -> tuple[Rotation, tuple[int, ...]]:
    """A rotation with as few spare buffers as there are values that cannot replace an old one.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of each carried value.
    handed_on : sequence of int or None
        For each role the role whose old value is its new one; None for a value that is computed. No role twice.
    may_replace : callable
        ``may_replace(new, old)``: whether the new value of one role may be written where the old value of another
        was.

    Returns
    -------
    rotation : Rotation
    spares : tuple of int
        Bytes of the spare buffers.

    Examples
    --------
    A value that is computed from neighbours of its old value takes turns with a spare buffer:

    >>> plan_rotation([64], [None], lambda new, old: False)
    (Rotation(roles=1, source=(1, 0)), (64,))

    The last of three values becomes ``f`` of the first, where it may replace it:

    >>> plan_rotation([64, 64, 64], [1, 2, None], lambda new, old: True)
    (Rotation(roles=3, source=(1, 2, 0)), ())
    """
    source: list[int | None] = list(handed_on)
    free = [k for k in range(len(sizes)) if k not in handed_on]
    computed = [k for k in range(len(sizes)) if source[k] is None]
    pairs = [(k, k) for k in computed] + [(new, old) for new in computed for old in free]
    for new, old in pairs:
        if source[new] is None and old in free and sizes[new] == sizes[old] and may_replace(new, old):
            source[new] = old
            free.remove(old)
    spares: list[int] = []
    for new in computed:
        if source[new] is None:
            source[new] = len(sizes) + len(spares)
            spares.append(sizes[new])
    # A buffer of an old value that nobody took becomes the spare one of its size.
    for size in spares:
        old = next(k for k in free if sizes[k] == size)
        free.remove(old)
        source.append(old)
    return Rotation(len(sizes), tuple(s for s in source if s is not None)), tuple(spares)
