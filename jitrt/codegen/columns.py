"""Folds of columns, several rows at a time: what is folded into is loaded and stored once for all of them.

    for i:                             for i in steps of 4:
      for j:                             for j:
        v0 = x0[i,j]              →        v0 = x0[i,j]; …; v3 = x0[i+3,j]
        y0[j] (+)= v0                      y0[j] (+)= (v0 + v1) + (v2 + v3)

Sums in pairs are as accurate as those of one element after the other, or more so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from ..schedule.loopnest import Compute, FoldInto, Literal, Load, Loop
from .context import I64, Bounds
from .folds import combine
from .loophints import interleaving
from .scalar import Emitter
from .strips import divided

if TYPE_CHECKING:
    from .emit import Kernel

_ROWS = 4
_MOST_COST = 16  # additions of a turn: where more is computed, loads and stores matter little, and code is long


def columns_of(loop: Loop) -> Loop | None:
    """The loop along the columns, if `loop` does nothing but fold rows into memory, and little work."""
    if loop.follows is not None or loop.window is not None or len(loop.body) != 1:
        return None
    (inner,) = loop.body
    if not isinstance(inner, Loop) or inner.unrolled or inner.follows is not None or inner.window is not None:
        return None
    folds = [s for s in inner.body if isinstance(s, FoldInto)]
    others = [s for s in inner.body if not isinstance(s, FoldInto)]
    if not folds or not all(isinstance(s, (Load, Literal, Compute)) for s in others):
        return None
    if any(s.operand.strides[loop.axis] != "0" or s.operand.dtype.kind == "c" for s in folds):
        return None
    if divided(inner.body, inner.axis) is not None:
        return None
    cost = sum(s.op.cost for s in inner.body if isinstance(s, Compute))
    return inner if cost <= _MOST_COST and interleaving(inner.body) is None else None


def fold_columns(kernel: Kernel, loop: Loop, bounds: Bounds, columns: Callable[[], Bounds]) -> None:
    """Fold several rows at a time, and then those that are left; `columns` gives the bounds of the loop inside."""
    builder, (start, stop), (inner,) = kernel.builder, bounds, loop.body
    assert isinstance(inner, Loop)
    groups = builder.and_(builder.sub(stop, start), ir.Constant(I64, -_ROWS))
    middle = builder.add(start, groups)

    def rows(index: ir.Value, together: int) -> None:
        def column(j: ir.Value, _: ir.Value) -> None:
            _fold_rows(kernel, loop, inner, index, j, together)

        # Of single rows there are few: they are not worth the code for several vectors at a time.
        kernel.repeat(f"axis{inner.axis}", *columns(), 1, [], column, 1 if together == 1 else None)

    kernel.repeat(f"axis{loop.axis}.rows", start, middle, _ROWS, [], lambda i, _: rows(i, _ROWS))
    kernel.repeat(f"axis{loop.axis}", middle, stop, 1, [], lambda i, _: rows(i, 1))


def _fold_rows(kernel: Kernel, loop: Loop, inner: Loop, index: ir.Value, column: ir.Value, count: int) -> None:
    """Fold the elements of `count` rows, from `index` on, in one column."""
    builder = kernel.builder
    kernel.indices[inner.axis] = column
    values: dict[FoldInto, list[ir.Value]] = {}
    for row in range(count):
        kernel.indices[loop.axis] = builder.add(index, I64(row))
        for s in inner.body:
            if isinstance(s, FoldInto):
                values.setdefault(s, []).append(kernel.values[s.value])
            else:
                kernel.statement(s)
    for s, rows in values.items():
        fold = combine(s.fold, s.operand.dtype)
        total = _in_pairs(builder, rows, fold)
        stored = kernel.memory.load(s.operand, kernel.indices)
        kernel.memory.store(s.operand, kernel.indices, fold(builder, (stored, total)))


def _in_pairs(builder: ir.IRBuilder, values: Sequence[ir.Value], fold: Emitter) -> ir.Value:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return fold(builder, [_in_pairs(builder, part, fold) for part in (values[:half], values[half:])])
