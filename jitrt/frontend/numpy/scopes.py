"""`np.errstate` and `warnings.catch_warnings` inside of a traced function.

What is recorded under one error state is a *phase*. Operations that may raise a floating-point exception are computed
under the error state of their phase: where two phases differ in it, and both have such operations, the trace is cut
between them. Values do not depend on where it is cut, so that it is decided as late as possible: most often nothing in
front of a ``with`` block or behind it can raise anything.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import frozen
from ...errors import Untraceable
from ...ir.node import Node, topological_order
from ...ir.ops.movement import base_of
from ...ir.ops.optable import Kind
from ...ir.ops.quiet import quieted
from ...ir.ops.raising import exceptions
from ..context import current
from ..python.userline import user_line
from ..segments import outside_of_loops

if TYPE_CHECKING:
    from ..state import Trace

_QUIET_KINDS = frozenset({Kind.SOURCE, Kind.VIEW, Kind.GATHER, Kind.ASSEMBLE, Kind.UPDATE, Kind.CHECK})
_SWITCHES = ("divide", "over", "under", "invalid")
_WARNINGS = "warnings"


@frozen
class Scope:
    """How an error state differs from that of the caller.

    Parameters
    ----------
    switches : tuple of (str, str)
        What `numpy.errstate` gets, by the name of the exception.
    filters : tuple
        Calls that make warnings silent, as functions of the `warnings` module, arguments and keyword arguments.
    """

    switches: tuple[tuple[str, str], ...] = ()
    filters: tuple[tuple[Callable[..., Any], tuple, tuple[tuple[str, Any], ...]], ...] = ()

    @contextlib.contextmanager
    def entered(self) -> Any:
        """The scope as a context."""
        with contextlib.ExitStack() as stack:
            if self.filters:
                stack.enter_context(warnings.catch_warnings())
                for function, args, kwargs in self.filters:
                    function(*args, **dict(kwargs))
            changed = dict(self.switches)
            if self.silences_numpy:
                state = np.geterr() | changed
                changed |= {name: "ignore" for name, how in state.items() if how == "warn"}
            stack.enter_context(np.errstate(**changed))  # type: ignore[arg-type]
            yield

    @property
    def silences_numpy(self) -> bool:
        """Whether warnings of NumPy are silent."""
        return any(_silences_numpy(f, a, dict(k)) for f, a, k in self.filters)

    @property
    def only_ignores(self) -> bool:
        """Whether it does no more than to let floating-point exceptions pass."""
        return not self.filters and all(how == "ignore" for _, how in self.switches)

    def agrees(self, other: Scope, exceptions: Iterable[str]) -> bool:
        """Whether two scopes treat these exceptions alike."""
        mine, theirs = dict(self.switches), dict(other.switches)
        alike = all(mine.get(name) == theirs.get(name) for name in exceptions if name != _WARNINGS)
        return alike and (self.filters == other.filters or not any(exceptions))

    def __bool__(self) -> bool:
        return bool(self.switches or self.filters)


def _silences_numpy(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a filter makes all warnings of NumPy silent that are of the kind of floating-point exceptions."""
    names = ("action", "category") if function is warnings.simplefilter else ("action", "message", "category", "module")
    given = {"category": Warning} | dict(zip(names, args)) | kwargs
    return issubclass(RuntimeWarning, given["category"]) and not (given.keys() - {"action", "category"})


def entered(scope: Scope | None) -> contextlib.AbstractContextManager[Any]:
    """A scope, or none, as a context."""
    return scope.entered() if scope else contextlib.nullcontext()


