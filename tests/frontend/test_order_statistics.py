"""Medians and quantiles of long arrays, by selection: NumPy's results, whatever the data and its order."""

import numpy as np
import pytest

import jitrt

RNG = np.random.default_rng(18)
DATA = {
    "uniform": lambda n: RNG.random(n),
    "normal": lambda n: RNG.normal(size=n),
    "in order": lambda n: np.sort(RNG.random(n)),
    "backwards": lambda n: -np.sort(RNG.random(n)),
    "one value": lambda n: np.full(n, 2.5),
    "two values": lambda n: 1.0 + (RNG.random(n) > 0.5),
    "mostly one value": lambda n: np.where(RNG.random(n) > 0.9, RNG.random(n), 0.5),
    "integers": lambda n: RNG.integers(1, 100, n).astype(float),
    "of a period": lambda n: np.resize(np.arange(1.0, 101), n),
    "far apart": lambda n: np.exp(RNG.normal(size=n) * 50),
    "an outlier": lambda n: np.where(np.arange(n) == n // 3, 1e300, RNG.random(n)),
    "halves": lambda n: np.where(np.arange(n) < n // 2, -1.0, 1 + RNG.random(n)),
}
SIZES = [1024, 1025, 1026, 2000, 5001, 40_000]
FUNCTIONS = {
    "median": lambda x: np.median(x),
    "quantile": lambda x: np.quantile(x, 0.99),
    "percentiles": lambda x: np.percentile(x, [0, 5, 50, 62.5, 100]),
    "many": lambda x: np.quantile(x, np.linspace(0, 1, 21)),
    "nanmedian": lambda x: np.nanmedian(x),
}


def same(function, *args):
    """The compiled function, and that it gives what NumPy gives."""
    fast = jitrt.jit(function)
    for _ in range(2):
        want, got = function(*args), fast(*args)
        assert type(got) is type(want)
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()
    return fast


def never_stopped(fast):
    """Whether procedures have served all calls."""
    loops = [loop for loops in fast._loops._loops.values() for loop in loops]
    return bool(loops) and not any(loop.stops or loop.refused for loop in loops)


@pytest.mark.wide
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_statistics_of_long_arrays(name, data):
    for n in SIZES:
        assert never_stopped(same(FUNCTIONS[name], DATA[data](n))), n


@pytest.mark.wide
@pytest.mark.parametrize("dtype", "efbhilBHILq")
@pytest.mark.parametrize("n", [1500, 9000])
def test_medians_of_other_types(dtype, n):
    same(FUNCTIONS["median"], RNG.integers(0, 100, n).astype(dtype))
    same(
        FUNCTIONS["median"], (RNG.random(n) * np.iinfo(dtype).max if dtype not in "ef" else RNG.random(n)).astype(dtype)
    )


@pytest.mark.wide
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 3000), (3000, 3), (40, 60), (2, 3, 1500)])
def test_rows_and_columns(shape, axis):
    x = RNG.normal(size=shape)
    same(lambda x: np.median(x, axis), x)
    same(lambda x: np.quantile(x, 0.3, axis=axis), x)
    same(lambda x: np.median(x, axis), np.asfortranarray(x))
    x.ravel()[::97] = np.nan
    same(lambda x: np.nanmedian(x, axis), x)


def test_what_has_an_order_of_its_own():
    """NumPy keeps the sign of nan, and that of zero depends on how it parts an array."""
    with np.errstate(all="ignore"):
        for n in (50, 5000):
            for sign in (1.0, -1.0):
                x = RNG.random(n)
                x[n // 3] = sign * np.nan
                same(FUNCTIONS["median"], x)
                same(FUNCTIONS["percentiles"], x)
            x = np.where(RNG.random(n) > 0.5, 0.0, -0.0)
            same(FUNCTIONS["median"], x)
            same(FUNCTIONS["percentiles"], x)
            for value in (np.inf, -np.inf):
                x = np.where(RNG.random(n) > 0.6, value, RNG.random(n))
                same(FUNCTIONS["median"], x)
                same(FUNCTIONS["percentiles"], x)


def test_one_function_for_short_and_long_arrays():
    fast = jitrt.jit(FUNCTIONS["percentiles"])
    for n in (10, 100_000, 1000, 1500, 20, 5000):
        x = RNG.random(n)
        assert np.array_equal(fast(x), FUNCTIONS["percentiles"](x))
    assert never_stopped(fast)
