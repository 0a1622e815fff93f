"""A donated array keeps its values for as long as a step may fail: the plain function then runs, and needs them."""

import warnings

import numpy as np
import pytest

import jitrt

# What reads x for the last time, and leaves something that wants memory.
FIRST = {
    "a temporary": "t = x * 2.0 + y",
    "a sum": "t = y * x.sum()",
    "two temporaries": "t = np.sort(np.cumsum(x * 2.0, axis=0) + y, axis=0)",
    "a product": "t = (x @ y) * 0.5",
}
# What fails if `bad` holds a 1.
FAILING = {
    "singular": "u = np.linalg.inv(np.eye(64) * (1.0 - bad[0])) + t[::-1]",
    "index": "u = np.take(t, np.arange(64) + (bad[0] > 0.0) * 1000, axis=0) - t",
    "product": "u = ((t[::-1] + 1.0) @ (y + bad[0] * 1e308 * 1e10)) * 0.25 + t",
    "bincount": "u = np.bincount(np.arange(64) - (bad[0] > 0.0) * 1000)[:, None] * t + t[::-1]",
    "check": "u = t[::-1][np.array([0, 63]) + (bad[:1] > 0.0) * 999][:1] + t",
}
LAST = ("return u", "return np.cumsum(u[::-1] * 3.0 + u, axis=0) * x.shape[0]")


def outcome(f, args):
    x = args[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return "", f(*args), x
        except Exception as error:
            return type(error).__name__, None, x


def arguments(bad):
    rng = np.random.default_rng(3)
    return [rng.random((64, 64)), rng.random((64, 64)), np.array([bad, 1.0])]


@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.parametrize("first", FIRST)
def test_the_array_is_whole_when_a_step_fails(first, failing):
    for last in LAST:
        names = {"np": np}
        exec("\n    ".join(["def f(x, y, bad):", FIRST[first], FAILING[failing], last]), names)
        f = names["f"]
        compiled = jitrt.jit(f, donate=("x",))
        for bad in (0.0, 0.0, 1.0, 0.0, 1.0):
            (error, want, before), (found, got, x) = outcome(f, arguments(bad)), outcome(compiled, arguments(bad))
            assert found == error and bool(error) == bool(bad)
            if error:
                np.testing.assert_array_equal(x, before)
            else:
                np.testing.assert_allclose(got, want, rtol=1e-9)
