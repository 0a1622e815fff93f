"""Operations on arrays that are loops over elements: choosing, scattering, searching, counting, without NumPy."""

import itertools
import warnings

import numpy as np
import pytest

import jitrt

RNG = np.random.default_rng(11)
DTYPES = "? b H i l L e f d D".split()


def assign_by_index(x, i, v):
    x[i] = v


def add_by_index(x, i, v):
    x[i] += v
    return x


def add_at(x, i, v):
    np.add.at(x, i, v)
    return x


def largest_at(x, i, v):
    np.maximum.at(x, i, v)


def put(x, i, v):
    np.put(x, i, v)


def put_mask(x, m, v):
    np.putmask(x, m, v)


def place(x, m, v):
    np.place(x, m, v)
    return x


def place_a_number(x, m, v):
    np.place(x, m, 3)
    np.place(x, x > 2, np.float64(np.nan) if x.dtype == "d" else True)


def place_a_fraction(x, m, v):
    np.place(x, ~(m > 0), 2.5)
    return x


def assign_by_mask(x, m, v):
    x[m] = v[: np.count_nonzero(m)]


def add_by_mask(x, m, v):
    x[m] += v[m]
    return x


def swap_rows(x, i, v):
    x[[0, 1]] = x[[1, 0]]
    return x[i]


# Functions of an array and a mask of its shape.
CHOOSING = {
    "compressed": lambda x, m: x[m],
    "computed": lambda x, m: x[m] + x[m],
    "length": lambda x, m: (len(x[m]), x[m].size),
    "np.compress": lambda x, m: np.compress(m, x),
    "compress": lambda x, m: x.compress(m),
    "extract": lambda x, m: np.extract(m, x),
    "where": lambda x, m: np.where(m),
    "where of values": lambda x, m: np.where(x),
    "nonzero": lambda x, m: np.nonzero(x),
    "nonzero of a mask": lambda x, m: m.nonzero(),
    "flatnonzero": lambda x, m: np.flatnonzero(x),
    "argwhere": lambda x, m: (np.argwhere(x), np.argwhere(m)),
    "inner": lambda x, m: np.flatnonzero(m)[1:-1] * 2,
    "count": lambda x, m: np.count_nonzero(x[m]),
}
# Functions that change an array: of an array, indices or a mask, and values.
BY_INDEX = [assign_by_index, add_by_index, add_at, largest_at, put, swap_rows]
BY_MASK = [put_mask, place, place_a_number, place_a_fraction, assign_by_mask, add_by_mask]
# Functions of a sorted array and values.
SEARCHING = {
    "left": lambda a, v: np.searchsorted(a, v),
    "right": lambda a, v: a.searchsorted(v, side="right"),
    "first": lambda a, v: np.searchsorted(a, v[0]),
    "number": lambda a, v: np.searchsorted(a, 2),
    "digitize": lambda a, v: (np.digitize(v, a), np.digitize(v, a, right=True)),
    "interp": lambda a, v: np.interp(v, a, a * 2 + 1),
    "interp of one": lambda a, v: np.interp(v[0], a, a),
    "bincount": lambda a, v: np.bincount(v),
    "bincount at least": lambda a, v: np.bincount(v, minlength=5) * 2,
    "bincount of weights": lambda a, v: np.bincount(v, weights=v * 0.5),
    "isin": lambda a, v: (np.isin(v, [1, 3]), np.isin(v, a), np.isin(v, a, invert=True)),
    "unique": lambda a, v: np.unique(v),
    "unique counts": lambda a, v: np.unique(v, return_counts=True),
    "histogram": lambda a, v: np.histogram(v, bins=5),
    "histogram of a range": lambda a, v: np.histogram(v, bins=7, range=(-1, 4))[0],
    "histogram of ones": lambda a, v: np.histogram(v),
}


def outcome(function, *args):
    """What a call gives and leaves in its arguments, its warnings, and the exception."""
    args = [a.copy("K") if a.base is None else _same_layout(a) for a in args]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", jitrt.JitrtPerformanceWarning)
        try:
            made = function(*args)
        except Exception as error:
            made = type(error), str(error)
    return made, args, [str(w.message) for w in caught]


