"""Covariances, rounding, and NumPy's functions on lists, in loops."""

import numpy as np
import pytest
from test_element_loops import agrees

import jitrt

X = np.array([3.0, 5.0, 1.0, 4.0, 0.0, 2.0, 6.0, 5.0])


def rounded(x, n):
    total = 0.0
    for k in range(n):
        if x[k] > 1:
            total += np.round(x / 3)[k] + np.round(x[k] / 7, 2) + (x * 1.37).round(1).sum()
        total += np.around(x * 55.5, -1)[k] + np.round(x.astype(np.float32) / 3, 3)[k]
    return total, np.round(x / 3, 2)


def of_lists(x, n):
    found = []
    for k in range(1, n - 1):
        if x[k] > x[k - 1]:
            found.append(k)
    steps = np.diff(found)
    return np.array(found), steps.mean() if len(steps) else 0.0, np.cumsum(found), np.median(found) if len(found) else 0


def correlated(x, n):
    made, table = np.empty((n, 2, 2)), np.outer(x, x) + np.eye(len(x))
    for k in range(n):
        made[k] = np.corrcoef(x[k:] + np.arange(len(x) - k) ** 2, np.arange(len(x) - k))
        table[0, k] += np.cov(table[1:])[0, 0]
    return made, table, np.cov(table, rowvar=False, bias=True), np.cov(table, ddof=0)


@pytest.mark.parametrize("function", [rounded, of_lists])
def test_is_compiled_and_like_numpy(function):
    agrees(function, (X, 5), (X[::-1].copy(), 4), (X * 0 + 2.5, 6), (X, 8))


def test_covariances():
    compiled = jitrt.jit(correlated)
    for n in (5, 4, 5):
        for got, want in zip(compiled(X, n), correlated(X, n)):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14, strict=True)
    assert [loop.what for loop in compiled.explain(X, 5).loops] == ["compiled as a loop"]


@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_has_no_variance():
    compiled = jitrt.jit(correlated)
    for x in (X * 0, X):
        for got, want in zip(compiled(x, 3), correlated(x, 3)):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14, strict=True)
