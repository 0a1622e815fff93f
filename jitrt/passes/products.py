"""Contractions of small operands become folds, which fuse with what is around them; operands of others lie as in NumPy.

    t0:f8[5] = einsum[ij,ij->i] x0 x1  →  t0:f8[5] = reduce_add[axes=(1,)] (multiply x0 x1)
    matmul (multiply (transpose x0) 2.0) x1  →  matmul (transpose (multiply x0 2.0)) x1

The order of the additions of a fold is another one, so that results may differ in the last place. Where a value is
decided by that (a comparison, an integer, a rounding), NumPy computes the contraction.
"""

from __future__ import annotations

import numpy as np

from ..ir import build as b
from ..ir.node import Graph, Node
from ..ir.ops.optable import CONSTANT, Kind
from ..ir.rewrite import Rule, rule
from ..ir.types import ArrayType


@rule("matmul dot einsum tensordot", "product with integer zeros → zeros", "of floats it would be nan beside infinity")
def product_of_zeros(n: Node) -> Node | None:
    if n.dtype.kind not in "iu" or not any(map(_is_zero, n.args)):
        return None
    return b.broadcast_to(b.constant(n.dtype.type(0)), n.shape)


def _is_zero(n: Node) -> bool:
    while n.op.name == "broadcast_to":
        (n,) = n.args
    return n.op is CONSTANT and not np.any(n["value"].value)


RULES: tuple[Rule, ...] = (product_of_zeros,)


def fold_products(graph: Graph) -> Graph:
    """The graph with folds in place of contractions."""
    if all(n.op.fold is None for n in graph.nodes()):
        return graph
    decisive = _decisive(graph)

    def folded(old: Node, new: Node) -> Node:
        made = new.op.fold(new) if new.op.fold is not None and old not in decisive else None
        return new if made is None else made

    return graph.mapped(folded)


def _decisive(graph: Graph) -> set[Node]:
    """Values whose last places decide more than last places of others."""
    found: set[Node] = set()
    for n in reversed(graph.nodes()):
        if n in found or n.op.jumps or (n.op.ufunc is None and n.dtype.kind not in "fc"):
            found.update(a for a in n.args if a.dtype.kind in "fc")
    return found


def turn_operands(graph: Graph) -> Graph:
    """The graph with operands of contractions as views of arrays that lie in memory as what they are made from.

    So NumPy makes them: reading and writing go through memory in its order, and BLAS takes either.
    """
    wanted: set[Node] = set()
    for n in reversed(graph.nodes()):
        if n.op.fold is not None or n in wanted:
            wanted.update(a for a in n.args if a.op.kind is Kind.ELEMENTWISE)
    wanted.difference_update(graph.outputs)
    if not wanted:
        return graph
    return graph.mapped(lambda old, new: (_turned(new) if old in wanted else None) or new)


def _turned(n: Node) -> Node | None:
    """An elementwise operation on transposes, the same of all arrays, as a transpose; None if it is another one."""
    arrays = [a for a in n.args if a.type.ndim and a.op.name != "broadcast_to"]
    orders = {a["axes"] if a.op.name == "transpose" and a.type.ndim == n.type.ndim else None for a in arrays}
    axes = orders.pop() if len(orders) == 1 else None
    if axes is None:
        return None
    back = tuple([axes.index(k) for k in range(len(axes))])
    shape = tuple([n.shape[k] for k in back])
    args = tuple([_transposed(a, back) if a.type.ndim else a for a in n.args])
    return b.view("transpose", Node(n.op, args, n.params, ArrayType(n.dtype, shape)), axes=axes)


def _transposed(n: Node, axes: tuple[int, ...]) -> Node:
    """A view with these axes, which of a transpose with the inverse ones is what that is made from."""
    if n.op.name == "transpose":
        return n.args[0]
    if not n.args[0].type.ndim:
        return b.view("broadcast_to", n.args[0], shape=tuple([n.shape[k] for k in axes]))
    return b.view("transpose", n, axes=axes)
