"""Loops over tiles: where operands run through memory along different axes, tiles of them are turned in a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ..schedule.loopnest import Load, Loop, Operand, Store, Tiles
from .columns import columns_of, fold_columns
from .context import Bounds, smaller
from .memory import Turned
from .scalar import data_type
from .turning import TILE, turn

if TYPE_CHECKING:
    from .emit import Kernel


def emit_tiles(kernel: Kernel, tiles: Tiles) -> None:
    """Loops over tiles around the two loops in a tile."""
    builder = kernel.builder
    top, bottom = kernel.bounds(Loop(tiles.outer, (), tiles.outer == tiles.parallel))
    left, right = kernel.bounds(Loop(tiles.inner, (), tiles.inner == tiles.parallel, tiles.block_of))
    with builder.goto_entry_block():
        buffers = {o: builder.alloca(data_type(o.dtype), TILE * TILE) for o in tiles.turned}

    def row_of_tiles(row: ir.Value, next_row: ir.Value) -> None:
        def tile(column: ir.Value, next_column: ir.Value) -> None:
            below, beside = smaller(builder, next_row, bottom), smaller(builder, next_column, right)
            _tile(kernel, tiles, buffers, (row, below), (column, beside))

        kernel.repeat(f"axis{tiles.inner}.tiles", left, right, TILE, [], tile)

    kernel.repeat(f"axis{tiles.outer}.tiles", top, bottom, TILE, [], row_of_tiles)


def _tile(kernel: Kernel, tiles: Tiles, buffers: dict[Operand, ir.Value], rows: Bounds, columns: Bounds) -> None:
    """One tile: what is read is turned first, and what is written at the end."""
    builder, (top, below), (left, beside) = kernel.builder, rows, columns
    extents = builder.sub(below, top), builder.sub(beside, left)
    kernel.indices[tiles.outer], kernel.indices[tiles.inner] = top, left
    for operand in tiles.turned:
        if any(isinstance(s, Load) and s.operand == operand for s in tiles.body):
            _turn(kernel, "read", operand, tiles, buffers[operand], extents)
    for operand in tiles.turned:
        place = (tiles.outer, tiles.inner), (top, left)
        kernel.memory.turned[operand.name] = Turned(buffers[operand], *place, TILE)
    inner = Loop(tiles.inner, tiles.body)
    outer = Loop(tiles.outer, (inner,))

    def row(index: ir.Value, _: ir.Value) -> None:
        kernel.indices[tiles.outer] = index
        kernel.counted(inner, left, beside, [])

    if columns_of(outer) is not None:
        fold_columns(kernel, outer, rows, lambda: columns)
    else:
        kernel.repeat(f"axis{tiles.outer}", top, below, 1, [], row)
    kernel.memory.turned.clear()
    kernel.indices[tiles.outer], kernel.indices[tiles.inner] = top, left
    for operand in tiles.turned:
        if any(isinstance(s, Store) and s.operand == operand for s in tiles.body):
            _turn(kernel, "write", operand, tiles, buffers[operand], extents)


def _turn(kernel: Kernel, what: str, operand: Operand, tiles: Tiles, buffer: ir.Value, extents: Bounds) -> None:
    """Read the tile of `operand` that begins at these indices into its buffer, or write it from there."""
    along, across = (kernel.memory.stride(operand, axis) for axis in (tiles.outer, tiles.inner))
    assert across is not None, "an operand that runs along the inner axis is not turned"
    source = kernel.memory.address(operand, kernel.indices)
    turn(kernel.builder, what, operand.dtype, source, (along, across), buffer, extents, not operand.encoding)
