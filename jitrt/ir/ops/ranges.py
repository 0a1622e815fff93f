"""Ranges of values: between which numbers an operation's results lie, if those of its operands lie between some.

Functions of ranges give that of the exact results, for finite operands that may be any numbers of their ranges; None
says that NumPy may report a division by zero, an overflow or an invalid operation. So does an `OverflowError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Range = tuple[float, float]


def add(x: Range, y: Range) -> Range:
    """The range of sums."""
    return x[0] + y[0], x[1] + y[1]


def subtract(x: Range, y: Range) -> Range:
    """The range of differences."""
    return x[0] - y[1], x[1] - y[0]


def multiply(x: Range, y: Range) -> Range:
    """The range of products.

    Examples
    --------
    >>> multiply((-1.0, 2.0), (3.0, 4.0))
    (-4.0, 8.0)
    """
    (a, b), (c, d) = x, y
    products = a * c, a * d, b * c, b * d
    return min(products), max(products)


def divide(x: Range, y: Range) -> Range | None:
    """The range of quotients."""
    (a, b), (c, d) = x, y
    if c <= 0 <= d:
        return None
    quotients = a / c, a / d, b / c, b / d
    return min(quotients), max(quotients)


def power(x: Range, y: Range) -> Range | None:
    """The range of powers with one and the same exponent."""
    (low, high), (exponent, last) = x, y
    if exponent != last:
        return None
    if low > 0 or (low == 0 and exponent >= 0):
        ends = low**exponent, high**exponent
        return min(ends), max(ends)
    most = max(-low, high) ** exponent if exponent >= 0 and exponent.is_integer() else None
    return None if most is None else (-most, most)


def negative(x: Range) -> Range:
    """The range of the same numbers with the other sign."""
    return -x[1], -x[0]


def absolute(x: Range) -> Range:
    """The range of magnitudes."""
    least = 0.0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))
    return least, max(abs(x[0]), abs(x[1]))


def square(x: Range) -> Range:
    """The range of squares."""
    least, most = absolute(x)
    return least * least, most * most


def same(x: Range) -> Range:
    """The range of the operand."""
    return x


def either(*operands: Range) -> Range:
    """The range of what is one of the operands."""
    return min(x[0] for x in operands), max(x[1] for x in operands)


def chosen(condition: Range, *operands: Range) -> Range:
    """The range of what is one of the operands behind a condition."""
    return either(*operands)


def maximum(x: Range, y: Range) -> Range:
    """The range of the larger ones."""
    return max(x[0], y[0]), max(x[1], y[1])


def minimum(x: Range, y: Range) -> Range:
    """The range of the smaller ones."""
    return min(x[0], y[0]), min(x[1], y[1])


def within(low: float, high: float, largest: float = math.inf) -> Callable[[Range], Range | None]:
    """For functions whose results lie between two numbers, for operands up to the magnitude `largest`."""
    return lambda x: (low, high) if -largest <= x[0] and x[1] <= largest else None


def growing(function: Callable[[float], float], above: float = -math.inf, least: float = -math.inf) -> Callable:
    """For functions that grow with their operand, which has to be larger than `above`, and no less than `least`.

    Examples
    --------
    >>> growing(math.sqrt, least=0.0)((4.0, 9.0)), growing(math.sqrt, least=0.0)((-1.0, 9.0))
    ((2.0, 3.0), None)
    """
    return lambda x: (function(x[0]), function(x[1])) if x[0] > above and x[0] >= least else None


RANGES: dict[str, Callable[..., Range | None]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "power": power,
    "float_power": power,
    "reciprocal": lambda x: divide((1.0, 1.0), x),
    "square": square,
    "absolute": absolute,
    "fabs": absolute,
    "negative": negative,
    **dict.fromkeys(["positive", "conjugate", "cast", "copy"], same),
    **dict.fromkeys(["maximum", "fmax"], maximum),
    **dict.fromkeys(["minimum", "fmin"], minimum),
    "clip": lambda x, low, high: minimum(maximum(x, low), high),
    "where": chosen,
    "sqrt": growing(math.sqrt, least=0.0),
    "exp": growing(math.exp),
    "expm1": growing(math.expm1),
    **{name: growing(getattr(math, name), above=0.0) for name in ("log", "log2", "log10")},
    "log1p": growing(math.log1p, above=-1.0),
    **{name: growing(getattr(math, name)) for name in ("sinh", "tanh")},
    "arctan": growing(math.atan),
    "arcsinh": growing(math.asinh),
    # NumPy's loops of float32 report invalid operations for some of the larger operands.
    **dict.fromkeys(["sin", "cos"], within(-1.0, 1.0, 2.0**16)),
    "sign": within(-1.0, 1.0),
}
"""What rows say of ranges, by their names."""
