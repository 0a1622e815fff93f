"""The preparation stage as a list of named passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from .. import config
from ..base.frozen import replaced
from ..ir import build as b
from ..ir.absorbed import absorbed
from ..ir.aliasing import is_lent
from ..ir.node import Graph, Node
from ..ir.ops.raising import FORCE
from ..ir.rewrite import USERS_RULES, rewrite
from . import fastmath, lower, products, simplify
from .branches import with_branches
from .constants import fold_constants
from .control import drop_unused, fuse_iterations, has_control, prepare_bodies
from .parts import split_assemblies
from .unread import drop_harmless, with_checks


def prepare(graph: Graph, fired: Counter[str] | None = None, is_body: bool = False) -> Iterator[tuple[str, Graph]]:
    """Yield the graph after each pass, with the name of the pass; the last one is the prepared graph.

    `fired` gets how often each rule has changed something. A graph that `is_body` of a loop gets no further outputs.
    """
    graph = drop_harmless(graph)
    given = graph.outputs
    branched, count = (graph, 0) if "one_branch" in config.rules_off() else with_branches(graph)
    if count:
        if fired is not None:
            fired["one_branch"] += count
        graph = branched
        yield "branches", graph
    control = has_control(graph)
    if control:
        graph = drop_unused(graph)
        yield "drop unused results", graph
    folded = graph if "fold_arrays" in config.rules_off() else fold_constants(graph)
    if folded is not graph:
        if fired is not None:
            counts = [Counter(f"fold_{n.op.name}" for n in g.nodes() if n.args) for g in (graph, folded)]
            gone = counts[0] - counts[1]
            fired.update(gone + Counter(fold_arrays=gone.total()))
        graph = folded
        yield "constants", graph
    graph = rewrite(graph, products.RULES, fired=fired)
    graph = rewrite(products.fold_products(graph), lower.RULES, fired=fired)
    hidden = () if is_body else absorbed([n for n in graph.outputs if n.op is not FORCE])
    graph = with_checks(graph, hidden)
    yield "lower", graph
    own = fastmath.RULES if graph.rounding.fastmath else ()
    own = (*own, *USERS_RULES)
    graph = rewrite(graph, lower.RULES + own + simplify.RULES, exhausted=lower.RULES, fired=fired)
    graph = products.turn_operands(_with_copies(graph, given))
    yield "simplify", graph
    split = split_assemblies(graph)
    if split is not graph:
        graph = split
        yield "parts", graph
    if control:
        graph = prepare_bodies(graph, lambda body: prepared(replaced(body, rounding=graph.rounding)))
        yield "bodies", graph
        fused = fuse_iterations(graph)
        if fused is not graph:
            graph = fused
            yield "fused iterations", graph
    if graph.rounding.fastmath:
        graph = rewrite(graph, (fastmath.relax,), fired=fired)
        yield "relax", graph


def _with_copies(graph: Graph, given: Sequence[Node]) -> Graph:
    """Outputs that were computed, and are now what a call gives in the memory of an argument, in memory of their own.

    multiply(result(call(x)), 1)  →  result(call(x))  →  copy(result(call(x)))
    """
    pairs = zip_longest(graph.outputs, given[: len(graph.outputs)])  # there may be more checks than before
    return graph.with_outputs([b.copy(n) if is_lent(n) and was and not is_lent(was) else n for n, was in pairs])


def prepared(graph: Graph) -> Graph:
    """The prepared graph of a body."""
    *_, (_, result) = prepare(graph, is_body=True)
    return result
