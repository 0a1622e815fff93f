"""Roots and powers: sqrt, cbrt, hypot, power."""

from __future__ import annotations

from fractions import Fraction

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_exp import exp2_of_fraction
from .vmath_log import split_exponent
from .vmath_parts import (
    LOG2_E,
    clamp,
    crude_reciprocal,
    fast_two_sum,
    format_of,
    polynomial,
    product_remainder,
    quotient,
    split_constant,
    two_product,
)

_DIGITS = {64: 53, 32: 24}
TWO_LOG2_E = {bits: split_constant(f"{2 * Fraction(LOG2_E)}", bits, _DIGITS[bits]) for bits in (64, 32)}
TWO_THIRDS_LOG2_E = {bits: split_constant(f"{2 * Fraction(LOG2_E) / 3}", bits, _DIGITS[bits]) for bits in (64, 32)}


def sqrt(x: Number) -> Number:
    """The square root, which the hardware rounds correctly."""
    return x.sqrt()


def cbrt(x: Number) -> Number:
    """The cube root.

    A third of the exponent and of the significand, taken off the representation, is ``|x|**(-1/3)`` within 5 %
    (Kahan, "Computing a real cube root", 1991). Iterations of higher order refine it without a division, and a
    last Newton step with exact remainder rounds the root.
    """
    form = format_of(x)
    magnitude = x.abs()
    tiny = magnitude < form.smallest_normal
    step = 54 if x.bits == 64 else 24
    a = (magnitude * select(tiny, x.constant(2.0**step), 1.0)).at_most(form.largest)
    # The upper bits become a float when placed in the low bits of a power of two; so does the quotient on its
    # way back.
    shift, anchor = {64: (32, 0x553EF0FF289DD796), 32: (8, 0x54A2FA8C)}[x.bits]
    upper = a.to_bits().shift_right_logical(shift)
    marker = (form.bias + form.stored) << form.stored
    as_float = (upper | marker).to_float() - 2.0**form.stored
    third = as_float.fma(-1.0 / 3.0, float(anchor >> shift)) + 2.0**form.stored
    r = (third.to_bits() << shift).to_float()
    e = 1.0 - a * r * (r * r)
    r = r + (r * e) * e.fma(e.fma(14.0 / 81.0, 2.0 / 9.0), 1.0 / 3.0)
    if x.bits == 64:
        e = 1.0 - a * r * (r * r)
        r = r + (r * e) * e.fma(2.0 / 9.0, 1.0 / 3.0)
    root = a * (r * r)
    square, square_low = two_product(root, root)
    excess = square_low.fma(root, product_remainder(square, root, a))
    root = root - excess * ((r * r) * (1.0 / 3.0))
    root = select(tiny, root * 2.0 ** -(step // 3), root)
    return select((magnitude > 0.0) & (magnitude <= form.largest), root, magnitude).copysign(x)


def hypot(x: Number, y: Number) -> Number:
    """``sqrt(x**2 + y**2)`` without overflow or underflow on the way, from squares with their errors."""
    form = format_of(x)
    x_size, y_size = x.abs(), y.abs()
    larger = select(x_size < y_size, y_size, x_size)
    smaller = select(x_size < y_size, x_size, y_size)
    half = form.bias // 2
    # Either, for the larger one of nan and a number is either.
    huge = (larger > 2.0 ** (half - 2)) | (smaller > 2.0 ** (half - 2))
    tiny = larger < 2.0 ** -(half - form.stored - 4)
    scale = select(huge, x.constant(2.0 ** -(half + 8)), select(tiny, x.constant(2.0 ** (half + 8)), 1.0))
    back = select(huge, x.constant(2.0 ** (half + 8)), select(tiny, x.constant(2.0 ** -(half + 8)), 1.0))
    a, b = larger * scale, smaller * scale
    a_square, a_low = two_product(a, a)
    b_square, b_low = two_product(b, b)
    total = a_square + b_square
    low = ((a_square - total) + b_square) + (a_low + b_low)
    root = total.sqrt()
    correction = (low - product_remainder(root, root, total)) * crude_reciprocal(root + root)
    infinite = (x_size > form.largest) | (y_size > form.largest)
    return select(infinite, x.constant(float("inf")), (root + correction) * back)


def log2_parts(x: Number, k: Number, m: Number, sum_: Number) -> tuple[Number, Number]:
    """``k + log2(m)`` as a high and a low part, right to some twelve bits more than one float.

    ``log2(m) = s (c + z (c/3 + z q(z)))`` for ``s = (m - 1)/(m + 1)``, ``z = s**2`` and ``c = 2 log2(e)``;
    only ``z q`` is a single float. `sum_` is ``m + 1`` rounded.
    """
    f = m - 1.0
    s, s_low = quotient((f, f.constant(0.0)), (sum_, m - (sum_ - 1.0)))
    square, square_low = two_product(s, s)
    square_low = (s + s).fma(s_low, square_low)
    series = [2 * c * float(Fraction(LOG2_E)) for c in COEFFICIENTS["atanh_long"][x.bits]]
    third_high, third_low = TWO_THIRDS_LOG2_E[x.bits]
    high, low = fast_two_sum(x.constant(third_high), square * polynomial(square, series))
    product, product_low = two_product(square, high)
    product_low = product_low + square.fma(low + third_low, square_low * high)
    unit_high, unit_low = TWO_LOG2_E[x.bits]
    high, low = fast_two_sum(x.constant(unit_high), product)
    low = low + (product_low + unit_low)
    product, product_low = two_product(s, high)
    product_low = product_low + s.fma(low, s_low * high)
    total, error = fast_two_sum(k, product)
    return fast_two_sum(total, error + product_low)


def power(x: Number, y: Number) -> Number:
    """``x**y``, two to the power ``y log2|x|`` in two parts, with the sign and special cases of IEEE 754."""
    form = format_of(x)
    size = x.abs()
    is_integer = y.rint().equals(y)
    half = y * 0.5
    is_odd = is_integer & half.rint().differs(half)
    zero, rises, falls = size.equals(0.0), size > 1.0, y < 0.0
    is_number, is_exponent = (size > 0.0) & (size <= form.largest), y.abs() <= form.largest
    undefined = (x < 0.0) & is_number & is_exponent & ~is_integer
    # Far below the bound powers of all but one leave the format. What is no number is put in place at the end.
    usual = is_number & is_exponent & ~undefined
    y_bounded = select(usual, clamp(y, -(2.0**form.bits), 2.0**form.bits), 0.0)
    base = select(is_number, size, 1.0)
    tiny = base < form.smallest_normal
    step = float(form.stored + 2)
    k, m = split_exponent(base * select(tiny, base.constant(2.0**step), 1.0))
    k = select(tiny, k - step, k)
    high, low = log2_parts(x, k, m, m + 1.0)
    limit = 2.0 ** (form.bits - form.stored - 1) * 1.5
    exponent, exponent_low = two_product(y_bounded, high)
    exponent_low = y_bounded.fma(low, exponent_low)
    exponent_low = select(exponent.abs() < limit, exponent_low, 0.0)
    bottom = -float(form.bias + form.stored + 5)
    exponent = clamp(exponent, bottom, form.bias + 1.25)
    rounded = exponent + form.rounder
    fraction = (exponent - (rounded - form.rounder)) + exponent_low
    value = exp2_of_fraction(fraction)
    # Half of the result, so that doubling it overflows where it should; subnormal results are computed too large.
    subnormal = exponent < -float(form.bias - 3)
    bits = value.to_bits() + ((rounded.to_bits() << form.stored) - (1 << form.stored))
    bits = select(subnormal, bits + (form.tiny_step << form.stored), bits)
    scaled = bits.to_float() * select(subnormal, x.constant(2.0 ** (1 - form.tiny_step)), 2.0)
    # One over zero raises the flag of the pole, zero over zero that of the domain error: by a factor that is else one,
    # lest LLVM finds out.
    pole = zero & falls
    marked = pole | undefined
    numerator = select(pole, x.constant(1.0), select(undefined, 0.0, m))
    factor = numerator / select(marked, 0.0, m)
    # NumPy's infinite powers of large numbers overflow.
    grown = select(y.equals(float("inf")), base, 1.0)
    limiting = select((rises & ~falls) | (falls & ~rises), grown * grown + float("inf"), 0.0)
    scaled = select(usual, scaled, select(marked, 1.0, limiting)) * factor
    sign = x.to_bits() & -(1 << (form.bits - 1))
    scaled = select(is_odd, (scaled.to_bits() ^ sign).to_float(), scaled)
    scaled = select(x.is_nan(), x, select(y.is_nan(), y, scaled))
    is_one = y.equals(0.0) | x.equals(1.0) | (size.equals(1.0) & (y.abs() > form.largest))
    return select(is_one, 1.0, scaled)
