"""Logarithms of sums: arcsinh, arccosh, arctanh, logaddexp, logaddexp2.

All end in ``log(u) = k ln 2 + 2 artanh((u - 2**k)/(u + 2**k))`` with u as the sum of one and a pair of floats,
so that nothing cancels near ``u = 1``. The forms for small arguments follow Kahan, "Branch Cuts for Complex
Elementary Functions" (1987).
"""

from __future__ import annotations

from .number import Number, select
from .vmath_coefficients import COEFFICIENTS
from .vmath_exp import exp_parts
from .vmath_log import LN2_PARTS, split_exponent
from .vmath_parts import (
    LOG2_E,
    clamp,
    crude_reciprocal,
    fast_two_sum,
    format_of,
    polynomial,
    product_remainder,
    product_with_inverse,
    quotient,
    split_constant,
    two_product,
    two_sum,
)

Pair = tuple[Number, Number]
LOG2_E_PARTS = {64: split_constant(LOG2_E, 64, 53), 32: split_constant(LOG2_E, 32, 24)}


def _artanh(s: Number, s_low: Number, series: str) -> Number:
    """``artanh(s + s_low) - s``."""
    square = s * s
    return (s * square).fma(polynomial(square, COEFFICIENTS[series][s.bits]), s_low)


def log_parts(one: Number, v: Pair, more: Number) -> Pair:
    """``log(one + v) + more ln 2`` as a high and a low part, for `one` of 1 or 0."""
    form = format_of(one)
    u = one + v[0]
    k, m = split_exponent(u)
    scale = ((m.to_bits() - u.to_bits()) + form.one).to_float()
    constant = one * scale
    scaled, scaled_low = v[0] * scale, v[1] * scale
    numerator, numerator_low = two_sum(constant - 1.0, scaled)
    numerator, numerator_low = fast_two_sum(numerator, numerator_low + scaled_low)
    denominator, denominator_low = two_sum(constant + 1.0, scaled)
    s, s_low = quotient((numerator, numerator_low), (denominator, denominator_low + scaled_low))
    tail = _artanh(s, s_low, "atanh")
    ln2_high, ln2_low = LN2_PARTS[one.bits]
    k = k + more
    total, error = fast_two_sum(k * ln2_high, s + s)
    return total, error + k.fma(ln2_low, tail + tail)


def _root(square: Number, square_low: Number) -> Pair:
    """The square root of a pair as a pair."""
    root = square.sqrt()
    remainder = square_low - product_remainder(root, root, square)
    return root, remainder * crude_reciprocal(root + root)


