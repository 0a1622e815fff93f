"""Scalar arithmetic that stops where Python's result would be no 64-bit number or an error.

Translated loops over elements compute with these. Whoever calls the loop runs the plain function when it stops, which
then gives Python's result or raises Python's error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_WORD = ir.IntType(64)
_LEAST = -(1 << 63)
_EXACT = 1 << 53  # integers up to here are floats, too


def _stop_if(context: Any, builder: Any, condition: Any) -> None:
    with builder.if_then(condition, likely=False):
        context.call_conv.return_user_exc(builder, ArithmeticError, ())


def _integer(emit: Callable[..., Any], arguments: int) -> Any:
    """An intrinsic on int64 with the body `emit`."""
    signature = types.int64(*[types.int64] * arguments)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(context, builder, *args)

    def one(typingctx, x):
        return signature, codegen

    def two(typingctx, x, y):
        return signature, codegen

    def three(typingctx, x, y, z):
        return signature, codegen

    return intrinsic((one, two, three)[arguments - 1])


def _with_overflow(name: str) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, x: Any, y: Any) -> Any:
        pair = ir.LiteralStructType([_WORD, ir.IntType(1)])
        function = builder.module.declare_intrinsic(
            f"llvm.{name}.with.overflow", [_WORD], ir.FunctionType(pair, [_WORD, _WORD])
        )
        result = builder.call(function, [x, y])
        _stop_if(context, builder, builder.extract_value(result, 1))
        return builder.extract_value(result, 0)

    return emit


def _divided(remainder: bool) -> Callable[..., Any]:
    """Python's ``//`` and ``%``, which round down; LLVM's round towards zero."""

    def emit(context: Any, builder: Any, x: Any, y: Any) -> Any:
        zero, one = _WORD(0), _WORD(1)
        overflow = builder.and_(builder.icmp_signed("==", x, _WORD(_LEAST)), builder.icmp_signed("==", y, _WORD(-1)))
        _stop_if(context, builder, builder.or_(builder.icmp_signed("==", y, zero), overflow))
        rest = builder.srem(x, y)
        crossed = builder.and_(
            builder.icmp_signed("!=", rest, zero), builder.icmp_signed("<", builder.xor(rest, y), zero)
        )
        if remainder:
            return builder.select(crossed, builder.add(rest, y), rest)
        quotient = builder.sdiv(x, y)
        return builder.select(crossed, builder.sub(quotient, one), quotient)

    return emit


def _negated(context: Any, builder: Any, x: Any) -> Any:
    _stop_if(context, builder, builder.icmp_signed("==", x, _WORD(_LEAST)))
    return builder.neg(x)


def _magnitude(context: Any, builder: Any, x: Any) -> Any:
    _stop_if(context, builder, builder.icmp_signed("==", x, _WORD(_LEAST)))
    return builder.select(builder.icmp_signed("<", x, _WORD(0)), builder.neg(x), x)


def _shifted_left(context: Any, builder: Any, x: Any, y: Any) -> Any:
    _stop_if(context, builder, builder.icmp_unsigned(">", y, _WORD(62)))
    result = builder.shl(x, y)
    _stop_if(context, builder, builder.icmp_signed("!=", builder.ashr(result, y), x))
    return result


def _shifted_right(context: Any, builder: Any, x: Any, y: Any) -> Any:
    _stop_if(context, builder, builder.icmp_unsigned(">", y, _WORD(62)))
    return builder.ashr(x, y)


def _within(context: Any, builder: Any, x: Any, low: Any, high: Any) -> Any:
    outside = builder.or_(builder.icmp_signed("<", x, low), builder.icmp_signed(">", x, high))
    _stop_if(context, builder, outside)
    return x


@intrinsic
def exact(typingctx, x):
    """An int64 as a float64; stops where that would round."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        (x,) = args
        _within(context, builder, x, _WORD(-_EXACT), _WORD(_EXACT))
        return builder.sitofp(x, ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def truncate(typingctx, x):
    """``int(x)`` of a float64; stops for nan and for what is out of range."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        (x,) = args
        limit = ir.Constant(ir.DoubleType(), 9.2e18)
        inside = builder.and_(
            builder.fcmp_ordered("<", x, limit), builder.fcmp_ordered(">", x, ir.Constant(ir.DoubleType(), -9.2e18))
        )
        _stop_if(context, builder, builder.not_(inside))
        return builder.fptosi(x, _WORD)

    return types.int64(types.float64), codegen


def _quotient(kind: Any, llvm: Any) -> Any:
    def divide(typingctx, x, y):
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            x, y = args
            _stop_if(context, builder, builder.fcmp_ordered("==", y, ir.Constant(llvm, 0.0)))
            return builder.fdiv(x, y)

        return kind(kind, kind), codegen

    return intrinsic(divide)


add = _integer(_with_overflow("sadd"), 2)
subtract = _integer(_with_overflow("ssub"), 2)
multiply = _integer(_with_overflow("smul"), 2)
floor_divide = _integer(_divided(remainder=False), 2)
modulo = _integer(_divided(remainder=True), 2)
negative = _integer(_negated, 1)
absolute = _integer(_magnitude, 1)
shift_left = _integer(_shifted_left, 2)
shift_right = _integer(_shifted_right, 2)
fits = _integer(_within, 3)
divide = _quotient(types.float64, ir.DoubleType())
divide_single = _quotient(types.float32, ir.FloatType())


@intrinsic
def finite(typingctx, x):
    """`x`; stops for inf and nan."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        (x,) = args
        _stop_if(context, builder, builder.fcmp_unordered("!=", builder.fsub(x, x), ir.Constant(x.type, 0.0)))
        return x

    return x(x), codegen


@njit(error_model="numpy")
def total(x):
    """The sum of an array of integers or truth values."""
    found = 0
    for value in x.flat:
        found = add(found, np.int64(value))
    return found


@njit(error_model="numpy")
def remainder(x, y):
    """``x % y`` of floats, as Python and NumPy define it; stops where they differ or raise."""
    if y == 0.0 or not math.isfinite(x) or not math.isfinite(y):
        raise ArithmeticError
    rest = np.fmod(x, y)
    if rest == 0.0:
        return math.copysign(0.0, y)
    if (y < 0.0) != (rest < 0.0):
        rest += y
    return rest


@njit(error_model="numpy")
def floor_quotient(x, y):
    """``x // y`` of floats, as Python and NumPy define it; stops where they differ or raise."""
    if y == 0.0 or not math.isfinite(x) or not math.isfinite(y):
        raise ArithmeticError
    rest = np.fmod(x, y)
    whole = (x - rest) / y
    if rest != 0.0 and (y < 0.0) != (rest < 0.0):
        whole -= 1.0
    if whole == 0.0:
        return math.copysign(0.0, x / y)
    down = np.floor(whole)
    return down + 1.0 if whole - down > 0.5 else down


@njit(error_model="numpy")
def power(x, y):
    """``x ** y`` of floats; stops for what is no finite real number."""
    if (x < 0.0 and y != np.floor(y)) or (x == 0.0 and y < 0.0):
        raise ArithmeticError
    result = x**y
    if not math.isfinite(result):
        raise ArithmeticError
    return result


@njit(error_model="numpy")
def larger(x, y):
    """``np.maximum(x, y)`` of floats; stops for nan, and where only the sign of a zero decides."""
    if not (x < y or x > y or (x == y and x != 0.0)):
        raise ArithmeticError
    return y if y > x else x


@njit(error_model="numpy")
def smaller(x, y):
    """``np.minimum(x, y)`` of floats; stops for nan, and where only the sign of a zero decides."""
    if not (x < y or x > y or (x == y and x != 0.0)):
        raise ArithmeticError
    return y if y < x else x
