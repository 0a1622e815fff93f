"""The segments of calls: the parts between looks at values, and the programs that compute them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from .. import policy
from ..base.atwork import at_work
from ..base.frozen import record, replaced
from ..frontend.numpy.scopes import entered
from ..frontend.segments import GraphBreak, register_value, sample
from ..frontend.trace import Traced
from ..ir.build import encoding_of
from ..ir.interpret import interpret, stored
from ..ir.node import Graph
from ..ir.ops.contractions import CALL
from ..ir.ops.optable import Kind
from ..ir.rounding import EXACT, Rounding
from ..ir.worthwhile import first_numpy_time
from ..passes.harmless import left_out
from ..programs import Compiled, compile_graph
from ..runtime.errstate import UNCOMPUTED, errors
from ..runtime.mayraise import not_computed


class Programs:
    """Compiled graphs of segments: equal segments, of one loop for example, are one program."""

    def __init__(self, threads: int | None, rounding: Rounding = EXACT):
        self.threads, self.rounding = threads, rounding
        self._made: dict[Hashable, Compiled] = {}
        self.count = 0
        """How many programs have been compiled."""

    def compile(
        self,
        graph: Graph,
        values: Sequence[Any],
        donated: tuple[int, ...] = (),
        written: tuple[tuple[int, int], ...] = (),
        typical: bool = True,
    ) -> Compiled:
        """What computes `graph` for values of these types and strides.

        It may overwrite the values numbered `donated`; those `written` have to hold outputs in the end, as pairs. Where
        the values are `typical`, which samples are not, what nothing reads may be left out.
        """
        key = (graph, tuple(v.strides if isinstance(v, np.ndarray) else None for v in values), donated, written)
        compiled = self._made.get(key)
        if compiled is None:
            with at_work():
                compiled = self._compile(graph, values, donated, dict(written), typical)
            if len(self._made) >= policy.PROGRAMS:
                self._made.pop(next(iter(self._made)))
            self._made[key] = compiled
            self.count += 1
        return compiled

    def _compile(
        self, graph: Graph, values: Sequence[Any], donated: tuple[int, ...], written: dict[int, int], typical: bool
    ) -> Compiled:
        graph = replaced(graph, rounding=self.rounding)
        smaller = left_out(graph, values) if typical else graph
        if smaller is graph or not_computed(smaller) & errors() << UNCOMPUTED:
            return compile_graph(graph, values, self.threads, donated, written)
        compiled = compile_graph(smaller, values, self.threads, donated, written)
        samples = [sample(value) for value in values]
        compiled.whole = lambda: compile_graph(graph, samples, self.threads, donated, written)
        return compiled

    def execute(self, graph: Graph, values: list[Any]) -> tuple[Compiled, list[Any]]:
        """Compute `graph`, as a trace asks for it."""
        compiled = self.compile(graph, values)
        return compiled, compiled.run(values)

    def execute_quietly(self, graph: Graph, values: list[Any]) -> tuple[Compiled | Callable[[], Compiled], list[Any]]:
        """The same without floating-point exceptions, for a trace behind which the call runs from its beginning.

        What NumPy computes at once is compiled when the whole trace is known to pay: the first value does it.
        """
        if not takes_numpy_long(graph):
            outputs = map(stored, interpret(graph, values), graph.strides or [None] * len(graph.outputs))
            return partial(self.compile, graph, values), list(outputs)
        compiled = self.compile(graph, values)
        return compiled, compiled.run(values, reports=False)


def takes_numpy_long(graph: Graph) -> bool:
    """Whether a graph is better compiled before anything of it is computed, or cannot be computed without."""
    nodes = graph.nodes()
    if any(n.op is CALL or n.op.kind is Kind.CONTROL for n in nodes) or any(map(encoding_of, graph.inputs)):
        return True
    return first_numpy_time([graph]) > 1000 * policy.TRACE


@record(eq=False)
class Segment:
    """A part of a call: up to a graph break (`end`), or to the end (`traced`).

    `following` has the segments that come after the values seen so far.
    """

    end: GraphBreak | None = None
    traced: Traced | None = None
    compiled: Compiled | None = None
    direct: Callable[[list[Any]], Any] | None = None
    """From the outputs to the result of the call, if there is nothing else to do at its end."""
    following: dict[Hashable, Segment] = field(default_factory=dict)
    plan: tuple[Compiled | None, tuple[int, ...], tuple[int, ...]] = (None, (), ())
    """What computes the outputs that are kept, the registers that it reads, and which outputs these are."""

    def run(self, registers: list[Any], backoff: policy.Backoff) -> None:
        """Compute what the graph break needs, and the outputs of the segment that later ones read."""
        assert self.end is not None
        registers.extend([None] * len(self.end.outputs))
        compiled, inputs, kept = self.plan
        if compiled is not None:
            with entered(self.end.scope):
                outputs = compiled.run([registers[k] for k in inputs], backoff)
            first, nodes = self.end.first, self.end.outputs
            for k, output in zip(kept, outputs):
                registers[first + k] = register_value(nodes[k], output)
