"""Inputs whose elements kernels alone can read, since their bytes are swapped, or they are not aligned."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..ir import build as b
from ..ir.node import Graph, Node
from .layout import Layouts


def decoded(graph: Graph, layouts: Layouts) -> Graph:
    """The same graph, in which all but kernels read copies of such inputs in the same order of memory.

    sort x0  →  sort (copy x0)                            where the bytes of x0 are swapped
    sort x0  →  sort (transpose (copy (transpose x0)))    where x0 is in Fortran's order, too
    """
    done: dict[Node, Node] = {}
    for node in graph.inputs:
        if b.encoding_of(node):
            probe = as_strided(np.zeros(1, node.dtype), node.shape, layouts[node].strides)
            strides = np.empty_like(probe).strides
            done[node] = _copied(node, tuple(sorted(range(node.type.ndim), key=lambda axis: -strides[axis])))
    for node in graph.nodes():
        if node not in done:
            args = tuple(done.get(a, a) for a in node.args)
            done[node] = node if args == node.args else Node(node.op, args, node.params, node.type)
    return graph.with_outputs([done[n] for n in graph.outputs])


def _copied(node: Node, axes: tuple[int, ...]) -> Node:
    """A copy that has its axes in this order in memory."""
    if axes == tuple(range(len(axes))):
        return b.copy(node)
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    return b.view("transpose", b.copy(b.view("transpose", node, axes=axes)), axes=back)
