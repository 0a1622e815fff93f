"""Functions of complex numbers, Python's `cmath` among them, in Python. See `written`.

What is infinite or no number, and what overflows, is left to Python.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_LARGEST = 709.0  # of which the exponential function is finite
_NORMAL = 1e-300


def _exp(z: Any) -> Any:
    assert math.isfinite(z.imag)
    assert -_LARGEST < z.real < _LARGEST
    size = math.exp(z.real)
    return complex(size * math.cos(z.imag), size * math.sin(z.imag))


def _phase(z: Any) -> Any:
    assert math.isfinite(z.real)
    assert math.isfinite(z.imag)
    made = math.atan2(z.imag, z.real)
    assert z.imag == 0.0 or abs(made) > _NORMAL  # the C library says of others that they are too small
    return made


def _polar(z: Any) -> Any:
    return abs(z), _phase(z)


def _rect(r: Any, phi: Any) -> Any:
    assert math.isfinite(r)
    assert math.isfinite(phi)
    if phi == 0.0:
        return complex(r, r * phi)
    return complex(r * math.cos(phi), r * math.sin(phi))


def _sqrt(z: Any) -> Any:
    """As CPython's C code has it for numbers that are not close to the smallest or the largest."""
    x = abs(z.real)
    y = abs(z.imag)
    assert x < 1e300 and y < 1e300
    if x == 0.0 and y == 0.0:
        return complex(0.0, z.imag)
    assert x > _NORMAL or y > _NORMAL
    x /= 8.0
    s = 2.0 * math.sqrt(x + math.hypot(x, y / 8.0))
    d = y / (2.0 * s)
    if z.real >= 0.0:
        return complex(s, math.copysign(d, z.imag))
    return complex(d, math.copysign(s, z.imag))


def _angle(z: Any, deg: Any = False) -> Any:
    made = np.arctan2(z.imag, z.real)
    return made * (180 / math.pi) if deg else made


COMPLEX: dict[Any, Callable[..., Any]] = {
    cmath.exp: _exp, cmath.phase: _phase, cmath.polar: _polar, cmath.rect: _rect, cmath.sqrt: _sqrt, np.angle: _angle,
}  # fmt: skip
