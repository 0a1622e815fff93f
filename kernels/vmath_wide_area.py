"""log1p and the inverse hyperbolic functions on AVX-512: ``log(1 + v)`` for v of one or two floats.

As in `vmath_wide_log`, with the reduced argument ``r = v c' + (c' - 1)`` for ``c' = c / 2**k``, in which nothing
cancels for small v. The difference is exact where it counts, for c has three bits less than a float.
"""

from __future__ import annotations

from .number import Number, Raise, Special
from .vmath_parts import fast_two_sum, format_of
from .vmath_tables import TABLES
from .vmath_wide_log import reduce_normal, repaired, sum_of_parts


def _log_of_one_plus(v: Number, v_low: Number) -> Number:
    """``log(1 + v + v_low)`` for positive v."""
    u = v + 1.0
    k, index = reduce_normal(u)
    c = index.look_up(TABLES["ln_inverse"][u.bits]).scale(-k)
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
    a = x.smaller_magnitude(LARGE[x.bits])
    square = a * a
    divisor = a.fma(a, 1.0).sqrt() + 1.0
    inverse = 1.0 / divisor
    w = square * inverse if x.bits == 64 else square / divisor
    v, v_low = fast_two_sum(a, w)
    if x.bits == 64:
        # The divisor's own error remains; it counts the less the smaller x.
        v_low = v_low + (a.fma(a, -square) + w.fma(-divisor, square)) * inverse
    result = _log_of_one_plus(v, v_low).copysign(x).repair(x)
    return x.beyond(LARGE[x.bits], "asinh", result)


def arccosh(x: Number) -> Number:
    """The inverse hyperbolic cosine, ``log1p(t + sqrt(t**2 + 2 t))`` for ``t = x - 1``."""
    t = x - 1.0
    bounded = t.smaller(LARGE[x.bits])
    square = bounded.fma(bounded, bounded + bounded)
    root = square.sqrt()
    excess = root.fma(-root, square)
    v, v_low = fast_two_sum(root, bounded)
    # At one the divisor is not to be zero, though the quotient is.
    v_low = v_low + excess / (root + root).larger(format_of(x).smallest_normal)
    value = _log_of_one_plus(v, v_low)
    flags = Raise.NEGATIVE_INVALID | Raise.MINUS_INFINITY_INVALID
    value = value.repair(t, negative=Special.NAN, minus_infinity=Special.NAN, flags=flags)
    return x.beyond(LARGE[x.bits], "acosh", value)


def arctanh(x: Number) -> Number:
    """The inverse hyperbolic tangent, half the logarithm of ``n / d`` for ``n = 1 + |x|``, ``d = 1 - |x|``."""
    a = x.abs()
    distance = 1.0 - a
    d_low = (1.0 - distance) - a
    d = distance.repair(distance, zero=Special.ONE)
    inverse = 1.0 / d
    k, index = reduce_normal((a + 1.0) * inverse)
    c = index.look_up(TABLES["ln_inverse"][x.bits]).scale(-k)
    if x.bits == 64:
        # n c - d, where c - d is nearly exact, for c is near d / n.
        numerator = a.fma(c, (c - d) - d_low)
    else:
        n = a + 1.0
        numerator = n.fma(c, -d) + (a - (n - 1.0)).fma(c, -d_low)
    r = numerator * inverse
    r_low = r.fma(-d_low, r.fma(-d, numerator)) * inverse
    value = sum_of_parts(k, index, r, r_low)
    value = value.repair(
        distance,
        zero=Special.INFINITY,
        negative=Special.NAN,
        minus_infinity=Special.NAN,
        flags=Raise.ZERO_DIVIDES | Raise.NEGATIVE_INVALID | Raise.MINUS_INFINITY_INVALID,
    )
    return value * x.constant(0.5).copysign(x)
