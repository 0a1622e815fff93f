"""The compiler, to be read from top to bottom: from a graph to loop nests and a frame, and from these to a program."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from . import config, policy
from .base import collection
from .base.atwork import at_work
from .base.frozen import frozen, replaced
from .base.stages import enters, may_put_off
from .codegen import operations
from .codegen.kernels import Kernel, kernels_of
from .errors import NotWorthwhile
from .ir.build import encoding_of
from .ir.extents import estimate, is_extent
from .ir.node import Graph, Node
from .ir.ops.contractions import RESULT
from .ir.ops.optable import INPUT, Kind
from .ir.worthwhile import BY_NUMPY, Amount, first_numpy_time, is_worthwhile, turns_of
from .memory.inplace import Decision
from .memory.plan import BlockMemory, plan_block
from .passes.prepare import prepare
from .runtime.assemble import assemble, hosts_of
from .runtime.hosts import NO_HOSTS
from .runtime.mayraise import may_raise, not_computed
from .runtime.program import UNLIMITED, Details, Program
from .runtime.steps import BlockSteps, CheckStep, ControlStep, HostStep, KernelStep, Step, addresses
from .schedule.control import Block, BranchCall, CheckCall, LoopCall, Tools, schedule
from .schedule.layout import Layouts
from .schedule.legalise import decoded
from .schedule.loopnest import LoopNest
from .schedule.nest import KernelCall
from .schedule.reasons import host_name

_log = logging.getLogger("jitrt.schedule")


@frozen
class Made:
    """A program, and what each stage made on the way to it.

    Parameters
    ----------
    program : Program
    stages : tuple of (name, value)
        The graph after every pass, in order.
    decisions : tuple of Decision
        What is done in place.
    seconds : dict of str to float
        Time that each stage took.
    fired : dict of str to int
        How often each rule has changed something.
    """

    program: Program
    stages: tuple[tuple[str, Graph], ...]
    decisions: tuple[Decision, ...]
    seconds: dict[str, float]
    fired: Mapping[str, int]


def compile_graph(
    graph: Graph,
    inputs: Sequence[Any],
    donated: Collection[int] = (),
    written: Mapping[int, int] = MappingProxyType({}),
) -> Made:
    """Compile `graph` for inputs of the types and strides of `inputs`.

    Parameters and exceptions as for `programs.compile_graph`, which asks for this where it does not know the program.
    """
    with at_work(), collection.paused():
        return generate(lower(graph, inputs, donated, written))


@frozen
class Lowered:
    """What there is before code is generated.

    Parameters
    ----------
    block : Block
        Kernel calls, loops, choices, and nodes that NumPy executes, in the order in which they run.
    memory : BlockMemory
        Where everything lies that a call works in.
    stages : tuple of (name, value)
        The graph after every pass, in order.
    clock : Clock
    may_raise : int
        Floating-point exceptions that NumPy may report for the graph, and for what it leaves out.
    strides : tuple
        For each output its strides; None for those of a C-contiguous array.
    fired : dict of str to int
        How often each rule has changed something.
    """

    block: Block
    memory: BlockMemory
    stages: tuple[tuple[str, Graph], ...]
    clock: Clock
    may_raise: int
    strides: tuple[tuple[int, ...] | None, ...]
    fired: Mapping[str, int]

    def __repr__(self) -> str:
        return f"<lowered: {self.stages[-1][1]!r}, steps={len(self.block.steps)}>"


def lower(
    graph: Graph,
    inputs: Sequence[Any],
    donated: Collection[int] = (),
    written: Mapping[int, int] = MappingProxyType({}),
    strides: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
) -> Lowered:
    """The stages in front of code generation; parameters and exceptions as for `compile_graph`.

    Inputs may have other `strides` than their values, by their numbers.
    """
    clock = Clock()
    clock.enters("prepare")
    fired: Counter[str] = Counter()
    stages = [("trace", graph), *prepare(graph, fired)]
    clock.enters("schedule")
    own = {node: value.strides for node, value in zip(graph.inputs, inputs) if isinstance(value, np.ndarray)}
    own |= {graph.inputs[k]: given for k, given in strides.items()}
    prepared = with_counts(stages[-1][1])
    # What NumPy executes for certain may be too much already; scheduling takes the longest of all.
    hosts = [n for n in prepared.nodes() if n.op.kind is Kind.HOST and n.op is not RESULT]
    _check_worthwhile(graph, Amount(0, 0, tuple(hosts)))
    block = _scheduled(prepared, own)
    operations.keep_answers()
    stages.append(("legalise", block.graph))
    clock.enters("memory")
    _check_worthwhile(graph, _amount(block.steps))
    scalars = [node for node in block.graph.inputs if node not in own]
    nodes = block.graph.inputs
    final = {nodes[k]: block.graph.outputs[output] for k, output in written.items()}
    if config.debug() or not all(map(_is_kernel, block.steps)):
        # Other steps, and what looks at frames, do not know the encodings of arguments.
        final = {node: output for node, output in final.items() if not encoding_of(node)}
    memory = plan_block(block, scalars, donated=[*(nodes[k] for k in donated), *final], final=final)
    clock.end()
    # What computed an exception is not run again on arguments that were overwritten.
    watched = 0 if memory.layout.overwritten() - final.keys() else may_raise(prepared)
    return Lowered(block, memory, tuple(stages), clock, watched | not_computed(graph), prepared.strides, fired)


def _scheduled(graph: Graph, strides: dict[Node, tuple[int, ...]]) -> Block:
    """The steps of a prepared graph: where not all of them are kernels, these copy what only they can read."""
    tools = Tools(_has_kernel, _is_inlined)
    block = schedule(graph, Layouts(dict(strides)), tools, graph.strides)
    if all(map(_is_kernel, block.steps)) or not any(map(encoding_of, graph.inputs)):
        return block
    return schedule(decoded(graph, Layouts(strides)), Layouts(dict(strides)), tools, graph.strides)


def _is_kernel(step: object) -> bool:
    """Whether a step is a kernel, or a check between kernels."""
    return isinstance(step, (KernelCall, CheckCall))


def with_counts(graph: Graph) -> Graph:
    """The graph with the counts of elements that depend on its extents as inputs behind the others."""
    counts = [n for n in graph.nodes() if n.op is INPUT and is_extent(n.kwargs.get("index"))]
    return replaced(graph, inputs=(*graph.inputs, *counts)) if counts else graph


def _amount(steps: Sequence[object]) -> Amount:
    """What steps amount to; of those inside of loops and choices, the kernels."""
    kernels = [s for s in steps if isinstance(s, KernelCall)]
    found = Amount(len(kernels), sum(s.work for s in kernels), tuple(s for s in steps if isinstance(s, Node)))
    for step in steps:
        if isinstance(step, (LoopCall, BranchCall)):
            turns = turns_of(step.what if isinstance(step, LoopCall) else None)
            for inner in map(_amount, (block.steps for block in step.blocks())):
                found += Amount(turns * inner.kernels, turns * inner.additions, ())
    return found


def _check_worthwhile(graph: Graph, amount: Amount) -> None:
    if not (config.strict() or is_worthwhile(graph, amount)):
        done = ", ".join(dict.fromkeys(map(host_name, amount.hosts)))
        most = f"{BY_NUMPY} ({done}), and " if amount.hosts else ""
        raise NotWorthwhile(f"{most}the arrays are too small to gain from compiling the rest")


def generate(lowered: Lowered) -> Made:
    """The program of `lowered`."""
    lowered.clock.enters("codegen")
    block, memory = lowered.block, lowered.memory
    calls = list(memory.kernel_calls())
    nests = [c.nest for c in calls]
    later = may_put_off() and _may_be_later(lowered.stages[0][1], nests)
    steps = _steps(block, memory, dict(zip(map(id, calls), kernels_of(nests, later))))
    lowered.clock.end()
    _log.debug("kernels: %d, steps left to NumPy: %d", len(calls), sum(isinstance(s, HostStep) for s in steps))
    image = assemble(block.graph, steps, memory.layout, lowered.strides, lowered.may_raise)
    hosts = NO_HOSTS if image.is_native else hosts_of(block.graph, steps, memory.layout, lowered.strides)
    details = Details(block.graph, steps, memory.layout, lowered.strides)
    program = Program(image, addresses(steps, image.kernels), UNLIMITED, hosts, lambda: details)
    return Made(program, lowered.stages, memory.decisions, lowered.clock.seconds, lowered.fired)


def _may_be_later(traced: Graph, nests: Sequence[LoopNest]) -> bool:
    """Whether NumPy is expected to have answered the first calls before the kernels are compiled, in little memory."""
    if any(math.prod(map(estimate, n.shape)) * n.dtype.itemsize > policy.PUT_OFF_BYTES for n in traced.nodes()):
        return False
    compiled = sum(policy.COMPILED_KERNEL + policy.COMPILED_STATEMENT * len(list(n.statements())) for n in nests)
    return policy.PUT_OFF_CALLS * first_numpy_time([traced]) < 1000 * compiled


class Clock:
    """Seconds spent in each stage of one program."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._began = "", 0.0

    def enters(self, stage: str) -> None:
        """A stage begins, which ends the one before; what is told of the compilation around it, too."""
        self.end()
        enters(stage)
        self._stage, self._began = stage, time.perf_counter()

    def end(self) -> None:
        """The stage is over."""
        if self._stage:
            self.seconds[self._stage] = time.perf_counter() - self._began
            self._stage = ""


