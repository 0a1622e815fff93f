"""Correctly rounded references and the distance from them in units of the last place."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np

CONTEXT = mpmath.mp.clone()
CONTEXT.prec = 200
# Enough for the sine of the largest float, whose argument has 1,024 bits before the point.
CONTEXT.prec = 1300


def _cbrt(x: mpmath.mpf) -> mpmath.mpf:
    return CONTEXT.sign(x) * CONTEXT.root(abs(x), 3)


def _logaddexp(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    return max(x, y) + CONTEXT.log1p(CONTEXT.exp(-abs(x - y)))


def _logaddexp2(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    return max(x, y) + CONTEXT.log1p(CONTEXT.power(2, -abs(x - y))) / CONTEXT.log(2)


REFERENCE: dict[str, Callable[..., mpmath.mpf]] = {
    "exp": CONTEXT.exp,
    "exp2": lambda x: CONTEXT.power(2, x),
    "expm1": CONTEXT.expm1,
    "log": CONTEXT.log,
    "log2": lambda x: CONTEXT.log(x) / CONTEXT.log(2),
    "log10": CONTEXT.log10,
    "log1p": CONTEXT.log1p,
    "sqrt": CONTEXT.sqrt,
    "cbrt": _cbrt,
    "hypot": CONTEXT.hypot,
    "sin": CONTEXT.sin,
    "cos": CONTEXT.cos,
    "tan": CONTEXT.tan,
    "arcsin": CONTEXT.asin,
    "arccos": CONTEXT.acos,
    "arctan": CONTEXT.atan,
    "arctan2": CONTEXT.atan2,
    "sinh": CONTEXT.sinh,
    "cosh": CONTEXT.cosh,
    "tanh": CONTEXT.tanh,
    "arcsinh": CONTEXT.asinh,
    "arccosh": CONTEXT.acosh,
    "arctanh": CONTEXT.atanh,
    "power": CONTEXT.power,
    "float_power": CONTEXT.power,
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "expit": lambda x: 1 / (1 + CONTEXT.exp(-x)),
    "erf": lambda x: CONTEXT.sign(x) if abs(x) > 30 else CONTEXT.erf(x),
    "erfc": lambda x: CONTEXT.mpf("1e-1000") if x > 30 else CONTEXT.mpf(2) if x < -30 else CONTEXT.erfc(x),
}


def ulp_errors(name: str, result: np.ndarray, *arguments: np.ndarray) -> np.ndarray:
    """How far each finite result is from the true value, in units of the last place of the true value."""
    info = np.finfo(result.dtype)
    largest = CONTEXT.mpf(float(info.max))
    errors = np.zeros(result.size)
    for i, (value, *xs) in enumerate(zip(result, *arguments, strict=True)):
        CONTEXT.prec = 1300 if max(abs(float(x)) for x in xs) > 1e15 and name in ("sin", "cos", "tan") else 200
        true = REFERENCE[name](*(CONTEXT.mpf(float(x)) for x in xs))
        if not isinstance(true, CONTEXT.mpf):
            raise ValueError(f"{name}{xs} is {true}")
        if abs(true) >= largest or not np.isfinite(value):
            limit = abs(true) - largest
            errors[i] = 0 if np.isinf(value) and limit > 0 else float(abs(largest - abs(true)) / largest) * 2**60
            continue
        exponent = (
            max(int(CONTEXT.frexp(true)[1]) - 1 - info.nmant, info.minexp - info.nmant)
            if true
            else (info.minexp - info.nmant)
        )
        errors[i] = float(abs(CONTEXT.mpf(float(value)) - true) / CONTEXT.mpf(2) ** exponent)
    return errors
