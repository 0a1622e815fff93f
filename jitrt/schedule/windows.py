"""Stencils of stencils: producers that are computed a few elements ahead of those that read them at several offsets.

A Laplacian that fluxes read in four places, and fluxes that a result reads in two, are arrays in memory if each is
computed as a whole. Side by side, each turn of a loop over rows computes one row of each (sliding windows and folded
storage: Ragan-Kelley et al., "Halide", 2013):

    l[i,j] = f(x[i:i+3,j:j+3]);  for all i         for t:  l[t+2 mod 3,:] = f(x[t+2:t+5,:])    (and two rows at first)
    y[i,j] = g(l[i:i+3,j:j+3]);  for all i    →            y[t,:] = g(l[t mod 3,:], …)

Rows that are too long for the stack are cut into blocks, which compute at their edges what their neighbours compute,
too; so do threads, which share the rows. Arrays of one axis have blocks alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache, partial

from ..base.frozen import record
from ..ir.extents import ceiling, estimate, is_extent
from ..ir.node import Graph, Node
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from .axes import accesses_of, expressions, loop_order
from .cost import EVEN_SHARES, bytes_moved, is_worth_repeating, size, weighed
from .groups import Group, Sliding, needed_in_between, replaced_by, topological, writes_part_for
from .layout import Layouts, window_offsets

WINDOW_BYTES = 1 << 16  # of the local rows of a turn: they stay in the second-level cache, and fit any thread's stack
_LEAST_ROW = 64  # elements of what a turn computes of each member
_LEAST_INNER = 16  # of them in the innermost loop
_LEAST_BLOCK = 4  # elements along an axis that is cut into blocks
_MOST_MEMBERS = 16

Window = tuple[int, int]


def slide(groups: list[Group], graph: Graph, layouts: Layouts, inlined: Callable[[Node], bool]) -> list[Group]:
    """`groups` with those joined that should be computed side by side. Parameters as for `sharing.share_loops`."""
    if sum(g.host is None for g in groups) < 2:
        return groups
    policy = _Policy(groups, graph, layouts, inlined)
    policy.run()
    return policy.groups if policy.groups is groups else topological(policy.groups, graph.nodes())


@record(eq=False)
class _Candidate:
    """A group that may be computed side by side with others: stores of one domain, along memory.

    `reads` are the views by which it reads what other groups store, and `cost` what an element takes, in additions.
    """

    group: Group
    number: int
    cost: int
    reads: list[Node]
    stored: list[Node] = field(default_factory=list)
    sources: frozenset[Node] = frozenset()

    def __post_init__(self) -> None:
        self.stored = [s.into for s in self.group.sinks]
        self.sources = frozenset(map(base_of, self.reads))

    @property
    def domain(self) -> tuple[int, ...]:
        return self.group.kind[0]


class _Policy:
    """One run of the policy."""

    def __init__(self, groups: list[Group], graph: Graph, layouts: Layouts, inlined: Callable[[Node], bool]):
        self.groups = groups
        self.outputs = frozenset(graph.outputs)
        self._offsets = cache(partial(window_offsets, layouts=layouts))
        self.candidates: dict[Group, _Candidate] = {}
        self.writer: dict[Node, _Candidate] = {}
        self.readers: dict[Node, list[Group]] = {}
        for number, group in enumerate(groups):
            for node in group.loads:
                self.readers.setdefault(node, []).append(group)
            candidate = _candidate(group, number, layouts, inlined)
            if candidate is not None:
                self.candidates[group] = candidate
                self.writer.update((s.into, candidate) for s in group.sinks if not s.is_part)

    def run(self) -> None:
        """Join what pays, from the results towards the arguments."""
        for last in reversed(list(self.candidates.values())):
            if last.group not in self.candidates:
                continue
            members = self._grown([last])
            if len(members) > 1:
                self._join(members)

    def _producers(self, members: Sequence[_Candidate]) -> list[_Candidate]:
        """Candidates that store what members read, the last of them first."""
        found = {self.writer[b] for m in members for leaf in m.reads if (b := base_of(leaf)) in self.writer}
        left = [c for c in found if c not in members and c.group in self.candidates]
        return sorted(left, key=lambda c: -c.number)

    def _grown(self, members: list[_Candidate]) -> list[_Candidate]:
        """`members` with all producers that can be computed in their loops, and what else reads these."""
        refused: set[_Candidate] = set()
        while len(members) < _MOST_MEMBERS:
            producer = next((p for p in self._producers(members) if p not in refused), None)
            if producer is None:
                break
            trial = self._with(producer, members)
            if trial is None or self._windows(trial) is None:
                refused.add(producer)
            else:
                members = trial
        return members

    def _with(self, producer: _Candidate, members: list[_Candidate]) -> list[_Candidate] | None:
        """`members` with a producer and all of its readers; None if something of them is needed elsewhere, too."""
        if any(len(self.readers.get(n, ())) > _MOST_MEMBERS for n in producer.stored):
            return None
        readers = [r for n in producer.stored for r in self.readers.get(n, ())]
        if any(r not in self.candidates for r in readers):
            return None
        found = sorted({*members, producer, *(self.candidates[r] for r in readers)}, key=lambda c: c.number)
        groups = [c.group for c in found]
        if any(g.section != groups[0].section for g in groups):
            return None
        if not all(self._is_passed_on(c, groups) for c in _read(found)):
            return None
        if any(writes_part_for(g, user) for g in groups for user in g.successors if user in groups):
            return None
        return None if needed_in_between(groups) else found

    def _is_passed_on(self, member: _Candidate, groups: Sequence[Group]) -> bool:
        """Whether all that a member stores is read by `groups` alone."""
        if any(s.is_part for s in member.group.sinks) or not self.outputs.isdisjoint(member.stored):
            return False
        readers = [self.readers.get(n, []) for n in member.stored]
        return all(of and all(r in groups for r in of) for of in readers)

    def _windows(self, members: Sequence[_Candidate]) -> dict[_Candidate, list[Window]] | None:
        """For each member and axis the indices that it is needed at; None if it is needed in another way.

        Windows reach to the end of what a member stores, be it read or not: NumPy computes, and reports, all of it.
        """
        extents = self._extents(members)
        windows: dict[_Candidate, list[Window]] = {}
        passed_on = frozenset(_read(members))
        for member in reversed(members):
            if len(member.domain) != len(extents):
                return None
            needed = windows.setdefault(member, [(0, 0)] * len(extents))
            if member in passed_on:
                whole = [n - extent for n, extent in zip(member.domain, extents)]
                needed = windows[member] = [(0, max(last, rest)) for (_, last), rest in zip(needed, whole)]
            for leaf in member.reads:
                producer = self.writer.get(base_of(leaf))
                if producer not in members:
                    continue
                assert producer is not None
                offsets = self._offsets(leaf)
                if offsets is None or len(offsets) != len(extents):
                    return None
                reach = [(a + o, b + o) for (a, b), o in zip(needed, offsets)]
                known = windows.get(producer, reach)
                windows[producer] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(known, reach)]
        return windows

    def _extents(self, members: Sequence[_Candidate]) -> list[int]:
        """Of what is not passed on: turns are counted by its rows."""
        passed_on = frozenset(_read(members))
        domains = [m.domain for m in members if m not in passed_on]
        return [max(along) for along in zip(*domains)]

    def _join(self, members: list[_Candidate]) -> None:
        sliding, why = self._sliding(members)
        groups = [m.group for m in members]
        if sliding is None:
            for group in groups:
                group.why_alone = group.why_alone or why
            return
        joined = Group(
            [s for g in groups for s in g.sinks if s.into not in sliding.local],
            loads={n for g in groups for n in g.loads} - sliding.local,
            sliding=sliding,
            section=groups[0].section,
        )
        self.groups = replaced_by(self.groups, groups, joined)
        for group in groups:
            del self.candidates[group]

    def _sliding(self, members: list[_Candidate]) -> tuple[Sliding | None, str]:
        """How members are computed side by side, and why they should not."""
        windows = self._windows(members)
        assert windows is not None
        local = _read(members)
        extents = self._extents(members)
        loops = [k for k, n in enumerate(extents) if n != 1 or any(m.domain[k] != 1 for m in local)]
        cut = [k for k in loops if any(m.domain[k] != extents[k] or windows[m][k] != (0, 0) for m in members)]
        if not cut or (cut[0] == loops[-1] and len(loops) > 1):
            return None, ""  # rows of the one go with rows of the other: they share loops
        if any(is_extent(end) for m in members for window in windows[m] for end in window):
            return None, "how far their windows reach depends on sizes"
        axis, *inner = loops[loops.index(cut[0]) :]
        blocked = inner[0] if inner else axis
        slides = axis if inner else None
        unit = {m: _bytes_along(m, windows[m], slides, blocked) for m in local}
        room = WINDOW_BYTES - sum(unit[m] * windows[m][blocked][1] for m in local)
        longest = room // sum(unit.values())
        if longest < min(extents[blocked], _LEAST_BLOCK):
            return None, f"rows of a turn are {size(sum(unit.values()) * extents[blocked])}, too much for the stack"
        count = ceiling(extents[blocked], longest)
        block = ceiling(extents[blocked], count)
        row = math.prod(block if k == blocked else extents[k] for k in loops if k >= blocked)
        if row < _LEAST_ROW or (block if blocked == loops[-1] else extents[loops[-1]]) < _LEAST_INNER:
            return None, "rows of a turn would be too short"
        repeated = 0
        for m in local:
            at_edges = estimate(_reach(windows[m][blocked])) / estimate(block) if count > 1 else 0.0
            if slides is not None:
                at_edges += estimate(_reach(windows[m][slides])) / EVEN_SHARES
            repeated += math.ceil(estimate(m.cost * math.prod(m.domain)) * at_edges)
        moved = sum(bytes_moved(n.type.nbytes, len(self.readers[n])) for m in local for n in m.stored)
        itemsize = max(n.dtype.itemsize for m in local for n in m.stored)
        if not is_worth_repeating(repeated, itemsize, moved):
            return None, f"{weighed(moved, repeated)} at the edges of blocks and of what threads share"
        sliding = Sliding(
            tuple(m.group for m in members),
            tuple(tuple(windows[m]) for m in members),
            slides,
            None if inner and count == 1 else blocked,
            block,
            frozenset(n for m in local for n in m.stored),
        )
        return sliding, ""


def _read(members: Sequence[_Candidate]) -> list[_Candidate]:
    """Those members that others of them read."""
    sources = frozenset[Node]().union(*(m.sources for m in members))
    return [m for m in members if not sources.isdisjoint(m.stored)]


def _reach(window: Window) -> int:
    """How many elements more than one a window has."""
    return window[1] - window[0]


def _bytes_along(member: _Candidate, windows: Sequence[Window], slides: int | None, blocked: int) -> int:
    """Bytes of local rows for each element along the axis that may be cut into blocks."""
    rows = 1 if slides is None else 1 + _reach(windows[slides])
    inner = math.prod(member.domain[blocked + 1 :])
    return rows * inner * sum(n.dtype.itemsize for n in member.stored)


def _candidate(group: Group, number: int, layouts: Layouts, inlined: Callable[[Node], bool]) -> _Candidate | None:
    """The candidate that a group is, if it is a nest of plain stores whose loops run along memory."""
    if group.host is not None or group.scanned is not None or group.is_search or not group.sinks:
        return None
    if group.reports.ignored:
        return None
    kinds = (Kind.ELEMENTWISE, Kind.ASSEMBLE)
    if 0 in group.kind[0] or not group.kind[0] or any(s.into.op.kind not in kinds for s in group.sinks):
        return None
    order, leaves, gathers = expressions(group, inlined)
    loops = loop_order(group, accesses_of(group, leaves, gathers, layouts))
    if gathers or loops != sorted(loops):
        return None
    cost = sum(n.op.cost for n in order if n.op.kind is Kind.ELEMENTWISE)
    return _Candidate(group, number, cost, [leaf for leaf in leaves if base_of(leaf) in group.loads])
