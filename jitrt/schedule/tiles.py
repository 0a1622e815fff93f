"""Tiles: two loops in small squares, where one operand runs along one axis and another operand along the other.

A loop along the rows of a matrix that reads another matrix by columns touches a new cache line for every element. In
a tile these lines are still in the first-level cache when the next row needs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir.extents import rather_below

LINE = 64  # bytes of a cache line
_SHORTEST = 16  # turns: shorter loops have few lines to come back to
_LEAST_ELEMENTS = 1 << 12  # fewer lines than these elements touch stay in the cache anyway


def is_crossing(strides: Sequence[int]) -> bool:
    """Whether an access with these strides runs along the last axis but one, and not along the last one.

    Examples
    --------
    >>> is_crossing((8, 4000)), is_crossing((4000, 8)), is_crossing((0, 4000))
    (True, False, False)
    """
    return abs(strides[-1]) >= LINE > abs(strides[-2]) > 0


def crossing_axis(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> int | None:
    """The axis to be tiled together with the last one, or None if loops in order are as good.

    Parameters
    ----------
    extents : sequence of int
        Of the loops, outermost first.
    strides : sequence of sequence of int
        For each access to memory its strides in bytes along these loops.

    Examples
    --------
    A copy of a transposed matrix of float64:

    >>> crossing_axis((500, 500), ((4000, 8), (8, 4000)))
    0
    >>> crossing_axis((500, 500), ((4000, 8), (4000, 8)))
    """
    if len(extents) < 2:
        return None
    for access in strides:
        if rather_below(abs(access[-1]), LINE):
            continue
        near = [k for k in range(len(extents) - 1) if access[k] and rather_below(abs(access[k]), LINE)]
        near = [k for k in near if not rather_below(extents[k], _SHORTEST)]
        if near and not (rather_below(extents[-1], _SHORTEST) or rather_below(math.prod(extents), _LEAST_ELEMENTS)):
            return min(near, key=lambda k: abs(access[k]))
    return None
