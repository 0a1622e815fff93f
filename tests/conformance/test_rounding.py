"""np.round to decimals, and products of vectors by their other names: to the bit, with NumPy's warnings."""

import itertools
import warnings

import numpy as np
import pytest

import jitrt

RNG = np.random.default_rng(2)
SPECIAL = np.array([0.0, -0.0, 0.5, 1.5, -2.5, 2.675, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324, 123456.789])
ARRAYS = {
    "d": RNG.normal(size=(7, 9)) * 100, "f": (RNG.normal(size=40) * 9).astype(np.float32), "special": SPECIAL,
    "special f": SPECIAL[[0, 1, 2, 3, 4, 5, 8, 9, 10, 12]].astype(np.float32), "i": RNG.integers(-99, 99, 20),
    "e": np.linspace(-3, 3, 30).astype(np.float16), "D": RNG.normal(size=9) * 1j, "empty": np.empty((0, 3)),
    "strided": RNG.normal(size=(8, 8))[::2, ::-3], "?": RNG.random(9) > 0.5,
    "F": np.asfortranarray(RNG.normal(size=(3, 4))),
}  # fmt: skip


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", jitrt.JitrtPerformanceWarning)
        try:
            made = function(*args)
        except Exception as error:
            return type(error), str(error)
    return made, made.strides, {str(w.message) for w in caught}


def assert_same(got, want):
    if isinstance(want[0], type):
        assert got == want
        return
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_array_equal(np.signbit(got[0].real), np.signbit(want[0].real))
    assert got[1:] == want[1:] and type(got[0]) is type(want[0])


@pytest.mark.parametrize("name", ARRAYS)
def test_rounding(name):
    for decimals in (0, 1, 2, 5, -1, -3, 17, 30, -30):
        for function in (
            lambda x, n=decimals: np.round(x, n),
            lambda x, n=decimals: np.around(x, decimals=n),
            lambda x, n=decimals: x.round(n) + 0,
        ):
            compiled = jitrt.jit(function)
            for _ in range(2):
                assert_same(outcome(compiled, ARRAYS[name]), outcome(function, ARRAYS[name]))


@pytest.mark.parametrize("function", [np.amax, np.amin])
def test_older_names_of_extremes(function):
    for name, axis in itertools.product(ARRAYS, (None, 0, -1)):
        compiled = jitrt.jit(lambda x, axis=axis: function(x, axis=axis))
        assert_same(outcome(compiled, ARRAYS[name]), outcome(lambda x, axis=axis: function(x, axis=axis), ARRAYS[name]))


@pytest.mark.parametrize("function", [np.inner, np.vdot])
def test_products_of_vectors(function):
    x, y = RNG.integers(-9, 9, 30).astype(float), RNG.integers(-9, 9, 30).astype(float)
    pairs = [(x, y), (x.astype(np.float32), y), (x.astype(int), y.astype(int)), (x * 1j, y), (x[:0], y[:0])]
    pairs += [(x, y[:5]), (x.reshape(5, 6), y.reshape(5, 6)), (x.reshape(5, 6), y.reshape(6, 5)), (x[::-2], y[::2])]
    for args in pairs:
        compiled = jitrt.jit(lambda x, y: function(x * 2, y))
        assert_same(outcome(compiled, *args), outcome(lambda x, y: function(x * 2, y), *args))
