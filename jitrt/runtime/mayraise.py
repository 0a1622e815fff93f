"""Which floating-point exceptions NumPy may report for a graph."""

from __future__ import annotations

from ..ir.control import bodies
from ..ir.node import Graph
from ..ir.ops.raising import LEFT_OUT, exceptions
from .errstate import NUMBERS, UNCOMPUTED


def may_raise(graph: Graph) -> int:
    """The exceptions that NumPy may report for a prepared graph, as a sum of their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt.ir.build import elementwise, input_node
    >>> from jitrt.ir.types import ArrayType
    >>> x = input_node(0, ArrayType(np.dtype(np.float64), (2,)))
    >>> may_raise(Graph((x,), (elementwise(np.sqrt, x),))) == NUMBERS["under"] + NUMBERS["invalid"]
    True
    """
    found: set[str] = set()
    inner = 0
    for node in graph.nodes():
        for body in bodies(node):
            inner |= may_raise(body)
        found |= exceptions(node)
    return inner | sum(NUMBERS[name] for name in found)


def not_computed(graph: Graph) -> int:
    """The exceptions that NumPy may report for what `graph` does not compute: their numbers, shifted."""
    flags = {name for n in graph.outputs if n.op is LEFT_OUT for name in n["flags"]}
    return sum(NUMBERS[name] for name in flags) << UNCOMPUTED
