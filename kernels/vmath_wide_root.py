"""The cube root on AVX-512: exponent and significand by instructions, a table of roots in registers."""

from __future__ import annotations

from .number import MAGNITUDE, ONE_TO_TWO, Number, Special
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import estrin, format_of
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
