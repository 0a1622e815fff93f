"""Loops over ranges of indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.frozen import frozen
from ...ir.integers import Poly


@frozen(eq=False)
class Iteration:
    """A loop over a range of indices.

    Parameters
    ----------
    start, stop : Poly
    step : int
    count : Poly
        Of iterations, if it is positive.
    bind : callable
        From an index to the value of the loop's variable.
    """

    start: Poly
    stop: Poly
    step: int
    count: Poly
    bind: Callable[[Poly], Any]


def counted(source: Iteration) -> Iteration:
    """The same loop over indices that follow each other."""
    if abs(source.step) == 1:
        return source
    bind, start, step = source.bind, source.start, source.step
    return Iteration(Poly.number(0), source.count, 1, source.count, lambda k: bind(start + k * step))
