"""Random loops of scalar arithmetic over the elements of arrays of mixed types agree with plain Python."""

import numpy as np
import pytest
from test_element_loops import outcome, same
from texts import function_of

import jitrt
from jitrt.runtime.stagedloops import LoopEngine

OPERATORS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"]
DTYPES = ["float64", "float32", "int64", "int32", "int8", "uint8", "uint32", "bool"]


def random_loop(seed):
    """The source of a loop of scalar arithmetic on arrays of mixed types, and its arguments."""
    rng = np.random.default_rng(seed)
    dtypes = rng.choice(DTYPES, 2)
    arrays = [(rng.normal(size=6) * rng.choice([3, 40])).astype(np.float64) for _ in dtypes]
    arrays = [
        np.abs(a).astype(t) if t.startswith("u") else (a > 0 if t == "bool" else a.astype(t))
        for a, t in zip(arrays, dtypes)
    ]
    scalars = [int(rng.integers(-3, 9)), float(rng.normal()), np.float64(1.5), np.int8(3), np.float32(0.3), True]
    s, t = (scalars[k] for k in rng.integers(0, len(scalars), 2))
    names = ["x[k]", "y[k]", "x[k - 1]", "s", "t", "2", "0.5", "k", "y[-k]"]
    lines = []
    for number in range(rng.integers(1, 5)):
        a, b = rng.choice(names, 2)
        form = rng.integers(6)
        op = rng.choice(OPERATORS)
        expression = [
            f"{a} {op} {b}", f"{a} {op} {b}", f"min({a}, {b})", f"{a} if {b} > {rng.choice(names)} else {a}",
            f"abs(-{a})", f"int({a}) + {b}",
        ][form]  # fmt: skip
        lines.append(f"v{number} = {expression}")
        names.append(f"v{number}")
    results = ", ".join(f"v{n}" for n in range(len(lines)))
    body = "".join(f"        {line}\n" for line in lines)
    source = (
        f"def f(x, y, s, t, out):\n    k = 0\n    while k < len(x):\n{body}        out[k] = v{len(lines) - 1}\n"
        f"        k += 1\n        if k == len(x):\n            return {results}\n"
        f"    return {', '.join(['0'] * len(lines))}\n"
    )
    return source, (*arrays, s, t, np.zeros(6, rng.choice(["float64", "int64", "float32"])))


def check_random_loop(seed):
    source, args = random_loop(seed)
    function = function_of(source)
    engine = LoopEngine(function)
    assert engine.active
    for k in range(4):
        given = args
        if k == 2:
            given = tuple(a[::-1].copy() if isinstance(a, np.ndarray) else a for a in args)
        want = outcome(function, given)
        got = outcome(lambda *a: engine.call(a), given)
        if got[0] is jitrt.runtime.loopengine.MISS:
            return False
        assert got[2] == want[2], source
        same(got[:2], want[:2])
    return bool(engine.source(args))


def test_random_loops():
    assert sum(check_random_loop(seed) for seed in range(60)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_more_random_loops(block):
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check_random_loop(seed)
