"""What reads an array that is assembled of parts waits for the loops that write them, which it could share."""

import numpy as np
import pytest
from compare import assert_same

import jitrt


def with_reference_class(x):
    e = np.concatenate((np.ones((len(x), 1)), np.exp(x)), axis=1)
    return e / e.sum(1)[:, None]


def largest_taken_off(x):
    e = np.column_stack((np.zeros(len(x)), np.exp(x)))
    return e - e.max(1)[:, None]


def padded(x):
    e = np.pad(np.exp(x), ((0, 0), (1, 1)))
    return e / e.sum(1)[:, None]


def filled(x):
    e = np.empty((len(x), x.shape[1] + 1))
    e[:, 0] = 1
    e[:, 1:] = np.exp(x)
    return e / e.sum(1)[:, None]


def beside(x):
    e = np.hstack((np.sin(x), np.exp(x)))
    return e / e.sum(1)[:, None]


def columns(x):
    e = np.concatenate((np.ones((1, len(x))), np.exp(x.T)))
    return e / e.sum(0)


def shifted(x):
    e = np.concatenate((np.ones((len(x), 1)), np.exp(x)), axis=1)
    return e[:, 1:] - e[:, :-1].sum(1)[:, None], e


def written_over(x):
    e = np.exp(x)
    e[:, 1:] = e[:, :-1] * 2
    e[:, 2:] += e.sum(1)[:, None]
    return e / e.max(1)[:, None]


def neighbours(x):
    p = np.exp(x)
    e = np.concatenate((p[:1], p[1:] + p[:-1]))
    return e[2:] * p[1:-1] + e[:-2] * p[2:]


def neighbours_of_rows(x):
    p = np.exp(x) * np.sin(x)
    e = np.zeros(x.shape)
    e[1:-1] = p[2:] + p[:-2]
    return e[1:] - e[:-1] * p[1:] + p[:-1]


def parts_that_overlap(x):
    p = np.exp(x) * np.sin(x)
    e = np.empty(x.shape)
    e[:-1] = p[1:] + p[:-1]
    e[1:] = p[1:] * p[:-1]
    return e


def three_parts_that_overlap(x):
    p = np.exp(x) * np.sin(x)
    e = np.zeros(x.shape)
    e[:-1] = p[1:] + p[:-1]
    e[1:] = p[1:] * p[:-1]
    e[:-2] = p[2:] - p[:-2]
    return e


PROGRAMS = [
    with_reference_class,
    largest_taken_off,
    padded,
    filled,
    beside,
    columns,
    shifted,
    written_over,
    neighbours,
    neighbours_of_rows,
]


@pytest.mark.parametrize("rows", [3, 100, 944, 20_000])
@pytest.mark.parametrize("f", PROGRAMS)
def test_equal_to_numpy(f, rows):
    fast = jitrt.jit(f)
    rng = np.random.default_rng(rows)
    for _ in range(3):  # what the frame held before is not what the next call is about
        x = rng.standard_normal((rows, 6))
        assert_same(fast(x), f(x), relative=1e-9, least=1.0)


@pytest.mark.parametrize("f", [neighbours, neighbours_of_rows, parts_that_overlap, three_parts_that_overlap])
def test_windows(f):
    fast = jitrt.jit(f)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((400, 1500))
        assert_same(fast(x), f(x), relative=1e-9, least=1.0)