def _same_layout(x):
    base = np.array(x.base)
    view = np.ndarray(x.shape, x.dtype, base, _address(x) - _address(x.base), x.strides)
    assert np.array_equal(view, x, equal_nan=x.dtype.kind in "fc")
    return view


def _address(x):
    return x.__array_interface__["data"][0]


def assert_alike(got, want):
    (got, its, noted), (want, others, warned) = got, want
    assert noted == warned
    compare(got, want)
    for x, y in zip(its, others):
        compare(x, y)


def compare(x, y):
    assert type(x) is type(y)
    if isinstance(x, (tuple, list)):
        assert len(x) == len(y)
        for p, q in zip(x, y):
            compare(p, q)
    elif isinstance(x, (np.ndarray, np.generic)):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(x, y)
    else:
        assert x == y


def values_of(dtype, shape):
    x = np.asarray(RNG.integers(-2, 6, shape)).astype(dtype)
    if dtype in "efdFD":
        x = x + np.asarray(RNG.integers(0, 2, shape) * 0.25).astype(dtype)
    return x.astype(dtype)


def layouts(x):
    """The array in several layouts, as views of others."""
    yield x
    if x.ndim:
        wide = np.repeat(np.repeat(x, 2, 0), 2, -1) if x.ndim > 1 else np.repeat(x, 2)
        yield wide[tuple(slice(None, None, 2) for _ in range(x.ndim))] if x.ndim > 1 else wide[::2]
        yield np.array(x[::-1])[::-1]
        if x.ndim > 1:
            yield np.asfortranarray(x)


