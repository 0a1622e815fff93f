"""The exponential family: exp, exp2, expm1, sinh, cosh, tanh, expit.

The argument is reduced to ``x = n ln 2 + r`` with ``|r| <= ln(2)/2`` after Cody and Waite ("Software Manual for the Elementary
Functions", 1980, chapter 6): ``ln 2`` is split so that ``n`` times its high part is exact.
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import (
    LN2,
    fast_two_sum,
    format_of,
    polynomial,
    power_of_two,
    quotient,
    split_constant,
)

LN2_PARTS = {64: split_constant(LN2, 64, 42), 32: split_constant(LN2, 32, 15)}
INVERSE_LN2 = 1.4426950408889634

# The largest argument with a finite result, an argument below every result's last bit, and where results turn subnormal.
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


def _scale(y: Number, x: Number, rounded: Number, limits: tuple[float, float, float]) -> Number:
    """``y * 2**n`` with gradual underflow, infinity above the largest argument, and nan for nan.

    Adding n to the exponent field is right up to 2**1024, since y is below one there. Where the result is subnormal the
    exponent is kept in range by a fixed step, which the last multiplication takes back with a single rounding.
    """
    form = format_of(x)
    largest, _, subnormal = limits
    tiny = x < subnormal
    bits = y.to_bits() + (rounded.to_bits() << form.stored)
    bits = select(tiny, bits + (form.tiny_step << form.stored), bits)
    scaled = bits.to_float()
    scaled = select(tiny, scaled * 2.0**-form.tiny_step, scaled)
    # The product overflows for numbers, and leaves infinity and nan as they are without raising a flag.
    return select(x <= largest, scaled, x * form.largest)


def exp(x: Number) -> Number:
    """The exponential function."""
    limits = EXP_RANGE[x.bits]
    form = format_of(x)
    clamped = x.at_least(limits[1]).at_most(limits[0])
    rounded = clamped.fma(INVERSE_LN2, form.rounder)
    n = rounded - form.rounder
    ln2_high, ln2_low = LN2_PARTS[x.bits]
    r = n.fma(-ln2_low, n.fma(-ln2_high, clamped))
    y = (r * r).fma(polynomial(r, COEFFICIENTS["exp"][x.bits]), r) + 1.0
    return _scale(y, x, rounded, limits)


def exp2(x: Number) -> Number:
    """Two to the power x."""
    limits = EXP2_RANGE[x.bits]
    form = format_of(x)
    clamped = x.at_least(limits[1]).at_most(limits[0])
    rounded = clamped + form.rounder
    r = clamped - (rounded - form.rounder)
    y = r.fma(polynomial(r, COEFFICIENTS["exp2"][x.bits]), 1.0)
    return _scale(y, x, rounded, limits)


def _expm1_parts(x: Number) -> tuple[Number, Number, Number]:
    """``expm1(x) / 2`` as high and low part for ``-64 < x < 1025 ln 2``, and the scale ``2**(n-1)``.

    ``2**n (1 + r + r**2 p) - 1``: the large terms are added exactly. Half of it, so that nothing overflows too early.
    """
    rounded, r, r_low = reduce_by_ln2(x)
    half = power_of_two(rounded, -1)
    high, low = fast_two_sum(half - 0.5, half * r)
    tail = (r * r).fma(polynomial(r, COEFFICIENTS["expm1"][x.bits]), r_low)
    return high, half.fma(tail, low), half


def expm1(x: Number) -> Number:
    """``exp(x) - 1`` without cancellation near zero."""
    # Above the largest argument the doubled half overflows; far below, the result is minus one.
    top, bottom = {64: (709.9, -40.0), 32: (88.8, -20.0)}[x.bits]
    high, low, _ = _expm1_parts(x.at_most(top).at_least(bottom))
    half = high + low
    return (half + half).copysign(x)


def _sinh_cosh_terms(x: Number) -> tuple[Number, Number, Number, Number, Number, Number]:
    """For ``|x| = n ln 2 + r``: r high and low, ``cosh(r) - 1``, ``sinh(r) - r``, ``2**(n-2) - 2**(-n-2)`` and their sum.

    ``sinh(x) = cosh(r) sinh(n ln 2) + sinh(r) cosh(n ln 2)``, which needs no division and is exact for n = 0.
    """
    top, large = {64: (710.5, 40.0), 32: (89.5, 20.0)}[x.bits]
    magnitude = x.abs().at_most(top)
    rounded, r, r_low = reduce_by_ln2(magnitude)
    form = format_of(x)
    step = rounded.to_bits() << form.stored
    quarter = (form.bias - 2) << form.stored
    growing = (step + quarter).to_float()
    falling = (step.constant(quarter) - step).to_float()
    # The falling exponential does not count for large arguments, where its exponent would leave the format.
    falling = select(magnitude < large, falling, 0.0)
    square = r * r
    cosh_tail = square * polynomial(square, COEFFICIENTS["cosh"][x.bits])
    sinh_tail = (square * r) * polynomial(square, COEFFICIENTS["sinh"][x.bits])
    return r, r_low, cosh_tail, sinh_tail, growing - falling, growing + falling


def _combined(first: Number, factor: Number, r: Number, tail: Number) -> Number:
    """``first + factor * r + tail``, the sum of the first two without rounding error, doubled."""
    if first.back.fma:
        high = factor.fma(r, first)
        low = factor.fma(r, first - high)
    else:
        # The product's own error is below an eighth of the last place of the result, for |r| < 0.35.
        high, low = fast_two_sum(first, factor * r)
    half = high + (low + tail)
    return half + half


def sinh(x: Number) -> Number:
    """The hyperbolic sine."""
    r, r_low, cosh_tail, sinh_tail, minus, plus = _sinh_cosh_terms(x)
    tail = minus.fma(cosh_tail, plus * (sinh_tail + r_low))
    return _combined(minus, plus, r, tail).copysign(x)


def cosh(x: Number) -> Number:
    """The hyperbolic cosine."""
    r, r_low, cosh_tail, sinh_tail, minus, plus = _sinh_cosh_terms(x)
    tail = plus.fma(cosh_tail, minus * (sinh_tail + r_low))
    return _combined(plus, minus, r, tail)


def tanh(x: Number) -> Number:
    """The hyperbolic tangent, ``-expm1(-2|x|) / (2 + expm1(-2|x|))`` with the sign of x."""
    magnitude = x.abs().at_most({64: 22.0, 32: 10.0}[x.bits])
    high, low, _ = _expm1_parts(magnitude * -2.0)
    divisor = fast_two_sum(high.constant(1.0), high)
    estimate, correction = quotient((high, low), (divisor[0], divisor[1] + low))
    return (estimate + correction).copysign(x)


def expit(x: Number) -> Number:
    """The logistic function, ``1 / (1 + exp(-x))``."""
    raise NotImplementedError
