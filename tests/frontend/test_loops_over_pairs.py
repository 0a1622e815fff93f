"""Loops over products and combinations: they stand for loops in loops."""

import itertools
from itertools import combinations, product

import numpy as np
import pytest
from test_element_loops import agrees

X = np.array([3.0, 5.0, 1.0, 4.0, 0.0, 2.0, 6.0, 5.0])


def concordant(x, n):
    count, pairs = 0, []
    for i, j in itertools.combinations(range(n), 2):
        if x[i] < x[j]:
            count += 1
        else:
            continue
        pairs.append(i * j)
    return count, pairs


def triples(x, n):
    total = 0.0
    for a, b, c in combinations(x, 3):
        total += a * b - c
        x[0] += 1
    return total, x


def whole_pairs(x, n):
    total = 0.0
    for pair in combinations(range(1, n), 2):
        total += x[pair[0]] - pair[1]
    return total


def indices(x, n):
    total = 0.0
    for i, j in product(range(n), range(1, n)):
        total += x[i] * j
        x[i] = j
    return total, x


def elements(x, n):
    total = 0.0
    for a, k in product(x, range(n)):
        total += a * k
        x[k] += 1
    return total, x


def neighbours(x, n):
    total = 0.0
    for k in range(n):
        for i, j in product((-1, 0, 1), (-1, 0, 1)):
            total += x[k] * i + j * k
        for signs in product((-1, 1), repeat=2):
            total += signs[0] * x[k] - signs[1]
    return total


def nothing(x, n):
    count = 0
    for _ in product(range(0), range(n)):
        count += 1
    for _, _ in combinations(range(n - n + 1), 2):
        count += 1
    for _, _ in combinations(range(n, 2), 2):
        count += 1
    return count


def nested(x, n):
    total = 0.0
    for i, j in combinations(range(n), 2):
        for a, b in product(x[:2], range(j)):
            total += (x[i] - x[j]) * a + b
    return total


def until(x, n):
    total = 0.0
    for i, j in product(range(n), range(n)):
        if i > j and x[i] > x[j]:
            break
        total += x[i]
    return total


def drawn(x, n):
    source = np.random.default_rng(n)
    total = 0.0
    for a, b in product(source.random(3), source.random(2)):
        total += a * b
    for a, k in product(source.random(3), range(n)):
        total += a * k
    for a, b in combinations(source.random(4), 2):
        total += a - b
    for i, j in np.ndindex(*(n, 2)):
        total += i * j
    return total, source.random()


def powers(x, n):
    numbers, total = np.arange(n), 0
    for k in range(n):
        if x[k] > 1:
            total += ((numbers - k) ** 2).sum() + ((numbers.astype(np.int8) * 20) ** 3).sum()
    return total, numbers**1, (numbers - 3).astype(np.uint8) ** 5


@pytest.mark.parametrize(
    "function", [concordant, triples, whole_pairs, indices, elements, neighbours, nothing, nested, drawn, powers]
)
def test_is_compiled_and_like_python(function):
    agrees(function, (X.copy(), 5), (X[::-1].copy(), 4), (X.copy(), 1), (X.copy(), 8))


def test_a_loop_that_ends_early_is_left_to_the_tracer():
    agrees(until, (X, 5), (X[::-1].copy(), 4), compiled=False)
