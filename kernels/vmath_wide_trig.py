"""The tangent of float32 on AVX-512, computed in float64."""

from __future__ import annotations

from . import vmath_trig
from .number import Number, Special
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import INVERSE_PI, polynomial, split_constant

# The first part is short, so that its product with a float32 is exact; up to the bound so is what it leaves.
INVERSE_PI_PARTS = split_constant(INVERSE_PI, 64, 29)
BOUND = 2.0**24


def tan(x: Number) -> Number:
    """The tangent."""
    if x.bits == 64:
        return vmath_trig.tan(x)
    # The difference of two zeros has lost their sign.
    return x.beyond(BOUND, "tan", x.in_float64(_by_quotient).repair(x, zero=Special.OPERAND))


def _by_quotient(x: Number) -> Number:
    """``tan(pi t)`` for ``x = pi (n + t)`` and ``|t| <= 1/2``: float64 has the digits for the whole period.

    A quotient of polynomials, whose denominator is zero at the pole.
    """
    high, low = INVERSE_PI_PARTS
    turns = x * high
    t = x.fma(low, turns - turns.rint())
    square = t * t
    numerator = t * polynomial(square, COEFFICIENTS["tan_numerator"][64])
    return numerator / polynomial(square, COEFFICIENTS["tan_denominator"][64])
