"""log1p and the inverse hyperbolic functions on AVX-512: ``log(1 + v)`` for v of one or two floats.

As in `vmath_wide_log`, with the reduced argument ``r = v c' + (c' - 1)`` for ``c' = c / 2**k``, in which nothing
cancels for small v. The difference is exact where it counts, for c has three bits less than a float.
"""

from __future__ import annotations

from .number import Number, Raise, Special
from .vmath_parts import fast_two_sum, format_of
from .vmath_tables import TABLES
from .vmath_wide_log import reduce, repaired, sum_of_parts, without_infinity


def _log_of_one_plus(v: Number, v_low: Number | None, u: Number) -> Number:
    """``log(1 + v + v_low)``, where u is ``1 + v`` rounded."""
    k, _, index = reduce(u)
    if v_low is None:
        k = without_infinity(k, u)
    c = index.look_up(TABLES["ln_inverse"][u.bits]).scale(-k)
    r = v.fma(c, c - 1.0)
    return sum_of_parts(k, index, r, None if v_low is None else v_low * c)


def log1p(x: Number) -> Number:
    """``log(1 + x)`` without cancellation near zero."""
    # Infinity would meet a factor of zero.
    v = x.smaller(format_of(x).largest)
    return repaired(_log_of_one_plus(v, None, v + 1.0).copysign(x), x + 1.0)


# Where squares would overflow.
LARGE = {64: 2.0**500, 32: 2.0**60}


def arcsinh(x: Number) -> Number:
    """The inverse hyperbolic sine, ``log1p(x + x**2 / (1 + sqrt(1 + x**2)))``."""
    a = x.smaller_magnitude(LARGE[x.bits])
    square = a * a
    divisor = a.fma(a, 1.0).sqrt() + 1.0
    inverse = 1.0 / divisor
    w = square * inverse
    # The divisor's own error remains; it counts the less the smaller x.
    w_low = (a.fma(a, -square) + w.fma(-divisor, square)) * inverse
    v, v_low = fast_two_sum(a, w)
    v_low = v_low + w_low
    result = _log_of_one_plus(v, v_low, v + 1.0).copysign(x).repair(x)
    return x.beyond(LARGE[x.bits], "asinh", result)


def arccosh(x: Number) -> Number:
    """The inverse hyperbolic cosine, ``log1p(t + sqrt(x**2 - 1))`` for ``t = x - 1``."""
    a = x.smaller(LARGE[x.bits])
    t = a - 1.0
    # Below one the root of a negative number raises the flag of the domain error, at minus one the logarithm.
    square = a.fma(a, -1.0).copysign(t)
    root = square.sqrt()
    excess = root.fma(-root, square)
    v, v_low = fast_two_sum(root, t)
    # At one the divisor is not to be zero, though the quotient is.
    v_low = v_low + excess / (root + root).larger(format_of(x).smallest_normal)
    return x.beyond(LARGE[x.bits], "acosh", _log_of_one_plus(v, v_low, v + 1.0).repair(x))


def arctanh(x: Number) -> Number:
    """The inverse hyperbolic tangent, half the logarithm of ``n / d`` for ``n = 1 + |x|``, ``d = 1 - |x|``."""
    a = x.abs()
    n, d = a + 1.0, 1.0 - a
    n_low, d_low = a - (n - 1.0), (1.0 - d) - a
    # The pole raises its flag here, and has a harmless divisor.
    d = d.repair(d, zero=Special.ONE, flags=Raise.ZERO_DIVIDES)
    inverse = 1.0 / d
    k, _, index = reduce(n * inverse)
    c = index.look_up(TABLES["ln_inverse"][x.bits]).scale(-k)
    numerator = n.fma(c, -d) + n_low.fma(c, -d_low)
    r = numerator * inverse
    r_low = (r.fma(-d, numerator) - r * d_low) * inverse
    return sum_of_parts(k, index, r, r_low).repair(a, one=Special.INFINITY) * x.constant(0.5).copysign(x)
