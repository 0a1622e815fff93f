"""Masks of rows beside numbers and slices, in loops."""

import numpy as np
import pytest
from test_element_loops import agrees, outcome

import jitrt

TABLE = np.arange(24.0).reshape(6, 4) % 7
KINDS = np.array([0, 1, 1, 0, 2, 1])


def means(x, y):
    made = np.zeros((3, x.shape[1]))
    for k in range(3):
        for j in range(x.shape[1]):
            part = x[y == k, j]
            made[k, j] = part.mean() if len(part) else -1
        made[k, 0] += x[y >= k, 1:3].sum() + x[y == k, -1].sum() + x[y > 0, k : 3 - k].shape[1]
    return made, x[y == 1, 1::2], x[y == 1, 2]


def assigned(x, y):
    for k in range(3):
        x[y == k, k] = k
        x[y > k, 1:3] += x[0, 1:3]
        x[y == k, 3] = x[y == k, 0] * 2
        if x[k, 0] > 2:
            x[k, 0] -= 1
    return x


def nested(x, y):
    return np.array([[(x[y == c, j] > 2).sum() + 1 for j in range(x.shape[1])] for c in (0, 1)])


def out_of_range(x, y):
    total = 0.0
    for k in range(6):
        total += x[y == 1, k].sum()
    return total


def too_long(x, y):
    total = 0.0
    for k in range(3):
        total += x[: k + 3][y == 1, k].sum()
    return total


@pytest.mark.parametrize("function", [means, assigned, nested])
def test_is_compiled_and_like_numpy(function):
    agrees(function, (TABLE, KINDS), (TABLE[::-1].copy(), KINDS % 2), (TABLE.T.copy().T, KINDS), (TABLE, KINDS * 0))


@pytest.mark.parametrize("function", [out_of_range, too_long])
def test_what_numpy_refuses(function):
    compiled = jitrt.jit(function)
    for args in [(TABLE, KINDS), (TABLE, KINDS * 0)] * 3:
        assert outcome(compiled, args)[::2] == outcome(function, args)[::2]
