"""Statements of staged functions: each body is visited once, however often it runs.

    for i in range(n): s += x[i]    →    v1 = s
                                         for t1 in range(0, n): v1 = v1 + load x{8*t1}
                                         s = v1

A variable that a body assigns goes through a variable of the procedure (`variables`). What kinds of values it holds is
found by visiting the body again with the kinds that it left behind, until these are the same.
"""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

from ...base.frozen import replaced
from ...values.functions import MISSING
from . import containers, generators, makingobjects, scalars, sharing
from .calls import check_kept
from .choices import Choices
from .holders import is_list_of_same_place, list_attributes, listed, pointers_of, without
from .iterations import MOST_UNROLLED, Iteration, iteration_of, tabled
from .kinds import Kind, is_covered, join, kind_of, seen_from
from .localfunctions import LocalFunction, local_function, outlives
from .loopvariables import Loop, Retry, joined
from .nestedloops import nested
from .outside import Captures
from .recorder import Recorder
from .source import assigned, bind, definition_of, leaves_iterations, returns_at_end, shown, span, without_continue
from .temporaries import temporaries
from .unbound import LOST, UNBOUND, put_unbound
from .values import (
    Array,
    KindsDiffer,
    ListChanges,
    NeedsValue,
    NotStaged,
    Raises,
    Unassigned,
    Unbound,
    is_number,
)
from .variables import Variable

_MOST_ROUNDS = 8  # until the kinds of variables that depend on each other are known
_MOST_FIRST = 6  # iterations that are recorded by themselves
_OWN = "jitrt."  # modules with functions that go through their arguments once
_MOST_CALLS = 12  # of functions inside of each other
_MOST_WRITTEN_OUT = 24  # statements of a loop over written values that are recorded for each of them
_RETURNED = "return"  # beside the names of variables
_MOST_INLINED = 2000  # calls; those of a function that calls itself twice double with each level


class _ReturnsOther(Exception):
    """A function returns another kind of value than was supposed."""

    def __init__(self, kind: Kind):
        super().__init__("return")
        self.kind = kind


class Returns:
    """Where a function returns to, and what: kinds are joined over all of its returns."""

    def __init__(self, label: str, kind: Kind | None):
        self.label, self.kind = label, kind
        self.variable: Variable | None = None


