"""`jitrt.evaluate` beside numexpr and NumPy: ``python -m bench.evaluate``."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import jitrt

EXPRESSIONS = {
    "arithmetic": ("2*a + 3*b", lambda a, b: 2 * a + 3 * b),
    "polynomial": (
        "((0.25*a + 0.75)*a - 1.5)*a + b/(a*a + 1)",
        lambda a, b: ((0.25 * a + 0.75) * a - 1.5) * a + b / (a * a + 1),
    ),
    "selection": ("where(a > b, a - b, a*b)", lambda a, b: np.where(a > b, a - b, a * b)),
    "transcendental": ("exp(-a*a) * sin(b)", lambda a, b: np.exp(-a * a) * np.sin(b)),
    "logarithms": ("log(a + 1.5) / sqrt(b*b + 1)", lambda a, b: np.log(a + 1.5) / np.sqrt(b * b + 1)),
    "sum": ("sum(a*b)", lambda a, b: np.sum(a * b)),
    "maximum": ("max(a - b)", lambda a, b: np.max(a - b)),
}


def main() -> None:
    """Print a table: microseconds of each, and how often jitrt's fit into those of the others."""
    parser = argparse.ArgumentParser(prog="python -m bench.evaluate", description=main.__doc__)
    parser.add_argument("--sizes", default="100,1000,10000,100000,1000000,10000000", help="elements (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="times that each is measured; the best counts")
    options = parser.parse_args()
    numexpr = importlib.import_module("numexpr")
    print("| expression | elements | jitrt | numexpr | NumPy | over numexpr | over NumPy |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, (text, function) in EXPRESSIONS.items():
        for size in map(int, options.sizes.split(",")):
            a, b = np.random.default_rng(0).random((2, size))
            runs = [
                partial(jitrt.evaluate, text, {"a": a, "b": b}),
                partial(numexpr.evaluate, text, {"a": a, "b": b}),
                partial(function, a, b),
            ]
            ours, theirs, plain = best(runs, options.rounds)
            print(
                f"| {name} | {size:,} | {ours:,.1f} us | {theirs:,.1f} us | {plain:,.1f} us |"
                f" {theirs / ours:.1f} | {plain / ours:.1f} |",
                flush=True,
            )
    print(f"\nA second call with the same string costs {overhead(options.rounds):.2f} us over the compiled function.")


def best(runs: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Microseconds of each, measured in turns."""
    want = np.asarray(runs[-1]())
    for run in runs:
        np.testing.assert_allclose(run(), want, rtol=1e-9)
    seconds = [float("inf")] * len(runs)
    calls = []
    for run in runs:
        for _ in range(40 if want.nbytes < 1e6 else 2):  # what is compiled after some calls is
            run()
        start = perf_counter()
        run()
        calls.append(max(1, min(2000, int(2e-3 / (perf_counter() - start)))))
    for _ in range(rounds):
        for k, run in enumerate(runs):
            start = perf_counter()
            for _ in range(calls[k]):
                run()
            seconds[k] = min(seconds[k], (perf_counter() - start) / calls[k])
    return [1e6 * s for s in seconds]


def overhead(rounds: int) -> float:
    """Microseconds that looking up the string and its names costs."""
    from jitrt.strings.evaluation import _compiled

    def inside() -> float:
        x, y = np.ones((2, 10))
        jitrt.evaluate("2*x + 3*y")
        call = _compiled("2*x + 3*y", False, "K", "same_kind").call
        lowest = [float("inf"), float("inf")]
        for _ in range(10 * rounds):
            start = perf_counter()
            for _ in range(1000):
                jitrt.evaluate("2*x + 3*y")
            middle = perf_counter()
            for _ in range(1000):
                call(x, y)
            end = perf_counter()
            lowest = [min(lowest[0], middle - start), min(lowest[1], end - middle)]
        return 1e3 * (lowest[0] - lowest[1])

    return inside()


if __name__ == "__main__":
    main()
