"""Functions of Python's `math` in Python. See `written`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def _degrees(x: Any) -> Any:
    return float(x) * (180.0 / math.pi)


def _radians(x: Any) -> Any:
    return float(x) * (math.pi / 180.0)


def _pow(x: Any, y: Any) -> Any:
    """Of positive numbers, of which Python's operator gives the C library's power, too."""
    assert x > 0
    return float(x) ** float(y)


def _gcd(a: Any, b: Any) -> Any:
    assert not isinstance(a, float) and not isinstance(b, float)
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


MATH: dict[Any, Callable[..., Any]] = {
    math.degrees: _degrees,
    math.radians: _radians,
    math.pow: _pow,
    math.gcd: _gcd,
}
