"""Places of extremes: a row of neighbours in memory is searched in vectors, its end by a vector that overlaps.

Where a loop does more than look at neighbours, it goes by blocks.

Vectors compare as NumPy's loops do: a nan is more extreme than any number; of equal elements the first is found.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from ..schedule.loopnest import Load, Loop, Operand, Update
from .context import I64, call_intrinsic, smaller
from .folds import SEARCH_BLOCK, exceeds, is_same, neutral
from .masks import first_lanes, masked_load, splat
from .scalar import data_type

if TYPE_CHECKING:
    from .emit import Kernel

_VECTOR = 64  # bytes
_VECTORS_BLOCK = 64  # vectors whose extreme is found before it is compared with that of the blocks before
_TOGETHER = 4  # vectors, lest each wait for the one before
_I1 = ir.IntType(1)
_I32 = ir.IntType(32)
_MASKED = 4  # bytes of an element: of smaller ones some processors cannot load single lanes

Accumulators = dict[int, ir.Value]
Turn = Callable[[ir.Value, ir.Value], None]
Repeat = Callable[[str, ir.Value, ir.Value, int, list[int], Turn], None]


class VectorSearch:
    """The search of one row.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    repeat : callable
        ``repeat(name, start, stop, step, carried, turn)`` emits a loop around ``turn(index, following)``, with
        `accumulators` of the numbers `carried` from turn to turn.
    accumulators : dict of int to llvmlite.ir.Value
        The numbers below `free` are not used by anyone else.
    free : int
    fold : Op
    dtype : numpy.dtype
    address : callable
        Where an element lies.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        repeat: Repeat,
        accumulators: Accumulators,
        free: int,
        fold: Op,
        dtype: np.dtype,
        address: Callable[[ir.Value], ir.Value],
    ):
        self.builder, self.repeat, self.accumulators = builder, repeat, accumulators
        self.fold, self.dtype, self.address = fold, dtype, address
        self.best, self.where, self.nans = free - 1, free - 2, free - 3
        self.lanes = [free - 4 - k for k in range(_TOGETHER)]
        self.width = lanes(dtype)
        self.vector = ir.VectorType(data_type(dtype), self.width)

    def place(self, start: ir.Value, stop: ir.Value) -> ir.Value:
        """The place of the extreme among at least as many elements as a vector has."""
        builder = self.builder
        last = builder.sub(stop, I64(self.width))
        at_once = builder.icmp_signed("<=", builder.sub(stop, start), I64(I64.width))
        extreme, where = self._either(
            at_once,
            lambda: (self._extreme(start, stop, last), start),
            lambda: self._extreme_block(start, stop, last),
        )
        if self.dtype.kind == "f":
            at_once = builder.and_(at_once, builder.fcmp_ordered("ord", extreme, extreme))
        wanted = splat(builder, extreme, self.width)
        (place,) = self._either(
            at_once,
            lambda: (self._first_bit(wanted, start, last),),
            lambda: (self._first(wanted, where, last),),
        )
        return place

    def _either(
        self,
        condition: ir.Value,
        then: Callable[[], tuple[ir.Value, ...]],
        otherwise: Callable[[], tuple[ir.Value, ...]],
    ) -> list[ir.Value]:
        """What one of two branches gives."""
        builder, found = self.builder, []
        with builder.if_else(condition) as branches:
            for branch, values in zip(branches, (then, otherwise)):
                with branch:
                    found.append((values(), builder.block))
        joined = []
        for k, value in enumerate(found[0][0]):
            joined.append(builder.phi(value.type))
            for values_, origin in found:
                joined[-1].add_incoming(values_[k], origin)
        return joined

    def _extreme_block(self, start: ir.Value, stop: ir.Value, last: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The extreme of a long row, and where the first block begins that has it."""
        builder, fold, dtype = self.builder, self.fold, self.dtype
        self.accumulators[self.best], self.accumulators[self.where] = neutral(fold, dtype), start

        def block(first: ir.Value, following: ir.Value) -> None:
            end = self._smaller(following, stop)
            found, before = self._extreme(first, end, last), self.accumulators[self.best]
            better = exceeds(builder, fold, dtype, found, before)
            self.accumulators[self.best] = builder.select(better, found, before)
            self.accumulators[self.where] = builder.select(better, first, self.accumulators[self.where])

        self.repeat("search.blocks", start, stop, _VECTORS_BLOCK * self.width, [self.best, self.where], block)
        return self.accumulators[self.best], self.accumulators[self.where]

    def _extreme(self, first: ir.Value, end: ir.Value, last: ir.Value) -> ir.Value:
        """The extreme of a block. The vector at its end may begin before it: what stands there was looked at before."""
        builder, step = self.builder, self.width * _TOGETHER
        carried = [self.nans, *self.lanes] if self.dtype.kind == "f" else self.lanes
        self.accumulators[self.nans] = ir.Constant(ir.VectorType(_I1, self.width), [_I1(0)] * self.width)
        start = splat(builder, neutral(self.fold, self.dtype), self.width)
        for lane in self.lanes:
            self.accumulators[lane] = start

        def several(index: ir.Value, _: ir.Value) -> None:
            for k, lane in enumerate(self.lanes):
                self._look(builder.add(index, I64(k * self.width)), lane)

        def one(index: ir.Value, _: ir.Value) -> None:
            self._look(self._smaller(index, last), self.lanes[0])

        whole = builder.add(first, builder.and_(builder.sub(end, first), I64(-step)))
        self.repeat("search.vectors", first, whole, step, carried, several)
        self.repeat("search.vector", whole, end, self.width, [c for c in carried if c not in self.lanes[1:]], one)
        total = self.accumulators[self.lanes[0]]
        for lane in self.lanes[1:]:
            total = self._more_extreme(self.accumulators[lane], total)
        found = self._of_lanes(total)
        if self.dtype.kind != "f":
            return found
        nan = ir.Constant(found.type, float("nan"))
        return builder.select(self._any(self.accumulators[self.nans]), nan, found)

    def _of_lanes(self, total: ir.Value) -> ir.Value:
        """The extreme of the lanes of a vector that holds no nan."""
        builder, half = self.builder, self.width // 2
        while half:
            kind = ir.VectorType(_I32, half)
            low, high = (
                builder.shuffle_vector(total, total, ir.Constant(kind, [_I32(start + k) for k in range(half)]))
                for start in (0, half)
            )
            total, half = self._more_extreme(high, low), half // 2
        return builder.extract_element(total, _I32(0))

    def place_in_vector(self, start: ir.Value, stop: ir.Value) -> ir.Value:
        """The place of the extreme among no more elements than a vector has, and at least one."""
        builder, others = self.builder, splat(self.builder, neutral(self.fold, self.dtype), self.width)
        there = first_lanes(builder, builder.sub(stop, start), self.width)
        x = masked_load(builder, self.address(start), self.dtype, there, others)
        same = builder.and_(self._equal(x, splat(builder, self._of_lanes(x), self.width)), there)
        bits = self._bits(same)
        if self.dtype.kind == "f":
            nans = self._bits(builder.fcmp_unordered("uno", x, x))
            bits = builder.select(builder.icmp_unsigned("!=", nans, ir.Constant(nans.type, 0)), nans, bits)
        return builder.add(start, builder.zext(builder.cttz(bits, _I1(1)), I64))

    def _look(self, index: ir.Value, lane: int) -> None:
        x = self._load(index)
        self.accumulators[lane] = self._more_extreme(x, self.accumulators[lane])
        if self.dtype.kind == "f":
            nan = self.builder.fcmp_unordered("uno", x, x)
            self.accumulators[self.nans] = self.builder.or_(self.accumulators[self.nans], nan)

    def _more_extreme(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The more extreme of two vectors, lane by lane, and `y` where `x` is nan."""
        builder, order = self.builder, ">" if self.fold.ufunc is np.maximum else "<"
        if self.dtype.kind == "f":
            return builder.select(builder.fcmp_ordered(order, x, y), x, y)
        compare = builder.icmp_signed if self.dtype.kind == "i" else builder.icmp_unsigned
        return builder.select(compare(order, x, y), x, y)

    def _first_bit(self, wanted: ir.Value, start: ir.Value, last: ir.Value) -> ir.Value:
        """The place of the first element that is wanted, a number, in a row of no more elements than a word has bits.

        No branch depends on where it is, which no processor could foresee.
        """
        builder, found = self.builder, self.where
        self.accumulators[found] = I64(0)

        def look(index: ir.Value, _: ir.Value | None = None) -> None:
            bits = self._bits(self._equal(self._load(index), wanted))
            bits = bits if self.width == I64.width else builder.zext(bits, I64)
            bits = builder.shl(bits, builder.sub(index, start))
            self.accumulators[found] = builder.or_(self.accumulators[found], bits)

        self.repeat("search.bits", start, last, self.width, [found], look)
        look(last)
        return builder.add(start, builder.cttz(self.accumulators[found], _I1(1)))

    def _equal(self, x: ir.Value, wanted: ir.Value) -> ir.Value:
        compare = self.builder.fcmp_ordered if self.dtype.kind == "f" else self.builder.icmp_signed
        return compare("==", x, wanted)

    def _bits(self, mask: ir.Value) -> ir.Value:
        return self.builder.bitcast(mask, ir.IntType(self.width))

    def _first(self, wanted: ir.Value, where: ir.Value, last: ir.Value) -> ir.Value:
        """The place of the first element from `where` on that is wanted, or is nan; there is one."""
        builder, before = self.builder, self.builder.block
        head, after = builder.append_basic_block("search.place"), builder.append_basic_block("search.end")
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(I64)
        index.add_incoming(where, before)
        here = self._smaller(index, last)
        x = self._load(here)
        same = self._equal(x, wanted)
        if self.dtype.kind == "f":
            same = builder.or_(same, builder.fcmp_unordered("uno", x, x))
        bits = self._bits(same)
        index.add_incoming(builder.add(index, I64(self.width)), builder.block)
        builder.cbranch(builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0)), after, head)
        builder.position_at_end(after)
        lane = builder.cttz(bits, _I1(1))
        lane = lane if self.width == I64.width else builder.zext(lane, I64)
        return builder.add(here, lane)

    def _load(self, index: ir.Value) -> ir.Value:
        data = self.builder.load(self.builder.bitcast(self.address(index), self.vector.as_pointer()))
        data.align = self.dtype.alignment
        return data

    def _any(self, mask: ir.Value) -> ir.Value:
        bits = self._bits(mask)
        return self.builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    def _smaller(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return call_intrinsic(self.builder, "smin", (x, y))


def fits_masks(dtype: np.dtype) -> bool:
    """Whether processors load single lanes of such elements."""
    return dtype.itemsize >= _MASKED


def lanes(dtype: np.dtype) -> int:
    """Elements of a vector."""
    return _VECTOR // dtype.itemsize


def search_row(kernel: Kernel, loop: Loop, start: ir.Value, stop: ir.Value, acc: int) -> None:
    """Find the extreme: in vectors if all that is done is to look at neighbours."""
    fold, dtype = kernel.folds[acc]
    match loop.body:
        case (Load(_, operand), Update()) if _in_vectors(operand, loop.axis):
            builder = kernel.builder
            enough = builder.icmp_signed(">", builder.sub(stop, start), ir.Constant(I64, lanes(dtype)))
            with builder.if_else(enough) as (in_vectors, one_by_one):
                with in_vectors:
                    address = functools.partial(_address_at, kernel, operand, loop.axis)
                    free = -2 - 2 * len(kernel.folds)
                    search = VectorSearch(builder, kernel.repeat, kernel.accumulators, free, fold, dtype, address)
                    first = search.place(start, stop), builder.block
                with one_by_one:
                    if fits_masks(dtype):
                        kernel.accumulators[acc] = search.place_in_vector(start, stop)
                    else:
                        _search(kernel, loop, start, stop, acc)
                    second = kernel.accumulators[acc], builder.block
            kernel.accumulators[acc] = builder.phi(I64)
            for value, block in (first, second):
                kernel.accumulators[acc].add_incoming(value, block)
        case _:
            _search(kernel, loop, start, stop, acc)


def _in_vectors(operand: Operand, axis: int) -> bool:
    """Whether elements along an axis are loaded in vectors as they are."""
    return operand.strides[axis] == "1" and operand.dtype.kind in "fiu" and not operand.encoding


def _address_at(kernel: Kernel, operand: Operand, axis: int, index: ir.Value) -> ir.Value:
    kernel.indices[axis] = index
    return kernel.memory.address(operand, kernel.indices)


def _search(kernel: Kernel, loop: Loop, start: ir.Value, stop: ir.Value, acc: int) -> None:
    """Find the extreme block by block, and then its first place in the block that had it first."""
    builder, (fold, dtype) = kernel.builder, kernel.folds[acc]
    best, where = -1 - 2 * acc, -2 - 2 * acc  # accumulators of this loop alone
    kernel.accumulators[best], kernel.accumulators[where] = neutral(fold, dtype), start

    def block(first: ir.Value, following: ir.Value) -> None:
        kernel.accumulators[acc] = neutral(fold, dtype)
        kernel.counted(loop, first, smaller(builder, following, stop), [acc])
        found, before = kernel.accumulators[acc], kernel.accumulators[best]
        better = exceeds(builder, fold, dtype, found, before)
        kernel.accumulators[best] = builder.select(better, found, before)
        kernel.accumulators[where] = builder.select(better, first, kernel.accumulators[where])

    kernel.repeat(f"axis{loop.axis}.blocks", start, stop, SEARCH_BLOCK, [best, where], block)
    first, extreme = kernel.accumulators[where], kernel.accumulators[best]
    (value,) = (s.value for s in loop.body if isinstance(s, Update))
    kernel.accumulators[where] = stop

    def compare(index: ir.Value, _: ir.Value) -> None:
        kernel.indices[loop.axis] = index
        kernel.block([s for s in loop.body if not isinstance(s, Update)])
        match = is_same(builder, dtype, kernel.values[value], extreme)
        place = builder.select(match, index, stop)
        kernel.accumulators[where] = smaller(builder, place, kernel.accumulators[where])

    last = smaller(builder, builder.add(first, ir.Constant(I64, SEARCH_BLOCK)), stop)
    kernel.repeat(f"axis{loop.axis}.search", first, last, 1, [where], compare)
    kernel.accumulators[acc] = kernel.accumulators[where]
