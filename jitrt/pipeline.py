"""The compiler as one function, to be read from top to bottom."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import config
from .codegen.compile import compile_nests
from .codegen.scalar import has_kernel
from .expr.node import Graph, Node
from .expr.optable import Kind
from .memory.frame import plan_frame
from .memory.liveness import lifetimes
from .prepare.prepare import prepare
from .runtime.program import Program
from .runtime.steps import HostStep, KernelStep, Step
from .schedule.fuse import Group, fuse
from .schedule.layout import Layouts
from .schedule.legalise import legalise
from .schedule.nest import KernelCall, build_kernel
from .schedule.worthwhile import is_worthwhile

UNLIMITED = 1 << 30  # threads

_log = logging.getLogger("jitrt.schedule")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, and what each stage made on the way to it.

    Parameters
    ----------
    program : Program
    stages : tuple of (name, value)
        The graph after every pass, in order.
    seconds : dict of str to float
        Time that each stage took.
    """

    program: Program
    stages: tuple[tuple[str, Graph], ...]
    seconds: dict[str, float]


def compile_graph(graph: Graph, inputs: Sequence[Any], threads: int | None = None) -> Compiled:
    """Compile `graph` for inputs of the types and strides of `inputs`.

    Parameters
    ----------
    graph : Graph
        What a trace recorded.
    inputs : sequence
        Values of ``graph.inputs``; only dtypes, shapes and strides matter.
    threads : int, optional
        Most threads that the program may use.

    Raises
    ------
    NotWorthwhile
        If the plain function is expected to be faster.
    """
    clock = _Clock()
    stages = [("trace", graph), *prepare(graph)]
    clock.stage("prepare")
    strides = {node: value.strides for node, value in zip(graph.inputs, inputs) if isinstance(value, np.ndarray)}
    layouts = Layouts(strides)
    legal = legalise(stages[-1][1], layouts)
    stages.append(("legalise", legal))
    groups = fuse(legal, _has_kernel)
    steps = [g.host if g.host is not None else build_kernel(g, layouts, _is_inlined) for g in groups]
    clock.stage("schedule")
    if not (config.strict() or is_worthwhile(graph, steps)):
        raise NotWorthwhile("most of it is left to NumPy, and the arrays are too small for the rest to matter")
    layout = _plan_memory(legal, groups, strides)
    clock.stage("memory")
    kernels = iter(compile_nests([s.nest for s in steps if isinstance(s, KernelCall)]))
    results = _host_results(legal)
    program_steps: list[Step] = [
        KernelStep(s, next(kernels)) if isinstance(s, KernelCall) else HostStep(s, tuple(results.get(s, (s,))))
        for s in steps
    ]
    clock.stage("codegen")
    _log.info("%d kernels, %d steps left to NumPy", *_counts(program_steps))
    program = Program(legal, tuple(program_steps), layout, UNLIMITED if threads is None else threads)
    return Compiled(program, tuple(stages), clock.seconds)


class NotWorthwhile(Exception):
    """The plain function is expected to be faster."""


class _Clock:
    """Seconds spent in each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now


def _has_kernel(node: Node) -> bool:
    return has_kernel(node.op, tuple(a.dtype for a in node.args), node.dtype)


def _is_inlined(node: Node) -> bool:
    return node.op.kind in (Kind.ELEMENTWISE, Kind.SCAN) and _has_kernel(node)


def _host_results(graph: Graph) -> dict[Node, list[Node]]:
    """For each call that NumPy makes, the parts of its result that the graph uses."""
    results: dict[Node, list[Node]] = {}
    for node in graph.nodes():
        if node.op.name == "result":
            results.setdefault(node.args[0], []).append(node)
    return results


def _plan_memory(graph: Graph, groups: Sequence[Group], arrays: dict[Node, Any]) -> Any:
    """Slots for scalar inputs, and for what kernels store that is not an output."""
    steps = []
    for group in groups:
        writes = [] if group.host is not None else [s.into for s in group.sinks]
        steps.append((list(group.loads), writes))
    outputs = set(graph.outputs)
    live = {node: span for node, span in lifetimes(steps).items() if node not in outputs}
    scalars = [node for node in graph.inputs if node not in arrays]
    return plan_frame(scalars, live, len(steps))


def _counts(steps: Sequence[Step]) -> tuple[int, int]:
    kernels = sum(isinstance(s, KernelStep) for s in steps)
    return kernels, len(steps) - kernels
