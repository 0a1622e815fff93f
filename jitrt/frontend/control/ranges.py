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
