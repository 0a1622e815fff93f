"""Updates as assemblies: an array is written part by part, what it was before first.

update[x[1:3]] x0 v             →  overwrite x0[0:1] x0[3:] v
update[x[1]] (update[x[0]] x v) →  overwrite x v0 v1    (the inner one is not read by anything else)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..ir import build as b
from ..ir.build import literal
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from ..ir.ops.raising import can_raise
from ..ir.ops.updates import (
    UPDATE,
    Box,
    Region,
    are_disjoint,
    box,
    box_index,
    box_size,
    box_view,
    complement,
    overwrite,
    region_between,
    region_shape,
    through,
    write_region,
)
from ..ir.strided import RETYPED
from ..ir.types import ArrayType
from .layout import Layout, contiguous_strides, view_layout

_MOST_BOXES = 4  # kernels for what a region leaves of the array, in place of one that copies all of it
_COVERAGE_ELEMENTS = 1 << 22  # of an array whose coverage by regions is found by marking them
_COMPARED_PARTS = 64  # above, comparing all pairs of parts costs more than running them one after the other


def lower_updates(graph: Graph) -> Graph:
    """Replace every update that kernels can make by an assembly of parts.

    What nothing is left of is not computed, unless that may raise.
    """
    dropped: list[Node] = []
    lowered = _lowered(graph, frozenset(), dropped)
    if dropped:
        read = frozenset(lowered.nodes())
        raising = [n for n in dropped if any(map(can_raise, topological_order((n,), read)))]
        if raising:
            return _lowered(graph, frozenset(raising), [])
    return lowered


def _lowered(graph: Graph, raising: frozenset[Node], dropped: list[Node]) -> Graph:
    """The graph without updates; those `raising` are written before they are overwritten, others noted as `dropped`."""
    order = graph.nodes()
    writable = {n for n in order if n.op is UPDATE and _is_writable(n)}
    if not writable:
        return graph
    users: dict[Node, list[Node]] = {}
    for node in order:
        for arg in node.args:
            users.setdefault(arg, []).append(node)
    outputs = set(graph.outputs)

    def is_absorbed(node: Node) -> bool:
        """Whether an update is only there to be updated again."""
        found = users.get(node, [])
        continued = len(found) == 1 and found[0] in writable and found[0].args[0] is node
        return continued and node in writable and node not in outputs

    done: dict[Node, Node] = {}
    for node in order:
        if is_absorbed(node):
            continue
        if node not in writable:
            done[node] = node.with_args(tuple([done[a] for a in node.args]))
            continue
        chain = [node]
        while is_absorbed(chain[-1].args[0]):
            chain.append(chain[-1].args[0])
        values = [done[n.args[1]] for n in reversed(chain)]
        regions = [n["region"] for n in reversed(chain)]
        old = done[chain[-1].args[0]]
        kept = [(v, r) for v, r in zip(values, regions) if v.type.size]
        remains = _what_remains(node.type, old, [r for _, r in kept]) if kept else []
        if kept and not remains and old in raising:
            remains = [(old, ())]
        elif kept and not remains:
            dropped.append(old)
        parts = remains + kept
        done[node] = overwrite(node.type, [v for v, _ in parts], [r for _, r in parts]) if kept else old
    return graph.with_outputs(done[n] for n in graph.outputs)


def _is_writable(node: Node) -> bool:
    """Whether strides lead to the region of an update in a contiguous array."""
    layout: Layout | None = Layout(node, 0, contiguous_strides(node.shape, node.dtype.itemsize))
    for k in range(len(node["region"])):
        assert layout is not None
        layout = view_layout(through(node, node["region"][: k + 1]), layout)
        if layout is None:
            return False
    return True


def _what_remains(type: ArrayType, old: Node, regions: list[Region]) -> list[tuple[Node, Region]]:
    """Parts of the array as it was: nothing if the regions cover it, what they leave of it, or all of it."""
    boxes = [box(r, type.shape) for r in regions]
    if _covers(type, regions, boxes):
        return []
    if len(boxes) == 1 and boxes[0] is not None:
        rest = complement(boxes[0], type.shape, _MOST_BOXES)
        if rest is not None and literal(old) is not None:
            fill = b.constant(literal(old))
            return [(b.broadcast_to(fill, v.shape), region_between(v, old)) for v in (box_view(old, r) for r in rest)]
        if rest is not None and _is_in_memory(old):
            return [(v, region_between(v, old)) for v in (box_view(old, r) for r in rest)]
    return [(old, ())]


def _is_in_memory(node: Node) -> bool:
    """Whether a view of `node` needs no copy that would not be there anyway."""
    base = base_of(node)
    return base.op.kind is not Kind.ELEMENTWISE and base.op.name != "constant"


def _covers(type: ArrayType, regions: list[Region], boxes: list[Box | None]) -> bool:
    sizes = [math.prod(region_shape(r, type.shape)) for r in regions]
    parts = [r for r in regions if not any(name in RETYPED for name, *_ in r)]
    if len(parts) < len(regions) or sum(sizes) < type.size:
        return False
    if any(found is not None and box_size(found) == type.size for found in boxes):
        return True
    found = [k for k in boxes if k is not None]
    # Of axes that all boxes span, whatever their extents are, one element tells as much as all do.
    spanned = [len(found) == len(boxes) and all(f[k] == (0, 1, n) for f in found) for k, n in enumerate(type.shape)]
    shape = [1 if whole else n for whole, n in zip(spanned, type.shape)]
    if math.prod(shape) > _COVERAGE_ELEMENTS:
        return False
    marks = np.zeros(shape, np.bool_)
    for region in regions if len(found) < len(boxes) else ():
        write_region(marks, region, np.True_)
    for index in map(box_index, found) if len(found) == len(boxes) else ():
        marks[tuple(slice(None) if whole else slice(*item) for whole, item in zip(spanned, index))] = True
    return bool(marks.all())


def orderings(node: Node) -> Iterator[tuple[int, int]]:
    """Pairs of parts of an assembled array of which the first has to be written before the second."""
    regions = node.kwargs.get("regions", ())
    if len(regions) > _COMPARED_PARTS:
        yield from ((k, k + 1) for k in range(len(regions) - 1))
        return
    boxes = [box(r, node.shape) for r in regions]
    for later, second in enumerate(boxes):
        for earlier, first in enumerate(boxes[:later]):
            if first is None or second is None or not are_disjoint(first, second):
                yield earlier, later
