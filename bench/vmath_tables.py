"""Writes kernels/vmath_tables.py: short tables, held in registers, for the functions written for AVX-512.

Run ``python bench/vmath_tables.py``. The entries are accurate tables (Gal and Bachelis, "An accurate elementary
mathematical library for the IEEE floating point standard", ACM TOMS 17, 1991): of all arguments near the middle of an
interval that one is taken whose function value is a float, or a short number, to many more bits than a float has.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Callable, Sequence

import numpy as np
from mpmath import mp, mpf

mp.dps = 45
TARGET = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "vmath_tables.py"
DIGITS = {64: 53, 32: 24}
SIZES = {64: 16, 32: 16}
# Last bits of the entries, for the bases e, 2 and 10: those that an exponent times the logarithm of two, a multiple of
# them in the parts of vmath_log, leaves in a sum.
LAST_BITS = {None: (-43, -17), 2: (-42, -16), 10: (-44, -18)}
TRIALS = 4000


def nearest(value: mpf, bits: int) -> mpf:
    return mpf(float(np.float32(float(value)))) if bits == 32 else mpf(float(value))


def significand_intervals(size: int) -> list[tuple[mpf, mpf]]:
    """For each value of the leading bits behind the point, the numbers from 3/4 to 3/2 that have them."""
    bounds = []
    for k in range(size):
        scale = mpf(1) if k < size // 2 else mpf(1) / 2
        bounds.append((scale * (1 + mpf(k) / size), scale * (1 + mpf(k + 1) / size)))
    return bounds


def logarithms(base: int | None, bits: int, digits: int) -> tuple[list[float], list[float]]:
    """Reciprocals c of `digits` bits, and -log(c), both to the bit: ``log(m) = -log(c) + log(1 + (m c - 1))``."""
    inverses, values = [], []
    unit = mp.log(base) if base else mpf(1)
    grid = mpf(2) ** LAST_BITS[base][bits == 32]
    for k, (low, high) in enumerate(significand_intervals(SIZES[bits])):
        if low == 1 or high == 1:
            inverses.append(1.0)
            values.append(0.0)
            continue
        # Next to the intervals around one a value is to be small against the logarithms it stands for, and the rest of
        # the logarithm below a power of two; which matters more depends on the base.
        near_one = {1: mpf("1.079"), SIZES[bits] - 2: mpf("0.961") if base else mpf("0.953")}
        middle = 1 / near_one.get(k, (low + high) / 2)
        reach = (high - low) / (high + low) / (4 if bits == 32 else 8) * middle
        best: tuple[mpf, mpf, mpf] | None = None
        # Not neighbours, whose errors are alike.
        stride = max(1, int(2 * reach / grid / TRIALS)) | 1
        for trial in range(-TRIALS // 2, TRIALS // 2):
            value = mp.nint((-mp.log(middle) / unit) / grid + trial * stride) * grid
            exact = mp.exp(-value * unit)
            if abs(exact - middle) > reach:
                continue
            step = mpf(2) ** (mp.floor(mp.log(exact, 2)) + 1 - digits)
            c = mp.nint(exact / step) * step
            error = abs(c / exact - 1)
            if best is None or error < best[0]:
                best = error, c, value
        assert best is not None
        print(f"log base {base} {bits}: error 2**{float(mp.log(best[0], 2)):.1f} of {float(best[2]):.4f}")
        inverses.append(float(best[1]))
        values.append(float(best[2]))
    return inverses, values


# Reciprocals of five bits behind the point, for significands from 47/64 on that are rounded to sixteenths of an octave.
# ``m c - 1`` is a multiple of the last place of m over 2**5, and exact below these bounds, for m above and below one.
SHORT_BITS, SHORT_BOUNDS = 5, {True: mpf(2) ** -4, False: mpf(2) ** -5}


def short_reciprocals() -> tuple[list[float], list[float], list[float]]:
    """Reciprocals c, and -log2(c) as multiples of 2**-42, which exponents leave in a sum, and what is missing there."""
    rows = []
    for k in range(16):
        scale = mpf(1) if k < 8 else mpf(1) / 2
        low, high = (scale * (1 + (k + half) / 16) for half in (mpf(-0.5), mpf(0.5)))
        if k == 0:
            low = 1 - mpf(1) / 64
        candidates = [mpf(c) / 2**SHORT_BITS for c in range(1 << (SHORT_BITS + 1))]
        c = min(candidates, key=lambda c: max(abs(low * c - 1), abs(high * c - 1))) if k else mpf(1)
        assert max(abs(low * c - 1), abs(high * c - 1)) < SHORT_BOUNDS[k < 8]
        exact = -mp.log(c, 2)
        value = mp.nint(exact * 2**42) / 2**42
        rows.append((float(c), float(value), float(exact - value)))
    # The leading bits are read after 17 thirty-seconds have been added: eight sixteenths, and half of one to round.
    inverses, values, rests = zip(*(rows[8:] + rows[:8]), strict=True)
    return list(inverses), list(values), list(rests)


LEADING_BITS = {64: 2, 32: 3}


def cube_roots(bits: int) -> tuple[list[float], list[float]]:
    """Cube roots d of ``s m`` for s of 1/2, 1 and 2 and m near the middle of an interval, and ``s / d**3`` for each."""
    inverses, values = [], []
    size = 1 << LEADING_BITS[bits]
    for s in (mpf(0.5), mpf(1), mpf(2), mpf(1)):
        for k in range(size):
            middle = (1 + (k + mpf(0.5)) / size) * s
            start = nearest(mp.cbrt(middle), bits)
            step = mpf(float(np.spacing({64: np.float64, 32: np.float32}[bits](float(start)))))
            best: tuple[mpf, mpf, mpf] | None = None
            for trial in range(TRIALS // 4):
                d = start + trial * step
                exact = s / d**3
                c = nearest(exact, bits)
                error = abs(c / exact - 1)
                if best is None or error < best[0]:
                    best = error, c, d
            assert best is not None
            inverses.append(float(best[1]))
            values.append(float(best[2]))
    return inverses, values


FIRST_DIRECTION, DIRECTIONS = 4 * -2, 16  # four steps in an octave, from 1/4 on


def directions(bits: int) -> tuple[list[float], list[float], list[float]]:
    """(a, b) of directions by which numbers are turned, and their angles, right to more bits than a float has."""
    across, along, angles = [], [], []
    for k in range(DIRECTIONS):
        exponent, quarter = divmod(FIRST_DIRECTION + k, 4)
        low, high = (mpf(2) ** exponent * (1 + mpf(q) / 4) for q in (quarter, quarter + 1))
        if k in (0, DIRECTIONS - 1):
            angle = nearest(mp.pi / 2, bits) if k else mpf(0)
            across.append(float(nearest(mp.cot(angle), bits)) if k else 1.0)
            along.append(1.0 if k else 0.0)
            angles.append(float(angle))
            continue
        start = nearest(mp.tan((mp.atan(low) + mp.atan(high)) / 2), bits)
        step = mpf(float(np.spacing({64: np.float64, 32: np.float32}[bits](float(start)))))
        best: tuple[mpf, mpf, mpf] | None = None
        for trial in range(TRIALS // 4):
            b = start + trial * step
            exact = mp.atan(b)
            angle = nearest(exact, bits)
            error = abs(angle / exact - 1)
            if best is None or error < best[0]:
                best = error, b, angle
        assert best is not None
        across.append(1.0)
        along.append(float(best[1]))
        angles.append(float(best[2]))
    # In the order in which the leading bits name them.
    first = ((1023 if bits == 64 else 127) * 4 + FIRST_DIRECTION) % DIRECTIONS
    turned = [[*v[-first:], *v[:-first]] if first else v for v in (across, along, angles)]
    return turned[0], turned[1], turned[2]


def octants(bits: int) -> tuple[list[float], list[float], list[float]]:
    """Ratios in eighths, of which the first is zero, and the angles that they stand for in each octant, in two parts.

    Octants are in the order in which ``|y| > |x|`` and, twice as much, ``x < 0`` count them.
    """
    ratios = [0.0, *(k / 8 for k in range(2, 9))]
    angles = [mp.atan(ratio) for ratio in ratios]
    half, whole = mp.pi / 2, mp.pi
    turned = [*angles, *(half - a for a in angles), *(whole - a for a in angles), *(half + a for a in angles)]
    values = [nearest(angle, bits) for angle in turned]
    rests = [float(nearest(angle - value, bits)) for angle, value in zip(turned, values, strict=True)]
    return ratios * 2, [float(value) for value in values], rests


def powers_of_two(bits: int) -> tuple[list[float], list[float]]:
    """Powers of two with sixteenths as exponents, and by which part of themselves they are too small."""
    values, rests = [], []
    for k in range(16):
        exact = mpf(2) ** (mpf(k) / 16)
        values.append(float(nearest(exact, bits)))
        rests.append(float(nearest(exact / mpf(values[-1]) - 1, bits)))
    return values, rests


# tanh of float32: four intervals between powers of two, from 3/64 on; the first one reaches down to zero. There the
# last two steps round, of which the first counts by the significand of the result, which is to be well below two.
TANH_FIRST, TANH_INTERVALS, TANH_DEGREE = 4 * -5 + 2, 32, 5


def hyperbolic_tangents(bits: int) -> tuple[list[float], ...]:
    """Centres c of intervals, and the coefficients of a polynomial in ``x - c`` for each."""
    rows = []
    for k in range(TANH_INTERVALS):
        exponent, quarter = divmod(TANH_FIRST + k, 4)
        low, high = (mpf(2) ** exponent * (1 + mpf(q) / 4) for q in (quarter, quarter + 1))
        if k == 0:
            reach = high
            # x + x**3 (a + b x**2), by values at the Chebyshev nodes.
            nodes = [reach**2 * (1 + s / mp.sqrt(2)) / 2 for s in (-1, 1)]
            at = [(mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z for z in nodes]
            slope = (at[1] - at[0]) / (nodes[1] - nodes[0])
            rows.append([0.0, 0.0, 1.0, 0.0, float(at[0] - slope * nodes[0]), 0.0, float(slope)])
            continue
        if low >= 10:  # beyond the largest argument
            rows.append([float(low), 1.0, *[0.0] * TANH_DEGREE])
            continue
        start = nearest(mp.tanh((low + high) / 2), bits)
        step, best = mpf(2) ** (mp.floor(mp.log(start, 2)) - 23), None
        for trial in range(200):
            value = start - trial * step
            c = nearest(mp.atanh(value), bits) if value < 1 else mpf(0)
            error = abs(mp.tanh(c) / value - 1)
            if low < c and (best is None or error < best[0]):
                best = error, c
        assert best is not None
        centre = best[1]
        fit = mp.chebyfit(
            lambda t, c=centre: (mp.tanh(c + t) - mp.tanh(c)) / t if t else mp.sech(c) ** 2,
            [low - centre, high - centre],
            TANH_DEGREE,
        )
        rows.append([float(centre), float(nearest(mp.tanh(centre), bits)), *(float(v) for v in reversed(fit))])
    first = ((127 << 2) + TANH_FIRST) % TANH_INTERVALS
    rows = [*rows[-first:], *rows[:-first]] if first else rows
    return tuple([float(np.float32(v)) for v in column] for column in zip(*rows, strict=True))


Table = dict[str, dict[int, list[float]]]


def column(bits: int, values: Sequence[float]) -> list[str]:
    """The lines of a tuple of numbers for a type of so many bits, several numbers to a line."""
    text, indent = f"{bits}: {tuple(values)!r},", " " * 13
    return textwrap.wrap(
        text, 120, initial_indent=indent[:8], subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def main() -> None:
    tables: Table = {}

    def add(name: str, make: Callable[[int], tuple[list[float], ...]], *parts: str) -> None:
        for bits in (64, 32):
            for part, values in zip(parts, make(bits), strict=True):
                tables.setdefault(f"{name}_{part}", {})[bits] = values

    for name, base in (("ln", None), ("log2", 2), ("log10", 10)):
        add(name, lambda bits, base=base: logarithms(base, bits, DIGITS[bits] - 3), "inverse", "value")
    add("exp2", powers_of_two, "value", "rest")
    tables |= {
        f"power_{part}": {64: column}
        for part, column in zip(("inverse", "value", "rest"), short_reciprocals(), strict=True)
    }
    add("cbrt", cube_roots, "inverse", "value")
    add("arctan", directions, "across", "along", "value")
    parts = ("along", "value", "rest")
    tables |= {f"arctan2_{part}": {32: column} for part, column in zip(parts, octants(32), strict=True)}
    names = ("centre", *(f"power{k}" for k in range(TANH_DEGREE + 1)))
    tables |= {f"tanh_{name}": {32: column} for name, column in zip(names, hyperbolic_tangents(32), strict=True)}
    lines = [
        '"""Tables that registers hold. Written by bench/vmath_tables.py: do not edit."""',
        "",
        "# fmt: off",
        "TABLES: dict[str, dict[int, tuple[float, ...]]] = {",
    ]
    for name, by_bits in tables.items():
        lines.append(f'    "{name}": {{')
        for bits, values in by_bits.items():
            lines += column(bits, values)
        lines.append("    },")
    lines.append("}")
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
