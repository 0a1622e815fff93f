"""Byte-swapped and unaligned arrays as kernels and loops read and write them: NumPy's results, compiled."""

import warnings

import numpy as np
import pytest

import jitrt

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "m8[ms]"]


def native(x):
    return x


def swapped(x):
    return x.astype(x.dtype.newbyteorder("S"))


def unaligned(x):
    made = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def field(x):
    table = np.zeros(x.shape, np.dtype([("flag", "i1"), ("value", x.dtype)]))
    table["value"] = x
    return table["value"]


def turned(x):
    return np.asfortranarray(swapped(x))


def every_second(x):
    return unaligned(swapped(np.repeat(x, 2, axis=0)))[::2]


def backwards(x):
    return swapped(x[::-1])[::-1]


FORMS = [swapped, unaligned, field, turned, every_second, backwards]


def values(dtype, shape=(7, 9), seed=3):
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind in "fc":
        made = rng.normal(size=shape).astype(dtype)
        if made.size > 2:
            made.flat[1:3] = np.nan, -0.0
        return made
    info = np.iinfo(dtype) if dtype.kind in "iu" else np.iinfo("i1")
    return rng.integers(max(info.min, -999), min(info.max, 999), shape).astype(dtype)


def folds(x):
    return x.max(axis=0), x.min(axis=1), x.argmax(), x.argmin(axis=1)


def compares(x, y):
    return x == y.T.copy().T, x.T != y.T, np.maximum(x.T, y.T)


def computes(x, y):
    return x * y + x, (x * y).sum(axis=0), np.cumsum(x, axis=0), (x + y.T[0, 0]).T + 0


def parts(value):
    return value if isinstance(value, (list, tuple)) else [value]


def checked(plain, *args, compiled=True):
    """The function's results and its arguments afterwards are as NumPy has them; each argument is a form and values."""
    given, expected = ([form(x.copy()) for form, x in args] for _ in range(2))
    fast = jitrt.jit(plain)
    for _ in range(3):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = fast(*given), plain(*expected)
        for x, y in zip([*parts(got), *given], [*parts(want), *expected]):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            if np.asarray(y).dtype.kind in "fc":  # sums are of another order
                np.testing.assert_allclose(x, y, rtol=64 * np.finfo(np.asarray(y).dtype).eps, atol=1e-6)
            else:
                np.testing.assert_array_equal(x, y)
    if compiled:
        assert fast.plain_reason == "", fast.plain_reason


@pytest.mark.wide
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_read(dtype, form):
    x, y = values(dtype), values(dtype, seed=4)
    checked(compares, (form, x), (native, y))
    checked(compares, (native, y), (form, x))
    for shape in ((0, 3), (3, 0), (1, 1), (70, 90)):
        checked(compares, (form, values(dtype, shape)), (form, values(dtype, shape, 4)))
    if dtype not in ("M8[s]", "c8", "c16"):
        checked(folds, (form, x), compiled=False)
    if np.dtype(dtype).kind in "iufc":
        checked(computes, (form, x), (swapped, y))
    if form in (swapped, unaligned):
        checked(lambda x: x[...] == x, (form, np.array(x[0, 0])))


@pytest.mark.wide
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 9), (300, 200), (0, 2)])
def test_written(dtype, form, shape):
    def halves(x, y):
        x[1:3] = y[:2]
        x[:, ::2] = x[:, ::2][::-1]

    def whole(x, y):
        x[...] = y
        x[y == y[:1]] = y[:1, 0] if len(y) else 0

    def computed(x, y):
        x += y
        x *= 3
        np.subtract(x, y, out=x)
        x[1:] -= x[:-1] * 2

    x, y = (form, values(dtype, shape)), (swapped, values(dtype, shape, 4))
    checked(halves, x, y, compiled=False)
    checked(whole, x, y, compiled=False)
    if np.dtype(dtype).kind in "iufc":
        checked(computed, x, y)


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["?", "i2", "u4", "i8", "f4", "f8", "c8", "c16"])
def test_in_loops(dtype, form):
    def elements(x, y):
        total = x[0, 0]
        for i in range(1, len(x)):
            for j in range(x.shape[1]):
                if x[i, j] != y[i - 1, j]:
                    total = total + x[i, j]
                    y[i, j] = x[i - 1, j]
        return total

    def rows(x, y):
        for i in range(1, len(x)):
            x[i] = x[i - 1] + y[i]
        for row in y:
            row[0] = x[0, 0]

    x, y = (form, values(dtype)), (form, values(dtype, seed=4))
    checked(elements, x, y, compiled=dtype not in ("i2", "c8", "c16"))
    checked(rows, x, y, compiled=False)


def test_arrays_that_loops_make_are_numpys():
    def like(x):
        made = np.zeros_like(x)
        for i in range(len(x)):
            made[i] = x[i] + made[i - 1]
        return made, x.dtype

    for form in (swapped, unaligned):
        got, want = jitrt.jit(like)(form(np.arange(5.0))), like(form(np.arange(5.0)))
        assert got[0].dtype.byteorder == want[0].dtype.byteorder and got[1] == want[1]
        np.testing.assert_array_equal(got[0], want[0])


def test_one_variable_for_arrays_of_both_byte_orders():
    def either(x, y):
        total = 0.0
        for i in range(6):
            z = x if i % 2 else y
            total += z[i] * (i + 1)
        return total

    x = np.arange(6.0)
    assert jitrt.jit(either)(x, swapped(x)) == either(x, x)
    assert jitrt.jit(either)(swapped(x), swapped(x)) == either(x, x)


def test_steps_that_numpy_executes_get_copies():
    def function(x):
        return np.linalg.inv(x) @ x + np.sort(x * 2, axis=0), np.median(x), np.sqrt(x * x)

    x = np.random.default_rng(3).normal(size=(5, 5))
    for form in FORMS:
        given = form(x)
        for one, other in zip(jitrt.jit(function)(given), function(given)):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_values_that_are_looked_at():
    def function(x):
        y = x * 2
        if y.sum() > 0:
            return y + x[0], float(x[0, 1])
        return y - x[0], float(x[1, 0])

    for form in FORMS:
        for sign in (1, -1):
            x = sign * np.arange(1.0, 7).reshape(2, 3)
            checked(function, (form, x))


def test_arrays_that_overlap_themselves():
    def steps(x):
        return np.lib.stride_tricks.as_strided(swapped(x), (3, 4), (8, 8))

    checked(lambda x: np.sqrt(x) * 2 + x, (steps, np.arange(8.0)))


def test_native_calls_tell_layouts_apart():
    fast = jitrt.jit(lambda x: np.sqrt(x * x + 1))
    x = np.arange(600.0)
    for _ in range(4):
        for form in (lambda v: v, swapped, unaligned):
            np.testing.assert_array_equal(fast(form(x)), np.sqrt(x * x + 1))
    assert fast.cache_info().slow_calls <= 3
