"""In place: which results are written over operands, and where the others lie.

An operation may write over an operand if nothing reads the operand, or anything else in that memory, afterwards; if
every element is written after it was read for the last time; and if no other operand reads that memory elsewhere. What
shares memory forms a *block*. A block that holds a result of the program lies in the result's own memory, all others in
the frame.

    t = a * b          frame[0]                          t = a * b          the result's memory
    u = cumulate t     frame[1]              →           u = cumulate t     frame[0]
    r = t + u          a fresh array                     r = t + u          over t
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from ..base.frozen import frozen, record
from ..ir.extents import rather_below
from ..ir.node import Node
from ..ir.ops.optable import CONSTANT, INPUT
from ..schedule.nest import KernelCall
from .accesses import (
    Access,
    ByteRanges,
    Order,
    accesses,
    are_same_elements,
    copied_operand,
    have_common_bytes,
    is_read_first,
    near,
    order_of,
)
from .blocks import FOREVER, Block, Member, rounded
from .livebytes import LiveBytes
from .resultroom import ResultRoom

_SMALLEST_MOVED = 1 << 14  # bytes: smaller slots are in a cache from the last call, a fresh result is not


@frozen
class Decision:
    """Whether an operation is done in place.

    Parameters
    ----------
    step : int
        That writes `node` first.
    node : Node
        What is written.
    over : tuple of Node
        The operands in whose memory it lies.
    refusals : tuple of (Node, str)
        Other operands, and the condition that each of them fails.
    """

    step: int
    node: Node
    over: tuple[Node, ...]
    refusals: tuple[tuple[Node, str], ...]

    def __str__(self) -> str:
        name = f"step {self.step}: {_name(self.node)}"
        if self.over:
            return f"{name} in place of {', '.join(map(_name, self.over))}"
        reasons = "; ".join(f"{_name(node)} {reason}" for node, reason in self.refusals)
        return f"{name} in memory of its own: {reasons or 'it reads no array'}"


def _name(node: Node) -> str:
    return f"{node.op.name} {node.type}" if node.op is not INPUT else f"input {node['index']}"


@frozen
class Sharing:
    """What shares memory.

    Parameters
    ----------
    blocks : list of Block
        All memory that kernels write.
    decisions : list of Decision
        For each stored value that a kernel writes.
    merged : list of (Access, Access)
        Operands of one kernel, one read and one written, that are the same elements.
    """

    blocks: list[Block]
    decisions: list[Decision]
    merged: list[tuple[Access, Access]]


def share_memory(
    steps: Sequence[object],
    lifetimes: dict[Node, tuple[int, int]],
    outputs: Sequence[Node],
    held: dict[Node, int],
    donated: Sequence[Node] = (),
    safe_from: int = 0,
    final: Mapping[Node, Node] = MappingProxyType({}),
) -> Sharing:
    """Decide for every stored value whose memory it shares.

    Parameters
    ----------
    steps : sequence
        Kernels, and whatever else runs in between.
    lifetimes : dict of Node to (first, end)
        Of the values that kernels store, outputs included.
    outputs : sequence of Node
        Those of them that are results, which lie in memory of their own.
    held : dict of Node to int
        The last step that reads a value, or what may be an alias of it, otherwise than as the operand of a kernel.
    donated : sequence of Node
        Inputs, contiguous arrays, whose memory the caller does not need any more.
    safe_from : int
        The first step from which on no step can fail. Before, the caller's arrays stay as they are.
    final : mapping of Node to Node
        Those of the `donated` inputs that the program writes, and the result that each of them has to hold at the end.
    """
    return _Sharing(steps, lifetimes, frozenset(outputs), held, donated, safe_from, final).run()


@record(eq=False)
class _Sharing:
    steps: Sequence[object]
    lifetimes: dict[Node, tuple[int, int]]
    outputs: frozenset[Node]
    held: dict[Node, int]
    donated: Sequence[Node]
    safe_from: int
    final: Mapping[Node, Node]
    block_of: dict[Node, Block] = field(default_factory=dict)
    merged: list[tuple[Access, Access]] = field(default_factory=list)
    orders: dict[int, Order] = field(default_factory=dict)
    reads: dict[Node, list[Access]] = field(default_factory=dict)
    writes: dict[Node, list[Access]] = field(default_factory=dict)
    ranges: dict[tuple[bool, Node], ByteRanges] = field(default_factory=dict)
    reads_in: list[dict[Node, list[Access]]] = field(default_factory=list)
    live: LiveBytes = field(default_factory=lambda: LiveBytes(1))

    def run(self) -> Sharing:
        self.reads_in = [{} for _ in self.steps]
        for k, step in enumerate(self.steps):
            for access in accesses(k, step) if isinstance(step, KernelCall) else ():
                if access.writes:
                    self.writes.setdefault(access.node, []).append(access)
                elif access.reads:
                    self.reads.setdefault(access.node, []).append(access)
                    self.reads_in[k].setdefault(access.node, []).append(access)
        for node, (first, end) in self.lifetimes.items():
            is_output = node in self.outputs
            member = Member(node, 0, node.type.nbytes, first, FOREVER if is_output else end)
            self.block_of[node] = Block([member], node if is_output else None)
        for node in self.donated:
            last = max([self.held.get(node, -1), *(r.step for r in self.reads.get(node, ()))])
            member = Member(node, 0, node.type.nbytes, 0, max(last + 1, self.safe_from))
            self.block_of[node] = Block([member], node)
        self.live = LiveBytes(len(self.steps))
        self._count(*self._blocks())
        order = sorted(self.lifetimes, key=lambda n: self.lifetimes[n][0])
        decisions = [self._place(node) for node in order if node in self.writes]
        self._use_memory_of_results()
        return Sharing(self._blocks(), decisions, self.merged)

    def _blocks(self) -> list[Block]:
        return list(dict.fromkeys(self.block_of.values()))

    def _place(self, node: Node) -> Decision:
        """Put `node` into the memory of as many operands as is possible."""
        over, refusals = [], []
        for operand in self._operands(node):
            reason = self._merge(node, operand)
            if reason:
                refusals.append((operand, reason))
            else:
                over.append(operand)
        return Decision(self.lifetimes[node][0], node, tuple(over), tuple(refusals))

    def _operands(self, node: Node) -> list[Node]:
        """Stored values that are read where `node` is written, largest first."""
        steps = dict.fromkeys(w.step for w in self.writes[node])
        found = dict.fromkeys(n for k in steps for n in self.reads_in[k] if n is not node)
        found |= dict.fromkeys(n for n, result in self.final.items() if result is node)
        return sorted(found, key=lambda n: -n.type.nbytes)

    def _merge(self, node: Node, operand: Node) -> str:
        """Let `node` share the memory of `operand`; the condition that fails, or nothing."""
        reason = self._never(node, operand)
        if reason:
            return reason
        refusals = []
        for shift in self._shifts(node, operand):
            pairs, reason = self._hazards(node, operand, shift)
            reason = reason or self._join(node, operand, shift)
            if not reason:
                self.merged += pairs
                return ""
            refusals.append(reason)
        if refusals:
            return refusals[0]
        return "is of another type" if operand.dtype != node.dtype else "is indexed in another way"

    def _never(self, node: Node, operand: Node) -> str:
        if operand.op is INPUT and operand not in self.block_of:
            return "belongs to the caller"
        if operand in self.final and self.final[operand] is not node:
            return "has to hold another result in the end"
        if operand in self.donated and self.lifetimes[node][0] < self.safe_from:
            return f"is needed if NumPy raises an exception in step {self.safe_from - 1}"
        if operand.op is CONSTANT:
            return "is a constant"
        if operand not in self.block_of:
            return "is an array that NumPy made"
        if operand in self.outputs:
            return "is a result of the program"
        if not operand.type.nbytes or not node.type.nbytes:
            return "is empty"
        return ""

    def _shifts(self, node: Node, operand: Node) -> list[int]:
        """Where `node` could begin in the memory of `operand`, in bytes."""
        if operand in self.final:
            return [0]
        pairs = [(r, w) for w in self.writes[node] for r in self.reads_in[w.step].get(operand, ())]
        shifts = [
            shift
            for read, write in pairs
            if are_same_elements(read, write, shift := read.layout.offset - write.layout.offset)
        ]
        # In front of what is read, or behind it, if the operand is part of a larger value.
        ranges = [r.byte_range() for r, _ in pairs]
        behind = rounded(max(stop for _, stop in ranges))
        if node.type.nbytes <= min(start for start, _ in ranges):
            shifts.append(0)
        if behind + node.type.nbytes <= operand.type.nbytes:
            shifts.append(behind)
        return list(dict.fromkeys(shifts))

    def _hazards(self, node: Node, operand: Node, shift: int) -> tuple[list[tuple[Access, Access]], str]:
        """Operands that become one, and the first thing that would be overwritten too early."""
        pairs: list[tuple[Access, Access]] = []
        for read, write in near(self._ranges(self.reads, operand), self._ranges(self.writes, node), shift):
            if write.step == read.step and are_same_elements(read, write, shift):
                if not self._is_read_first(read, write):
                    return [], "is read again after its first element is overwritten"
                pairs.append((read, write))
            elif write.step > read.step or not have_common_bytes(read, write, shift):
                continue
            elif not self._rewrites(write, operand, shift):
                return [], "is read at other positions" if write.step == read.step else _needed(read.step)
        first = self.lifetimes[node][0]
        if self.held.get(operand, -1) >= first:
            return [], _needed(self.held[operand])
        if not self.writes.get(operand) and operand in self.lifetimes and self.lifetimes[operand][0] >= first:
            return [], f"is written in step {self.lifetimes[operand][0]}"  # by a loop or a choice, anywhere in it
        for own, write in near(self._ranges(self.writes, operand), self._ranges(self.writes, node), shift):
            if write.step <= own.step and have_common_bytes(own, write, shift):
                return [], f"is written in step {own.step}"
        return sorted(pairs, key=lambda pair: (pair[0].step, pair[0].operand, pair[1].operand)), ""

    def _ranges(self, found: dict[Node, list[Access]], node: Node) -> ByteRanges:
        key = found is self.writes, node
        if key not in self.ranges:
            self.ranges[key] = ByteRanges(found.get(node, ()))
        return self.ranges[key]

    def _is_read_first(self, read: Access, write: Access) -> bool:
        step = self.steps[read.step]
        assert isinstance(step, KernelCall)
        if read.step not in self.orders:
            self.orders[read.step] = order_of(step.nest)
        return is_read_first(step.nest, self.orders[read.step], read, write)

    def _rewrites(self, write: Access, operand: Node, shift: int) -> bool:
        """Whether what is written there is what stands there already."""
        step = self.steps[write.step]
        assert isinstance(step, KernelCall)
        copied = copied_operand(step.nest, step.nest.operands[write.operand])
        return any(
            copied == step.nest.operands[read.operand] and are_same_elements(read, write, shift)
            for read in self.reads_in[write.step].get(operand, ())
        )

    def _join(self, node: Node, operand: Node, shift: int) -> str:
        """Make one block of two; the condition that fails, or nothing."""
        mine, theirs = self.block_of[node], self.block_of[operand]
        if mine is theirs:
            here = mine.offset(operand) + shift == mine.offset(node)
            return "" if here else "shares this memory at another place"
        move = theirs.offset(operand) + shift - mine.offset(node)
        large, small, move_small = (theirs, mine, move) if len(mine) <= len(theirs) else (mine, theirs, -move)
        pair = frozenset((node, operand))
        for m in small.each():
            if other := large.conflict(m, move_small, pair):
                other = other if large is theirs else m
                return f"shares its memory with {_name(other.node)}, which is {_until(other)}"
        host = theirs.host if mine.host is None else mine.host
        if mine.host is not None and theirs.host is not None:
            if theirs.host not in self.donated:
                return "lies in the memory of another result"
            if mine.host is not node or theirs.host.type != node.type or move:
                return "is not an array like the result"
            host = theirs.host
        nbytes = large.nbytes_with(small, move_small)
        if host is not None and nbytes > host.type.nbytes:
            return "is larger than the result"
        before = self.live.most
        self._count(mine, theirs, sign=-1)
        if host is None:
            first, end = min(mine.first, theirs.first), max(mine.end, theirs.end)
            self.live.add(first, end, rounded(nbytes))
            if rounded(mine.nbytes) != rounded(theirs.nbytes) and self.live.most > before:
                self.live.add(first, end, -rounded(nbytes))
                self._count(mine, theirs)
                return "would keep more memory alive"
        large.take(small, move_small, host)
        for m in small.each():
            self.block_of[m.node] = large
        return ""

    def _count(self, *blocks: Block, sign: int = 1) -> None:
        """Count those blocks that lie in the frame among what is alive there, or no longer."""
        for block in blocks:
            if block.host is None:
                self.live.add_block(block, sign)

    def _use_memory_of_results(self) -> None:
        """Let blocks lie in the memory of results that are not yet written, as long as that lowers the frame."""
        bound = self.live.most
        room = ResultRoom(b for b in self._blocks() if b.host is not None and b.host not in self.final)
        frame = [b for b in self._blocks() if b.host is None and not rather_below(b.nbytes, _SMALLEST_MOVED)]
        rank = {b: k for k, b in enumerate(sorted(frame, key=lambda b: -b.nbytes)[::-1])}
        for block in rank:
            self.live.wait(block)
        while room and (next_one := self.live.next_in_crowd(rank)) is not None:
            if room.put(next_one):  # otherwise it is not tried again: there is less and less room
                self.live.add_block(next_one, -1)
        if self.live.most < bound:
            self.block_of.update((m.node, block) for block in room.filled() for m in block.each())


def _needed(step: int) -> str:
    return f"is needed in step {step}"


def _until(member: Member) -> str:
    return "a result" if member.end == FOREVER else f"needed in step {member.end - 1}"
