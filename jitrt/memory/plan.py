"""The memory plan of a program: which values share memory, where it lies, and the steps as they then are.

The frame of the body of a loop is a slot of the frame around it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..base.frozen import frozen, replaced
from ..ir.aliasing import may_alias_arguments
from ..ir.build import encoding_of
from ..ir.extents import is_extent, rather_below
from ..ir.node import Graph, Node
from ..ir.ops.contractions import CALL, RESULT, writes_out
from ..ir.ops.movement import base_of
from ..ir.types import ArrayType
from ..schedule.control import Block, BranchCall, CheckCall, LoopCall, Step, buffer, can_fail
from ..schedule.groups import producer
from ..schedule.loopnest import Gather, Load, Loop, Operand, Statement, Store, Strips, Tiles
from ..schedule.nest import KernelCall
from .accesses import Access, accesses, are_one_operand, copied_operand
from .blocks import rounded
from .frame import FrameLayout, plan_frame
from .inplace import Decision, share_memory
from .order import lighter_order

_WORTH_REORDERING = 1 << 20  # bytes of a frame
# bytes of what NumPy makes, from which on it is told where: smaller memory it finds in a cache, and sooner than ours
_WORTH_PLACING = 1 << 14

Uses = tuple[list[Node], list[Node]]


@frozen(eq=False)
class BlockMemory:
    """Where a block keeps what it stores, and its steps as they then are.

    Parameters
    ----------
    steps : tuple
        Kernels, reading and writing one operand where they work in place, and the other steps of the block. A kernel
        that would copy what is already in its place is gone.
    layout : FrameLayout
    decisions : tuple of Decision
        For each stored value whether, and why not, it lies in the memory of an operand.
    inner : dict of Block to (Node, BlockMemory)
        For each block inside of it the node whose slot is the frame of that block.
    """

    steps: tuple[Step, ...]
    layout: FrameLayout
    decisions: tuple[Decision, ...]
    inner: dict[Block, tuple[Node, BlockMemory]]

    def kernel_calls(self) -> Iterator[KernelCall]:
        """Kernels of the block and of the blocks inside of it."""
        for step in self.steps:
            if isinstance(step, KernelCall):
                yield step
            elif not isinstance(step, Node):
                for block in step.blocks():
                    yield from self.inner[block][1].kernel_calls()


def plan_block(
    block: Block,
    permanent: Sequence[Node] = (),
    is_body: bool = False,
    donated: Sequence[Node] = (),
    final: Mapping[Node, Node] = MappingProxyType({}),
) -> BlockMemory:
    """The memory of a block.

    Parameters
    ----------
    block : Block
    permanent : sequence of Node
        Values that live as long as the frame, such as scalar inputs.
    is_body : bool
        Whether it is the body of a loop or a choice. Where its outputs lie is decided outside, and an output may lie
        where an input did, so nothing shares memory with them here.
    donated : sequence of Node
        Inputs, contiguous arrays, whose memory may be overwritten.
    final : mapping of Node to Node
        Those of them that have to hold an output in the end, if possible.
    """
    inner: dict[Block, tuple[Node, BlockMemory]] = {}
    controlled: dict[int, Uses] = {}
    for k, (step, (reads, writes)) in enumerate(zip(block.steps, block.accesses())):
        if isinstance(step, (LoopCall, BranchCall)):
            memories = [plan_block(body, is_body=True) for body in step.blocks()]
            frames = _frames(step, [memory.layout.nbytes for memory in memories])
            inner.update(zip(step.blocks(), zip(frames, memories)))
            controlled[k] = reads, [*writes, *dict.fromkeys(frames)]
    planned = plan_steps(block.graph, block.steps, permanent, controlled, is_body, donated, final)
    if not (is_body or rather_below(planned[1].bound_nbytes, _WORTH_REORDERING)):
        order = _lighter_order(block, controlled)
        steps = [block.steps[k] for k in order]
        moved = {place: controlled[k] for place, k in enumerate(order) if k in controlled}
        other = plan_steps(block.graph, steps, permanent, moved, is_body, donated, final)
        if other[1].bound_nbytes < planned[1].bound_nbytes:
            planned = other
    return BlockMemory(*planned, inner)


def _frames(step: LoopCall | BranchCall, sizes: Sequence[int]) -> list[Node]:
    """For each block inside of `step` the node whose slot is its frame; of a choice, one block alone runs."""
    if isinstance(step, BranchCall) and not any(map(is_extent, sizes)):
        return [buffer(ArrayType(np.dtype(np.uint8), (max(sizes),)))] * len(sizes)
    return [buffer(ArrayType(np.dtype(np.uint8), (nbytes,))) for nbytes in sizes]


def _lighter_order(block: Block, controlled: Mapping[int, Uses]) -> list[int]:
    """Another order of the steps of a block; what can fail keeps its own, since it may raise or draw numbers."""
    number = {group: k for k, group in enumerate(block.groups)}
    after = [{number[g] for g in group.successors} for group in block.groups]
    failing = [k for k, step in enumerate(block.steps) if can_fail(step)]
    for k, following in itertools.pairwise(failing):
        after[k].add(following)
    uses, _ = _uses(block.steps, block.graph, controlled)
    kept = {*block.graph.outputs, *block.graph.inputs}
    nbytes = {n: rounded(n.type.nbytes) for _, writes in uses for n in writes if n not in kept}
    return lighter_order(after, [[*reads, *writes] for reads, writes in uses], nbytes)


def plan_steps(
    graph: Graph,
    steps: Sequence[Step],
    permanent: Sequence[Node] = (),
    controlled: Mapping[int, Uses] = MappingProxyType({}),
    is_body: bool = False,
    donated: Sequence[Node] = (),
    final: Mapping[Node, Node] = MappingProxyType({}),
) -> tuple[tuple[Step, ...], FrameLayout, tuple[Decision, ...]]:
    """The steps as they are in their memory, the layout of the frame, and what is done in place.

    Parameters
    ----------
    graph : Graph
        What the steps compute.
    steps : sequence
        In the order in which they run.
    permanent, is_body, donated, final
        As for `plan_block`.
    controlled : mapping of int to (reads, writes)
        What loops and choices read and write, by the number of the step.
    """
    uses, held = _uses(steps, graph, controlled)
    spans = lifetimes(uses)
    outputs = [n for n in graph.outputs if n in spans]
    if is_body:
        spans = {n: span for n, span in spans.items() if n not in outputs}
    safe_from = max((k + 1 for k, step in enumerate(steps) if can_fail(step)), default=0)
    sharing = share_memory(steps, spans, outputs, held, donated, safe_from, final)
    merged: dict[int, list[tuple[Access, Access]]] = {}
    for read, write in sharing.merged:
        merged.setdefault(read.step, []).append((read, write))
    kept: list[Step] = []
    place = []  # for each step how many are kept before it
    for k, step in enumerate(steps):
        place.append(len(kept))
        left = _with_merged_operands(step, merged.get(k, ())) if isinstance(step, KernelCall) else step
        if left is not None:
            kept.append(left)
    place.append(len(kept))
    layout = plan_frame(permanent, sharing.blocks, sharing.decisions, place)
    layout = replaced(layout, saved=_overwritten_bytes(kept, layout, final))
    kept = [_in_encodings(step, layout) if isinstance(step, KernelCall) else step for step in kept]
    return tuple(kept), layout, tuple(replaced(d, step=place[d.step]) for d in sharing.decisions)


def _in_encodings(call: KernelCall, layout: FrameLayout) -> KernelCall:
    """A kernel whose operands are in the encodings of the arguments in whose memory they lie."""
    encoded: dict[Operand, Operand] = {}
    for operand, own in zip(call.nest.operands, call.layouts):
        host, _ = layout.hosted.get(own.base, (own.base, None))
        encoded[operand] = replaced(operand, encoding=encoding_of(host))
    if all(operand == other for operand, other in encoded.items()):
        return call
    nest = replaced(call.nest, operands=tuple(encoded.values()), body=_renamed(call.nest.body, encoded, set()))
    return replaced(call, nest=nest)


def _overwritten_bytes(
    steps: Sequence[Step], layout: FrameLayout, final: Mapping[Node, Node]
) -> dict[Node, tuple[int, int]]:
    """For each argument that is written in its place, the first byte that changes, and the one behind the last."""
    ranges: dict[Node, tuple[int, int]] = {}

    def note(node: Node, start: int, stop: int) -> None:
        host, slot = layout.hosted.get(node, (node, None))
        if slot is not None and host in final:
            low, high = ranges.get(host, (host.type.nbytes, 0))
            ranges[host] = min(low, slot.offset + start), max(high, slot.offset + stop)

    for k, step in enumerate(steps):
        if isinstance(step, KernelCall):
            for access in accesses(k, step):
                if access.writes and all(access.extents):
                    note(access.node, *access.byte_range())
        elif not isinstance(step, Node):
            for node in step.writes():
                note(node, 0, node.type.nbytes)
    return ranges


def _uses(steps: Sequence[Step], graph: Graph, controlled: Mapping[int, Uses]) -> tuple[list[Uses], dict[Node, int]]:
    """For each step the stored values that it reads and that it writes to memory; until where values are held.

    A value is held where it, or what may be an alias of it, is read otherwise than as the operand of a kernel.
    """
    aliases = alias_sets(graph.nodes())
    parts: dict[Node, list[Node]] = {}
    for node in graph.nodes():
        if node.op is RESULT:
            parts.setdefault(node.args[0], []).append(node)
    uses: list[Uses] = []
    held: dict[Node, int] = {}
    for k, step in enumerate(steps):
        own: list[Node] = []
        if isinstance(step, KernelCall):
            found = accesses(k, step)
            own = [a.node for a in found if a.reads]
            direct, writes = own, [a.node for a in found if a.writes]
        elif isinstance(step, Node):
            direct, writes = [base_of(a) for a in step.args], _placed(step, parts.get(step, [step]), graph)
        elif isinstance(step, CheckCall):
            direct, writes = [step.low.base, step.high.base], []
        else:
            direct, writes = controlled[k]
        reads = list(dict.fromkeys(base for n in direct for base in aliases.get(n, (n,))))
        held.update((n, k) for n in reads if n not in own)
        uses.append((reads, writes))
    return uses, held


def _placed(step: Node, parts: list[Node], graph: Graph) -> list[Node]:
    """What NumPy is told where to write that executes a step; its own array is a result as it is."""
    made, *others = parts
    if others or made in graph.outputs or made.type.nbytes < _WORTH_PLACING:
        return []
    if step.op is not CALL:
        return parts if step.op.takes_out else []
    # Of more axes their order in memory is that of the operands.
    is_plain = made.type.ndim == 1 and made.dtype.kind in "iufc" and not any(encoding_of(base_of(a)) for a in step.args)
    return parts if is_plain and writes_out(made) else []


def _with_merged_operands(call: KernelCall, pairs: Sequence[tuple[Access, Access]]) -> KernelCall | None:
    """A kernel whose operands of each pair, one read and one written, are in one memory; None if it did nothing else.

    Operands that are traversed along the same axes become one.
    """
    if not pairs:
        return call
    operands = call.nest.operands
    merged = {operands[r.operand]: operands[w.operand] for r, w in pairs if are_one_operand(r, w)}
    kept = [k for k, operand in enumerate(operands) if operand not in merged]
    same = {operands[r.operand].memory: operands[w.operand].memory for r, w in pairs}
    names = _names([operands[k] for k in kept], same)
    renamed = {operand: names[merged.get(operand, operand)] for operand in operands}
    copies = {
        renamed[operands[w.operand]]
        for r, w in pairs
        if are_one_operand(r, w) and copied_operand(call.nest, operands[w.operand]) == operands[r.operand]
    }
    body = _renamed(call.nest.body, renamed, copies)
    nest = replaced(call.nest, operands=tuple(renamed[operands[k]] for k in kept), body=body)
    if not any(hasattr(s, "operand") and not isinstance(s, (Load, Gather)) for s in nest.statements()):
        return None
    local = {new: call.local_bytes[k] for new, k in enumerate(kept) if k in call.local_bytes}
    return replaced(call, nest=nest, layouts=tuple(call.layouts[k] for k in kept), local_bytes=local)


def _names(operands: Sequence[Operand], same: Mapping[str, str]) -> dict[Operand, Operand]:
    """Operands with numbers in a row for each letter, so that equal nests have equal texts.

    `same` says which memory is the same as which other one; in one memory, operands differ in primes.
    """
    count: dict[str, int] = {}
    seen: dict[str, list[str]] = {}
    names = {}
    for operand in operands:
        memory = operand.memory
        while memory in same:
            memory = same[memory]
        known = seen.setdefault(memory, [])
        if not known:
            letter = operand.name[0]
            known.append(f"{letter}{count.get(letter, 0)}")
            count[letter] = count.get(letter, 0) + 1
        else:
            known.append(known[-1] + "'")
        names[operand] = replaced(operand, name=known[-1])
    return names


def _renamed(body: Sequence[Statement], renamed: dict[Operand, Operand], copies: set[Operand]) -> tuple[Statement, ...]:
    """Statements with other operands, and without the stores to `copies`; loops that are left empty are gone."""
    result: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            if inner := _renamed(s.body, renamed, copies):
                result.append(replaced(s, body=inner))
        elif isinstance(s, Tiles):
            turned = tuple(renamed[operand] for operand in s.turned)
            result.append(replaced(s, body=_renamed(s.body, renamed, copies), turned=turned))
        elif isinstance(s, Strips):
            result.append(replaced(s, parts=tuple(_renamed(part, renamed, copies) for part in s.parts)))
        elif not hasattr(s, "operand"):
            result.append(s)
        elif not (isinstance(s, Store) and renamed[s.operand] in copies):
            result.append(replaced(s, operand=renamed[s.operand]))
    return tuple(result)


def lifetimes(steps: Sequence[tuple[Sequence[Node], Sequence[Node]]]) -> dict[Node, tuple[int, int]]:
    """Half-open lifetimes of values, from the step that first writes each to the one that last reads it.

    Parameters
    ----------
    steps : sequence of (reads, writes)
        The stored values that each step reads and writes.

    Examples
    --------
    >>> lifetimes([((), ("a",)), (("a",), ("b",)), (("b",), ("c",))])
    {'a': (0, 2), 'b': (1, 3), 'c': (2, 3)}
    """
    span: dict[Node, tuple[int, int]] = {}
    for k, (reads, writes) in enumerate(steps):
        for node in writes:
            span[node] = (span[node][0] if node in span else k, k + 1)
        for node in reads:
            if node in span:
                span[node] = (span[node][0], k + 1)
    return span


def alias_sets(nodes: Sequence[Node]) -> dict[Node, frozenset[Node]]:
    """For each node the stored values in whose memory it may lie.

    A stored value has memory of its own, unless it is the result of a call that may hand its argument through: a call
    that NumPy makes of a function without a row in the op table. What such a result may alias has to stay as it is for
    as long as the result is needed.

    Parameters
    ----------
    nodes : sequence of Node
        Arguments before users.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt.ir import build as b
    >>> from jitrt.ir.types import ArrayType
    >>> x = b.input_node(0, ArrayType(np.dtype(np.float64), (2, 3)))
    >>> y = b.elementwise(np.exp, x)
    >>> sets = alias_sets([x, y, b.view("transpose", y, axes=(1, 0))])
    >>> [[n.op.name for n in s] for s in sets.values()]
    [['input'], ['exp'], ['exp']]
    """
    sets: dict[Node, frozenset[Node]] = {}
    for node in nodes:
        base = base_of(node)
        if base is not node:
            sets[node] = sets[base]
            continue
        source = producer(node)
        sets[node] = frozenset((node,))
        if may_alias_arguments(source):
            sets[node] = sets[node].union(*(sets[a] for a in source.args))
    return sets
