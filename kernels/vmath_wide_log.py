"""The logarithms on AVX-512: exponent and significand by instructions, a table of sixteen reciprocals in registers.

``x = 2**k m`` with ``3/4 <= m < 3/2``; c is the entry for m of a table of reciprocals, and ``r = m c - 1`` is below
1/16. Then ``log(x) = (k log(2) - log(c)) + log(1 + r)``, where the sum in parentheses is exact, and c is one around
``x = 1``. (P. T. P. Tang, "Table-driven implementation of the logarithm function", ACM TOMS 16, 1990.)
"""

from __future__ import annotations

from .number import AROUND_ONE, DOMAIN, Number, Raise, Special
from .vmath_coefficients import COEFFICIENTS
from .vmath_log import LN2_PARTS, LOG2_E_PARTS, LOG10_2_PARTS, LOG10_E_PARTS
from .vmath_parts import estrin, fast_two_sum, format_of, two_product
from .vmath_tables import TABLES


def reduce(x: Number) -> tuple[Number, Number, Number]:
    """k, m, and the integer whose low bits name the entries of tables for m."""
    m = x.significand(AROUND_ONE, DOMAIN)
    k = x.exponent() - m.exponent()
    return k, m, m.to_bits().shift_right_logical(format_of(x).stored - 4)


def reduce_normal(u: Number) -> tuple[Number, Number]:
    """k and the integer of a number that is neither subnormal nor near the end of the format, with less work."""
    form, bits = format_of(u), u.to_bits()
    # Half a unit moves the exponents of significands from 3/2 on up by one.
    k = (bits + (1 << (form.stored - 1))).to_float().exponent()
    return k, bits.shift_right_logical(form.stored - 4)


def without_infinity(k: Number, x: Number) -> Number:
    """k, but zero where x is zero or infinity: the difference of infinities would raise a flag of its own."""
    return k.repair(x, zero=Special.ZERO, infinity=Special.ZERO)


def repaired(result: Number, x: Number) -> Number:
    """`result`, but the pole at zero, the domain error below it, and infinity."""
    return result.repair(
        x,
        zero=Special.MINUS_INFINITY,
        negative=Special.NAN,
        minus_infinity=Special.NAN,
        infinity=Special.INFINITY,
        flags=Raise.ZERO_DIVIDES | Raise.NEGATIVE_INVALID | Raise.MINUS_INFINITY_INVALID,
    )


def log(x: Number) -> Number:
    """The natural logarithm."""
    k, m, index = reduce(x)
    k = without_infinity(k, x)
    r = m.fma(index.look_up(TABLES["ln_inverse"][x.bits]), -1.0)
    return repaired(sum_of_parts(k, index, r), x)


def sum_of_parts(k: Number, index: Number, r: Number, r_low: Number | None = None) -> Number:
    """``k ln 2 - ln c + ln(1 + r + r_low)``."""
    ln2_high, ln2_low = LN2_PARTS[r.bits]
    start = k.fma(ln2_high, index.look_up(TABLES["ln_value"][r.bits]))
    # Where the entry is zero, so is k, and what is added to r there loses nothing.
    total, low = fast_two_sum(start, r)
    low = k.fma(ln2_low, low if r_low is None else low + r_low)
    return total + (r * r).fma(estrin(r, COEFFICIENTS["log_near"][r.bits]), low)


def _of_base(x: Number, name: str, unit: tuple[float, ...], base: tuple[float, ...]) -> Number:
    k, m, index = reduce(x)
    k = without_infinity(k, x)
    r = m.fma(index.look_up(TABLES[f"{name}_inverse"][x.bits]), -1.0)
    start = k.fma(base[0], index.look_up(TABLES[f"{name}_value"][x.bits]))
    product, product_low = two_product(r, r.constant(unit[0]))
    total, low = fast_two_sum(start, product)
    low = low + product_low
    if base[1]:
        low = k.fma(base[1], low)
    # The constant's low part is the polynomial's first coefficient.
    series = estrin(r, (unit[1], *COEFFICIENTS[f"{name}_near"][x.bits]))
    return repaired(total + r.fma(series, low), x)


def log2(x: Number) -> Number:
    """The logarithm to base two."""
    return _of_base(x, "log2", LOG2_E_PARTS[x.bits], (1.0, 0.0))


def log10(x: Number) -> Number:
    """The logarithm to base ten."""
    return _of_base(x, "log10", LOG10_E_PARTS[x.bits], LOG10_2_PARTS[x.bits])
