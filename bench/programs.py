"""The functions that are measured, with their inputs: ordinary NumPy, nothing written for a compiler."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[int, np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Program:
    """A function of NumPy arrays.

    Parameters
    ----------
    function : callable
    group : str
        What it stands for.
    make : callable
        Arguments with about `n` elements, from `n` and a random generator.
    expression : str
        The same in numexpr's language, in terms of the parameters' names; empty if it has none.
    """

    function: Callable[..., Any]
    group: str
    make: Make
    expression: str = ""

    @property
    def name(self) -> str:
        return self.function.__name__


def multiply_add(a, b, c):
    return a * b + c


def horner(x):
    return 1 + x * (0.5 + x * (0.25 + x * (0.125 + x * (0.0625 + x * (0.03125 + x * 0.015625)))))


def damped_wave(t, amplitude, decay, omega):
    return amplitude * np.exp(-decay * t) * np.cos(omega * t)


def normal_density(x, mean, deviation):
    return np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def great_circle(latitude, longitude, latitude0, longitude0):
    half = np.sin((latitude - latitude0) / 2) ** 2
    half = half + np.cos(latitude) * np.cos(latitude0) * np.sin((longitude - longitude0) / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(half))


def clamp(x, low, high):
    return np.where(x < low, low, np.where(x > high, high, x)) * 2 - 1


def mix_bits(x):
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x45D9F3B)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x45D9F3B)
    return x ^ (x >> np.uint32(16))


def squared_distance(a, b):
    return ((a - b) ** 2).sum()


def row_sums(x):
    return (x * x).sum(axis=1)


def column_means(x):
    return x.mean(axis=0)


def largest_deviation(x, y):
    return np.abs(x - y).max(axis=1)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def standardise(x):
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-9)


def outer_sum(a, b):
    return np.sqrt(a[:, None] ** 2 + b[None, :] ** 2)


def scale_columns(x, weight, shift):
    return x * weight + shift


def scale_rows(x, weight):
    return (x - 0.5) * weight[:, None]


def laplacian(z):
    return z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:] - 4 * z[1:-1, 1:-1]


def _vectors(count: int) -> Make:
    return lambda n, rng: tuple(rng.random(n) for _ in range(count))


def _square(n: int, rng: np.random.Generator) -> Any:
    side = math.isqrt(n)
    return rng.random((side, side))


def _radians(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.uniform(-1.5, 1.5, n), rng.uniform(-3, 3, n), 0.8, 0.1


PROGRAMS = (
    Program(multiply_add, "elementwise", _vectors(3), "a * b + c"),
    Program(
        horner,
        "elementwise",
        _vectors(1),
        "1 + x * (0.5 + x * (0.25 + x * (0.125 + x * (0.0625 + x * (0.03125 + x * 0.015625)))))",
    ),
    Program(
        damped_wave,
        "elementwise",
        lambda n, rng: (rng.random(n) * 10, 2.0, 0.3, 5.0),
        "amplitude * exp(-decay * t) * cos(omega * t)",
    ),
    Program(
        normal_density,
        "elementwise",
        lambda n, rng: (rng.normal(size=n), 0.1, 1.2),
        "exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * 2.5066282746310002)",
    ),
    Program(gelu, "elementwise", lambda n, rng: (rng.normal(size=n).astype(np.float32),)),
    Program(
        great_circle,
        "elementwise",
        _radians,
        "2 * 6371.0 * arcsin(sqrt(sin((latitude - latitude0) / 2) ** 2"
        " + cos(latitude) * cos(latitude0) * sin((longitude - longitude0) / 2) ** 2))",
    ),
    Program(
        clamp,
        "elementwise",
        lambda n, rng: (rng.random(n), 0.2, 0.7),
        "where(x < low, low, where(x > high, high, x)) * 2 - 1",
    ),
    Program(mix_bits, "elementwise", lambda n, rng: (rng.integers(0, 2**32, n, dtype=np.uint32),)),
    Program(squared_distance, "reduction", _vectors(2), "sum((a - b) ** 2)"),
    Program(row_sums, "reduction", lambda n, rng: (_square(n, rng),), "sum(x * x, axis=1)"),
    Program(column_means, "reduction", lambda n, rng: (_square(n, rng),)),
    Program(
        largest_deviation,
        "reduction",
        lambda n, rng: (_square(n, rng), _square(n, rng)),
        "max(abs(x - y), axis=1)",
    ),
    Program(softmax, "reduction", lambda n, rng: (_square(n, rng),)),
    Program(standardise, "reduction", lambda n, rng: (_square(n, rng),)),
    Program(outer_sum, "broadcasting", lambda n, rng: _vectors(2)(math.isqrt(n), rng)),
    Program(
        scale_columns,
        "broadcasting",
        lambda n, rng: (_square(n, rng), *_vectors(2)(math.isqrt(n), rng)),
        "x * weight + shift",
    ),
    Program(scale_rows, "broadcasting", lambda n, rng: (_square(n, rng), rng.random(math.isqrt(n)))),
    Program(laplacian, "broadcasting", lambda n, rng: (_square(n, rng),)),
)


def chain(operations: int, seed: int) -> Callable[..., Any]:
    """A function of four arrays that no other seed gives, for times to compile.

    Each line uses the one before it, so no operation is dead and every seed has equally many.

    Parameters
    ----------
    operations : int
        Array operations; each line of the function has two.
    seed : int
    """
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    lines = []
    for k in range(operations // 2):
        right = rng.choice(names) if rng.random() < 0.5 else f"{rng.uniform(0.5, 1.5):.6f}"
        lines.append(f"    t{k} = ({names[-1]} {rng.choice(['+', '-', '*'])} {right}) * 0.5")
        names.append(f"t{k}")
    return _compiled_text("a, b, c, d", [*lines, f"    return {names[-1]}"])


def total(arguments: int) -> Callable[..., Any]:
    """A function that adds its arguments up, for the overhead of a call."""
    names = [f"x{k}" for k in range(arguments)]
    return _compiled_text(", ".join(names), [f"    return {' + '.join(names)} + 1.0"])


def _compiled_text(parameters: str, lines: list[str]) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"np": np}
    exec("\n".join([f"def generated({parameters}):", *lines]), namespace)
    return namespace["generated"]
