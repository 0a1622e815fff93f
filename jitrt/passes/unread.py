"""What nothing reads, but NumPy computes: as much of it stays as may raise an exception and is not computed anyway.

force (where (less (divide 1.0 x0) 2.0) 0.0 1.0)  →  force (divide 1.0 x0)
force (divide 1.0 x0)                             →  nothing, if another output is computed from the quotient
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.frozen import replaced
from ..ir import build as b
from ..ir.control import used_results
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.optable import Kind
from ..ir.ops.raising import EMPTY, FORCE, LEFT_OUT, can_raise, force, forced, is_of_raising_control, parts


def drop_harmless(graph: Graph) -> Graph:
    """Force only what may raise, each operation once; outputs that are forced stand behind the others."""
    outputs = [n for n in graph.outputs if n.op is not FORCE and n.op is not LEFT_OUT]
    if len(outputs) == len(graph.outputs):
        return graph
    outputs += map(force, harmful(graph, topological_order(outputs, ends=EMPTY)))
    return replaced(graph, outputs=tuple(outputs), strides=graph.strides[: len(outputs)])


def harmful(graph: Graph, read: Sequence[Node]) -> list[Node]:
    """What of the nodes that outputs of `graph` force has to be, since it may raise; `read` is computed anyway."""
    used = used_results(read)
    order = topological_order([n.args[0] for n in graph.outputs if n.op is FORCE], frozenset(read), EMPTY)
    covered: set[Node] = set()
    found = []
    for node in reversed(order):
        raises = can_raise(node) or is_of_raising_control(node, used)
        if raises and node not in covered and node.type.size:
            found.append(node)
        if raises or node in covered:
            covered.update(node.args)
    return found


def _together(nodes: Sequence[Node]) -> list[Node]:
    """Nodes that depend on all of `nodes`: one for those of a type, so that a kernel folds one value and not each.

    maximum raises no exception of its own. Neighbours are joined first, lest the last wait for all others.
    """
    alike: dict[tuple[tuple[int, ...], np.dtype], list[Node]] = {}
    found = []
    for node in nodes:
        if node.op.kind is Kind.CHECK:
            found.append(node)
        else:
            for part in parts(node):
                alike.setdefault((part.shape, part.dtype), []).append(part)
    for joined in alike.values():
        while len(joined) > 1:
            pairs = [b.elementwise(np.maximum, x, y) for x, y in zip(joined[::2], joined[1::2])]
            joined = pairs + joined[len(joined) - len(joined) % 2 :]
        found.extend(joined)
    return found


def with_checks(graph: Graph, others: Sequence[Node] = ()) -> Graph:
    """Checks that compute what has to be forced, and `others`, and never fail; the graph is lowered."""
    graph = drop_harmless(graph)
    outputs = tuple(n for n in graph.outputs if n.op is not FORCE)
    unread = [*(n.args[0] for n in graph.outputs if n.op is FORCE), *others]
    if not unread:
        return graph
    checks = dict.fromkeys(map(forced, _together(list(dict.fromkeys(unread)))))
    strides = graph.strides[: len(outputs)] + (None,) * len(checks)
    return replaced(graph, outputs=(*outputs, *checks), strides=strides)
