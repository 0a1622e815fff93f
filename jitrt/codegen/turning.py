"""Transposing a tile: memory that runs along one axis, and a buffer that runs along the other.

Blocks are transposed in registers. Where a tile has no whole number of them, vectors load and store what is there. The
code is a function of its own, which all tiles of a kernel share: LLVM takes its time over so many shuffles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir

from ..kernels.words import BYTES, counted, word
from .context import I64
from .masks import first_lanes, masked_load, masked_store
from .scalar import data_type

BLOCK = 8  # rows and columns that are transposed in registers
TILE = 32  # rows and columns of a tile: as many cache lines for each operand

_I32 = ir.IntType(32)


def turn(
    builder: ir.IRBuilder,
    what: str,
    dtype: np.dtype,
    source: ir.Value,
    strides: tuple[ir.Value | None, ir.Value],
    buffer: ir.Value,
    extents: tuple[ir.Value, ir.Value],
    aligned: bool = True,
) -> None:
    """Copy a tile to a buffer, where element ``(i, j)`` is at ``i * TILE + j``, or back.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    what : str
        ``"read"`` or ``"write"`` the memory of the tile.
    dtype : numpy.dtype
    source : llvmlite.ir.Value
        The address of the first element.
    strides : pair of llvmlite.ir.Value
        In bytes, along `i` and `j`; None along `i` if elements of neighbouring `i` are neighbours in memory.
    buffer : llvmlite.ir.Value
        The address of the first of ``TILE * TILE`` elements.
    extents : pair of llvmlite.ir.Value
        How many `i` and `j` there are.
    aligned : bool
        Whether the memory is. Elements are copied as they are, in whatever order their bytes are.
    """
    in_vectors = strides[0] is None and isinstance(data_type(dtype), (ir.IntType, ir.FloatType, ir.DoubleType))
    along = I64(dtype.itemsize) if strides[0] is None else strides[0]
    function = _function(builder.module, what, dtype, in_vectors, aligned)
    builder.call(function, [builder.bitcast(source, BYTES), along, strides[1], buffer, *extents])


def _function(module: ir.Module, what: str, dtype: np.dtype, in_vectors: bool, aligned: bool) -> ir.Function:
    """``turn(source, along, across, buffer, rows, columns)``."""
    name = f"jitrt_{what}_tile_{dtype.kind}{dtype.itemsize}"
    name += ("" if in_vectors else "_one_by_one") + ("" if aligned else "_anywhere")
    if name in module.globals:
        return module.globals[name]
    kind = ir.FunctionType(ir.VoidType(), [BYTES, I64, I64, data_type(dtype).as_pointer(), I64, I64])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    emitted = _Turning(builder, dtype, aligned, *function.args)
    step, body = (BLOCK, getattr(emitted, f"{what}_block")) if in_vectors else (1, getattr(emitted, f"{what}_element"))
    _count(builder, emitted.rows, step, lambda i: _count(builder, emitted.columns, step, lambda j: body(i, j)))
    builder.ret_void()
    return function


def _count(builder: ir.IRBuilder, stop: ir.Value, step: int, body: Callable[[ir.Value], None]) -> None:
    """``for k in range(0, stop, step): body(k)``."""
    turns = builder.udiv(builder.add(stop, word(step - 1)), word(step))
    with counted(builder, turns) as k:
        body(builder.mul(k, word(step)))


class _Turning:
    """Emission of what is done to a block, or to an element."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        dtype: np.dtype,
        aligned: bool,
        source: ir.Value,
        along: ir.Value,
        across: ir.Value,
        buffer: ir.Value,
        rows: ir.Value,
        columns: ir.Value,
    ):
        self.builder, self.dtype, self.aligned = builder, dtype, aligned
        self.source, self.along, self.across = source, along, across
        self.buffer, self.rows, self.columns = buffer, rows, columns
        self.element = data_type(dtype)

    def read_element(self, i: ir.Value, j: ir.Value) -> None:
        self._copy(self._outside(i, j), self._inside(i, j))

    def write_element(self, i: ir.Value, j: ir.Value) -> None:
        self._copy(self._inside(i, j), self._outside(i, j))

    def read_block(self, i: ir.Value, j: ir.Value) -> None:
        """Behind the last column the last one is read again; the buffer has room for whole blocks."""
        builder = self.builder
        there = first_lanes(builder, builder.sub(self.rows, i), BLOCK)
        nothing = ir.Constant(ir.VectorType(self.element, BLOCK), None)
        lines = []
        place = self._outside(i, j)
        for k in range(BLOCK):
            if k:
                is_there = builder.icmp_signed("<", builder.add(j, I64(k)), self.columns)
                place = self._beside(place, builder.select(is_there, self.across, I64(0)))
            lines.append(masked_load(builder, place, self.dtype, there, nothing, self.aligned))
        for k, line in enumerate(_transposed(builder, lines)):
            place = builder.bitcast(self._inside(builder.add(i, I64(k)), j), line.type.as_pointer())
            builder.store(line, place).align = self.dtype.alignment

    def write_block(self, i: ir.Value, j: ir.Value) -> None:
        builder = self.builder
        vector = ir.VectorType(self.element, BLOCK).as_pointer()
        lines = []
        for k in range(BLOCK):
            line = builder.load(builder.bitcast(self._inside(builder.add(i, I64(k)), j), vector))
            line.align = self.dtype.alignment
            lines.append(line)
        rows = builder.sub(self.rows, i)
        place = self._outside(i, j)
        for k, line in enumerate(_transposed(builder, lines)):
            is_there = builder.icmp_signed("<", builder.add(j, I64(k)), self.columns)
            there = first_lanes(builder, builder.select(is_there, rows, I64(0)), BLOCK)
            masked_store(builder, line, place, self.dtype, there, self.aligned)
            place = self._beside(place, self.across)

    def _copy(self, source: ir.Value, target: ir.Value) -> None:
        data, alignment = self.builder.load(source), self.dtype.alignment if self.aligned else 1
        data.align = alignment
        self.builder.store(data, target).align = alignment

    def _outside(self, i: ir.Value, j: ir.Value) -> ir.Value:
        builder = self.builder
        offset = builder.add(builder.mul(i, self.along), builder.mul(j, self.across))
        return builder.bitcast(builder.gep(self.source, [offset]), self.element.as_pointer())

    def _beside(self, place: ir.Value, step: ir.Value) -> ir.Value:
        """The address some bytes behind `place`."""
        moved = self.builder.gep(self.builder.bitcast(place, BYTES), [step])
        return self.builder.bitcast(moved, place.type)

    def _inside(self, i: ir.Value, j: ir.Value) -> ir.Value:
        return self.builder.gep(self.buffer, [self.builder.add(self.builder.mul(i, I64(TILE)), j)], inbounds=True)


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
