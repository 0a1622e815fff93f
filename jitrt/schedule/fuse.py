"""The fusion policy: which stores and folds share one loop nest.

A *sink* is something that a nest writes: a stored array, a fold, or a part of an assembled array. Everything
elementwise inlines into the sinks that need it; a value that several groups need is stored by one of them, unless
computing it again is cheaper than a store and a load.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ..expr.indexing import gathered_indices
from ..expr.movement import storage
from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.reductions import EXTREME
from ..expr.updates import OVERWRITE, Region
from ..frozen import frozen
from .assignments import orderings
from .cost import bytes_moved, is_worth_repeating

_KERNEL_KINDS = (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.SCAN, Kind.GATHER, Kind.ASSEMBLE)
_HOST_KINDS = (Kind.UPDATE, Kind.HOST, Kind.CONTROL, Kind.CHECK)
_COST_LIMIT = 1 << 20
# A loop over elements that has been unrolled computes the same function of one number many times. Its code takes some
# 20 ms to compile wherever it stands, and a kernel that all of them call starts in 50 ns.
_FUNCTION_COST = 16
_FUNCTIONS_INLINED = 8
_LONG_ROW = 64  # elements, of a row that is folded beside the columns
_MERGED_SIBLINGS = 32  # above, comparing all pairs of groups would cost more than the merging saves


@frozen
class Sink:
    """What a group writes: `value` into the memory of `into`.

    For a stored array or a fold `into` is the node itself. For a part of an assembled array it is the whole array, and
    `start` is the position of the part, or `region` the views that lead to it.
    """

    value: Node
    into: Node
    start: tuple[int, ...] = ()
    region: Region | None = None

    @property
    def is_part(self) -> bool:
        return self.region is not None or self.start != ()

    @property
    def folded_axes(self) -> tuple[int, ...]:
        return self.into["axes"] if self.into.op.kind is Kind.REDUCTION and not self.is_part else ()

    @property
    def domain(self) -> tuple[int, ...]:
        return self.into.args[0].shape if self.folded_axes else self.value.shape

    @property
    def is_partial(self) -> bool:
        """Whether the fold is cut into blocks, whose results are stored."""
        return bool(self.folded_axes) and "blocks" in self.into.kwargs

    @property
    def is_search(self) -> bool:
        return self.into.op in EXTREME

    @property
    def kind(self) -> tuple:
        """Sinks of one kind can be written by one nest."""
        partition = (self.into["blocked"], self.into["blocks"]) if self.is_partial else None
        return self.domain, self.folded_axes, partition


@frozen
class Sharing:
    """Groups that are computed one after the other in each turn of outer loops that they share.

    Parameters
    ----------
    members : tuple of Group
        Producers before users.
    axes : tuple of tuple of int
        For each member the axes of its domain that the shared loops run over, outermost first.
    rows : int
        Turns of the innermost shared loop that are taken together: with more than one, every member runs over them.
    local : frozenset of Node
        Stored values that no other group reads: they live in registers or on the stack, for one turn.
    over : dict of Node to Node
        Stored values that no other group reads, and that lie where a later member stores the other node.
    """

    members: tuple[Group, ...]
    axes: tuple[tuple[int, ...], ...]
    rows: int
    local: frozenset[Node]
    over: dict[Node, Node] = field(default_factory=dict)


@frozen
class Sliding:
    """Groups that are computed side by side, producers a few elements ahead of those that read them at several offsets.

    Parameters
    ----------
    members : tuple of Group
        Producers before users.
    windows : tuple of tuple of (int, int)
        For each member and each axis of its domain the first and the last index that the index 0 of what is stored in
        the end needs, directly or not.
    axis : int or None
        The axis that turns step along: in each, a member computes the one row that is missing from its window.
    blocked : int or None
        The axis that is cut into blocks: for each, a member computes the windows of all its elements.
    block : int
        Elements of a block.
    local : frozenset of Node
        Stored values that only members read: as many rows as the window of the member that stores it, on the stack.
    """

    members: tuple[Group, ...]
    windows: tuple[tuple[tuple[int, int], ...], ...]
    axis: int | None
    blocked: int | None
    block: int
    local: frozenset[Node]

    @property
    def first(self) -> int:
        """The first axis with windows; loops over those in front of it are common to all."""
        return min(k for k in (self.axis, self.blocked) if k is not None)


@dataclass(eq=False, slots=True)
class Group:
    """Sinks that one kernel computes, or one node that is a step of its own (`host`): a check, or for NumPy to execute.

    `loads` are the stored arrays, inputs and constants that it reads, `scanned` is the axis of its scans, and
    `why_alone` the printed reason why it was not fused with the groups that read it. With `sharing` or `sliding` the
    sinks are those of its members that are not local.
    """

    sinks: list[Sink] = field(default_factory=list)
    host: Node | None = None
    loads: set[Node] = field(default_factory=set)
    scanned: int | None = None
    successors: set[Group] = field(default_factory=set)
    why_alone: str = ""
    sharing: Sharing | None = None
    sliding: Sliding | None = None

    @property
    def members(self) -> tuple[Group, ...]:
        """The groups that it consists of."""
        joined = self.sharing or self.sliding
        return joined.members if joined is not None else (self,)

    def reaches(self, other: Group) -> bool:
        """Whether `other` needs, directly or not, something that this group computes."""
        stack, seen = [self], {self}
        while stack:
            group = stack.pop()
            if group is other:
                return True
            for successor in group.successors:
                if successor not in seen:
                    seen.add(successor)
                    stack.append(successor)
        return False

    @property
    def is_search(self) -> bool:
        return any(s.is_search for s in self.sinks)

    def may_scan(self, axis: int) -> bool:
        """Whether the nest can scan along `axis`: it does not fold, nor scan along another one."""
        return self.host is None and not self.kind[1] and self.scanned in (None, axis)

    @property
    def kind(self) -> tuple:
        """The kind of the sinks; a fold may have stores of its domain beside it, one in blocks folds of its rows."""
        folds = [s for s in self.sinks if s.folded_axes]
        chosen = next((s for s in folds if s.is_partial), folds[0] if folds else None)
        return chosen.kind if chosen is not None else self.sinks[0].kind if self.sinks else ()


def stored_axes(node: Node, member: Group, axes: tuple[int, ...]) -> list[int]:
    """Axes of the array `node` that `axes` of the domain of the member that stores it are."""
    folded = next(s.folded_axes for s in member.sinks if s.into is node)
    return [k - sum(f < k for f in folded) for k in axes]


def parts_of(node: Node) -> list[Sink]:
    """The sinks that write the parts of an assembled array."""
    if node.op is OVERWRITE:
        return [Sink(part, node, region=region) for part, region in zip(node.args, node["regions"])]
    return [Sink(part, node, start) for part, start in zip(node.args, node["starts"])]


def producer(node: Node) -> Node:
    """The node that has to be executed for the stored `node` to exist."""
    return node.args[0] if node.op.name == "result" else node


def fuse(graph: Graph, has_kernel: Callable[[Node], bool]) -> list[Group]:
    """Groups in an order in which they can run.

    Parameters
    ----------
    graph : Graph
        A legalised graph.
    has_kernel : callable
        Whether code can be generated for an elementwise node or a fold; NumPy executes the others.
    """
    return _Fusion(graph, has_kernel).run()


class _Fusion:
    """Assignment of sinks to groups, users before producers."""

    def __init__(self, graph: Graph, has_kernel: Callable[[Node], bool]):
        self.order = graph.nodes()
        self.rank = {node: k for k, node in enumerate(self.order)}
        self.outputs = frozenset(graph.outputs)
        self.compiled = {n for n in self.order if n.op.kind in _KERNEL_KINDS and has_kernel(n)}
        self.apart = self._computed_apart()
        self.stored = self._must_be_stored()
        self.cost = self._inline_costs()
        self.groups: list[Group] = []
        self.demand: dict[Node, list[Group]] = {}  # groups that compute the node inline unless it is stored
        self.readers: dict[Node, list[Group]] = {}  # groups that read the stored node

    def _inlined(self, node: Node) -> bool:
        return node in self.compiled and node.op.kind in (Kind.ELEMENTWISE, Kind.GATHER)

    def _in_nest(self, node: Node) -> bool:
        """Whether a nest that needs the value of `node` may compute it."""
        return self._inlined(node) or (node in self.compiled and node.op.kind is Kind.SCAN)

    def _computed_apart(self) -> frozenset[Node]:
        """Functions of single numbers that get kernels of their own, which are mostly the same kernel."""
        numbers = [n for n in self.order if self._inlined(n) and n.type.size == 1 and n.op.cost >= _FUNCTION_COST]
        return frozenset(numbers) if len(numbers) > _FUNCTIONS_INLINED else frozenset()

    def _must_be_stored(self) -> set[Node]:
        stored = {n for n in self.outputs if self._in_nest(n)}
        for node in self.order:
            if node.op.kind is Kind.VIEW or node not in self.compiled:
                stored.update(s for a in node.args if self._in_nest(s := storage(a)))
            elif node.op.kind is Kind.GATHER and self._in_nest(s := storage(node.args[0])):
                stored.add(s)
        return stored | self.apart

    def _inline_costs(self) -> dict[Node, int]:
        cost: dict[Node, int] = {}
        for node in self.order:
            if self._inlined(node):
                inner = sum(cost[a] for a in node.args if self._inlined(a) and a not in self.stored)
                cost[node] = min(inner + node.op.cost, _COST_LIMIT)
        return cost

    def run(self) -> list[Group]:
        for node in reversed(self.order):
            if self._inlined(node):
                self._place_elementwise(node)
            elif node in self.compiled and node.op.kind is Kind.ASSEMBLE:
                self._place_parts(node)
            elif self._in_nest(node):
                self._place_scan(node)
            elif node in self.compiled:
                self._place(node, [Sink(node.args[0], node)])
            elif node.op.kind in (*_KERNEL_KINDS, *_HOST_KINDS) and node.op.name != "result":
                self._place_host(node)
        self._merge_siblings()
        return topological(self.groups, self.order)

    def _place_elementwise(self, node: Node) -> None:
        demand = self.demand.get(node, [])
        if node not in self.stored and len(demand) > 1 and not self._is_repeated(node):
            self._merge_all(demand)
            if len(demand) > 1:
                self.stored.add(node)
        self.demand.pop(node, None)
        if node in self.stored:
            self._place(node, [Sink(node, node)], demand)
        else:
            for group in demand:
                self._route_operands(node, group)

    def _is_repeated(self, node: Node) -> bool:
        """Whether each nest that needs a value should rather compute it than read what one of them stores."""
        itemsize = node.dtype.itemsize
        return is_worth_repeating(self.cost[node], itemsize, bytes_moved(itemsize, 1))

    def _place_scan(self, node: Node) -> None:
        """A scan along the last axis may stay in the one nest that needs it; any other is stored."""
        axis = node["axis"]
        demand = self.demand.get(node, [])
        if len(demand) > 1:
            self._merge_all(demand)
        self.demand.pop(node, None)
        alone = node not in self.stored and axis == node.type.ndim - 1 and len(demand) == 1
        if alone and demand[0].kind[0] == node.shape and demand[0].may_scan(axis):
            demand[0].scanned = axis
            self._route_operands(node, demand[0])
        else:
            self.stored.add(node)
            self._place(node, [Sink(node, node)], demand)

    def _place(self, node: Node, sinks: list[Sink], demand: Iterable[Group] = ()) -> None:
        """Put the sinks of `node` into a group that needs it, if the order allows, or into a new one."""
        readers = self.readers.pop(node, [])
        users = [*demand, *readers]
        chosen, why = None, "its code is shared with others" if node in self.apart else ""
        scanned = node["axis"] if node.op.kind is Kind.SCAN else None
        for group in demand if node not in self.apart else ():
            if group.sinks and sinks[0].domain != group.kind[0]:
                why = why or f"its user iterates over {group.kind[0]}"
            elif group.is_search or any(s.is_search for s in sinks):
                why = why or "a search runs alone"
            elif scanned is not None and not group.may_scan(scanned):
                why = why or "its user folds, or scans along another axis"
            elif group in readers or any(user is not group and user.reaches(group) for user in users):
                why = "a user has to wait for all of it"
            else:
                chosen = group
                break
        if chosen is None:
            chosen = Group(why_alone=why)
            self.groups.append(chosen)
        chosen.sinks.extend(sinks)
        if scanned is not None:
            chosen.scanned = scanned
        for user in users:
            if user is not chosen:
                chosen.successors.add(user)
                user.loads.add(node)
        for sink in sinks:
            if sink.value is node:
                self._route_operands(node, chosen)
            else:
                self._route(sink.value, chosen)

    def _place_parts(self, node: Node) -> None:
        users = self.readers.pop(node, [])
        parts = parts_of(node)
        groups = [Group(sinks=[sink], successors=set(users)) for sink in parts]
        for earlier, later in orderings(node):
            groups[earlier].successors.add(groups[later])
        self.groups += groups
        for group, sink in zip(groups, parts):
            self._route(sink.value, group)
        for user in users:
            user.loads.add(node)

    def _place_host(self, node: Node) -> None:
        users = self.readers.pop(node, [])
        group = Group(host=node, successors=set(users))
        self.groups.append(group)
        for arg in node.args:
            self._route(arg, group)

    def _route_operands(self, node: Node, group: Group) -> None:
        inline = gathered_indices(node) if node.op.kind is Kind.GATHER else node.args
        for arg in node.args:
            self._route(arg, group, arg in inline)

    def _route(self, node: Node, group: Group, inline: bool = True) -> None:
        """Note that `group` needs the value of `node`: from memory, unless it can be computed `inline`."""
        if inline and self._in_nest(node) and group.host is None:
            users = self.demand.setdefault(node, [])
        else:
            base = storage(node)
            group.loads.add(base)
            users = self.readers.setdefault(producer(base), [])
        if group not in users:
            users.append(group)

    def _merge_siblings(self) -> None:
        """Join groups of one kind that read a common array."""
        by_kind: dict[tuple, list[Group]] = {}
        for group in self.groups:
            alone = group.scanned is not None or any(s.is_part or s.value in self.apart for s in group.sinks)
            if group.sinks and not alone:
                by_kind.setdefault(group.kind, []).append(group)
        for siblings in by_kind.values():
            if len(siblings) <= _MERGED_SIBLINGS:
                self._merge_all(siblings, _share_a_load)
        columns = [g for g in self.groups if g.sinks and g.kind[2] is not None]
        for group in columns[:_MERGED_SIBLINGS]:
            rows = [g for g in self.groups if g.sinks and g is not group and crosses(group, g)]
            self._merge_all([group, *rows[:_MERGED_SIBLINGS]], _share_a_load)

    def _merge_all(self, groups: list[Group], worthwhile: Callable[[Group, Group], bool] | None = None) -> None:
        """Join as many of `groups` as can be one nest; the list keeps those that are left."""
        k = 0
        while k < len(groups):
            group = groups[k]
            for other in list(groups[k + 1 :]):
                if not why_apart(group, other) and (worthwhile is None or worthwhile(group, other)):
                    self._merge(group, other)
                    if other in groups:
                        groups.remove(other)
            k += 1

    def _merge(self, group: Group, other: Group) -> None:
        """Let `group` do the work of `other`."""
        group.sinks.extend(other.sinks)
        group.loads |= other.loads
        group.successors |= other.successors
        group.scanned = other.scanned if group.scanned is None else group.scanned
        self.groups.remove(other)
        for g in self.groups:
            if other in g.successors:
                g.successors.remove(other)
                g.successors.add(group)
        for users in (*self.demand.values(), *self.readers.values()):
            if other in users:
                users.remove(other)
                if group not in users:
                    users.append(group)


def why_apart(a: Group, b: Group, ordered: bool = False) -> str:
    """Why one nest cannot do the work of both; empty if it can.

    It can for one domain, at most one kind of fold or scan, and no dependence, which may be known (`ordered`).
    """
    if a.host is not None or b.host is not None:
        return "NumPy executes one of them"
    if a.is_search or b.is_search:
        return "a search runs alone"
    if any(x.scanned is not None and not y.may_scan(x.scanned) for x, y in ((a, b), (b, a))):
        return "a scan and a fold, or scans along two axes, need loops of their own"
    if a.kind[0] != b.kind[0]:
        return f"the one iterates over {a.kind[0]}, the other over {b.kind[0]}"
    if a.kind != b.kind and a.kind[1] and b.kind[1] and not (crosses(a, b) or crosses(b, a)):
        same = a.kind[1] == b.kind[1]
        return f"the one folds axes {a.kind[1]}, the other {'in other blocks' if same else b.kind[1]}"
    return "" if not ordered and not (a.reaches(b) or b.reaches(a)) else "one has to wait for all of the other"


def needed_in_between(members: Collection[Group]) -> bool:
    """Whether a group that is no member needs a member, and is needed by another."""
    stack = [s for g in members for s in g.successors if s not in members]
    seen = set(stack)
    while stack:
        for successor in stack.pop().successors:
            if successor in members:
                return True
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return False


def replaced_by(groups: list[Group], members: Sequence[Group], joined: Group) -> list[Group]:
    """`groups` with `joined` for its `members`, whose dependences it takes over."""
    joined.successors = {s for g in members for s in g.successors} - set(members)
    place = groups.index(members[0])
    left = [g for g in groups if g not in members]
    left.insert(place, joined)
    for g in left:
        if not g.successors.isdisjoint(members):
            g.successors.difference_update(members)
            g.successors.add(joined)
    return left


def crosses(columns: Group, rows: Group) -> bool:
    """Whether the one folds columns in blocks of rows, and the other just these rows, so that one pass does both.

    The columns of a block are folded in memory while each row is folded in registers: what a thread does follows from
    the blocks, and no result from the threads. Rows whose folds others read rather share their loop with these.
    """
    if columns.scanned is not None or rows.scanned is not None or rows.successors:
        return False
    (domain, folded, partition), (other, along, others) = columns.kind, rows.kind
    if partition is None or others is not None or domain != other or not along:
        return False
    kept = [k for k, n in enumerate(domain) if n != 1 and k not in folded]
    return len(kept) == 1 and domain[kept[0]] >= _LONG_ROW and kept == [k for k in along if domain[k] != 1]


def _share_a_load(a: Group, b: Group) -> bool:
    return any(n.type.size > 1 for n in a.loads & b.loads)


def topological(groups: list[Group], nodes: list[Node]) -> list[Group]:
    """Producers before users; among those that can run, in the order of `nodes`."""
    rank = {node: k for k, node in enumerate(nodes)}
    number = {group: k for k, group in enumerate(reversed(groups))}
    waiting = dict.fromkeys(groups, 0)
    for group in groups:
        for successor in group.successors:
            waiting[successor] += 1

    def position(group: Group) -> tuple[int, int]:
        first = rank[group.host] if group.host is not None else min(rank[s.into] for s in group.sinks)
        return first, number[group]

    ready = [(*position(g), g) for g, n in waiting.items() if n == 0]
    heapq.heapify(ready)
    order: list[Group] = []
    while ready:
        *_, group = heapq.heappop(ready)
        order.append(group)
        for successor in group.successors:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heapq.heappush(ready, (*position(successor), successor))
    assert len(order) == len(groups), "the groups depend on each other in a circle"
    return order
