"""Loops with ufuncs that write to arrays of the caller's: `out` is an argument like any other."""

import numpy as np
import pytest

import jitrt


def option(v, n):
    for step in range(len(v) - 2, -1, -1):
        v[: step + 1] = 0.99 * (0.6 * v[1 : step + 2] + 0.4 * v[: step + 1])
        np.maximum(v[: step + 1], 3.0 - step, out=v[: step + 1])
    return v[0]


def overlapping(x, n):
    total = 0.0
    for k in range(1, n):
        np.add(x[:-1], x[1:], out=x[1:])
        made = np.multiply(x, k, out=(x,))
        made[0] = 0.25
        total += x[-1]
    return total


def by_position(x, n):
    y = np.zeros_like(x)
    for k in range(n):
        np.add(x[::-1], y, y)
        x[k % 3] += y[0]
    return y


def integers(x, n):
    counts = np.zeros(len(x), dtype=np.int32)
    for k in range(n):
        np.add(counts, k, out=counts)
        counts[k % 3] += 1
    return counts


def spread(x, n):
    rows = np.zeros((2, len(x)))
    for k in range(n):
        np.add(x[:1], rows, out=rows)
        rows[0, k % 3] = k
    return rows


def refused(x, n):
    counts = np.zeros(len(x), dtype=np.int64)
    for k in range(n):
        x[k % 3] = 7.0
        np.multiply(x, k, out=counts)


def too_small(x, n):
    place = np.zeros(1)
    for k in range(n):
        x[k % 3] = 7.0
        np.multiply(x, k, out=place)


def absent(x, n):
    total = 0.0
    for k in range(n):
        total += np.multiply(x[k % 3], k, out=None)
    return total


def rolled(x, n):
    u, sums = x.reshape(2, -1), np.zeros(n)
    for k in range(n):
        u = np.roll(u, k - 3) + u * 0.5
        sums[k] = u[0, 0]
    return sums


def outcome(function, args):
    try:
        return function(*args), args
    except Exception as error:
        return (type(error), str(error)), args


FUNCTIONS = [option, overlapping, by_position, integers, spread, refused, too_small, absent, rolled]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_like_numpy(function):
    compiled = jitrt.jit(function)
    for size in (8, 8, 10):
        x = np.random.default_rng(size).random(size) * 5
        np.testing.assert_equal(outcome(compiled, (x.copy(), size)), outcome(function, (x.copy(), size)), strict=True)


@pytest.mark.parametrize("function", [option, overlapping, by_position, integers, absent, rolled])
def test_is_a_loop(function):
    found = jitrt.jit(function).explain(np.arange(8.0), 200)
    assert [loop.what for loop in found.loops] == ["compiled as a loop"]
