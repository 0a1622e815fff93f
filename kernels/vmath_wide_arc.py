"""The inverse tangents on AVX-512, from tables of directions in registers.

``arctan(x) = arctan(b/a) + arctan(y)`` for ``y = (a x - b)/(b x + a)``, where the direction (a, b) is chosen by the
leading bits of x. The first one is (1, 0), the last one almost (0, 1), so that one quotient serves all x.
"""

from __future__ import annotations

from . import vmath_arc
from .number import Number, rarely, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import estrin, fast_two_sum, format_of, polynomial
from .vmath_tables import TABLES

RAISED = 24  # exponent to which the larger part of a point is scaled, so that no smaller one underflows that counts
SMALLEST = (RAISED + 1) << 23  # representation of a float32
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


def arctan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y)."""
    if x.bits == 64:
        return vmath_arc.arctan2(y, x)
    y_size, x_size = y.abs().to_bits(), x.abs().to_bits()
    larger = select(y_size > x_size, y_size, x_size)
    # Infinity and nan, and what is so small, but not zero, that its scale has no representation.
    form = format_of(x)
    rare = (larger >= (2 * form.bias + 1) << form.stored) | (larger < SMALLEST) & larger.differs(0)
    return rarely("arctan2", rare, vmath_arc.arctan2, _angle, y, x)


def _angle(y: Number, x: Number) -> Number:
    """For float32: the smaller part over the larger one, turned by a direction with eighths as its ratio.

    With those the numerator, a difference, is exact. A table has the directions' angles in each octant.
    """
    form = format_of(x)
    y_size, x_size = y.abs().to_bits(), x.abs().to_bits()
    steep = y_size > x_size
    larger, smaller = select(steep, y_size, x_size), select(steep, x_size, y_size)
    # Zeros are divided by anything.
    larger = select(larger < SMALLEST, SMALLEST, larger)
    ratio = smaller.to_float() / larger.to_float()
    eighths = ratio.larger(0.125).fma(8.0, form.rounder - 1.0)
    b = eighths.to_bits().look_up(TABLES["arctan2_along"][32])
    exponent = (larger & (((1 << (form.bits - 1)) - 1) ^ form.mantissa_mask)) - (RAISED << form.stored)
    scale = (exponent.constant((2 * form.bias) << form.stored) - exponent).to_float()
    d, n = larger.to_float() * scale, smaller.to_float() * scale
    numerator, denominator = b.fma(-d, n), b.fma(n, d)
    sign = x.to_bits() & -(1 << (form.bits - 1))
    numerator = (select(steep, -numerator, numerator).to_bits() ^ sign).to_float()
    octant = select(steep, eighths.to_bits() + 8, eighths.to_bits())
    octant = (x.to_bits().shift_right_logical(form.bits - 5) & 16) | octant
    # The quotient with its rounding error.
    inverse = 1.0 / denominator
    t = numerator * inverse
    t_low = t.fma(-denominator, numerator) * inverse
    square = t * t
    tail = (t * square).fma(polynomial(square, COEFFICIENTS["arctan_near_zero"][32]), t_low)
    total, error = fast_two_sum(octant.look_up(TABLES["arctan2_value"][32]), t)
    return (total + (tail + (error + octant.look_up(TABLES["arctan2_rest"][32])))).copysign(y)
