"""The axes of a nest: which memory is touched along them, in what order they run, and which of them are one loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..base.frozen import frozen
from ..ir.build import literal
from ..ir.node import Node
from ..ir.ops.indexing import gathered_indices
from ..ir.ops.optable import Kind
from ..ir.ops.updates import through
from .groups import Group, Sink
from .layout import Layout, Layouts
from .tiles import crossing_axis

SHORT_FOLD = 16  # an inner fold over fewer elements costs more in loop overhead than in work
_SHORT_COSTLY_FOLD = 8  # and over fewer where elementary functions are computed, which rather run along memory
_COSTLY = 16  # additions: the cost of an elementary function
_DIVISION = 6  # of a division
UNROLLED = 7  # turns at most of an innermost loop that is unrolled, so that the loop around it makes vectors
_UNROLLED_ALWAYS = 4  # up to so many, whatever lies between the rows
_PICKED = 8  # neighbours at most that LLVM picks from vectors, gaps between rows among them
_NARROW = 4  # bytes: of wider elements LLVM picks none where there are gaps, and 7 at most
_UNROLLED_COST = 96  # additions of all turns together: the size of the code
_LONG = 32  # turns of a loop that makes vectors
SHORT_ROW = 8  # so does an inner loop over fewer kept elements


@frozen
class NestAxis:
    """An axis of the domain of a group."""

    extent: int
    folded: bool
    strides: tuple[int, ...]  # in bytes, one for each access
    blocked: bool = False  # whether another axis counts blocks of this one
    block: int = 0  # length of a block, if the blocks are turns of a shared loop
    scanned: bool = False
    unrolled: bool = False  # whether code is emitted for every turn
    counts: bool = False  # whether its turns are parts of axes that are inside
    window: tuple[int, int] | None = None  # the indices that an index 0 of what is stored in the end needs
    slides: bool = False  # whether turns of another axis step along this one


@frozen
class Access:
    """A place where the nest touches memory: the layout along the axes of the domain.

    `node` is what is stored or read there, for a gather the gather; `indexed` are the strides of its indices.
    `turn` is the stride, in bytes, along the blocked axis of memory that is local to a turn; 0 for other memory.
    `ring`, of memory that holds but a few rows, is what is added to the number of a row, and how many there are.
    """

    node: Node
    layout: Layout
    written: bool
    is_local: bool = False
    turn: int = 0
    indexed: tuple[int, ...] = ()
    ring: tuple[int, int] | None = None


def expressions(group: Group, inlined: Callable[[Node], bool]) -> tuple[list[Node], list[Node], list[Node]]:
    """Nodes that the nest computes, operands before users, the stored nodes that it reads, and its gathers."""
    order: list[Node] = []
    leaves: list[Node] = []
    gathers: list[Node] = []
    own = {s.into for s in group.sinks}
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(s.value, False) for s in reversed(group.sinks)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        if literal(node) is not None:
            order.append(node)
        elif inlined(node) and (node in own or node not in group.loads):
            stack.append((node, True))
            operands = node.args
            if node.op.kind is Kind.GATHER:
                gathers.append(node)
                operands = gathered_indices(node)
            stack.extend((a, False) for a in reversed(operands))
        else:
            leaves.append(node)
            order.append(node)
    return order, leaves, gathers


def accesses_of(group: Group, leaves: Sequence[Node], gathers: Sequence[Node], layouts: Layouts) -> list[Access]:
    """Where a group touches memory: what its sinks write, what it reads, and what it gathers from."""
    written = [sink_access(s, layouts, s.folded_axes) for s in group.sinks]
    read = [Access(n, layouts[n], False) for n in leaves]
    return [*written, *read, *(_gather_access(n, layouts) for n in gathers)]


def _gather_access(gather: Node, layouts: Layouts) -> Access:
    """Strides along the axes of the domain that are axes of the source, too, and strides of the indices."""
    layout = layouts[gather.args[0]]
    strides = [0] * gather.type.ndim
    indexed = [0] * len(gathered_indices(gather))
    for axis, stride in zip(gather["source"], layout.strides):
        if axis < 0:
            indexed[-1 - axis] += stride
        else:
            strides[axis] += stride
    return Access(gather, Layout(layout.base, layout.offset, tuple(strides)), False, indexed=tuple(indexed))


def loop_order(group: Group, accesses: list[Access]) -> list[int]:
    """Axes of the domain with more than one element, those of long strides first."""
    domain, folded, _ = group.kind
    number = {}
    axes = []
    for k, extent in enumerate(domain):
        if extent != 1:
            axes.append(NestAxis(extent, k in folded, tuple(a.layout.strides[k] for a in accesses)))
            number[id(axes[-1])] = k
    return [number[id(a)] for a in by_strides(axes, accesses)]


def sink_access(sink: Sink, layouts: Layouts, folded: tuple[int, ...]) -> Access:
    if sink.region is not None:
        target = through(sink.into, sink.region)
        return Access(target, layouts[target], True)
    layout = layouts[sink.into]
    if sink.start:
        offset = sum(s * t for s, t in zip(sink.start, layout.strides))
        layout = Layout(layout.base, layout.offset + offset, layout.strides)
    elif sink.folded_axes:
        kept = iter(layout.strides[1:] if sink.is_partial else layout.strides)
        strides = tuple(0 if k in folded else next(kept) for k in range(len(sink.domain)))
        layout = Layout(layout.base, layout.offset, strides)
    return Access(sink.into, layout, True)


def block_strides(sinks: list[Sink], accesses: int) -> tuple[int, ...]:
    """Strides of the axis of blocks: only the partial folds depend on it."""
    own = tuple(s.into.type.nbytes // s.into.shape[0] if s.is_partial else 0 for s in sinks)
    return own + (0,) * (accesses - len(own))


def by_strides(axes: list[NestAxis], accesses: list[Access]) -> list[NestAxis]:
    """Axes with long strides first, as NumPy's iterator sorts them; the largest arrays decide, written ones first."""
    priority = sorted(range(len(accesses)), key=lambda k: (-_volume(accesses[k], axes, k), not accesses[k].written, k))

    def outer_first(a: NestAxis, b: NestAxis) -> bool:
        for k in priority:
            x, y = abs(a.strides[k]), abs(b.strides[k])
            if x and y and x != y:
                return x > y
        return True

    result: list[NestAxis] = []
    for axis in axes:
        place = len(result)
        while place and not outer_first(result[place - 1], axis):
            place -= 1
        result.insert(place, axis)
    return result


