"""Roots on AVX-512: exponent and significand by instructions, and a table of cube roots in registers."""

from __future__ import annotations

from .number import MAGNITUDE, ONE_TO_TWO, Number, Special
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import estrin, fast_two_sum, format_of, two_product
from .vmath_tables import TABLES

_LEADING_BITS = {64: 2, 32: 3}  # of a significand, which name the entry of a table together with the exponent modulo 3
_SERIES = {64: "cbrt_near", 32: "cbrt_nearer"}


def cbrt(x: Number) -> Number:
    """The cube root: for ``|x| = 2**(3 q + s) m`` that of ``2**s m`` as an entry d times the root of ``1 + r``."""
    form, leading = format_of(x), _LEADING_BITS[x.bits]
    m = x.significand(ONE_TO_TWO, MAGNITUDE)
    k = x.exponent().repair(x, zero=Special.ZERO, infinity=Special.ZERO, minus_infinity=Special.ZERO)
    q = k.fma(1.0 / 3.0, form.rounder) - form.rounder
    # s, from -1 to 1, in front of the leading bits of m. The exponent field of m is all ones but for the first bit;
    # so is what is left of it, and s counts from -1, so that two are added.
    entries = float(1 << leading)
    section = q.fma(-3.0 * entries, k.fma(entries, form.rounder + 2.0 * entries))
    index = m.to_bits().shift_right_logical(form.stored - leading) + section.to_bits()
    d = index.look_up(TABLES["cbrt_value"][x.bits])
    r = m.fma(index.look_up(TABLES["cbrt_inverse"][x.bits]), -1.0)
    root = (d * r).fma(estrin(r, COEFFICIENTS[_SERIES[x.bits]][x.bits]), d)
    root = root.scale(q).copysign(x)
    return root.repair(x, zero=Special.OPERAND, infinity=Special.OPERAND, minus_infinity=Special.OPERAND)


def hypot(x: Number, y: Number) -> Number:
    """``sqrt(x**2 + y**2)``, scaled by the exponent of the larger, from squares with their errors."""
    larger, smaller = x.larger_magnitude(y), x.smaller_magnitude(y)
    # Bounds beyond every finite exponent, for zero and infinity.
    limit = float(2 * format_of(x).bias)
    k = larger.exponent().larger(-limit).smaller(limit)
    a, b = larger.scale(-k), smaller.scale(-k)
    square, square_low = two_product(a, a)
    total, low = fast_two_sum(square, b * b)
    low = low + (square_low + b.fma(b, -(b * b)))
    root = total.sqrt()
    # Of zero the excess is zero, and the divisor is not to be.
    excess = root.fma(-root, total) + low
    root = root + excess / (root + root).larger(format_of(x).smallest_normal)
    return root.scale(k).repair(x).repair(y).repair(larger, infinity=Special.INFINITY)
