"""Time-stepping and iterating functions: Python loops whose iterations do the same.

`python -m bench.loops` prints times of NumPy and of jitrt; it takes some twenty seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jitrt


def heat(u, alpha, steps):
    """Explicit heat equation on a grid, updated in place."""
    u = u.copy()
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += alpha * lap
    return u


def van_der_pol(x, v, mu, dt, steps):
    """Oscillators, by the symplectic Euler method."""
    for _ in range(steps):
        a = mu * (1 - x * x) * v - x
        v = v + dt * a
        x = x + dt * v
    return x, v


def driven(x, v, dt, steps):
    """Oscillators with a force that depends on the time, the number of the step times its length."""
    for k in range(steps):
        v = v + dt * (np.cos(k * dt) - x - 0.1 * v)
        x = x + dt * v
    return x


def cavity_pressure(p, b, steps, sweeps):
    """Nested loops: a pressure that is relaxed by some sweeps in each step."""
    p = p.copy()
    for _ in range(steps):
        for _ in range(sweeps):
            p[1:-1, 1:-1] = 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - b[1:-1, 1:-1])
            p[0], p[-1] = p[1], 0.0
        b = b * 0.99
    return p


def relaxation(u, limit):
    """Gauss's means until the largest change is below a limit."""
    u = u.copy()
    change = 1.0
    while change > limit:
        old = u.copy()
        u[1:-1] = (u[2:] + u[:-2]) * 0.5
        change = np.abs(u - old).max()
    return u


def cases() -> dict[str, tuple[Callable[..., Any], tuple]]:
    """Functions with their arguments."""
    rng = np.random.default_rng(0)
    small, large = rng.random((100, 100)), rng.random((1000, 1000))
    x, v = rng.normal(size=1000), rng.normal(size=1000)
    many = rng.normal(size=100_000), rng.normal(size=100_000)
    rod = np.r_[0.0, rng.random(98), 1.0]
    return {
        "heat, 100 x 100, 10,000 steps": (heat, (small, 0.1, 10_000)),
        "heat, 1000 x 1000, 100 steps": (heat, (large, 0.1, 100)),
        "van der Pol, 1,000, 10,000 steps": (van_der_pol, (x, v, 1.5, 0.01, 10_000)),
        "van der Pol, 100,000, 1,000 steps": (van_der_pol, (*many, 1.5, 0.01, 1_000)),
        "driven oscillators, 1,000, 10,000 steps": (driven, (x, v, 0.01, 10_000)),
        "pressure, 100 x 100, 100 steps of 50": (cavity_pressure, (small, small - 0.5, 100, 50)),
        "relaxation, 100, until 1e-6": (relaxation, (rod, 1e-6)),
    }


def best(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """The shortest of the times that a call takes."""
    shortest, spent = np.inf, 0.0
    while spent < seconds:
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        shortest, spent = min(shortest, took), spent + took
    return float(shortest)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m bench.loops", description=__doc__).parse_args()
    rows = ["| program | NumPy | jitrt | speed-up | first call |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, (function, args) in cases().items():
        compiled = jitrt.jit(function)
        start = time.perf_counter()
        compiled(*args)
        first = time.perf_counter() - start
        plain, ours = best(partial(function, *args)), best(partial(compiled, *args))
        rows.append(f"| {name} | {plain * 1e3:.1f} ms | {ours * 1e3:.2f} ms | {plain / ours:.1f} | {first:.2f} s |")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
