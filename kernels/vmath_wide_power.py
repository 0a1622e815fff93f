"""Powers on AVX-512: two to the power ``y log2(x)``, with the logarithm as a sum of two floats.

``x = 2**k m`` with ``47/64 <= m < 47/32``; the leading bits of m, rounded, name a reciprocal c of five bits, short
enough for ``r = m c - 1`` to be exact. Then ``log2(x) = (k - log2(c)) + log2(1 + r)``, of which the terms up to the
third power of r are added with their rounding errors. (P. T. P. Tang, "Table-driven implementation of the exponential
function", ACM TOMS 15, 1989, and "... of the logarithm function", ACM TOMS 16, 1990.)
"""

from __future__ import annotations

from collections.abc import Sequence

from . import vmath_power
from .number import Number, rarely, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_parts import LOG2_E, estrin, format_of, split_constant
from .vmath_tables import TABLES

LOG2_E_PARTS = split_constant(LOG2_E, 64, 53)
NEXT_OCTAVE = 17  # of 32 parts of an octave: with them, significands from 47/32 on belong to the next exponent
# Representations of positive normal numbers whose exponent has a next one.
NORMAL = 0x0010000000000000, 0x7FF0000000000000 - (NEXT_OCTAVE << 47)
# Of 2**20. The low part of a logarithm is below 2**-20, where the high one is not small itself: its product with larger
# exponents is no small number, of which a polynomial has any sign.
MODERATE = 0x4130000000000000


def power(x: Number, y: Number) -> Number:
    """``x**y`` of float64."""
    first, end = NORMAL
    base, exponent = x.to_bits(), y.to_bits()
    usual = (base >= first) & (base < end) | base.equals(0) & (exponent > 0)
    usual = usual & ((exponent & 0x7FFFFFFFFFFFFFFF) <= MODERATE)
    return rarely("power", ~usual, vmath_power.power, _of_normal, x, y)


def _of_normal(x: Number, y: Number) -> Number:
    """The power of a normal base; of zero, whose representation passes for some small number's, zero."""
    high, low = _log2(x)
    exponent = y * high
    exponent_low = y.fma(low, y.fma(high, -exponent))
    return select(x.to_bits().equals(0), 0.0, _exp2(exponent, exponent_low))


def _log2(x: Number) -> tuple[Number, Number]:
    """The binary logarithm of a positive normal number as a high and a low part."""
    form = format_of(x)
    shift = NEXT_OCTAVE << (form.stored - 5)
    moved = x.to_bits() + shift
    k = moved.to_float().exponent()
    m = ((moved & form.mantissa_mask) + (form.one - shift)).to_float()
    index = moved.shift_right_logical(form.stored - 4)
    r = m.fma(index.look_up(TABLES["power_inverse"][64]), -1.0)
    unit, unit_low = LOG2_E_PARTS
    start = k + index.look_up(TABLES["power_value"][64])
    square = r * r
    square_low = r.fma(r, -square)
    # Of each sum the first summand is the larger one, or zero; what is lost is the sum's rounding error.
    first = r.fma(unit, start)
    first_low = r.fma(unit, start - first)
    cubic, *more = COEFFICIENTS["log2_cubic"][64]
    factor = r.fma(cubic, -0.5 * unit)
    factor_low = r.fma(cubic, -0.5 * unit - factor) - 0.5 * unit_low
    second = square.fma(factor, first)
    second_low = square.fma(factor, first - second)
    rest = square_low.fma(factor, index.look_up(TABLES["power_rest"][64]))
    rest = square.fma(square.fma(_by_halves(r, square, more), factor_low), rest)
    return second, rest + (r.fma(unit_low, first_low) + second_low)


def _by_halves(x: Number, square: Number, coefficients: Sequence[float]) -> Number:
    """The polynomial at `x` from those of the even and of the odd powers."""
    halves = []
    for part in (coefficients[::2], coefficients[1::2]):
        sum_ = x.constant(part[-1])
        for coefficient in reversed(part[:-1]):
            sum_ = sum_.fma(square, coefficient)
        halves.append(sum_)
    return halves[1].fma(x, halves[0])


def _exp2(exponent: Number, low: Number) -> Number:
    """Two to the power of a sum of two floats."""
    rounder = format_of(exponent).rounder / 16
    rounded = exponent + rounder
    n = rounded - rounder
    f = (exponent - n) + low
    index = rounded.to_bits()
    s = index.look_up(TABLES["exp2_value"][64])
    rest = index.look_up(TABLES["exp2_rest"][64])
    return s.fma(f.fma(estrin(f, COEFFICIENTS["exp2_near"][64]), rest), s).scale(n)
