"""From a loop nest to an LLVM function ``kernel(params, lo, hi)``, whose parallel loop runs from `lo` to `hi`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from ..kernels import floatflags
from ..kernels.vmath_rare import add_attribute
from ..kernels.vmath_variants import CALLED
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
from .columns import columns_of, fold_columns
from .context import I64, Bounds, smaller
from .folds import LANE_GROUP, PairwiseSum, combine, is_pairwise, is_search, neutral, sum_block
from .loophints import beside_loops_over_loops, calls_functions, forbid_vectors, interleaving, set_interleaving
from .memory import KERNEL_TYPE, Memory, alias_scopes
from .scalar import emit_where, emitter, literal_value
from .searching import search_row
from .selections import Raising
from .strips import StripLoop, divided, division_of
from .tiling import emit_tiles

_LATENCY_HIDING_COST = 12  # additions a turn: more work than the latency of one addition to an accumulator


class Kernel:
    """Emission of one kernel; of its loops some stand in files of their own.

    `values`, `folds` and `accumulators` are by the numbers of the loop nest, and `indices` by its axes.
    """

    def __init__(self, module: ir.Module, nest: LoopNest, name: str):
        self.nest = nest
        self.function = ir.Function(module, KERNEL_TYPE, name)
        self.function.attributes.add("nounwind")
        if calls_functions(nest.body):
            add_attribute(self.function, CALLED)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.values: dict[int, ir.Value] = {}
        self.folds: dict[int, tuple[Op, np.dtype]] = {}
        self.accumulators: dict[int, ir.Value] = {}
        self.sums: dict[int, PairwiseSum] = {}
        self.indices: dict[int, ir.Value] = {}
        self.starts: dict[int, ir.Value] = {}  # of loops over these axes
        self.raising = Raising(self.function.args[1])  # loops do not begin that late
        self.beside: frozenset[int] = frozenset()  # loops of the block that do a small part of its work
        self.memory = Memory(self.builder, self.function.args[0], nest, alias_scopes(module, nest.operands, name))

    def emit(self) -> ir.Function:
        """Add the kernel to the module."""
        ignored = sum(floatflags.NUMBERS[name] for name in self.nest.ignored)
        kept = floatflags.kept_flags(self.builder) if ignored else None
        self.block(self.nest.body)
        if kept is not None:
            floatflags.restore_flags(self.builder, kept, ignored)
        self.builder.ret_void()
        return self.function

    def block(self, body: Sequence[Statement]) -> None:
        """Emit statements one after the other."""
        self.beside = frozenset(beside_loops_over_loops(body))
        for statement in body:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        """Emit a statement."""
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
                is_blended = self.raising.computes_both(op, args, dtype)
                emit = self.raising.blend if is_blended else emitter(op, dtypes, dtype)
                self.raising.note(target, op, args, dtypes)
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
                step = combine(*self.folds[acc], in_lanes=self._is_looped(acc))
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
                emit_tiles(self, s)

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

    def _loop(self, loop: Loop) -> None:
        if loop.unrolled:
            for turn in range(loop.unrolled):
                self.indices[loop.axis] = ir.Constant(I64, turn)
                self.block(loop.body)
            return
        start, stop = self.bounds(loop)
        self.starts[loop.axis] = start
        updated = [
            acc for acc in self.folds if any(_updates_within(s, acc) for s in loop.body) and not _starts(loop.body, acc)
        ]
        innermost = [acc for acc in updated if any(_updates(s, acc) for s in loop.body)]
        pairwise = [acc for acc in innermost if acc in self.sums]
        if any(is_search(self.folds[acc][0]) for acc in innermost):
            (acc,) = updated
            search_row(self, loop, start, stop, acc)
            return
        if (inner := columns_of(loop)) is not None:
            fold_columns(self, loop, (start, stop), functools.partial(self.bounds, inner))
            return
        carried = [acc for acc in updated if acc not in self.sums]
        if pairwise:
            self._summed(loop, start, stop, carried, pairwise)
        else:
            self.counted(loop, start, stop, carried)

    def bounds(self, loop: Loop) -> Bounds:
        """Where a loop begins and ends."""
        builder, extent = self.builder, self.memory.extents[loop.axis]
        first, last = (ir.Constant(I64, k) for k in loop.window or (0, 0))
        if loop.follows is not None:
            turn = self.indices[loop.follows]
            is_first = builder.icmp_signed("==", turn, self.starts[loop.follows])
            newest = builder.add(turn, last)
            start = builder.select(is_first, builder.add(turn, first), newest)
            return start, smaller(builder, builder.add(newest, ir.Constant(I64, 1)), extent)
        if loop.block_of is None:
            return (self.function.args[1], self.function.args[2]) if loop.parallel else (ir.Constant(I64, 0), extent)
        block = self.memory.blocks[loop.axis]
        start = builder.mul(self.indices[loop.block_of], block)
        stop = builder.add(start, block)
        if loop.window is not None:
            start, stop = builder.add(start, first), builder.add(stop, last)
        return start, smaller(builder, stop, extent)

    def _strips(self, strips: Strips) -> None:
        carried = [acc for acc in self.folds if any(_updates(s, acc) for part in strips.parts for s in part)]
        loop = StripLoop(self, strips.axis, division_of(strips))
        loop.emit(ir.Constant(I64, 0), self.memory.extents[strips.axis], carried)

    def counted(self, loop: Loop, start: ir.Value, stop: ir.Value, carried: list[int], hint: int | None = None) -> None:
        """``for index in range(start, stop)``, around the body of `loop`."""
        division = divided(loop.body, loop.axis)
        if division is not None:
            StripLoop(self, loop.axis, division).emit(start, stop, carried)
            return

        def turn(index: ir.Value, _: ir.Value) -> None:
            self.indices[loop.axis] = index
            self.block(loop.body)

        is_long = bool(carried) and sum(s.op.cost for s in loop.body if isinstance(s, Compute)) > _LATENCY_HIDING_COST
        hint = hint or (1 if is_long or id(loop) in self.beside else interleaving(loop.body))
        self.repeat(f"axis{loop.axis}", start, stop, 1, carried, turn, hint)

    def _summed(self, loop: Loop, start: ir.Value, stop: ir.Value, carried: list[int], pairwise: list[int]) -> None:
        """A loop in steps of a block; each turn adds up a block of the accumulators `pairwise`, and pushes its sums."""

        def turn(index: ir.Value, following: ir.Value) -> None:
            for acc in pairwise:
                self.accumulators[acc] = neutral(*self.folds[acc])
            self._sum_block(loop, index, smaller(self.builder, following, stop), carried, pairwise)
            for acc in pairwise:
                self.sums[acc].push(self.builder, self.accumulators[acc])

        block = min(sum_block(self.folds[acc][1]) for acc in pairwise)
        self.repeat(f"axis{loop.axis}", start, stop, block, carried, turn, interleaving(loop.body))

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
            self.counted(loop, start, stop, carried, hint=1)
            return
        groups = self.builder.and_(self.builder.sub(stop, start), ir.Constant(I64, -LANE_GROUP))
        middle = self.builder.add(start, groups)
        self.counted(loop, start, middle, carried)
        whole = {acc: self.accumulators[acc] for acc in pairwise}
        for acc in pairwise:
            self.accumulators[acc] = neutral(*self.folds[acc])
        self.counted(loop, middle, stop, carried, hint=1)
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
