"""The logarithms: log, log2, log10, log1p.

``x = 2**k m`` with ``sqrt(1/2) <= m < sqrt(2)``, and for ``f = m - 1``, ``s = f / (2 + f)``:
``log(m) = 2 artanh(s) = f - f**2/2 + s (f**2/2 + R(s**2))``, where only the last, small term is rounded as a
whole. (The arrangement is that of fdlibm's e_log.c, Sun Microsystems 1993; Muller, "Elementary Functions",
section 11.)
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import (
    LN2,
    LOG2_E,
    LOG10_2,
    LOG10_E,
    fast_two_sum,
    format_of,
    polynomial,
    product_remainder,
    split_constant,
    two_product,
    two_sum,
)

SQRT_HALF = {64: 0x3FE6A09E667F3BCD, 32: 0x3F3504F3}
LN2_PARTS = {64: split_constant(LN2, 64, 42), 32: split_constant(LN2, 32, 15)}
LOG10_2_PARTS = {64: split_constant(LOG10_2, 64, 42), 32: split_constant(LOG10_2, 32, 15)}
LOG2_E_PARTS = {64: split_constant(LOG2_E, 64, 53), 32: split_constant(LOG2_E, 32, 24)}
LOG10_E_PARTS = {64: split_constant(LOG10_E, 64, 53), 32: split_constant(LOG10_E, 32, 24)}


def split_exponent(x: Number) -> tuple[Number, Number]:
    """k and m of a positive normal ``x = 2**k m``, both as floats."""
    form = format_of(x)
    bits = x.to_bits() + (form.one - SQRT_HALF[x.bits])
    m = ((bits & form.mantissa_mask) + SQRT_HALF[x.bits]).to_float()
    # Placed in the low bits of 2**stored, the biased exponent becomes a float without a conversion.
    shifted = bits.shift_right_logical(form.stored) | ((form.bias + form.stored) << form.stored)
    return shifted.to_float() - (2.0**form.stored + form.bias), m


def _split(x: Number) -> tuple[Number, Number]:
    """k and f of a positive x, subnormal ones among them."""
    form = format_of(x)
    tiny = x < form.smallest_normal
    k, m = split_exponent(x * select(tiny, x.constant(2.0 ** (form.stored + 2)), 1.0))
    return select(tiny, k - float(form.stored + 2), k), m - 1.0


def _reduced(x: Number) -> tuple[Number, Number, Number, Number]:
    """k, f, and for positive x ``f**2/2`` and ``s (f**2/2 + R)``; zero has minus infinity last, negative x has nan.

    The division raises the flags of the pole and of the domain error.
    """
    k, f = _split(x)
    outside = x <= 0.0
    at_pole = select(x < 0.0, x.constant(0.0), -1.0)
    half_square, tail = _series(f, select(outside, at_pole, f), select(outside, 0.0, f + 2.0))
    return k, f, half_square, tail


def _series(f: Number, numerator: Number, divisor: Number) -> tuple[Number, Number]:
    """``f**2/2`` and ``s (f**2/2 + R(s**2))`` for ``s = numerator / divisor``."""
    s = numerator / divisor
    square = s * s
    doubled = tuple(2 * c for c in COEFFICIENTS["atanh"][f.bits])
    half_square = (f * 0.5) * f
    return half_square, s * square.fma(polynomial(square, doubled), half_square)


def _finish(x: Number, result: Number, tail: Number) -> Number:
    """`result` for positive finite x; minus infinity for zero, nan below, infinity and nan as they are."""
    special = select(x <= 0.0, tail, x)
    return select((x > 0.0) & (x <= format_of(x).largest), result, special)


def log(x: Number) -> Number:
    """The natural logarithm."""
    k, f, half_square, tail = _reduced(x)
    ln2_high, ln2_low = LN2_PARTS[x.bits]
    low = half_square - k.fma(ln2_low, tail)
    return _finish(x, k.fma(ln2_high, f - low), tail)


def _scaled(f: Number, half_square: Number, tail: Number, factor: tuple[float, ...]) -> tuple[Number, Number]:
    """``log1p(f)`` times a constant of two parts, as a high and a low part."""
    high = f - half_square
    low = ((f - high) - half_square) + tail
    product = high * factor[0]
    error = product_remainder(high, high.constant(factor[0]), product)
    return product, error + low.fma(factor[0], high * factor[1])


def _log_by_polynomial(x: Number, name: str, unit: tuple[float, ...], base: tuple[float, ...]) -> Number:
    """For float32 with fma: ``k * base + f * unit + f**2 p(f)``, the first two terms with their rounding error.

    Ten coefficients and no quotient are fewer instructions than the quotient's corrections. The one division left only
    serves the pole and the domain error, and runs beside the rest.
    """
    k, f = _split(x)
    start = k * base[0]
    product, product_low = two_product(f, f.constant(unit[0]))
    high, low = fast_two_sum(start, product)
    low = low + product_low
    low = k.fma(base[1], low) if base[1] else low
    result = high + f.fma(f.fma(polynomial(f, COEFFICIENTS[name][x.bits]), unit[1]), low)
    outside = x <= 0.0
    # A product, for a divisor chosen to be zero would let the compiler fold the quotient, which then raises nothing.
    divisor = (f + 2.0) * select(outside, x.constant(0.0), 1.0)
    special = select(x < 0.0, x.constant(0.0), -1.0) / divisor
    return _finish(x, result, special)


def log2(x: Number) -> Number:
    """The logarithm to base two; exact for powers of two."""
    if x.bits == 32 and x.back.fma:
        return _log_by_polynomial(x, "log2", LOG2_E_PARTS[32], (1.0, 0.0))
    k, f, half_square, tail = _reduced(x)
    high, low = _scaled(f, half_square, tail, LOG2_E_PARTS[x.bits])
    total, error = fast_two_sum(k, high)
    return _finish(x, total + (error + low), tail)


def log10(x: Number) -> Number:
    """The logarithm to base ten."""
    base_high, base_low = LOG10_2_PARTS[x.bits]
    if x.bits == 32 and x.back.fma:
        return _log_by_polynomial(x, "log10", LOG10_E_PARTS[32], (base_high, base_low))
    k, f, half_square, tail = _reduced(x)
    high, low = _scaled(f, half_square, tail, LOG10_E_PARTS[x.bits])
    total, error = fast_two_sum(k * base_high, high)
    return _finish(x, total + (error + k.fma(base_low, low)), tail)


def log1p(x: Number) -> Number:
    """``log(1 + x)`` without cancellation near zero."""
    form = format_of(x)
    is_usual = (x > -1.0) & (x <= form.largest)
    inside = select(is_usual, x, 0.0)
    u, u_error = two_sum(x.constant(1.0), inside)
    k, m = split_exponent(u)
    # 2**-k, which is the ratio of the representations of m and u; the error does not count for large x.
    scale_bits = (m.to_bits() - u.to_bits()) + form.one
    scale = select(inside < 2.0 ** (2 * form.stored), scale_bits, 0).to_float()
    f, f_low = fast_two_sum(m - 1.0, u_error * scale)
    outside = x <= -1.0
    at_pole = select(x < -1.0, x.constant(0.0), -1.0)
    half_square, tail = _series(f, select(outside, at_pole, f), select(outside, 0.0, f + 2.0))
    ln2_high, ln2_low = LN2_PARTS[x.bits]
    low = half_square - (k.fma(ln2_low, f_low) + tail)
    result = k.fma(ln2_high, f - low).copysign(x)
    special = select(outside, tail, x)
    return select(is_usual, result, special)
