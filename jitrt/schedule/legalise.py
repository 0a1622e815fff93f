"""Making a graph schedulable: copies where memory demands them, folds in two stages, empty folds."""

from __future__ import annotations

import math

import numpy as np

from ..expr import build as b
from ..expr.node import Graph, Node
from ..expr.optable import Kind, Op, row
from ..expr.reductions import FOLD_IDENTITY
from ..expr.rewrite import Rule, rewrite, rule
from ..expr.types import ArrayType
from .layout import Layouts, contiguous_strides

BLOCK = 1 << 15  # elements of one block of a fold over everything; fixed, so that results do not depend on threads


def _partial(op: Op) -> Op:
    def compute(x: np.ndarray, axes: tuple[int, ...], block: int) -> np.ndarray:
        flat = np.ravel(x)
        return np.stack([op.ufunc.reduce(flat[k : k + block]) for k in range(0, flat.size, block)])  # type: ignore[union-attr]

    partial = row(Op(f"partial_{op.name}", Kind.REDUCTION, numpy=compute, ufunc=op.ufunc))
    FOLD_IDENTITY[partial] = FOLD_IDENTITY[op]
    return partial


PARTIAL: dict[Op, Op] = {op: _partial(op) for op in list(FOLD_IDENTITY)}


def legalise(graph: Graph, layouts: Layouts) -> Graph:
    """A graph in which every view has a layout, and every output is a computed array of its own.

    reshape(transpose(x0))  →  reshape(copy(transpose(x0)))
    reduce_add[axes=(0,)] x  →  reduce_add[axes=(0,)] partial_reduce_add[block=32768] x    (over more than one block)
    """
    graph = rewrite(graph, (_empty_fold, *_two_stages(layouts), _copied_reshape(layouts)))
    outputs: list[Node] = []
    for output in graph.outputs:
        computed = output.op.kind in (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.ASSEMBLE, Kind.HOST)
        outputs.append(output if computed and output not in outputs else b.copy(output))
    return graph.with_outputs(outputs)


@rule("*", "fold over nothing → its neutral element", "NumPy's definition")
def _empty_fold(n: Node) -> Node | None:
    if n.op.kind is not Kind.REDUCTION or n.args[0].type.size:
        return None
    return b.broadcast_to(b.constant(FOLD_IDENTITY[n.op](n.dtype)), n.shape)


def _copied_reshape(layouts: Layouts) -> Rule:
    @rule("reshape", "reshape of a strided view → reshape of a copy", "the same elements in the same order")
    def apply(n: Node) -> Node | None:
        if layouts.find(n) is not None:
            return None
        return Node(n.op, (b.copy(n.args[0]),), n.params, n.type)

    return apply


def _two_stages(layouts: Layouts) -> tuple[Rule, ...]:
    @rule(
        "*",
        "fold over everything → fold of partial folds",
        "associative up to rounding; the tree is fixed by the shape",
    )
    def apply(n: Node) -> Node | None:
        if n.op not in PARTIAL or n.shape != () or n.args[0].type.size <= BLOCK:
            return None
        (x,) = n.args
        if _is_flat(x, layouts):
            blocks = math.ceil(x.type.size / BLOCK)
            type_ = ArrayType(x.dtype, (blocks,))
            first = Node(PARTIAL[n.op], (x,), b.params(axes=n["axes"], block=BLOCK), type_)
        elif x.type.ndim > 1 and x.shape[0] > 1:
            first = Node(n.op, (x,), b.params(axes=tuple(range(1, x.type.ndim))), ArrayType(x.dtype, x.shape[:1]))
        else:
            return None
        return Node(n.op, (first,), b.params(axes=(0,)), n.type)

    return (apply,)


def _is_flat(x: Node, layouts: Layouts) -> bool:
    """Whether all operands that `x` is computed from are traversed in one stride."""
    stack, seen = [x], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op.kind is Kind.ELEMENTWISE:
            stack.extend(node.args)
            continue
        layout = layouts.find(node)
        if layout is None or (
            any(layout.strides) and layout.strides != contiguous_strides(node.shape, node.dtype.itemsize)
        ):
            return False
    return True
