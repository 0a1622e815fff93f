"""Writes bench/float32_domain.md: each function of one float32 at all of the 2**32 arguments, against float64.

Run ``python bench/float32_domain.py [function …]``; a function takes about a minute on one thread. Results are those of
kernels as users get them, the reference is NumPy's function of float64, or where that is slow jitrt's, whose errors
are a billionth of the units here. Results that are nan, zero or infinite, or should be, have to be equal.
"""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.special
from jitrt.kernels import vmath

import jitrt

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE / "float32_domain.md"
HEAD = """# Elementary functions of float32: all arguments

Written by `bench/float32_domain.py`: the greatest error over all 2**32 arguments in units of the last place, where it
is, and how many results are special values other than the reference's, on a processor with AVX-512.

| function | ulp | at | wrong special values | monotone steps back |
| --- | --- | --- | --- | --- |
"""
CHUNK = 1 << 17  # arguments at a time, which stay in the cache
OF_JITRT = frozenset(("sin", "cos", "expit", "erf", "erfc"))  # references
INCREASING = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt arcsin arctan sinh tanh arcsinh arccosh arctanh erf expit".split()
)


def names() -> list[str]:
    """Functions of one argument; sinc is NumPy's own definition on top of them."""
    return [f.name for f in vmath.FUNCTIONS.values() if f.arity == 1 and "f" in f.types and f.name != "sinc"]


def comparison(function: Callable) -> Callable:
    """A compiled function of arguments, true values, and the greatest error so far.

    It counts larger errors, wrong special values and steps back. The power of two in a float is ``q - (1 - 2**-53) q``
    for ``q = (2**52 + 1) x`` (Rump, Ogita and Oishi, "Accurate floating-point summation", SIAM J. Sci. Comput., 2008).
    """

    @jitrt.jit(threads=1)
    def compare(x, true, worst):
        result = function(x)
        rounded = true.astype(np.float32)
        wide = true * (2.0**52 + 1.0)
        unit = np.maximum(np.abs(wide - wide * (1.0 - 2.0**-53)) * 2.0**-23, 2.0**-149)
        usable = np.isfinite(result) & np.isfinite(rounded) & (true != 0)
        larger = usable & (np.abs(result - true) > worst * unit)
        wrong = np.where(np.isnan(true), ~np.isnan(result), ~usable & (result != rounded))
        return larger.sum(), wrong.sum(), (result[1:] < result[:-1]).sum()

    return compare


def greatest_error(result: np.ndarray, true: np.ndarray) -> tuple[float, int]:
    """In units of the last place, and where it is."""
    unit = np.maximum(2.0 ** (np.frexp(np.abs(true))[1] - 24.0), 2.0**-149)
    usable = np.isfinite(result) & np.isfinite(true.astype(np.float32)) & (true != 0)
    errors = np.where(usable, np.abs(result - true) / unit, 0.0)
    return float(errors.max()), int(errors.argmax())


def scan(name: str) -> tuple[float, float, int, int]:
    """Greatest error, where it is, the number of wrong special values, and of steps against the order."""
    function = getattr(np, name, None) or getattr(scipy.special, name)
    compare, compiled = comparison(function), jitrt.jit(threads=1)(lambda x: function(x))
    reference: Callable = jitrt.jit(threads=1)(lambda x: function(x)) if name in OF_JITRT else function
    worst, where, wrong, back = 0.0, 0.0, 0, 0
    bits, steps = np.empty(CHUNK, np.uint32), np.arange(CHUNK, dtype=np.uint32)
    wide = np.empty(CHUNK)
    with np.errstate(all="ignore"):
        for start in range(0, 1 << 32, CHUNK):
            np.add(steps if start < 1 << 31 else steps[::-1], np.uint32(start), out=bits)  # arguments increase
            x = bits.view(np.float32)
            wide[:] = x
            true = reference(wide)
            larger, bad, falls = compare(x, true, worst)
            if larger:
                worst, place = greatest_error(compiled(x), true)
                where = float(x[place])
            wrong, back = wrong + int(bad), back + int(falls)
    return worst, where, wrong, back


def main(chosen: list[str]) -> None:
    """Scan functions, and add a line for each to the report as soon as it is there."""
    lines = dict(line.split(" | ", 1) for line in _rows())
    for name in chosen or names():
        start = time.perf_counter()
        worst, where, wrong, back = scan(name)
        steps = str(back) if name in INCREASING else "–"
        lines[f"| {name}"] = f"{worst:.3f} | {where!r} | {wrong} | {steps} |"
        order = [f"| {n}" for n in names() if f"| {n}" in lines]
        REPORT.write_text(HEAD + "".join(f"{key} | {lines[key]}\n" for key in order), encoding="utf-8")
        print(f"{name}: {worst:.4f} at {where!r}, {wrong} wrong, {back} back, {time.perf_counter() - start:.0f} s")


def _rows() -> list[str]:
    if not REPORT.exists():
        return []
    return [line for line in REPORT.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][2:]


if __name__ == "__main__":
    main(sys.argv[1:])
