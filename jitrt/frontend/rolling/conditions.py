"""Rolling up loops that end on a condition: `while`, and ``if …: break`` at the end of a `for` loop over a range.

When the truth of such a condition is asked for, it is assumed that the loop goes on, and the state of the frame is
looked at, as `rolling` does. Once the rest of the loop is proved to repeat, a loop node takes the place of everything
since the first test, that one included, and the last answer is that the loop ends. A trace in which an assumption is
left over counts for nothing.
"""

from __future__ import annotations

import types
from dataclasses import field

import numpy as np

from ...base.frozen import record
from ...ir import build as b
from ...ir.node import Node
from ..numpy.tracer import Tracer
from ..python.bytecode import reads_later
from ..python.userline import user_frame
from ..state import Trace
from ..storage import Cell
from .iterations import step_between
from .loopnumber import Counter, NotRolled, Place, affine
from .loopsites import ConditionSite, condition_site, only_counts
from .rebinding import finish, set_variables
from .rolling import RollingRange
from .states import Role, State, Unknown, has_containers, observe

_ORDERS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.not_equal})
_MOST_ITERATIONS = 1 << 40
_LARGEST = 1 << 12  # of integers that are counted up: no number of iterations makes them too large for a machine


@record
class _Assumed:
    """A loop of which it is assumed that it goes on.

    Parameters
    ----------
    frame : frame
    place : Place
        Code and offset that name the loop.
    counter : Counter
        Iterations since the first test.
    states : list of State
        At each test; the first role is the condition.
    looks : list of int
        Positions of the tests in the log of effects.
    left : int or None
        Iterations that the range of a `for` loop has left after the first test.
    left_out : tuple of str
        The variable of a `for` loop.
    counted : dict of str to (int, int)
        Variables that each iteration adds to: what they were at the first test, and what is added.
    oldest : int
        Memory with a smaller number may be seen from elsewhere.
    """

    frame: types.FrameType
    place: Place
    counter: Counter
    states: list[State] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)
    left: int | None = None
    left_out: tuple[str, ...] = ()
    counted: dict[str, tuple[int, int]] = field(default_factory=dict)
    oldest: int = 0


class Conditions:
    """What is assumed in one trace."""

    def __init__(self, trace: Trace):
        self._trace = trace
        self._start = Cell.made()
        self._open: list[_Assumed] = []

    def check(self, error: BaseException | None) -> None:
        """Raise `NotRolled` if an assumption is left over, or may be why the function has failed."""
        if self._open:
            raise NotRolled(self._open[-1].place) from None
        for counter in self._trace.loops.counters.values():
            raise NotRolled(counter.place) from None

    def decide(self, node: Node) -> bool | None:
        """The truth of a value that the user's code asks for; None if it is not the condition of a loop."""
        frame = user_frame()
        if frame is None or node.type.size != 1:
            return None
        site = condition_site(frame.f_code, frame.f_lasti, node.op.ufunc in _ORDERS)
        if site is None or (frame.f_code, site.loop) in self._trace.loops.excepted:
            return None
        assumed = self._assumed(frame, site)
        if assumed is None:
            return None
        try:
            state = self._observe(assumed, site, node)
        except Unknown:
            raise NotRolled(assumed.place) from None
        assumed.states.append(state)
        assumed.looks.append(self._trace.effects.position)
        self._trace.effects.guard(node)
        return not site.stays if self._roll(assumed, site.end) else site.stays

    def _assumed(self, frame: types.FrameType, site: ConditionSite) -> _Assumed | None:
        place = (frame.f_code, site.loop)
        known = next((a for a in self._open if a.frame is frame and a.place == place), None)
        if known is not None and not site.is_entry:
            return known
        if known is not None:
            raise NotRolled(place)
        caller = frame.f_back
        outermost = caller is not None and caller.f_globals.get("__name__") == "jitrt.frontend.trace"
        trace = self._trace
        counter = Counter.first(place, _MOST_ITERATIONS, 0, trace.effects.copy(), lambda node: Tracer(node, trace))
        made = _Assumed(frame, place, counter, oldest=self._start if outermost else Cell.made())
        if site.is_break:
            numbers = self._trace.loops.ranges.get((id(frame), site.loop))
            if not isinstance(numbers, RollingRange) or numbers.variable_is_read:
                return None
            made.left, made.oldest = numbers.left, min(made.oldest, numbers.first_cell)
            made.left_out = (numbers.variable,)
            if numbers.variable_is_used:
                made.counted[numbers.variable] = (numbers.current, numbers.step)
        self._open.append(made)
        return made

    def _observe(self, assumed: _Assumed, site: ConditionSite, node: Node) -> State:
        flag = b.view("reshape", node, shape=()) if node.shape else node
        flag = b.cast(flag, np.dtype(np.bool_))
        if not site.stays:
            flag = b.elementwise(np.logical_not, flag)
        if assumed.states:
            assumed.counter = assumed.counter.next()
        roles = (Role(None, flag, True), Role(None, assumed.counter.node, True))
        return observe(assumed.frame, assumed.left_out, self._trace, roles)

    def _roll(self, assumed: _Assumed, end: int) -> bool:
        if len(assumed.states) < 3:
            return False
        counted = self._count_integers(assumed)
        before, between, now = ({n: k for n, k in s.kinds.items() if n not in counted} for s in assumed.states)
        if between != now:  # something changes that decides, or may decide, what the next iterations do
            raise NotRolled(assumed.place)
        # What is of another type before the first iteration is new in each iteration, or the graphs will differ.
        names = [n for n in before if before[n] == now.get(n)]
        if any(has_containers(before[n]) for n in before if n not in names):
            raise NotRolled(assumed.place)
        first, second, third = (s.restricted(names, 2) for s in assumed.states)
        step = step_between(first, second, self._trace, assumed.looks)
        if step is None or 0 not in step.varying:
            raise NotRolled(assumed.place)
        if step != step_between(second, third, self._trace, assumed.looks):
            raise NotRolled(assumed.place)
        for role, source in zip(first.roles, step.source):
            # Without an iteration a variable keeps its memory, which nobody else may be able to tell from a new one.
            moved = source is not None and first.roles[source].cell is not role.cell
            if moved or (source is None and role.cell is not None and role.cell.number < assumed.oldest):
                raise NotRolled(assumed.place)
        extra = set(assumed.frame.f_locals).difference(first.names, assumed.left_out, counted)
        if any(reads_later(assumed.frame.f_code, end, name) for name in extra):
            raise NotRolled(assumed.place)
        unset = dict.fromkeys(extra)
        nodes = finish(assumed.frame, unset, first, third, step, assumed.left, self._trace, guarded=True)
        tracer = assumed.counter.tracer
        counts = {n: tracer(affine(step, start, nodes[1])) for n, (start, step) in counted.items()}
        set_variables(assumed.frame, counts)
        self._trace.effects.settle(assumed.looks)
        self._open.remove(assumed)
        return True

    def _count_integers(self, assumed: _Assumed) -> dict[str, tuple[int, int]]:
        """Variables that iterations add to and do nothing else with: what they were first, and what is added."""
        counted = dict(assumed.counted)
        code, loop = assumed.place
        a, b, c = (s.integers for s in assumed.states)
        for name, last in c.items():
            if not isinstance(name, str):
                continue
            step = last - b.get(name, last)
            if not step or b[name] - a.get(name, b[name]) != step or max(abs(step), abs(last)) > _LARGEST:
                continue
            if only_counts(code, loop, assumed.frame.f_lasti, name):
                counted[name] = (a[name], step)
        return counted
