"""The statements of one group, inside of the loops that it may share with others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..base.frozen import frozen
from ..ir.build import literal
from ..ir.extents import estimate, rather_below
from ..ir.node import Node
from ..ir.ops.indexing import gathered_indices
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from .axes import Access, NestAxis
from .cost import EVEN_SHARES
from .groups import Group, Sink
from .loopnest import (
    Compute,
    FoldInto,
    Gather,
    Load,
    Loop,
    Neutral,
    Operand,
    Result,
    ScanStep,
    Statement,
    Store,
    StoreNeutral,
    Strips,
    Tiles,
    Update,
)
from .tiles import is_crossing

if TYPE_CHECKING:
    from .nest import Kernel

_HIDDEN_COST = 8  # additions an element: about what a processor does while a scan waits for its last result

_COMPUTED = (Kind.ELEMENTWISE, Kind.GATHER, Kind.SCAN)
LITTLE_WORK = 1 << 15  # elements that no second thread takes part in, so that any shape may use one kernel


def cost_of(order: Sequence[Node], accesses: Sequence[Access]) -> int:
    """Additions that an element of a nest takes."""
    return sum(n.op.cost for n in order if n.op.kind in _COMPUTED) + len(accesses)


def hardest_of(order: Sequence[Node], accesses: Sequence[Access]) -> int:
    """Additions that the costliest operation of a nest takes."""
    read = {a.node for a in accesses if not (a.written or a.indexed)}
    return max((n.op.cost for n in order if n.op.kind is Kind.ELEMENTWISE and n not in read), default=0)


@frozen
class Member:
    """A group as part of a kernel: what it computes, and its axes inside of the shared loops.

    Parameters
    ----------
    group : Group
    order : list of Node
        What it computes and reads, operands before users.
    accesses : list of Access
        Where it touches memory: what its sinks write, what it reads, what it gathers from.
    axes : list of NestAxis
        Inside of the shared loops, outermost first.
    form : str
        As `arranged` or `arranged_scan` gives it.
    """

    group: Group
    order: list[Node]
    accesses: list[Access]
    axes: list[NestAxis]
    form: str

    @property
    def cost(self) -> int:
        """Additions that an element takes."""
        return cost_of(self.order, self.accesses)


class MemberStatements:
    """Statements of one member.

    Parameters
    ----------
    kernel : Kernel
        What its members have in common.
    member : Member
    first_axis, first_access : int
        Numbers, in the kernel, of the first axis and of the first access of the member.
    """

    def __init__(self, kernel: Kernel, member: Member, first_axis: int, first_access: int):
        self.kernel, self.member, self.first = kernel, member, first_axis
        self.group, self.axes, self.form = member.group, member.axes, member.form
        self.values: dict[Node, int] = {}
        self.written: list[Operand | None] = []
        self.read: dict[Node, Operand] = {}
        for k, access in enumerate(member.accesses):
            if access.written:
                unstored = access.node in kernel.local and self._is_in_register(self.group.sinks[k])
                operand = None if unstored else kernel.operand(access, first_access + k, member, first_axis, k)
                self.written.append(operand)
            elif access.indexed or self._register(access.node) is None:
                same = self._written_there(access)
                self.read[access.node] = same or kernel.operand(access, first_access + k, member, first_axis, k)
        self.gathered = {a.node for a in member.accesses if a.indexed}
        self.stored = {s.into: o for o, s in zip(self.written, self.group.sinks)}

    def _written_there(self, access: Access) -> Operand | None:
        """The operand by which the member writes the element that it reads by `access`: one operand needs no check."""
        for operand, written in zip(self.written, self.member.accesses):
            if operand is not None and written.layout == access.layout and not access.indexed:
                return operand
        return None

    def build(self) -> list[Statement]:
        """The statements; values that later members find in registers are noted in the kernel."""
        if self.form == "scan rows":
            return self._scan_rows()
        folds = [(o, s) for o, s in zip(self.written, self.group.sinks) if s.folded_axes]
        inner = [*self._element(), *self._stores(self.member.order)]
        for sink in self.group.sinks:
            if not sink.folded_axes and self._is_in_register(sink):
                self.kernel.registers[sink.into] = self.values[sink.value]
        if self.form == "tiles" or (self.form == "turned" and not folds):
            return self._tiles(inner)
        return self._columns(inner, folds) if self.form in ("columns", "turned") else self._rows(inner, folds)

    def _is_in_register(self, sink: Sink) -> bool:
        """Whether a turn of the shared loops, or the kernel, computes a single element of what is stored."""
        inside = [a for a in self.axes if not (a.folded and sink.folded_axes)]
        return not (inside or sink.is_partial or sink.is_part)

    def _register(self, node: Node) -> int | None:
        """The value that is in a register, if a member has computed one for this turn that `node` shows."""
        base = base_of(node)
        return self.kernel.registers.get(base) if base.dtype == node.dtype else None

    def _element(self) -> list[Statement]:
        """Statements that compute one element of everything."""
        body: list[Statement] = []
        for node in self.member.order:
            register = self._register(node)
            if register is None:
                body.append(self._statement(node))
            else:
                self.values[node] = register
        return body

    def _statement(self, node: Node) -> Statement:
        """The statement that gives the value of `node`."""
        value = self.values[node] = self.kernel.value()
        number = literal(node)
        if number is not None:
            return self.kernel.literal(value, number)
        if node in self.gathered:
            return Gather(value, self.read[node], tuple(self.values[i] for i in gathered_indices(node)))
        if node in self.read:
            return Load(value, self.read[node])
        args = tuple(self.values[a] for a in node.args)
        if node.op.kind is Kind.SCAN:
            axis = next(k for k, a in enumerate(self.axes, self.first) if a.scanned)
            row = self.stored[node]
            assert row is not None, "a scan from row to row is stored"
            return ScanStep(value, row, axis, node.op, *args)
        return Compute(value, node.op, args, tuple(a.dtype for a in node.args), node.dtype)

    def _stores(self, nodes: Sequence[Node]) -> list[Statement]:
        """Stores of those of `nodes` that are sinks."""
        sinks = zip(self.written, self.group.sinks)
        return [
            Store(o, self.values[s.value]) for o, s in sinks if o is not None and not s.folded_axes and s.value in nodes
        ]

    def _parallel(self, kept: list[int], row: int | None = None) -> int | None:
        """The axis that threads share, if that is not a shared loop."""
        if self.kernel.outer or len(self.kernel.members) > 1:
            return None
        candidates = kept if row is None else [*kept, row]
        return threads_axis(self.kernel.axes, candidates, element_count(self.member, []))

    def _rows(self, inner: list[Statement], folds: list[tuple[Operand | None, Sink]]) -> list[Statement]:
        """Loops over kept axes around loops over folded axes; folds in registers."""
        kept = [k for k, a in enumerate(self.axes, self.first) if not a.folded]
        folded = [k for k, a in enumerate(self.axes, self.first) if a.folded]
        if folds:
            before, updates, after = self._in_registers(folds)
            inner = [*before, *self._loops(folded, [*inner, *updates]), *after]
        return self._loops(kept, inner, self._parallel(kept))

    def _in_registers(
        self, folds: list[tuple[Operand | None, Sink]]
    ) -> tuple[list[Statement], list[Statement], list[Statement]]:
        """What folds in registers take before their loop, at each element, and after it."""
        before: list[Statement] = []
        updates: list[Statement] = []
        after: list[Statement] = []
        for operand, sink in folds:
            acc, result = self.kernel.accumulator(), self.kernel.value()
            before.append(Neutral(acc, sink.into.op, sink.value.dtype))
            updates.append(Update(acc, self.values[sink.value]))
            after.append(Result(result, acc))
            if operand is not None:
                after.append(Store(operand, result))
            if self._is_in_register(sink):
                self.kernel.registers[sink.into] = result
        return before, updates, after

    def _tiles(self, inner: list[Statement]) -> list[Statement]:
        """Loops around tiles of the two last axes."""
        axes = list(range(self.first, self.first + len(self.axes)))
        outer, row = axes[-2:]
        parallel = self._parallel(axes)
        strides = zip(*(a.strides for a in self.axes))
        places = [access.node for access, along in zip(self.member.accesses, strides) if is_crossing(along)]
        turned = tuple(self.read[n] for n in places if n in self.read and n not in self.gathered)
        turned = self._crossing(outer, row) if self.form == "turned" else turned
        tiles = self._in_tiles(outer, row, inner, turned, parallel)
        return self._loops(axes[:-2], [tiles], parallel)

    def _scan_rows(self) -> list[Statement]:
        """Loops around a loop along the scanned axis, with an accumulator for each scan."""
        kept = [k for k, a in enumerate(self.axes, self.first) if not a.scanned]
        order = self.member.order
        leaves = {n for n in order if literal(n) is not None or (n in self.read and n not in self.gathered)}
        computed = [n for n in order if n not in leaves]
        place = {n: k for k, n in enumerate(order)}
        accumulators = {n: self.kernel.accumulator() for n in computed if n.op.kind is Kind.SCAN}
        parts: list[list[Statement]] = []
        stored = [s.value for s in self.group.sinks]
        for number, part in enumerate(divided := scan_parts(computed), 1):
            # Every part loads what it needs: that is in the cache, and the part before need not keep it.
            needed = {a for n in part for a in n.args}.union(stored if number == len(divided) else ())
            statements = [self._statement(n) for n in sorted(needed & leaves, key=place.__getitem__)]
            for node in part:
                if node in accumulators:
                    acc = accumulators[node]
                    value = self.values[node.args[0]]
                    self.values[node] = self.kernel.value()
                    statements += [Update(acc, value), Result(self.values[node], acc)]
                else:
                    statements.append(self._statement(node))
            parts.append(statements)
        parts[-1] += self._stores(order)  # a result may lie where an operand was, which parts read again
        before: list[Statement] = [Neutral(acc, node.op, node.dtype) for node, acc in accumulators.items()]
        along = self.first + len(self.axes) - 1
        loop = Loop(along, tuple(parts[0])) if len(parts) == 1 else Strips(along, tuple(map(tuple, parts)))
        return self._loops(kept, [*before, loop], self._parallel(kept))

    def _columns(self, inner: list[Statement], folds: list[tuple[Operand | None, Sink]]) -> list[Statement]:
        """Folds into memory: the innermost loop runs over kept elements; folds of these in registers."""
        row = self.first + len(self.axes) - 1
        kept = [k for k, a in enumerate(self.axes[:-1], self.first) if not a.folded]
        folded = [k for k, a in enumerate(self.axes[:-1], self.first) if a.folded]
        parallel = self._parallel(kept, row)
        columns = [(o, s) for o, s in folds if o is not None and s.folded_axes == self.group.kind[1]]
        start: list[Statement] = [StoreNeutral(o, s.into.op) for o, s in columns]
        steps: list[Statement] = [FoldInto(o, s.into.op, self.values[s.value]) for o, s in columns]
        before, updates, after = self._in_registers([f for f in folds if f not in columns])
        loops: list[Statement]
        if self.form == "turned":
            (outer,) = folded
            turned = self._crossing(outer, row)
            loops = [self._in_tiles(outer, row, [*inner, *steps], turned, parallel)]
        else:
            loops = self._loops(folded, [*before, *self._loops([row], [*inner, *steps, *updates], parallel), *after])
        return self._loops(kept, [*self._loops([row], start, parallel), *loops], parallel)

    def _crossing(self, outer: int, inner: int) -> tuple[Operand, ...]:
        """Operands that run along the outer axis of two; what is gathered from has no tile."""
        read = (operand for node, operand in self.read.items() if node not in self.gathered)
        every = dict.fromkeys((*read, *(o for o in self.written if o is not None)))
        return tuple(o for o in every if (o.strides[outer], o.strides[inner]) == ("1", "s"))

    def _in_tiles(
        self, outer: int, inner: int, body: list[Statement], turned: tuple[Operand, ...], parallel: int | None
    ) -> Tiles:
        """Loops over two axes in tiles."""
        block_of = len(self.kernel.outer) - 1 if self.kernel.axes[inner].blocked else None
        return Tiles(outer, inner, tuple(body), turned, parallel if parallel in (outer, inner) else None, block_of)

    def _loops(self, axes: list[int], body: list[Statement], parallel: int | None = None) -> list[Statement]:
        """Loops over `axes`, the first outermost, around `body`."""
        turns = len(self.kernel.outer) - 1
        counter = turns - self.kernel.slides  # the loop that counts blocks
        for axis in reversed(axes):
            own = self.kernel.axes[axis]
            unrolled = own.extent if own.unrolled else 0
            body = [
                Loop(
                    axis,
                    tuple(body),
                    axis == parallel,
                    counter if own.blocked else None,
                    unrolled,
                    turns if own.slides else None,
                    own.window,
                )
            ]
        return body


def threads_axis(axes: Sequence[NestAxis], candidates: Sequence[int], elements: int) -> int | None:
    """The axis that threads share: the outermost one that is long enough to be shared evenly, or the longest."""
    candidates = [k for k in candidates if not (axes[k].scanned or axes[k].unrolled)]
    if len(candidates) < 2 or rather_below(elements, LITTLE_WORK):
        return candidates[0] if candidates else None
    longest = max(candidates, key=lambda k: estimate(axes[k].extent))
    return next((k for k in candidates if not rather_below(axes[k].extent, EVEN_SHARES)), longest)


def element_count(member: Member, outer: Sequence[NestAxis]) -> int:
    """Iterations of the innermost statements of a member."""
    return math.prod(a.extent for a in (*outer, *member.axes) if not a.counts)


def scan_parts(nodes: Sequence[Node]) -> list[list[Node]]:
    """`nodes` in parts that run one after the other over a strip of the loop.

    A scan makes a loop as slow as a chain of dependent additions. Little other work is hidden behind that and shares
    its loop; more is done in loops of its own, where vectors can do it.

    Parameters
    ----------
    nodes : sequence of Node
        What the loop computes, operands before users.
    """
    if sum(n.op.cost for n in nodes if n.op.kind is not Kind.SCAN) <= _HIDDEN_COST:
        return [list(nodes)]
    part: dict[Node, int] = {}  # odd parts scan
    for node in nodes:
        behind = max((part[a] for a in node.args if a in part), default=0)
        is_scan = node.op.kind is Kind.SCAN
        part[node] = behind + (is_scan != behind % 2)
    first_use: dict[Node, int] = {}  # in which part
    for node in reversed(nodes):  # what only later parts need is computed there, and need not be kept
        if node in first_use and node.op.kind is not Kind.SCAN:
            part[node] = max(part[node], first_use[node] & ~1)
        for arg in node.args:
            first_use[arg] = min(part[node], first_use.get(arg, part[node]))
    parts: dict[int, list[Node]] = {}
    for node in nodes:
        parts.setdefault(part[node], []).append(node)
    return [parts[k] for k in sorted(parts)]
