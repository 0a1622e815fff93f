"""Folds: how accumulators start, combine, and keep sums accurate.

A floating-point sum is the pairwise sum of blocks (Higham 1993) of `sum_block` elements. The running pairs are
kept as a binary counter: after n blocks, entry k of a small array holds the sum of 2**k blocks where bit k of n is set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir

from ..ir.ops.folds import EXTREME, FOLD_IDENTITY
from ..ir.ops.optable import OPS, Kind, Op
from .context import I64, call_intrinsic, internal
from .loophints import leave_as_it_is
from .scalar import Emitter, emit_where, emitter, make_complex, value_type

_LANES_BLOCK = 512  # elements that are added in lanes before pairs are formed: 16 in each of 32 lanes
_SINGLE_BLOCK = 32  # the same where elements are added one by one
LANE_GROUP = 64  # elements: at least what the vectoriser adds at a time, so that a loop over groups leaves no remainder
SEARCH_BLOCK = 256  # elements that are searched a second time for the place of an extreme
_LEVELS = 56  # more than any number of blocks has bits


def is_search(fold: Op) -> bool:
    """Whether the fold gives the place of an extreme, and not its value."""
    return fold in EXTREME


def combine(fold: Op, dtype: np.dtype, in_lanes: bool = False, in_order: bool = False) -> Emitter:
    """What folds a value into an accumulator.

    `in_lanes` says that the vectoriser may make several accumulators of it, and `in_order` that it may not do so where
    the order of sums and products makes a difference.
    """
    assert fold.ufunc is not None
    if dtype.kind == "f" and fold.ufunc in _REASSOCIATED and fold.kind is Kind.REDUCTION and not in_order:
        instruction = _REASSOCIATED[fold.ufunc]
        return lambda builder, args: getattr(builder, instruction)(*args, flags=("reassoc",))
    # NumPy's extremes of half precision are formed one by one, so that the first of two zeros wins.
    if dtype.char in "fd" and fold.ufunc in _NAN_PROPAGATING and in_lanes:
        return _extreme(_NAN_PROPAGATING[fold.ufunc])
    found = emitter(OPS[fold.ufunc.__name__], (dtype, dtype), dtype)
    assert found is not None, fold
    return found


# Lanes may be added in any order: pairs bound the error whatever it is, and in a given kernel it is fixed.
_REASSOCIATED = {np.add: "fadd", np.multiply: "fmul"}
_NAN_PROPAGATING = {np.maximum: "maximum", np.minimum: "minimum"}


def _extreme(name: str) -> Emitter:
    """IEEE 754-2019 maximum and minimum: nan wins, as in NumPy.

    Which zero wins is left open: in NumPy, too, that depends on the lanes of the processor.
    """

    return lambda builder, args: call_intrinsic(builder, name, args, ("nsz",))


def neutral(fold: Op, dtype: np.dtype) -> ir.Value:
    """The value by which a fold starts."""
    value = FOLD_IDENTITY[EXTREME.get(fold, fold)](dtype)
    kind = value_type(dtype)
    if dtype.kind == "c":
        return ir.Constant(kind, [ir.Constant(kind.elements[k], p) for k, p in enumerate((value.real, value.imag))])
    return ir.Constant(kind, float(value) if dtype.kind == "f" else int(value))


def exceeds(builder: ir.IRBuilder, fold: Op, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    """Whether `x` is more extreme than `y`; a nan is more extreme than any number."""
    order = ">" if fold.ufunc is np.maximum else "<"
    if dtype.kind != "f":
        compare = builder.icmp_signed if dtype.kind == "i" else builder.icmp_unsigned
        return compare(order, x, y)
    nan = builder.and_(builder.fcmp_unordered("uno", x, x), builder.fcmp_ordered("ord", y, y))
    return builder.or_(builder.fcmp_ordered(order, x, y), nan)


def is_same(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, extreme: ir.Value) -> ir.Value:
    """Whether `x`, one of the elements whose extreme is given, is it: where one of them is nan, the extreme is."""
    if dtype.kind != "f":
        return builder.icmp_signed("==", x, extreme)
    return builder.or_(builder.fcmp_ordered("==", x, extreme), builder.fcmp_unordered("uno", x, x))


def sum_block(dtype: np.dtype) -> int:
    """Elements of one block of a sum; complex numbers are pairs, which the vectoriser does not add in lanes."""
    return _SINGLE_BLOCK if dtype.kind == "c" else _LANES_BLOCK


def is_pairwise(fold: Op, dtype: np.dtype) -> bool:
    """Whether the fold is a sum that has to be formed in pairs."""
    return fold.kind is Kind.REDUCTION and fold.ufunc is np.add and dtype.kind in "fc"


class PairwiseSum:
    """The binary counter of one sum, in stack memory of the kernel.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Positioned anywhere in the kernel; memory is taken in its entry block.
    dtype : numpy.dtype
    """

    def __init__(self, builder: ir.IRBuilder, fold: Op, dtype: np.dtype):
        self.dtype = dtype
        self.neutral = neutral(fold, dtype)
        with builder.goto_entry_block():
            self.pairs = builder.alloca(value_type(dtype), _LEVELS)
            self.count = builder.alloca(I64)

    def reset(self, builder: ir.IRBuilder) -> None:
        builder.store(ir.Constant(I64, 0), self.count)

    def push(self, builder: ir.IRBuilder, block_sum: ir.Value) -> None:
        """Add the sum of one block: like a carry, it joins the pairs of equal size."""
        kind = ir.FunctionType(ir.VoidType(), [self.pairs.type, self.count.type, block_sum.type])
        builder.call(self._function(builder.module, "push", kind, self._push), [self.pairs, self.count, block_sum])

    def result(self, builder: ir.IRBuilder) -> ir.Value:
        """The sum of what was pushed."""
        kind = ir.FunctionType(self.neutral.type, [self.pairs.type, self.count.type])
        return builder.call(self._function(builder.module, "result", kind, self._result), [self.pairs, self.count])

    def _function(
        self, module: ir.Module, what: str, kind: ir.FunctionType, emit: Callable[..., ir.Value | None]
    ) -> ir.Function:
        """One function for all sums of a module: it runs once for many elements, and its code is no part of theirs."""
        name = f"{module.name}.{what}.{self.dtype.str[1:]}"
        if name not in module.globals:
            function = internal(module, kind, name)
            builder = ir.IRBuilder(function.append_basic_block("entry"))
            made = emit(builder, *function.args)
            if made is None:
                builder.ret_void()
            else:
                builder.ret(made)
        return module.globals[name]

    def _push(self, builder: ir.IRBuilder, pairs: ir.Value, place: ir.Value, block_sum: ir.Value) -> None:
        count = builder.add(builder.load(place), ir.Constant(I64, 1))
        builder.store(count, place)
        carries = builder.cttz(count, ir.Constant(ir.IntType(1), 0))

        def step(level: ir.Value, total: ir.Value) -> ir.Value:
            return self._add(builder, builder.load(builder.gep(pairs, [level])), total)

        total = _count_up(builder, carries, block_sum, step)
        builder.store(total, builder.gep(pairs, [carries]))

    def _result(self, builder: ir.IRBuilder, pairs: ir.Value, place: ir.Value) -> ir.Value:
        count = builder.load(place)
        bits = builder.sub(ir.Constant(I64, 64), builder.ctlz(count, ir.Constant(ir.IntType(1), 0)))

        def step(level: ir.Value, total: ir.Value) -> ir.Value:
            is_set = builder.trunc(builder.lshr(count, level), ir.IntType(1))
            joined = self._add(builder, builder.load(builder.gep(pairs, [level])), total)
            return emit_where(builder, (is_set, joined, total))

        return _count_up(builder, bits, self.neutral, step)

    def _add(self, builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
        if self.dtype.kind == "c":
            parts = [builder.fadd(builder.extract_value(x, k), builder.extract_value(y, k)) for k in range(2)]
            return make_complex(builder, *parts)
        return builder.fadd(x, y)


def _count_up(
    builder: ir.IRBuilder, stop: ir.Value, start: ir.Value, step: Callable[[ir.Value, ir.Value], ir.Value]
) -> ir.Value:
    """``value = start; for level in range(stop): value = step(level, value)``."""
    before = builder.block
    head = builder.append_basic_block("pairs")
    body = builder.append_basic_block("pair")
    after = builder.append_basic_block("paired")
    builder.branch(head)
    builder.position_at_end(head)
    level = builder.phi(I64)
    value = builder.phi(start.type)
    level.add_incoming(ir.Constant(I64, 0), before)
    value.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", level, stop), body, after)
    builder.position_at_end(body)
    value.add_incoming(step(level, value), builder.block)
    level.add_incoming(builder.add(level, ir.Constant(I64, 1)), builder.block)
    leave_as_it_is(builder.branch(head), builder.module)
    builder.position_at_end(after)
    return value
