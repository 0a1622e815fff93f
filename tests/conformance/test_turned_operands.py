"""Operands of products that are computed from transposes: they lie in memory as in NumPy."""

import numpy as np
import pytest

import jitrt


def scaled(x, y, w):
    return (2 * x.T) @ y, (-x.T) @ y, np.exp(x.T * 0.1) @ y


def by_a_column(x, y, w):
    return (x.T * w[:, None]) @ y, (w * x).T @ y


def both(x, y, w):
    a = x.T * 0.5
    return a @ y + (a @ x).sum(), a + 1.0, a.T


def of_several(x, y, w):
    a = np.sqrt(np.abs(x.T)) + x.T / 3.0
    return a @ y, np.dot(a, x), y @ a.T


def a_descent(x, y, w):
    for _ in range(4):
        w = w - 0.01 * (2 * x.T @ (x @ w - y) / len(y))
    return w


def of_both_orders(x, y, w):
    other = x.T.copy() + x.T
    return other @ y, (x.T + other) @ y


def in_a_loop(x, y, w):
    total = 0.0
    for k in range(3):
        a = x.T * k + x.T
        total = total + (a @ y)[0]
        w[k % len(w)] += a[0, k % a.shape[1]]
    return total, w


def of_three_axes(x, y, w):
    a = np.stack([x, x * 2]).transpose(2, 0, 1) * 0.5
    return np.tensordot(a, y, axes=([2], [0])), a


FUNCTIONS = [scaled, by_a_column, both, of_several, a_descent, of_both_orders, in_a_loop, of_three_axes]


def facts(value):
    return [(v.shape, v.strides, v.dtype) for v in value if isinstance(v, np.ndarray)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_like_numpy(function):
    compiled = jitrt.jit(function)
    rng = np.random.default_rng(1)
    for shape in [(9, 4), (300, 20), (4, 300), (1, 7), (7, 1), (300, 20), (1, 1), (2000, 40)]:
        x, y, w = rng.standard_normal(shape), rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
            copies = [given.copy("K") if given.base is None else given, y.copy(), w.copy()]
            want, made = function(given, y, w.copy()), compiled(*copies)
            want, made = (v if isinstance(v, tuple) else (v,) for v in (want, made))
            for one, other in zip(want, made):
                np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)
            assert facts(made) == facts(want), shape
