"""What a nest computes: sinks, groups of them, and how groups depend on each other.

A *sink* is something that a nest writes: a stored array, a fold, or a part of an assembled array. A *group* is what one
kernel computes, which may be several groups that share loops.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import field

from ..base.frozen import frozen, record
from ..ir.node import Node
from ..ir.ops.folds import EXTREME
from ..ir.ops.optable import Kind
from ..ir.ops.quiet import Reports
from ..ir.ops.updates import OVERWRITE, Region

_LONG_ROW = 64  # elements, of a row that is folded beside the columns


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


@record(eq=False)
class Group:
    """Sinks that one kernel computes, or one node that is a step of its own (`host`): a check, or for NumPy to execute.

    `loads` are the stored arrays, inputs and constants that it reads, `scanned` is the axis of its scans, `section` the
    part of the program that it belongs to, `reports` what becomes of floating-point exceptions, and `why_alone` the
    printed reason why it was not fused with the groups that read it. With `sharing` or `sliding` the sinks are those of
    its members that are not local. `successors` need something that it computes, `predecessors` compute something that
    it needs.
    """

    sinks: list[Sink] = field(default_factory=list)
    host: Node | None = None
    loads: set[Node] = field(default_factory=set)
    scanned: int | None = None
    section: int = 0
    why_alone: str = ""
    reports: Reports = Reports()
    sharing: Sharing | None = None
    sliding: Sliding | None = None
    successors: set[Group] = field(default_factory=set)
    predecessors: set[Group] = field(default_factory=set)
    _known: int = 0  # how many of the sinks, of which there are ever more, the following fields tell of
    _fold: Sink | None = None
    _searches: bool = False
    _kind: tuple = ()

    @property
    def members(self) -> tuple[Group, ...]:
        """The groups that it consists of."""
        joined = self.sharing or self.sliding
        return joined.members if joined is not None else (self,)

    def reaches(self, other: Group) -> bool:
        """Whether `other` needs, directly or not, something that this group computes.

        The search begins at both, since groups are made users first: those that are new have few predecessors.
        """
        if self is other:
            return True
        behind, before = [self], [other]
        seen_behind, seen_before = {self}, {other}
        while behind and before:
            for group in behind.pop().successors:
                if group in seen_before:
                    return True
                if group not in seen_behind:
                    seen_behind.add(group)
                    behind.append(group)
            for group in before.pop().predecessors:
                if group in seen_behind:
                    return True
                if group not in seen_before:
                    seen_before.add(group)
                    before.append(group)
        return False

    def precede(self, users: Iterable[Group]) -> None:
        """Note that `users` need something that this group computes."""
        for user in users:
            self.successors.add(user)
            user.predecessors.add(self)

    def replace(self, others: Collection[Group]) -> None:
        """Take over how `others`, which it stands for, depend on groups that are none of them."""
        for other in others:
            for user in other.successors.difference(others):
                user.predecessors.discard(other)
                self.precede([user])
            for needed in other.predecessors.difference(others):
                needed.successors.discard(other)
                needed.precede([self])

    def _look(self) -> None:
        """Take account of further sinks."""
        if self._known == len(self.sinks):
            return
        chosen = self._fold
        for sink in self.sinks[self._known :]:
            if sink.folded_axes and (self._fold is None or (sink.is_partial and not self._fold.is_partial)):
                self._fold = sink
            self._searches = self._searches or sink.is_search
        if not self._known or self._fold is not chosen:
            self._kind = (self._fold or self.sinks[0]).kind
        self._known = len(self.sinks)

    @property
    def is_search(self) -> bool:
        self._look()
        return self._searches

    def may_scan(self, axis: int) -> bool:
        """Whether the nest can scan along `axis`: it does not fold, nor scan along another one."""
        return self.host is None and not self.kind[1] and self.scanned in (None, axis)

    @property
    def kind(self) -> tuple:
        """The kind of the sinks; a fold may have stores of its domain beside it, one in blocks folds of its rows."""
        self._look()
        return self._kind


def stored_axes(node: Node, member: Group, axes: tuple[int, ...]) -> list[int]:
    """Axes of the array `node` that `axes` of the domain of the member that stores it are."""
    folded = next(s.folded_axes for s in member.sinks if s.into is node)
    return [k - sum(f < k for f in folded) for k in axes]


def parts_of(node: Node) -> list[Sink]:
    """The sinks that write the parts of an assembled array."""
    if node.op is OVERWRITE:
        return [Sink(part, node, region=region) for part, region in zip(node.args, node["regions"])]
    return [Sink(part, node, start) for part, start in zip(node.args, node["starts"])]


def writes_part_for(group: Group, user: Group) -> bool:
    """Whether `group` writes a part of an array, and `user`, its successor, reads it or writes another part."""
    parts = {s.into for s in group.sinks if s.is_part}
    return not parts.isdisjoint(user.loads) or any(s.into in parts for s in user.sinks)


def producer(node: Node) -> Node:
    """The node that has to be executed for the stored `node` to exist."""
    return node.args[0] if node.op.name == "result" else node


TOO_LONG = "its code would be too long"
REPORTS = "np.errstate ignores for one of them what is reported for the other"


def why_apart(a: Group, b: Group, ordered: bool = False) -> str:
    """Why one nest cannot do the work of both; empty if it can.

    It can for one domain, at most one kind of fold or scan, and no dependence, which may be known (`ordered`).
    """
    if a.host is not None or b.host is not None:
        return "NumPy executes one of them"
    if a.is_search or b.is_search:
        return "a search runs alone"
    if a.section != b.section:
        return TOO_LONG
    if a.reports.with_([b.reports]) is None:
        return REPORTS
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
    place = groups.index(members[0])
    gone = set(members)
    left = [g for g in groups if g not in gone]
    left.insert(place, joined)
    joined.replace(gone)
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


def topological(groups: list[Group], nodes: Sequence[Node]) -> list[Group]:
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
