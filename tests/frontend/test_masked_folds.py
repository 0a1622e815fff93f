"""Folds of the elements that a mask chooses: over the whole array, without the array of those elements."""

import itertools
import warnings

import numpy as np
import pytest

import jitrt

RNG = np.random.default_rng(5)
FOLDS = {
    "sum": lambda x, m: x[m].sum(),
    "prod": lambda x, m: np.prod(x[m]),
    "mean": lambda x, m: x[m].mean(),
    "var": lambda x, m: np.var(x[m], ddof=1),
    "std": lambda x, m: x[m].std(),
    "max": lambda x, m: x[m].max(),
    "min": lambda x, m: np.min(x[m]),
    "any": lambda x, m: x[m].any(),
    "all": lambda x, m: np.all(x[m]),
    "of a function": lambda x, m: (np.abs(x[m]) + 1).mean(),
    "axis": lambda x, m: (x[m].sum(axis=0), x[m].mean(axis=0), x[m].max(axis=0), x[m].std(axis=-x[m].ndim)),
    "no fold": lambda x, m: (np.count_nonzero(x[m]), np.median(x[m]), x[m].mean(keepdims=True)),
}  # fmt: skip
TOLERANCES = {"e": 1e-2, "f": 1e-4, "F": 1e-4}
DTYPES = "? b B h i l L e f d F D".split()


def outcome(function, *args):
    """What a call gives, and the warnings and the exception with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = function(*args)
        except Exception as error:
            made = type(error), str(error)
    return made, [str(w.message) for w in caught]


def assert_alike(got, want):
    (got, noted), (want, warned) = got, want
    assert noted == warned
    assert type(got) is type(want)
    for x, y in zip(*(v if type(v) is tuple else (v,) for v in (got, want))):
        assert type(x) is type(y)
        if isinstance(x, (np.ndarray, np.generic)):
            assert x.dtype == y.dtype and np.shape(x) == np.shape(y)
            np.testing.assert_allclose(x, y, rtol=TOLERANCES.get(x.dtype.char, 1e-12))
        else:
            assert x == y


def arrays(dtype):
    for shape in ((7,), (40,), (6, 5), (3, 4, 5)):
        x = (RNG.normal(size=shape) * 9).astype(dtype)
        yield x
        if dtype in "fdFD":
            for special in ([np.nan, -0.0], [np.inf, -0.0], [-np.inf]):  # inf - inf warns, where the order has it
                with_special = x.copy()
                with_special.flat[1::3] = np.resize(special, x.flat[1::3].shape)
                yield with_special
        yield x[::-1][1:]


@pytest.mark.wide
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_like_numpy(name, dtype):
    fast = jitrt.jit(FOLDS[name])
    for x in arrays(dtype):
        for ndim, kind in itertools.product(range(1, x.ndim + 1), ("some", "none", "all", "first")):
            mask = RNG.random(x.shape[:ndim]) < {"some": 0.5, "none": -1, "all": 2}.get(kind, -1)
            mask.flat[0] |= kind == "first"
            for _ in range(2):
                assert_alike(outcome(fast, x, mask.copy()), outcome(FOLDS[name], x, mask.copy()))


def test_no_array_is_made():
    fast = jitrt.jit(lambda x: (x[x > 0.5].mean(), x[x < 0.2].std(ddof=1), np.log(x[x > 0]).max()))
    x = RNG.random(1000)
    assert_alike(outcome(fast, x), outcome(fast.__jitrt_function__, x))
    assert not fast.explain(x).traced.host_calls


@pytest.mark.wide(times=3)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.logical_and])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", bool, None])
@pytest.mark.parametrize("of", ["f8", "f4", "i4", "b1"])
def test_the_dtype_of_a_ufuncs_fold(ufunc, dtype, of):
    def folded(x):
        return ufunc.reduce(x, axis=0, dtype=dtype)

    x = np.arange(6).reshape(2, 3).astype(of)
    try:
        expected = folded(x)
    except TypeError:
        return
    found = jitrt.jit(folded)(x)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
