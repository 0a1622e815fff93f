"""Calls that NumPy makes, with operands and results that were not foreseen; each was found by a probe."""

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
