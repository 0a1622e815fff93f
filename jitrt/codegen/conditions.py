"""Operations under a condition stay there.

LLVM takes floating-point exceptions for nothing. Of ``if x > 0: y = 1 / x`` it computes the quotient in any case, and
chooses afterwards: a call whose numbers are in order would look as if it had divided by zero. So operands pass through
an assembly statement without instructions, which LLVM does not move, and nothing can be computed from them before.

    if %c: %q = fdiv double %x, %y  →  if %c: %y2 = asm sideeffect "" (%y); %q = fdiv double %x2, %y2
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from .kept import FLOATS, is_word
from .scalar import make_complex


def held(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The values, known from here on."""
    return [_held(builder, value) for value in values]


def _held(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    kind = value.type
    if isinstance(kind, ir.LiteralStructType):
        return make_complex(builder, *(_held(builder, builder.extract_value(value, k)) for k in (0, 1)))
    register = FLOATS if isinstance(kind, (ir.FloatType, ir.DoubleType)) else "r" if is_word(kind) else None
    if register is None:
        return value
    return builder.asm(ir.FunctionType(kind, [kind]), "", f"={register},0", [value], True)
