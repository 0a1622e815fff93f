"""Making a graph schedulable: copies where memory demands them, folds in two stages, empty folds."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..ir import build as b
from ..ir.extents import ceiling
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.folds import FOLD_IDENTITY
from ..ir.ops.indexing import gathered_indices
from ..ir.ops.optable import Kind, Op, row
from ..ir.ops.ufuncs import COPY
from ..ir.ops.updates import overwrite
from ..ir.rewrite import Rule, of_kind, rewrite, rule
from ..ir.types import ArrayType
from .assignments import lower_updates
from .cost import RECOMPUTED_COST, columns_of_a_turn
from .layout import Layouts, contiguous_strides

BLOCK = 1 << 15  # elements of one block of a fold; blocks follow from the shape, so results do not depend on threads
_LEAST_ROWS = 16  # of a block: fewer would make the partial results a noticeable part of the traffic
_LEAST_BLOCKS = 4  # that are worth a second stage
_MUCH = 4 * BLOCK  # elements that are worth several threads
_ENOUGH_ROWS = 32  # kept rows in front of a fold give every thread work without blocks


def _partial(op: Op) -> Op:
    def compute(x: np.ndarray, axes: tuple[int, ...], blocked: tuple[int, ...], blocks: int) -> np.ndarray:
        rest = tuple(k for k in range(x.ndim) if k not in blocked)
        folded = tuple(1 + rest.index(k) for k in axes if k not in blocked)
        flat = np.transpose(x, (*blocked, *rest)).reshape(-1, *(x.shape[k] for k in rest))
        step = math.ceil(len(flat) / blocks)
        pieces = (flat[k : k + step] for k in range(0, len(flat), step))
        return np.stack([op.ufunc.reduce(p, axis=(0, *folded), dtype=x.dtype) for p in pieces])  # type: ignore[union-attr]

    partial = row(Op(f"partial_{op.name}", Kind.REDUCTION, numpy=compute, ufunc=op.ufunc))
    FOLD_IDENTITY[partial] = FOLD_IDENTITY[op]
    return partial


PARTIAL: dict[Op, Op] = {op: _partial(op) for op in list(FOLD_IDENTITY) if op.kind is Kind.REDUCTION}


def legalise(graph: Graph, layouts: Layouts) -> Graph:
    """A graph in which every view has a layout, and every output is a computed array of its own.

    reshape(transpose(x0))  →  reshape(copy(transpose(x0)))
    reduce_add[axes=(0,)] x  →  reduce_add[axes=(0,)] partial_reduce_add[blocked=(0,) blocks=31] x    (few kept rows)
    """
    graph = rewrite(graph, (_empty_fold, *_two_stages(layouts, _users(graph)), _copied_reshape(layouts)))
    lowered = lower_updates(graph)
    # Where an update of nothing is gone, what was updated is read in its own strides.
    graph = graph if lowered is graph else rewrite(lowered, (_copied_reshape(layouts),))
    outputs: list[Node] = []
    for output in (_stored_reshaped(n, layouts) for n in graph.outputs):
        computed = output.op.kind not in (Kind.SOURCE, Kind.VIEW, Kind.CONTROL)
        is_own = computed and (output not in outputs or output.op.kind is Kind.CHECK)  # a check is no array
        outputs.append(output if is_own else b.copy(output))
    return graph.with_outputs(outputs)


def _stored_reshaped(output: Node, layouts: Layouts) -> Node:
    """Elements that are computed in one shape and returned in another are stored where they are returned.

    reshape(multiply(x, y))  →  overwrite[regions=(reshape,)] multiply(x, y)
    """
    view = output.args[0] if output.op is COPY else output
    layout = layouts.find(view) if view.op.kind is Kind.VIEW else None
    if layout is None or layout.base.op.kind not in (Kind.ELEMENTWISE, Kind.SCAN, Kind.GATHER):
        return output
    strides = contiguous_strides(view.shape, view.dtype.itemsize)
    in_order = all(s == t or n == 1 for s, t, n in zip(layout.strides, strides, view.shape))
    if not in_order or layout.base.type.nbytes != view.type.nbytes or layout.base.dtype != view.dtype:
        return output
    as_computed = ("reshape", b.params(shape=layout.base.shape), layout.base.type)
    return overwrite(ArrayType(output.dtype, output.shape), [layout.base], [(as_computed,)])


@rule(of_kind(Kind.REDUCTION), "fold over nothing → its neutral element", "NumPy's definition")
def _empty_fold(n: Node) -> Node | None:
    if n.args[0].type.size:
        return None
    return b.broadcast_to(b.constant(FOLD_IDENTITY[n.op](n.dtype)), n.shape)


def _copied_reshape(layouts: Layouts) -> Rule:
    @rule("reshape", "reshape of a strided view → reshape of a copy", "the same elements in the same order")
    def apply(n: Node) -> Node | None:
        if layouts.find(n) is not None:
            return None
        return Node(n.op, (b.copy(n.args[0]),), n.params, n.type)

    return apply


def _users(graph: Graph) -> Counter[Node]:
    """How many nodes use each node."""
    return Counter(a for n in graph.nodes() for a in set(n.args))


def _two_stages(layouts: Layouts, users: Counter[Node]) -> tuple[Rule, ...]:
    flat: dict[Node, bool] = {}

    @rule(
        lambda op: op in PARTIAL,
        "fold of much into little → fold of partial folds",
        "associative up to rounding; the shape fixes the tree",
    )
    def apply(n: Node) -> Node | None:
        if n.args[0].type.size <= BLOCK:
            return None
        (x,) = n.args
        found = _blocks(n, layouts, users, flat)
        if found is None:
            return None
        blocked, blocks = found
        first = Node(
            PARTIAL[n.op],
            (x,),
            b.params(axes=n["axes"], blocked=blocked, blocks=blocks),
            ArrayType(x.dtype, (blocks, *n.shape)),
        )
        return Node(n.op, (first,), b.params(axes=(0,)), n.type)

    return (apply,)


def _blocks(
    n: Node, layouts: Layouts, users: Counter[Node], flat: dict[Node, bool]
) -> tuple[tuple[int, ...], int] | None:
    """The axes that a fold is cut along, and the number of blocks; None if the kept rows are enough to share out."""
    (x,) = n.args
    if n.shape == () and _is_flat(x, layouts, flat):
        return n["axes"], _even(x.type.size, BLOCK)
    if x.type.size <= _MUCH:
        return None
    order = _traversal(_leaves(x), layouts)
    if _are_few_rows(x, n["axes"], order) and not (users[x] > 1 and _cost(x) > RECOMPUTED_COST):
        return None  # turns take columns, unless they would write rows that are read again
    rows = 1
    for axis in order:
        extent = x.shape[axis]
        if axis not in n["axes"]:
            rows *= extent
            continue
        if rows >= _ENOUGH_ROWS:
            return None
        blocks = _even(extent, max(_LEAST_ROWS, ceiling(BLOCK * extent, x.type.size)))
        if blocks >= _LEAST_BLOCKS:
            return (axis,), blocks
    return None


def _are_few_rows(x: Node, folded: tuple[int, ...], order: list[int]) -> bool:
    """Whether the folded axes are the outer ones, and so short that threads, and turns, rather take columns."""
    if set(order[: len(folded)]) != set(folded) or len(folded) == x.type.ndim:
        return False
    rows = math.prod(x.shape[k] for k in folded)
    columns = math.prod(x.shape[k] for k in order[len(folded) :])
    return columns_of_a_turn(rows * x.dtype.itemsize, columns, x.dtype.itemsize, columns) > 0


def _cost(x: Node) -> int:
    """Additions that an element of `x` takes from what is stored, as far as it matters."""
    cost, stack, seen = 0, [x], {x}
    while stack and cost <= RECOMPUTED_COST:
        node = stack.pop()
        if node.op.kind is Kind.ELEMENTWISE:
            cost += node.op.cost
            stack.extend(a for a in node.args if a not in seen)
            seen.update(node.args)
    return cost


def _even(extent: int, block: int) -> int:
    """The number of blocks of some `block` elements that divide `extent` without an empty one."""
    return ceiling(extent, ceiling(extent, ceiling(extent, block)))


def _leaves(x: Node) -> list[Node]:
    """The stored nodes that `x` is computed from."""
    leaves, stack, seen = [], [x], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op.kind is Kind.ELEMENTWISE:
            stack.extend(node.args)
            continue
        leaves.append(node)
        if node.op.kind is Kind.GATHER:
            stack.extend(gathered_indices(node))
    return leaves


def _traversal(leaves: list[Node], layouts: Layouts) -> list[int]:
    """Axes from long strides to short ones in the largest of `leaves`."""

    def volume(leaf: Node) -> int:
        return leaf.dtype.itemsize * math.prod(n for n, s in zip(leaf.shape, _strides(leaf, layouts)) if s)

    strides = _strides(max(leaves, key=volume), layouts)
    return sorted(range(len(strides)), key=lambda k: -abs(strides[k]))


def _strides(leaf: Node, layouts: Layouts) -> tuple[int, ...]:
    layout = layouts.find(leaf)
    return contiguous_strides(leaf.shape, leaf.dtype.itemsize) if layout is None else layout.strides


def _is_flat(x: Node, layouts: Layouts, known: dict[Node, bool]) -> bool:
    """Whether all stored nodes that `x` is computed from are traversed in one stride; nodes are asked once."""
    for node in topological_order((x,), known):
        if node.op.kind is Kind.ELEMENTWISE:
            known[node] = all(known[a] for a in node.args)
        else:
            indices = gathered_indices(node) if node.op.kind is Kind.GATHER else ()
            known[node] = _is_flat_leaf(node, layouts) and all(known[i] for i in indices)
    return known[x]


def _is_flat_leaf(leaf: Node, layouts: Layouts) -> bool:
    """Whether a stored node is traversed in one stride."""
    if leaf.op.kind is Kind.GATHER and any(s >= 0 for s in leaf["source"]):
        return False
    layout = layouts.find(leaf)
    return layout is not None and (
        not any(layout.strides) or layout.strides == contiguous_strides(leaf.shape, leaf.dtype.itemsize)
    )


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
            done[node] = node.with_args(tuple(done.get(a, a) for a in node.args))
    return graph.with_outputs([done[n] for n in graph.outputs])


def _copied(node: Node, axes: tuple[int, ...]) -> Node:
    """A copy that has its axes in this order in memory."""
    if axes == tuple(range(len(axes))):
        return b.copy(node)
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    return b.view("transpose", b.copy(b.view("transpose", node, axes=axes)), axes=back)