def with_special(x):
    yield x
    if x.dtype.char in "fdFD" and x.size > 2:
        special = x.copy()
        special.flat[:: max(x.size // 3, 1)] = np.resize(
            [np.nan, -0.0, np.inf, -np.inf], special.flat[:: max(x.size // 3, 1)].shape
        )
        yield special


@pytest.mark.wide
@pytest.mark.parametrize("name", CHOOSING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_choosing(name, dtype):
    fast = jitrt.jit(CHOOSING[name])
    for shape, share in (((9,), 0.5), ((0,), 1), ((1,), 1), ((70,), 2), ((70,), -1), ((6, 5), 0.5), ((2, 3, 4), 0.5)):
        for x in with_special(values_of(dtype, shape)):
            for array in layouts(x):
                m = RNG.random(shape) < share
                for mask in (m, np.repeat(m, 2, -1)[..., ::2]):
                    assert_alike(outcome(fast, array, mask), outcome(CHOOSING[name], array, mask))


@pytest.mark.wide
@pytest.mark.parametrize("function", BY_INDEX, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scattering(function, dtype):
    fast = jitrt.jit(function)
    indices = [RNG.integers(-7, 7, 7), RNG.integers(0, 7, 30).astype("i4"), np.arange(7)[::-1], np.zeros(0, int)]
    indices += [np.array([0, 7]), np.array([-8, 1]), np.array([1, 1, 1], "u1"), RNG.integers(0, 7, (2, 3))]
    indices += [np.array([True, False] * 3 + [True]), np.array([0.0, 1.0])]
    for k, i in enumerate(indices):
        other = dtype if k % 3 else "d"
        values = values_of(other, i.shape), values_of(other, ()), values_of(other, (5,)), values_of(other, (1,))
        for n, x in enumerate(layouts(values_of(dtype, (7,)))):
            for v in values[(k + n) % 2 :: 2]:
                assert_alike(outcome(fast, x, i, v), outcome(function, x, i, v))
        for x in layouts(values_of(dtype, (7, 3))):
            v = values_of(other, (3,))
            assert_alike(outcome(fast, x, i, v), outcome(function, x, i, v))


@pytest.mark.wide
@pytest.mark.parametrize("function", BY_MASK, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scattering_by_masks(function, dtype):
    fast = jitrt.jit(function)
    others = itertools.cycle((dtype, "d"))
    for shape, share in itertools.product([(7,), (0,), (6, 5)], (0.5, -1, 2)):
        for x, other in zip(layouts(values_of(dtype, shape)), others):
            m = RNG.random(shape) < share
            for mask in (m, m.astype("i1"), m[:3]):
                for v in (values_of(other, shape), values_of(other, (2,)), values_of(other, (0,))):
                    assert_alike(outcome(fast, x, mask, v), outcome(function, x, mask, v))


@pytest.mark.wide
@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_searching(name, dtype):
    function = SEARCHING[name]
    fast = jitrt.jit(function)
    for (n, m), other in zip(itertools.product((5, 1, 0, 40), (9, 1, 0, 150)), itertools.cycle((dtype, "d", "l"))):
        for a in with_special(values_of(dtype, (n,))):
            a = np.sort(a)
            for v in with_special(values_of(other, (m,))):
                for values in (v, np.abs(v), v[::-1], v.reshape(1, -1)):
                    assert_alike(outcome(fast, a, values), outcome(function, a, values))


def test_decreasing_bins():
    fast = jitrt.jit(lambda v, bins: np.digitize(v, bins))
    for bins in ([3.0, 2, 1], [1.0, 3, 2], [1.0, np.nan], [2.0, 2.0], []):
        args = np.array([0.5, 2.0, 9.0]), np.array(bins)
        assert_alike(outcome(fast, *args), outcome(fast.__jitrt_function__, *args))


@pytest.mark.parametrize(
    "function",
    [*CHOOSING.values(), *BY_INDEX, *BY_MASK, *SEARCHING.values()],
    ids=[*CHOOSING, *(f.__name__ for f in (*BY_INDEX, *BY_MASK)), *SEARCHING],
)
def test_are_compiled(function):
    """Warm calls with arrays of numbers run no step of NumPy's, and nothing in Python."""
    x, m = RNG.random(1000), RNG.random(1000) < 0.5
    if function in BY_INDEX:
        args = x, RNG.integers(0, 1000, 1000), RNG.random(1000)
    elif function in BY_MASK:
        args = x, m, RNG.random(1000)
    elif function in CHOOSING.values():
        args = x, m
    else:
        of_integers = not {"bincount", "isin", "unique"}.isdisjoint(function.__code__.co_names)
        v = RNG.random(1000) * 9 if "histogram" in function.__code__.co_names else RNG.integers(0, 60, 1000)
        args = np.arange(100) * (1 if of_integers else 0.5), v
    if function is swap_rows:
        args = RNG.random((1000, 3)), args[1], args[2]
    fast = jitrt.jit(function)
    for _ in range(20):
        fast(*args)
    assert fast.plain_reason == ""
    found = fast.explain(*args)
    assert found.loop or not found.traced.host_calls
    assert fast._dispatch.last() is not None  # what Python serves it forgets


def test_nothing_is_half_written():
    """An index that is out of range, or a floating-point exception, leaves what the plain function leaves."""
    fast = jitrt.jit(add_by_index)
    for bad in (7, -8):
        i = np.array([0, 1, bad])
        for _ in range(30):
            assert_alike(outcome(fast, np.zeros(7), i, np.ones(3)), outcome(add_by_index, np.zeros(7), i, np.ones(3)))
    huge = np.full(3, 1.7e308)
    for _ in range(30):
        args = np.full(7, 1.7e308), np.array([0, 1, 2]), huge
        assert_alike(outcome(fast, *args), outcome(add_by_index, *args))
        with np.errstate(over="raise"):
            assert_alike(outcome(fast, *args), outcome(add_by_index, *args))
        with np.errstate(over="ignore"):
            assert_alike(outcome(fast, *args), outcome(add_by_index, *args))
    good = np.zeros(7), np.array([0, 1, 2]), np.ones(3)
    assert_alike(outcome(fast, *good), outcome(add_by_index, *good))


def test_memory_in_common():
    fast = jitrt.jit(add_by_index)
    x = np.arange(10.0)
    for _ in range(20):
        mine, plain = x.copy(), x.copy()
        i = np.arange(9)
        fast(mine[:-1], i, mine[1:])
        add_by_index(plain[:-1], i, plain[1:])
        np.testing.assert_array_equal(mine, plain)
