"""Functions that look at values which are different in every call: what an earlier trace has recorded is used again."""

import warnings

import numpy as np
import pytest

import jitrt

SIZE = 30


def scaled(x, a):
    x = x * 0.5 + np.sqrt(np.abs(x)) - 0.1 * x
    s = x.sum().tolist()
    return np.maximum(x * s + a, 0.0) - s / 3, x.T[::-1] * -0.0


def branches(x, a):
    s = x[0, 0].tolist()
    y = x.T * s
    if s > 0.5:
        y = y + 1
    elif a * s < 0.1:
        y = y - 1.0
    return y.copy(), y[::2] + 0 * s


def writes(x, a):
    x[1:] += x[:-1] * a
    s = x.max().tolist()
    x[x > s / 2] = s
    x *= 1.0
    return x[::3], s


def small_integers(x, a):
    n = (x * 10).astype(np.int8)
    s = x.sum().tolist()
    return n * 3 + 1, n // 2 - 0, x * s, np.float32(s) * n


def newton(x, a):
    for _ in range(3):
        step = (x * x - a) / (2 * x + 1)
        if np.abs(step).max().tolist() < 1e-3:
            break
        x = x - step
    return x


def loops_with_a_number_that_was_looked_at(x, a):
    s = x.sum().tolist() / x.size
    for _ in range(12):
        x = x * s + 0.1
    t = x.max().tolist()
    for k in range(10):
        x = x / t + s * k
    return x


FUNCTIONS = [scaled, branches, writes, small_integers, newton, loops_with_a_number_that_was_looked_at]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function, monkeypatch, without_procedures):
    monkeypatch.setattr("jitrt.policy.TRACE_AGAIN", -(1 << 60))  # it pays for arrays of any size
    fast, rng = jitrt.jit(function), np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", jitrt.JitrtPerformanceWarning)
        for k in range(40):
            x = rng.random((SIZE, SIZE))
            x = x if k % 5 else x.T
            a = float(rng.random())
            mine, plain = x.copy(order="K"), x.copy(order="K")
            found, want = fast(mine, a), function(plain, a)
            for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, want)), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10)
                assert type(one) is type(other) and np.asarray(one).dtype == np.asarray(other).dtype
                assert getattr(one, "strides", None) == getattr(other, "strides", None)
            np.testing.assert_allclose(mine, plain, rtol=1e-10)
    assert any("traced at every call" in str(w.message) for w in caught)
