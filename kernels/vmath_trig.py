"""The circular functions: sin, cos, tan.

The argument is reduced to ``|x| = n pi/2 + r + c`` with ``|r| <= pi/4`` after Cody and Waite (1980, chapter
8), with ``pi/2`` in three parts (more without fma) and the rounding error c of r kept. That is right up to a
bound that ordinary programs never reach; beyond it the C library, which reduces after Payne and Hanek (1983),
is called for the elements concerned.
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import HALF_PI, clamp, format_of, polynomial, product_remainder, split_constant, two_sum

TWO_OVER_PI = 0.6366197723675814
FUSED_PARTS = {64: split_constant(HALF_PI, 64, 53, 53), 32: split_constant(HALF_PI, 32, 24, 24)}
# Short enough for exact products with n below the bound.
SHORT_PARTS = {64: split_constant(HALF_PI, 64, 33, 33, 33), 32: split_constant(HALF_PI, 32, 11, 11, 11, 11)}
BOUNDS = {(64, True): 2.0**30, (64, False): 2.0**20, (32, True): 2.0**16, (32, False): 2.0**13}


def _reduce(magnitude: Number) -> tuple[Number, Number, Number]:
    """n in the low bits of an integer, r and c.

    Beyond the bound r may be anything, and is kept from raising flags; nan is left in c.
    """
    form = format_of(magnitude)
    rounded = magnitude.fma(TWO_OVER_PI, form.rounder)
    n = rounded - form.rounder
    if magnitude.back.fma:
        first, second, third = FUSED_PARTS[magnitude.bits]
        # Exact: a multiple of the last place of pi/2 below two.
        remaining = n.fma(-first, magnitude)
        product = n * second
        product_error = n.fma(second, -product)
        r = remaining - product
        c = n.fma(-third, ((remaining - r) - product) - product_error)
        return rounded.to_bits(), _bounded(r), c
    *exact, last = SHORT_PARTS[magnitude.bits]
    r, c = magnitude - n * exact[0], magnitude.constant(0.0)
    for part in exact[1:]:
        r, error = two_sum(r, -(n * part))
        c = c + error
    return rounded.to_bits(), _bounded(r), c - n * last


def _bounded(r: Number) -> Number:
    return r.within(1.0) if r.back.avx512 else clamp(r, -1.0, 1.0)


def _sign_bit(x: Number) -> int:
    return -(1 << (x.bits - 1))


def _sin_part(r: Number, c: Number, square: Number) -> Number:
    return r + (square * r).fma(polynomial(square, COEFFICIENTS["sin"][r.bits]), c)


def _cos_part(r: Number, c: Number, square: Number) -> Number:
    half = square * 0.5
    leading = 1.0 - half
    error = (1.0 - leading) - half
    tail = (square * square).fma(polynomial(square, COEFFICIENTS["cos"][r.bits]), error - r * c)
    return leading + tail


def _in_quadrant(quadrant: Number, r: Number, c: Number) -> Number:
    """``sin(quadrant * pi/2 + r + c)``."""
    square = r * r
    odd = (quadrant & 1).differs(0)
    value = select(odd, _cos_part(r, c, square), _sin_part(r, c, square))
    sign = (quadrant << (r.bits - 2)) & _sign_bit(r)
    return (value.to_bits() ^ sign).to_float()


def sin(x: Number) -> Number:
    """The sine."""
    quadrant, r, c = _reduce(x.abs())
    value = _in_quadrant(quadrant, r, c)
    result = (value.to_bits() ^ (x.to_bits() & _sign_bit(x))).to_float()
    return x.beyond(BOUNDS[x.bits, x.back.fma], "sin", result)


def cos(x: Number) -> Number:
    """The cosine."""
    quadrant, r, c = _reduce(x.abs())
    return x.beyond(BOUNDS[x.bits, x.back.fma], "cos", _in_quadrant(quadrant + 1, r, c))


def tan(x: Number) -> Number:
    """The tangent."""
    quadrant, r, c = _reduce(x.abs())
    square = r * r
    # The derivative 1 + tan(r)**2 by which c counts, well enough for so small a term.
    c = (c * square).fma(1.5, c)
    # The square's own error, by half of r, which is nearly the derivative of what follows where it counts.
    c = (product_remainder(r, r, square) * r).fma(0.5, c)
    tail = (square * r).fma(polynomial(square, COEFFICIENTS["tan"][x.bits]), c)
    tangent = r + tail
    tangent_low = (r - tangent) + tail
    odd = (quadrant & 1).differs(0)
    divisor = select(odd, tangent, 1.0)
    inverse = 1.0 / divisor
    error = product_remainder(inverse, divisor, inverse.constant(1.0)) + inverse * tangent_low
    value = select(odd, inverse * error - inverse, tangent)
    result = (value.to_bits() ^ (x.to_bits() & _sign_bit(x))).to_float()
    return x.beyond(BOUNDS[x.bits, x.back.fma], "tan", result)


def sinc(x: Number) -> Number:
    """``sin(pi x) / (pi x)``, with the product rounded as in `numpy.sinc`."""
    y = select(x.equals(0.0), 1.0e-20, x) * 3.141592653589793
    return sin(y) / y
