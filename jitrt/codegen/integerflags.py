"""Floating-point exceptions of integer division: NumPy reports a division by zero, and no instruction does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op

Emitter = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]
_DOUBLE = ir.DoubleType()


def with_flags(emit: Emitter, op: Op, operands: Sequence[np.dtype]) -> Emitter:
    """`emit`, and operations on floats that raise what NumPy's loop reports for the same operands."""
    if not op.integer_flags or any(t.kind not in "iu" for t in operands):
        return emit

    def emit_with_flags(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        divisor = args[-1]
        if not isinstance(divisor, ir.Constant) or not divisor.constant:
            zero = builder.icmp_unsigned("==", divisor, ir.Constant(divisor.type, 0))
            _raise_if(builder, "fdiv", zero, 1.0, 0.0)
        if "over" in op.integer_flags and operands[0].kind == "i":
            lowest = ir.Constant(args[0].type, -(1 << (args[0].type.width - 1)))
            overflows = builder.icmp_signed("==", args[0], lowest)
            overflows = builder.and_(overflows, builder.icmp_signed("==", divisor, ir.Constant(divisor.type, -1)))
            if not (isinstance(divisor, ir.Constant) and divisor.constant != -1):
                _raise_if(builder, "fmul", overflows, 2.0**1000, 2.0**1000)
        return emit(builder, args)

    return emit_with_flags


def _raise_if(builder: ir.IRBuilder, operation: str, condition: ir.Value, x: float, y: float) -> None:
    """Compute ``x operation y`` if `condition` holds and ``x operation 1`` otherwise, for the flag alone.

    LLVM keeps an operation whose exceptions are said to matter, though nothing uses its result.
    """
    operand = builder.select(condition, ir.Constant(_DOUBLE, y), ir.Constant(_DOUBLE, 1.0))
    metadata = ir.MetaDataType()
    kind = ir.FunctionType(_DOUBLE, [_DOUBLE, _DOUBLE, metadata, metadata])
    module = builder.module
    name = f"llvm.experimental.constrained.{operation}.f64"
    function = module.globals.get(name) or ir.Function(module, kind, name)
    words = [ir.MetaDataString(module, text) for text in ("round.tonearest", "fpexcept.strict")]
    builder.call(function, [ir.Constant(_DOUBLE, x), operand, *words])
