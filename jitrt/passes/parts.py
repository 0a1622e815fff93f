"""Elementwise operations on assembled arrays, done part by part, so that the assembled arrays need no memory.

    roll(x, 1) + y   →   assemble(x[-1:] + y[:1], x[:-1] + y[1:])

The domain is cut where any of the assembled operands is cut. Within a cell of that grid each of them is a piece of one
of its parts, so a periodic stencil written with `roll`, or one on a padded array, reads its input in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ..base.frozen import frozen
from ..ir import build as b
from ..ir.build import literal
from ..ir.node import Graph, Node
from ..ir.ops.assembly import ASSEMBLE, assemble
from ..ir.ops.movement import decode_index
from ..ir.ops.optable import Kind
from ..ir.ops.raising import can_raise
from ..ir.strided import positions
from ..ir.types import ArrayType

_LEAST_BYTES = 1 << 15  # of an assembled array: less stays in the first-level cache, and kernels take time to compile
_MOST_CELLS = 27
_MOST_NODES = 200  # in all cells together

Box = tuple[tuple[int, int], ...]


@frozen
class _Piece:
    """Where in a domain a part lies, and the position of the domain's origin in the coordinates of the part."""

    box: Box
    part: Node
    origin: tuple[int, ...]


def split_assemblies(graph: Graph) -> Graph:
    """`graph` with its elementwise operations on assembled arrays done part by part."""
    order = graph.nodes()
    if not any(n.op is ASSEMBLE for n in order):
        return graph
    done: dict[Node, Node] = {}
    trees = _trees(order, frozenset(graph.outputs))
    cells = {root: found for root, tree in trees.items() if (found := _cells(root, tree)) is not None}
    if not cells:
        return graph
    for node in order:
        done[node] = node.with_args(tuple([done[a] for a in node.args]))
        if node in cells:
            parts = [_in_cell(node, trees[node], box, pieces, done) for box, pieces in cells[node]]
            done[node] = assemble(node.shape, parts, [tuple(low for low, _ in box) for box, _ in cells[node]])
    split = graph.with_outputs(done[n] for n in graph.outputs)
    read = frozenset(split.nodes())
    by_parts = {n for root in cells for n in trees[root]}
    lost = any(can_raise(n) and done[n] not in read for n in order if n not in by_parts)
    return graph if lost else split  # what nobody reads of an assembled array is computed, too


def _trees(order: Sequence[Node], outputs: frozenset[Node]) -> dict[Node, set[Node]]:
    """Elementwise nodes by the last of them: all that only it needs, directly or not."""
    users: dict[Node, list[Node]] = {}
    for node in order:
        for arg in node.args:
            users.setdefault(arg, []).append(node)
    root_of: dict[Node, Node] = {}
    trees: dict[Node, set[Node]] = {}
    for node in reversed(order):
        if node.op.kind is not Kind.ELEMENTWISE or literal(node) is not None:
            continue
        roots = {root_of.get(u) for u in users.get(node, [])}
        inner = node not in outputs and len(roots) == 1 and None not in roots
        root = next(iter(roots)) if inner else node
        assert root is not None
        root_of[node] = root
        trees.setdefault(root, set()).add(node)
    return trees


def _cells(root: Node, tree: set[Node]) -> list[tuple[Box, dict[Node, _Piece]]] | None:
    """The cells that the domain of `root` is cut into, and the pieces of assembled operands there."""
    leaves = {a for n in tree for a in n.args if a not in tree}
    pieces = {leaf: found for leaf in leaves if len(found := list(_pieces(leaf))) > 1}
    if not pieces or root.type.nbytes < _LEAST_BYTES:
        return None
    cuts = [{0, extent} for extent in root.shape]
    for piece in itertools.chain(*pieces.values()):
        for axis, bounds in enumerate(piece.box):
            cuts[axis].update(bounds)
    grid = [list(itertools.pairwise(sorted(c))) for c in cuts]
    count = int(np.prod([len(g) for g in grid]))
    if count > _MOST_CELLS or count * len(tree) > _MOST_NODES:
        return None
    return [
        (box, {leaf: next(p for p in found if _contains(p.box, box)) for leaf, found in pieces.items()})
        for box in itertools.product(*grid)
    ]


def _contains(outer: Box, inner: Box) -> bool:
    return all(low <= a and z <= high for (low, high), (a, z) in zip(outer, inner))


def _pieces(node: Node) -> Iterator[_Piece]:
    """The parts that `node` is made of; `node` itself, if it is not assembled."""
    whole = tuple((0, n) for n in node.shape)
    if node.op is ASSEMBLE:
        for part, start in zip(node.args, node["starts"]):
            for piece in _pieces(part):
                box = tuple((low + s, high + s) for (low, high), s in zip(piece.box, start))
                yield _Piece(box, piece.part, tuple(o - s for o, s in zip(piece.origin, start)))
        return
    first = _unit_slices(node)
    if first is None:
        yield _Piece(whole, node, (0,) * len(whole))
        return
    for piece in _pieces(node.args[0]):
        box = tuple((max(low - s, 0), min(high - s, n)) for (low, high), s, n in zip(piece.box, first, node.shape))
        if all(low < high for low, high in box):
            yield _Piece(box, piece.part, tuple(o + s for o, s in zip(piece.origin, first)))


def _unit_slices(node: Node) -> tuple[int, ...] | None:
    """Where the slices of a view begin, if it has nothing but slices in steps of one."""
    if node.op.name != "getitem":
        return None
    index = decode_index(node["index"])
    if not all(isinstance(i, slice) for i in index):
        return None
    full = (*index, *(slice(None),) * (node.args[0].type.ndim - len(index)))
    bounds = [positions(i.start, i.stop, i.step, n) for i, n in zip(full, node.args[0].shape)]
    return tuple(start for start, _, _ in bounds) if all(step == 1 for _, step, _ in bounds) else None


def _in_cell(root: Node, tree: set[Node], box: Box, pieces: dict[Node, _Piece], done: dict[Node, Node]) -> Node:
    """What `root` is in one cell."""
    shape = tuple(high - low for low, high in box)
    known: dict[Node, Node] = {}

    def leaf(node: Node) -> Node:
        piece = pieces.get(node)
        if piece is None:
            return _sliced(done[node], box, (0,) * len(box))
        return _sliced(done[piece.part], box, piece.origin)

    stack = [root]
    while stack:
        node = stack[-1]
        pending = [a for a in node.args if a not in known and a in tree]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        for arg in node.args:
            if arg not in known:
                known[arg] = leaf(arg)
        known[node] = Node(node.op, tuple(known[a] for a in node.args), node.params, ArrayType(node.dtype, shape))
    return known[root]


def _sliced(node: Node, box: Box, origin: tuple[int, ...]) -> Node:
    """The piece of `node` at `box` of a domain whose origin is at `origin` of the node."""
    if literal(node) is not None:
        return b.broadcast_to(b.constant(literal(node)), tuple(high - low for low, high in box))
    bounds = [(low + o, high + o) for (low, high), o in zip(box, origin)]
    if all(bound == (0, n) for bound, n in zip(bounds, node.shape)):
        return node
    return b.view("getitem", node, index=tuple((low, high, None) for low, high in bounds))
