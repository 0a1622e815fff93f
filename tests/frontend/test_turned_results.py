"""Functions with loops that give transposed arrays: views, with NumPy's strides."""

import numpy as np
import pytest

import jitrt

X = np.array([3.0, 5.0, 1.0, 4.0, 0.0, 2.0, 6.0, 5.0])


def rows(x, n):
    made = []
    for k in range(n):
        made.append(x[:4] * k)
    return np.array(made).T


def three_axes(x, n):
    made = np.zeros((n, 3, 2))
    for k in range(n):
        made[k, 0, 0] = x[k]
    return np.transpose(made, (1, 2, 0)), x


def twice(x, n):
    made = np.zeros((n, 3))
    for k in range(n):
        made[k, 0] = x[k]
    return made.T.T


def with_itself(x, n):
    made = np.zeros((n, 3))
    for k in range(n):
        made[k, 0] = x[k]
    return made.T, made


def facts(value):
    if isinstance(value, tuple):
        return tuple(map(facts, value))
    return value.tolist(), value.strides, value.flags.owndata, value.flags.writeable, value.base is None


@pytest.mark.parametrize("function", [rows, three_axes, twice, with_itself])
def test_like_numpy(function):
    compiled = jitrt.jit(function)
    for n in (5, 4, 1, 8, 8):
        want, got = function(X.copy(), n), compiled(X.copy(), n)
        assert facts(got) == facts(want)
    if isinstance(got, tuple):
        assert np.shares_memory(*got) == np.shares_memory(*want)


@pytest.mark.parametrize("function", [rows, three_axes, twice])
def test_is_a_loop(function):
    found = jitrt.jit(function).explain(X, 5)
    assert [loop.what for loop in found.loops] == ["compiled as a loop"]
