"""Slices ``k:k + 1`` in loops: a row or a column, which is broadcast as such, and at the end of an array nothing."""

import numpy as np
import pytest

import jitrt


def shortest(d):
    d = d.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    return d


def eliminated(d):
    d = d.copy()
    for k in range(len(d)):
        d = d - d[k : k + 1] * d[:, k : k + 1] / (d[k, k] + 1)
    return d


def assigned(d):
    for k in range(len(d)):
        d[k : k + 1] = d[k : k + 1] * 2 + d[0]
    return d


def past_the_end(d):
    total = 0.0
    for k in range(len(d) + 2):
        total += d[k : k + 1].sum()
    return total


def appended(d):
    found = []
    for k in range(len(d)):
        found.append(d[k : k + 1, 0])
    return found


def outcome(function, *args):
    try:
        made = function(*args)
    except (IndexError, ValueError) as error:
        return type(error), str(error)
    return [np.asarray(part).tolist() for part in made] if isinstance(made, list) else np.asarray(made).tolist()


@pytest.mark.parametrize("shape", [(5, 5), (5, 7), (7, 5), (1, 1), (1, 4), (0, 3), (3, 0)])
@pytest.mark.parametrize("function", [shortest, eliminated, assigned, past_the_end, appended], ids=lambda f: f.__name__)
def test_values(function, shape):
    fast = jitrt.jit(function)
    for seed in range(3):
        d = np.random.default_rng(seed).integers(1, 9, shape).astype(float)
        assert outcome(fast, d.copy()) == outcome(function, d.copy())


@pytest.mark.parametrize("last", [2, 4, 5, -1, -2])
def test_ends_from_outside(last):
    def f(x, i):
        total = 0.0
        for k in range(3):
            total += x[i : i + 1].sum() * k
        return total

    fast = jitrt.jit(f)
    for _ in range(3):
        assert fast(np.arange(5.0), last) == f(np.arange(5.0), last)


def test_they_are_compiled_loops():
    fast = jitrt.jit(shortest)
    for n in (20, 20, 31, 20):
        d = np.random.default_rng(n).random((n, n))
        np.testing.assert_array_equal(fast(d), shortest(d))
    assert fast.explain(d).loop
