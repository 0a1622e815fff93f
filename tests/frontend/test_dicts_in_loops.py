"""Dicts that staged functions make: keys that are added later, arrays in them, variables that hold one or another."""

import numpy as np
import pytest
from texts import function_of

import jitrt

# Bodies of functions of an array `x` and an integer `n`, and whether they are compiled as loops.
BODIES = {
    "keys that are added": (
        """
    res, s = {}, 0.0
    for v in x:
        s += v * n
    res["sum"], res["first"] = s, x[0]
    res["y"] = x * 2
    other = res
    other["n"] = n
    res["sum"] = res["sum"] + 1
    for i in range(n):
        res["first"] += i
    return res, len(res), "n" in res, [k for k in res]""",
        True,
    ),
    "in an iteration": (
        """
    out = []
    for i in range(n):
        d = {}
        d["i"] = i
        d["x"] = x[i % 3]
        out.append(d["i"] * d["x"])
    return out""",
        True,
    ),
    "on some ways": (
        """
    res = {"b": 1}
    for i in range(n):
        res["b"] += i
        if i == 3:
            res["three"] = x[1]
    if n > 5:
        res["c"] = 3
    return res""",
        False,
    ),
    "a variable that holds several": (
        """
    d, total = {"y": x + 0.0}, 0.0
    for k in range(n):
        y = x * k + x[k % 3]
        for i in range(len(x)):
            total += d["y"][i] * y[i]
        d = {"y": y}
    return total""",
        True,
    ),
    "an array that a list holds, too": (
        """
    out, y = [], x * 2
    d = {"y": y}
    for k in range(n):
        out.append(y)
        d["y"][0] = k + x[k % 3]
        if d["y"][0] > 1e9:
            break
    return np.array(out)""",
        False,
    ),
    "an array in a key that is added": (
        """
    out, res, y = [], {}, x * 2
    res["y"] = y
    for i in range(n):
        out.append(y)
    res["y"][0] = 100.0
    res["z"] = y
    return np.array(out), res["z"][0]""",
        False,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_as_python(name):
    body, is_loop = BODIES[name]
    function = function_of(f"def f(x, n):{body}\n")
    compiled = jitrt.jit(function)
    for n in (4, 9, 4, 1):
        for x in (np.arange(1.0, 6), np.linspace(-1, 1, 12)):
            assert repr(compiled(x.copy(), n)) == repr(function(x.copy(), n))
    if is_loop:
        assert compiled.explain(np.arange(1.0, 6), 4).loop


def test_a_procedure_that_always_stops_is_out_of_the_way():
    """Native code calls the plain function then."""
    function = function_of("""
def f(x):
    bad = 0
    for v in x:
        try:
            if v < 0:
                raise ValueError
        except ValueError:
            bad += 1
    return bad
""")
    compiled, x = jitrt.jit(function), np.linspace(-1, 1, 30)
    for _ in range(60):
        assert compiled(x) == 15
    assert not compiled._loops.serving
    assert compiled(np.ones(3)) == 0
