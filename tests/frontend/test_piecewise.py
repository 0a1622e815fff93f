"""np.piecewise: its functions are traced, and get what their conditions choose, unless that is nothing."""

import warnings

import numpy as np
import pytest

import jitrt

CALLS = []


def root(v):
    return np.sqrt(v) + 1


def noted(v):
    CALLS.append(v.size)
    return v * 2


def summed(v):
    CALLS.append(round(float(v.sum()), 6))
    return v


def cut(v):
    w = v.copy()
    w[v > 0.1] = 0
    return w


PIECES = {
    "functions and a number": lambda x: np.piecewise(
        x, [x < 0.2, (x >= 0.2) & (x < 0.7)], [lambda v: v * v, lambda v: 2 * v, 3.0]
    ),
    "numbers": lambda x: np.piecewise(x, [x < 0.2, x > 0.7], [-1, 1]),
    "one condition": lambda x: np.piecewise(x, x < 0.5, [lambda v: -v, lambda v: v]),
    "functions by name": lambda x: np.piecewise(x, [x < 0.5], [root, np.exp]) * 2,
    "further arguments": lambda x: np.piecewise(x, [x < 0.5], [lambda v, a, b=1: v * a + b, 0], 3, b=2),
    "the largest": lambda x: np.piecewise(x, [x < 0.5, x > 2], [lambda v: v - v.max(), lambda v: v - v.max()]),
    "means": lambda x: np.piecewise(x, [x < 0.5, x > 2], [lambda v: v - v.mean(), lambda v: v.mean()]),
    "where it is positive": lambda x: np.piecewise(x, [x > 0.1], [np.log, lambda v: v * 0]),
    "overlapping": lambda x: np.piecewise(x, [x < 0.5, x < 0.8], [lambda v: v + 1, lambda v: v * 10, np.nan]),
    "lengths": lambda x: np.piecewise(x, [x < 0.5, x > 0.5], [lambda v: v * v.size, lambda v: v / len(v)]),
    "an array of conditions": lambda x: np.piecewise(x, np.array([x < 0.5, x > 0.5]), [1, 2]),
    "conditions that do not fit": lambda x: np.piecewise(x, [x[:1] < 0.5], [1, 2]),
    "too many functions": lambda x: np.piecewise(x, [x < 0.5, x > 3], [1, 2, 3, 4]),
    "a number for each": lambda x: np.piecewise(x, [x < 0.5], [lambda v: 7, lambda v: v]),
    "with effects": lambda x: np.piecewise(x, [x < 0.5, x > 3], [noted, noted]),
    "with sums that are kept": lambda x: np.piecewise(x, [x < 0.5], [summed, 0]),
    "with copies": lambda x: np.piecewise(x, [x < 0.5, x > 3], [cut, 0]),
}
RNG = np.random.default_rng(4)
ARRAYS = [
    RNG.random(500), RNG.random(500), RNG.random((40, 30)), RNG.random(500) * 0.1, RNG.random(500) + 5, np.empty(0),
    np.arange(20), RNG.random(500).astype("f4"), np.float64(0.3), RNG.random(500) * 5 - 1, RNG.random(20_000),
]  # fmt: skip


def outcome(function, x):
    CALLS.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", jitrt.JitrtPerformanceWarning)
        try:
            made = function(x)
        except (ValueError, IndexError) as error:
            made = repr(error)
    return made, list(CALLS), sorted(str(w.message) for w in caught)


def with_work(function):
    """The same with so much around it that not all is left to NumPy."""

    def worked(x):
        z = x
        for _ in range(20):
            z = np.sqrt(z * z + 1) * 0.5
        return function(x) + z

    return worked


@pytest.mark.parametrize("around", [lambda f: f, with_work], ids=["alone", "with work"])
@pytest.mark.parametrize("name", PIECES)
def test_gives_what_numpy_gives(name, around):
    function = around(PIECES[name])
    fast = jitrt.jit(function)
    for x in ARRAYS:
        for _ in range(2):
            (want, calls, warned), (got, its, noted) = outcome(function, x), outcome(fast, x)
            assert (type(got), its, noted) == (type(want), calls, warned)
            if isinstance(want, str):
                assert got == want
            else:
                assert got.dtype == want.dtype
                error = 1e-6 if x.dtype == np.float32 else 1e-12
                np.testing.assert_allclose(got, want, rtol=error, atol=error)


def test_is_one_kernel():
    fast = jitrt.jit(PIECES["functions and a number"])
    for _ in range(3):
        fast(ARRAYS[0])
    found = fast.explain(ARRAYS[0])
    assert len(found.kernels) == 1 and not found.host_calls
