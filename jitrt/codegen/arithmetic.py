"""Arithmetic as NumPy's own loops define it, where numba's `ufunc_db` computes something else.

Integers wrap around, where numba lets LLVM suppose that they do not. Integer division and remainder by zero give 0 and
the lowest integer divided by -1 is itself; a shift by more than the width gives what is left of the number; a float
quotient is floored by way of the remainder; complex products and quotients are formed in NumPy's order.

Of integer division NumPy reports floating-point exceptions, and no instruction does: see `with_flags`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from .context import call_intrinsic, has_fma

_DOUBLE = ir.DoubleType()
Emitter = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


def arithmetic(name: str, operands: tuple[np.dtype, ...], result: np.dtype) -> Emitter | None:
    """What emits the ufunc `name` on operands of one dtype, or None if numba's emitter is right."""
    if any(t != result for t in operands):
        return None
    emit = _EMITTERS.get((name, result.kind))
    if emit is None:
        return None
    return lambda builder, args: emit(builder, result, *args)


# Integers.


def _divisor(builder: ir.IRBuilder, dtype: np.dtype, y: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Whether `y` is 0, whether it is -1, and 1 in these two cases, for which the instruction has no result."""
    zero = builder.icmp_signed("==", y, y.type(0))
    minus_one = builder.icmp_signed("==", y, y.type(-1)) if dtype.kind == "i" else ir.IntType(1)(0)
    return zero, minus_one, builder.select(builder.or_(zero, minus_one), y.type(1), y)


def _integer_floor_divide(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    zero, minus_one, divisor = _divisor(builder, dtype, y)
    if dtype.kind == "u":
        return builder.select(zero, y.type(0), builder.udiv(x, divisor))
    quotient = builder.sdiv(x, divisor)
    rest = builder.sub(x, builder.mul(quotient, divisor))
    down = _has_other_sign(builder, rest, divisor)
    floored = builder.sub(quotient, builder.zext(down, x.type))
    return builder.select(zero, y.type(0), builder.select(minus_one, builder.neg(x), floored))


def _has_other_sign(builder: ir.IRBuilder, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """Whether a remainder has to be moved by one divisor to get its sign."""
    differ = builder.icmp_signed("<", builder.xor(rest, divisor), rest.type(0))
    return builder.and_(differ, builder.icmp_signed("!=", rest, rest.type(0)))


def _integer_fmod(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    zero, _, divisor = _divisor(builder, dtype, y)
    rest = builder.urem(x, divisor) if dtype.kind == "u" else builder.srem(x, divisor)
    return builder.select(zero, y.type(0), rest)


def _integer_remainder(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    if dtype.kind == "u":
        return _integer_fmod(builder, dtype, x, y)
    zero, _, divisor = _divisor(builder, dtype, y)
    rest = builder.srem(x, divisor)
    moved = builder.select(_has_other_sign(builder, rest, divisor), builder.add(rest, divisor), rest)
    return builder.select(zero, y.type(0), moved)


def _integer_reciprocal(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value) -> ir.Value:
    """``(type)(1.0 / x)``; of 0, what x86-64 makes of converting infinity."""
    unit = builder.icmp_signed("==", x, x.type(1))
    if dtype.kind == "i":
        unit = builder.or_(unit, builder.icmp_signed("==", x, x.type(-1)))
    result = builder.select(unit, x, x.type(0))
    if dtype.kind == "u" or dtype.itemsize < 4:
        return result
    return builder.select(builder.icmp_signed("==", x, x.type(0)), x.type(np.iinfo(dtype).min), result)


def _integer_sign(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value) -> ir.Value:
    positive = builder.zext(builder.icmp_signed("!=", x, x.type(0)), x.type)
    if dtype.kind == "u":
        return positive
    return builder.or_(positive, builder.ashr(x, x.type(8 * dtype.itemsize - 1)))


def _shift(left: bool) -> Callable[..., ir.Value]:
    def emit(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, count: ir.Value) -> ir.Value:
        bits = 8 * dtype.itemsize
        inside = builder.icmp_unsigned("<", count, count.type(bits))
        count = builder.select(inside, count, count.type(0))
        if left:
            return builder.select(inside, builder.shl(x, count), x.type(0))
        if dtype.kind == "u":
            return builder.select(inside, builder.lshr(x, count), x.type(0))
        return builder.select(inside, builder.ashr(x, count), builder.ashr(x, x.type(bits - 1)))

    return emit


def _timedelta_remainder(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    not_a_time = x.type(np.iinfo(np.int64).min)
    rest = _integer_remainder(builder, np.dtype(np.int64), x, y)
    undefined = builder.icmp_signed("==", y, y.type(0))
    for operand in (x, y):
        undefined = builder.or_(undefined, builder.icmp_signed("==", operand, not_a_time))
    return builder.select(undefined, not_a_time, rest)


# Floating point.


def _float_divmod(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """NumPy's ``npy_divmod`` for a divisor that is not zero: quotient and remainder in Python's sense."""
    zero, one = y.type(0.0), y.type(1.0)
    rest = builder.frem(x, y)
    quotient = builder.fdiv(builder.fsub(x, rest), y)
    nonzero = builder.fcmp_unordered("!=", rest, zero)
    # Signs and sizes are compared as bits, for an ordered comparison with nan raises a flag.
    integer, half = {"double": (ir.IntType(64), 0x3FE << 52), "float": (ir.IntType(32), 0x7E << 23)}[str(y.type)]
    signs = builder.xor(builder.bitcast(y, integer), builder.bitcast(rest, integer))
    move = builder.and_(nonzero, builder.icmp_signed("<", signs, integer(0)))
    quotient = builder.select(move, builder.fsub(quotient, one), quotient)
    moved = builder.select(move, builder.fadd(rest, y), rest)
    modulus = builder.select(nonzero, moved, call_intrinsic(builder, "copysign", (zero, y)))
    floor = call_intrinsic(builder, "floor", (quotient,))
    above = builder.icmp_signed(">", builder.bitcast(builder.fsub(quotient, floor), integer), integer(half))
    floor = builder.select(above, builder.fadd(floor, one), floor)
    signed_zero = call_intrinsic(builder, "copysign", (zero, builder.fdiv(x, y)))
    return builder.select(builder.fcmp_unordered("!=", quotient, zero), floor, signed_zero), modulus


def _float_floor_divide(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    by_zero = builder.fcmp_ordered("==", y, y.type(0.0))
    dividend, divisor = builder.select(by_zero, x.type(0.0), x), builder.select(by_zero, y.type(1.0), y)
    return builder.select(by_zero, builder.fdiv(x, y), _float_divmod(builder, dividend, divisor)[0])


def _float_remainder(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    by_zero = builder.fcmp_ordered("==", y, y.type(0.0))
    return builder.select(by_zero, builder.frem(x, y), _float_divmod(builder, x, y)[1])


def _float_sign(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value) -> ir.Value:
    unit = call_intrinsic(builder, "copysign", (x.type(1.0), x))
    nonzero = builder.select(builder.fcmp_ordered("!=", x, x.type(0.0)), unit, x.type(0.0))
    return builder.select(builder.fcmp_unordered("uno", x, x), x, nonzero)


def _float_extreme(order: str, ignores_nan: bool) -> Callable[..., ir.Value]:
    """The second of two equal numbers, zeros of both signs among them, as in NumPy's vectors.

    A nan of either operand wins, or with `ignores_nan` the other operand does.
    """

    def emit(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
        tested = y if ignores_nan else x
        is_first = builder.or_(builder.fcmp_unordered("uno", tested, tested), builder.fcmp_ordered(order, x, y))
        return builder.select(is_first, x, y)

    return emit


def _float_degrees(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value) -> ir.Value:
    return builder.fmul(x, x.type(float(dtype.type(180) / dtype.type(np.pi))))


# Complex numbers.


def parts_of(builder: ir.IRBuilder, z: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The real and the imaginary part of a complex number."""
    return builder.extract_value(z, 0), builder.extract_value(z, 1)


def make_complex(builder: ir.IRBuilder, real: ir.Value, imag: ir.Value) -> ir.Value:
    """A complex number of its parts."""
    pair = ir.Constant(ir.LiteralStructType([real.type, imag.type]), ir.Undefined)
    return builder.insert_value(builder.insert_value(pair, real, 0), imag, 1)


def _complex_multiply(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    """NumPy's vector loops round one product and fuse the other with the sum, where the processor can."""
    (a, b), (c, d) = parts_of(builder, x), parts_of(builder, y)
    bd, bc = builder.fmul(b, d), builder.fmul(b, c)
    if has_fma():
        return make_complex(
            builder,
            call_intrinsic(builder, "fma", (a, c, builder.fneg(bd))),
            call_intrinsic(builder, "fma", (a, d, bc)),
        )
    return make_complex(builder, builder.fsub(builder.fmul(a, c), bd), builder.fadd(builder.fmul(a, d), bc))


def _complex_multiply_scalars(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    """NumPy's operators on two of its scalars round each product."""
    (a, b), (c, d) = parts_of(builder, x), parts_of(builder, y)
    real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
    return make_complex(builder, real, builder.fadd(builder.fmul(a, d), builder.fmul(b, c)))


def _complex_reciprocal(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value) -> ir.Value:
    """Smith's algorithm (1962)."""
    real, imag = parts_of(builder, x)
    one = real.type(1.0)
    larger_real = builder.fcmp_ordered(
        "<=", call_intrinsic(builder, "fabs", (imag,)), call_intrinsic(builder, "fabs", (real,))
    )
    larger, smaller = builder.select(larger_real, real, imag), builder.select(larger_real, imag, real)
    ratio = builder.fdiv(smaller, larger)
    scale = builder.fadd(larger, builder.fmul(smaller, ratio))
    unit, rest = builder.fdiv(one, scale), builder.fdiv(ratio, scale)
    imag = builder.fneg(builder.select(larger_real, rest, unit))
    return make_complex(builder, builder.select(larger_real, unit, rest), imag)


def _complex_divide(builder: ir.IRBuilder, dtype: np.dtype, x: ir.Value, y: ir.Value) -> ir.Value:
    """Smith's algorithm (1962)."""
    (a, b), (c, d) = parts_of(builder, x), parts_of(builder, y)
    size_c, size_d = call_intrinsic(builder, "fabs", (c,)), call_intrinsic(builder, "fabs", (d,))
    zero, one = c.type(0.0), c.type(1.0)
    real_larger = builder.fcmp_ordered(">=", size_c, size_d)
    larger, smaller = builder.select(real_larger, c, d), builder.select(real_larger, d, c)
    ratio = builder.fdiv(smaller, larger)
    scale = builder.fdiv(one, builder.fadd(larger, builder.fmul(smaller, ratio)))
    ar, br = builder.fmul(a, ratio), builder.fmul(b, ratio)
    real = builder.select(real_larger, builder.fadd(a, br), builder.fadd(ar, b))
    imag = builder.select(real_larger, builder.fsub(b, ar), builder.fsub(br, a))
    by_zero = builder.and_(builder.fcmp_ordered("==", size_c, zero), builder.fcmp_ordered("==", size_d, zero))
    real = builder.select(by_zero, builder.fdiv(a, size_c), builder.fmul(real, scale))
    imag = builder.select(by_zero, builder.fdiv(b, size_c), builder.fmul(imag, scale))
    return make_complex(builder, real, imag)


def _wrapping(instruction: str) -> Callable[..., ir.Value]:
    return lambda builder, dtype, x, y: getattr(builder, instruction)(x, y)


_WRAPPING = {"add": "add", "subtract": "sub", "multiply": "mul"}


_EMITTERS: dict[tuple[str, str], Callable[..., ir.Value]] = {
    **{(name, kind): _wrapping(instruction) for name, instruction in _WRAPPING.items() for kind in "iu"},
    **{("floor_divide", kind): _integer_floor_divide for kind in "iu"},
    **{("remainder", kind): _integer_remainder for kind in "iu"},
    **{("fmod", kind): _integer_fmod for kind in "iu"},
    **{("reciprocal", kind): _integer_reciprocal for kind in "iu"},
    **{("sign", kind): _integer_sign for kind in "iu"},
    **{("left_shift", kind): _shift(left=True) for kind in "iu"},
    **{("right_shift", kind): _shift(left=False) for kind in "iu"},
    ("floor_divide", "f"): _float_floor_divide,
    ("remainder", "f"): _float_remainder,
    ("sign", "f"): _float_sign,
    ("maximum", "f"): _float_extreme(">", ignores_nan=False),
    ("minimum", "f"): _float_extreme("<", ignores_nan=False),
    ("fmax", "f"): _float_extreme(">", ignores_nan=True),
    ("fmin", "f"): _float_extreme("<", ignores_nan=True),
    ("degrees", "f"): _float_degrees,
    ("rad2deg", "f"): _float_degrees,
    ("multiply", "c"): _complex_multiply,
    ("scalar_multiply", "c"): _complex_multiply_scalars,
    ("square", "c"): lambda builder, dtype, x: _complex_multiply(builder, dtype, x, x),
    ("divide", "c"): _complex_divide,
    ("reciprocal", "c"): _complex_reciprocal,
    ("remainder", "m"): _timedelta_remainder,
}


def with_flags(emit: Emitter, op: Op, operands: Sequence[np.dtype]) -> Emitter:
    """`emit`, and operations on floats that raise what NumPy's loop reports for the same operands."""
    are_durations = all(t.kind == "m" for t in operands)
    if not op.integer_flags or not (are_durations or all(t.kind in "iu" for t in operands)):
        return emit

    def emit_with_flags(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        divisor = args[-1]
        if not isinstance(divisor, ir.Constant) or not divisor.constant:
            zero = builder.icmp_unsigned("==", divisor, ir.Constant(divisor.type, 0))
            if are_durations:  # NaT is no number that is divided
                zero = builder.and_(zero, builder.icmp_unsigned("!=", args[0], ir.Constant(divisor.type, -1 << 63)))
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
