"""``python -m bench.memory``: the memory that programs work in, NumPy's and jitrt's, written to ``bench/memory.md``."""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jitrt

_HEAD = """# Memory beyond arguments and results

Bytes that NumPy has allocated at its peak, by tracemalloc; the frame that jitrt works in, and the most bytes of it that
are alive at one time (its lower bound); what the temporaries would need without sharing memory; and what NumPy
allocates where it executes a step inside of the compiled program. Temporaries in the memory of a result need none.
`python -m bench.memory` makes this table.

| program | NumPy | frame | lower bound | without sharing | by NumPy inside |
| --- | ---: | ---: | ---: | ---: | ---: |
"""

N = 1 << 20
SIDE = 1 << 10


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def black_scholes(s, k, t):
    d = (np.log(s / k) + 0.5 * 0.04 * t) / (0.2 * np.sqrt(t))
    e = d - 0.2 * np.sqrt(t)
    return s / (1 + np.exp(-1.7 * d)) - k / (1 + np.exp(-1.7 * e))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def standardise_columns(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)


def layer(x, w, v):
    h = np.maximum(x @ w, 0)
    h = (h - h.mean(axis=1, keepdims=True)) / (h.std(axis=1, keepdims=True) + 1e-6)
    return x + h @ v


def heat(z):
    z = z.copy()
    for _ in range(50):
        z[1:-1, 1:-1] += 0.2 * (z[2:, 1:-1] + z[:-2, 1:-1] + z[1:-1, 2:] + z[1:-1, :-2] - 4 * z[1:-1, 1:-1])
    return z


def wave(now, before):
    def step(_, state):
        now, before = state
        inner = 1.5 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] + now[:-2])
        return np.concatenate([now[:1], inner, now[-1:]]), now

    return jitrt.fori_loop(0, 100, step, (now, before))


def blur(z):
    rows = z[:, 2:] + 2 * z[:, 1:-1] + z[:, :-2]
    return np.sqrt(rows[2:] + 2 * rows[1:-1] + rows[:-2])


def gradient_energy(z):
    gy, gx = z[1:, :-1] - z[:-1, :-1], z[:-1, 1:] - z[:-1, :-1]
    energy = np.sqrt(gy * gy + gx * gx)
    return energy / energy.max()


def rank_weights(x):
    ordered = np.sort(x * x)
    share = np.cumsum(ordered) / ordered.sum()
    return np.concatenate([share, 1 - share])


def interleave(a, b):
    out = np.zeros(2 * a.size)
    out[::2] = np.sin(a)
    out[1::2] = np.cos(b)
    out[1:-1] *= 0.5
    return out


def power_iteration(m, v):
    for _ in range(20):
        v = m @ v
        v = v / np.sqrt((v * v).sum())
    return v


def nearest(points, centres):
    distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
    return distance.argmin(axis=1), np.sqrt(distance.min(axis=1))


def spectrum_filter(x):
    f = np.fft.rfft(x * np.hanning(x.size))
    power = np.abs(f) ** 2
    return np.fft.irfft(f * (power > power.mean()), x.size)


def _programs() -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    rng = np.random.default_rng(0)
    x, y, z = rng.random(N) + 0.5, rng.random(N) + 0.5, rng.random((SIDE, SIDE))
    small = rng.random((SIDE, 256)) / 16
    return [
        (gelu, (x,)),
        (black_scholes, (x, y, x * y)),
        (softmax, (z,)),
        (standardise_columns, (z,)),
        (layer, (rng.random((SIDE, 256)), small[:256], small[:256])),
        (heat, (z,)),
        (wave, (x, y)),
        (blur, (z,)),
        (gradient_energy, (z,)),
        (rank_weights, (x,)),
        (interleave, (x, y)),
        (power_iteration, (z, z[0])),
        (nearest, (rng.random((N // 16, 3)), rng.random((8, 3)))),
        (spectrum_filter, (x,)),
    ]


def row(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """A line of the table."""
    compiled: Any = jitrt.jit(function)
    want, got = function(*args), compiled(*args)
    for w, g in zip(*(v if isinstance(v, tuple) else (v,) for v in (want, got))):
        np.testing.assert_allclose(g, w, rtol=1e-7, atol=1e-9)
    found = compiled.explain(*args)
    if found.compiled is None:
        return f"| {function.__name__} | {peak(function, args):,} | plain NumPy: {found.plain_reason} | | | |"
    layout = found.compiled.program.layout
    hosts = peak(compiled, args) if found.host_calls else 0
    columns = (peak(function, args), layout.nbytes, layout.bound_nbytes, layout.unshared_nbytes, hosts)
    return f"| {function.__name__} | " + " | ".join(f"{n:,}" for n in columns) + " |"


def peak(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Bytes that a call has allocated at its peak, without those of its results."""
    tracemalloc.start()
    result = function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    results = result if isinstance(result, tuple) else (result,)
    return max(0, peak - sum(r.nbytes for r in results))


def main() -> None:
    """Write the table."""
    argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__).parse_args()
    lines = [row(function, args) for function, args in _programs()]
    Path(__file__).with_name("memory.md").write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
