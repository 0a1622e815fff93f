"""Selections between values whose computation may raise floating-point exceptions.

NumPy computes both operands of ``where`` everywhere, and warns of a quotient that is not chosen. LLVM takes exceptions
for nothing: it computes the operand of a ``select`` under its mask, or behind a jump. So the bits of such operands are
blended by a mask of which LLVM does not know that all its bits are equal. Where no loop of vectors can become of it,
operands pass through an assembly statement instead, see `conditions`: it costs nothing, and a mask a trip to the other
registers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from ..ir.ops.ufuncs import WHERE
from .context import I64
from .scalar import emit_where, make_complex

_WIDTHS = {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}


class Raising:
    """The values of a function whose computation may raise, as far as it computes them.

    Parameters
    ----------
    word : llvmlite.ir.Value
        A number below 2**48 and not below 0, of which LLVM does not know that.
    """

    def __init__(self, word: ir.Value):
        self._word = word
        self._values: set[Hashable] = set()

    def note(self, target: Hashable, op: Op, args: Sequence[Hashable], dtypes: tuple[np.dtype, ...]) -> None:
        """Note that `target` is ``op(*args)``."""
        if op.raises(dtypes) or not self._values.isdisjoint(args):
            self._values.add(target)

    def computes_both(self, op: Op, args: Sequence[Hashable], dtype: np.dtype) -> bool:
        """Whether ``op(*args)`` is a selection that has to compute both operands."""
        return op is WHERE and dtype.kind in "fc" and not self._values.isdisjoint(args[1:])

    def blend(self, builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        """``where(*args)`` of floats or complex numbers."""
        condition, x, y = args
        if isinstance(x.type, ir.LiteralStructType):
            parts = [self._blended(builder, condition, *(builder.extract_value(v, k) for v in (x, y))) for k in (0, 1)]
            return make_complex(builder, *parts)
        return self._blended(builder, condition, x, y)

    def _blended(self, builder: ir.IRBuilder, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        width = _WIDTHS.get(type(x.type))
        if width is None:
            return emit_where(builder, (condition, x, y))
        bits = ir.IntType(width)
        unknown = builder.lshr(self._word, I64(48))  # zero
        unknown = unknown if width == 64 else builder.trunc(unknown, bits)
        mask = builder.xor(builder.sext(condition, bits), unknown)
        chosen = builder.and_(builder.bitcast(x, bits), mask)
        other = builder.and_(builder.bitcast(y, bits), builder.not_(mask))
        return builder.bitcast(builder.or_(chosen, other), x.type)
