"""Scheduling of loops and choices: each is one step, whose bodies are divided into steps of their own.

A loop without a step that NumPy executes runs natively. What a body reads from outside, it reads where it lies; what a
loop carries moves between buffers as `rotation` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..base.frozen import frozen
from ..ir import build as b
from ..ir.control import LOOP, Branch, Loop, is_of_control
from ..ir.node import Graph, Node
from ..ir.ops.optable import Kind, Op, row
from ..ir.ops.raising import is_met
from ..ir.rewrite import Rule, rewrite, rule
from ..ir.types import ArrayType
from .fuse import fuse
from .groups import Group
from .layout import Layout, Layouts, contiguous_strides
from .legalise import legalise
from .loopnest import Compute, Literal, Load, Store
from .loopnest import Loop as NestLoop
from .nest import KernelCall, build_kernel
from .reasons import reasons
from .rotation import Rotation, plan_rotation

BUFFER = row(Op("buffer", Kind.SOURCE))  # memory without a value of its own
SMALL = 4096  # bytes: the first value of less is copied to where the loop keeps it
_MOST_STEPS = 4096  # of an unrolled loop


@frozen
class Tools:
    """What of code generation scheduling has to ask.

    Parameters
    ----------
    has_kernel, is_inlined : callable
        As for `fuse` and `build_kernel`.
    """

    has_kernel: Callable[[Node], bool]
    is_inlined: Callable[[Node], bool]


@frozen(eq=False)
class Block:
    """A graph that is divided into steps: kernels, loops, choices, checks, and nodes that NumPy executes."""

    graph: Graph
    layouts: Layouts
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]

    def accesses(self) -> Iterator[tuple[list[Node], list[Node]]]:
        """The stored values that each step reads and writes."""
        for group, step in zip(self.groups, self.steps):
            if isinstance(step, Node):
                yield list(group.loads), []
            elif isinstance(step, KernelCall):
                yield list(group.loads), [s.into for s in group.sinks]
            else:
                yield list(group.loads), step.writes()


@frozen(eq=False)
class LoopCall:
    """A loop that runs natively.

    Parameters
    ----------
    what : Loop
    body : Block
    outputs : tuple of Node
        For each result of an iteration the node of the body that is stored; for a value that is handed on, its input.
    first : tuple of Layout
        Where the arguments lie: first values, first elements of arrays that are read by elements, values that stay.
    steps : tuple of int
        Bytes from one element to the next of those arrays.
    results : dict of int to Node
        Nodes for the results that are used.
    rotation : Rotation
    buffers : tuple of Node
        For each buffer of the rotation the node whose memory it is: a result, or a `BUFFER`.
    read_in_place : frozenset of int
        Roles whose first value the first iteration reads where it lies; those of the others are copied to the buffers.
    """

    what: Loop
    body: Block
    outputs: tuple[Node, ...]
    first: tuple[Layout, ...]
    steps: tuple[int, ...]
    results: dict[int, Node]
    rotation: Rotation
    buffers: tuple[Node, ...]
    read_in_place: frozenset[int]

    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)

    def writes(self) -> list[Node]:
        """What of the surrounding graph it writes."""
        return list(dict.fromkeys((*self.results.values(), *self.buffers)))

    def moved_at_exit(self, iteration: int, entered: bool) -> list[tuple[Node | Layout, Node]]:
        """What has to be copied when the loop ends before that iteration, as (from, to); `entered` if it has run."""
        if not self.what.guarded:
            return []
        state = self.rotation.buffers(iteration)
        moves: list[tuple[Node | Layout, Node]] = []
        for role, result in self.results.items():
            if not entered and role in self.read_in_place:
                moves.append((self.first[role], result))
            elif self.buffers[state[role]] is not result:
                moves.append((self.buffers[state[role]], result))
        return moves


@frozen(eq=False)
class BranchCall:
    """A choice that is made natively.

    Parameters
    ----------
    condition : Layout
        Where the boolean lies.
    choices : tuple of Block
        What is computed if it is true, and if it is false.
    first : tuple of Layout
        Where the inputs of both lie.
    results : dict of int to Node
    """

    condition: Layout
    choices: tuple[Block, Block]
    first: tuple[Layout, ...]
    results: dict[int, Node]

    def blocks(self) -> tuple[Block, ...]:
        return self.choices

    def writes(self) -> list[Node]:
        """What of the surrounding graph it writes."""
        return list(self.results.values())


@frozen(eq=False)
class CheckCall:
    """A check of indices, between the kernels that find their extremes and those that use them.

    Parameters
    ----------
    low, high : Layout
        Where the least and the greatest index lie.
    extent : int
        Of the axis: the indices have to be from ``-extent`` to ``extent - 1``.
    can_fail : bool
        False where it is there for the sake of what computes the indices.
    """

    low: Layout
    high: Layout
    extent: int
    can_fail: bool = True

    def __str__(self) -> str:
        if not self.can_fail:
            return "what may raise has been computed"
        return f"end, and run the plain function, unless all indices are from {-self.extent} to {self.extent - 1}"

    def blocks(self) -> tuple[Block, ...]:
        return ()

    def writes(self) -> list[Node]:
        return []


Step = KernelCall | LoopCall | BranchCall | CheckCall | Node


def can_fail(step: object) -> bool:
    """Whether the plain function may have to run because of a step: what it has written by then must not be seen."""
    if isinstance(step, (LoopCall, BranchCall)):
        return any(can_fail(inner) for block in step.blocks() for inner in block.steps)
    return isinstance(step, Node) or (isinstance(step, CheckCall) and step.can_fail)


def schedule(
    graph: Graph, layouts: Layouts, tools: Tools, strides_of_outputs: Sequence[tuple[int, ...] | None] = ()
) -> Block:
    """Divide a prepared graph into steps; outputs have the strides that are given for them, if any."""
    legal = legalise(graph, layouts)
    legal = rewrite(legal, (_contiguous_first_values(layouts),))
    if any(strides is not None for strides in strides_of_outputs):
        legal = _in_memory_order(legal, layouts, strides_of_outputs)
    groups = fuse(legal, tools.has_kernel)
    if sum(group.host is None for group in groups) > 1:
        from .sharing import share_loops  # to import these takes as long as to schedule a single nest
        from .siblings import join_siblings
        from .windows import slide

        groups = slide(groups, legal, layouts, tools.is_inlined)
        groups = share_loops(groups, legal, layouts, tools.is_inlined)
        groups = join_siblings(groups, legal, layouts, tools.is_inlined)
    results: dict[Node, dict[int, Node]] = {}
    for node in legal.nodes():
        if is_of_control(node):
            results.setdefault(node.args[0], {})[node["path"][0]] = node
    steps: list[Step] = []
    for group, because in zip(groups, reasons(groups, legal.outputs, tools.is_inlined)):
        if group.host is None:
            steps.append(build_kernel(group, layouts, tools.is_inlined, because))
        elif group.host.op.kind is Kind.CONTROL:
            make = _loop_call if group.host.op is LOOP else _branch_call
            steps.append(make(group.host, results[group.host], layouts, tools) or group.host)
        elif group.host.op.kind is Kind.CHECK:
            low, high = group.host.args
            steps.append(CheckCall(layouts[low], layouts[high], group.host["extent"], not is_met(group.host)))
        else:
            steps.append(group.host)
    return Block(legal, layouts, tuple(groups), tuple(steps))


_FIRST_PLACED = 1 << 40  # numbers of copies that nothing else is a copy with


def _in_memory_order(graph: Graph, layouts: Layouts, strides: Sequence[tuple[int, ...] | None]) -> Graph:
    """Give outputs their strides; an output that something else reads, or that no loop writes, is copied.

    in (add x0 x1)  →  in (add x0 x1), its memory in Fortran's order
    """
    read = {a for n in graph.nodes() for a in n.args}
    outputs = list(graph.outputs)
    for k, wanted in enumerate(strides):
        node = outputs[k]
        if wanted is not None and (node.op.kind is not Kind.HOST or is_of_control(node)):
            # What NumPy gives is returned as it is.
            last = sum(s * (n - 1) for s, n in zip(wanted, node.shape) if n)
            assert min(wanted) > 0 and (last + node.dtype.itemsize == node.type.nbytes or not node.type.size), wanted
            # Regions of an update are found in C-contiguous memory.
            written = outputs[k].op.kind is Kind.ELEMENTWISE or "starts" in outputs[k].kwargs
            if outputs[k] in read or not written:
                outputs[k] = b.copy(outputs[k], _FIRST_PLACED + k)
            layouts.place(outputs[k], wanted)
    return graph.with_outputs(outputs)


def _contiguous_first_values(layouts: Layouts) -> Rule:
    @rule("loop", "first value in strided memory → its copy", "the same elements")
    def apply(n: Node) -> Node | None:
        args = [
            b.copy(a) if k < n["loop"].carried and not _is_contiguous(a, layouts) else a for k, a in enumerate(n.args)
        ]
        return n.with_args(tuple(args))

    return apply


def _is_contiguous(node: Node, layouts: Layouts) -> bool:
    layout = layouts.find(node)
    if layout is None:
        return False
    wanted = contiguous_strides(node.shape, node.dtype.itemsize)
    return node.type.size == 0 or all(s == w for s, w, extent in zip(layout.strides, wanted, node.shape) if extent > 1)


def _is_native(block: Block) -> bool:
    return not any(isinstance(step, Node) for step in block.steps)


def _inner_layouts(inputs: Sequence[Node], first: Sequence[Layout]) -> Layouts:
    """Layouts in a body whose inputs have the strides of what they stand for."""
    return Layouts({node: layout.strides for node, layout in zip(inputs, first)})


def _branch_call(node: Node, results: dict[int, Node], layouts: Layouts, tools: Tools) -> BranchCall | None:
    what: Branch = node["branch"]
    condition, *first = [layouts[a] for a in node.args]
    blocks = [schedule(g, _inner_layouts(g.inputs, first), tools) for g in (what.then, what.otherwise)]
    if not all(map(_is_native, blocks)) or len(results) != len(what.then.outputs):
        return None
    return BranchCall(condition, (blocks[0], blocks[1]), tuple(first), results)


def _loop_call(node: Node, results: dict[int, Node], layouts: Layouts, tools: Tools) -> LoopCall | None:
    what: Loop = node["loop"]
    first = [layouts[a] for a in node.args]
    roles, inputs = what.carried, what.body.inputs
    steps = tuple(first[k].strides[0] for k in range(roles, roles + what.sliced))
    for k in range(roles, roles + what.sliced):
        first[k] = Layout(first[k].base, first[k].offset, first[k].strides[1:])
    inner = _inner_layouts(inputs[roles:], first[roles:])
    handed_on = _handed_on(what)
    computed = [k for k in range(len(what.body.outputs)) if k >= roles or handed_on[k] is None]
    body = schedule(Graph(inputs, tuple(what.body.outputs[k] for k in computed)), inner, tools)
    if not _is_native(body):
        return None
    stored = dict(zip(computed, body.graph.outputs))
    outputs = tuple(stored[k] if k in stored else inputs[handed_on[k] or 0] for k in range(len(what.body.outputs)))
    sizes = [n.type.nbytes for n in inputs[:roles]]
    may_replace = _replacement_rule(body, inputs, outputs)
    rotation, spares = plan_rotation(sizes, handed_on, may_replace)
    if rotation.length * len(body.steps) > _MOST_STEPS:
        return None
    read_in_place = frozenset(k for k in range(roles) if sizes[k] > SMALL and k not in handed_on)
    types = [*(n.type for n in inputs[:roles]), *(ArrayType(np.dtype(np.uint8), (size,)) for size in spares)]
    owners = _owners(what, rotation, results)
    buffers = tuple(owners[k] if k in owners else buffer(t) for k, t in enumerate(types))
    return LoopCall(what, body, outputs, tuple(first), steps, results, rotation, buffers, read_in_place)


_next_buffer = iter(range(1 << 62)).__next__


def buffer(type_: ArrayType) -> Node:
    """A node for memory of that size."""
    return Node(BUFFER, (), b.params(number=_next_buffer()), type_)


def _handed_on(what: Loop) -> list[int | None]:
    """For each role the role whose old value is its new one, if it is that, and the first one of those."""
    found: list[int | None] = []
    inputs = what.body.inputs[: what.carried]
    for node in what.body.outputs[: what.carried]:
        k = inputs.index(node) if node in inputs else None
        found.append(None if k in found else k)
    return found


def _owners(what: Loop, rotation: Rotation, results: dict[int, Node]) -> dict[int, Node]:
    """Buffers that are the memory of results: of those that they hold when the loop ends."""
    used = [k for k in results if k < what.carried]
    if not what.guarded:
        assert what.count is not None
        last = rotation.buffers(what.count)
        return {last[k]: results[k] for k in used}
    # When the loop ends is not known. A result that lies elsewhere then is copied, and must not overwrite another one.
    owners = {}
    for cycle in rotation.cycles():
        held = [k for k in cycle if k in used]
        if len(held) == 1:
            owners[held[0]] = results[held[0]]
    return owners


def _replacement_rule(body: Block, inputs: Sequence[Node], outputs: Sequence[Node]) -> Callable[[int, int], bool]:
    """Whether the new value of a role may be written where the old value of another one was."""
    last_read: dict[Node, int] = {}
    writers: dict[Node, list[int]] = {}
    for k, (reads, writes) in enumerate(body.accesses()):
        last_read.update(dict.fromkeys(reads, k))
        for node in writes:
            writers.setdefault(node, []).append(k)

    def may_replace(new: int, old: int) -> bool:
        value, parameter = outputs[new], inputs[old]
        first = writers[value][0]
        last = last_read.get(parameter, -1)
        if last != first:
            return last < first
        step = body.steps[first]
        return len(writers[value]) == 1 and isinstance(step, KernelCall) and _overwrites(step, value, parameter)

    return may_replace


def _overwrites(call: KernelCall, value: Node, parameter: Node) -> bool:
    """Whether a kernel reads each element of `parameter` only before it writes the same element of `value`."""
    simple = all(isinstance(s, (Load, Literal, Compute, Store, NestLoop)) for s in call.nest.statements())
    read = [layout for layout in call.layouts if layout.base is parameter]
    written = [layout for layout in call.layouts if layout.base is value]
    if (
        not simple
        or call.members != 1
        or len(read) != 1
        or len(written) != 1
        or parameter.dtype.itemsize != value.dtype.itemsize
    ):
        return False
    return (read[0].offset, read[0].strides) == (written[0].offset, written[0].strides)
