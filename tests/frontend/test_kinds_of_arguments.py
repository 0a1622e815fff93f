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
