"""Transposes in tiles: every element once, whatever is left at the edges."""

import itertools

import numpy as np
import pytest

import jitrt

EXTENTS = (70, 64, 97)
SHAPES = [(64, 64), (70, 97), (97, 64), (300, 33), (17, 500), (129, 128)]


def pairs(function, *args):
    want, got = function(*args), jitrt.jit(function)(*args)
    if not isinstance(want, tuple):
        want, got = (want,), (got,)
    return zip(want, got, strict=True)


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("char", "?bhfdFDM")
def test_transposes(shape, char):
    x = np.random.default_rng(0).integers(0, 100, shape)
    x = x.astype("M8[s]") if char == "M" else (x > 50 if char == "?" else x.astype(char))
    y = np.ascontiguousarray(x.T)

    def f(x, y):
        return np.ascontiguousarray(x.T), np.where(y == x.T, y, x.T[::-1]), np.maximum(x.T[:, ::-1], y)

    for want, got in pairs(f, x, y):
        np.testing.assert_array_equal(want, got)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_permutations(axes):
    x = np.random.default_rng(0).normal(size=EXTENTS)
    y = np.ascontiguousarray(x.transpose(axes))
    for want, got in pairs(lambda x, y: (y + x.transpose(axes), y[1:, :-1] * x.transpose(axes)[:-1, 1:]), x, y):
        np.testing.assert_array_equal(want, got)


def test_a_matrix_and_its_transpose_on_threads():
    x = np.random.default_rng(0).normal(size=(700, 700))

    def f(x):
        distance = np.sqrt((x - x.T) ** 2) + x[0] * x[:, :1].T
        return distance, x.T[5:, 3:] + x[:-5, :-3]

    for want, got in pairs(f, x):
        np.testing.assert_array_equal(want, got)
    for several, one in zip(jitrt.jit(f)(x), jitrt.jit(f, threads=1)(x)):
        np.testing.assert_array_equal(several, one)


def test_results_where_a_transposed_temporary_was():
    x = np.random.default_rng(0).normal(size=(100, 100))

    def f(x):
        t, c = np.sqrt(x * x + 1), np.cumsum(x, 1)
        turned = np.cumsum(np.ascontiguousarray(c.T), 0) * 2, (np.cumsum(x, 0).T + 1).T.copy()
        stacked = np.stack([c.T, c.T * 3], axis=1)
        return t.T + 1, t + t.T, *turned, stacked, np.stack([stacked, stacked * 3], axis=1)

    for k in range(6):
        for want, got in pairs(lambda x, k=k: f(x)[k], x):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_loop_nest(golden):
    x = np.ones((100, 100))
    (nest,) = jitrt.jit(lambda x: x + x.T).explain(x).loop_nests
    golden("schedule/in_tiles", str(nest))


@pytest.mark.wide
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1", "c16"])
def test_every_other_element_of_a_transposed_matrix(step, dtype):
    """Small strides are part of the code; where a tile is turned, they are no neighbours all the same."""
    x = (np.random.default_rng(0).random((97, 64 * step)) * 100).astype(dtype)[:, ::step].T
    for function in (lambda x: x.copy() + x[0, 0], lambda x: x.reshape(-1), lambda x: x[::-1] * 2 + np.ones(x.shape)):
        np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))
