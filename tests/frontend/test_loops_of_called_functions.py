"""Functions without loops are staged where functions that they call would be unrolled for too long."""

import numpy as np
import pytest

import jitrt

X = np.linspace(0, 1, 200)


def swept(u, n):
    u = u.copy()
    for k in range(n):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) - 0.01 * u[i] * k
    return u


def distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j], d[i, j - 1]) + abs(a[i - 1] - b[j - 1])
    return d[-1, -1]


def smoothed(u, n):
    for k in range(n):
        u = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) * (0.9 + 0.01 * u[k % 7])
    return u


def below(x):
    v = swept(x * 2.0, 30)
    return v + np.sqrt(np.abs(v)), v.sum()


def far(x):
    a, b = (x - x.mean()) / x.std(), x[::-1] * 0.5
    return 1.0 / (1.0 + distance(a, b))


def through(x):
    return below(x)[0][::2] * 3.0


def with_whole_arrays(x):
    return smoothed(x, 700) * 2.0


def with_a_file(x):
    with open(__file__) as file:
        return swept(x, 30) + len(file.name)


@pytest.mark.parametrize("function", [below, far, through, with_whole_arrays])
def test_staged(function):
    compiled = jitrt.jit(function)
    want = function(X)
    for _ in range(3):
        made = compiled(X)
        assert type(made) is type(want)
        for a, b in zip(made if type(made) is tuple else (made,), want if type(want) is tuple else (want,)):
            np.testing.assert_allclose(a, b, rtol=1e-12, strict=True)
    assert "procedure(" in compiled.explain(X).loop


def test_not_staged():
    compiled = jitrt.jit(with_a_file)
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), with_a_file(X), rtol=1e-12, strict=True)
    assert "procedure(" not in compiled.explain(X).loop


def test_keyword_arguments():
    compiled = jitrt.jit(lambda x, n=3: swept(x, n) + 1)
    np.testing.assert_allclose(compiled(X, n=40), swept(X, 40) + 1, rtol=1e-12)
    np.testing.assert_allclose(compiled(X, 40), swept(X, 40) + 1, rtol=1e-12)
