"""Loops over whole arrays that values end: staged while the arrays are small, traced where they are large."""

import numpy as np
import pytest

import jitrt
from jitrt import policy
from jitrt.frontend.control.stage import stage


def relax(p, tolerance):
    sweeps = 0
    change = 1.0
    while change > tolerance and sweeps < 50:
        old = p.copy()
        p[1:-1] = 0.5 * (old[2:] + old[:-2])
        change = np.abs(p - old).max()
        sweeps += 1
    return sweeps, change


def newton(x, tolerance):
    x = x.copy()
    for k in range(50):  # noqa: B007 (it is returned)
        step = (x * x - 2.0) / (2.0 * x)
        x = x - step
        if np.abs(step).max() < tolerance:
            break
    return x, k


def rolled(a, shift, axis, tolerance):
    a = a.copy()
    change = 1.0
    while change > tolerance:
        b = 0.25 * (np.roll(a, shift, axis=axis) + np.roll(a * a, -1, axis=axis)) + 0.5 * a
        change = np.abs(b - a).mean()
        a = 0.5 * b
    return a, change


@pytest.mark.parametrize("n", [3, 4, 100])
@pytest.mark.parametrize("function", [relax, newton])
def test_results_are_those_of_numpy(function, n):
    fast = jitrt.jit(function)
    for seed in range(3):
        given = [np.random.default_rng(seed).random(n) + 1 for _ in range(2)]
        got, want = (f(a, 1e-3) for f, a in zip((fast, function), given))
        for g, w in zip((*got, given[0]), (*want, given[1])):
            np.testing.assert_allclose(g, w, rtol=1e-13)
        assert fast._loops.serving


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (5, 4), (1, 6), (3, 1), (2, 3, 4)])
@pytest.mark.parametrize("shift", [-9, -1, 0, 1, 3, 8])
def test_rolls_of_any_axis(shape, shift):
    a = np.random.default_rng(3).random(shape)
    for axis in range(-1, len(shape)):
        staged = jitrt.jit(rolled)
        got, want = staged(a.copy(), shift, axis, 0.01), rolled(a.copy(), shift, axis, 0.01)
        for g, w in zip(got, want):
            np.testing.assert_allclose(g, w, rtol=1e-13)
        assert staged._loops.serving


def test_large_arrays_are_left_to_kernels():
    fast = jitrt.jit(relax)
    small, large = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 1.0, 300_000)
    for given in (large, small, large, small):
        mine, its = given.copy(), given.copy()
        assert fast(mine, 1e-9) == relax(its, 1e-9)
        np.testing.assert_array_equal(mine, its)
        assert bool(fast._loops.source((given, 1e-9))) == (given is small)
    assert len(fast._loops._loops) == 1


def test_conditions_of_integers_do_not_count_as_values():
    def counted(x, n):
        k, x = 0, x.copy()
        while k < n:
            x = x * 0.5 + 1.0
            k += 1
        return x

    assert stage(relax, (np.ones(5), 0.1)).is_whole
    with pytest.raises(Exception, match="whole arrays"):
        stage(counted, (np.ones(5), 3))


def logistic(a, y, w, n):
    for _ in range(n):
        p = 1 / (1 + np.exp(-(a @ w)))
        w = w - 0.1 * (a.T @ (p - y))
    return w


def test_what_tracing_leaves_to_the_plain_function_is_staged(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    fast = jitrt.jit(logistic)
    rng = np.random.default_rng(4)
    for rows, columns, n in ((40, 3, 9), (40, 3, 1), (7, 5, 20), (1, 1, 2)):
        given = rng.random((rows, columns)), (rng.random(rows) > 0.5) * 1.0, np.zeros(columns), n
        for _ in range(policy.SMALL_CALLS + policy.CREDIT_FOR_SMALL + 1):  # the first ones wait
            np.testing.assert_allclose(fast(*given), logistic(*given), rtol=1e-12)
        assert fast._loops.serving
        assert not fast.plain_reason


def relaxed(u, f, limit):
    change = limit + 1.0
    while change > limit:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1])
        change = np.abs(new - u).max()
        u = new
    return u


def test_large_arrays():
    """Which are left to the tracer, until that finds that it would record each iteration by itself."""
    fast = jitrt.jit(relaxed)
    rng = np.random.default_rng(1)
    for n, limit in ((400, 0.2), (30, 0.02), (400, 0.3), (410, 0.5)):
        u, f = rng.random((n, n)), rng.random((n, n))
        kept = u.copy()
        for _ in range(2):
            np.testing.assert_array_equal(fast(u, f, limit), relaxed(u, f, limit))
            np.testing.assert_array_equal(u, kept)
        assert fast.plain_reason == ""
    assert [line.fate for line in fast.explain(u, f, limit).loops] == ["compiled as a loop"]
