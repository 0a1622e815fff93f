"""log1p and the inverse hyperbolic functions on AVX-512: ``log(1 + v)`` for v of one or two floats.

As in `vmath_wide_log`, with the reduced argument ``r = v c' + (c' - 1)`` for ``c' = c / 2**k``, in which nothing
cancels for small v. The difference is exact where it counts, for c has three bits less than a float.
"""

from __future__ import annotations

from . import vmath_area
from .number import Number, rarely, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_log import LN2_PARTS
from .vmath_parts import fast_two_sum, format_of, polynomial
from .vmath_tables import TABLES
from .vmath_wide_log import reduce_normal, repaired, sum_of_parts


def _reciprocal(u: Number) -> tuple[Number, Number, Number]:
    """k and the integer of `reduce_normal`, and ``c / 2**k``, for u far below the largest number.

    The table has a factor with which the difference of the exponents is that of the representations.
    """
    form = format_of(u)
    bits = u.to_bits()
    moved = bits + (1 << (form.stored - 1))
    index = bits.shift_right_logical(form.stored - 4)
    scaled = index.look_up(tuple(2.0**form.bias * c for c in TABLES["ln_inverse"][u.bits])).to_bits()
    exponent = moved & (((1 << (form.bits - 1)) - 1) ^ form.mantissa_mask)
    return moved.to_float().exponent(), index, (scaled - exponent).to_float()


def _log_of_one_plus(v: Number, v_low: Number) -> Number:
    """``log(1 + v + v_low)`` for positive v."""
    k, index, c = _reciprocal(v + 1.0)
    r = v.fma(c, c - 1.0)
    return sum_of_parts(k, index, r, v_low * c)


def log1p(x: Number) -> Number:
    """``log(1 + x)`` without cancellation near zero."""
    # Infinity would meet a factor of zero. Half of the sum is reduced, whose exponent can be raised by one.
    v = x.smaller(format_of(x).largest)
    k, index = reduce_normal(v.fma(0.5, 0.5))
    k = k + 1.0
    c = index.look_up(TABLES["ln_inverse"][x.bits]).scale(-k)
    return repaired(sum_of_parts(k, index, v.fma(c, c - 1.0)).copysign(x), x + 1.0)


# Where squares would overflow.
LARGE = {64: 2.0**500, 32: 2.0**60}


def arcsinh(x: Number) -> Number:
    """The inverse hyperbolic sine, ``log1p(x + x**2 / (1 + sqrt(1 + x**2)))``."""
    return rarely("arcsinh", x.abs() > LARGE[x.bits], vmath_area.arcsinh, _arcsinh, x)


def _arcsinh(x: Number) -> Number:
    a = x.abs()
    square = a * a
    divisor = a.fma(a, 1.0).sqrt() + 1.0
    inverse = 1.0 / divisor
    w = square * inverse
    v, v_low = fast_two_sum(a, w)
    # The divisor's own error remains; it counts the less the smaller x.
    v_low = (a.fma(a, -square) + w.fma(-divisor, square)).fma(inverse, v_low)
    return _log_of_one_plus(v, v_low).copysign(x)


def arccosh(x: Number) -> Number:
    """The inverse hyperbolic cosine, ``log1p(t + sqrt(t**2 + 2 t))`` for ``t = x - 1``."""
    return rarely("arccosh", (x < 1.0) | (x > LARGE[x.bits]), vmath_area.arccosh, _arccosh, x)


def _arccosh(x: Number) -> Number:
    t = x - 1.0
    twice = t + t
    square = t.fma(t, twice)
    root = square.sqrt()
    # With the square's own rounding error, as far as it counts: for small t.
    excess = root.fma(-root, square) + t.fma(t, twice - square)
    v, v_low = fast_two_sum(root, t)
    # At one the divisor is not to be zero, though the quotient is.
    v_low = v_low + excess / (root + root).larger(format_of(x).smallest_normal)
    return _log_of_one_plus(v, v_low)


def arctanh(x: Number) -> Number:
    """The inverse hyperbolic tangent, half the logarithm of ``n / d`` for ``n = 1 + |x|``, ``d = 1 - |x|``."""
    usual = {64: _arctanh64, 32: _arctanh32}[x.bits]
    return rarely("arctanh", x.abs() >= 1.0, _pole, usual, x, ordinary=0.5)


def _pole(x: Number) -> Number:
    """Infinity with the flag of the pole at one, nan with that of the domain error beyond."""
    return x / (1.0 - x.abs()).sqrt()


def _arctanh64(x: Number) -> Number:
    a = x.abs()
    d = 1.0 - a
    d_low = (1.0 - d) - a
    inverse = 1.0 / d
    k, index, c = _reciprocal((a + 1.0) * inverse)
    # n c - d, where c - d is exact, for c is near d / n.
    difference = c - d
    rest, rest_low = fast_two_sum(difference, -d_low)
    numerator = a.fma(c, rest)
    r = numerator * inverse
    r_low = r.fma(-d_low, r.fma(-d, numerator) + rest_low) * inverse
    return sum_of_parts(k, index, r, r_low) * x.constant(0.5).copysign(x)


def _arctanh32(x: Number) -> Number:
    """``k ln(2)/2 - ln(c)/2 + artanh(s)`` for ``s = (n c - d)/(n c + d)``, where s is x below a bound."""
    a = x.abs()
    d = 1.0 - a
    d_low = (1.0 - d) - a
    k, index, c = _reciprocal((a + 1.0) / d)
    # A little before k becomes one, at 0.2, where only the rest of the logarithm of two would count.
    far = a >= 0.1999
    numerator = select(far, a.fma(c, (c - d) - d_low), a)
    denominator = select(far, a.fma(c, c + d), 1.0)
    s = numerator / denominator
    half_ln2, half_ln2_low = (part / 2 for part in LN2_PARTS[32])
    start = k.fma(half_ln2, index.look_up(tuple(value / 2 for value in TABLES["ln_value"][32])))
    start = select(far, start, 0.0)
    total, low = fast_two_sum(start, s)
    low = k.fma(half_ln2_low, low)
    square = s * s
    tail = (s * square).fma(polynomial(square, COEFFICIENTS["atanh_near_zero"][32]), low)
    return (total + tail).copysign(x)
