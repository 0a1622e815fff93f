"""Recursions keep in registers what the next iteration loads, and compute what they computed."""

import itertools

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage
from jitrt.ir.integers import Poly
from jitrt.ir.loops import External, For, Load, Parameter, Procedure, Store
from jitrt.ir.verify import verify
from jitrt.passes.carried import carry


def carried(function, *args):
    procedure = carry(stage(function, args).procedure)
    verify(procedure)
    return str(procedure).count("get carried")


def agrees(function, *calls):
    fast = jitrt.jit(function)
    for args in itertools.chain(calls, calls):
        mine, its = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
        got, want = [], []
        for made, run, given in ((got, fast, mine), (want, function, its)):
            try:
                with np.errstate(all="ignore"):
                    made.append(run(*given))
            except Exception as error:
                made.append((type(error), str(error)))
        assert repr(got) == repr(want)
        for a, b in zip(mine, its):
            assert not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes()
    assert fast._loops.source(calls[-1])


# What stands before the load, the load, what is computed of it, the store, and whether it is carried.
LOOPS = {
    "forwards": ("range(1, n)", "", "x[i - 1]", "x[i]", True),
    "backwards": ("range(n - 2, -1, -1)", "", "x[i + 1]", "x[i]", True),
    "every third": ("range(3, n, 3)", "", "x[i - 3]", "x[i]", True),
    "one cell": ("range(m)", "", "x[0]", "x[0]", True),
    "one cell of a loop that does not stop": ("range(len(y))", "", "x[0]", "x[0]", None),
    "two back": ("range(2, n)", "", "x[i - 2]", "x[i]", False),
    "the other way": ("range(n - 1)", "", "x[i + 1]", "x[i]", False),
    "behind an index that may be out of range": ("range(1, m)", "", "x[i - 1]", "x[i]", True),
    "behind continue": ("range(1, n)", "if abs(y[i]) > 3: continue", "x[i - 1]", "x[i]", False),
    "behind break": ("range(1, n)", "if abs(y[i]) > 4: break", "x[i - 1]", "x[i]", True),
    "where break comes first": ("range(1, m)", "if i >= n: break", "x[i - 1]", "x[i]", True),
    "with another store": ("range(1, n)", "x[i // 2] = y[i]", "x[i - 1]", "x[i]", False),
    "with a choice": ("range(1, n)", "if abs(y[i]) > 2: x[i - 1] = 1", "x[i - 1]", "x[i]", False),
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "c16"])
@pytest.mark.parametrize("name", LOOPS)
def test_recursions(name, dtype):
    header, before, load, store, is_carried = LOOPS[name]
    computed = f"{load} + y[i]" if dtype == "c16" else f"min(y[i], {load}) + y[i - 1]"
    function = function_of(
        f"def f(x, y, n, m):\n    for i in {header}:\n        {before or 'pass'}\n        {store} = {computed}\n"
    )
    rng = np.random.default_rng(0)
    calls = []
    for n in (5, 0, 1, 2, 3, 9):
        x, y = (rng.integers(0, 6, n + 1).astype(dtype) for _ in range(2))
        calls += [(x, y, n, n + 1), (x, y, n, n + 5), (x[::2], y, len(x[::2]) - 1, n)]
    if is_carried is not None:
        assert bool(carried(function, *calls[0])) == is_carried
    agrees(function, *calls)


def nested(d, s, t):
    for i in range(1, len(s)):
        for j in range(1, len(t)):
            cost = 0 if s[i] == t[j] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d


@pytest.mark.parametrize("dtype", ["i4", "i8", "i2", "u1"])
def test_an_inner_loop_over_a_row(dtype):
    rng = np.random.default_rng(1)
    calls = []
    for m, n in ((4, 6), (1, 1), (2, 9), (8, 3), (5, 0)):
        s, t = rng.integers(0, 3, m), rng.integers(0, 3, n)
        calls.append((rng.integers(0, 9, (m, n)).astype(dtype), s, t))
    calls.append((np.full((4, 6), np.iinfo(dtype).max, dtype), *calls[0][1:]))
    agrees(nested, *calls)
    assert carried(nested, *calls[0])


def chain(p):
    n = len(p) - 1
    cost = np.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            cost[i, i + length] = np.inf
            for k in range(i, i + length):
                total = cost[i, k] + cost[k + 1, i + length] + p[i] * p[k + 1]
                cost[i, i + length] = min(cost[i, i + length], total)
    return cost


def test_other_elements_of_an_array_are_loaded_from_it():
    agrees(chain, *[(np.random.default_rng(n).random(n),) for n in (6, 1, 2, 3, 9)])


def test_extremes_are_formed_of_what_is_carried_last():
    procedure = carry(stage(nested, (np.zeros((3, 3), np.int64), *[np.zeros(3, np.int64)] * 2)).procedure)
    last = [line for line in str(procedure).splitlines() if " = min " in line][-1]
    assert last.split()[-2].startswith("carried")


@pytest.mark.parametrize("outside", [External("u", "fill", ("x0",), ("pointer",), np.dtype(int)), None])
def test_functions_outside_may_change_what_was_stored(outside):
    i, dtype = Poly.name("i"), np.dtype(float)
    body = (Load("t", dtype, "x0", 8 * i - 8, "x0"), Store(dtype, "x0", 8 * i, "t", "x0"))
    loop = For("i", Poly.number(1), Poly.name("x0.n0"), 1, (body[0], *([outside] if outside else []), body[1]))
    procedure = Procedure((Parameter("x0", dtype, 1, True),), (loop,), (), ())
    assert ("get carried" in str(carry(procedure))) == (outside is None)
