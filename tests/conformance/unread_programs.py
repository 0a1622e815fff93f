"""Random programs many of whose results nothing reads, and arguments for which NumPy warns or raises."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = (5, 64, 300)
STATES: tuple[dict[str, Any], ...] = ({}, {"all": "raise"}, {"all": "ignore"}, {"divide": "raise", "over": "ignore"})
_ARRAYS = (
    "1.0 / {a}", "{a} / {b}", "np.log({a})", "np.sqrt({a})", "np.exp({a})", "{a} * {b}", "{a} - {b}", "{a} + 1.5",
    "np.where({a} > 0.5, 1.0 / {b}, {a})", "np.where({b} > {a}, {a}, np.log({b}))", "np.abs({a})", "-{a}",
    "np.maximum({a}, 1.0 / {b})", "np.where({s} > 0, {a}, 1.0 / {b})", "{a}[::-1] * 2", "{a} * {s}", "{a} ** 2",
    "np.concatenate([1.0 / {a}, {b}])[n:]", "np.cumsum({a})", "{a}[i] + {b}", "({a} * 1e200).astype(np.float32) + {b}",
    "np.where(True, {a}, np.log({b}))", "np.floor_divide({a}, {b})", "np.power({a}, {b})",
)  # fmt: skip
_SCALARS = ("{a}.sum()", "{a}[0]", "1.0 / {a}[2]", "np.log({a}).max()", "{a}[i]", "np.nanmax({a})", "{s} / {a}[1]")
_UNREAD = (
    "1.0 / {a}", "np.log({a})", "{a}[i]", "np.sqrt({a}).sum()", "{a} / {s}", "k // m", "({a} * 1e300).astype('f')",
    "1.0 / f", "np.nanmax(np.where({a} > 5, {a}, np.nan))", "{a}[[0, i, 1]]", "np.exp({a}) * 2 > 3",
)  # fmt: skip
_STORES = (
    "{a}[1:] = 1.0 / {b}[1:]", "{a}[{b} > {s}] = 0.5", "{a}[:] = np.log({b})", "{a} /= {b}", "{a} += np.sqrt({b})",
    "{a}[...] = 0.25", "{a}[2] = 1.0 / {b}[3]", "{a}[:3] = 1.0", "np.divide({a}, {b}, out={a})",
)  # fmt: skip


def program(rng: np.random.Generator) -> str:
    """The text of a function ``f(x, y, k, m, f, i)`` of two arrays, two integer arrays, a number and an index."""
    lines = ["def f(x, y, k, m, f, i):", "    n = len(x)", "    s = x[0] + 1.0"]
    arrays, scalars = ["x", "y"], ["s"]

    def filled(template: str, target: str | None = None) -> str:
        a = target or str(rng.choice(arrays))
        return template.format(a=a, b=rng.choice(arrays), s=rng.choice(scalars))

    def statements(indent: str, count: int, deep: bool) -> None:
        for _ in range(count):
            kind = rng.random()
            if kind < 0.35:
                name = str(rng.choice(["p", "q", "r"]))
                text = filled(str(rng.choice(_ARRAYS)))
                lines.append(f"{indent}{name} = {text}")
                if not deep and name not in arrays:
                    arrays.append(name)
            elif kind < 0.5:
                lines.append(f"{indent}{'s' if deep else 't'} = {filled(str(rng.choice(_SCALARS)))}")
                if not deep and "t" not in scalars:
                    scalars.append("t")
            elif kind < 0.7:
                lines.append(indent + filled(str(rng.choice(_UNREAD))))
            elif kind < 0.85:
                lines.append(indent + filled(str(rng.choice(_STORES)), str(rng.choice(arrays))))
            elif not deep:
                _block(statements, lines, indent, rng)

    statements("    ", int(rng.integers(3, 8)), False)
    results = [*arrays[2:], *scalars]
    kept = [r for r in results if rng.random() < 0.4] or ["s"]
    lines.append(f"    return {', '.join(kept)}, x + y")
    return "\n".join(lines)


def _block(statements: Callable[..., None], lines: list[str], indent: str, rng: np.random.Generator) -> None:
    """Statements under an error state, in a loop, or in front of a handler."""
    kind = rng.integers(4)
    if kind == 0:
        lines.append(f"{indent}with np.errstate({rng.choice(['divide', 'all', 'over', 'invalid'])}='ignore'):")
    elif kind == 1:
        lines.append(f"{indent}for j in range({rng.choice([3, 20])}):")
    elif kind == 2:
        lines.append(f"{indent}if s > {rng.choice([0.0, 1.6, 3.0])}:")
    else:
        lines.append(f"{indent}try:")
    statements(indent + "    ", int(rng.integers(1, 4)), True)
    lines.append(f"{indent}    s = s + 0.5")
    if kind == 3:
        lines += [f"{indent}except (IndexError, FloatingPointError):", f"{indent}    return -x, x + y"]


def arguments(rng: np.random.Generator, size: int, kind: str) -> list[Any]:
    """Arguments, ordinary ones or such that something is out of its domain."""
    x, y = rng.uniform(0.6, 2.0, size), rng.uniform(0.6, 2.0, size)
    k, m = np.arange(size), np.arange(1, size + 1)
    f, i = 2.0, 3
    place = int(rng.integers(size))
    if kind in ("zero", "negative", "nan", "huge"):
        value = {"zero": 0.0, "negative": -1.0, "nan": np.nan, "huge": 1e300}[kind]
        (x if rng.random() < 0.5 else y)[place] = value
    elif kind == "integer":
        m[place] = 0
    elif kind == "number":
        f = 0.0
    elif kind == "index":
        i = size + 2
    return [x, y, k, m, f, i]


KINDS = (
    "ordinary",
    "ordinary",
    "zero",
    "ordinary",
    "negative",
    "nan",
    "index",
    "huge",
    "integer",
    "number",
    "ordinary",
)


def outcome(function: Callable[..., Any], given: list[Any], state: dict[str, Any]) -> tuple[Any, ...]:
    """The result or the exception, the warnings in order, and the arrays afterwards."""
    given = [v.copy() if isinstance(v, np.ndarray) else v for v in given]
    with warnings.catch_warnings(record=True) as caught, np.errstate(**state):
        warnings.simplefilter("always")
        try:
            result = function(*given)
        except Exception as error:
            result = (type(error).__name__, str(error))
    said = [(w.category.__name__, str(w.message)) for w in caught if not w.category.__name__.startswith("Jitrt")]
    return result, said, [v for v in given if isinstance(v, np.ndarray)]