def arcsinh(x: Number) -> Number:
    """The inverse hyperbolic sine, ``log1p(x + x**2 / (1 + sqrt(1 + x**2)))``."""
    form = format_of(x)
    magnitude = x.abs()
    large = magnitude > 2.0 ** (form.stored // 2 + 3)
    tiny = magnitude < 2.0 ** -(form.stored // 2 + 2)
    a = select(large | tiny, 1.0, magnitude)
    square, square_low = two_product(a, a)
    inside, inside_low = two_sum(a.constant(1.0), square)
    root, root_low = _root(inside, inside_low + square_low)
    divisor, divisor_low = fast_two_sum(root, root.constant(1.0))
    w, w_low = quotient((square, square_low), (divisor, divisor_low + root_low))
    v, v_low = fast_two_sum(a, w)
    # Far out the logarithm of 2|x|, of which a quarter keeps the exponent in range.
    v = select(large, magnitude.at_most(form.largest) * 0.25, v)
    v_low = select(large, 0.0, v_low + w_low)
    more = select(large, x.constant(3.0), 0.0)
    high, low = log_parts(select(large, x.constant(0.0), 1.0), (v, v_low), more)
    value = select(tiny, (magnitude * magnitude * magnitude).fma(-1.0 / 6.0, magnitude), high + low)
    return select(magnitude <= form.largest, value, magnitude).copysign(x)


def arccosh(x: Number) -> Number:
    """The inverse hyperbolic cosine, ``log1p(t + sqrt(x**2 - 1))`` for ``t = x - 1``."""
    form = format_of(x)
    large = x > 2.0 ** (form.stored // 2 + 3)
    a = select(large, 2.0, x)
    square, square_low = two_product(a, a)
    inside, inside_low = fast_two_sum(square, square.constant(-1.0))
    inside, inside_low = fast_two_sum(inside, inside_low + square_low)
    # Below one the square root of a negative number raises the flag of the domain error.
    inside = select(x < 1.0, x - 1.0, inside)
    root, root_low = _root(inside, inside_low)
    t, t_low = fast_two_sum(a, a.constant(-1.0))
    v, v_low = two_sum(t, root)
    v = select(large, x.at_most(form.largest) * 0.25, v)
    v_low = select(large, 0.0, v_low + (t_low + root_low))
    more = select(large, x.constant(3.0), 0.0)
    high, low = log_parts(select(large, x.constant(0.0), 1.0), (v, v_low), more)
    value = select(x < 1.0, float("nan"), high + low)
    return select(x <= form.largest, value, x)


def arctanh(x: Number) -> Number:
    """The inverse hyperbolic tangent, half the logarithm of ``(1 + x) / (1 - x)``."""
    form = format_of(x)
    magnitude = x.abs()
    outside = magnitude >= 1.0
    inside = select(outside, 0.0, magnitude)
    a, a_low = fast_two_sum(x.constant(1.0), inside)
    b, b_low = fast_two_sum(x.constant(1.0), -inside)
    # The difference of the representations is nearly the binary logarithm of the quotient.
    difference = a.to_bits() - b.to_bits() + ((form.bias << form.stored) + (1 << (form.stored - 1)))
    exponent = difference.shift_right_logical(form.stored)
    scale = (exponent << form.stored).to_float()
    marker = (form.bias + form.stored) << form.stored
    k = (exponent | marker).to_float() - (2.0**form.stored + form.bias)
    b, b_low = b * scale, b_low * scale
    numerator, numerator_low = fast_two_sum(a, -b)
    numerator, numerator_low = fast_two_sum(numerator, numerator_low + (a_low - b_low))
    denominator, denominator_low = two_sum(a, b)
    # At one the division raises the flag of the pole, beyond it that of the domain error.
    at_pole = select(magnitude > 1.0, x.constant(0.0), 1.0)
    inverse = select(outside, at_pole, 1.0) / select(outside, 0.0, denominator)
    s, s_low = product_with_inverse(
        (numerator, numerator_low), (denominator, denominator_low + (a_low + b_low)), select(outside, 0.0, inverse)
    )
    ln2_high, ln2_low = LN2_PARTS[x.bits]
    total, error = fast_two_sum(k * (0.5 * ln2_high), s)
    value = total + (error + k.fma(0.5 * ln2_low, _artanh(s, s_low, "atanh_wide")))
    return select(magnitude < 1.0, value, select(outside, inverse, x)).copysign(x)


def _log_of_sum(x: Number, y: Number, to_natural: tuple[float, float]) -> tuple[Number, Number, Number]:
    """The larger of the two, and ``log1p(exp(-c |x - y|))`` as a pair, for c of two parts."""
    form = format_of(x)
    larger = select(x < y, y, x)
    smaller = select(x < y, x, y)
    difference, difference_low = two_sum(smaller, -larger)
    product, product_low = two_product(clamp(difference, -2.0 * form.bias, None), x.constant(to_natural[0]))
    product_low = product_low + (difference_low * to_natural[0] + difference * to_natural[1])
    product = clamp(product, {64: -746.0, 32: -104.0}[x.bits], None)
    rounded, high, low = exp_parts(product)
    # Near the end of the format the exponential is scaled in two steps, for it may be all there is of a sum near zero.
    tiny = product < {64: -708.0, 32: -87.0}[x.bits]
    step = select(tiny, x.to_bits().constant(form.tiny_step << form.stored), 0)
    scale = ((rounded.to_bits() << form.stored) + form.one + step).to_float()
    low = high.fma(select(tiny, 0.0, product_low), low)
    back = select(tiny, x.constant(2.0**-form.tiny_step), 1.0)
    high, low = high * scale * back, low * scale * back
    return larger, *log_parts(x.constant(1.0), (high, low), x.constant(0.0))


def _numbers(x: Number, y: Number) -> Pair:
    """Both, or zeros where either is no number: differences of infinities would raise a flag."""
    largest = format_of(x).largest
    are_numbers = (x.abs() <= largest) & (y.abs() <= largest)
    return select(are_numbers, x, 0.0), select(are_numbers, y, 0.0)


def _special_sum(x: Number, y: Number, value: Number) -> Number:
    """`value` for finite x and y; the larger one where either is infinite, nan where either is nan.

    Nan is an invalid operation here, as NumPy's loops ask in C which operand is the larger one.
    """
    largest = format_of(x).largest
    infinite = (x.abs() > largest) | (y.abs() > largest)
    value = select(infinite, select(x < y, y, x) + 0.0, value)
    is_nan = x.is_nan() | y.is_nan()
    decided = select(is_nan, x.constant(float("inf")), select(infinite, 1.0, x))  # LLVM knows nothing of its value
    return value - (decided - decided)


def logaddexp(x: Number, y: Number) -> Number:
    """``log(exp(x) + exp(y))``."""
    if x.bits == 32:
        # Close to a sum of one the logarithm cancels; float64 has the digits for it.
        return x.in_float64(logaddexp, y)
    larger, high, low = _log_of_sum(*_numbers(x, y), (1.0, 0.0))
    total, error = two_sum(larger, high)
    return _special_sum(x, y, total + (error + low))


def logaddexp2(x: Number, y: Number) -> Number:
    """``log2(2**x + 2**y)``."""
    if x.bits == 32:
        # Close to a sum of one the logarithm cancels; float64 has the digits for it.
        return x.in_float64(logaddexp2, y)
    larger, high, low = _log_of_sum(*_numbers(x, y), LN2_PAIR[x.bits])
    unit_high, unit_low = LOG2_E_PARTS[x.bits]
    product, product_low = two_product(high, high.constant(unit_high))
    product_low = product_low + (low * unit_high + high * unit_low)
    total, error = two_sum(larger, product)
    return _special_sum(x, y, total + (error + product_low))


LN2_PAIR = {
    64: (0.6931471805599453, 2.3190468138462996e-17),
    32: (0.6931471824645996, -1.904654323148236e-09),
}
