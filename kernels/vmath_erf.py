"""The error function and its complement.

Near zero an odd polynomial; elsewhere ``erfc(x) = exp(-x**2) (1 - t) p(t)`` for ``t = (x - 3)/(x + 3)``, the
mapping of Shepherd and Laframboise ("Chebyshev approximation of (1 + 2x) exp(x**2) erfc(x)", Math. Comp. 36,
1981), under which one polynomial serves the whole half-line. The factors are kept as pairs of floats.
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_exp import exp_parts, scale_by_power
from .vmath_parts import (
    clamp,
    fast_two_sum,
    format_of,
    keep_nan,
    polynomial,
    quotient,
    split_constant,
    two_product,
    two_sum,
)

CENTRE = 3.0
# exp(9) erfc(3) and 37 exp(9) erfc(3) - 12/sqrt(pi): the polynomial's value and slope in the centre.
VALUE_AT_CENTRE = "0.179001151181389950419294815313620987227985364"
SLOPE_AT_CENTRE = "-0.14723240886164727786304525212529450269314908"
VALUE_PARTS = {64: split_constant(VALUE_AT_CENTRE, 64, 53), 32: split_constant(VALUE_AT_CENTRE, 32, 24)}
SLOPE_PARTS = {64: split_constant(SLOPE_AT_CENTRE, 64, 53), 32: split_constant(SLOPE_AT_CENTRE, 32, 24)}
Pair = tuple[Number, Number]


def _product(a: Pair, b: Pair) -> Pair:
    high, low = two_product(a[0], b[0])
    return fast_two_sum(high, low + a[0].fma(b[1], a[1] * b[0]))


def _tail(magnitude: Number) -> tuple[Number, Pair]:
    """For x from 3/4 on: n plus the rounder, and ``erfc(x) / 2**n`` as a pair."""
    square, square_low = two_product(magnitude, magnitude)
    rounded, high, low = exp_parts(-square)
    exponential = high, low - high * square_low
    w, w_low = quotient(
        (magnitude.constant(2.0 * CENTRE), magnitude.constant(0.0)), two_sum(magnitude, magnitude.constant(CENTRE))
    )
    w, w_low = fast_two_sum(w, w_low)
    t, t_low = two_sum(magnitude.constant(1.0), -w)
    t_low = t_low - w_low
    # The two steps that carry the largest terms, with their rounding errors.
    zeroth, zeroth_low = VALUE_PARTS[magnitude.bits]
    first, first_low = SLOPE_PARTS[magnitude.bits]
    inner, inner_low = fast_two_sum(magnitude.constant(first), t * polynomial(t, COEFFICIENTS["erfc"][magnitude.bits]))
    term, term_low = two_product(t, inner)
    term_low = term_low + t.fma(inner_low + first_low, t_low.fma(inner, zeroth_low))
    total, total_low = fast_two_sum(magnitude.constant(zeroth), term)
    return rounded, _product(_product(exponential, (w, w_low)), (total, total_low + term_low))


def erf(x: Number) -> Number:
    """The error function."""
    form = format_of(x)
    magnitude = x.abs()
    small = clamp(magnitude, None, 1.0)
    near = small.fma(polynomial(small * small, COEFFICIENTS["erf"][x.bits]), small)
    rounded, (high, low) = _tail(clamp(magnitude, 0.75, {64: 6.0, 32: 4.0}[x.bits]))
    scale = ((rounded.to_bits() << form.stored) + form.one).to_float()
    far, error = fast_two_sum(x.constant(1.0), -(high * scale))
    far = far + (error - low * scale)
    return keep_nan(select(magnitude < 0.8, near, far), x).copysign(x)


def erfc(x: Number) -> Number:
    """The complementary error function, ``1 - erf(x)`` without cancellation."""
    if x.bits == 32:
        # Near x = 0.8 the roundings of a float32 polynomial alone are half a unit in the last place.
        return x.in_float64(erfc)
    form = format_of(x)
    magnitude = x.abs()
    small = x.within(1.0) if x.back.avx512 else clamp(x, -1.0, 1.0)
    ratio = polynomial(small * small, COEFFICIENTS["erf"][x.bits])
    total, error = fast_two_sum(x.constant(1.0), -small)
    near = total + (error - small * ratio)
    largest = {64: 27.5, 32: 10.5}[x.bits]
    bounded = clamp(magnitude, 0.75, largest)
    rounded, (high, low) = _tail(bounded)
    # Where the product with the polynomial, at least 1 / 50, may be subnormal.
    subnormal = {64: -700.0, 32: -80.0}[x.bits]
    right = scale_by_power(high + low, -(bounded * bounded), rounded, (form.largest, 0.0, subnormal))
    scale = select(bounded < 6.0, ((rounded.to_bits() << form.stored) + form.one).to_float(), 0.0)
    left, left_error = fast_two_sum(x.constant(2.0), -(high * scale))
    far = select(x < 0.0, left + (left_error - low * scale), right)
    return select(magnitude < 0.75, near, select(x.is_nan(), x, far))
