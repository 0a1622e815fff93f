"""Which floating-point exceptions NumPy may report for a graph."""

from __future__ import annotations

import numpy as np

from ..expr.build import literal
from ..expr.control import bodies
from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.pythonnumbers import is_python
from ..expr.ufuncs import elementwise_op
from .errstate import NUMBERS


def may_raise(graph: Graph) -> int:
    """The exceptions that NumPy may report for a prepared graph, as a sum of their numbers.

    Examples
    --------
    >>> from jitrt.expr.build import elementwise, input_node
    >>> from jitrt.expr.types import ArrayType
    >>> x = input_node(0, ArrayType(np.dtype(np.float64), (2,)))
    >>> may_raise(Graph((x,), (elementwise(np.sqrt, x),))) == NUMBERS["under"] + NUMBERS["invalid"]
    True
    """
    found: set[str] = set()
    inner = 0
    for node in graph.nodes():
        for body in bodies(node):
            inner |= may_raise(body)
        operands = tuple(a.dtype for a in node.args)
        op = node.op
        if op.kind is Kind.HOST and not is_python(op) and any(t.kind in "fc" for t in (*operands, node.dtype)):
            found |= NUMBERS.keys()
        row = elementwise_op(op.ufunc) if op.ufunc is not None else op
        if not row.raises(operands) <= found:
            found |= row.raises(operands, beside_a_number=any(map(_is_a_number, node.args)))
    return inner | sum(NUMBERS[name] for name in found)


def _is_a_number(node: Node) -> bool:
    """Whether `node` is known to be a finite real number other than zero."""
    value = literal(node)
    return value is not None and value.dtype.kind in "biuf" and value != 0 and bool(np.isfinite(value))
