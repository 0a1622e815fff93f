"""From a group of sinks to a loop nest: the order of the axes, and the statements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expr.indexing import gathered_indices
from ..expr.node import Node
from ..expr.optable import Kind
from ..expr.types import dtype_name
from ..expr.updates import through
from ..prepare.simplify import literal
from .fuse import Group, Sink
from .layout import Layout, Layouts
from .loopnest import (
    Compute,
    FoldInto,
    Gather,
    Literal,
    Load,
    Loop,
    LoopNest,
    Neutral,
    Operand,
    Result,
    ScanStep,
    Statement,
    Store,
    StoreNeutral,
    Strips,
    Tiles,
    Update,
    parallel_axis,
)
from .scans import scan_parts
from .tiles import crossing_axis, is_crossing

SHORT_FOLD = 16  # an inner fold over fewer elements costs more in loop overhead than in work
SHORT_ROW = 8  # so does an inner loop over fewer kept elements
_COMPUTED = (Kind.ELEMENTWISE, Kind.GATHER, Kind.SCAN)
LITTLE_WORK = 1 << 15  # elements that no second thread takes part in, so that any shape may use one kernel
EVEN_SHARES = 32  # turns of a loop that threads can share about evenly


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A loop nest and the numbers that it runs with.

    Parameters
    ----------
    nest : LoopNest
    extents : tuple of int
        For each axis of the nest.
    layouts : tuple of Layout
        For each operand: where its memory begins, and its strides in bytes along the axes of the nest.
    literals : tuple of numbers
    span : int
        Extent of the parallel loop; 1 if there is none.
    elements : int
        Iterations of the innermost statements.
    cost : int
        Cost of one of them, in additions.
    reason : str
        Why the group was not fused into one that reads its result.
    """

    nest: LoopNest
    extents: tuple[int, ...]
    layouts: tuple[Layout, ...]
    literals: tuple[Any, ...]
    span: int
    elements: int
    cost: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Axis:
    extent: int
    folded: bool
    strides: tuple[int, ...]  # in bytes, one for each access
    blocked: bool = False  # whether another axis counts blocks of this one
    scanned: bool = False


@dataclass(frozen=True, slots=True)
class _Access:
    """A place where the nest touches memory: the layout along the axes of the domain.

    `node` is what is stored or read there, for a gather the gather; `indexed` are the strides of its indices.
    """

    node: Node
    layout: Layout
    written: bool
    indexed: tuple[int, ...] = ()


def build_kernel(group: Group, layouts: Layouts, inlined: Callable[[Node], bool]) -> KernelCall:
    """The loop nest that computes the sinks of `group`.

    Parameters
    ----------
    group : Group
    layouts : Layouts
        Where stored nodes lie.
    inlined : callable
        Whether a node is computed in the nest if the nest does not read it from memory.
    """
    domain, folded, partition = group.kind
    blocked = partition[0] if partition else ()
    order, leaves, gathers = _expressions(group, inlined)
    accesses = [_sink_access(s, layouts, folded) for s in group.sinks]
    accesses += [_Access(n, layouts[n], False) for n in leaves]
    accesses += [_gather_access(n, layouts) for n in gathers]
    axes = [
        _Axis(extent, k in folded, tuple(a.layout.strides[k] for a in accesses), k in blocked, k == group.scanned)
        for k, extent in enumerate(domain)
        if extent != 1
    ]
    axes = _coalesce(_sorted(axes, accesses))
    if group.scanned is None:
        axes, form = _arrange(axes)
    else:
        stored = {s.into for s in group.sinks}
        axes, form = _arrange_scan(axes, all(n in stored for n in order if n.op.kind is Kind.SCAN))
    if partition:
        assert sum(a.blocked for a in axes) == 1, "one axis is cut into blocks"
        axes.insert(0, _Axis(partition[1], False, _block_strides(group.sinks, len(accesses))))
    return _Builder(group, order, accesses, axes, form).build()


def _expressions(group: Group, inlined: Callable[[Node], bool]) -> tuple[list[Node], list[Node], list[Node]]:
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


def _gather_access(gather: Node, layouts: Layouts) -> _Access:
    """Strides along the axes of the domain that are axes of the source, too, and strides of the indices."""
    layout = layouts[gather.args[0]]
    strides = [0] * gather.type.ndim
    indexed = [0] * len(gathered_indices(gather))
    for axis, stride in zip(gather["source"], layout.strides):
        if axis < 0:
            indexed[-1 - axis] += stride
        else:
            strides[axis] += stride
    return _Access(gather, Layout(layout.base, layout.offset, tuple(strides)), False, tuple(indexed))