class Phases:
    """The phases of a trace."""

    def __init__(self, trace: Trace):
        self._trace = trace
        self._scopes: list[Scope] = [Scope()]
        self._tags: dict[Node, int] = {}
        self._lines: list[str] = []
        self.have_begun = False
        """Whether there is more than one; otherwise nothing has to be marked and checked."""

    @property
    def scope(self) -> Scope:
        """That of what is recorded now."""
        return self._scopes[-1]

    @property
    def number(self) -> int:
        """How many have ended."""
        return len(self._scopes) - 1

    def switch(self, scope: Scope) -> None:
        """Begin another phase."""
        trace = self._trace
        live = [*trace.live(), *trace.calls.results, *trace.effects.operations()]
        if len(outside_of_loops(live)) < len(live):
            raise Untraceable("np.errstate inside of the body of a loop", user_line())
        self._tag(live, self.number)
        self._scopes.append(scope)
        trace.effects.phase()
        self.have_begun = True
        self._lines.append(user_line())

    @contextlib.contextmanager
    def quiet(self, *names: str) -> Iterator[None]:
        """A context, as short as an operation, whose elementwise operations do not report these exceptions.

        It begins no phase. Where NumPy has to execute something the trace ends.
        """
        before, had_begun, noted = self._scopes[-1], self.have_begun, len(self._trace.calls.noted)
        ignored = dict.fromkeys(names, "ignore")
        self._scopes[-1] = Scope(tuple((dict(before.switches) | ignored).items()), before.filters)
        self.have_begun = True
        try:
            with np.errstate(**ignored):  # type: ignore[arg-type]
                yield
        finally:
            self._scopes[-1], self.have_begun = before, had_begun
        if len(self._trace.calls.noted) > noted:
            raise Untraceable("NumPy executes what ignores floating-point exceptions", user_line())

    def mark(self, node: Node) -> None:
        """Note that a node is recorded now, unless it was before."""
        self._tag([node], self.number)

    def recorded(self, node: Node) -> Node:
        """An operation that is recorded now: quiet about exceptions that are ignored.

        Raises
        ------
        Untraceable
            As `check` does.
        """
        ignored = [name for name, how in self.scope.switches if how == "ignore"]
        node = quieted(node, ignored) if ignored else node
        self.check(node)
        return node

    def check(self, node: Node) -> None:
        """Look whether an operation may be recorded now.

        Raises
        ------
        Untraceable
            If it has been recorded in another scope, where an exception of it means something else.
        """
        known = self._tags.get(node)
        if known is not None and not self.scope.agrees(self._scopes[known], _exceptions(node)):
            raise Untraceable("computes the same under two error states", user_line())

    def _tag(self, nodes: Iterable[Node], number: int) -> None:
        pending = [n for n in nodes if n not in self._tags]
        while pending:
            node = pending.pop()
            if node not in self._tags:
                self._tags[node] = number
                if node not in self._trace.registers:
                    pending.extend(node.args)

    def settle(self, wanted: Iterable[Node] = ()) -> Scope | None:
        """Cut the trace as often as its scopes ask for; return the scope of what is left, `wanted` among it."""
        if len(self._scopes) == 1:
            return None
        trace = self._trace
        given = (*wanted, *trace.live(), *trace.calls.results, *trace.conditions, *trace.effects.operations())
        roots = outside_of_loops(given)
        self._tag(roots, self.number)
        order = topological_order(roots, trace.registers.places)
        flags: dict[int, set[str]] = {}
        for n in order:
            if found := _exceptions(n):
                flags.setdefault(self._tags[n], set()).update(found)
        groups: list[tuple[list[int], Scope]] = []
        for number in sorted(flags):
            members = [*groups[-1][0], number] if groups else [number]
            common = self._common_scope(members, flags)
            if common is not None and groups:
                groups[-1] = members, common
            else:
                groups.append(([number], self._scopes[number]))
        for members, scope in groups[:-1]:
            early = [n for n in order if self._tags[n] <= members[-1]]
            later = [n for n in order if self._tags[n] > members[-1]]
            wanted = {*roots, *(a for n in later for a in n.args)}
            bases = dict.fromkeys(base_of(n) for n in early if n in wanted)
            # What is known is computed again where it is wanted, but for what may raise.
            needed = [n for n in bases if n not in trace.registers and not (trace.is_known(n) and _is_quiet(n))]
            if needed:
                trace.breaks.barrier(needed, self._lines[members[-1]], scope)
        return groups[-1][1] if groups else None

    def _common_scope(self, numbers: list[int], flags: dict[int, set[str]]) -> Scope | None:
        """One of the scopes of some phases that treats what each of them may raise as its own scope does."""
        for scope in {self._scopes[k]: None for k in numbers}:
            if all(scope.agrees(self._scopes[k], flags[k]) for k in numbers):
                return scope
        return None


def _exceptions(node: Node) -> frozenset[str]:
    """The floating-point exceptions that computing a node may raise; `_WARNINGS` among them if it may warn, too."""
    if node.op.kind in _QUIET_KINDS:
        return frozenset()
    return exceptions(node) if node.op.kind is Kind.ELEMENTWISE else frozenset((*_SWITCHES, _WARNINGS))


def _is_quiet(node: Node) -> bool:
    return not any(map(_exceptions, topological_order([node])))


class ErrorState:
    """What a traced function finds in place of ``np.errstate``."""

    def __init__(self, **switches: Any):
        self._switches = switches
        self._before: list[Scope] = []
        self._real = np.errstate(**switches)

    def __enter__(self) -> None:
        state = current()
        if state is None or "call" in self._switches:
            raise Untraceable("np.errstate with a function to call", user_line())
        phases = state.phases
        self._before.append(phases.scope)
        kinds = dict(phases.scope.switches)
        if "all" in self._switches:
            kinds = dict.fromkeys(_SWITCHES, self._switches["all"])
        kinds |= {name: how for name, how in self._switches.items() if name != "all" and how is not None}
        self._real.__enter__()
        phases.switch(Scope(tuple(kinds.items()), phases.scope.filters))

    def __exit__(self, *error: Any) -> None:
        self._real.__exit__(*error)
        _leave(self._before.pop())

    def __call__(self, function: Any) -> Any:
        raise Untraceable("np.errstate as a decorator", user_line())


class CaughtWarnings:
    """What a traced function finds in place of ``warnings.catch_warnings``."""

    def __init__(self, **options: Any):
        if options:
            raise Untraceable("warnings.catch_warnings with arguments", user_line())
        self._before: list[Scope] = []
        self._real = warnings.catch_warnings()

    def __enter__(self) -> None:
        state = current()
        assert state is not None
        self._before.append(state.phases.scope)
        state.catching += 1
        self._real.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._real.__exit__(*error)
        state = current()
        if state is not None:
            state.catching -= 1
        _leave(self._before.pop())


def _leave(scope: Scope) -> None:
    state = current()
    if state is not None and state.phases.scope != scope:
        state.phases.switch(scope)


def filter_warnings(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
    """``warnings.simplefilter`` and ``filterwarnings`` inside of ``catch_warnings``."""
    if not state.catching or (args[0] if args else kwargs.get("action")) != "ignore":
        raise Untraceable(f"warnings.{function.__name__}", user_line())
    function(*args, **kwargs)
    before = state.phases.scope
    added = (function, args, tuple(kwargs.items()))
    state.phases.switch(Scope(before.switches, (*before.filters, added)))
