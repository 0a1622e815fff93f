"""What a call costs: a table by number and kind of arguments, rank, and results, next to NumPy, numba and JAX.

`python -m bench.overhead` prints the table; it takes some minutes.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jitrt
from jitrt import policy

from .peers import _module

_ROUNDS = 25
_CALLS = 2000
_FIRST = policy.SMALL_CALLS + 8  # calls in front of these, of which the first ones run plain


@dataclass(frozen=True)
class Case:
    """A call: what it shows, the function, its arguments, and whether numba and JAX take them."""

    title: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    peers: bool = True


def sum_of(count: int) -> Callable[..., Any]:
    """A function that adds up `count` arguments."""
    names = [f"x{k}" for k in range(count)]
    scope: dict[str, Any] = {}
    exec(f"def f({', '.join(names)}):\n    return {' + '.join(names)} + 1.0", scope)
    return scope["f"]


def results_of(count: int) -> Callable[..., Any]:
    """A function of one array that returns `count` arrays."""
    scope: dict[str, Any] = {}
    exec(f"def f(x):\n    return {', '.join(f'x + {k}.5' for k in range(count))},", scope)
    return scope["f"]


class Body:
    """An object as simulations have them: arrays and numbers, some of which a step stores anew."""

    def __init__(self, arrays: int, numbers: int = 1):
        for k in range(arrays):
            setattr(self, f"x{k}", np.arange(10.0))
        for k in range(numbers):
            setattr(self, f"k{k}", 1.0 + k)


class Settings(Body):
    """One with a property, and an object among its attributes."""

    def __init__(self) -> None:
        super().__init__(1)
        self.body = Body(1)

    @property
    def scaled(self) -> Any:
        return self.x0 * self.k0  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Point:
    x0: np.ndarray
    k0: float


class Pair(NamedTuple):
    x0: np.ndarray
    k0: float


def objects() -> Iterator[Case]:
    """Calls with objects, as those of methods are."""
    x = np.arange(10.0)
    for arrays, numbers in ((1, 1), (2, 2), (6, 6)):
        parts = [f"o.x{k} * o.k{k}" for k in range(arrays)]
        function = eval(f"lambda o, dt: ({' + '.join(parts)}) * dt")
        yield Case(f"object: {arrays} array{'s' * (arrays > 1)}, {numbers} float{'s' * (numbers > 1)}", function,
                   (Body(arrays, numbers), 0.5), {}, peers=False)  # fmt: skip
    yield Case("object: a property", lambda o, dt: o.scaled + dt, (Settings(), 0.5), {}, peers=False)
    yield Case("object in an object", lambda o, dt: o.body.x0 * o.x0 + dt, (Settings(), 0.5), {}, peers=False)
    yield Case("frozen dataclass", lambda o, dt: o.x0 * o.k0 + dt, (Point(x, 2.0), 0.5), {}, peers=False)
    yield Case("named tuple", lambda o, dt: o.x0 * o.k0 + dt, (Pair(x, 2.0), 0.5), {}, peers=False)
    nested = {"a": {"x": x, "k": 2.0}, "b": [x, (x, 3.0)]}
    yield Case("dict of a dict and a list", _of_nested, (nested,), {}, peers=False)
    yield Case("object: one array stored", _step, (Body(2), 1e-9), {}, peers=False)
    yield Case("object: one array in place", _step_in_place, (Body(2), 1e-9), {}, peers=False)


def _of_nested(d: Any) -> Any:
    return d["a"]["x"] * d["a"]["k"] + d["b"][0] * d["b"][1][0] + d["b"][1][1]


def _step(o: Any, dt: float) -> None:
    o.x0 = o.x0 + o.x1 * dt


def _step_in_place(o: Any, dt: float) -> None:
    o.x0 += o.x1 * dt


def cases() -> Iterator[Case]:
    """The rows of the table; arrays have 10 elements."""
    x = np.arange(10.0)
    for count in (1, 2, 3, 4, 6, 8, 12):
        yield Case(f"{count} array{'s' * (count > 1)}", sum_of(count), (x,) * count, {})
    for rank in (0, 2, 3, 4):
        array = np.ones((2,) * rank)
        yield Case(f"3 arrays of rank {rank}", sum_of(3), (array,) * 3, {})
    yield Case("array, 2 floats", lambda x, a, b: x * a + b, (x, 2.0, 3.0), {})
    yield Case("array, 2 ints", lambda x, a, b: x * a + b, (x, 2, 3), {})
    yield Case("array, NumPy scalar", lambda x, a: x * a + 1.0, (x, np.float64(2)), {})
    yield Case("3 arrays by keyword", sum_of(3), (), {"x0": x, "x1": x, "x2": x}, peers=False)
    yield Case("tuple of 3 arrays", lambda t: t[0] + t[1] * t[2], ((x, x, x),), {})
    yield Case("dict of 3 arrays", lambda d: d["a"] + d["b"] * d["c"], ({"a": x, "b": x, "c": x},), {}, peers=False)
    for count in (2, 4):
        yield Case(f"array, {count} results", results_of(count), (x,), {})
    yield Case("array, scalar result", lambda x: (x * 2).sum(), (x,), {})
    yield Case("array changed in place", _increment, (x.copy(), x), {}, peers=False)
    yield from objects()


def _increment(x: np.ndarray, y: np.ndarray) -> None:
    x += y * 0.5


def measure(runs: list[Callable[[], Any]]) -> list[float]:
    """Nanoseconds of a call of each, the best of several rounds in turn."""
    best = [float("inf")] * len(runs)
    for _ in range(_ROUNDS):
        for k, run in enumerate(runs):
            start = time.perf_counter_ns()
            for _ in range(_CALLS):
                run()
            best[k] = min(best[k], (time.perf_counter_ns() - start) / _CALLS)
    return best


def peers(case: Case) -> dict[str, Callable[..., Any]]:
    """The function as each peer runs it, called until it is compiled."""
    found: dict[str, Callable[..., Any]] = {"NumPy": case.function, "jitrt": jitrt.jit(case.function)}
    numba, jax = _module("numba"), _module("jax")
    if case.peers and numba is not None:
        found["numba"] = numba.njit(case.function)
    if case.peers and jax is not None:
        found["JAX"] = jax.jit(case.function)
    for name in list(found):
        try:
            for _ in range(_FIRST):
                found[name](*case.args, **case.kwargs)
        except Exception:
            del found[name]
    return found


def table() -> str:
    """The table as Markdown."""
    names = ["NumPy", "jitrt", "jitrt, alternating shapes", "numba", "JAX"]
    lines = [
        "# What a call costs",
        "",
        f"Nanoseconds of a call, the best of {_ROUNDS} rounds in turn; arrays of 10 elements. The loop is",
        f"in all figures. Python {platform.python_version()}, NumPy {np.__version__}. `python -m bench.overhead`.",
        "The third column calls with two kinds of arguments in turn, where all others call with one.",
        "",
        "| call | " + " | ".join(names) + " | jitrt over NumPy |",
        "| --- |" + " ---: |" * (len(names) + 1),
    ]
    for case in cases():
        functions = peers(case)
        runs = {name: _run(function, case.args, case.kwargs) for name, function in functions.items()}
        longer = _longer(case)
        if longer is not None:
            runs["jitrt, alternating shapes"] = _in_turn(runs["jitrt"], _run(functions["jitrt"], *longer))
        times = dict(zip(runs, measure(list(runs.values()))))
        cells = [f"{times[name]:.0f}" if name in times else "-" for name in names]
        ratio = f"{times['jitrt'] / times['NumPy']:.2f}"
        lines.append(f"| {case.title} | " + " | ".join([*cells, ratio]) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _run(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Callable[[], Any]:
    return lambda: function(*args, **kwargs)


def _in_turn(one: Callable[[], Any], other: Callable[[], Any]) -> Callable[[], Any]:
    """Call one, then the other, and so on; both are compiled now."""
    for _ in range(_FIRST):
        one(), other()
    calls = itertools.cycle((one, other))
    return lambda: next(calls)()


def _longer(case: Case) -> tuple[tuple, dict[str, Any]] | None:
    """The arguments with arrays twice as long; None if there is no axis to lengthen."""

    def double(value: Any) -> Any:
        if isinstance(value, tuple):
            return Pair(*map(double, value)) if isinstance(value, Pair) else tuple(map(double, value))
        if isinstance(value, list):
            return list(map(double, value))
        if isinstance(value, (Body, Point)):
            other = copy.copy(value)
            vars(other).update((name, double(part)) for name, part in vars(value).items())
            return other
        if isinstance(value, dict):
            return {k: double(v) for k, v in value.items()}
        return np.concatenate([value, value]) if isinstance(value, np.ndarray) else value

    if any(isinstance(v, np.ndarray) and not v.ndim for v in case.args):
        return None
    return double(case.args), double(case.kwargs)


def main() -> None:
    """Print the table, and write it to the file that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m bench.overhead", description=__doc__)
    parser.add_argument("output", type=Path, nargs="?", metavar="OUTPUT.md", help="a file for the table, too")
    output = parser.parse_args().output
    text = table()
    if output is not None:
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