def _sink_access(sink: Sink, layouts: Layouts, folded: tuple[int, ...]) -> _Access:
    if sink.region is not None:
        target = through(sink.into, sink.region)
        return _Access(target, layouts[target], True)
    layout = layouts[sink.into]
    if sink.start:
        offset = sum(s * t for s, t in zip(sink.start, layout.strides))
        layout = Layout(layout.base, layout.offset + offset, layout.strides)
    elif sink.folded_axes:
        kept = iter(layout.strides[1:] if sink.is_partial else layout.strides)
        strides = tuple(0 if k in folded else next(kept) for k in range(len(sink.domain)))
        layout = Layout(layout.base, layout.offset, strides)
    return _Access(sink.into, layout, True)


def _block_strides(sinks: list[Sink], accesses: int) -> tuple[int, ...]:
    """Strides of the axis of blocks: only the partial folds depend on it."""
    own = tuple(s.into.type.nbytes // s.into.shape[0] if s.is_partial else 0 for s in sinks)
    return own + (0,) * (accesses - len(own))


def _sorted(axes: list[_Axis], accesses: list[_Access]) -> list[_Axis]:
    """Axes with long strides first, as NumPy's iterator sorts them; the largest arrays decide, written ones first."""
    priority = sorted(range(len(accesses)), key=lambda k: (-_volume(accesses[k], axes, k), not accesses[k].written, k))

    def outer_first(a: _Axis, b: _Axis) -> bool:
        for k in priority:
            x, y = abs(a.strides[k]), abs(b.strides[k])
            if x and y and x != y:
                return x > y
        return True

    result: list[_Axis] = []
    for axis in axes:
        place = len(result)
        while place and not outer_first(result[place - 1], axis):
            place -= 1
        result.insert(place, axis)
    return result


def _volume(access: _Access, axes: list[_Axis], k: int) -> int:
    """Bytes that an access covers."""
    return access.node.dtype.itemsize * math.prod(a.extent for a in axes if a.strides[k])


def _coalesce(axes: list[_Axis]) -> list[_Axis]:
    """Neighbouring axes that all accesses traverse as one become one."""
    result: list[_Axis] = []
    for axis in axes:
        outer = result[-1] if result else None
        if (
            outer is not None
            and outer.folded == axis.folded
            and outer.blocked == axis.blocked
            and not (outer.scanned or axis.scanned)
            and all(s == t * axis.extent for s, t in zip(outer.strides, axis.strides))
        ):
            result[-1] = _Axis(outer.extent * axis.extent, axis.folded, axis.strides, axis.blocked)
        else:
            result.append(axis)
    return result


def _arrange(axes: list[_Axis]) -> tuple[list[_Axis], str]:
    """The final order, and the form of the nest.

    ``elementwise``: no folds. ``tiles``: no folds, the last two axes in tiles.
    ``rows``: folded axes innermost, folded in registers. ``columns``: one kept axis
    innermost, folded into memory, which vectorises across the kept elements.
    """
    kept = [a for a in axes if not a.folded]
    folded = [a for a in axes if a.folded]
    if not folded:
        crossing = crossing_axis([a.extent for a in axes], list(zip(*(a.strides for a in axes))))
        if crossing is None:
            return axes, "elementwise"
        return [*axes[:crossing], *axes[crossing + 1 : -1], axes[crossing], axes[-1]], "tiles"
    if not kept:
        return folded, "rows"
    short_fold = math.prod(a.extent for a in folded) < SHORT_FOLD <= kept[-1].extent
    if axes[-1].folded:
        form = "columns" if short_fold else "rows"
    else:
        short_row = kept[-1].extent < SHORT_ROW and math.prod(a.extent for a in folded) > kept[-1].extent
        form = "rows" if short_row else "columns"
    if form == "rows":
        return kept + folded, form
    return kept[:-1] + folded + kept[-1:], form


def _arrange_scan(axes: list[_Axis], all_stored: bool) -> tuple[list[_Axis], str]:
    """The final order, and the form, of a nest that scans.

    ``scan rows``: along the innermost axis, from register to register. ``scan columns``: along an outer axis, from
    stored row to stored row, which vectorises across the rows.
    """
    if axes[-1].scanned or not all_stored:
        return [a for a in axes if not a.scanned] + [a for a in axes if a.scanned], "scan rows"
    return axes, "scan columns"


class _Builder:
    """Statements of one nest."""

    def __init__(self, group: Group, order: list[Node], accesses: list[_Access], axes: list[_Axis], form: str):
        self.group, self.order, self.accesses, self.axes, self.form = group, order, accesses, axes, form
        vectors = (len(axes) - 2, len(axes) - 1) if form == "tiles" else (len(axes) - 1,)
        written = [(k, a) for k, a in enumerate(accesses) if a.written]
        read = [(k, a) for k, a in enumerate(accesses) if not a.written]
        self.written = [_operand(f"y{n}", a, axes, k, vectors) for n, (k, a) in enumerate(written)]
        self.read = {a.node: _operand(f"x{n}", a, axes, k, vectors) for n, (k, a) in enumerate(read)}
        self.literals: list[np.dtype] = []
        self.literal_values: list[Any] = []
        self.values: dict[Node, int] = {}
        self.count = -1  # the number of the last value
        self.gathered = {a.node for a in accesses if a.indexed}
        self.stored = {s.into: o for o, s in zip(self.written, group.sinks)}

    def build(self) -> KernelCall:
        folds = [(o, s) for o, s in zip(self.written, self.group.sinks) if s.folded_axes]
        if self.form == "scan rows":
            nested = self._scan_rows()
        elif self.form == "tiles":
            nested = self._tiles([*self._element(), *self._stores(self.order)])
        else:
            inner = [*self._element(), *self._stores(self.order)]
            nested = self._columns(inner, folds) if self.form == "columns" else self._rows(inner, folds)
        nest = LoopNest(len(self.axes), (*self.written, *self.read.values()), tuple(self.literals), tuple(nested))
        extents = tuple(a.extent for a in self.axes)
        places = tuple(
            Layout(a.layout.base, a.layout.offset, (*(x.strides[k] for x in self.axes), *a.indexed))
            for k, a in enumerate(self.accesses)
        )
        parallel = next((found for s in nest.statements() if (found := parallel_axis(s)) is not None), None)
        cost = sum(n.op.cost for n in self.order if n.op.kind in _COMPUTED) + len(self.accesses)
        elements = math.prod(extents[1:] if self._is_partial() else extents)
        span = 1 if parallel is None else extents[parallel]
        return KernelCall(nest, extents, places, tuple(self.literal_values), span, elements, cost, self.group.why_alone)

    def _element(self) -> list[Statement]:
        """Statements that compute one element of everything."""
        return [self._statement(node) for node in self.order]

    def _statement(self, node: Node) -> Statement:
        """The statement that gives the value of `node`."""
        value = self.values[node] = self.count = self.count + 1
        number = literal(node)
        if number is not None:
            return self._literal(value, number)
        if node in self.gathered:
            return Gather(value, self.read[node], tuple(self.values[i] for i in gathered_indices(node)))
        if node in self.read:
            return Load(value, self.read[node])
        args = tuple(self.values[a] for a in node.args)
        if node.op.kind is Kind.SCAN:
            axis = next(k for k, a in enumerate(self.axes) if a.scanned)
            return ScanStep(value, self.stored[node], axis, node.op, *args)
        return Compute(value, node.op, args, tuple(a.dtype for a in node.args), node.dtype)

    def _stores(self, nodes: Sequence[Node]) -> list[Statement]:
        """Stores of those of `nodes` that are sinks."""
        sinks = zip(self.written, self.group.sinks)
        return [Store(o, self.values[s.value]) for o, s in sinks if not s.folded_axes and s.value in nodes]

    def _literal(self, target: int, number: Any) -> Literal:
        """Integers are part of the code, so that LLVM can use their value; other numbers are parameters."""
        if number.dtype.kind in "biu":
            return Literal(target, number.dtype, -1, int(number))
        self.literals.append(number.dtype)
        self.literal_values.append(number)
        return Literal(target, number.dtype, len(self.literals) - 1)

    def _is_partial(self) -> bool:
        """Whether the first axis counts the blocks of another."""
        return any(a.blocked for a in self.axes)

    def _parallel(self, kept: list[int], row: int | None = None) -> int | None:
        """The axis that threads share: blocks, or the outermost one that is long enough to be shared evenly."""
        if self._is_partial():
            return 0
        axes = [k for k in (kept if row is None else [*kept, row]) if not self.axes[k].scanned]
        if not axes or math.prod(a.extent for a in self.axes) < LITTLE_WORK:
            return axes[0] if axes else None
        longest = max(axes, key=lambda k: self.axes[k].extent)
        return next((k for k in axes if self.axes[k].extent >= EVEN_SHARES), longest)

    def _rows(self, inner: list[Statement], folds: list[tuple[Operand, Sink]]) -> list[Statement]:
        """Loops over kept axes around loops over folded axes; folds in registers."""
        kept = [k for k, a in enumerate(self.axes) if not a.folded]
        folded = [k for k, a in enumerate(self.axes) if a.folded]
        if folds:
            before: list[Statement] = []
            after: list[Statement] = []
            fresh = self.count + 1
            for acc, (operand, sink) in enumerate(folds):
                before.append(Neutral(acc, sink.into.op, sink.into.dtype))
                inner.append(Update(acc, self.values[sink.value]))
                after += [Result(fresh + acc, acc), Store(operand, fresh + acc)]
            inner = [*before, *self._loops(folded, inner), *after]
        return self._loops(kept, inner, self._parallel(kept))

    def _tiles(self, inner: list[Statement]) -> list[Statement]:
        """Loops around tiles of the two last axes."""
        outer, row = len(self.axes) - 2, len(self.axes) - 1
        parallel = self._parallel(list(range(len(self.axes))))
        places = [self.accesses[k].node for k, a in enumerate(zip(*(a.strides for a in self.axes))) if is_crossing(a)]
        turned = tuple(self.read[n] for n in places if n in self.read and n not in self.gathered)
        tiles = Tiles(outer, row, tuple(inner), turned, parallel if parallel in (outer, row) else None)
        return self._loops(list(range(outer)), [tiles], parallel)

    def _scan_rows(self) -> list[Statement]:
        """Loops around a loop along the scanned axis, with an accumulator for each scan."""
        kept = [k for k, a in enumerate(self.axes) if not a.scanned]
        scans = [n for n in self.order if n.op.kind is Kind.SCAN]
        accumulators = {node: acc for acc, node in enumerate(scans)}
        leaves = {n for n in self.order if literal(n) is not None or (n in self.read and n not in self.gathered)}
        computed = [n for n in self.order if n not in leaves]
        parts: list[tuple[Statement, ...]] = []
        for part in scan_parts(computed):
            # Every part loads what it needs: that is in the cache, and the part before need not keep it.
            needed = {a for n in part for a in n.args}
            statements = [self._statement(n) for n in self.order if n in leaves and n in needed]
            for node in part:
                if node in accumulators:
                    acc = accumulators[node]
                    self.values[node] = self.count = self.count + 1
                    statements += [Update(acc, self.values[node.args[0]]), Result(self.count, acc)]
                else:
                    statements.append(self._statement(node))
            parts.append((*statements, *self._stores(part)))
        before: list[Statement] = [Neutral(acc, node.op, node.dtype) for node, acc in accumulators.items()]
        along = len(self.axes) - 1
        loop = Loop(along, parts[0]) if len(parts) == 1 else Strips(along, tuple(parts))
        return self._loops(kept, [*before, loop], self._parallel(kept))

    def _columns(self, inner: list[Statement], folds: list[tuple[Operand, Sink]]) -> list[Statement]:
        """Folds into memory: the innermost loop runs over kept elements."""
        row = len(self.axes) - 1
        kept = [k for k, a in enumerate(self.axes[:-1]) if not a.folded]
        folded = [k for k, a in enumerate(self.axes[:-1]) if a.folded]
        parallel = self._parallel(kept, row)
        start: list[Statement] = [StoreNeutral(o, s.into.op) for o, s in folds]
        steps = [FoldInto(o, s.into.op, self.values[s.value]) for o, s in folds]
        body = [
            *self._loops([row], start, parallel),
            *self._loops(folded, self._loops([row], [*inner, *steps], parallel)),
        ]
        return self._loops(kept, body, parallel)

    def _loops(self, axes: list[int], body: list[Statement], parallel: int | None = None) -> list[Statement]:
        """Loops over `axes`, the first outermost, around `body`."""
        for axis in reversed(axes):
            body = [Loop(axis, tuple(body), axis == parallel, 0 if self.axes[axis].blocked else None)]
        return body


def _operand(name: str, access: _Access, axes: Sequence[_Axis], k: int, vectors: tuple[int, ...]) -> Operand:
    """The memory of access `k`; along the axes `vectors` it matters whether elements are neighbours."""
    itemsize = access.node.dtype.itemsize

    def kind(stride: int, is_vector: bool) -> str:
        return "0" if stride == 0 else "1" if is_vector and stride == itemsize else "s"

    along = tuple(kind(a.strides[k], i in vectors) for i, a in enumerate(axes))
    return Operand(name, access.node.dtype, along + tuple(kind(stride, True) for stride in access.indexed))


def describe(call: KernelCall) -> str:
    """The nest with its sizes, for `explain`."""
    sizes = " ".join(map(str, call.extents)) or "scalar"
    reads = ", ".join(f"{dtype_name(a.base.dtype)}@{a.offset}{list(a.strides)}" for a in call.layouts)
    why = f"\n  # stored on its own: {call.reason}" if call.reason else ""
    return f"{call.nest}\n  # extents {sizes}; {reads}{why}"
