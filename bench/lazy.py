"""Lazy arrays next to NumPy: the same text with one import changed, and the price of recording an operation.

`python -m bench.lazy` prints the tables; it takes a minute.
"""

from __future__ import annotations

import platform
import time
import timeit
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import jitrt.numpy as lazy

_ROUNDS = 15
_SIZES = (100, 1000, 10_000, 100_000, 1_000_000)


def arithmetic(np: ModuleType, x: Any, y: Any) -> Any:
    """A chain of additions and products."""
    return float((2 * x * y + x * x - y / 3 + 0.5 * (x - y) * (x + y)).sum())


def mathematics(np: ModuleType, x: Any, y: Any) -> Any:
    """A chain with elementary functions."""
    r = np.sqrt(x * x + y * y)
    return (np.exp(-r) * np.cos(3 * r) + np.tanh(x)).max().item()


def standardised(np: ModuleType, x: Any, y: Any) -> Any:
    """Reductions whose results are used by whole arrays."""
    z = (x - x.mean()) / x.std()
    return float((z * z * y).sum() / y.sum())


def diffusion(np: ModuleType, x: Any, y: Any) -> Any:
    """Twenty steps of a stencil that writes into an array."""
    u = np.array(x)
    for _ in range(20):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return float(u[u.size // 2])


def until_steady(np: ModuleType, x: Any, y: Any) -> Any:
    """An iteration that looks at a value in every turn."""
    a = np.abs(x) + 1
    root = a
    while float(np.abs(root * root - a).max()) > 1e-9:
        root = 0.5 * (root + a / root)
    return float(root.sum())


def elements(np: ModuleType, x: Any, y: Any) -> Any:
    """A recurrence, element by element."""
    u = np.array(x)
    for i in range(1, min(u.size, 1000)):
        u[i] = 0.5 * u[i - 1] + y[i]
    return float(u[-1])


def rows(np: ModuleType, x: Any, y: Any) -> Any:
    """A recurrence along short rows."""
    u, v = np.array(x).reshape(-1, 50), y.reshape(-1, 50)
    for i in range(1, min(len(u), 500)):
        u[i, 1:] += 0.5 * u[i - 1, :-1] * v[i, 1:]
    return float(u[-1, -1])


PIPELINES = (arithmetic, mathematics, standardised, diffusion, until_steady, elements, rows)


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """Seconds of each call, the best of rounds in which they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(_ROUNDS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


RECORDED = (
    ("x + y", "x + y"),
    ("x * 2.5, y * 3", "x * 2.5; y * 3"),
    ("x > 1", "x > 1"),
    ("-x", "-x"),
    ("np.sqrt(x)", "np.sqrt(x)"),
    ("x[1:-1], y[:, 5:]", "x[1:-1]; y[:, 5:]"),
    ("y.reshape(400, 300)", "y.reshape(400, 300)"),
    ("y.T", "y.T"),
    ("y.sum(axis=0)", "y.sum(axis=0)"),
    ("y.astype(np.float32)", "y.astype(np.float32)"),
    ("lazy.where(x > y, x, y)", "lazy.where(x > y, x, y)"),
    ("y += x", "y += x"),
    ("y[1:] = x[:-1]", "y[1:] = x[:-1]"),
)
_OPERATIONS = {"x * 2.5, y * 3": 2, "x[1:-1], y[:, 5:]": 2, "lazy.where(x > y, x, y)": 2, "y[1:] = x[:-1]": 2}


def recording() -> list[tuple[str, float]]:
    """Microseconds that recording an operation takes that has come before; computing it is no part of it."""
    x = lazy.array(np.ones((300, 400)))
    found = []
    for name, text in RECORDED:
        turns = 20
        scope: dict[str, Any] = {"x": x, "lazy": lazy, "np": np}
        timer = timeit.Timer("\n".join([text] * turns), setup="(x + 1).compute(); y = x + 1", globals=scope)
        best = min(timer.timeit(1) for _ in range(50))
        found.append((name, best / turns / _OPERATIONS.get(name, 1) * 1e6))
    return found


def main() -> None:
    """Print the tables."""
    rng = np.random.default_rng(0)
    print(f"NumPy's time over that of lazy arrays. Python {platform.python_version()}, NumPy {np.__version__}.\n")
    print("| pipeline |" + "".join(f" {n:,} |" for n in _SIZES))
    print("| --- |" + " ---: |" * len(_SIZES))
    for pipeline in PIPELINES:
        row = []
        for n in _SIZES:
            given = rng.random(n), rng.random(n) + 0.5
            ours = [lazy.array(a) for a in given]
            for _ in range(400 if n <= 10_000 else 3):  # small pieces are NumPy's until a compile has paid
                found = pipeline(lazy, *ours)
            assert np.allclose(found, pipeline(np, *given), rtol=1e-9)
            plain, own = fastest(lambda: pipeline(np, *given), lambda: pipeline(lazy, *ours))  # noqa: B023
            row.append(f" {plain / own:.2f} |")
        print(f"| {pipeline.__name__} |" + "".join(row), flush=True)
    print("\n| recorded | us |\n| --- | ---: |")
    for text, us in recording():
        print(f"| `{text}` | {us:.1f} |")


if __name__ == "__main__":
    main()
