"""Calls that NumPy makes, with operands and results that were not foreseen; each was found by a probe."""

import math

import numpy as np
import pytest

import jitrt


def agree(function, *calls):
    compiled = jitrt.jit(function)
    for args in calls:
        want, got = function(*args), compiled(*args)
        want, got = (list(v) if isinstance(v, (tuple, list)) else [v] for v in (want, got))
        assert len(want) == len(got)
        for a, b in zip(got, want):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)


def test_split_at_computed_places():
    def groups(x, group):
        return np.split(x[np.argsort(group, kind="stable")], np.flatnonzero(np.diff(np.sort(group))) + 1)

    rng = np.random.default_rng(0)
    agree(groups, *((rng.normal(size=(9, 2)), rng.integers(0, 3, 9)) for _ in range(5)))


LONG = 2**63 - 1  # which no float is


@pytest.mark.parametrize("function", [lambda a, x: x * (a + LONG == LONG), lambda a, x: x + (a + LONG > LONG, a)[0]])
def test_numbers_that_python_compares_are_pythons(function):
    x = np.arange(4.0)
    agree(function, (3.0, x), (0.0, x), (3.0, x), (-1e4, x), (1e30, x))


def test_squares_of_half_precision():
    x = (np.random.default_rng(0).random((9, 5)) * 600).astype(np.float16)
    with np.errstate(over="ignore"):
        agree(lambda x: (x.std(0), x.var(), np.nanstd(x, axis=1), x.mean(0), np.nanmean(x)), (x,), (x,))


def test_lists_that_choose_or_are_chosen_from():
    x = np.array([1.5, -2.0, 3.0])
    agree(lambda x: (np.where([True, False, True], x, 0), np.where(x > 0, [1, 2, 3], x)), (x,), (-x,))
    agree(lambda x: np.where([[True], [False]], [x, x * 2], x[0]), (x,), (-x,))


def test_methods_of_scalars_that_arrays_have_not():
    x = np.array([1.5, -2.0, 3.0])
    agree(lambda x: (x[0].is_integer(), x.sum().as_integer_ratio(), np.int64(x[1]).bit_count()), (x,), (2 * x,), (x,))
    with pytest.raises(AttributeError, match=r"'numpy.float64' object has no attribute 'foo'"):
        jitrt.jit(lambda x: x[0].foo)(x)


def test_types_of_values_are_those_of_numpy():
    def kinds(x, k):
        y = x * 2
        found = [type(v).__name__ for v in (x, y, y[0], y.sum(), y[0] * 1.5, float(k), len(y))]
        if type(y) is np.ndarray and type(y) in (np.ndarray, list) and isinstance(np.ndarray, type):
            y = y + 1
        named = {np.ndarray: "array", np.float64: "number"}
        return y, found, named[type(x)], type(y)([3, 4]).shape, list(map(type, [k, y])) == [float, np.ndarray]

    compiled = jitrt.jit(kinds)
    for args in ((np.arange(4.0), 2.0), (np.arange(5.0), 3.0)):
        got, want = compiled(*args), kinds(*args)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1:] == want[1:]


def test_keys_of_dicts_that_are_computed():
    def groups(x, group, memory):
        sums = {k: x[group == k].sum() for k in np.unique(group)}
        memory[x[0]] = memory[x[0], 1] = x * 2
        return sums, {x[0]: 1, float(x[1]): 2, x.max(): 3}

    compiled = jitrt.jit(groups)
    rng = np.random.default_rng(0)
    for group in (rng.integers(0, 3, 9), rng.integers(0, 3, 9), rng.integers(0, 4, 12), -rng.random(5).round()):
        x = rng.permutation(len(group)) * 0.5
        memories = {}, {}
        got, want = compiled(x, group, memories[0]), groups(x, group, memories[1])
        assert repr(got) == repr(want)
        assert repr(memories[0]) == repr(memories[1])


def test_dates_and_time_spans():
    def calendar(t, x):
        spans = np.diff(t)
        grid = np.arange(t[0], t[-1], np.timedelta64(30, "m"))
        days = t.astype("datetime64[D]")
        return (
            x[np.searchsorted(t, grid, side="right") - 1],
            spans.sum().astype("timedelta64[s]"),
            np.arange(x[0], x[0] + 3),
            [f"{d}: {(days == d).sum()}" for d in np.unique(days)],
            {d: x[days == d].sum() for d in np.unique(days)},
            (t[-1] - t[0]) / np.timedelta64(1, "h"),
        )

    compiled = jitrt.jit(calendar)
    rng = np.random.default_rng(0)
    for _ in range(3):
        t = np.datetime64("2021-03-01T00:00") + np.cumsum(rng.integers(1, 400, 12)).astype("timedelta64[m]")
        x = rng.integers(-9, 9, 12).astype(float)  # whose sums are exact
        assert repr(compiled(t, x)) == repr(calendar(t, x))


def test_vectorized_functions_of_python_numbers():
    x = np.arange(5.0)
    agree(lambda x: np.vectorize(math.erf)(x) + np.vectorize(math.floor, otypes=[float])(x * 2), (x,), (-x,))


def test_arrays_that_numpy_broadcasts_are_not_asked_whether_they_are_written():
    agree(lambda x: np.broadcast_arrays(np.arange(3.0)[:, None], np.arange(2.0))[0].shape[1] * x, (np.ones(2),))
