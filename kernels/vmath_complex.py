"""Complex functions of real and imaginary part, with the special values of C99, Annex G.

The formulas are Kahan's ("Branch Cuts for Complex Elementary Functions", 1987). `real` is how they call the
elementary functions of real numbers: ``real("hypot", x, y)``.
"""

from __future__ import annotations

from collections.abc import Callable

from .number import Number, select
from .vmath_parts import format_of, two_product, two_sum

Real = Callable[..., Number]
Pair = tuple[Number, Number]
# Arguments up to which an exponential is finite whatever it is multiplied with.
_LARGE = {64: 700.0, 32: 80.0}


def absolute(real: Real, x: Number, y: Number) -> Number:
    """The modulus."""
    return real("hypot", x, y)


def angle(real: Real, x: Number, y: Number) -> Number:
    """The angle with the positive real axis."""
    return real("arctan2", y, x)


def exp(real: Real, x: Number, y: Number) -> Pair:
    """``exp(x) cos(y)`` and ``exp(x) sin(y)``; the exponential of a large x in two factors, lest it overflow alone."""
    form = format_of(x)
    large = x > _LARGE[x.bits]
    size = real("exp", select(large, x * 0.5, x))
    again = select(large, size, 1.0)
    finite = y.abs() <= form.largest
    angle = select(finite, y, 0.0)
    across, along = real("cos", angle) * size * again, real("sin", angle) * size * again
    nan = x.constant(float("nan"))
    infinite = x.abs() > form.largest
    # y infinite or nan: only the size is known, if that.
    across = select(finite, across, select(infinite, select(x < 0.0, 0.0, x), nan))
    along = select(finite, along, select(infinite & (x < 0.0), x.constant(0.0).copysign(y), nan))
    flat = y.equals(0.0)
    return select(flat, size * again, across), select(flat, y, along)


def log(real: Real, x: Number, y: Number) -> Pair:
    """``log|z|`` and the angle. Near ``|z| = 1`` the logarithm is that of ``1 + (|z|**2 - 1)``, formed in pairs."""
    modulus = real("hypot", x, y)
    x_size, y_size = x.abs(), y.abs()
    near = (modulus > 0.75) & (modulus < 1.5)
    wide = x_size < y_size
    larger = select(near, select(wide, y_size, x_size), 1.0)
    smaller = select(near, select(wide, x_size, y_size), 0.0)
    square, square_low = two_product(larger, larger)
    other, other_low = two_product(smaller, smaller)
    shifted, shifted_low = two_sum(square, square.constant(-1.0))
    excess, excess_low = two_sum(shifted, other)
    close = real("log1p", excess + (excess_low + (shifted_low + (square_low + other_low)))) * 0.5
    return select(near, close, real("log", select(near, 1.0, modulus))), real("arctan2", y, x)


def sqrt(real: Real, x: Number, y: Number) -> Pair:
    """``t`` and ``y / 2t`` for ``t = sqrt((|x| + |z|) / 2)``, or the other way round for negative x."""
    form = format_of(x)
    x_size, y_size = x.abs(), y.abs()
    larger = select(x_size < y_size, y_size, x_size)
    half = 2 * (form.stored // 4 + 1)
    huge, tiny = larger > form.largest * 0.125, larger < form.smallest_normal * 2.0 ** (2 * half)
    scale = select(huge, x.constant(0.0625), select(tiny, x.constant(2.0 ** (2 * half)), 1.0))
    back = select(huge, x.constant(4.0), select(tiny, x.constant(2.0**-half), 1.0))
    a, b = x_size * scale, y_size * scale
    root = real("sqrt", (a + real("hypot", a, b)) * 0.5)
    infinite = y_size > form.largest
    divisor = select(root.equals(0.0) | infinite, 1.0, root + root)
    t = select(infinite, y_size, root * back)
    u = select(infinite, y_size, b / divisor * back)
    left = x < 0.0
    return select(left, u, t), select(left, t, u).copysign(y)


# With a pair as result, or one number.
FUNCTIONS: dict[str, Callable[..., Pair | Number]] = {
    "absolute": absolute, "angle": angle, "exp": exp, "log": log, "sqrt": sqrt,
}  # fmt: skip
