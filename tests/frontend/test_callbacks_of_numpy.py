"""Functions of the user's that NumPy calls, and that change something: once in each call, traced or not."""

import numpy as np
import pytest

import jitrt

SEEN = []
COUNTS = {"calls": 0}
GENERATOR = np.random.default_rng(0)


def appends(v):
    SEEN.append(v.sum())


def counts(v):
    COUNTS["calls"] += 1
    return v.sum()


def draws(v):
    return v.sum() + GENERATOR.integers(3)


def with_a_default(v, seen=[]):  # noqa: B006
    seen.append(v.sum())
    SEEN[:] = seen
    return v.max()


def through_a_helper(v):
    appends(v)
    return v.min()


@pytest.mark.filterwarnings("ignore::jitrt.errors.JitrtPerformanceWarning")
@pytest.mark.parametrize("mode", ["0", "1"])
@pytest.mark.parametrize("callback", [appends, counts, draws, with_a_default, through_a_helper])
def test_effects_come_once(callback, mode, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", mode)

    def f(x, callback):
        made = np.apply_along_axis(callback, 0, x)
        return (x * 2 if made.dtype == object else x * 2 + made), made

    def outcomes(function):
        SEEN.clear()
        COUNTS["calls"] = 0
        GENERATOR.bit_generator.state = np.random.default_rng(0).bit_generator.state
        if callback is with_a_default:
            callback.__defaults__[0].clear()
        found = []
        for n in (3, 3, 3, 1, 3, 3):
            result = function(np.arange(500.0 * n).reshape(500, n), callback)
            found.append((repr(result), repr(SEEN), dict(COUNTS)))
        return found

    want = outcomes(f)
    assert outcomes(jitrt.jit(f)) == want


def test_callbacks_that_change_nothing_are_called_by_compiled_functions():
    weights, scale = (0.5, 2.0), 3.0

    def weighted(v):
        return v.sum() * weights[0] + scale

    def f(x):
        return np.exp(x) + np.apply_along_axis(weighted, 0, x)

    fast, x = jitrt.jit(f), np.linspace(0, 1, 20_000).reshape(200, 100)
    for _ in range(4):
        np.testing.assert_allclose(fast(x), f(x))
