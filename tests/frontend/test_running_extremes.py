"""Extremes that loops search, from a bound on that is a number of Python's of another type than the elements."""

import numpy as np
import pytest

import jitrt
from tests.frontend.test_element_loops import agrees, same


def largest(x):
    best = -np.inf
    for v in x:
        if v > best:
            best = v
    return best


def smallest(x):
    best, place = float("inf"), -1
    for i in range(len(x)):
        if x[i] < best:
            best, place = x[i], i
    return best, place


def smallest_of_rows(x):
    best, place = float("inf"), None
    for i in range(len(x)):
        for j in range(2):
            if x[i] * j < best:
                best, place = x[i] * j, (i, j)
    return best, place


def with_infinities(x):
    best, count = -np.inf, 0
    for v in x:
        if v == np.inf:
            count += 1
        if v > np.inf or v >= np.inf:
            count += 1
        if v > best:
            best = v
    return best, count


def from_zero(x):
    best = 0
    for v in x:
        if v > best:
            best = v
    return best


X = np.array([3.0, -2.0, 7.5, 7.5, 0.0, -8.0])
SPECIAL = [np.full(3, -np.inf), np.array([np.nan, 1, 2]), np.array([1, np.nan, np.inf, -0.0]), np.full(2, np.inf)]


@pytest.mark.parametrize("function", [largest, smallest, smallest_of_rows, with_infinities, from_zero])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint8])
def test_extremes(function, dtype):
    special = SPECIAL if np.dtype(dtype).kind == "f" else [np.ones(1)]
    with np.errstate(invalid="ignore"):
        calls = [x.astype(dtype) for x in (X, X[:0], *special, X[::-1], X)]
    stops = function is from_zero and np.dtype(dtype).itemsize == 1  # too often: what is left of the number of Python's
    if not stops:
        agrees(function, *((x,) for x in calls))
        return
    fast = jitrt.jit(function)
    for x in calls:
        same(fast(x), function(x))
