"""The exponential family: exp, exp2, expm1, sinh, cosh, tanh, expit.

The argument is reduced to ``x = n ln 2 + r`` with ``|r| <= ln(2)/2`` after Cody and Waite ("Software Manual
for the Elementary Functions", 1980, chapter 6): ``ln 2`` is split so that ``n`` times its high part is exact.
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import (
    LN2,
    LOG2_E,
    clamp,
    fast_two_sum,
    format_of,
    halves,
    keep_nan,
    polynomial,
    power_of_two,
    product_remainder,
    quotient,
    split_constant,
    two_product,
    two_sum,
)

LN2_PARTS = {64: split_constant(LN2, 64, 42), 32: split_constant(LN2, 32, 15)}
LOG2_E_PARTS = {64: split_constant(LOG2_E, 64, 53), 32: split_constant(LOG2_E, 32, 24)}
INVERSE_LN2 = 1.4426950408889634

# The largest argument with a finite result, an argument below every result's last bit, and where results turn
# subnormal.
EXP_RANGE = {64: (709.782712893384, -746.0, -708.0), 32: (88.72283172607422, -104.0, -87.0)}
EXP2_RANGE = {64: (1023.9999999999999, -1080.0, -1021.0), 32: (127.99999237060547, -152.0, -125.0)}


def reduce_by_ln2(x: Number) -> tuple[Number, Number, Number]:
    """n plus the rounder, and the reduced argument as a high and a low part."""
    form = format_of(x)
    rounded = x.fma(INVERSE_LN2, form.rounder)
    n = rounded - form.rounder
    ln2_high, ln2_low = LN2_PARTS[x.bits]
    # Exact: the product has few enough bits, and the difference fewer than either.
    reduced = n.fma(-ln2_high, x)
    correction = n * ln2_low
    high = reduced - correction
    return rounded, high, (reduced - high) - correction


def scale_by_power(y: Number, x: Number, rounded: Number, limits: tuple[float, float, float]) -> Number:
    """``y * 2**n`` with gradual underflow, infinity above the largest argument, and nan for nan.

    Adding n to the exponent field is right up to 2**1024, since y is below one there. Where the result is
    subnormal the exponent is kept in range by a fixed step, which the last multiplication takes back with a
    single rounding.
    """
    form = format_of(x)
    largest, _, subnormal = limits
    tiny = x < subnormal
    bits = y.to_bits() + (rounded.to_bits() << form.stored)
    bits = select(tiny, bits + (form.tiny_step << form.stored), bits)
    # Above the largest argument the product overflows for numbers, and leaves infinity and nan as they are; a factor
    # chosen before the product raises no flag elsewhere.
    factor = select(tiny, 2.0**-form.tiny_step, select(x <= largest, 1.0, x))
    return bits.to_float() * factor


def exp(x: Number) -> Number:
    """The exponential function."""
    limits = EXP_RANGE[x.bits]
    form = format_of(x)
    clamped = clamp(x, limits[1], limits[0])
    rounded = clamped.fma(INVERSE_LN2, form.rounder)
    n = rounded - form.rounder
    ln2_high, ln2_low = LN2_PARTS[x.bits]
    if x.back.fma:
        # The first difference is exact. The polynomial's last step takes in the rounding of its largest term.
        r = n.fma(-ln2_low, n.fma(-ln2_high, clamped))
        y = r.fma(r.fma(polynomial(r, COEFFICIENTS["exp"][x.bits]), 1.0), 1.0)
    else:
        r = (clamped - n * ln2_high) - n * ln2_low
        y = (r * r * polynomial(r, COEFFICIENTS["exp"][x.bits]) + r) + 1.0
    return scale_by_power(y, x, rounded, limits)


def exp2(x: Number) -> Number:
    """Two to the power x."""
    limits = EXP2_RANGE[x.bits]
    form = format_of(x)
    clamped = clamp(x, limits[1], limits[0])
    rounded = clamped + form.rounder
    r = clamped - (rounded - form.rounder)
    y = exp2_of_fraction(r)
    return scale_by_power(y, x, rounded, limits)


def exp2_of_fraction(r: Number) -> Number:
    """``2**r`` for ``|r| <= 1/2``."""
    first, *rest = COEFFICIENTS["exp2"][r.bits]
    if r.back.fma:
        return r.fma(polynomial(r, (first, *rest)), 1.0)
    # The product with the leading coefficient is exact between halves, so that the sum with one rounds once.
    r_high, r_low = halves(r)
    first_high, first_low = halves(r.constant(first))
    total, error = fast_two_sum(r.constant(1.0), r_high * first_high)
    return total + (error + (r_high * first_low + r_low * first + (r * r) * polynomial(r, rest)))


def expm1_parts(x: Number, exponent: int = -1) -> tuple[Number, Number]:
    """``expm1(x) * 2**exponent`` as high and low part for ``-64 < x < 1025 ln 2``.

    ``2**n (1 + r + r**2 p) - 1``: the large terms are added exactly. Half of it, where else it overflows too early.
    """
    rounded, r, r_low = reduce_by_ln2(x)
    power = power_of_two(rounded, exponent)
    scaled = power * r
    constant, constant_low = two_sum(power, power.constant(-(2.0**exponent)))
    high, low = fast_two_sum(constant, scaled)
    low = power.fma(r_low.fma(r, r_low), low) + constant_low
    square = scaled * r
    # The square's own error, by the leading coefficient.
    low = (product_remainder(r, r, r * r) * power).fma(0.5, low)
    factor = polynomial(r, COEFFICIENTS["expm1"][x.bits])
    if not x.back.fma:
        low = (product_remainder(r * r, factor, (r * r) * factor) * power) + low
    return high, square.fma(factor, low)


def expm1(x: Number) -> Number:
    """``exp(x) - 1`` without cancellation near zero."""
    # Far below, the result is minus one.
    top, bottom = {64: (709.9, -40.0), 32: (88.8, -20.0)}[x.bits]
    high, low = expm1_parts(clamp(x, bottom, top))
    # Halving a subnormal number is not exact; there the function is the identity.
    return select(x.abs() < format_of(x).smallest_normal * 4.0, x, _doubled(high + low, x, top))


def _doubled(half: Number, x: Number, top: float) -> Number:
    """``2 * half``, beyond `top` what overflows if x is a number, and x for infinity and nan."""
    return half * select(x <= top, 2.0, x)


def _halves_of_powers(rounded: Number, magnitude: Number) -> tuple[Number, Number]:
    """``2**(n-2)`` and ``2**(-n-2)``, the second zero where it does not count and would leave the format."""
    form = format_of(rounded)
    step = rounded.to_bits() << form.stored
    quarter = (form.bias - 2) << form.stored
    falling = (step.constant(quarter) - step).to_float()
    return (step + quarter).to_float(), select(magnitude < float(2 * form.stored), falling, 0.0)


def combination(growing: Number, falling: Number, magnitude: Number, r: Number, r_low: Number) -> Number:
    """``growing * exp(r + r_low) + falling * exp(-r - r_low)`` for powers of two, where nothing leaves the format."""
    bits = r.bits
    first, first_low = fast_two_sum(growing, falling)
    second = growing - falling
    square = r * r
    cosh_tail = square * polynomial(square, COEFFICIENTS["cosh"][bits])
    series = "sinh" if r.back.fma else "sinh_long"
    sinh_tail = (square * r) * polynomial(square, COEFFICIENTS[series][bits])
    if r.back.fma:
        high = second.fma(r, first)
        low = second.fma(r, first - high)
    else:
        product, product_low = two_product(second, r)
        high, low = fast_two_sum(first, product)
        # The halves of a product near the format's end overflow; that far out the error of the product does not count.
        low = select(magnitude < float(2 * format_of(r).stored), low + product_low, low)
    low = second.fma(r_low, low) + first_low
    return high + first.fma(cosh_tail, second.fma(sinh_tail, low))


def _sinh_or_cosh(x: Number, sign: float) -> Number:
    """``exp(|x|)/2 + sign * exp(-|x|)/2`` for ``|x| = n ln 2 + r``.

    ``sinh(x) = sinh(n ln 2) cosh(r) + cosh(n ln 2) sinh(r)`` and the like for cosh, which need no division and
    are exact for n = 0. Computed at half the size, so that nothing overflows too early.
    """
    top = {64: 710.5, 32: 89.5}[x.bits]
    magnitude = clamp(x.abs(), None, top)
    rounded, r, r_low = reduce_by_ln2(magnitude)
    growing, falling = _halves_of_powers(rounded, magnitude)
    return _doubled(combination(growing, falling * sign, magnitude, r, r_low), x.abs(), top)


def sinh(x: Number) -> Number:
    """The hyperbolic sine."""
    # Halving a subnormal number is not exact; there the function is the identity.
    tiny = x.abs() < format_of(x).smallest_normal * 4.0
    return select(tiny, x, _sinh_or_cosh(x, -1.0).copysign(x))


def cosh(x: Number) -> Number:
    """The hyperbolic cosine."""
    return _sinh_or_cosh(x, 1.0)


def tanh(x: Number) -> Number:
    """The hyperbolic tangent."""
    short = x.bits == 32 and x.back.fma
    return (_tanh_in_steps if short else _tanh_of_pairs)(x.abs()).copysign(x)


def _tanh_of_pairs(magnitude: Number) -> Number:
    """``-expm1(-2x) / (2 + expm1(-2x))`` for positive x, in pairs."""
    high, low = fast_two_sum(*expm1_parts(clamp(magnitude, None, {64: 22.0, 32: 10.0}[magnitude.bits]) * -2.0))
    divisor, divisor_low = fast_two_sum(high.constant(1.0), high)
    estimate, correction = quotient((high, low), (divisor, divisor_low + low))
    return keep_nan(estimate + correction, magnitude)


def _tanh_in_steps(magnitude: Number) -> Number:
    """For float32: a polynomial up to one, ``1 - 2 / (exp(2x) + 1)`` beyond, where the quotient is small."""
    form = format_of(magnitude)
    square = magnitude * magnitude
    near = (square * magnitude).fma(polynomial(square, COEFFICIENTS["tanh"][32]), magnitude)
    bounded = magnitude.at_most(10.0)
    rounded = bounded.fma(2.0 * INVERSE_LN2, form.rounder)
    n = rounded - form.rounder
    high, low = LOG2_E_PARTS[32]
    r = bounded.fma(2.0 * low, bounded.fma(2.0 * high, -n))
    y = r.fma(polynomial(r, COEFFICIENTS["exp2"][32]), 1.0)
    exponential = (y.to_bits() + (rounded.to_bits() << form.stored)).to_float()
    far = 1.0 - 2.0 / (exponential + 1.0)
    return select(magnitude <= 1.0, near, select(magnitude.is_nan(), magnitude, far))


def exp_parts(x: Number) -> tuple[Number, Number, Number]:
    """n plus the rounder, and ``exp(r)`` as a high and a low part, right to some four bits more than one float."""
    rounded, r, r_low = reduce_by_ln2(x)
    high, low = fast_two_sum(r.constant(1.0), r)
    square = r * r
    low = low + product_remainder(r, r, square).fma(0.5, r_low)
    low = square.fma(polynomial(r, COEFFICIENTS["exp"][x.bits]), low)
    high, low = fast_two_sum(high, low)
    return rounded, high, low


def expit(x: Number) -> Number:
    """The logistic function, ``1 / (1 + exp(-x))``, for negative x as ``exp(x) / (1 + exp(x))``."""
    form = format_of(x)
    magnitude = x.abs().at_most(-EXP_RANGE[x.bits][1])
    rounded, high, low = exp_parts(-magnitude)
    counts = magnitude < float(2 * form.stored)
    scale = select(counts, ((rounded.to_bits() << form.stored) + form.one).to_float(), 0.0)
    divisor, divisor_low = fast_two_sum(x.constant(1.0), high * scale)
    negative = x < 0.0
    numerator = select(negative, high, 1.0), select(negative, low, 0.0)
    estimate, correction = quotient(numerator, (divisor, low.fma(scale, divisor_low)))
    value = estimate + correction
    limits = (form.largest, 0.0, EXP_RANGE[x.bits][2])
    return select(negative, scale_by_power(value, x, rounded, limits), select(x.is_nan(), x, value))
