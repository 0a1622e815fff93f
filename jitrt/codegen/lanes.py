"""Sums and products in lanes: several accumulators, of which the processor takes several at once.

LLVM makes lanes of a loop that may be reordered, as many as it likes, and none where it cannot. Here their number and
their order are fixed, so that results depend neither on that nor on the processor.

    for i in range(n): total += f(i)  →  for i in range(0, n, 16): for k in range(16): lanes[k] += f(i + k)
                                         total = sums of halves, of halves of that ...
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from .context import I64
from .folds import combine, neutral
from .scalar import value_type

LANES = 16
_PART = 4  # lanes that are taken into others at once
_I32 = ir.IntType(32)


class Lanes:
    """The lanes of one fold, all of them neutral from here on."""

    def __init__(self, builder: ir.IRBuilder, fold: Op, dtype: np.dtype):
        self._kind, self._alignment = value_type(dtype), dtype.alignment
        self._combined = combine(fold, dtype, in_order=True)
        with builder.goto_entry_block():
            self._places = builder.alloca(ir.ArrayType(self._kind, LANES))
        for k in range(LANES):
            builder.store(neutral(fold, dtype), self._place(builder, I64(k)))

    def _place(self, builder: ir.IRBuilder, lane: ir.Value) -> ir.Value:
        return builder.gep(self._places, [I64(0), lane], inbounds=True)

    def fold(self, builder: ir.IRBuilder, lane: ir.Value, value: ir.Value) -> None:
        """Fold a value into a lane."""
        place = self._place(builder, lane)
        builder.store(self._combined(builder, (builder.load(place), value)), place)

    def total(self, builder: ir.IRBuilder) -> ir.Value:
        """What the lanes give together: those of the second half are taken into those of the first one, and so on."""
        vector, parts = ir.VectorType(self._kind, _PART).as_pointer(), []
        for k in range(0, LANES, _PART):
            part = builder.load(builder.bitcast(self._place(builder, I64(k)), vector))
            part.align = self._alignment
            parts.append(part)
        last = self._halved(builder, parts)
        return self._halved(builder, [builder.extract_element(last, _I32(k)) for k in range(_PART)])

    def _halved(self, builder: ir.IRBuilder, values: list[ir.Value]) -> ir.Value:
        while len(values) > 1:
            half = len(values) // 2
            values = [self._combined(builder, pair) for pair in zip(values[:half], values[half:])]
        return values[0]
