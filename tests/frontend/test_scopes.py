"""`np.errstate` and `warnings.catch_warnings` inside of a function hold for what is inside of them and nothing else."""

import warnings

import numpy as np
import pytest

import jitrt

SIZE = 3000
POSITIVE = np.linspace(0.5, 2.0, SIZE)
ZEROS = np.where(np.arange(SIZE) % 7 == 0, 0.0, POSITIVE)
WITH_NAN = np.where(np.arange(SIZE) % 4 == 1, np.nan, POSITIVE)
HUGE = POSITIVE * 1e300


def safe_ratio(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = a / b
    ratio[~np.isfinite(ratio)] = 0
    return ratio


def between(a, b):
    before = a - b
    with np.errstate(divide="ignore"):
        ratio = before / b
    return np.where(np.isfinite(ratio), ratio, 0) + a


def whole(a, b):
    with np.errstate(all="ignore"):
        return np.log(a) + np.sqrt(-b)


def behind(a, b):
    with np.errstate(divide="ignore"):
        inside = np.log(b)
    return inside * 0 + 1.0 / b


def in_front(a, b):
    outside = 1.0 / b
    with np.errstate(divide="ignore"):
        return outside + np.log(b)


def nested(a, b):
    with np.errstate(divide="ignore"):
        x = 1.0 / b
        with np.errstate(over="ignore"):
            y = np.exp(a * 1e3)
        z = np.exp(b * 1e3)
    return x, y, z


def stricter(a, b):
    try:
        with np.errstate(divide="raise"):
            return a / b
    except FloatingPointError:
        return np.zeros_like(a)


def raising(a, b):
    outside = 1.0 / b
    with np.errstate(divide="raise"):
        return outside + np.log(a + 1e4)


def twice_the_same(a, b):
    with np.errstate(divide="ignore"):
        x = a / b
    return x, a / b


def looks_inside(a, b):
    with np.errstate(divide="ignore"):
        x = a / b
        if np.isinf(x).any():
            x = np.where(np.isinf(x), 0.0, x)
    return x * 2


def in_a_loop(a, b):
    total = a
    for k in range(3):
        with np.errstate(divide="ignore"):
            total = total + np.log(b * k)
    return total


def around_a_loop(a, b):
    with np.errstate(all="ignore"):
        for _ in range(20):
            a = a * 0.5 + 1.0 / b
    return a


def helper(b):
    with np.errstate(divide="ignore"):
        return 1.0 / b


def in_a_helper(a, b):
    return helper(b) + np.log(b)


def nan_mean(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=RuntimeWarning)
        means = np.nanmean(np.stack([a, np.full(SIZE, np.nan)]), axis=1)
    return a - means[0]


def silent_division(a, b):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        x = a / b
    return x + 1


def silent_for_others(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return a / b


def handled_inside(a, b):
    with np.errstate(over="raise"):
        try:
            big = np.exp(a * 1000)
        except FloatingPointError:
            big = np.zeros(SIZE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return big * 0 + b * 2


def the_same_sums(a, b):
    c = np.cos(b)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = (a + b) / (1 + c) + np.log(a)
    return inside, a + b, 1 + c, np.sqrt(b)


def the_same_in_both(a, b):
    with np.errstate(divide="ignore"):
        x = np.exp(a) * b
        y = np.sqrt(a - b)
    with np.errstate(over="ignore"):
        z = np.sqrt(a - b) + a / (b + 1)
    with np.errstate(divide="raise"):
        return x + np.exp(a) * b, z + np.sqrt(a - b), y


FUNCTIONS = [
    the_same_sums, the_same_in_both,
    safe_ratio, between, whole, behind, in_front, nested, stricter, raising, twice_the_same, looks_inside, in_a_loop,
    around_a_loop, in_a_helper, nan_mean, silent_division, silent_for_others, handled_inside,
]  # fmt: skip
ARGUMENTS = {
    "positive": (POSITIVE, POSITIVE),
    "zeros": (POSITIVE, ZEROS),
    "negative": (-POSITIVE, ZEROS),
    "nan": (WITH_NAN, ZEROS),
    "huge": (HUGE, POSITIVE),
    "integers": (np.arange(SIZE) % 50, np.arange(SIZE) % 7),
}


def outcome(function, args):
    """The result, and the warnings and errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(*(a.copy() for a in args))
        except FloatingPointError as error:
            value = str(error)
    return value, sorted({str(w.message) for w in caught})


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("state", [{}, {"all": "ignore"}, {"all": "raise"}, {"divide": "raise"}], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_exceptions_are_those_of_numpy(function, state):
    compiled = jitrt.jit(function)
    for name in ("positive", "zeros", "negative", "positive", "nan", "huge", "zeros"):
        with np.errstate(**state):
            got, want = outcome(compiled, ARGUMENTS[name]), outcome(function, ARGUMENTS[name])
        assert got[1] == want[1], name
        assert type(got[0]) is type(want[0])
        if isinstance(want[0], str):
            assert got[0] == want[0]
        else:
            np.testing.assert_allclose(got[0], want[0], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_run_compiled(function):
    assert not jitrt.jit(function).explain(POSITIVE, ZEROS).plain_reason


def test_what_is_inside_runs_in_kernels_although_it_raises():
    compiled = jitrt.jit(safe_ratio)
    calls = []

    def counted(a, b):
        calls.append(1)
        return safe_ratio(a, b)

    compiled(POSITIVE, ZEROS)
    compiled._function = counted  # what runs plain from now on
    compiled(POSITIVE, ZEROS)
    assert not calls


def test_a_block_is_cut_off_only_where_exceptions_differ():
    def cuts(function):
        return jitrt.jit(function).explain(POSITIVE, ZEROS).looked_at

    assert not cuts(safe_ratio) and not cuts(whole) and not cuts(around_a_loop) and not cuts(behind)
    assert len(cuts(raising)) == 1 and "np.errstate" in cuts(raising)[0] and "test_scopes.py" in cuts(raising)[0]


def test_the_error_state_and_the_filters_are_as_before():
    state, filters = np.geterr(), list(warnings.filters)
    compiled = jitrt.jit(nan_mean)
    for _ in range(3):
        compiled(POSITIVE, POSITIVE)
        jitrt.jit(between)(POSITIVE, POSITIVE)
        assert np.geterr() == state and warnings.filters == filters


def records(a):
    with warnings.catch_warnings(record=True) as caught:
        x = a + 0.5
    return x, len(caught)


def turns_into_errors(a):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return a + 1


def without_a_scope(a):
    warnings.simplefilter("ignore")
    return a + 1


def calls_back(a):
    with np.errstate(divide="call", call=print):
        return a + 1


@pytest.mark.parametrize("function", [records, turns_into_errors, calls_back], ids=lambda f: f.__name__)
def test_others_run_plain(function):
    compiled = jitrt.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(POSITIVE)[0], function(POSITIVE)[0])
    assert compiled.explain(POSITIVE).plain_reason


def test_filters_outside_of_a_block_run_plain():
    with warnings.catch_warnings():
        compiled = jitrt.jit(without_a_scope)
        np.testing.assert_array_equal(compiled(POSITIVE), POSITIVE + 1)
        assert warnings.filters[0][0] == "ignore" and compiled.explain(POSITIVE).plain_reason


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_constants_that_overflow_in_front_of_a_scope(dtype):
    """They depend on no argument, and are computed under their own error state all the same."""

    def function(a, n):
        a[...] = 1e300
        with np.errstate(all="ignore"):
            product = n * 2
        return product

    compiled = jitrt.jit(function)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="overflow encountered in cast"):
            assert compiled(np.zeros((5, 9), dtype), np.int64(2)) == 4
