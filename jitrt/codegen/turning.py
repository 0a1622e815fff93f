"""Transposing a tile: memory that runs along one axis, and a buffer that runs along the other.

Blocks are transposed in registers. Where a tile has no whole number of them, vectors load and store what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from .context import I64, call_intrinsic
from .masks import first_lanes, masked_load, masked_store

BLOCK = 8  # rows and columns that are transposed in registers
TILE = 32  # rows and columns of a tile: as many cache lines for each operand

_I32 = ir.IntType(32)
Count = Callable[[ir.Value, ir.Value, int, Callable[[ir.Value], None]], None]


@dataclass(slots=True)
class Tile:
    """A tile of an operand, and the buffer where element ``(i, j)`` is at ``(i - rows[0]) * TILE + j - columns[0]``.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    count : callable
        ``count(start, stop, step, body)`` emits a loop around ``body(index)``.
    dtype : numpy.dtype
    source : callable
        The address of an element of the operand, for `i` and `j`.
    buffer : llvmlite.ir.Value
        The address of the first of ``TILE * TILE`` elements.
    rows, columns : pair of llvmlite.ir.Value
        Where the tile begins and ends.
    contiguous : bool
        Whether elements of neighbouring `i` are neighbours in memory.
    """

    builder: ir.IRBuilder
    count: Count
    dtype: np.dtype
    source: Callable[[ir.Value, ir.Value], ir.Value]
    buffer: ir.Value
    rows: tuple[ir.Value, ir.Value]
    columns: tuple[ir.Value, ir.Value]
    contiguous: bool

    def read(self) -> None:
        """Copy the elements of the operand to the buffer."""
        if self._is_made_of_vectors():
            self._in_blocks(self._read_block)
        else:
            self._one_by_one(self.source, self._target)

    def write(self) -> None:
        """Copy the elements of the buffer to the operand."""
        if self._is_made_of_vectors():
            self._in_blocks(self._write_block)
        else:
            self._one_by_one(self._target, self.source)

    def _is_made_of_vectors(self) -> bool:
        element = self.buffer.type.pointee
        return self.contiguous and isinstance(element, (ir.IntType, ir.FloatType, ir.DoubleType))

    def _target(self, i: ir.Value, j: ir.Value) -> ir.Value:
        builder = self.builder
        row = builder.mul(builder.sub(i, self.rows[0]), I64(TILE))
        return builder.gep(self.buffer, [builder.add(row, builder.sub(j, self.columns[0]))], inbounds=True)

    def _one_by_one(self, source: Callable[..., ir.Value], target: Callable[..., ir.Value]) -> None:
        def copy(i: ir.Value, j: ir.Value) -> None:
            data = self.builder.load(source(i, j))
            data.align = 1
            self.builder.store(data, target(i, j)).align = 1

        self.count(*self.columns, 1, lambda j: self.count(*self.rows, 1, lambda i: copy(i, j)))

    def _in_blocks(self, block: Callable[[ir.Value, ir.Value], None]) -> None:
        self.count(*self.rows, BLOCK, lambda i: self.count(*self.columns, BLOCK, lambda j: block(i, j)))

    def _read_block(self, i: ir.Value, j: ir.Value) -> None:
        """Behind the last column the last one is read again; the buffer has room for whole blocks."""
        builder = self.builder
        last, there = builder.sub(self.columns[1], I64(1)), first_lanes(builder, builder.sub(self.rows[1], i), BLOCK)
        nothing = ir.Constant(ir.VectorType(self.buffer.type.pointee, BLOCK), None)
        columns = (call_intrinsic(builder, "smin", (builder.add(j, I64(k)), last)) for k in range(BLOCK))
        lines = [masked_load(builder, self.source(i, column), self.dtype, there, nothing) for column in columns]
        for k, line in enumerate(_transposed(builder, lines)):
            place = builder.bitcast(self._target(builder.add(i, I64(k)), j), line.type.as_pointer())
            builder.store(line, place).align = 1

    def _write_block(self, i: ir.Value, j: ir.Value) -> None:
        builder = self.builder
        vector = ir.VectorType(self.buffer.type.pointee, BLOCK).as_pointer()
        lines = []
        for k in range(BLOCK):
            line = builder.load(builder.bitcast(self._target(builder.add(i, I64(k)), j), vector))
            line.align = 1
            lines.append(line)
        rows = builder.sub(self.rows[1], i)
        for k, line in enumerate(_transposed(builder, lines)):
            column = builder.add(j, I64(k))
            is_there = builder.icmp_signed("<", column, self.columns[1])
            there = first_lanes(builder, builder.select(is_there, rows, I64(0)), BLOCK)
            masked_store(builder, line, self.source(i, column), self.dtype, there)


def _transposed(builder: ir.IRBuilder, lines: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square of vectors: pairs of vectors exchange halves, quarters, eighths."""
    width = len(lines)
    step = width // 2
    while step:
        result = list(lines)
        for k in range(width):
            if not k & step:
                low = [m if not m & step else m - step + width for m in range(width)]
                high = [m + step if not m & step else m + width for m in range(width)]
                result[k] = _shuffle(builder, lines[k], lines[k + step], low)
                result[k + step] = _shuffle(builder, lines[k], lines[k + step], high)
        lines, step = result, step // 2
    return lines


def _shuffle(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, places: list[int]) -> ir.Value:
    mask = ir.Constant(ir.VectorType(_I32, len(places)), [_I32(k) for k in places])
    return builder.shuffle_vector(x, y, mask)
