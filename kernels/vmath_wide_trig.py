"""The tangent of float32 on AVX-512, computed in float64."""

from __future__ import annotations

from . import vmath_trig
from .number import Number
from .vmath_arc import PI_PARTS
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import format_of, polynomial

INVERSE_PI = 0.3183098861837907
BOUND = 2.0**50  # up to which multiples of pi in two parts are near enough for the neighbours of poles and zeros


def tan(x: Number) -> Number:
    """The tangent."""
    if x.bits == 64:
        return vmath_trig.tan(x)
    return x.beyond(BOUND, "tan", x.in_float64(_by_quotient))


def _by_quotient(x: Number) -> Number:
    """``tan(r)`` for ``x = n pi + r`` and ``|r| <= pi/2``: float64 has the digits for the whole period.

    A quotient of polynomials, whose denominator is zero at the pole. Its degree is the higher one, so that nothing
    overflows where r is beyond its bound.
    """
    rounder = format_of(x).rounder
    n = x.fma(INVERSE_PI, rounder) - rounder
    high, low = PI_PARTS[64]
    r = n.fma(-low, n.fma(-high, x))
    square = r * r
    numerator = r * polynomial(square, COEFFICIENTS["tan_numerator"][64])
    return numerator / polynomial(square, COEFFICIENTS["tan_denominator"][64])
