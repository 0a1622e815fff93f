"""Writes bench/vmath_table.md: every function's greatest error and time, beside NumPy's.

Run ``python bench/vmath_table.py``. Errors are in units of the last place, against extended precision
(float64) or float64 (float32), over the points of the tests, several hundred thousand a function. Times are
for 16,384 contiguous elements on one thread, NumPy and jitrt in turns in one process, the best of many;
ordinary arguments, each function's own.
"""

from __future__ import annotations

import pathlib
import sys
import timeit
import warnings
from collections.abc import Callable

import numpy as np
import scipy.special
from jitrt.kernels import vmath
from vmath_compile import compile_loop

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "kernels"))
import points  # noqa: E402
import reference  # noqa: E402

SIZE = 16384
DTYPES = {"d": np.float64, "f": np.float32}
RANGES = {
    "log": (0.01, 10), "log2": (0.01, 10), "log10": (0.01, 10), "log1p": (-0.9, 9), "sqrt": (0, 10),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 10),
}  # fmt: skip


def numpy_function(name: str) -> Callable[..., np.ndarray]:
    return getattr(np, name, None) or getattr(scipy.special, name)


def greatest_error(result: np.ndarray, true: np.ndarray, dtype: type) -> float:
    rounded = true.astype(dtype)
    usable = np.isfinite(true) & np.isfinite(rounded) & np.isfinite(result)
    unit = np.spacing(np.abs(rounded)).astype(true.dtype)
    return float(np.max(np.abs(result - true) / unit, where=usable, initial=0))


def best_times(functions: list[Callable[[], object]], rounds: int = 60) -> list[float]:
    """Nanoseconds an element, the functions in turns, so that all see the same disturbances."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            best[i] = min(best[i], timeit.timeit(function, number=10) / 10 / SIZE * 1e9)
    return best


def row(name: str, char: str) -> tuple[float, float, float, float, float]:
    """Our error with and without fma, our time, NumPy's time, NumPy's error."""
    dtype = DTYPES[char]
    wide = np.longdouble if char == "d" else np.float64
    function = numpy_function(name)
    if vmath.FUNCTIONS[name].arity == 1:
        arguments: tuple[np.ndarray, ...] = (points.one_argument(name, dtype, 100_000, 7),)
    else:
        arguments = points.two_arguments(name, dtype, 100_000, 7)
    if name in scipy.special.__all__ and char == "d":
        # SciPy has no extended precision; fewer points against mpmath.
        arguments = tuple(np.random.default_rng(1).permutation(x)[:4000] for x in arguments)
        errors = [
            float(max(reference.ulp_errors(name, vmath.evaluate(name, *arguments, fma=fma), *arguments)))
            for fma in (True, False)
        ]
        theirs = float(max(reference.ulp_errors(name, function(*arguments), *arguments)))
        return errors[0], errors[1], *times(name, char), theirs
    true = function(*(x.astype(wide) for x in arguments))
    errors = []
    for fma in (True, False):
        run, _ = compile_loop(name, char, fma)
        result = np.empty_like(arguments[0])
        run(result, *arguments)
        errors.append(greatest_error(result, true, dtype))
    theirs = greatest_error(function(*arguments), true, dtype)
    return errors[0], errors[1], *times(name, char), theirs


def times(name: str, char: str) -> tuple[float, float]:
    """Our time and NumPy's."""
    dtype = DTYPES[char]
    function = numpy_function(name)
    run, _ = compile_loop(name, char, True)
    rng = np.random.default_rng(3)
    low, high = RANGES.get(name, (-5.0, 5.0))
    inputs = [rng.uniform(low, high, SIZE).astype(dtype) for _ in range(vmath.FUNCTIONS[name].arity)]
    if name in ("power", "float_power"):
        inputs[0] = np.abs(inputs[0])
    out = np.empty(SIZE, dtype)
    ours, theirs = best_times([run.bind(out, *inputs), lambda: function(*inputs, out=out)])  # type: ignore[attr-defined]
    return ours, theirs


def main(names: list[str]) -> None:
    lines = [
        "# Vector mathematics: accuracy and speed",
        "",
        "Written by `bench/vmath_table.py`. Errors in units of the last place; times in nanoseconds an element for",
        "16,384 elements on one thread, on a processor with AVX-512. erf, erfc and expit are compared with SciPy.",
        "Powers of float32 are not here: kernels call NumPy's own loop.",
        "",
        "| function | type | ulp | ulp without fma | ns | NumPy ns | NumPy ns / ns | NumPy ulp |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in names or [name for name in vmath.FUNCTIONS if name != "sinc"]:
        for char in vmath.FUNCTIONS[name].types:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                fused, plain, ours, theirs, their_error = row(name, char)
            lines.append(
                f"| {name} | {DTYPES[char].__name__} | {fused:.3f} | {plain:.3f} | {ours:.3f} | {theirs:.3f} "
                f"| {theirs / ours:.2f} | {their_error:.3f} |"
            )
            print(lines[-1], flush=True)
    if not names:
        (HERE / "vmath_table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
