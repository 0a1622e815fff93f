"""Loops with methods of ufuncs, masks of what is computed, arrays in parts, and rows made of several numbers."""

import numpy as np
import pytest
from test_element_loops import agrees

X = np.array([3.0, 1.5, 0.0, 4.0, 2.0, -1.0, 5.0, 3.0])


def states(x, n):
    out = np.zeros((n, 3))
    for k in range(n):
        out[k] = x[k], k, x[k] * 2
    return out


def converted(x, n):
    out = np.zeros((n, 2), np.int32)
    for k in range(n):
        out[k] = [x[k] * 3.7, k]
        out[k, :] = out[k, 1], out[k, 0]
    return out


def swapped(x, n):
    for k in range(n):
        x[k : k + 2] = [x[k + 1], x[k]]
        x[::4] = x[1], x[0]
        x[2:3] = (k,)
    return x


def too_long(x, n):
    for k in range(n):
        x[k] = 9
        x[k : k + 2] = x[0], x[1], x[2]


def accumulated(x, n):
    total = 0.0
    for k in range(n):
        total += np.maximum.accumulate(x[: k + 1])[-1] + np.add.accumulate(x[k:]).sum()
        total += np.multiply.outer(x[:2], x[: k + 1]).sum() + np.multiply.accumulate(x[:k]).sum()
    return total


def accumulated_rows(x, n):
    rows = np.outer(x, x)
    for k in range(n):
        rows[k] = np.minimum.accumulate(rows, axis=k % 1)[k]
        rows[:, k] = np.minimum.accumulate(rows, axis=1)[:, k] + np.add.accumulate(x > k, axis=-1)
    return rows, np.subtract.accumulate(np.arange(n))


def reduced(x, n):
    total = 0.0
    for k in range(n):
        total += np.add.reduce(x[:k]) + np.maximum.reduce(x[k:]) * np.multiply.reduce(x[k : k + 2])
    rows = np.outer(x, x)
    return total, np.add.reduce(rows), np.add.reduce(rows, 1), np.logical_or.reduce(x > 2), np.add.reduce(x > 0)


def of_nothing(x, n):
    total = 0.0
    for k in range(n):
        total += np.maximum.reduce(x[k:k])
    return total


def masked(x, n):
    out = np.full(x.shape, 7.0)
    total = 0.0
    for k in range(n):
        np.divide(x, k - x, out=out, where=x != k)
        total += out[k]
        np.sqrt(x, where=x > 0, out=out)
        total += out[0]
        if x[k] > 1:
            np.add(x[:-1], x[1:], out=x[1:], where=x[1:] > 2)
    return out, total, x


def masked_rows(x, n):
    out = np.zeros((n, len(x)), np.float32)
    for k in range(n):
        np.multiply(x, x[:n, np.newaxis], out=out, where=(x > k)[:n, np.newaxis])
        out[0, k] = k
    return out


def masked_wrongly(x, n):
    out = np.zeros(len(x), np.int64)
    for k in range(n):
        x[k] = 9
        np.add(x, k, out=out, where=x > 2)


def parts(x, n):
    total = 0.0
    for k in range(n):
        first, second = np.split(x, 2)
        total += first[k % 4] * second[0]
        for part in np.array_split(x[k:], 3):
            total += part.sum() + len(part)
        before, behind = np.split(x, [k])
        total += len(before) - behind.sum()
        second[0] = k
    left, right = np.hsplit(np.outer(x, x), 2)
    upper, lower = np.vsplit(np.outer(x, x), 2)
    return total, left + right, upper - lower, x


def uneven(x, n):
    total = 0.0
    for k in range(n):
        total += np.split(x[k:], 2)[0].sum()
    return total


@pytest.mark.parametrize(
    "function", [states, converted, swapped, accumulated, accumulated_rows, reduced, masked, masked_rows, parts]
)
def test_is_compiled_and_like_numpy(function):
    agrees(function, (X, 5), (X[::-1].copy(), 4), (X * 0 + 2.5, 6), (X, 5))


@pytest.mark.parametrize("function", [too_long, of_nothing, uneven])
def test_what_numpy_refuses(function):
    agrees(function, (X, 5), (X[:6], 3))


def test_an_output_that_would_lose_its_kind():
    agrees(masked_wrongly, (X, 5), compiled=False)
