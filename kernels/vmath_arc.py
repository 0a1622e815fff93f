"""The inverse circular functions: arcsin, arccos, arctan, arctan2.

Arguments above 1/2 (arcsin, arccos: the half-angle formula) or 1 (arctan: the reciprocal) are mapped below,
after Cody and Waite (1980, chapters 10 and 11); the constants are added as sums of two floats.
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import (
    HALF_PI,
    PI,
    crude_reciprocal,
    fast_two_sum,
    format_of,
    polynomial,
    product_remainder,
    split_constant,
    two_product,
)

HALF_PI_PARTS = {64: split_constant(HALF_PI, 64, 53), 32: split_constant(HALF_PI, 32, 24)}
PI_PARTS = {64: split_constant(PI, 64, 53), 32: split_constant(PI, 32, 24)}


def _half_angle(x: Number) -> tuple[Number, Number, Number, Number]:
    """Whether ``|x| > 1/2``, then s, its error and ``arcsin(s) - s``.

    There ``s = sqrt((1 - |x|)/2)``; elsewhere ``s = |x|``.
    """
    magnitude = x.abs()
    large = magnitude > 0.5
    halved = magnitude.fma(-0.5, 0.5)
    square = select(large, halved, magnitude * magnitude)
    root = halved.sqrt()
    root_error = -product_remainder(root, root, halved) * crude_reciprocal(root + root)
    s = select(large, root, magnitude)
    tail = (s * square) * polynomial(square, COEFFICIENTS["arcsin"][x.bits])
    return large, s, select(large, root_error, 0.0), tail


def arcsin(x: Number) -> Number:
    """The inverse sine."""
    large, s, s_low, tail = _half_angle(x)
    high, low = HALF_PI_PARTS[x.bits]
    total, error = fast_two_sum(x.constant(high), s * -2.0)
    folded = total + (error + (tail + s_low).fma(-2.0, low))
    return select(large, folded, s + tail).copysign(x)


def arccos(x: Number) -> Number:
    """The inverse cosine."""
    large, s, s_low, tail = _half_angle(x)
    negative = x < 0.0
    pi_high, pi_low = PI_PARTS[x.bits]
    half_high, half_low = HALF_PI_PARTS[x.bits]
    base = select(large, select(negative, x.constant(pi_high), 0.0), half_high)
    base_low = select(large, select(negative, x.constant(pi_low), 0.0), half_low)
    factor = select(large, x.constant(2.0), -1.0) * x.constant(1.0).copysign(x)
    total, error = fast_two_sum(base, s * factor)
    return total + (error + (tail + s_low).fma(factor, base_low))


def _arctan_ratio(t: Number) -> tuple[Number, Number, Number]:
    """``t**2``, ``arctan(t)/t - 1`` for ``|t| <= 1``, and what its roundings lost, which counts for t near one.

    The square's rounding error counts by the derivative, -0.14 at ``t = 1``. Without fma the last steps of the
    polynomial and the product with t, to come, round more often, and their errors are kept as well.
    """
    square = t * t
    coefficients = COEFFICIENTS["arctan"][t.bits]
    lost = product_remainder(t, t, square) * -0.14
    if t.back.fma:
        factor = polynomial(square, coefficients)
        ratio = square * factor
    else:
        product, product_low = two_product(square, polynomial(square, coefficients[1:]))
        factor, factor_low = fast_two_sum(t.constant(coefficients[0]), product)
        ratio = square * factor
        lost = lost + square * (factor_low + product_low)
        # To be multiplied by t, whose square is near one.
        lost = lost + product_remainder(t, ratio, t * ratio) * t
    return square, ratio, lost + product_remainder(square, factor, ratio)


def arctan(x: Number) -> Number:
    """The inverse tangent."""
    # Far out the result is pi/2, and the bound keeps the products of remainders finite.
    magnitude = x.abs().at_most(2.0 ** (format_of(x).bias // 2))
    large = magnitude > 1.0
    # The divisor is one where nothing is divided, so that zero raises no flag.
    numerator, divisor = select(large, x.constant(-1.0), magnitude), select(large, magnitude, 1.0)
    t = numerator / divisor
    high, low = HALF_PI_PARTS[x.bits]
    total, error = fast_two_sum(select(large, x.constant(high), 0.0), t)
    # The quotient's error, by the derivative of the inverse tangent where it counts, that is for t near minus one.
    error = product_remainder(t, divisor, numerator).fma(t * 0.6, error + select(large, x.constant(low), 0.0))
    _, ratio, lost = _arctan_ratio(t)
    return (total + t.fma(ratio, t.fma(lost, error))).copysign(x)


def arctan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y)."""
    form = format_of(x)
    y_size, x_size = y.abs(), x.abs()
    far = (x_size > form.largest) & (y_size <= form.largest)
    tall = (y_size > form.largest) & (x_size <= form.largest)
    x_size = select(tall, 0.0, x_size.at_most(form.largest))
    y_size = select(far, 0.0, y_size.at_most(form.largest))
    steep = y_size > x_size
    numerator = select(steep, x_size, y_size)
    denominator = select(steep, y_size, x_size)
    # Both are scaled by a power of two that halves the exponent of the larger, so that no remainder underflows.
    field = form.mantissa_mask ^ ((1 << (form.bits - 1)) - 1)
    halved = denominator.to_bits().shift_right_logical(1) & (field & ~(1 << (form.bits - 2)))
    scale = (halved.constant((3 * (form.bias + 1) // 2 - 2) << form.stored) - halved).to_float()
    numerator = numerator * scale
    denominator = select(denominator.equals(0.0), 1.0, denominator * scale)
    t = numerator / denominator
    t_low = -product_remainder(t, denominator, numerator) * crude_reciprocal(denominator)
    square, ratio, lost = _arctan_ratio(t)
    pi_high, pi_low = PI_PARTS[x.bits]
    half_high, half_low = HALF_PI_PARTS[x.bits]
    left = x.to_bits() < 0
    base = select(steep, x.constant(half_high), select(left, x.constant(pi_high), 0.0))
    base_low = select(steep, x.constant(half_low), select(left, x.constant(pi_low), 0.0))
    sign = select(steep ^ left, x.constant(-1.0), 1.0)
    if not x.back.fma:
        # Dekker's product is not exact for subnormal parts; so far down the quotient is as good as the result.
        t_low = select(numerator < form.smallest_normal * 2.0 ** (2 * form.stored + 2), 0.0, t_low)
    t, t_low = t * sign, t_low * sign
    total, error = fast_two_sum(base, t)
    # The quotient's error counts by the derivative 1 / (1 + t**2), near enough.
    error = square.fma(-0.5, 1.0).fma(t_low, error + base_low)
    return (total + t.fma(ratio, t.fma(lost, error))).copysign(y)
