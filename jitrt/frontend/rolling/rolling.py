"""Rolling up: a Python loop whose iterations do the same becomes one loop node while it is traced.

The function that is traced finds `RollingRange` in the place of ``range``. Each time the loop asks for the next number,
the state of its frame is looked at. The rest of the loop is one node if this holds for three states one iteration
apart:

- The states have one structure: the same variables and containers, tracers of the same types in the same places,
  viewing memory in the same way, and identical other values.
- The body uses the number of the iteration, and integers that are counted up, in arithmetic alone (`loopnumber`), or
  not at all, so that it depends on nothing but the state.
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

from ..context import current, offer_loops
from ..numpy.tracer import Tracer
from ..python.userline import user_line
from ..state import Trace
from ..storage import Cell
from .iterations import step_between
from .loopnumber import Counter, LoopNumber, NotRolled
from .loopsites import LoopSite, loop_site
from .rebinding import finish, set_variables
from .states import Role, State, Unknown, observe

FEWEST = 8  # iterations that are worth a node: a few are better fused with each other
_MOST_STATES = 10  # states that are compared before giving up
_ITERATIONS_SEEN = 16  # from which it is known how many operations all of them will record
_LARGEST = 1 << 31  # of integers that are counted up


def traced_range(*args: Any) -> Any:
    """What a function that is traced finds in the place of ``range``.

    Raises
    ------
    LoopsWanted
        If its numbers vary from call to call, and a procedure may serve all of these.
    """
    if any(type(a) is Tracer for a in args):
        offer_loops(user_line(), seen=True, varies=True)
    numbers = builtins.range(*args)
    trace = current()
    if trace is None or not numbers:
        return numbers
    frame = sys._getframe(1)
    site = loop_site(frame.f_code, frame.f_lasti)
    if site is None:
        return numbers
    return RollingRange(numbers, site, trace, frame.f_code)


class RollingRange:
    """A range that ends when what is left of the loop over it has become a node."""

    def __init__(self, numbers: builtins.range, site: LoopSite, trace: Trace, code: types.CodeType):
        self._numbers, self._done = numbers, 0
        self._first, self._may_end_early = trace.effects.position, site.may_end_early
        self._site: LoopSite | None = site
        self._trace = trace
        self._states: list[State] = []
        self._place = (code, ~site.head)
        self._counter: Counter | None = None
        self._held: list[tuple[dict[Any, Any], Any]] = []  # where objects and dicts hold symbols for integers
        self._may_count = trace.loops.symbolic and self._place not in trace.loops.excepted
        self.may_roll = len(numbers) >= FEWEST and (self._may_count or not site.reads_variable)
        self.variable = site.variable
        self.variable_is_read = site.reads_variable or site.assigns_variable
        self.variable_is_used = site.reads_elsewhere
        self.first_cell = Cell.made()
        if self.may_roll and site.reads_variable:
            self._start_counting()

    @property
    def current(self) -> int:
        """The number of the present iteration."""
        return self._numbers[self._done - 1]

    @property
    def is_rolling(self) -> bool:
        """Whether the loop may still become a node."""
        return self._site is not None and bool(self.left)

    @property
    def step(self) -> int:
        """The distance from one number to the next."""
        return self._numbers.step

    @property
    def left(self) -> int:
        """Numbers that are still to come."""
        return len(self._numbers) - self._done

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._site is not None and self._roll(sys._getframe(1), self._site):
            raise StopIteration
        if not self.left:
            raise StopIteration
        number = self._numbers[self._done]
        self._done += 1
        if self._done == _ITERATIONS_SEEN and not self._may_end_early:
            self._trace.effects.check_rest(self._first, len(self._numbers) / _ITERATIONS_SEEN)
        if self._counter is None:
            return number
        return LoopNumber(self._numbers.step, self._numbers.start, self._counter)

    def _roll(self, frame: types.FrameType, site: LoopSite) -> bool:
        """Make a node of the rest of the loop, if that can be proved right."""
        try:
            if frame.f_lasti != site.head:
                raise Unknown
            self._trace.loops.ranges[id(frame), site.head] = self
            if not self.left or not self.may_roll or len(self._states) == _MOST_STATES:
                raise Unknown
            self._states.append(self._observe(frame, site))
        except Unknown:
            self._site = None
            if self._counter is not None:
                raise NotRolled(self._place) from None
            return False
        if len(self._states) < 3:
            return False
        first, second, third = self._states[-3:]
        step = step_between(first, second, self._trace, own=self._counter)
        if step is None or step != step_between(second, third, self._trace, own=self._counter):
            self._count_integers(frame, first, second, third)
            return False
        variables = dict.fromkeys(self._numbered(site), self._numbers[-1])
        finish(frame, variables, first, third, step, self.left + 2, self._trace, counter=self._counter)
        self._site = None
        if self._counter is not None:
            del self._trace.loops.counters[self]
        return True

    def _observe(self, frame: types.FrameType, site: LoopSite) -> State:
        first: tuple[Role, ...] = ()
        if self._counter is not None:
            if self._done > self._counter.index:
                self._counter = self._trace.loops.counters[self] = self._counter.next()
            self._bring_up_to_date(frame, self._counter)
            first = (Role(None, self._counter.node, True),)
        return observe(frame, self._numbered(site), self._trace, first, self._counter)

    def _start_counting(self) -> None:
        """Let the numbers of iterations be symbols from now on."""
        trace = self._trace
        most, copy = len(self._numbers), trace.effects.copy()
        self._counter = Counter.first(self._place, most, self._done, copy, lambda node: Tracer(node, trace))
        trace.loops.counters[self] = self._counter

    def _count_integers(self, frame: types.FrameType, *states: State) -> None:
        """Make symbols of integers that change by the same amount in each iteration."""
        if not self._may_count:
            return
        a, b, c = (s.integers for s in states)
        steps = {n: c[n] - b[n] for n in c if n in a and n in b and c[n] - b[n] == b[n] - a[n] != 0}
        steps = {n: step for n, step in steps.items() if abs(step) < _LARGEST and abs(c[n]) < _LARGEST}
        if not steps:
            return
        if self._counter is None:
            self._start_counting()
        counter = self._counter
        assert counter is not None
        self._states.clear()
        numbers = {n: LoopNumber(s, c[n] - s * counter.index, counter) for n, s in steps.items()}
        set_variables(frame, {n: number for n, number in numbers.items() if isinstance(n, str)})
        places = states[-1].places
        self._held += [places[n] for n in numbers if n in places]
        for n, number in numbers.items():
            if n in places:
                holder, key = places[n]
                holder[key] = number

    def _bring_up_to_date(self, frame: types.FrameType, counter: Counter) -> None:
        """Express symbols that variables hold in terms of the present iteration."""
        numbers = {n: v for n, v in frame.f_locals.items() if type(v) is LoopNumber and counter.owns(v)}
        if numbers:
            set_variables(frame, {n: counter.rebased(v) for n, v in numbers.items()})
        for holder, key in self._held:
            if type(holder.get(key)) is LoopNumber and counter.owns(holder[key]):
                holder[key] = counter.rebased(holder[key])

    def _numbered(self, site: LoopSite) -> tuple[str, ...]:
        """The variable, if it holds the number of the iteration at its end."""
        return () if site.assigns_variable else (site.variable,)
