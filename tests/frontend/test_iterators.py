"""Loops over what `itertools`, `map` and ranges of steps give, and functions of integers that `math` has."""

import functools
import itertools
import math
import operator
from itertools import accumulate, pairwise

import numpy as np
import pytest
from test_element_loops import agrees

X = np.random.default_rng(0).normal(size=30)
K = np.random.default_rng(1).integers(0, 30, 30)


def of_itertools(x, n):
    s = 0.0
    for a, b in itertools.pairwise(x):
        s += a * b
    for a, b in pairwise(range(0, n, 3)):
        s += a * b
    for k, v in zip(itertools.count(), x):
        s += k * v
    for k in itertools.count(n):
        if k * k > 1000:
            break
        s += k
    for sign, v in zip(itertools.cycle([1, -1, 2]), x):
        s += sign * v
    for v in itertools.islice(x, 3):
        s *= 1.5 + v
    for v in itertools.islice(x, 1, n, 2):
        s += v
    for v in itertools.islice(x, n):
        s -= v
    for v in itertools.repeat(0.5, n):
        s *= v
    for v in itertools.accumulate(x):
        s += v
    for v in accumulate(x, max):
        s += v
    return s, k


def of_steps(x, n):
    s = 0
    for k in reversed(range(0, n, 3)):
        s = s * 2 % 1001 + k
    for k in reversed(range(n, 0, -2)):
        s = s * 2 % 1001 + k
    for j, k in enumerate(range(1, n, 4)):
        s += j * k
    for k, v in zip(range(0, 100, 5), x):
        s += int(v * k)
    for j, k in enumerate(reversed(range(n, -3, -2)), 5):
        s += j * k
    return s


def of_map(x, n):
    s = 0.0
    for v in map(abs, x):
        s += v
    for v in map(lambda a, b: a * b, x, x[1:]):
        s += v * n
    return s, list(map(float, x)), sum(map(math.sqrt, map(abs, x))), max(map(abs, x))


def of_operators(x, n):
    out = []
    for k in range(len(x)):
        out.append(operator.sub(x[k], n) * operator.floordiv(k, 3) + operator.pow(x[k], 2))
    for v in itertools.accumulate(x, operator.mul):
        out.append(v)
    for v in map(operator.truediv, x, x[1:]):
        out.append(v)
    return out, functools.reduce(operator.add, x)


@pytest.mark.parametrize("function", [of_itertools, of_steps, of_map, of_operators])
def test_loops_over_iterators(function):
    short = X[:1], X[:0], X.astype(np.float32)
    agrees(function, (X, 4), (X, 70), *((x, n) for x in short for n in (5, 0, -3)), (X, 7))


def test_functions_of_integers():
    def of_pairs(x, y):
        out = []
        for a, b in zip(x, y):
            out.append((math.gcd(a, b), math.lcm(a, b), math.comb(a, b), math.perm(a, b % 9)))
        return out

    small = K % 9
    agrees(of_pairs, (K, K[::-1].copy()), (small.tolist(), K.tolist()), (small.astype(np.int32), K.astype(np.int8)))
    agrees(of_pairs, (K - 5, K), (K * 1000, K), (K[:0], K), compiled=True)


def test_large_binomial_coefficients_are_no_reason_to_stop():
    def row(n):
        out = []
        for k in range(n + 1):
            out.append(math.comb(n, k))
        return out

    fast = agrees(row, (5,), (60,), (66,))
    assert not any(loop.stops for loop in fast._loops._all())


def test_numbers_that_are_close():
    def close(x, y, r):
        count = 0
        for a, b in zip(x, y):
            count = count * 2 + math.isclose(a, b) + math.isclose(a, b, rel_tol=r)
            count = (count + math.isclose(a, b, rel_tol=0, abs_tol=r)) % 100_003
        return count, math.isclose(x[0], y[0], rel_tol=r)

    inf, nan = np.inf, np.nan
    odd = np.array([inf, -inf, inf, 1.0, nan, 0.0]), np.array([inf, inf, 1.0, 1 + 1e-10, nan, -0.0])
    agrees(close, (X, X[::-1].copy(), 0.1), (*odd, 0.5), (X, X * 1.01, -0.1), (K, K + 1, 0.2), (X, X * 1.05, 0.1))


def test_bits_of_integers():
    def bits(n, first):
        s = 0
        for k in range(-n, n):
            s += k.bit_count() * 3 + k.bit_length() * (first + k).bit_count()
        return s

    agrees(bits, (4, 1 << 50), (500, -(1 << 40)), (0, 1), (9, 3))
