"""Graphs with numbers in the place of extents that are variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from .extents import estimate, is_extent
from .interpret import evaluate, evaluate_node
from .node import Node, topological_order
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

    def __contains__(self, node: object) -> bool:
        return node in self._made

    def leaf(self, node: Node) -> Node:
        """What stands for a node whose value is known: it stays as it is, and is not looked behind."""
        return self._made.setdefault(node, node)

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


_LARGE = 1 << 16  # bytes of a value that is computed again rather than kept


class FirstValues:
    """Values of nodes for the sizes that there were at first, which decides nothing for others; each computed once.

    Parameters
    ----------
    given : mapping of Node to object
        What they are computed from.
    """

    def __init__(self, given: Mapping[Node, Any]):
        self._numbered = Numbered(estimate)
        self._values: dict[Node, Any] = {}
        for node, value in given.items():
            self.add(node, value)

    def add(self, node: Node, value: Any) -> None:
        """Take note of the value of a node."""
        self._values[self._numbered.leaf(node)] = value

    def unknown(self, root: Node) -> list[Node]:
        """What nobody has asked for among the nodes that the value of `root` is computed from, in order."""
        return topological_order((root,), self._numbered)

    def values(self, roots: Sequence[Node]) -> list[Any]:
        """The values of nodes."""
        for node in topological_order(roots, self._numbered):
            numbered = self._numbered.node(node)
            if is_count(node):
                self._values[numbered] = evaluate_node(node, ())
        known = len(self._values)
        found = evaluate([self._numbered.node(root) for root in roots], self._values)
        for node in [n for n in islice(self._values, known, None) if n.type.nbytes > _LARGE]:
            del self._values[node]
        return found
