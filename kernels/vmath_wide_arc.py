"""The inverse tangent on AVX-512, from a table of directions in registers.

``arctan(x) = arctan(b/a) + arctan(y)`` for ``y = (a x - b)/(b x + a)``, where the direction (a, b) is chosen by the
leading bits of x. The first one is (1, 0), the last one almost (0, 1), so that one quotient serves all x.
"""

from __future__ import annotations

from .number import Number
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import estrin, format_of
from .vmath_tables import TABLES

FIRST, LAST = 0.25, 3.5  # lower bounds of numbers that belong to the first and the last direction


def direction(ratio: Number) -> tuple[Number, Number, Number]:
    """a, b and ``arctan(b/a)`` near the inverse tangent of a positive number."""
    index = ratio.larger(FIRST).smaller(LAST).to_bits().shift_right_logical(format_of(ratio).stored - 2)
    a, b, angle = (index.look_up(TABLES[f"arctan_{part}"][ratio.bits]) for part in ("across", "along", "value"))
    return a, b, angle


def arctan(x: Number) -> Number:
    """The inverse tangent."""
    size = x.smaller_magnitude(format_of(x).largest / 4)
    a, b, angle = direction(size)
    y = size.fma(a, -b) / size.fma(b, a)
    square = y * y
    value = angle + (y * square).fma(estrin(square, COEFFICIENTS["arctan_near"][x.bits]), y)
    return value.copysign(x).repair(x)
