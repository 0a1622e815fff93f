"""Floating-point exceptions of complex numbers that NumPy's loops raise, and no formula and no comparison of ours.

C's ``<`` raises the flag of an invalid operation where an operand is nan: in loops that order numbers by their parts,
and in those that divide by the larger part. The C library does so for angles that are no numbers.

The result is nan, or false, in all of these cases, so infinity minus infinity may decide it: an operation like the
others, which LLVM keeps and makes one of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from .arithmetic import Emitter, parts_of
from .context import call_intrinsic

_INFINITY = float("inf")


def with_complex_flags(emit: Emitter, op: Op, operands: Sequence[np.dtype]) -> Emitter:
    """`emit`, and operations that raise what NumPy's loop reports for the same operands and `emit` does not."""
    add = _ADDED.get(op.name) if op.library == "numpy" and operands[0].kind == "c" else None
    if add is None:
        return emit
    return lambda builder, args: add(builder, args, emit)


def _is_nan(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return builder.fcmp_unordered("uno", x, x)


def _is_infinite(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return builder.fcmp_ordered("==", call_intrinsic(builder, "fabs", (x,)), x.type(_INFINITY))


def _zero_or_invalid(builder: ir.IRBuilder, is_invalid: ir.Value, x: ir.Value) -> ir.Value:
    """Nan and the flag of an invalid operation, or zero; `x` is any number, lest LLVM know what is chosen."""
    other = builder.select(builder.or_(_is_nan(builder, x), _is_infinite(builder, x)), x.type(1.0), x)
    chosen = builder.select(is_invalid, x.type(_INFINITY), other)
    return builder.fsub(chosen, chosen)


def _ordered(builder: ir.IRBuilder, args: Sequence[ir.Value], emit: Emitter) -> ir.Value:
    """Real parts are compared, and imaginary ones where these are equal.

    The flag's zero is part of an operand: LLVM knows what comparing a number with itself gives, whatever else is asked.
    """
    (a, b), (c, d) = (parts_of(builder, z) for z in args)
    further = builder.and_(builder.fcmp_ordered("==", a, c), builder.fcmp_unordered("uno", b, d))
    is_invalid = builder.or_(builder.fcmp_unordered("uno", a, c), further)
    zero = _zero_or_invalid(builder, is_invalid, a)
    return emit(builder, [builder.insert_value(args[0], builder.fsub(a, zero), 0), args[1]])


def _nan_if(builder: ir.IRBuilder, is_invalid: ir.Value, x: ir.Value, made: ir.Value) -> ir.Value:
    """What has been made, or nan and the flag; zeros keep their signs where zero is subtracted."""
    real = builder.extract_value(made, 0)
    return builder.insert_value(made, builder.fsub(real, _zero_or_invalid(builder, is_invalid, x)), 0)


def _divided(builder: ir.IRBuilder, args: Sequence[ir.Value], emit: Emitter) -> ir.Value:
    real, imag = parts_of(builder, args[-1])
    return _nan_if(builder, builder.fcmp_unordered("uno", real, imag), real, emit(builder, args))


def _turned(builder: ir.IRBuilder, args: Sequence[ir.Value], emit: Emitter) -> ir.Value:
    """An angle that is no number, or any angle of nan; infinity, and zero, have none."""
    real, imag = parts_of(builder, args[0])
    is_nan = _is_nan(builder, real)
    has_angle = builder.and_(is_nan, builder.fcmp_unordered("!=", imag, imag.type(0.0)))
    is_none = builder.or_(_is_nan(builder, imag), _is_infinite(builder, imag))
    is_none = builder.and_(is_none, builder.not_(_is_infinite(builder, real)))
    only_nan = builder.and_(is_nan, _is_nan(builder, imag))
    is_invalid = builder.and_(builder.or_(has_angle, is_none), builder.not_(only_nan))
    return _nan_if(builder, is_invalid, real, emit(builder, args))


_ADDED: dict[str, Callable[[ir.IRBuilder, Sequence[ir.Value], Emitter], ir.Value]] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _ordered),
    **dict.fromkeys(("divide", "reciprocal"), _divided),
    "exp": _turned,
}
