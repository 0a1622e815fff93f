"""Graph breaks: what a trace has recorded is computed, and its further path depends on what is seen of that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import config
from ..errors import Untraceable
from ..ir.node import Graph, Node
from ..ir.worthwhile import is_worth_waiting
from .context import offer_loops
from .numpy.scopes import Scope, entered
from .numpy.silence import watched
from .python.userline import user_line
from .segments import (
    Barrier,
    Execute,
    GraphBreak,
    MadeCall,
    ValueGuard,
    Watch,
    graph_from_registers,
    is_recorded_in_a_loop,
    outside_of_loops,
    register_value,
    sample,
)

if TYPE_CHECKING:
    from .state import Trace

# A graph, what computes it, what it reads, and samples of that; the first two are None where nothing is computed.
_Computed = tuple[Graph | None, Any, tuple[int, ...], tuple[Any, ...]]
_MOST_LOOKS = 1000  # at values in one call
_MOST_AT_A_LINE = 8  # until the loop that is unrolled is compiled as one, if it can be
_MOST_SEGMENTS = 24  # of different structure in one call: each takes a compile
_MOST_NODES = 500  # of these, the largest left out: a loop whose every turn is another graph


def check_wait(graph: Graph, looks: bool = False) -> None:
    """Stop where a loop is unrolled to so much that the wait for its compile does not pay."""
    if not (config.strict() or is_worth_waiting(graph, looks)):
        count = len(graph.nodes())
        failure = Untraceable(f"its loops are unrolled to {count} operations on small arrays")
        failure.operations = count
        raise failure


class GraphBreaks:
    """The graph breaks of one trace.

    Parameters
    ----------
    trace : Trace
    execute : callable, optional
        What computes a graph; without it the function cannot look at values.
    given : sequence of Node, optional
        What every graph reads: inputs whose extents are variables.
    """

    def __init__(self, trace: Trace, execute: Execute | None, given: Sequence[Node] = ()):
        self._trace = trace
        self._given = given
        self._execute = execute
        self.errors = np.geterr()
        """The error state in which the function was called."""
        self._sizes: dict[Graph, int] = {}
        self.made: list[GraphBreak] = []

    @property
    def are_possible(self) -> bool:
        """Whether anything can be computed during the trace."""
        return self._execute is not None

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """A context in which nothing can be computed."""
        execute, self._execute = self._execute, None
        try:
            yield
        finally:
            self._execute = execute

    def look(self, wanted: list[Node], make_guard: Callable[[], ValueGuard | MadeCall | Watch], why: str) -> None:
        """Compute `wanted`, and let the further path depend on what is seen of it."""
        trace = self._trace
        made: _Computed = (None, None, (), ())
        scope = None
        if any(n not in trace.registers for n in wanted):
            scope = trace.phases.settle(wanted)
        missing = [n for n in wanted if n not in trace.registers]
        first = len(trace.registers.given)
        if missing:
            later = [*trace.live(), *trace.calls.pending(), *trace.conditions]
            trace.calls.results = []
            if trace.loops.first_values:
                later = outside_of_loops(later)
            missing = list(dict.fromkeys([*missing, *(n for n in later if n not in trace.registers)]))
            made = self._compute(missing, scope, self._forced(missing))
        guard = make_guard()
        with trace.failures, watched(trace, why):
            key = guard.see(trace.registers.given)
        freed = trace.registers.free({*trace.live(), *wanted, *trace.conditions}) if missing else ()
        guard_scope = trace.phases.scope or None
        self.made.append(
            GraphBreak(*made, first, tuple(missing), guard, key, freed, why, user_line(), scope, guard_scope)
        )

    def barrier(self, nodes: list[Node], line: str, scope: Scope) -> None:
        """Compute `nodes` under an error state of their own."""
        trace = self._trace
        first = len(trace.registers.given)
        made = self._compute(nodes, scope)
        trace.calls.results = [n for n in trace.calls.results if n not in trace.registers]
        trace.registers.show(nodes)
        self.made.append(GraphBreak(*made, first, tuple(nodes), Barrier(), None, (), "np.errstate", line, scope))

    def _forced(self, missing: list[Node]) -> list[Node]:
        """What has been recorded up to now, may raise, and is not computed for the sake of `missing`."""
        effects, in_loop = self._trace.effects, self._trace.loops.first_values
        kept = set(filter(is_recorded_in_a_loop, effects.operations())) if in_loop else set()
        found = effects.forced(missing, self._trace.registers.places)
        effects.take(0, kept)
        return [n for n in found if not kept or not is_recorded_in_a_loop(n)]

    def _compute(self, nodes: list[Node], scope: Scope | None, forced: Sequence[Node] = ()) -> _Computed:
        """Put the values of `nodes` into registers; the graph, what computes it, what it reads, and samples of that."""
        trace = self._trace
        if self._execute is None:
            raise Untraceable("looks at values, or computes under several error states", user_line())
        strides = [trace.orders.of_result(n) for n in nodes]
        graph, inputs = self.graph_of((*nodes, *forced), (*strides, *(None for _ in forced)))
        self._check_effort(graph)
        values = [trace.registers.given[k] for k in inputs]
        samples = tuple(map(sample, values))
        with trace.failures, np.errstate(**self.errors), entered(scope):
            compiled, outputs = self._execute(graph, values)
        for n, output in zip(nodes, outputs):
            trace.registers.add(n, register_value(n, output))
        trace.calls.computed()
        return graph, compiled, inputs, samples

    def graph_of(
        self, roots: Sequence[Node], strides: Sequence[tuple[int, ...] | None]
    ) -> tuple[Graph, tuple[int, ...]]:
        """The graph that computes `roots`, with these strides, from registers, and the registers that it reads."""
        trace = self._trace
        key = ("graph", tuple(roots), tuple(strides))
        known = trace.memory.get(key)
        if known is None or known[0] != trace.registers.places:
            known = trace.memory[key] = (
                dict(trace.registers.places),
                graph_from_registers(roots, trace.registers.places, strides, self._given),
            )
        return known[1]

    def _check_effort(self, graph: Graph) -> None:
        """Stop where looks at values are so many, or so different, that compiling what is between them does not pay."""
        trace = self._trace
        if graph not in self._sizes:
            if ("size", graph) not in trace.memory:
                check_wait(graph, looks=True)
                trace.memory["size", graph] = len(graph.nodes())
            self._sizes[graph] = trace.memory["size", graph]
        nodes = sum(self._sizes.values()) - max(self._sizes.values())
        line = user_line()
        if sum(b.line == line for b in self.made) >= _MOST_AT_A_LINE:
            offer_loops(line, seen=True)
        if len(self.made) >= _MOST_LOOKS or len(self._sizes) > _MOST_SEGMENTS or nodes > _MOST_NODES:
            offer_loops(line, seen=True)
            raise Untraceable(f"looks at values more than {len(self.made)} times", line)
