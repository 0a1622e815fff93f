"""Roots and powers: sqrt, cbrt, hypot, power."""

from __future__ import annotations

from .number import Number, select
from .vmath_parts import crude_reciprocal, format_of, product_remainder, two_product


def sqrt(x: Number) -> Number:
    """The square root, which the hardware rounds correctly."""
    return x.sqrt()


def cbrt(x: Number) -> Number:
    """The cube root.

    A third of the exponent and of the significand, taken off the representation, is ``|x|**(-1/3)`` within 5 % (Kahan, "Computing
    a real cube root", 1991). Iterations of higher order refine it without a division, and a last Newton step with exact
    remainder rounds the root.
    """
    form = format_of(x)
    magnitude = x.abs()
    tiny = magnitude < form.smallest_normal
    step = 54 if x.bits == 64 else 24
    a = select(tiny, magnitude * 2.0**step, magnitude).at_most(form.largest)
    # The upper bits become a float when placed in the low bits of a power of two; so does the quotient on its way back.
    shift, anchor = {64: (32, 0x553EF0FF289DD796), 32: (8, 0x54A2FA8C)}[x.bits]
    upper = a.to_bits().shift_right_logical(shift)
    marker = (form.bias + form.stored) << form.stored
    as_float = (upper | marker).to_float() - 2.0**form.stored
    third = as_float.fma(-1.0 / 3.0, float(anchor >> shift)) + 2.0**form.stored
    r = (third.to_bits() << shift).to_float()
    e = 1.0 - a * r * (r * r)
    r = r + (r * e) * e.fma(e.fma(14.0 / 81.0, 2.0 / 9.0), 1.0 / 3.0)
    if x.bits == 64:
        e = 1.0 - a * r * (r * r)
        r = r + (r * e) * e.fma(2.0 / 9.0, 1.0 / 3.0)
    root = a * (r * r)
    square, square_low = two_product(root, root)
    excess = square_low.fma(root, product_remainder(square, root, a))
    root = root - excess * ((r * r) * (1.0 / 3.0))
    root = select(tiny, root * 2.0 ** -(step // 3), root)
    return select((magnitude > 0.0) & (magnitude <= form.largest), root, magnitude).copysign(x)


def hypot(x: Number, y: Number) -> Number:
    """``sqrt(x**2 + y**2)`` without overflow or underflow on the way, from squares with their errors."""
    form = format_of(x)
    x_size, y_size = x.abs(), y.abs()
    larger = select(x_size < y_size, y_size, x_size)
    smaller = select(x_size < y_size, x_size, y_size)
    half = form.bias // 2
    huge, tiny = larger > 2.0 ** (half - 2), larger < 2.0 ** -(half - form.stored - 4)
    scale = select(huge, x.constant(2.0 ** -(half + 8)), select(tiny, x.constant(2.0 ** (half + 8)), 1.0))
    back = select(huge, x.constant(2.0 ** (half + 8)), select(tiny, x.constant(2.0 ** -(half + 8)), 1.0))
    a, b = larger * scale, smaller * scale
    a_square, a_low = two_product(a, a)
    b_square, b_low = two_product(b, b)
    total = a_square + b_square
    low = ((a_square - total) + b_square) + (a_low + b_low)
    root = total.sqrt()
    correction = (low - product_remainder(root, root, total)) * crude_reciprocal(root + root)
    infinite = (x_size > form.largest) | (y_size > form.largest)
    return select(infinite, x.constant(float("inf")), (root + correction) * back)
