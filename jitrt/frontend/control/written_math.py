"""Functions of Python's `math` in Python. See `written`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_INTEGERS = (int, np.integer)


def _degrees(x: Any) -> Any:
    return float(x) * (180.0 / math.pi)


def _radians(x: Any) -> Any:
    return float(x) * (math.pi / 180.0)


def _pow(x: Any, y: Any) -> Any:
    """Of positive numbers, of which Python's operator gives the C library's power, too."""
    assert x > 0
    return float(x) ** float(y)


def _gcd(a: Any, b: Any) -> Any:
    assert isinstance(a, _INTEGERS) and isinstance(b, _INTEGERS)
    a, b = abs(int(a)), abs(int(b))
    while b:
        a, b = b, a % b
    return a


def _lcm(a: Any, b: Any) -> Any:
    assert isinstance(a, _INTEGERS) and isinstance(b, _INTEGERS)
    if a == 0 or b == 0:
        return 0
    return abs(int(a)) // _gcd(a, b) * abs(int(b))


def _perm(n: Any, k: Any) -> Any:
    assert isinstance(n, _INTEGERS) and isinstance(k, _INTEGERS)
    n, k = int(n), int(k)
    assert n >= 0 and k >= 0
    made = 1
    for i in range(min(k, n + 1)):
        made = made * (n - i)
    return made


def _comb(n: Any, k: Any) -> Any:
    assert isinstance(n, _INTEGERS) and isinstance(k, _INTEGERS)
    n, k = int(n), int(k)
    assert n >= 0 and k >= 0
    if k > n:
        return 0
    made = 1
    for i in range(min(k, n - k)):  # nothing on the way is larger than the result
        common = _gcd(made, i + 1)
        made = made // common * ((n - i) // ((i + 1) // common))
    return made


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    assert rel_tol >= 0 and abs_tol >= 0
    a, b = float(a), float(b)
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    distance = abs(b - a)
    return bool(distance <= abs(rel_tol * b) or distance <= abs(rel_tol * a) or distance <= abs_tol)


def bit_count(n: Any) -> Any:
    """``n.bit_count()``."""
    n = abs(n)
    made = 0
    while n:
        n &= n - 1
        made += 1
    return made


def bit_length(n: Any) -> Any:
    """``n.bit_length()``."""
    n = abs(n)
    made = 0
    while n:
        n >>= 1
        made += 1
    return made


METHODS: dict[str, Callable[..., Any]] = {"bit_count": bit_count, "bit_length": bit_length}
MATH: dict[Any, Callable[..., Any]] = {
    math.degrees: _degrees,
    math.radians: _radians,
    math.pow: _pow,
    math.gcd: _gcd,
    math.lcm: _lcm,
    math.comb: _comb,
    math.perm: _perm,
    math.isclose: _isclose,
}
