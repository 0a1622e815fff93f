"""From a group of sinks to a loop nest, and from groups that share loops to one nest of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..base.frozen import frozen, replaced
from ..ir.build import encoding_of
from ..ir.extents import ceiling
from ..ir.node import Node
from ..ir.ops.optable import Kind
from ..ir.types import dtype_name
from .axes import (
    UNROLLED,
    Access,
    NestAxis,
    accesses_of,
    arranged,
    arranged_scan,
    block_strides,
    by_strides,
    coalesced,
    crossing,
    expressions,
    sink_access,
    unrolls,
)
from .groups import Group, Sharing, stored_axes
from .layout import Layout, Layouts, local_layout
from .loopnest import FoldInto, Literal, Loop, LoopNest, Operand, Statement, parallel_axis
from .slidingnest import sliding_members
from .statements import Member, MemberStatements, cost_of, element_count, hardest_of, threads_axis


@frozen
class KernelCall:
    """A loop nest and the numbers that it runs with.

    Parameters
    ----------
    nest : LoopNest
    extents : tuple of int
        For each axis of the nest.
    layouts : tuple of Layout
        For each operand: where its memory begins, and its strides in bytes along the axes of the nest.
    literals : tuple of numbers
    span : int
        Extent of the parallel loop; 1 if there is none.
    work : int
        Additions that it amounts to.
    because : callable
        Gives the reason why the group was not fused with those that read its results, in lines.
    blocks : dict of int to int
        Length of a block, for axes that loops run over in blocks.
    local_bytes : dict of int to int
        Bytes of local operands.
    members : int
        Groups that are computed one after the other in each turn of the outer loops.
    """

    nest: LoopNest
    extents: tuple[int, ...]
    layouts: tuple[Layout, ...]
    literals: tuple[Any, ...]
    span: int
    work: int
    because: Callable[[], str] = str
    blocks: dict[int, int] = field(default_factory=dict)
    local_bytes: dict[int, int] = field(default_factory=dict)
    members: int = 1

    @property
    def reason(self) -> str:
        """Why it is a nest of its own: worked out when `explain` asks."""
        return self.because()

    @property
    def adds_to_rows(self) -> bool:
        """Whether threads share the columns of rows that are added up: each adds to its part of one row in memory."""
        statements = self.nest.statements()
        shared = {found for s in statements if (found := parallel_axis(s)) is not None}
        return shared == {self.nest.axes - 1} and any(isinstance(s, FoldInto) for s in statements)


def build_kernel(
    group: Group, layouts: Layouts, inlined: Callable[[Node], bool], because: Callable[[], str] = str
) -> KernelCall:
    """The loop nest that computes the sinks of `group`.

    Parameters
    ----------
    group : Group
    layouts : Layouts
        Where stored nodes lie.
    inlined : callable
        Whether a node is computed in the nest if the nest does not read it from memory.
    because : callable
        Gives the reason why it is a nest of its own.
    """
    if group.sharing is not None:
        return _build_shared(group.sharing, layouts, inlined, because)
    if group.sliding is not None:
        outer, members, nbytes = sliding_members(group.sliding, layouts, inlined)
        slides = group.sliding.axis is not None
        return Kernel(outer, members, group.sliding.local, nbytes, slides).build(because)
    domain, folded, partition = group.kind
    blocked = partition[0] if partition else ()
    order, leaves, gathers = expressions(group, inlined)
    accesses = accesses_of(group, leaves, gathers, layouts)
    axes = [
        NestAxis(
            extent,
            k in folded,
            tuple(a.layout.strides[k] for a in accesses),
            blocked=k in blocked,
            scanned=k == group.scanned,
        )
        for k, extent in enumerate(domain)
        if extent != 1
    ]
    axes = coalesced(by_strides(axes, accesses))
    if group.scanned is None:
        cost = cost_of(order, accesses)
        crossed = any(s.folded_axes not in ((), folded) for s in group.sinks)
        unrolled = not group.is_search and not crossed and unrolls(axes, cost, order)
        axes, form = (
            crossing(axes) if crossed else arranged(axes, cost, hardest_of(order, accesses), group.is_search, unrolled)
        )
        if unrolled and form != "tiles":
            axes = [*axes[:-1], replaced(axes[-1], unrolled=True)]
    else:
        stored = {s.into for s in group.sinks}
        axes, form = arranged_scan(axes, all(n in stored for n in order if n.op.kind is Kind.SCAN))
    outer = []
    if partition:
        assert sum(a.blocked for a in axes) == 1, "one axis is cut into blocks"
        axes = [replaced(a, block=ceiling(a.extent, partition[1])) if a.blocked else a for a in axes]
        outer.append(NestAxis(partition[1], False, block_strides(group.sinks, len(accesses)), counts=True))
    return Kernel(outer, [Member(group, order, accesses, axes, form)]).build(because)


def _build_shared(
    sharing: Sharing, layouts: Layouts, inlined: Callable[[Node], bool], because: Callable[[], str]
) -> KernelCall:
    """The kernel of groups that share outer loops."""
    stored = {s.into: (m, shared) for m, shared in zip(sharing.members, sharing.axes) for s in m.sinks}
    over = Layouts({})
    for node, other in sharing.over.items():
        over.define(node, layouts[other].strides, other)
    parts = []
    for member in sharing.members:
        order, leaves, gathers = expressions(member, inlined)
        accesses = accesses_of(member, leaves, gathers, layouts)
        accesses = [
            replaced(a, layout=_moved(a, member, over)) if a.layout.base in sharing.over else a for a in accesses
        ]
        parts.append((member, order, accesses))
    # Shared loops are coalesced as the memory outside demands; local memory follows.
    domain = sharing.members[0].kind[0]
    turns = coalesced(
        [
            NestAxis(domain[k], False, tuple(_outer_strides([p[2] for p in parts], sharing, level)))
            for level, k in enumerate(sharing.axes[0])
        ]
    )
    extent = turns[-1].extent if turns else 1
    rows = min(sharing.rows, extent)
    local = _LocalMemory(sharing.local)
    for node in sharing.local:
        local.place(node, *stored[node], rows)
    members = [_member(*part, shared, local, extent, rows) for part, shared in zip(parts, sharing.axes)]
    every = [a for m in members for a in m.accesses]
    if rows > 1:
        strides = tuple(-rows * a.turn for a in every)
        turns[-1] = replaced(turns[-1], extent=ceiling(extent, rows), strides=strides, counts=True)
    return Kernel(turns, members, sharing.local, local.nbytes).build(because)


def _outer_strides(accesses: Sequence[list[Access]], sharing: Sharing, level: int) -> Iterator[int]:
    """Strides of all accesses along a shared loop; those of local memory adapt to whatever the others are."""
    for own, shared in zip(accesses, sharing.axes):
        for a in own:
            yield 0 if a.layout.base in sharing.local else a.layout.strides[shared[level]]


def _member(
    group: Group,
    order: list[Node],
    accesses: list[Access],
    shared: tuple[int, ...],
    local: _LocalMemory,
    extent: int,
    rows: int,
) -> Member:
    """A group inside of shared loops, the innermost of which has this extent and runs over blocks of `rows`."""
    domain, folded, _ = group.kind
    accesses = [local.access(a, group) for a in accesses]
    axes = [
        NestAxis(n, k in folded, tuple(a.layout.strides[k] for a in accesses))
        for k, n in enumerate(domain)
        if n != 1 and k not in shared
    ]
    if rows > 1:
        along = tuple(a.turn if a.is_local else a.layout.strides[shared[-1]] for a in accesses)
        axes.insert(0, NestAxis(extent, False, along, blocked=True, block=rows))
    axes = coalesced(by_strides(axes, accesses))
    cost = cost_of(order, accesses)
    unrolled = unrolls(axes, cost, order)
    axes, form = arranged(axes, cost, hardest_of(order, accesses), unrolled=unrolled)
    if unrolled and form != "tiles":
        axes = [*axes[:-1], replaced(axes[-1], unrolled=True)]
    return Member(group, order, accesses, axes, form)


class _LocalMemory:
    """Where values lie that last for one turn of the shared loops: each in an array of the rows of a turn."""

    def __init__(self, nodes: frozenset[Node]):
        self.nodes = nodes
        self.layouts = Layouts({})
        self.turns: dict[Node, int] = {}
        self.nbytes: dict[Node, int] = {}

    def place(self, node: Node, member: Group, shared: tuple[int, ...], rows: int) -> None:
        """Give `node`, which `member` stores, memory for `rows` turns of the innermost shared loop."""
        strides, self.turns[node], self.nbytes[node] = local_layout(node, stored_axes(node, member, shared), rows)
        self.layouts.define(node, strides)

    def access(self, access: Access, member: Group) -> Access:
        """`access`, in local memory if that is where the value lies."""
        base = access.layout.base
        if base not in self.nodes:
            return access
        return Access(access.node, _moved(access, member, self.layouts), access.written, True, self.turns[base])


def _moved(access: Access, member: Group, layouts: Layouts) -> Layout:
    """The layout of an access where what it accesses lies as `layouts` says."""
    if not access.written:
        return layouts[access.node]
    sink = next(s for s in member.sinks if s.into is access.layout.base)
    return sink_access(sink, layouts, sink.folded_axes).layout


class Kernel:
    """One kernel: shared loops around the nests of its members.

    Parameters
    ----------
    outer : list of NestAxis
        The shared loops; their strides are those of the accesses of all members, one member after the other.
    members : list of Member
    local : frozenset of Node
        Stored values that only members read.
    nbytes : dict of Node to int
        Bytes of the local values.
    slides : bool
        Whether the innermost shared loop is one of turns that step along an axis of the members.
    """

    def __init__(
        self,
        outer: list[NestAxis],
        members: list[Member],
        local: frozenset[Node] = frozenset(),
        nbytes: dict[Node, int] | None = None,
        slides: bool = False,
    ):
        self.outer, self.members, self.local, self.slides = outer, members, local, slides
        self.nbytes = nbytes or {}
        self.axes = [*outer, *(a for m in members for a in m.axes)]
        self.registers: dict[Node, int] = {}
        self.operands: list[tuple[Operand, Layout, int]] = []  # with the bytes of local memory
        self.literals: list[tuple[np.dtype, Any]] = []
        self.values = 0
        self.accumulators = 0
        self.stored: dict[Node, list[str]] = {}  # names of the memory that an earlier member has written
        self.names = dict.fromkeys("xyt", 0)

    def build(self, because: Callable[[], str]) -> KernelCall:
        body: list[Statement] = []
        first_axis, first_access = len(self.outer), 0
        for member in self.members:
            statements = MemberStatements(self, member, first_axis, first_access)
            body += statements.build()
            for operand, access in zip(statements.written, member.accesses):
                if operand is not None:
                    self.stored.setdefault(access.layout.base, [operand.name])
            first_axis += len(member.axes)
            first_access += len(member.accesses)
        counts = [element_count(m, self.outer) for m in self.members]
        parallel = threads_axis(self.axes, range(len(self.outer)), max(counts))
        for axis in reversed(range(len(self.outer))):
            body = [Loop(axis, tuple(body), axis == parallel)]
        operands = sorted(self.operands, key=lambda o: "yxt".index(o[0].name[0]))
        nest = LoopNest(
            len(self.axes),
            tuple(o for o, _, _ in operands),
            tuple(dtype for dtype, _ in self.literals),
            tuple(body),
            tuple(sorted({name for m in self.members for name in m.group.reports.ignored})),
        )
        extents = tuple(a.extent for a in self.axes)
        shared = next((found for s in nest.statements() if (found := parallel_axis(s)) is not None), None)
        work = sum(m.cost * n for m, n in zip(self.members, counts))
        return KernelCall(
            nest,
            extents,
            layouts=tuple(layout for _, layout, _ in operands),
            literals=tuple(number for _, number in self.literals),
            span=1 if shared is None else extents[shared],
            work=work,
            because=because,
            blocks={k: self.axes[k].block for k in nest.blocked_axes()},
            local_bytes={k: nbytes for k, (_, _, nbytes) in enumerate(operands) if nbytes},
            members=len(self.members),
        )

    def operand(self, access: Access, number: int, member: Member, first_axis: int, k: int) -> Operand:
        """The operand of access `k` of a member, which is access `number` of the kernel."""
        strides = [a.strides[number] for a in self.outer] + [0] * (len(self.axes) - len(self.outer))
        strides[first_axis : first_axis + len(member.axes)] = [a.strides[k] for a in member.axes]
        behind = first_axis + len(member.axes) if member.axes else len(self.outer)
        vectors = (behind - 2, behind - 1) if member.form in ("tiles", "turned") else (behind - 1,)
        known = (behind - 2, behind - 1) if member.axes and member.axes[-1].unrolled else ()
        ring = None if access.ring is None else (first_axis, *access.ring)
        classes, encoding = _stride_classes(access, strides, vectors, known), encoding_of(access.layout.base)
        operand = Operand(self._name(access), access.node.dtype, classes, ring, encoding)
        nbytes = self.nbytes[access.layout.base] if access.is_local else 0
        layout = Layout(access.layout.base, access.layout.offset, (*strides, *access.indexed))
        self.operands.append((operand, layout, nbytes))
        return operand

    def _name(self, access: Access) -> str:
        """A name; what an earlier member has written keeps it, with a prime more each time."""
        known = self.stored.get(access.layout.base)
        if known is not None:
            known.append(known[0] + "'" * len(known))
            return known[-1]
        letter = "t" if access.is_local else "y" if access.written else "x"
        self.names[letter] += 1
        return f"{letter}{self.names[letter] - 1}"

    def value(self) -> int:
        """The number of a new value."""
        self.values += 1
        return self.values - 1

    def accumulator(self) -> int:
        """The number of a new accumulator."""
        self.accumulators += 1
        return self.accumulators - 1

    def literal(self, target: int, number: Any) -> Literal:
        """Integers are part of the code, so that LLVM can use their value; other numbers are parameters."""
        if number.dtype.kind in "biu":
            return Literal(target, number.dtype, -1, int(number))
        self.literals.append((number.dtype, number))
        return Literal(target, number.dtype, len(self.literals) - 1)


INTERLEAVED = (
    4  # elements: strides up to this are part of the code, so that LLVM loads what lies between in vectors, too
)


def _stride_classes(
    access: Access, strides: Sequence[int], vectors: tuple[int, ...], known: tuple[int, ...] = ()
) -> tuple[str, ...]:
    """Classes of strides; along the axes `vectors`, and of indices, it matters how close elements are.

    Along the axes `known` a kernel is made for small strides, which vectors of neighbours are picked from.
    """
    itemsize = access.node.dtype.itemsize

    def kind(stride: int, is_vector: bool, is_known: bool = False) -> str:
        if is_known and stride % itemsize == 0 and 0 < stride <= 2 * UNROLLED * itemsize:
            return str(stride // itemsize)
        if is_vector and stride in range(itemsize, (INTERLEAVED + 1) * itemsize, itemsize):
            return str(stride // itemsize)
        return "0" if stride == 0 else "s"

    along = tuple(kind(s, k in vectors, k in known) for k, s in enumerate(strides))
    return along + tuple(kind(s, True) for s in access.indexed)


def describe(call: KernelCall) -> str:
    """The nest with its sizes, for `explain`."""
    sizes = " ".join(map(str, call.extents)) or "scalar"
    reads = ", ".join(f"{dtype_name(a.base.dtype)}@{a.offset}{list(a.strides)}" for a in call.layouts)
    why = "".join(f"\n  # {line}" for line in call.reason.splitlines())
    if call.members > 1:
        seen_first = (o.is_local and o.name == o.memory for o in call.nest.operands)
        kept = sum(call.local_bytes[k] for k, is_first in enumerate(seen_first) if is_first)
        why += f"\n  # {call.members} nests in one; a turn keeps {kept} bytes on the stack"
    return f"{call.nest}\n  # extents {sizes}; {reads}{why}"
