"""expm1 and the hyperbolic functions on AVX-512."""

from __future__ import annotations

from collections.abc import Callable

from . import vmath_exp
from .number import Number, rarely
from .vmath_coefficients import COEFFICIENTS
from .vmath_exp import INVERSE_LN2, LN2_PARTS, combination, expm1_parts, reduce_by_ln2
from .vmath_parts import estrin, fast_two_sum, format_of
from .vmath_tables import TABLES

FIRST, LARGEST = 0.046875, 9.5
_DEGREE = 5


def expm1(x: Number) -> Number:
    """``exp(x) - 1`` without cancellation near zero."""
    top, bottom = {64: (709.0, -40.0), 32: (88.0, -20.0)}[x.bits]

    def usual(x: Number) -> Number:
        high, low = expm1_parts(x.larger(bottom), 0)
        return (high + low).copysign(x).repair(x)

    return rarely("expm1", x > top, vmath_exp.expm1, usual, x)


def sinh(x: Number) -> Number:
    """The hyperbolic sine."""
    return _sinh_or_cosh("sinh", vmath_exp.sinh, x, -1.0)


def cosh(x: Number) -> Number:
    """The hyperbolic cosine."""
    return _sinh_or_cosh("cosh", vmath_exp.cosh, x, 1.0)


def _sinh_or_cosh(name: str, general: Callable[[Number], Number], x: Number, sign: float) -> Number:
    """As in `vmath_exp`, which is left what is near the end of the format."""
    bound = {64: 708.0, 32: 87.0}[x.bits]

    def usual(x: Number) -> Number:
        form = format_of(x)
        magnitude = x.abs()
        rounded, r, r_low = reduce_by_ln2(magnitude)
        step, half = rounded.to_bits() << form.stored, (form.bias - 1) << form.stored
        growing, falling = (step + half).to_float(), (step.constant(half) - step).to_float()
        value = combination(growing, falling * sign, magnitude, r, r_low)
        return value.copysign(x) if sign < 0 else value

    return rarely(name, x.abs() > bound, general, usual, x)


def tanh(x: Number) -> Number:
    """The hyperbolic tangent."""
    return (_by_exponential if x.bits == 64 else _by_intervals)(x).copysign(x).repair(x)


def _by_intervals(x: Number) -> Number:
    """For float32 a polynomial for each of 31 intervals: the coefficients come out of two registers each."""
    size = x.smaller_magnitude(LARGEST)
    index = size.larger(FIRST).to_bits().shift_right_logical(21)
    t = size - index.look_up(TABLES["tanh_centre"][32])
    result = index.look_up(TABLES[f"tanh_power{_DEGREE}"][32])
    for k in reversed(range(_DEGREE)):
        result = result.fma(t, index.look_up(TABLES[f"tanh_power{k}"][32]))
    return result


def _expm1(u: Number, scaled: Number) -> tuple[Number, Number]:
    """``-expm1(u)`` for u between -64 and 0 as a pair; `scaled` is ``16 u / ln 2`` plus the rounder.

    ``exp(u) = s exp(r)`` for a power of two s with sixteenths as exponents: ``(1 - s) - s r`` with the errors of both
    differences, and the rest, which is small.
    """
    n = scaled - format_of(u).rounder
    ln2_high, ln2_low = (part / 16 for part in LN2_PARTS[u.bits])
    reduced, correction = n.fma(-ln2_high, u), n * ln2_low
    r = reduced - correction
    r_low = (reduced - r) - correction
    s = scaled.to_bits().look_up(TABLES["exp2_value"][u.bits]).scale(n * 0.0625)
    rest = scaled.to_bits().look_up(TABLES["exp2_rest"][u.bits])
    start, start_low = fast_two_sum(u.constant(1.0), -s)
    high = s.fma(-r, start)
    tail = (r * r).fma(estrin(r, COEFFICIENTS["expm1_near"][u.bits]), r_low + rest)
    return fast_two_sum(high, s.fma(-tail, s.fma(-r, start - high) + start_low))


def _by_exponential(x: Number) -> Number:
    """``e / (2 - e)`` for ``e = -expm1(-2 |x|)``, in pairs."""
    size = x.smaller_magnitude(22.0)
    high, low = _expm1(size * -2.0, size.fma(-32.0 * INVERSE_LN2, format_of(x).rounder))
    divisor = 2.0 - high
    divisor_low = ((2.0 - divisor) - high) - low
    inverse = 1.0 / divisor
    estimate = high * inverse
    remainder = estimate.fma(-divisor, high) + estimate.fma(-divisor_low, low)
    return remainder.fma(inverse, estimate)
