"""A product of matrices and what is computed from its elements: whole, and by blocks of rows.

``python -m bench.matmul`` prints how many elements of a product by blocks of rows differ from those of the whole, and
the times of NumPy, of jitrt, of the product alone, and of both steps by blocks of rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import jitrt

SHAPES = ((1000, 64, 1000), (4096, 64, 1024), (65536, 8, 64), (65536, 16, 16), (16384, 64, 64), (999, 1001, 257))
HEIGHTS = (96, 384, 1536)  # multiples of every register block that OpenBLAS has for x86-64
REPETITIONS = 9


def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


def by_rows(height: int, x: np.ndarray, w: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """`layer`, a block of rows after the other, each of which stays in the cache."""
    for k in range(0, len(x), height):
        block = out[k : k + height]
        np.matmul(x[k : k + height], w, out=block)
        np.add(block, b, out=block)
        np.maximum(block, 0, out=block)


def differing(height: int, x: np.ndarray, w: np.ndarray) -> float:
    """The share of the elements of ``x @ w`` that are others if it is computed by blocks of rows."""
    blocks = [x[k : k + height] @ w for k in range(0, len(x), height)]
    return float(np.mean(np.concatenate(blocks) != x @ w))


def milliseconds(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest time of each, measured in turns."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(REPETITIONS):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m bench.matmul", description=__doc__).parse_args()
    rng = np.random.default_rng(0)
    compiled = jitrt.jit(layer)
    names = ["NumPy", "jitrt", "product", *(f"rows {h}" for h in HEIGHTS)]
    print("| type | shape | " + " | ".join(names) + " | " + " | ".join(f"differ, {h}" for h in HEIGHTS) + " |")
    print("| --- | --- |" + " ---: |" * (len(names) + len(HEIGHTS)))
    for dtype in (np.float64, np.float32):
        for m, k, n in SHAPES:
            x, w, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n), (n,)))
            out = np.empty((m, n), dtype)
            functions: dict[str, Callable[[], object]] = {
                "NumPy": partial(layer, x, w, b),
                "jitrt": partial(compiled, x, w, b),
                "product": partial(np.matmul, x, w, out=out),
            }
            for h in HEIGHTS:
                functions[f"rows {h}"] = partial(by_rows, h, x, w, b, out)
            times = milliseconds(functions)
            figures = [f"{times[name]:.2f}" for name in names] + [f"{100 * differing(h, x, w):.2f} %" for h in HEIGHTS]
            print(f"| {np.dtype(dtype).name} | {m} x {k} x {n} | " + " | ".join(figures) + " |", flush=True)


if __name__ == "__main__":
    main()
