"""Graphs with numbers in the place of extents that are variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .extents import estimate, is_extent
from .interpret import evaluate
from .node import Graph, Node, topological_order
from .ops.contractions import Call
from .ops.optable import INPUT
from .types import ArrayType


class Numbered:
    """Nodes and their parameters with a number for each extent.

    Parameters
    ----------
    number : callable
        From an extent to what it is.
    """

    def __init__(self, number: Callable[[Any], int]):
        self._number = number
        self._made: dict[Node, Node] = {}
        self._types: dict[int, ArrayType] = {}  # by identity: types are parts of nodes, and few

    def value(self, value: Any) -> Any:
        """A parameter."""
        if is_extent(value):
            return self._number(value)
        if type(value) is tuple:
            return tuple(map(self.value, value))
        if type(value) is ArrayType:
            return ArrayType(value.dtype, self.value(value.shape), value.weak)
        if type(value) is slice:
            return slice(*self.value((value.start, value.stop, value.step)))
        return value.changed(self.value) if type(value) is Call else value

    def node(self, root: Node) -> Node:
        """A node, and all that it is computed from."""
        if root in self._made:
            return self._made[root]
        for node in topological_order((root,), self._made):
            type_ = self._types.get(id(node.type))
            if type_ is None:
                type_ = self._types[id(node.type)] = self.value(node.type)
            args = tuple([self._made[a] for a in node.args])
            own = tuple([(name, self.value(value)) for name, value in node.params]) if node.params else ()
            if is_count(node):  # which is no input of that number
                own = (("index", ("count", *own[0][1:])),)
            self._made[node] = Node(node.op, args, own, type_)
        return self._made[root]


def is_count(node: Node) -> bool:
    """Whether a node is an extent as a number that kernels compute with."""
    return node.op is INPUT and is_extent(node["index"])


def evaluate_first(graph: Graph, values: Mapping[Node, Any]) -> list[Any]:
    """Outputs of `graph` for the sizes that there were at first, which decides nothing for others.

    Parameters
    ----------
    graph : Graph
    values : mapping of Node to object
        Of what it reads.
    """
    numbered = Numbered(estimate)
    given = {numbered.node(n): value for n, value in values.items()}
    given |= {numbered.node(n): evaluate((n,), {})[0] for n in graph.nodes() if is_count(n)}
    return evaluate([numbered.node(n) for n in graph.outputs], given)
