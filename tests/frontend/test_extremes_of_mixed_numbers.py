"""Python's ``min`` and ``max`` of numbers that are integers or floats as a run decides: `best = 0`, payoffs."""

import random

import numpy as np
import pytest
from covering import few
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage

BODIES = {
    "the largest so far, from an integer": """
        best = 0
        for k in range(n):
            best = max(best, x[k])
        return best""",
    "the smallest of Python's floats": """
        best = 1
        for k in range(n):
            best = min(float(x[k]) * 2, best, 7)
        return best""",
    "payoffs in a list": """
        v = [max(x[k] - 0.5, 0) for k in range(n)]
        for i in range(n - 1, 0, -1):
            for j in range(i):
                v[j] = max(0.5 * (v[j] + v[j + 1]), x[j] - 1)
        return v, min(v), v[0]""",
    "a sum of such": """
        total = 0
        for k in range(n):
            total += max(x[k] - 1, 0) * min(u[k], 0.5)
        return total""",
}


def outcome(function, args):
    with np.errstate(all="ignore"):
        try:
            return repr(function(*args))
        except Exception as error:
            return type(error), str(error)


@pytest.mark.parametrize("name", BODIES)
def test_as_python(name):
    function = function_of(f"def f(x, u, n):{BODIES[name]}\n")
    x, u = np.random.default_rng(0).standard_normal((2, 20)).round(1)
    stage(function, (x, u, 20), True)  # which raises where it is not staged
    fast = jitrt.jit(function)
    for n in (20, 5, 0, 20, 1, 2, 3):
        for given in (x, -np.abs(x), np.abs(x)):
            assert outcome(fast, (given, u, n)) == outcome(function, (given, u, n))
    assert fast.explain(x, u, 20).loop


def program(seed):
    """A function whose variables and list elements are integers and floats, Python's and NumPy's."""
    r = random.Random(seed)
    places = ["a", "b", "v[0]", "v[k % 3]", "v[2]"]
    atoms = [*places, "0", "1", "-2", "0.0", "-0.0", "1.5", "x[k]", "float(x[k])", "u[k]", "int(u[k])", "k", "w[1]"]

    def expression(depth=0):
        kind = r.random()
        if kind < 0.3 or depth > 2:
            return r.choice(atoms)
        parts = [expression(depth + 1) for _ in range(3)]
        if kind < 0.65:
            return f"{r.choice(['max', 'min'])}({', '.join(parts[: r.choice([2, 2, 3])])})"
        if kind < 0.9:
            return f"({parts[0]} {r.choice('+-*')} {parts[1]})"
        return f"({parts[0]} if {parts[1]} {r.choice(['<', '>', '<=', '=='])} {parts[2]} else {r.choice(atoms)})"

    lines = [f"a, b = {r.choice(['0', '0.0', '-1'])}, {r.choice(['0', '1.0', 'x[0]'])}", "v = [0, 0.0, 1]"]
    lines += ["w = [max(x[k] - 0.5, 0) for k in range(n)]", "for k in range(n):"]
    for _ in range(r.randint(1, 3)):
        lines.append(f"    {r.choice(places)} {r.choice(['=', '=', '+=', '*='])} {expression()}")
    lines += ["    if abs(a) > 1e3: a = 1", "    if abs(b) > 1e3: b = -1.0"]
    lines += [
        "    for q in range(3):",
        "        if abs(v[q]) > 1e3: v[q] = 0",
        "return a, b, v, w[0], max(a, b), min(v)",
    ]
    return function_of("def f(x, u, n):\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("seed", few(range(60), 12))
def test_random_programs(seed):
    function = program(seed)
    fast = jitrt.jit(function)
    for call, n in enumerate((7, 12, 3)):
        rng = np.random.default_rng(10 * seed + call)
        x, u = rng.standard_normal(n).round(1), rng.integers(-3, 4, n)
        x[0] = (0.0, -0.0, 0.5)[call]
        assert outcome(fast, (x, u, n)) == outcome(function, (x, u, n))
