"""Functions with loops that get arguments of other kinds in other calls: a number is not a list of such numbers."""

import random

import numpy as np
import pytest

import jitrt

X = np.linspace(0, 1, 700)
KINDS = [
    3, 1.5, True, None, 2j, "a", np.int64(4), np.float64(2.5), np.arange(3.0), np.array(2.0),
    [1, 2], [1.5], [True, False], [], [np.int64(4)], [(1, 2)], [(1.5, 2)], ["a"], [None], [[1, 2]], (1, 2), (1.5,), (),
]  # fmt: skip


def multiplied(x, n):
    total = 0.0
    for v in x:
        total += v * n
    return total


def counted(x, n):
    total = 0.0
    for v in x:
        total += v * len(n)
    return total


def asked(x, n):
    total = 0.0
    for v in x:
        if isinstance(n, list):
            total += v
        elif n is None or n:
            total -= v
    return total


def visited(x, n):
    total = 0.0
    for m in n:
        for k in range(len(x)):
            total += x[k] * m
    return total


def outcome(function, n):
    try:
        return repr(function(X, n))
    except Exception as error:
        return repr(error)


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("function", [multiplied, counted, asked, visited])
def test_kinds(function, seed):
    """In any order, each of them several times: calls come to be served by native code."""
    compiled, kinds = jitrt.jit(function), KINDS * 2
    random.Random(seed).shuffle(kinds)
    for n in kinds:
        want = outcome(function, n)
        for _ in range(3):
            assert outcome(compiled, n) == want, n


def replaced(x, values):
    x[: len(values)] = values[::-1]
    for k in range(len(x)):
        x[k] += 1
    return x


def put(x, values):
    for k in range(len(x)):
        x[k] = values[1:]
    return x


def ends(x, values):
    x[:2] = [values[0], values[-1]]
    return x * 2


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "?"])
@pytest.mark.parametrize("function", [replaced, put, ends])
def test_lists_in_place_of_elements(function, dtype):
    compiled = jitrt.jit(function)
    for values in ([1, 2], [300, 2**53 + 1], [2.0, 0.5], [1.5, float("nan")], [True, False], [1.5, 2], [1] * 9):
        want, got = (np.arange(5).astype(dtype) for _ in range(2))
        found = []
        for call, x in ((function, want), (compiled, got)):
            try:
                found.append(repr(call(x, values)))
            except (TypeError, ValueError, OverflowError) as error:
                found.append(repr(error))
        assert found[0] == found[1]
        assert want.tobytes() == got.tobytes()
