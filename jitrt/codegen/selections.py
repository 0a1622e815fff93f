"""Selections between values whose computation may raise floating-point exceptions.

NumPy computes both operands of ``where`` everywhere, and warns of a quotient that is not chosen. LLVM takes exceptions
for nothing: it computes the operand of a ``select`` under its mask, or behind a jump. So the bits of such operands are
blended by a mask of which LLVM does not know that all its bits are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..ir.ops.ufuncs import WHERE
from ..schedule.loopnest import Compute
from .context import I64
from .scalar import emit_where, make_complex

_WIDTHS = {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}


class Raising:
    """The values of a kernel whose computation may raise, as far as kernels compute them.

    Parameters
    ----------
    function : llvmlite.ir.Function
        The kernel.
    """

    def __init__(self, function: ir.Function):
        self._function = function
        self._values: set[int] = set()

    def note(self, s: Compute) -> None:
        """Note what `s` computes."""
        if s.op.raises(s.dtypes) or not self._values.isdisjoint(s.args):
            self._values.add(s.target)

    def is_blended(self, s: Compute) -> bool:
        """Whether `s` is a selection that has to compute both operands."""
        return s.op is WHERE and s.dtype.kind in "fc" and not self._values.isdisjoint(s.args[1:])

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
        unknown = builder.lshr(self._function.args[1], I64(48))  # zero: loops do not begin that late
        unknown = unknown if width == 64 else builder.trunc(unknown, bits)
        mask = builder.xor(builder.sext(condition, bits), unknown)
        chosen = builder.and_(builder.bitcast(x, bits), mask)
        other = builder.and_(builder.bitcast(y, bits), builder.not_(mask))
        return builder.bitcast(builder.or_(chosen, other), x.type)
