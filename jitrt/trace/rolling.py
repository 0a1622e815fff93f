"""Rolling up: a Python loop whose iterations do the same becomes one loop node while it is traced.

The function that is traced finds `RollingRange` in the place of ``range``. Each time the loop asks for the next number,
the state of its frame is looked at. The rest of the loop is one node if this holds for three states one iteration
apart:

- The states have one structure: the same variables and containers, tracers of the same types in the same places,
  viewing memory in the same way, and identical other values.
- The body does not read the number of the iteration, so that it depends on nothing but the state.
- Both iterations recorded the same graph, from the values at their beginning to those at their end.

What an iteration does then depends on the structure of the state alone, which it preserves; by induction all further
iterations do the same. The function has no effects elsewhere, or it would not be traced (`purity`).
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterator
from typing import Any

from .context import current
from .loopsites import LoopSite, loop_site
from .state import Trace
from .states import State, Unknown, finish, observe, step_between
from .storage import Cell

FEWEST = 8  # iterations that are worth a node: a few are better fused with each other
_MOST_STATES = 10  # states that are compared before giving up


def traced_range(*args: Any) -> Any:
    """What a function that is traced finds in the place of ``range``."""
    numbers = builtins.range(*args)
    trace = current()
    if trace is None or not numbers:
        return numbers
    frame = sys._getframe(1)
    site = loop_site(frame.f_code, frame.f_lasti)
    return numbers if site is None or site.reads_variable else RollingRange(numbers, site, trace)


class RollingRange:
    """A range that ends when what is left of the loop over it has become a node."""

    def __init__(self, numbers: builtins.range, site: LoopSite, trace: Trace):
        self._numbers = iter(numbers)
        self._left = len(numbers)
        self._few = len(numbers) < FEWEST
        self._last = numbers[-1]
        self._site: LoopSite | None = site
        self._trace = trace
        self._states: list[State] = []
        self.variable = site.variable
        self.variable_is_used = site.reads_elsewhere or site.reads_variable
        self.first_cell = Cell.made()

    @property
    def left(self) -> int:
        """Numbers that are still to come."""
        return self._left

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if self._site is not None and self._roll(sys._getframe(1), self._site):
            raise StopIteration
        self._left -= 1
        return next(self._numbers)

    def _roll(self, frame: types.FrameType, site: LoopSite) -> bool:
        """Make a node of the rest of the loop, if that can be proved right."""
        try:
            if frame.f_lasti != site.head:
                raise Unknown
            self._trace.ranges[id(frame), site.head] = self
            if self._left == 0 or self._few or len(self._states) == _MOST_STATES:
                raise Unknown
            self._states.append(observe(frame, self._numbered(site), self._trace))
        except Unknown:
            self._site = None
            return False
        if len(self._states) < 3:
            return False
        first, second, third = self._states[-3:]
        step = step_between(first, second, self._trace)
        if step is None or step != step_between(second, third, self._trace):
            return False
        variables = dict.fromkeys(self._numbered(site), self._last)
        finish(frame, variables, first, third, step, self._left + 2, self._trace)
        self._site = None
        return True

    def _numbered(self, site: LoopSite) -> tuple[str, ...]:
        """The variable, if it holds the number of the iteration at its end."""
        return () if site.assigns_variable else (site.variable,)