def _has_kernel(node: Node) -> bool:
    return operations.has_kernel(node.op, tuple(a.dtype for a in node.args), node.dtype)


def _is_inlined(node: Node) -> bool:
    return node.op.kind in (Kind.ELEMENTWISE, Kind.GATHER, Kind.SCAN) and _has_kernel(node)


def _host_results(graph: Graph) -> dict[Node, list[Node]]:
    """For each call that NumPy makes, the parts of its result that the graph uses."""
    results: dict[Node, list[Node]] = {}
    for node in graph.nodes():
        if node.op.name == "result":
            results.setdefault(node.args[0], []).append(node)
    return results


def _steps(block: Block, memory: BlockMemory, kernels: dict[int, Kernel]) -> tuple[Step, ...]:
    """The steps of a block, ready to run; `kernels` by the identity of their calls."""
    results = _host_results(block.graph)
    steps: list[Step] = []
    for step in memory.steps:
        if isinstance(step, KernelCall):
            steps.append(KernelStep(step, kernels[id(step)]))
        elif isinstance(step, Node):
            steps.append(HostStep(step, tuple(results.get(step, (step,)))))
        elif isinstance(step, CheckCall):
            steps.append(CheckStep(step))
        else:
            inner = []
            for body in step.blocks():
                frame, plan = memory.inner[body]
                inner.append(BlockSteps(_steps(body, plan, kernels), frame, plan.layout))
            steps.append(ControlStep(step, tuple(inner)))
    return tuple(steps)