def _volume(access: Access, axes: list[NestAxis], k: int) -> int:
    """Bytes that an access covers."""
    return access.node.dtype.itemsize * math.prod(a.extent for a in axes if a.strides[k])


def coalesced(axes: list[NestAxis]) -> list[NestAxis]:
    """Neighbouring axes that all accesses traverse as one become one."""
    result: list[NestAxis] = []
    for axis in axes:
        outer = result[-1] if result else None
        if (
            outer is not None
            and outer.folded == axis.folded
            and (outer.blocked == axis.blocked or (outer.block and not axis.blocked))
            and not (outer.scanned or axis.scanned)
            and all(s == t * axis.extent for s, t in zip(outer.strides, axis.strides))
        ):
            extent, block = outer.extent * axis.extent, outer.block * axis.extent
            result[-1] = NestAxis(extent, axis.folded, axis.strides, outer.blocked, block)
        else:
            result.append(axis)
    return result


def arranged(
    axes: list[NestAxis], cost: int, hardest: int, in_registers: bool = False, unrolled: bool = False
) -> tuple[list[NestAxis], str]:
    """The final order, and the form of the nest, whose elements cost so many additions, the hardest operation so many.

    ``elementwise``: no folds. ``tiles``: no folds, the last two axes in tiles.
    ``rows``: folded axes innermost, folded in registers. ``columns``: one kept axis
    innermost, folded into memory, which vectorises across the kept elements, unless folds have to be `in_registers`.
    ``turned``: a short axis around a long one, in tiles, though memory runs along the short one: folds into memory, or
    none.
    """
    kept = [a for a in axes if not a.folded]
    folded = [a for a in axes if a.folded]
    if not folded:
        if len(axes) > 1 and not unrolled and _is_short_and_costly(axes[-1], hardest) and _runs_across(*axes[:-3:-1]):
            return [*axes[:-2], axes[-1], axes[-2]], "turned"
        crossing = crossing_axis([a.extent for a in axes], list(zip(*(a.strides for a in axes))))
        if crossing is None or any(a.blocked for a in axes):  # a block of rows is a tile's height already
            return axes, "elementwise"
        return [*axes[:crossing], *axes[crossing + 1 : -1], axes[crossing], axes[-1]], "tiles"
    if not kept or in_registers:
        return kept + folded, "rows"

    def turns() -> bool:
        return len(folded) == 1 and not folded[0].blocked and _runs_across(folded[0], kept[-1])

    if axes[-1].folded:
        length = math.prod(a.extent for a in folded)
        short_fold = not unrolled and length < SHORT_FOLD and kept[-1].extent >= SHORT_FOLD
        short_fold = short_fold and (length < _SHORT_COSTLY_FOLD or cost < _COSTLY or turns())
        form = "columns" if short_fold else "rows"
    else:
        short_row = kept[-1].extent < SHORT_ROW and math.prod(a.extent for a in folded) > kept[-1].extent
        form = "rows" if short_row and not unrolled else "columns"
    if form == "rows":
        return kept + folded, form
    if turns():
        form = "turned"
    return kept[:-1] + folded + kept[-1:], form


