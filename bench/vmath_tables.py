"""Writes kernels/vmath_tables.py: short tables, held in registers, for the functions written for AVX-512.

Run ``python bench/vmath_tables.py``. The entries are accurate tables (Gal and Bachelis, "An accurate elementary
mathematical library for the IEEE floating point standard", ACM TOMS 17, 1991): of all arguments near the middle of an
interval that one is taken whose function value is a float, or a short number, to many more bits than a float has.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable

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


Table = dict[str, dict[int, list[float]]]


def main() -> None:
    tables: Table = {}

    def add(name: str, make: Callable[[int], tuple[list[float], ...]], *parts: str) -> None:
        for bits in (64, 32):
            for part, values in zip(parts, make(bits), strict=True):
                tables.setdefault(f"{name}_{part}", {})[bits] = values

    for name, base in (("ln", None), ("log2", 2), ("log10", 10)):
        add(name, lambda bits, base=base: logarithms(base, bits, DIGITS[bits] - 3), "inverse", "value")
    lines = [
        '"""Tables that registers hold. Written by bench/vmath_tables.py: do not edit."""',
        "",
        "# fmt: off",
        "TABLES: dict[str, dict[int, tuple[float, ...]]] = {",
    ]
    for name, by_bits in tables.items():
        lines.append(f'    "{name}": {{')
        for bits, values in by_bits.items():
            lines.append(f"        {bits}: (")
            lines += [f"            {value!r}," for value in values]
            lines.append("        ),")
        lines.append("    },")
    lines.append("}")
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
