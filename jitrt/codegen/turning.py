"""Transposing a tile: from memory that runs along one axis into a buffer that runs along the other.

Whole blocks are transposed in registers; what is left at the edges, element by element.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from .context import I64

BLOCK = 8  # rows and columns that are transposed in registers
TILE = 32  # rows and columns of a tile: as many cache lines for each operand

_I32 = ir.IntType(32)
Count = Callable[[ir.Value, ir.Value, int, Callable[[ir.Value], None]], None]


def turn_tile(
    builder: ir.IRBuilder,
    count: Count,
    source: Callable[[ir.Value, ir.Value], ir.Value],
    buffer: ir.Value,
    rows: tuple[ir.Value, ir.Value],
    columns: tuple[ir.Value, ir.Value],
    contiguous: bool,
) -> None:
    """Copy the elements ``(i, j)`` of a tile to ``buffer[(i - rows[0]) * TILE + j - columns[0]]``.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    count : callable
        ``count(start, stop, step, body)`` emits a loop around ``body(index)``.
    source : callable
        The address of an element, for `i` and `j`.
    buffer : llvmlite.ir.Value
        The address of the first of ``TILE * TILE`` elements.
    rows, columns : pair of llvmlite.ir.Value
        Where the tile begins and ends.
    contiguous : bool
        Whether elements of neighbouring `i` are neighbours in memory.
    """
    (top, bottom), (left, right) = rows, columns
    element = buffer.type.pointee

    def target(i: ir.Value, j: ir.Value) -> ir.Value:
        row = builder.mul(builder.sub(i, top), I64(TILE))
        return builder.gep(buffer, [builder.add(row, builder.sub(j, left))], inbounds=True)

    def one_by_one(first: ir.Value, last: ir.Value, start: ir.Value, stop: ir.Value) -> None:
        def copy(i: ir.Value, j: ir.Value) -> None:
            data = builder.load(source(i, j))
            data.align = 1
            builder.store(data, target(i, j))

        count(start, stop, 1, lambda j: count(first, last, 1, lambda i: copy(i, j)))

    if not contiguous or not isinstance(element, (ir.IntType, ir.FloatType, ir.DoubleType)):
        one_by_one(top, bottom, left, right)
        return
    vector = ir.VectorType(element, BLOCK).as_pointer()
    whole_rows = builder.add(top, builder.and_(builder.sub(bottom, top), I64(-BLOCK)))
    whole_columns = builder.add(left, builder.and_(builder.sub(right, left), I64(-BLOCK)))

    def block(i: ir.Value, j: ir.Value) -> None:
        lines = []
        for k in range(BLOCK):
            line = builder.load(builder.bitcast(source(i, builder.add(j, I64(k))), vector))
            line.align = 1
            lines.append(line)
        for k, line in enumerate(_transposed(builder, lines)):
            store = builder.store(line, builder.bitcast(target(builder.add(i, I64(k)), j), vector))
            store.align = 1

    count(top, whole_rows, BLOCK, lambda i: count(left, whole_columns, BLOCK, lambda j: block(i, j)))
    one_by_one(whole_rows, bottom, left, right)
    one_by_one(top, whole_rows, whole_columns, right)


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
