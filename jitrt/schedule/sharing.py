"""The second half of the fusion policy: groups that share outer loops, so that what they pass on fits in a row.

softmax is three groups, each a nest of its own: a maximum, a sum of exponentials, a quotient. Computed one after the
other in each turn of a loop over rows, they pass on registers and a row on the stack, and not arrays in memory:

    m[i] = max(x[i,:]);  for all i             for i:  m = max(x[i,:])
    e[i,j] = exp(x[i,j] - m[i]); s[i] = …  →           e[:] = exp(x[i,:] - m); s = …
    y[i,j] = e[i,j] / s[i]                             y[i,:] = e[:] / s

Which loops can be shared is decided by compute-at, on a fusion whose expressions are the groups; whether they should be
is a matter of bytes that are not moved, against rows that are too short or too long.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from ..base.frozen import record
from ..ir.extents import ceiling
from ..ir.node import Graph, Node
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from .axes import accesses_of, expressions, loop_order
from .cost import CACHED_BYTES, columns_of_a_turn
from .domain import Axis, AxisKind, Domain
from .fusion import AxisMap, Expression, Fusion, Tensor
from .groups import Group, Sharing, needed_in_between, replaced_by, stored_axes, topological, writes_part_for
from .layout import Layouts, local_layout, mapped_axes
from .looptree import Classes, LoopNode, loop_tree
from .positions import inline_most

STACK_BYTES = 1 << 15  # of one kernel: no thread has so small a stack that this would matter
_TURN_ELEMENTS = 1024  # of a turn: fewer cost more in loop overhead than the sharing saves
_LONG_ROW = 512  # elements that are a turn's worth, unless single values of a turn are expensive
_ROW_COST = 4  # additions that a turn may spend on single values, which do not vectorise
_FEW_TURNS = 8  # too few to share out among threads
_MUCH_WORK = 500_000  # additions that are worth several threads
_ONE_TURN_WORK = 1 << 16  # additions of everything together, if it is to be one turn without a common loop
_ONE_TURN_GROUPS = 8
_MOST_GROUPS = 24  # that are considered together: positions are found by trial, which takes time


def share_loops(groups: list[Group], graph: Graph, layouts: Layouts, inlined: Callable[[Node], bool]) -> list[Group]:
    """`groups` with those joined that should share outer loops.

    Parameters
    ----------
    groups : list of Group
        In an order in which they can run.
    graph : Graph
        The legalised graph.
    layouts : Layouts
        Where stored nodes lie.
    inlined : callable
        Whether a node is computed where it is used unless it is stored.
    """
    if sum(g.host is None for g in groups) < 2:
        return groups
    policy = _Policy(groups, graph, layouts, inlined)
    for component in policy.components():
        policy.share(component)
    return policy.groups if not policy.joined else topological(policy.groups, graph.nodes())


@record(eq=False)
class _Candidate:
    """A group that may share loops.

    `strided` holds the axes of its domain by their strides, `order` as loops: kept axes, then folded ones. `cost` is
    what an element takes, in additions, `reads` what it reads of other candidates, with the axes that its own run over.
    """

    group: Group
    strided: list[int]
    order: list[int]
    leaves: list[Node]
    gathers: list[Node]
    cost: int
    reads: list[tuple[Node, AxisMap]] = field(default_factory=list)

    @property
    def domain(self) -> tuple[int, ...]:
        return self.group.kind[0]


class _Policy:
    """One run of the policy."""

    def __init__(self, groups: list[Group], graph: Graph, layouts: Layouts, inlined: Callable[[Node], bool]):
        self.groups = groups
        self.outputs = frozenset(graph.outputs)
        self.layouts = layouts
        self.joined: dict[Group, Group] = {}
        # Whatever a group leads to comes later; of joined groups, the first counts.
        self.place = {group: k for k, group in enumerate(groups)}
        self.candidates: dict[Group, _Candidate] = {}
        self.writer: dict[Node, Group] = {}
        for group in groups:
            if _may_share(group):
                self.candidates[group] = _candidate(group, layouts, inlined)
                self.writer.update((s.into, group) for s in group.sinks if not s.is_part)
        for candidate in self.candidates.values():
            folded = candidate.group.kind[1]
            for leaf in candidate.leaves:
                base = base_of(leaf)
                if base in self.writer:
                    axes = mapped_axes(leaf, layouts)
                    candidate.reads.append((base, tuple(None if k in folded else a for k, a in enumerate(axes))))
            for gather in candidate.gathers:
                if (base := base_of(gather.args[0])) in self.writer:
                    candidate.reads.append((base, (None,) * len(candidate.domain)))
        self.readers: dict[Node, list[Group]] = {}
        for group in groups:
            for node in group.loads:
                self.readers.setdefault(node, []).append(group)

    def components(self) -> list[list[_Candidate]]:
        """Candidates that some axis, or a single value, connects, in an order in which they can run."""
        classes = Classes()
        for candidate in self.candidates.values():
            for base, axes in candidate.reads:
                if candidate.group.section != self.writer[base].section:
                    continue
                if base.type.size == 1 or any(k is not None and candidate.domain[j] != 1 for j, k in enumerate(axes)):
                    classes.join(candidate.group, self.writer[base])
        found: dict[object, list[_Candidate]] = {}
        for group, candidate in self.candidates.items():
            found.setdefault(classes.find(group), []).append(candidate)
        return [
            members[k : k + _MOST_GROUPS]
            for members in found.values()
            for k in range(0, len(members), _MOST_GROUPS)
            if len(members) > 1
        ]

    def share(self, component: list[_Candidate]) -> None:
        """Find the loops that the members of a component can share, and join the groups for which it pays."""
        if _is_one_turn(component):
            self._join(component, 0)
            return
        self._put_columns_first(component)
        fusion, of = self._fusion(component)
        reasons = inline_most(fusion)
        tree = loop_tree(fusion)
        assert tree is not None
        for root in tree:
            if isinstance(root, LoopNode):
                members, depth = _innermost_common(root)
                if len(members) > 1:
                    self._join([of[e] for e in members], depth)
        for tensor, reason in reasons.items():
            if tensor.position == 0 and tensor.uses and tensor.definition is not None:
                group = of[tensor.definition].group
                group = self.joined.get(group, group)
                group.why_alone = group.why_alone or reason

    def _put_columns_first(self, component: list[_Candidate]) -> None:
        """Let the loops of what uses folds of columns begin with the columns, where turns of these pay."""
        if not all(m.order != m.strided for m in component if m.group.kind[1]) or not _reads_again(component):
            return
        columns: dict[Group, set[int]] = {}  # of the groups that have some, axes of their domains
        for m in component:
            if m.group.kind[1]:
                kept = [k for k in m.order if k not in m.group.kind[1]]
                if any(_columns_of_a_turn([m], 1 + depth) for depth in range(len(kept))):
                    columns[m.group] = set(kept)
                continue
            own: set[int] = set()
            for base, axes in m.reads:
                if (writer := self.writer[base]) in columns:
                    stored = stored_axes(base, writer, tuple(columns[writer]))
                    own.update(k for k in m.order if axes[k] in stored)
            if own:
                columns[m.group] = own
                m.order = [*(k for k in m.order if k in own), *(k for k in m.order if k not in own)]

    def _fusion(self, component: list[_Candidate]) -> tuple[Fusion, dict[Expression, _Candidate]]:
        """The condensed problem: an expression for each group, a tensor for each value that it stores."""
        fusion = Fusion()
        tensors: dict[Node, Tensor] = {}
        of: dict[Expression, _Candidate] = {}
        made: dict[Group, Expression] = {}
        for candidate in component:
            sinks = candidate.group.sinks
            reads = [(base, axes) for base, axes in candidate.reads if base in tensors]
            outputs = fusion.expression(
                sinks[0].into.op.name,
                [s.into.op.name for s in sinks],
                [tensors[base] for base, _ in reads],
                [_domain(candidate, bool(s.folded_axes)) for s in sinks],
                [_axis_map(candidate, base, axes) for base, axes in reads],
            )
            expression = outputs[0].definition
            assert expression is not None
            of[expression], made[candidate.group] = candidate, expression
            tensors.update((s.into, t) for s, t in zip(sinks, outputs) if not s.is_part)
        self._order_what_no_tensor_tells(made)
        return fusion, of

    def _order_what_no_tensor_tells(self, made: dict[Group, Expression]) -> None:
        """Some members have to be complete before others that need them.

        They are needed by way of groups that are no members, or write a part of an array that is read, or written over.
        """
        last = max(self.place[group] for group in made)
        for group, expression in made.items():
            for user in group.successors:
                if user in made and writes_part_for(group, user):
                    made[user].after.append(expression)
            stack = [s for s in group.successors if s not in made and self.place[s] < last]
            seen = set(stack)
            while stack:
                for successor in stack.pop().successors:
                    if successor in made:
                        made[successor].after.append(expression)
                    elif successor not in seen and self.place[successor] < last:
                        seen.add(successor)
                        stack.append(successor)

    def _join(self, members: list[_Candidate], depth: int) -> None:
        sharing, why = self._sharing(members, depth)
        groups = [m.group for m in members]
        if sharing is None or needed_in_between(groups):
            for group in groups:
                group.why_alone = group.why_alone or why
            return
        joined = Group(
            [s for g in groups for s in g.sinks if s.into not in sharing.local and s.into not in sharing.over],
            loads={n for g in groups for n in g.loads} - sharing.local - sharing.over.keys(),
            sharing=sharing,
            section=groups[0].section,
        )
        self.joined.update(dict.fromkeys(groups, joined))
        self.place[joined] = min(self.place[g] for g in groups)
        self.groups = replaced_by(self.groups, groups, joined)

    def _sharing(self, members: list[_Candidate], depth: int) -> tuple[Sharing | None, str]:
        """How the members share at most `depth` loops, and why they should not."""
        groups = [m.group for m in members]
        if not depth:
            return self._placed(members, ((),) * len(groups), 1, 1), ""
        by_columns = any(m.strided[:1] != m.order[:1] for m in members) and _reads_again(members)
        for columns in range(depth, 0, -1) if by_columns else ():
            if together := _columns_of_a_turn(members, columns):
                turns = math.prod(members[0].domain[k] for k in members[0].order[:columns])
                axes = tuple(tuple(m.order[:columns]) for m in members)
                return self._placed(members, axes, together, ceiling(turns, together)), ""
        extents = [members[0].domain[k] for k in members[0].order[:depth]]
        while depth > 1 and not _is_a_turn(members, math.prod(extents[:depth])):
            depth -= 1
        turns = math.prod(extents[:depth])
        work = sum(math.prod(m.domain) * m.cost for m in members)
        if turns < _FEW_TURNS and work > _MUCH_WORK:
            return None, f"{turns} turns of a common loop cannot be shared out among threads"
        passed = sum(s.into.type.nbytes for g in groups for s in g.sinks if self._is_local(s.into, groups)) // turns
        most_rows = STACK_BYTES // max(passed, 1)
        rows = 1
        if any(m.strided[:depth] != m.order[:depth] for m in members):
            # The loop runs over neighbouring elements: one turn takes all of them, so that they vectorise.
            if depth > 1 or work > _MUCH_WORK or turns > most_rows:
                return None, "a common loop would stride through memory"
            rows = turns
        elif not _is_a_turn(members, turns):
            longest = max(math.prod(m.domain) // turns for m in members)
            rows = min(ceiling(_TURN_ELEMENTS, longest), extents[depth - 1], max(1, most_rows))
            rows = ceiling(extents[depth - 1], ceiling(extents[depth - 1], rows))
        if passed > STACK_BYTES:
            touched = sum(n.type.nbytes for m in members for n in {base_of(leaf) for leaf in m.leaves}) // turns
            if touched > CACHED_BYTES:
                return None, f"a turn of a common loop touches {touched} bytes, too much for the cache"
        return self._placed(members, tuple(tuple(m.order[:depth]) for m in members), rows, turns), ""

    def _placed(self, members: list[_Candidate], axes: tuple[tuple[int, ...], ...], rows: int, turns: int) -> Sharing:
        """The sharing, with a place for what only members read: the stack as long as it lasts, then results."""
        groups = [m.group for m in members]
        passed = [s.into for g in groups for s in g.sinks if self._is_local(s.into, groups)]
        local = _as_fit_the_stack([n for n in passed if _can_be_local(n, members, axes, rows)], turns)
        over: dict[Node, Node] = {}
        for node in passed:
            if node not in local:
                result = next((r for r in self._results_over(node, members) if r not in over.values()), None)
                if result is not None:
                    over[node] = result
        return Sharing(tuple(groups), axes, rows, frozenset(local), over)

    def _results_over(self, node: Node, members: list[_Candidate]) -> Iterator[Node]:
        """What the last reader of `node` stores, element by element, where it has read the same element of it."""
        *_, last = (m for m in members if any(base_of(leaf) is node for leaf in m.leaves))
        if any(base_of(leaf) is node and leaf is not node for leaf in last.leaves):
            return
        for sink in last.group.sinks:
            same = sink.into.dtype == node.dtype and sink.into.shape == node.shape == last.domain
            if (
                same
                and not sink.is_part
                and not sink.folded_axes
                and not self._is_local(sink.into, [m.group for m in members])
            ):
                yield sink.into

    def _is_local(self, node: Node, members: Sequence[Group]) -> bool:
        """Whether no one but `members` reads a stored value, and all see its elements as they are, at known places."""
        readers = self.readers.get(node, [])
        if node in self.outputs or not readers or any(r not in members for r in readers):
            return False
        if any(base_of(g.args[0]) is node for r in readers for g in self.candidates[r].gathers):
            return False
        leaves = [leaf for r in readers for leaf in self.candidates[r].leaves if base_of(leaf) is node]
        return node in self.writer and all(leaf.dtype == node.dtype for leaf in leaves)


def _reads_again(members: Sequence[_Candidate]) -> bool:
    """Whether as many bytes of what is folded are read again as are read but once."""
    rows = max((math.prod(m.domain) for m in members if m.group.kind[1]), default=0)
    readers = Counter(b for m in members for b in {base_of(leaf) for leaf in m.leaves} if b.type.size >= rows)
    again = sum((count - 1) * node.type.nbytes for node, count in readers.items())
    return bool(rows) and again > 0 and 2 * again >= sum(node.type.nbytes for node in readers)


def _columns_of_a_turn(members: Sequence[_Candidate], depth: int) -> int:
    """How many columns members should take together in a turn, if their `depth` outer loops run over columns."""
    extents = [members[0].domain[k] for k in members[0].order[:depth]]
    folds = [m for m in members if m.group.kind[1] and m.leaves]
    read = {base_of(leaf) for m in members for leaf in m.leaves}
    # Written rows that are read again take as long as whole ones: only columns of a single row are passed on.
    if not folds or any(
        s.into in read and not s.folded_axes and s.domain == folds[0].domain for m in members for s in m.group.sinks
    ):
        return 0
    turns = math.prod(extents)
    column = sum(n.type.nbytes for n in read) // turns
    runs = [
        math.prod(m.domain[k] for k in m.order[depth:] if k not in m.group.kind[1])
        * min(leaf.dtype.itemsize for leaf in m.leaves)
        for m in folds
    ]
    return columns_of_a_turn(column, turns, min(runs), extents[-1])


def _candidate(group: Group, layouts: Layouts, inlined: Callable[[Node], bool]) -> _Candidate:
    order, leaves, gathers = expressions(group, inlined)
    cost = sum(n.op.cost for n in order if n.op.kind in (Kind.ELEMENTWISE, Kind.GATHER))
    strided = loop_order(group, accesses_of(group, leaves, gathers, layouts))
    return _Candidate(group, strided, sorted(strided, key=lambda k: k in group.kind[1]), leaves, gathers, cost)


def _may_share(group: Group) -> bool:
    """Whether the group is a nest of plain stores and folds."""
    if group.host is not None or group.scanned is not None or group.is_search or group.sliding is not None:
        return False
    if not group.sinks or 0 in group.kind[0] or group.reports.ignored:
        return False
    kinds = (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.ASSEMBLE)
    return all(s.into.op.kind in kinds and not s.is_partial for s in group.sinks)


def _domain(candidate: _Candidate, is_fold: bool) -> Domain:
    """Axes of what a sink stores; axes of extent 1 are no loops."""
    folded = candidate.group.kind[1] if is_fold else ()
    axes = {
        k: Axis(n, AxisKind.REDUCTION if k in folded else AxisKind.ITERATION)
        for k, n in enumerate(candidate.domain)
        if n != 1
    }
    logical = tuple(axes.values())
    return Domain(logical, logical, tuple(axes[k] for k in candidate.order))


def _axis_map(candidate: _Candidate, base: Node, axes: AxisMap) -> AxisMap:
    """For each axis of the domain that is a loop the number of the axis of `base`, not counting those of extent 1."""
    number: dict[int | None, int] = {}
    for k, n in enumerate(base.shape):
        if n != 1:
            number[k] = len(number)
    return tuple(number.get(a) for a, n in zip(axes, candidate.domain) if n != 1)


def _innermost_common(root: LoopNode) -> tuple[list[Expression], int]:
    """The expressions in a loop, and the number of loops that enclose all of them."""
    depth, node = 1, root
    while len(node.body) == 1 and isinstance(node.body[0], LoopNode):
        depth, node = depth + 1, node.body[0]
    members: list[Expression] = []
    stack = list(reversed(node.body))
    while stack:
        item = stack.pop()
        if isinstance(item, LoopNode):
            stack.extend(reversed(item.body))
        else:
            members.append(item)
    return members, depth


def _is_one_turn(members: Sequence[_Candidate]) -> bool:
    """Whether folds of everything into single values, and what depends on them, are so little that one kernel does all.

    There is no loop to be shared then, nor work for a second thread.
    """
    folds = any(not set(m.order) - set(m.group.kind[1]) and m.order for m in members)
    work = sum(math.prod(m.domain) * (m.cost + 1) for m in members)
    return folds and len(members) <= _ONE_TURN_GROUPS and work <= _ONE_TURN_WORK


def _is_a_turn(members: Sequence[_Candidate], turns: int) -> bool:
    """Whether a turn does enough to be worth a loop of its own: long rows, and nothing expensive that is single."""
    longest = max(math.prod(m.domain) // turns for m in members)
    single = sum(m.cost for m in members if math.prod(m.domain) == turns)
    return longest >= _LONG_ROW and single <= _ROW_COST


def _can_be_local(node: Node, members: Sequence[_Candidate], axes: tuple[tuple[int, ...], ...], rows: int) -> bool:
    """Whether what members see of `node` is a view of memory that holds it for one turn only.

    A reshape is not if an array in between joins an axis of the turns with another.
    """
    writer, shared = next((m.group, a) for m, a in zip(members, axes) if any(s.into is node for s in m.group.sinks))
    layouts = Layouts({})
    layouts.define(node, local_layout(node, stored_axes(node, writer, shared), rows)[0])
    return all(layouts.find(leaf) is not None for m in members for leaf in m.leaves if base_of(leaf) is node)


def _as_fit_the_stack(local: list[Node], turns: int) -> list[Node]:
    """As many of the smaller local values as the stack holds; the others stay in memory."""
    kept: list[Node] = []
    for node in sorted(local, key=lambda n: n.type.nbytes):
        if sum(n.type.nbytes for n in (*kept, node)) // turns <= STACK_BYTES:
            kept.append(node)
    return kept
