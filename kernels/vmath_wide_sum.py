"""logaddexp and logaddexp2 on AVX-512: where the result is nearly zero, the logarithm of a sum known to 100 bits.

``log(exp(x) + exp(y))`` cancels where the sum of the exponentials is nearly one. There it is ``log1p(s)`` for
``s = (exp(x) - 1) + exp(y)`` with both exponentials as sums of two floats, by Taylor's series for a 64th of the reduced
argument, which is squared six times. (T. J. Dekker, "A floating-point technique for extending the available
precision", 1971.) What is left of s is right to one float down to results of 2**-47; nearer to zero than that are only
sums next to the closest that there are.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from . import vmath_area
from .number import Number, rarely, select
from .vmath_area import LOG2_E_PARTS, Pair, log_parts
from .vmath_parts import LN2, clamp, fast_two_sum, format_of, polynomial, split_constant, two_product, two_sum

LN2_PARTS = split_constant(LN2, 64, 42, 53)
LN2_PAIR = split_constant(LN2, 64, 53)
LAST_PAIR = 5  # powers of Taylor's series up to which a sum of two floats is needed
INVERSE_FACTORIALS = [split_constant(str(Fraction(1, factorial(k))), 64, 53) for k in range(LAST_PAIR + 1)]
TAIL = [1.0 / factorial(k) for k in range(LAST_PAIR + 1, 12)]
SQUARINGS = 6
CANCELLED = {64: 0.25, 32: 2.0**-24}  # of the larger operand: below, the usual formula has lost too much


def logaddexp(x: Number, y: Number) -> Number:
    """``log(exp(x) + exp(y))``."""
    if x.bits == 32:
        return x.in_float64(lambda x, y: _logaddexp(x, y, CANCELLED[32]), y)
    return _logaddexp(x, y, CANCELLED[64])


def logaddexp2(x: Number, y: Number) -> Number:
    """``log2(2**x + 2**y)``."""
    if x.bits == 32:
        return x.in_float64(lambda x, y: _logaddexp2(x, y, CANCELLED[32]), y)
    return _logaddexp2(x, y, CANCELLED[64])


def _logaddexp(x: Number, y: Number, bound: float) -> Number:
    result = vmath_area.logaddexp(x, y)
    return rarely(
        "logaddexp", _is_cancelled(x, y, result, bound), _near_zero, lambda x, y, result: result, x, y, result
    )


def _logaddexp2(x: Number, y: Number, bound: float) -> Number:
    result = vmath_area.logaddexp2(x, y)
    cancelled = _is_cancelled(x, y, result, bound)
    return rarely("logaddexp2", cancelled, _near_zero_of_two, lambda x, y, result: result, x, y, result)


def _is_cancelled(x: Number, y: Number, result: Number, bound: float) -> Number:
    larger = select(x < y, y, x)
    return (larger < 0.0) & (result.abs() < larger * -bound)


def _near_zero(x: Number, y: Number, _: Number) -> Number:
    s, s_low = _excess(*(_exp(clamp(v, -745.0, 0.0)) for v in (x, y)))
    high, low = log_parts(x.constant(1.0), (s, s_low), x.constant(0.0))
    return high + low


def _near_zero_of_two(x: Number, y: Number, _: Number) -> Number:
    s, s_low = _excess(*(_exp2(clamp(v, -1075.0, 0.0)) for v in (x, y)))
    high, low = log_parts(x.constant(1.0), (s, s_low), x.constant(0.0))
    unit_high, unit_low = LOG2_E_PARTS[64]
    product, product_low = two_product(high, high.constant(unit_high))
    return product + (product_low + (low * unit_high + high * unit_low))


def _excess(first: tuple[Number, Pair], second: tuple[Number, Pair]) -> Pair:
    """``2**n (1 + z) + 2**m (1 + w) - 1`` for ``(n, z)`` and ``(m, w)``."""
    (n, z), (m, w) = first, second
    one = n.constant(1.0)
    powers = one.scale(n), one.scale(m)
    # Exact but for sums far from one.
    whole, whole_low = two_sum(powers[0] - 0.5, powers[1] - 0.5)
    parts = [(value.scale(k), low.scale(k)) for k, (value, low) in ((n, z), (m, w))]
    total, error = two_sum(parts[0][0], parts[1][0])
    low, low_error = two_sum(parts[0][1], parts[1][1])
    total, error = fast_two_sum(total, error + low)
    high, rest = two_sum(whole, total)
    return fast_two_sum(high, rest + (error + (low_error + whole_low)))


def _exp(x: Number) -> tuple[Number, Pair]:
    """n and z for ``exp(x) = 2**n (1 + z)``."""
    rounder = format_of(x).rounder
    n = x.fma(1.4426950408889634, rounder) - rounder
    first, second, third = LN2_PARTS
    product, product_low = two_product(n, n.constant(-second))
    r, r_low = two_sum(n.fma(-first, x), product)
    return n, _exp_minus_one(*fast_two_sum(r, r_low + n.fma(-third, product_low)))


def _exp2(x: Number) -> tuple[Number, Pair]:
    """n and z for ``2**x = 2**n (1 + z)``."""
    rounder = format_of(x).rounder
    n = (x + rounder) - rounder
    f = x - n
    high, low = LN2_PAIR
    r, r_low = two_product(f, f.constant(high))
    return n, _exp_minus_one(*fast_two_sum(r, f.fma(low, r_low)))


def _exp_minus_one(r: Number, r_low: Number) -> Pair:
    """``exp(r + r_low) - 1`` for ``|r| <= ln(2)/2``."""
    u = r * 0.5**SQUARINGS, r_low * 0.5**SQUARINGS
    high, low = INVERSE_FACTORIALS[LAST_PAIR]
    total = fast_two_sum(r.constant(high), u[0].fma(polynomial(u[0], TAIL), low))
    for high, low in reversed(INVERSE_FACTORIALS[1:LAST_PAIR]):
        product, product_low = _product(u, total)
        sum_, error = fast_two_sum(r.constant(high), product)
        total = fast_two_sum(sum_, error + (product_low + low))
    z = _product(u, total)
    for _ in range(SQUARINGS):
        square, square_low = _product(z, z)
        sum_, error = fast_two_sum(z[0] + z[0], square)
        z = fast_two_sum(sum_, error + (z[1] + z[1] + square_low))
    return z


def _product(a: Pair, b: Pair) -> Pair:
    high, low = two_product(a[0], b[0])
    return fast_two_sum(high, a[0].fma(b[1], a[1].fma(b[0], low)))