def _is_short_and_costly(inner: NestAxis, hardest: int) -> bool:
    """Whether elements of an inner loop that fill no vector cost more than to transpose what they touch."""
    return inner.extent < SHORT_FOLD if hardest >= _COSTLY else inner.extent < SHORT_ROW and hardest >= _DIVISION


def _runs_across(short: NestAxis, long: NestAxis) -> bool:
    """Whether all that an element touches along `short` lies within a step along `long`, which has a tile's length."""
    along = [(abs(s), abs(t)) for s, t in zip(short.strides, long.strides) if s and t]
    return bool(along) and all(s < t for s, t in along) and long.extent >= _LONG


def crossing(axes: list[NestAxis]) -> tuple[list[NestAxis], str]:
    """The order and the form of a nest that folds columns and rows: the rows, along the only kept axis, are inside."""
    kept = [a for a in axes if not a.folded]
    assert len(kept) == 1, "rows have one axis"
    return [a for a in axes if a.folded] + kept, "columns"


def unrolls(axes: list[NestAxis], cost: int, order: Sequence[Node]) -> bool:
    """Whether the innermost loop is so short, and its code so small, that the loop around it should make the vectors.

    Parameters
    ----------
    axes : list of NestAxis
    cost : int
        Additions of an element.
    order : sequence of Node
        What is computed: NumPy's own loops take whole strips.
    """
    if any(n.args and n.args[0].dtype.char in n.op.numpys_bits for n in order):
        return False
    if len(axes) < 2 or axes[-1].blocked or axes[-1].extent * cost > _UNROLLED_COST:
        return False
    if math.prod(a.extent for a in axes[:-1]) < _LONG:
        return False
    return axes[-1].extent <= _UNROLLED_ALWAYS or _are_picked_from_vectors(axes[-1], axes[-2])


def _are_picked_from_vectors(row: NestAxis, along: NestAxis) -> bool:
    """Whether LLVM takes apart vectors that run through several rows into one for each place in a row."""
    for element, step in zip(map(abs, row.strides), map(abs, along.strides)):
        whole = row.extent <= UNROLLED and step == row.extent * element
        if element and step and not (whole or (element <= _NARROW and step <= _PICKED * element)):
            return False
    return row.extent <= _PICKED and any(row.strides)


def arranged_scan(axes: list[NestAxis], all_stored: bool) -> tuple[list[NestAxis], str]:
    """The final order, and the form, of a nest that scans.

    ``scan rows``: along the innermost axis, from register to register. ``scan columns``: along an outer axis, from
    stored row to stored row, which vectorises across the rows.
    """
    if axes[-1].scanned or not all_stored:
        return [a for a in axes if not a.scanned] + [a for a in axes if a.scanned], "scan rows"
    return axes, "scan columns"