class Statements(Choices):
    """The statements of one call of a function. Parameters as for `Expressions`, and:

    Parameters
    ----------
    returns : callable
        Records the return of a value.
    """

    def __init__(
        self,
        r: Recorder,
        function: Any,
        variables: dict[str, Any],
        captures: Captures,
        path: tuple[Any, ...],
        returns: Callable[[Any], None],
        outer: Statements | None = None,
    ):
        super().__init__(r, function, variables, captures, path)
        self.returns, self.outer = returns, outer
        self.loops: list[Loop] = []
        inside = isinstance(function, LocalFunction)
        self.temporaries = temporaries(function.definition if inside else definition_of(function.__code__))
        self.deferred = {}
        self.passing = {}
        # What variables of loops were found to hold, by the place of the loop.
        self.settled: dict[tuple[Any, ...], dict[str, Kind]] = {} if outer is None else outer.settled

    def forget(self, values: Any) -> None:
        """From here on, variables that hold this list or object must not be used."""
        for name, value in self.variables.items():
            self.variables[name] = without(value, values)
        if self.outer is not None:
            self.outer.forget(values)

    def named(self, e: ast.Name) -> Any:
        value = super().named(e)
        is_deferred = isinstance(value, Array) and value.view is None and e.id in self.deferred
        if is_deferred and self.r.has_written(value.reads, self.deferred[e.id]):
            raise NotStaged("a temporary whose operands are written before it is used")
        return value

    def list_memory(self, origins: frozenset[str]) -> None:
        """From here on, what variables hold in this memory must not be written."""
        for name, value in self.variables.items():
            self.variables[name] = listed(self.r, value, origins)
        if self.outer is not None:
            self.outer.list_memory(origins)
        else:
            list_attributes(self.r, origins)

    def live(self) -> Iterator[Any]:
        """What the variables of this call, and of those around it, hold."""
        yield from self.variables.values()
        if self.outer is not None:
            yield from self.outer.live()

    def body(self, definition: ast.FunctionDef) -> None:
        """Record what the function does, whose parameter for any arguments by name holds a dict of its own."""
        if (more := definition.args.kwarg) is not None:
            self.variables[more.arg] = self.dict_of(self.variables[more.arg], more)
        self.block(definition.body)

    def block(self, body: list[ast.stmt]) -> None:
        """Record statements, up to one behind which execution does not get."""
        for statement in body:
            handler = getattr(self, f"do_{type(statement).__name__}", None)
            if handler is None:
                raise NotStaged(f"the statement {shown(statement)}")
            path = self.path
            self.r.begin((*path, statement.lineno, statement.col_offset))
            try:
                handler(statement)
            except NotStaged as reason:
                may_be = isinstance(reason, Unassigned) and self._may_be_assigned(reason.variable)
                if not (may_be or (isinstance(reason, Raises) and self.r.branches)):
                    if getattr(self.function, "__code__", None) is self.path[0]:
                        reason.at(statement.lineno)
                    raise
                self.path = path
                self._stop()
            self.settle(statement)
            for name in self.passing.pop(statement, ()):
                self.variables.pop(name, None)
            if self.ends:
                return

    def _may_be_assigned(self, variable: str) -> bool:
        """Whether another iteration may have assigned what is read on this way."""
        return self.r.branches > 0 and any(variable in loop.names for loop in self.loops)

    # -- loops

    def do_For(self, s: ast.For) -> None:
        loops, path, known = nested(self, s), self.path, set(self.variables)
        if loops is None and (loops := generators.spliced(self, s)) is not None:
            self.path = (*path, s.lineno, s.col_offset, "generator")
        if loops is not None:
            self.block(loops)
            self.path = path
            for name in [n for n in self.variables if n.startswith(".") and n not in known]:
                del self.variables[name]  # no loop around hands it over
            return
        iterated = list(self.r.iterated)
        source = iteration_of(self, s.iter)
        self.settle()
        if isinstance(source, list):
            self._written_out(s, source)
        else:
            self._looped(s, assigned([s]), source)
        self.r.iterated = iterated

    def _written_out(self, s: ast.For, values: list[Any]) -> None:
        """Record a loop over values that are written out: once for each, or, where that is too much, from memory."""
        body = without_continue(s.body)
        is_short = len(values) <= MOST_UNROLLED and not leaves_iterations(body)
        statements = sum(isinstance(node, ast.stmt) for statement in body for node in ast.walk(statement))
        if not values or (is_short and len(values) * statements <= _MOST_WRITTEN_OUT):
            self._unrolled(s, values, body)
            return
        before, path = dict(self.variables), self.path
        with self.r.attempt() as take_back:
            try:
                source = tabled(self.r, values)
                if source is not None:
                    self._looped(s, assigned([s]), source)
                    return
            except (NeedsValue, ListChanges):
                raise
            except NotStaged:  # something that has to be known in advance depends on them
                if not is_short:
                    raise
            take_back()
            self.variables, self.path = before, path
        if not is_short:
            raise NotStaged("a loop over values of different kinds")
        self._unrolled(s, values, body)

    def _unrolled(self, s: ast.For, values: list[Any], body: list[ast.stmt]) -> None:
        path = self.path
        if self.outer is None:
            self.r.unrolled.add(s.lineno)
        for k, value in enumerate(values):
            self.path = (*path, s.lineno, k)
            self.assign(s.target, value)
            self.block(body)
            if self.ends:
                return
        self.path = path
        self.block(s.orelse)

    def _looped(self, s: ast.For, names: list[str], source: Iteration) -> None:
        r = self.r

        def record(loop: Loop) -> None:
            with r.loop(source.start, source.stop, source.step, varying=True) as index:
                r.scope(loop.next, self._iteration(loop, lambda: self.assign(s.target, source.bind(index)), s.body))

        first, last = source.start.constant, source.stop.constant
        trips = math.inf if first is None or last is None else len(range(first, last, source.step))
        before = dict(self.variables)
        try:
            self._repeated(s, names, record, trips)
        except KindsDiffer:
            self.variables = before
            r.require(source.count - 1)
            if self._first_iteration(s, lambda: self.assign(s.target, source.bind(source.start))):
                start = source.start + source.step
                self._looped(s, names, Iteration(start, source.stop, source.step, source.count - 1, source.bind))

    def _first_iteration(self, s: ast.For | ast.While, begin: Callable[[], None]) -> bool:
        """Record the first iteration by itself, where variables change their kinds in it; False if it is the last.

        s = 0                   →    stop unless x has rows
        for row in x: s += row       s = 0 + x[0]
                                     for row in x[1:]: s += row
        """
        body, path = without_continue(s.body), self.path
        self.r.first_iterations += 1
        self.settled.pop((*path, s.lineno, s.col_offset), None)
        if leaves_iterations(body) or self.r.first_iterations > _MOST_FIRST:
            raise NotStaged("a variable that holds different kinds of values")
        self.path = (*path, s.lineno, s.col_offset, "first")
        begin()
        with self.r.states():
            self.r.in_first_iteration = True
            self.block(body)
        self.path = path
        return not self.ends

    def do_While(self, s: ast.While) -> None:
        r = self.r

        def record(loop: Loop) -> None:
            with r.block() as turn:
                r.written()
                loop.begin(r, self.variables)
                condition = scalars.negation(r, self.condition(s.test))
                self.settle()
                if condition is not False:
                    if condition is True:
                        raise NotStaged("a loop that never runs")
                    with r.when(condition):
                        loop.put(r, self.variables)
                        r.leave(loop.exhausted)
                    r.suppose(condition, False)
                    self._note_look(s.test)
                r.scope(loop.next, self._iteration(loop, lambda: None, s.body, reads=False))
            with r.block() as turns:
                r.forever(turn)
            r.scope(loop.exhausted, turns)

        if self.condition_is_false(s.test):
            self.block(s.orelse)
            return
        before = dict(self.variables)
        try:
            self._repeated(s, assigned([s]), record, math.inf)
        except KindsDiffer:
            self.variables = before
            ends = scalars.negation(r, self.condition(s.test))
            if isinstance(ends, str):
                r.stop(ends)
            if self._first_iteration(s, lambda: None):
                self.do_While(s)

    def condition_is_false(self, test: ast.expr) -> bool:
        """Whether a loop does not run at all."""
        before = dict(self.variables)
        with self.r.attempt() as take_back:
            condition = self.condition(test)
            take_back()
        self.variables = before
        return condition is False

    def _iteration(self, loop: Loop, begin: Callable[[], None], body: list[ast.stmt], reads: bool = True) -> list[Any]:
        """The statements of one iteration."""
        r = self.r
        with r.block() as block:
            if reads:
                loop.begin(r, self.variables)
            begin()
            self.loops.append(loop)
            try:
                self.block(body)
            finally:
                self.loops.pop()
            if not self.ends:
                loop.put(r, self.variables)
            self.ends = False
        return block

    def _repeated(self, s: ast.For | ast.While, names: list[str], record: Callable[[Loop], None], trips: float) -> None:
        """Record a loop, with the kinds of values that its variables turn out to hold."""
        r, before = self.r, self.variables
        kinds = {n: kind_of(before[n]) for n in names if n in before and not isinstance(before[n], Unbound)}
        initial = dict(kinds)
        for name in names:
            value = before.get(name)
            if isinstance(value, Unbound) and (UNBOUND, name) in r.changing and is_number(value.value):
                kinds[name] = kind_of(value.value)
        place = (*self.path, s.lineno, s.col_offset)
        for name, kind in self.settled.get(place, {}).items():  # found when a loop around was visited before
            if name in kinds:
                kinds[name] = join(kinds[name], seen_from(r, kind, r.around()))
        for _ in range(_MOST_ROUNDS):
            with r.attempt() as take_back:
                self.variables = dict(before)
                try:
                    self._recorded(s, names, kinds, initial, record, trips)
                    return
                except Retry as found:
                    take_back()
                    if found.listed:
                        if found.listed not in before:  # it is made in the loop
                            raise NotStaged("an array that a list holds, under another name") from None
                        before = {**before, found.listed: listed(r, before[found.listed])}
                        continue
                    for name, kind in found.kinds.items():
                        if name not in kinds and isinstance(value := before.get(name), Unbound):
                            kinds[name] = kind_of(value.value)
                        kinds[name] = joined(r, kinds[name], kind) if name in kinds else kind
                    self.settled[place] = kinds
        raise NotStaged("variables whose types do not settle")

    def _recorded(
        self,
        s: ast.For | ast.While,
        names: list[str],
        kinds: dict[str, Kind],
        initial: dict[str, Kind],
        record: Callable[[Loop], None],
        trips: float,
    ) -> None:
        r, before = self.r, dict(self.variables)
        nests, r.has_loops = r.nests, True
        flags = {n: r.variable() for n in kinds if n not in initial}
        loop = Loop(r, kinds, flags, names, before)
        for name in initial:
            loop.variables[name].put(r, before[name])
        for name in names:
            value = before.get(name)
            if name not in kinds and isinstance(value, Unbound) and value is not LOST:
                self.variables[name] = replaced(value, is_first=True)
        with r.block() as scope:
            r.depth += 1
            around, r.trips = r.trips, r.trips * max(trips, 1)
            r.most_trips = max(r.most_trips, r.trips)
            try:
                record(loop)
            finally:
                r.depth -= 1
                r.trips = around
            r.is_elementwise = r.is_elementwise or r.nests == nests
            if s.orelse:
                self.variables = loop.behind(r, before)
                self.block(s.orelse)
                if not self.ends:
                    loop.put(r, self.variables)
                self.ends = False
        for name, flag in flags.items():
            if name in loop.variables:
                value = before.get(name) if (UNBOUND, name) in r.changing else None
                is_kept = isinstance(value, Unbound) and is_covered(kind_of(value.value), loop.kinds[name])
                put_unbound(r, loop.variables[name], flag, value if is_kept else MISSING)
        r.scope(loop.end, scope)
        self.variables = loop.behind(r, before)

    def do_Break(self, s: ast.Break | ast.Continue) -> None:
        loop = self.loops[-1]
        loop.put(self.r, self.variables)
        self.r.leave(loop.end if isinstance(s, ast.Break) else loop.next)
        self.ends = True

    do_Continue = do_Break

    # -- functions

    def do_FunctionDef(self, s: ast.FunctionDef) -> None:
        self.variables[s.name] = local_function(s, self)

    def do_Return(self, s: ast.Return) -> None:
        value = None if s.value is None else self.untouched(s.value)
        if self.outer is None:
            for made in makingobjects.objects_in(value):
                containers.compact(self, made)
        if outlives(value, self):
            raise NotStaged("a function that outlives the call which defines it")
        value = self.kept(value)
        self.settle()
        self.returns(value)
        self.ends = True

    def inlined(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a function of the user's: its body stands in place of the call, or is a routine."""
        if sharing.is_shared(function) and (made := sharing.run(self, function, args, e)) is not MISSING:
            return made
        return self.in_place(function, args, kwargs, e)

    def in_place(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a function whose body stands in place of the call."""
        if len(self.path) > 4 * _MOST_CALLS:
            raise NotStaged("functions that call themselves")
        if not str(getattr(function, "__module__", "")).startswith(_OWN):
            for argument in e.args if isinstance(e, ast.Call) else ():  # it may stand for a property
                check_kept(argument)
        self.r.inlined += 1
        if self.r.inlined > _MOST_INLINED:
            raise NotStaged("it calls too many functions")
        if isinstance(function, LocalFunction):
            if function.is_generator:
                raise NotStaged("a generator")
            definition, defaults, named = function.definition, function.defaults, function.named
        else:
            definition, defaults = definition_of(function.__code__), function.__defaults__ or ()
            named = function.__kwdefaults__
            self.captures.note_function(function)
        kwargs = {k: self.kept(v) for k, v in kwargs.items()}
        bound = bind(definition, defaults, [self.kept(v) for v in args], kwargs, named)
        r, kind = self.r, None
        around = r.around()
        path = (*self.path, e.lineno, span(e), definition)
        if returns_at_end(definition):
            return self._in_place_of_call(function, definition, bound, path)
        if (settled := self.settled.get(path)) is not None:  # found when what is around was visited before
            kind = seen_from(r, settled[_RETURNED], around)
        for _ in range(_MOST_ROUNDS):
            with r.attempt() as take_back:
                returns = Returns(r.label(), kind)
                if kind is not None:
                    returns.variable = Variable(r, kind)
                values: list[Any] = []

                def returned(value: Any, returns: Returns = returns, values: list[Any] = values) -> None:
                    found = seen_from(r, kind_of(value), around)
                    values.append(value)
                    # The first one decides; and each attempt makes another list.
                    if returns.kind is None or (len(values) == 1 and is_list_of_same_place(found, returns.kind)):
                        returns.kind, returns.variable = found, Variable(r, found)
                    if not is_covered(found, returns.kind):
                        raise _ReturnsOther(join(returns.kind, found))
                    assert returns.variable is not None
                    returns.variable.put(r, value)
                    r.leave(returns.label)

                inner = Statements(r, function, dict(bound), self.captures, path, returned, self)
                try:
                    with inner._called(), r.block() as body:
                        inner.body(definition)
                        if not inner.ends:
                            returned(None)
                except _ReturnsOther as found:
                    take_back()
                    kind = found.kind
                    self.settled[path] = {_RETURNED: kind}
                    continue
                r.scope(returns.label, body)
                # A function that always raises stops the procedure, and there is no value behind it.
                return None if returns.variable is None else returns.variable.get(r)
        raise NotStaged("results whose types do not settle")

    def _in_place_of_call(
        self, function: Any, definition: ast.FunctionDef, variables: dict[str, Any], path: tuple[Any, ...]
    ) -> Any:
        """The statements of a function that returns behind the last one, as if they stood here."""
        values: list[Any] = []
        inner = Statements(self.r, function, variables, self.captures, path, values.append, self)
        with inner._called():
            inner.body(definition)
        return values[0] if values else None

    @contextlib.contextmanager
    def _called(self) -> Iterator[None]:
        """A context in which the statements of this call are recorded, in the middle of one of the caller's."""
        r = self.r
        live, r.live = r.live, pointers_of(self)
        place = r.place()
        try:
            yield
        finally:
            r.live = live
            r.begin_again(place)
