"""Writes kernels/vmath_coefficients.py: every polynomial of the vector mathematics, from its definition.

Run ``python bench/vmath_coefficients.py [name ...]``; with names, only those are computed anew.
"""

from __future__ import annotations

import pathlib
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf
from vmath_remez import minimax, rational
from vmath_tables import column

mp.dps = 45
TARGET = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "vmath_coefficients.py"
HALF_LN2 = 0.3466
ROOT = mp.sqrt


@dataclass(frozen=True)
class Series:
    """A polynomial: its function, the weight of its error in the result, the interval, two degrees."""

    function: Callable[[mpf], mpf]
    weight: Callable[[mpf], mpf]
    low: float
    high: float
    degrees: tuple[int, int]
    meaning: str


def _odd(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """``f(x) = x + x**3 p(x**2)``: p, as a function of the square."""
    return lambda z: (function(ROOT(z)) / ROOT(z) - 1) / z


def _odd_weight(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    return lambda z: z * ROOT(z) / function(ROOT(z))


ERFC_CENTRE = 3


def _scaled_erfc(t: mpf) -> mpf:
    x = ERFC_CENTRE * (1 + t) / (1 - t)
    return mp.erfc(x) * mp.exp(x * x) * (x + ERFC_CENTRE) / (2 * ERFC_CENTRE)


def _scaled_erfc_tail(t: mpf) -> mpf:
    """Without the value and the slope in the centre, which vmath_erf.py has to more digits than one float."""
    value = _scaled_erfc(mpf(0))
    slope = 37 * value - 12 / mp.sqrt(mp.pi)
    return (_scaled_erfc(t) - value - slope * t) / t**2


def _log_near(unit: mpf, start: str, degrees: tuple[int, int]) -> Series:
    """On the interval that a sixteenth of the significands near one leaves."""
    return Series(
        lambda f: (mp.log1p(f) / f - 1) / f / unit,
        lambda f: f**2 * unit / abs(mp.log1p(f)),
        -1 / 32,
        1 / 16,
        degrees,
        f"log(1 + f) = {start} + f**2 p(f), in logarithms of the base",
    )


def _cbrt_near(reach: float, degrees: tuple[int, int]) -> Series:
    return Series(
        lambda r: (mp.cbrt(1 + r) - 1) / r,
        lambda r: abs(r) / mp.cbrt(1 + r),
        -reach,
        reach,
        degrees,
        "cbrt(1 + r) = 1 + r p(r)",
    )


SERIES = {
    "exp": Series(
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / mp.exp(r),
        -HALF_LN2,
        HALF_LN2,
        (9, 4),
        "exp(r) = 1 + r + r**2 p(r)",
    ),
    "expm1": Series(
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / abs(mp.expm1(r)),
        -HALF_LN2,
        HALF_LN2,
        (10, 4),
        "expm1(r) = r + r**2 p(r)",
    ),
    "expm1_near": Series(
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / abs(mp.expm1(r)),
        -0.0217,
        0.0217,
        (5, 2),
        "expm1(r) = r + r**2 p(r)",
    ),
    "exp2": Series(lambda r: (mpf(2) ** r - 1) / r, lambda r: r / mpf(2) ** r, -0.5, 0.5, (11, 5), "2**r = 1 + r p(r)"),
    "exp2_near": Series(
        lambda r: (mpf(2) ** r - 1) / r, lambda r: r / mpf(2) ** r, -0.043, 0.0431, (6, 2), "2**r = 1 + r p(r)"
    ),
    "sinh": Series(_odd(mp.sinh), _odd_weight(mp.sinh), 0.0, HALF_LN2**2, (4, 1), "sinh(r) = r + r**3 p(r**2)"),
    # Where more roundings leave less room for the polynomial's own error.
    "sinh_long": Series(_odd(mp.sinh), _odd_weight(mp.sinh), 0.0, HALF_LN2**2, (4, 2), "sinh(r) = r + r**3 p(r**2)"),
    "cosh": Series(
        lambda z: (mp.cosh(ROOT(z)) - 1) / z, lambda z: z, 0.0, HALF_LN2**2, (4, 2), "cosh(r) = 1 + r**2 p(r**2)"
    ),
    "atanh": Series(_odd(mp.atanh), _odd_weight(mp.atanh), 0.0, 0.0296, (6, 2), "atanh(s) = s + s**3 p(s**2)"),
    "atanh_long": Series(
        lambda z: (mp.atanh(ROOT(z)) / ROOT(z) - 1 - z / 3) / z**2,
        lambda z: z**2,
        0.0,
        0.0296,
        (6, 2),
        "atanh(s) = s + s**3/3 + s**5 p(s**2)",
    ),
    "atanh_wide": Series(_odd(mp.atanh), _odd_weight(mp.atanh), 0.0, 0.0417, (7, 2), "atanh(s) = s + s**3 p(s**2)"),
    "atanh_near_zero": Series(
        _odd(mp.atanh), _odd_weight(mp.atanh), 0.0, 0.2001**2, (7, 2), "atanh(s) = s + s**3 p(s**2)"
    ),
    "log2": Series(
        lambda f: (mp.log1p(f) / f - 1) / f / mp.log(2),
        lambda f: f**2 * mp.log(2) / abs(mp.log1p(f)),
        -0.2929,
        0.41422,
        (9, 9),
        "log2(1 + f) = f log2(e) + f**2 p(f)",
    ),
    "log10": Series(
        lambda f: (mp.log1p(f) / f - 1) / f / mp.log(10),
        lambda f: f**2 * mp.log(10) / abs(mp.log1p(f)),
        -0.2929,
        0.41422,
        (9, 9),
        "log10(1 + f) = f log10(e) + f**2 p(f)",
    ),
    # For the reciprocals of vmath_wide_power.
    "log2_cubic": Series(
        lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3 / mp.log(2),
        lambda r: abs(r) ** 3 * mp.log(2) / abs(mp.log1p(r)),
        -0.043,
        0.0411,
        (9, 1),
        "log2(1 + r) = (r - r**2/2) log2(e) + r**3 p(r)",
    ),
    "log_near": _log_near(mpf(1), "f", (8, 3)),
    "log2_near": _log_near(mp.log(2), "f log2(e)", (8, 3)),
    "log10_near": _log_near(mp.log(10), "f log10(e)", (8, 3)),
    # For tables that name four and eight intervals between powers of two.
    "cbrt_near": _cbrt_near(1 / 8.9, (10, 5)),
    "cbrt_nearer": _cbrt_near(1 / 16.9, (7, 3)),
    "arctan_near": Series(_odd(mp.atan), _odd_weight(mp.atan), 0.0, 0.3126**2, (8, 3), "arctan(t) = t + t**3 p(t**2)"),
    "arctan_near_zero": Series(
        _odd(mp.atan), _odd_weight(mp.atan), 0.0, 0.188**2, (6, 2), "arctan(t) = t + t**3 p(t**2)"
    ),
    "sin": Series(_odd(mp.sin), _odd_weight(mp.sin), 0.0, 0.6191, (5, 2), "sin(r) = r + r**3 p(r**2)"),
    "cos": Series(
        lambda z: (mp.cos(ROOT(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mp.cos(ROOT(z)),
        0.0,
        0.6191,
        (5, 2),
        "cos(r) = 1 - r**2/2 + r**4 p(r**2)",
    ),
    "tan": Series(_odd(mp.tan), _odd_weight(mp.tan), 0.0, 0.6191, (14, 6), "tan(r) = r + r**3 p(r**2)"),
    "arctan": Series(_odd(mp.atan), _odd_weight(mp.atan), 0.0, 1.0, (20, 8), "arctan(t) = t + t**3 p(t**2)"),
    "arcsin": Series(_odd(mp.asin), _odd_weight(mp.asin), 0.0, 0.25, (12, 4), "arcsin(s) = s + s**3 p(s**2)"),
    "erf": Series(
        lambda z: mp.erf(ROOT(z)) / ROOT(z) - 1,
        lambda z: ROOT(z) / mp.erf(ROOT(z)),
        0.0,
        1.0,
        (12, 6),
        "erf(x) = x + x p(x**2)",
    ),
    "erfc": Series(
        _scaled_erfc_tail,
        lambda t: t**2 / _scaled_erfc(t),
        -0.6,
        0.8034,
        (20, 8),
        "erfc(x) = exp(-x**2) (1 - t) (value + slope t + t**2 p(t)) for t = (x - 3)/(x + 3)",
    ),
    "tanh": Series(_odd(mp.tanh), _odd_weight(mp.tanh), 0.0, 1.08, (7, 7), "tanh(x) = x + x**3 p(x**2)"),
}


SQUARED_POLE = mp.pi**2 / 4

# Quotients in float64 that serve float32: function, interval, degrees of numerator and denominator, by what the
# denominator is multiplied, and the meaning.
RATIONALS = {
    "tan": (
        lambda z: mp.tan(ROOT(z)) / ROOT(z) * (SQUARED_POLE - z),
        0.0,
        2.468,
        (2, 2),
        (float(SQUARED_POLE), -1.0),
        "tan(r) = r p(r**2) / q(r**2), q with its zero at the pole",
    )
}


def main(names: list[str]) -> None:
    table: dict[str, dict[int, tuple[float, ...]]] = {}
    errors: dict[str, dict[int, float]] = {}
    if names and TARGET.exists():
        old = runpy.run_path(str(TARGET))
        table, errors = dict(old["COEFFICIENTS"]), dict(old["ERRORS"])
    for name in names or SERIES:
        series = SERIES[name]
        for bits, degree in zip((64, 32), series.degrees, strict=True):
            coefficients, error = minimax(series.function, series.weight, series.low, series.high, degree, bits)
            table.setdefault(name, {})[bits] = coefficients
            errors.setdefault(name, {})[bits] = error
            print(f"{name} {bits}: degree {degree}, error 2**{float(mp.log(error, 2)):.2f}")
    lines = [
        '"""Polynomial coefficients, lowest power first. Written by bench/vmath_coefficients.py: do not edit."""',
        "",
        "# fmt: off",
        "COEFFICIENTS: dict[str, dict[int, tuple[float, ...]]] = {",
    ]
    for name in SERIES:
        if name not in table:
            continue
        lines.append(f"    # {SERIES[name].meaning}")
        lines.append(f'    "{name}": {{')
        for bits in (64, 32):
            lines += column(bits, table[name][bits])
        lines.append("    },")
    for name, (*definition, factor, meaning) in RATIONALS.items():
        numerator, denominator, error = rational(*definition)
        print(f"{name} as a quotient: error 2**{float(mp.log(error, 2)):.2f}")
        product = np.polynomial.polynomial.polymul(denominator, factor)
        # A leading coefficient of one saves a multiplication.
        for part, values in (("numerator", np.array(numerator)), ("denominator", product)):
            text = ", ".join(map(repr, map(float, values / product[-1])))
            lines += [f"    # {meaning}", f'    "{name}_{part}": {{64: ({text})}},']
    lines += ["}", "", "# The greatest relative error that each polynomial adds to its function.", "ERRORS = {"]
    for name in SERIES:
        if name in table:
            pairs = ", ".join(f"{bits}: {errors[name][bits]:.3g}" for bits in (64, 32))
            lines.append(f'    "{name}": {{{pairs}}},')
    lines.append("}")
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
