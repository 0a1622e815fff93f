"""The preparation stage as a list of named passes."""

from __future__ import annotations

from collections.abc import Iterator

from ..expr.node import Graph
from ..expr.rewrite import rewrite
from . import lower, simplify

PASSES = (("lower", lower.RULES), ("simplify", lower.RULES + simplify.RULES))


def prepare(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Yield the graph after each pass, with the name of the pass; the last one is the prepared graph."""
    for name, rules in PASSES:
        graph = rewrite(graph, rules)
        yield name, graph
