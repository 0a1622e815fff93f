"""The memory of choices: one of the two bodies runs, so their frames are in the same place."""

import numpy as np
import pytest

import jitrt


def one(x):
    y = np.exp(x)
    z = np.sin(y - y.sum(0))
    return np.cumsum(z / z.max(1)[:, None], axis=0)


def other(x):
    y = np.cos(x)
    return np.cumsum(np.sqrt(np.abs(y - y.mean(0))), axis=1)


def both(flag, x):
    return jitrt.cond(flag, one, other, x)


def nested(flag, x):
    return jitrt.cond(flag, lambda x: jitrt.cond(x[0, 0] > 0.5, one, other, x * 2.0), other, x)


def in_a_loop(flag, x):
    return jitrt.fori_loop(0, 3, lambda k, x: jitrt.cond(flag, one, other, x) * 0.01, x)


def two(flag, x):
    return jitrt.cond(flag, one, other, x) + jitrt.cond(flag, other, one, x)


@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("function", [both, nested, in_a_loop, two])
def test_values(function, debug, monkeypatch):
    monkeypatch.setenv("JITRT_DEBUG", debug)
    compiled = jitrt.jit(function)
    x = np.random.default_rng(0).random((40, 30))
    for flag in (np.True_, np.False_, np.True_):
        for _ in range(2):
            np.testing.assert_allclose(compiled(flag, x), function(flag, x), rtol=1e-10)


@pytest.mark.parametrize(("function", "arrays"), [(both, 1), (nested, 2)])
def test_a_frame_holds_the_larger_of_two_bodies(function, arrays):
    x = np.random.default_rng(0).random((300, 300))
    compiled = jitrt.jit(function)
    compiled(np.True_, x)
    nbytes = compiled.explain(np.True_, x).frame_bytes
    assert arrays * x.nbytes <= nbytes < (arrays + 0.1) * x.nbytes
