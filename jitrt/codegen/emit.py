"""From a loop nest to an LLVM function ``kernel(params, lo, hi)``, whose parallel loop runs from `lo` to `hi`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..expr.optable import Op
from ..schedule.loopnest import (
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
)
from .columns import ROWS, columns_of, fold_rows
from .context import I64
from .folds import (
    LANE_GROUP,
    SEARCH_BLOCK,
    PairwiseSum,
    combine,
    exceeds,
    is_pairwise,
    is_same,
    is_search,
    neutral,
    sum_block,
)
from .loophints import forbid_vectors, interleaving, set_interleaving
from .memory import KERNEL_TYPE, Memory, Turned, alias_scopes
from .scalar import data_type, emit_where, emitter, literal_value
from .searching import VectorSearch, fits_masks, lanes
from .strips import StripLoop, divided, division_of
from .turning import TILE, turn

_LATENCY_HIDING_COST = 12  # additions a turn: more work than the latency of one addition to an accumulator


def emit_kernel(module: ir.Module, nest: LoopNest, name: str) -> ir.Function:
    """Add the kernel of `nest` to `module` under `name`."""
    return _Kernel(module, nest, name).emit()


class _Kernel:
    """Emission of one kernel."""

    def __init__(self, module: ir.Module, nest: LoopNest, name: str):
        self.nest = nest
        self.function = ir.Function(module, KERNEL_TYPE, name)
        self.function.attributes.add("nounwind")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.values: dict[int, ir.Value] = {}
        self.folds: dict[int, tuple[Op, np.dtype]] = {}
        self.accumulators: dict[int, ir.Value] = {}
        self.sums: dict[int, PairwiseSum] = {}
        self.indices: dict[int, ir.Value] = {}
        self.buffers: dict[Operand, ir.Value] = {}
        self.starts: dict[int, ir.Value] = {}  # of loops over these axes
        self.memory = Memory(self.builder, self.function.args[0], nest, alias_scopes(module, nest.operands, name))

    def emit(self) -> ir.Function:
        self._block(self.nest.body)
        self.builder.ret_void()
        return self.function

    def _block(self, body: Sequence[Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        builder = self.builder
        match s:
            case Load(target, operand):
                self.values[target] = self.memory.load(operand, self.indices)
            case Gather(target, operand, indices):
                for k, index in enumerate(indices):
                    self.indices[self.nest.axes + k] = self.values[index]
                self.values[target] = self.memory.load(operand, self.indices)
            case Literal(target, dtype, index, value):
                self.values[target] = self.memory.literals[index] if value is None else literal_value(dtype, value)
            case Compute(target, op, args, dtypes, dtype):
                emit = emitter(op, dtypes, dtype)
                assert emit is not None, op
                self.values[target] = emit(builder, [self.values[a] for a in args])
            case Store(operand, value):
                self.memory.store(operand, self.indices, self.values[value])
            case StoreNeutral(operand, fold):
                self.memory.store(operand, self.indices, neutral(fold, operand.dtype))
            case FoldInto(operand, fold, value):
                total = combine(fold, operand.dtype)(
                    builder, (self.memory.load(operand, self.indices), self.values[value])
                )
                self.memory.store(operand, self.indices, total)
            case Neutral(acc, fold, dtype):
                self.folds[acc] = (fold, dtype)
                self.accumulators[acc] = neutral(fold, dtype)
                if is_pairwise(fold, dtype):
                    self.sums[acc] = PairwiseSum(builder, fold, dtype)
                    self.sums[acc].reset(builder)
            case Update(acc, value):
                step = combine(*self.folds[acc])
                self.accumulators[acc] = step(builder, (self.accumulators[acc], self.values[value]))
            case Result(target, acc):
                pairs = acc in self.sums and self._is_looped(acc)
                self.values[target] = self.sums[acc].result(builder) if pairs else self.accumulators[acc]
            case Loop():
                self._loop(s)
            case ScanStep(target, operand, axis, fold, value):
                self.values[target] = self._scan_step(operand, axis, fold, self.values[value])
            case Strips():
                self._strips(s)
            case Tiles():
                self._tiles(s)

    def _is_looped(self, acc: int) -> bool:
        """Whether a loop folds into `acc`, which without folded axes takes a single value."""
        loops = [s for s in self.nest.statements() if isinstance(s, Loop) and not s.unrolled]
        return any(any(_updates(s, acc) for s in loop.body) and not _starts(loop.body, acc) for loop in loops)

    def _scan_step(self, operand: Operand, axis: int, fold: Op, value: ir.Value) -> ir.Value:
        """What is stored one element before, folded with `value`; the first element is folded with the start."""
        builder, here = self.builder, self.indices[axis]
        first = builder.icmp_signed("==", here, ir.Constant(I64, 0))
        self.indices[axis] = builder.select(first, here, builder.sub(here, ir.Constant(I64, 1)))
        stored = self.memory.load(operand, self.indices)
        self.indices[axis] = here
        before = emit_where(builder, (first, neutral(fold, operand.dtype), stored))
        return combine(fold, operand.dtype)(builder, (before, value))

    # Loops.
    def _loop(self, loop: Loop) -> None:
        if loop.unrolled:
            for turn in range(loop.unrolled):
                self.indices[loop.axis] = ir.Constant(I64, turn)
                self._block(loop.body)
            return
        start, stop = self._bounds(loop)
        self.starts[loop.axis] = start
        updated = [
            acc for acc in self.folds if any(_updates_within(s, acc) for s in loop.body) and not _starts(loop.body, acc)
        ]
        innermost = [acc for acc in updated if any(_updates(s, acc) for s in loop.body)]
        pairwise = [acc for acc in innermost if acc in self.sums]
        if any(is_search(self.folds[acc][0]) for acc in innermost):
            (acc,) = updated
            self._search_row(loop, start, stop, acc)
            return
        if (inner := columns_of(loop)) is not None:
            self._columns(loop, (start, stop), functools.partial(self._bounds, inner))
            return
        if not pairwise:
            self._counted(loop, start, stop, 1, [a for a in updated if a not in self.sums], None)
            return
        # Blocks of a sum: an outer loop in steps of the block, an inner one over the elements of a block.
        carried = [acc for acc in updated if acc not in self.sums]
        block = min(sum_block(self.folds[acc][1]) for acc in pairwise)
        self._counted(loop, start, stop, block, carried, pairwise)

    def _columns(
        self,
        loop: Loop,
        bounds: tuple[ir.Value, ir.Value],
        columns: Callable[[], tuple[ir.Value, ir.Value]],
    ) -> None:
        """Fold several rows at a time, and then those that are left."""
        (start, stop), (inner,) = bounds, loop.body
        assert isinstance(inner, Loop)
        groups = self.builder.and_(self.builder.sub(stop, start), ir.Constant(I64, -ROWS))
        middle = self.builder.add(start, groups)

        def rows(index: ir.Value, together: int) -> None:
            def column(j: ir.Value, _: ir.Value) -> None:
                fold_rows(self, loop, inner, index, j, together)

            self.repeat(f"axis{inner.axis}", *columns(), 1, [], column)

        self.repeat(f"axis{loop.axis}.rows", start, middle, ROWS, [], lambda i, _: rows(i, ROWS))
        self.repeat(f"axis{loop.axis}", middle, stop, 1, [], lambda i, _: rows(i, 1))

    def _bounds(self, loop: Loop) -> tuple[ir.Value, ir.Value]:
        builder, extent = self.builder, self.memory.extents[loop.axis]
        first, last = (ir.Constant(I64, k) for k in loop.window or (0, 0))
        if loop.follows is not None:
            turn = self.indices[loop.follows]
            is_first = builder.icmp_signed("==", turn, self.starts[loop.follows])
            newest = builder.add(turn, last)
            start = builder.select(is_first, builder.add(turn, first), newest)
            return start, self._smaller(builder.add(newest, ir.Constant(I64, 1)), extent)
        if loop.block_of is None:
            return self._range(loop.axis, loop.parallel)
        block = self.memory.blocks[loop.axis]
        start = builder.mul(self.indices[loop.block_of], block)
        stop = builder.add(start, block)
        if loop.window is not None:
            start, stop = builder.add(start, first), builder.add(stop, last)
        return start, self._smaller(stop, extent)

    def _search_row(self, loop: Loop, start: ir.Value, stop: ir.Value, acc: int) -> None:
        """Find the extreme: in vectors if all that is done is to look at neighbours."""
        fold, dtype = self.folds[acc]
        match loop.body:
            case (Load(_, operand), Update()) if operand.strides[loop.axis] == "1" and dtype.kind in "fiu":
                builder = self.builder
                enough = builder.icmp_signed(">", builder.sub(stop, start), ir.Constant(I64, lanes(dtype)))
                with builder.if_else(enough) as (in_vectors, one_by_one):
                    with in_vectors:
                        address = functools.partial(self._address_at, operand, loop.axis)
                        free = -2 - 2 * len(self.folds)
                        search = VectorSearch(builder, self.repeat, self.accumulators, free, fold, dtype, address)
                        first = search.place(start, stop), builder.block
                    with one_by_one:
                        if fits_masks(dtype):
                            self.accumulators[acc] = search.place_in_vector(start, stop)
                        else:
                            self._search(loop, start, stop, acc)
                        second = self.accumulators[acc], builder.block
                self.accumulators[acc] = builder.phi(I64)
                for value, block in (first, second):
                    self.accumulators[acc].add_incoming(value, block)
            case _:
                self._search(loop, start, stop, acc)

    def _address_at(self, operand: Operand, axis: int, index: ir.Value) -> ir.Value:
        self.indices[axis] = index
        return self.memory.address(operand, self.indices)

    def _search(self, loop: Loop, start: ir.Value, stop: ir.Value, acc: int) -> None:
        """Find the extreme block by block, and then its first place in the block that had it first."""
        builder, (fold, dtype) = self.builder, self.folds[acc]
        best, where = -1 - 2 * acc, -2 - 2 * acc  # accumulators of this loop alone
        self.accumulators[best], self.accumulators[where] = neutral(fold, dtype), start

        def block(first: ir.Value, following: ir.Value) -> None:
            self.accumulators[acc] = neutral(fold, dtype)
            self._counted(loop, first, self._smaller(following, stop), 1, [acc], None)
            found, before = self.accumulators[acc], self.accumulators[best]
            better = exceeds(builder, fold, dtype, found, before)
            self.accumulators[best] = builder.select(better, found, before)
            self.accumulators[where] = builder.select(better, first, self.accumulators[where])

        self.repeat(f"axis{loop.axis}.blocks", start, stop, SEARCH_BLOCK, [best, where], block)
        first, extreme = self.accumulators[where], self.accumulators[best]
        (value,) = (s.value for s in loop.body if isinstance(s, Update))
        self.accumulators[where] = stop

        def compare(index: ir.Value, _: ir.Value) -> None:
            self.indices[loop.axis] = index
            self._block([s for s in loop.body if not isinstance(s, Update)])
            match = is_same(builder, dtype, self.values[value], extreme)
            place = builder.select(match, index, stop)
            self.accumulators[where] = self._smaller(place, self.accumulators[where])

        last = self._smaller(builder.add(first, ir.Constant(I64, SEARCH_BLOCK)), stop)
        self.repeat(f"axis{loop.axis}.search", first, last, 1, [where], compare)
        self.accumulators[acc] = self.accumulators[where]

    def _tiles(self, tiles: Tiles) -> None:
        """Loops over tiles around the two loops in a tile."""
        builder = self.builder
        outer = tiles.outer, *self._range(tiles.outer, tiles.outer == tiles.parallel)
        inner = tiles.inner, *self._bounds(Loop(tiles.inner, (), tiles.inner == tiles.parallel, tiles.block_of))
        with builder.goto_entry_block():
            self.buffers = {o: builder.alloca(data_type(o.dtype), TILE * TILE) for o in tiles.turned}

        def element_row(index: ir.Value, row: Loop, left: ir.Value, right: ir.Value) -> None:
            self.indices[tiles.outer] = index
            self._counted(row, left, right, 1, [], None)

        def rows(top: ir.Value, bottom: ir.Value) -> None:
            def columns(left: ir.Value, right: ir.Value) -> None:
                below, beside = self._smaller(bottom, outer[2]), self._smaller(right, inner[2])
                extents = builder.sub(below, top), builder.sub(beside, left)
                self.indices[tiles.outer], self.indices[tiles.inner] = top, left
                for operand in tiles.turned:
                    if any(isinstance(s, Load) and s.operand == operand for s in tiles.body):
                        self._turn("read", operand, tiles, extents)
                for operand in tiles.turned:
                    place = (tiles.outer, tiles.inner), (top, left)
                    self.memory.turned[operand.name] = Turned(self.buffers[operand], *place, TILE)
                row = Loop(tiles.inner, tiles.body)
                loop = Loop(tiles.outer, (row,))
                if columns_of(loop) is not None:
                    self._columns(loop, (top, below), lambda: (left, beside))
                else:
                    self.repeat(f"axis{tiles.outer}", top, below, 1, [], lambda i, _: element_row(i, row, left, beside))
                self.memory.turned.clear()
                self.indices[tiles.outer], self.indices[tiles.inner] = top, left
                for operand in tiles.turned:
                    if any(isinstance(s, Store) and s.operand == operand for s in tiles.body):
                        self._turn("write", operand, tiles, extents)

            self.repeat(f"axis{tiles.inner}.tiles", inner[1], inner[2], TILE, [], columns)

        self.repeat(f"axis{tiles.outer}.tiles", outer[1], outer[2], TILE, [], rows)

    def _turn(self, what: str, operand: Operand, tiles: Tiles, extents: tuple[ir.Value, ir.Value]) -> None:
        """Read the tile of `operand` that begins at these indices into its buffer, or write it from there."""
        along, across = (self.memory.stride(operand, axis) for axis in (tiles.outer, tiles.inner))
        assert across is not None, "an operand that runs along the inner axis is not turned"
        source = self.memory.address(operand, self.indices)
        turn(self.builder, what, operand.dtype, source, (along, across), self.buffers[operand], extents)

    def _range(self, axis: int, parallel: bool) -> tuple[ir.Value, ir.Value]:
        """Where a loop begins and ends."""
        if parallel:
            return self.function.args[1], self.function.args[2]
        return ir.Constant(I64, 0), self.memory.extents[axis]

    def _strips(self, strips: Strips) -> None:
        carried = [acc for acc in self.folds if any(_updates(s, acc) for part in strips.parts for s in part)]
        loop = StripLoop(self, strips.axis, division_of(strips))
        loop.emit(ir.Constant(I64, 0), self.memory.extents[strips.axis], carried)

    def _smaller(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed("<", x, y), x, y)

    def _counted(
        self,
        loop: Loop,
        start: ir.Value,
        stop: ir.Value,
        step: int,
        carried: list[int],
        pairwise: list[int] | None,
        hint: int | None = None,
    ) -> None:
        """``for index in range(start, stop, step)`` with the accumulators `carried` from turn to turn.

        With `pairwise`, a turn adds up one block of those accumulators, and the sums are then pushed.
        """
        division = divided(loop.body, loop.axis) if pairwise is None else None
        if division is not None:
            StripLoop(self, loop.axis, division).emit(start, stop, carried)
            return

        def turn(index: ir.Value, following: ir.Value) -> None:
            if pairwise is None:
                self.indices[loop.axis] = index
                self._block(loop.body)
                return
            for acc in pairwise:
                self.accumulators[acc] = neutral(*self.folds[acc])
            self._sum_block(loop, index, self._smaller(following, stop), carried, pairwise)
            for acc in pairwise:
                self.sums[acc].push(self.builder, self.accumulators[acc])

        self.repeat(f"axis{loop.axis}", start, stop, step, carried, turn, hint or interleaving(loop.body))

    def repeat(
        self,
        name: str,
        start: ir.Value,
        stop: ir.Value,
        step: int,
        carried: list[int],
        turn: Callable[[ir.Value, ir.Value], None],
        interleaving: int | None = None,
    ) -> None:
        """``for index in range(start, stop, step): turn(index, index + step)`` with the accumulators `carried`."""
        builder, before = self.builder, self.builder.block
        body, after = builder.append_basic_block(name), builder.append_basic_block(f"{name}.end")
        builder.cbranch(builder.icmp_signed("<", start, stop), body, after)
        builder.position_at_end(body)
        index = builder.phi(I64)
        index.add_incoming(start, before)
        initial = {acc: self.accumulators[acc] for acc in carried}
        phis = {acc: builder.phi(initial[acc].type) for acc in carried}
        for acc, phi in phis.items():
            phi.add_incoming(initial[acc], before)
            self.accumulators[acc] = phi
        following = builder.add(index, ir.Constant(I64, step), flags=["nsw"])
        turn(index, following)
        last = builder.block
        index.add_incoming(following, last)
        latch = builder.cbranch(builder.icmp_signed("<", following, stop), body, after)
        if interleaving == 0:
            forbid_vectors(latch, self.function.module)
        elif interleaving is not None:
            set_interleaving(latch, self.function.module, interleaving)
        builder.position_at_end(after)
        for acc, phi in phis.items():
            phi.add_incoming(self.accumulators[acc], last)
            merged = builder.phi(phi.type)
            merged.add_incoming(initial[acc], before)
            merged.add_incoming(self.accumulators[acc], last)
            self.accumulators[acc] = merged

    def _sum_block(self, loop: Loop, start: ir.Value, stop: ir.Value, carried: list[int], pairwise: list[int]) -> None:
        """One block of a sum: whole groups of lanes in a loop of their own, then what remains.

        The vectoriser adds what is left over behind its last vector one by one, in which errors add up. Behind a loop
        over whole groups that is nothing, and behind one over single vectors less than a vector.
        """
        carried = carried + pairwise
        if sum(s.op.cost for s in loop.body if isinstance(s, Compute)) > _LATENCY_HIDING_COST:
            self._counted(loop, start, stop, 1, carried, None, hint=1)
            return
        groups = self.builder.and_(self.builder.sub(stop, start), ir.Constant(I64, -LANE_GROUP))
        middle = self.builder.add(start, groups)
        self._counted(loop, start, middle, 1, carried, None)
        whole = {acc: self.accumulators[acc] for acc in pairwise}
        for acc in pairwise:
            self.accumulators[acc] = neutral(*self.folds[acc])
        self._counted(loop, middle, stop, 1, carried, None, hint=1)
        for acc in pairwise:
            add = combine(*self.folds[acc])
            self.accumulators[acc] = add(self.builder, (whole[acc], self.accumulators[acc]))


def _updates(s: Statement, acc: int) -> bool:
    if isinstance(s, Loop) and s.unrolled:
        return any(_updates(t, acc) for t in s.body)
    return isinstance(s, Update) and s.acc == acc


def _starts(body: Sequence[Statement], acc: int) -> bool:
    """Whether the accumulator begins anew in every turn of a loop around `body`."""
    return any(
        (isinstance(s, Neutral) and s.acc == acc) or (isinstance(s, Loop) and _starts(s.body, acc)) for s in body
    )


def _updates_within(s: Statement, acc: int) -> bool:
    if isinstance(s, Loop):
        return any(_updates_within(t, acc) for t in s.body)
    return _updates(s, acc)
