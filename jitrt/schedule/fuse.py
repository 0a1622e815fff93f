"""The fusion policy: which stores and folds share one loop nest.

Everything elementwise inlines into the sinks that need it; a value that several groups need is stored by one of them,
unless computing it again is cheaper than a store and a load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.node import Graph, Node
from ..ir.ops.indexing import gathered_indices
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from ..ir.ops.quiet import Reports, reports_of
from .assignments import orderings
from .cost import bytes_moved, is_worth_repeating
from .groups import REPORTS, TOO_LONG, Group, Sink, crosses, parts_of, producer, topological, why_apart
from .sections import sections

_KERNEL_KINDS = (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.SCAN, Kind.GATHER, Kind.ASSEMBLE)
_HOST_KINDS = (Kind.UPDATE, Kind.HOST, Kind.CONTROL, Kind.CHECK)
_COST_LIMIT = 1 << 20
# A loop over elements that has been unrolled computes the same function of one number many times. Its code takes some
# 20 ms to compile wherever it stands, and a kernel that all of them call starts in 50 ns.
_FUNCTION_COST = 16
_FUNCTIONS_INLINED = 8
_MERGED_SIBLINGS = 32  # above, comparing all pairs of groups would cost more than the merging saves


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
        self.outputs = frozenset(graph.outputs)
        self.compiled = {n for n in self.order if n.op.kind in _KERNEL_KINDS and has_kernel(n)}
        self.inlined = {n for n in self.compiled if n.op.kind in (Kind.ELEMENTWISE, Kind.GATHER)}
        self.in_nest = self.inlined | {n for n in self.compiled if n.op.kind is Kind.SCAN}
        """Those whose values a nest that needs them may compute."""
        self.apart = self._computed_apart()
        self.stored = self._must_be_stored()
        self.section, handed_on = sections(self.order, self.in_nest, self.stored)
        self.stored |= handed_on
        self.reports = self._reports()
        self.cost = self._inline_costs()
        self.groups: list[Group] = []
        self.demand: dict[Node, list[Group]] = {}  # groups that compute the node inline unless it is stored
        self.readers: dict[Node, list[Group]] = {}  # groups that read the stored node
        self.needed: dict[Group, list[Node]] = {}  # nodes among whose users, of either kind, a group has been

    def _computed_apart(self) -> frozenset[Node]:
        """Functions of single numbers that get kernels of their own, which are mostly the same kernel."""
        numbers = [n for n in self.order if n in self.inlined and n.type.size == 1 and n.op.cost >= _FUNCTION_COST]
        return frozenset(numbers) if len(numbers) > _FUNCTIONS_INLINED else frozenset()

    def _must_be_stored(self) -> set[Node]:
        stored = {n for n in self.outputs if n in self.in_nest}
        for node in self.order:
            if node.op.kind is Kind.VIEW or node not in self.compiled:
                stored.update(s for a in node.args if (s := base_of(a)) in self.in_nest)
            elif node.op.kind is Kind.GATHER and (s := base_of(node.args[0])) in self.in_nest:
                stored.add(s)
        return stored | self.apart

    def _reports(self) -> dict[Node, Reports]:
        """What kernels that compute a node, and all that is not stored for it, do with floating-point exceptions.

        What is reported of one operation and ignored of another is not computed by one kernel. Nothing is noted where
        all are reported.
        """
        reports: dict[Node, Reports] = {}
        if not any(n.quiet for n in self.order):
            return reports
        for node in self.order:
            if node in self.compiled:
                found = reports_of(node)
                for a in node.args if node.op.kind is not Kind.ASSEMBLE else ():
                    if a in self.in_nest and a not in self.stored:
                        both = found.with_([reports[a]])
                        if both is None:
                            self.stored.add(a)
                        found = both or found
                reports[node] = found
        return reports

    def _inline_costs(self) -> dict[Node, int]:
        cost: dict[Node, int] = {}
        for node in self.order:
            if node in self.inlined:
                inner = sum([cost[a] for a in node.args if a in self.inlined and a not in self.stored])
                cost[node] = min(inner + node.op.cost, _COST_LIMIT)
        return cost

    def run(self) -> list[Group]:
        for node in reversed(self.order):
            if node in self.inlined:
                self._place_elementwise(node)
            elif node in self.compiled and node.op.kind is Kind.ASSEMBLE:
                self._place_parts(node)
            elif node in self.in_nest:
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
            if group.section != self.section.get(node, 0):
                why = why or TOO_LONG
            elif group.sinks and sinks[0].domain != group.kind[0]:
                why = why or f"its user iterates over {group.kind[0]}"
            elif group.is_search or any(s.is_search for s in sinks):
                why = why or "a search runs alone"
            elif scanned is not None and not group.may_scan(scanned):
                why = why or "its user folds, or scans along another axis"
            elif group.reports.with_([self._reports_of(sinks)]) is None:
                why = why or REPORTS
            elif group in readers or any(user is not group and user.reaches(group) for user in users):
                why = "a user has to wait for all of it"
            else:
                chosen = group
                break
        if chosen is None:
            chosen = Group(section=self.section.get(node, 0), why_alone=why)
            self.groups.append(chosen)
        chosen.sinks.extend(sinks)
        chosen.reports = chosen.reports.with_([self._reports_of(sinks)]) or chosen.reports
        if scanned is not None:
            chosen.scanned = scanned
        others = [user for user in users if user is not chosen]
        chosen.precede(others)
        for user in others:
            user.loads.add(node)
        for sink in sinks:
            if sink.value is node:
                self._route_operands(node, chosen)
            else:
                self._route(sink.value, chosen)

    def _reports_of(self, sinks: Iterable[Sink]) -> Reports:
        found = Reports().with_(self.reports.get(s.value if s.is_part else s.into, Reports()) for s in sinks)
        assert found is not None
        return found

    def _place_parts(self, node: Node) -> None:
        users = self.readers.pop(node, [])
        parts = parts_of(node)
        section = self.section.get(node, 0)
        groups = [Group(sinks=[sink], section=section, reports=self._reports_of([sink])) for sink in parts]
        for group in groups:
            group.precede(users)
        for earlier, later in orderings(node):
            groups[earlier].precede([groups[later]])
        self.groups += groups
        for group, sink in zip(groups, parts):
            self._route(sink.value, group)
        for user in users:
            user.loads.add(node)

    def _place_host(self, node: Node) -> None:
        users = self.readers.pop(node, [])
        group = Group(host=node)
        group.precede(users)
        self.groups.append(group)
        for arg in node.args:
            self._route(arg, group)

    def _route_operands(self, node: Node, group: Group) -> None:
        inline = gathered_indices(node) if node.op.kind is Kind.GATHER else node.args
        for arg in node.args:
            self._route(arg, group, arg in inline)

    def _route(self, node: Node, group: Group, inline: bool = True) -> None:
        """Note that `group` needs the value of `node`: from memory, unless it can be computed `inline`."""
        if inline and node in self.in_nest and group.host is None:
            users = self.demand.setdefault(node, [])
        else:
            base = base_of(node)
            group.loads.add(base)
            node = producer(base)
            users = self.readers.setdefault(node, [])
        if group not in users:
            users.append(group)
            self.needed.setdefault(group, []).append(node)

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
        group.reports = group.reports.with_([other.reports]) or group.reports
        group.scanned = other.scanned if group.scanned is None else group.scanned
        self.groups.remove(other)
        group.replace([other])
        needed = self.needed.pop(other, [])
        self.needed.setdefault(group, []).extend(needed)
        for node in needed:
            for users in (self.demand.get(node, []), self.readers.get(node, [])):
                if other in users:
                    users.remove(other)
                    if group not in users:
                        users.append(group)


def _share_a_load(a: Group, b: Group) -> bool:
    return any(n.type.size > 1 for n in a.loads & b.loads)
