"""What the elementary functions share: formats, polynomials, error-free transformations, powers of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .number import Number


@dataclass(frozen=True, slots=True)
class Format:
    """The numbers that describe an IEEE 754 binary format."""

    bits: int
    stored: int
    """Bits of the significand that are stored."""
    bias: int
    largest: float
    smallest_normal: float
    rounder: float
    """1.5 * 2**stored: added to a number below 2**(stored - 1), it leaves the nearest integer in the low bits."""
    splitter: float
    """Veltkamp's constant, which splits a significand in two halves."""
    tiny_step: int
    """Exponent by which results below the normal range are computed too large, then scaled down."""

    @property
    def mantissa_mask(self) -> int:
        return (1 << self.stored) - 1

    @property
    def one(self) -> int:
        """The representation of 1.0."""
        return self.bias << self.stored


FORMATS = {
    64: Format(64, 52, 1023, 1.7976931348623157e308, 2.0**-1022, 1.5 * 2.0**52, 2.0**27 + 1, 128),
    32: Format(32, 23, 127, 3.4028234663852886e38, 2.0**-126, 1.5 * 2.0**23, 2.0**12 + 1, 64),
}


def format_of(x: Number) -> Format:
    """The format of a float or of the float that an integer represents."""
    return FORMATS[x.bits]


def polynomial(x: Number, coefficients: Sequence[float]) -> Number:
    """The polynomial at `x` by Horner's rule, the coefficient of lowest power first.

    Horner's rule has the fewest instructions; its latency hides behind other iterations of the loop.
    """
    if x.back.avx512 and len(coefficients) > 4:
        # The last steps, whose roundings count, are those of Horner's rule.
        return estrin(x, coefficients[2:]).fma(x, coefficients[1]).fma(x, coefficients[0])
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def estrin(x: Number, coefficients: Sequence[float]) -> Number:
    """The polynomial at `x` by Estrin's scheme, pairs of terms at a time: at half the latency of Horner's rule.

    For loops so short that the processor's window holds only a few turns of them at once.
    """
    terms = [x.constant(c) for c in coefficients]
    power = x
    while len(terms) > 1:
        pairs = [high.fma(power, low) for low, high in zip(terms[::2], terms[1::2])]
        terms = pairs + terms[2 * len(pairs) :]
        if len(terms) > 1:
            power = power * power
    return terms[0]


def fast_two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """``a + b`` and its rounding error, exact if ``|a| >= |b|`` or ``a == 0`` (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """``a + b`` and its rounding error, exact without a condition (Knuth, TAOCP 2, 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Number, b: Number) -> tuple[Number, Number]:
    """``a * b`` and its rounding error: one fma, or Dekker's product of halves."""
    product = a * b
    return product, product_remainder(a, b, product)


def product_remainder(a: Number, b: Number, subtrahend: Number) -> Number:
    """``a * b - subtrahend``, exact where the result can be represented and `subtrahend` is near the product."""
    if a.back.fma:
        return a.fma(b, -subtrahend)
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    return ((a_high * b_high - subtrahend) + a_high * b_low + a_low * b_high) + a_low * b_low


def halves(a: Number) -> tuple[Number, Number]:
    """Two halves of the significand, whose products are exact (Veltkamp 1968)."""
    scaled = a * format_of(a).splitter
    high = scaled - (scaled - a)
    return high, a - high


def crude_reciprocal(x: Number) -> Number:
    """``1 / x`` for positive normal x, with a relative error below 0.4 %, without a division.

    Subtracting the representation from a constant negates the exponent and nearly inverts the significand (Blinn,
    "Floating-Point Tricks", 1997); one Newton step squares the error of 12 %, with a constant that centres it.
    """
    magic = {64: 0x7FDE623822FC16E6, 32: 0x7EF311C7}[x.bits]
    guess = (x.to_bits().constant(magic) - x.to_bits()).to_float()
    return guess * (x * -guess + 2.0)


def clamp(x: Number, low: float | None, high: float | None) -> Number:
    """x between bounds. On AVX-512 nan becomes a bound, for that costs less than to keep it without raising a flag."""
    if x.back.avx512:
        x = x if low is None else x.larger(low)
        return x if high is None else x.smaller(high)
    x = x if low is None else x.at_least(low)
    return x if high is None else x.at_most(high)


def keep_nan(result: Number, x: Number) -> Number:
    """`result`, but nan for nan that `clamp` may have lost."""
    return result.repair(x) if x.back.avx512 else result


def power_of_two(rounded: Number, exponent: int = 0) -> Number:
    """``2**(n + exponent)`` where `rounded` is n plus the format's rounder, for a result in the normal range."""
    form = format_of(rounded)
    return ((rounded.to_bits() << form.stored) + ((form.bias + exponent) << form.stored)).to_float()


def split_constant(value: str, bits: int, *leading: int) -> tuple[float, ...]:
    """A constant given in many digits as a sum of floats: parts of `leading` significant bits, and one full part.

    Examples
    --------
    >>> split_constant("0.693147180559945309417232121458176568", 64, 42)
    (0.6931471805598903, 5.497923018708371e-14)
    """
    from fractions import Fraction

    rest = Fraction(value)
    parts = []
    for digits in (*leading, 53 if bits == 64 else 24):
        exponent = math.frexp(float(rest))[1]
        part = Fraction(round(rest * Fraction(2) ** (digits - exponent))) / Fraction(2) ** (digits - exponent)
        parts.append(float(part))
        rest -= part
    return tuple(parts)


def quotient(numerator: tuple[Number, Number], denominator: tuple[Number, Number]) -> tuple[Number, Number]:
    """The quotient of two unevaluated sums as such a sum, with one division.

    ``q = n * (1/d)`` is corrected by the remainder ``n - q*d``, which is exact but for the low parts.
    """
    return product_with_inverse(numerator, denominator, 1.0 / denominator[0])


def product_with_inverse(
    numerator: tuple[Number, Number], denominator: tuple[Number, Number], inverse: Number
) -> tuple[Number, Number]:
    """The quotient of two unevaluated sums, where the inverse of the high part of the second is known."""
    high, low = numerator
    divisor, divisor_low = denominator
    estimate = high * inverse
    remainder = (low - estimate * divisor_low) - product_remainder(estimate, divisor, high)
    return estimate, remainder * inverse


LN2 = "0.693147180559945309417232121458176568075500134360255254120680009"
LOG2_E = "1.442695040888963407359924681001892137426645954152985934135449"
LOG10_E = "0.434294481903251827651128918916605082294397005803666566114454"
LOG10_2 = "0.301029995663981195213738894724493026768189881462108541310427"
PI = "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982"
HALF_PI = "1.570796326794896619231321691639751442098584699687552910487472296153908203143104499314017412671058533991"
