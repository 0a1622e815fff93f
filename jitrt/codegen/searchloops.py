"""Loops that find the place of an extreme: in vectors, if all that is done is to look at neighbours, or by blocks."""

from __future__ import annotations

import functools

from llvmlite import ir

from ..schedule.loopnest import Load, Loop, Operand, Update
from .context import I64
from .emission import Kernel, smaller
from .folds import SEARCH_BLOCK, exceeds, is_same, neutral
from .searching import VectorSearch, fits_masks, lanes


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
