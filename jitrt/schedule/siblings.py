"""The last part of the fusion policy: maps beside folds of the same array, which one nest reads for both.

    for i:            s[i] = sum(x[i,:])             for i:
    for i: for j:     y[i,j] = x[i,j] + 1      →       for j:  s += x[i,j]; y[i,j] = x[i,j] + 1

Neither computes anything for the other, so all that is saved is a read. They have to run over the same loops, as
`positions.compute_with` asks of them, and the map has to be cheap. On its own it is a single loop over all of its
elements, which is faster where the rows of the fold are short.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..ir.extents import rather_below
from ..ir.node import Graph, Node
from ..ir.ops.optable import Kind
from .axes import NestAxis, accesses_of, coalesced, expressions, loop_order
from .cost import EVEN_SHARES
from .groups import Group, topological, why_apart
from .layout import Layouts

_LONG_FOLD = 64  # elements: over 100,000 rows of 8, one nest took twice as long as one for each
_MOST_COST = 8  # additions for an element of a map; exp beside sums of rows of 200 took 1.6 times as long as alone
_MOST_GROUPS = 32  # that are compared with each other


def join_siblings(groups: list[Group], graph: Graph, layouts: Layouts, inlined: Callable[[Node], bool]) -> list[Group]:
    """`groups` with maps computed by folds over the same loops that read the same array.

    Parameters as for `sharing.share_loops`.
    """
    plain = [g for g in groups if _is_plain(g)]
    folds = [g for g in plain if g.kind[1]][:_MOST_GROUPS]
    maps = [g for g in plain if not g.kind[1] and not g.successors][:_MOST_GROUPS] if folds else []
    joined = set()
    for group in maps:
        for fold in folds:
            # Asked first: what is learnt of sizes binds the program to them.
            common = [n for n in fold.loads & group.loads if n.shape]
            if not common or why_apart(fold, group) or not any(n.type.size > 1 for n in common):
                continue
            (order, cost, flat), (other, *_) = (_loops(g, layouts, inlined) for g in (group, fold))
            if order == other and cost <= _MOST_COST and _is_long_fold(fold) and (flat or not _is_cut_flat(fold)):
                fold.sinks.extend(group.sinks)
                fold.loads |= group.loads
                fold.reports = fold.reports.with_([group.reports]) or fold.reports
                fold.replace([group])
                joined.add(group)
                break
    return topological([g for g in groups if g not in joined], graph.nodes()) if joined else groups


def _is_plain(group: Group) -> bool:
    if group.host is not None or group.scanned is not None or len(group.members) > 1:
        return False
    kinds = (Kind.ELEMENTWISE, Kind.REDUCTION)
    return all(s.into.op.kind in kinds and not s.is_part and not s.is_search for s in group.sinks)


def _is_long_fold(group: Group) -> bool:
    """Whether a nest folds long rows, and turns enough for any number of threads."""
    domain, folded, partition = group.kind
    if partition is not None:  # it is long enough to be cut into blocks, for threads
        return True
    inside = math.prod(domain[k] for k in folded)
    outside = math.prod(n for k, n in enumerate(domain) if k not in folded)
    return not rather_below(inside, _LONG_FOLD) and not rather_below(outside, EVEN_SHARES)


def _is_cut_flat(fold: Group) -> bool:
    """Whether a fold is cut into blocks along several axes, which therefore have to become one loop."""
    domain, _, partition = fold.kind
    return partition is not None and sum(domain[k] != 1 for k in partition[0]) > 1


def _loops(group: Group, layouts: Layouts, inlined: Callable[[Node], bool]) -> tuple[list[int], int, bool]:
    """The axes that the loops of a group run over, folded ones innermost, what an element takes, in additions, and
    whether one loop can run over all of them.
    """
    nodes, leaves, gathers = expressions(group, inlined)
    cost = sum(n.op.cost for n in nodes if n.op.kind in (Kind.ELEMENTWISE, Kind.GATHER))
    accesses = accesses_of(group, leaves, gathers, layouts)
    strided = loop_order(group, accesses)
    loops = [NestAxis(group.kind[0][k], False, tuple(a.layout.strides[k] for a in accesses)) for k in strided]
    return sorted(strided, key=lambda k: k in group.kind[1]), cost, len(coalesced(loops)) <= 1
