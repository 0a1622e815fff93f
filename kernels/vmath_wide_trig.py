"""The tangent of float32 on AVX-512, computed in float64."""

from __future__ import annotations

from . import vmath_trig
from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import FORMATS, polynomial
from .vmath_trig import BOUNDS, FUSED_PARTS, TWO_OVER_PI


def tan(x: Number) -> Number:
    """The tangent."""
    if x.bits == 64:
        return vmath_trig.tan(x)
    return x.beyond(BOUNDS[32, True], "tan", x.in_float64(_by_quotient))


def _by_quotient(x: Number) -> Number:
    """A quotient of polynomials, or its negative inverse: float64 has the digits for both, and for the reduction."""
    rounded = x.fma(TWO_OVER_PI, FORMATS[64].rounder)
    n = rounded - FORMATS[64].rounder
    high, low, _ = FUSED_PARTS[64]
    r = n.fma(-low, n.fma(-high, x))
    square = r * r
    numerator = r * polynomial(square, COEFFICIENTS["tan_numerator"][64])
    denominator = polynomial(square, COEFFICIENTS["tan_denominator"][64])
    odd = (rounded.to_bits() & 1).differs(0)
    return select(odd, -denominator, numerator) / select(odd, numerator, denominator)
