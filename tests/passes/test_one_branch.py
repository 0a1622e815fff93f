"""Of choices between arrays by a number, what is not taken is not computed."""

import warnings

import numpy as np
import pytest

import jitrt

X = np.random.default_rng(4).normal(size=(90, 70))


def two_functions(x, c):
    return np.where(c > 0, np.exp(x) * np.sin(x), np.log(x))


def one_is_the_argument(x, c):
    return np.where(c > 0, x, np.sin(x) * np.exp(x))


def one_is_a_number(x, c):
    return np.where(c > 0, np.exp(x.T)[::-1], 0)


def nested(x, c):
    y = np.exp(x)
    return np.where(c > 0, np.arctan(y) * np.sin(x), np.where(c < -1, np.cos(x), np.tanh(x) ** 0.5)) + y


def one_after_the_other(x, c):
    a = np.where(c > 0, np.exp(x) * np.sin(x), np.float32(1))
    return a, np.where(c < 1, a * np.exp(a), np.sin(a))


def broadcast(x, c):
    return np.where(c > 0, np.exp(x)[:, :1], np.sin(x))


def between_writes(x, c):
    x += 1
    y = np.where(c > 0, np.exp(x), np.log(x))
    x *= 2
    return y + x


def polynomial(i):
    return ((((((((i * i + 1) * i + 2) * i + 3) * i + 4) * i + 5) * i + 6) * i + 7) * i + 8) * i + 9


def of_integers(x, c):
    i = (x * 10).astype(np.int32)
    return np.where(c > 0, polynomial(i), polynomial(i ^ 1)), i


APPLIES = [
    two_functions, one_is_the_argument, one_is_a_number, nested, one_after_the_other, broadcast, between_writes,
    of_integers,
]  # fmt: skip


def silent(function):
    def f(x, c):
        with np.errstate(all="ignore"):
            return function(x, c)

    return f


def told(function, x, c):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(x, c)
    return result, sorted({str(w.message) for w in caught})


def check(fast, function, c, x=X):
    ours, theirs = x.copy(), x.copy()
    (found, ours_told), (wanted, theirs_told) = told(fast, ours, c), told(function, theirs, c)
    assert ours_told == theirs_told
    np.testing.assert_array_equal(ours, theirs)
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted))):
        assert type(a) is type(b) and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5 if x.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(("function", "dtype"), [*((f, "f8") for f in APPLIES), (nested, "f4"), (two_functions, "f4")])
def test_what_is_taken_is_what_numpy_gives(function, dtype):
    plain = silent(function)
    fast, x = jitrt.jit(plain), X.astype(dtype)
    explained = fast.explain(x.copy(), 1.0)
    assert explained.rules["one_branch"] and "if a value is true" in dict(explained.sections())["steps and loop nests"]
    for c in (1.0, -0.5, -2.0, 0.5, np.nan, np.float64(2), np.array(-1.5), 3, -3):
        check(fast, plain, c, x)
    check(fast, plain, 1.0, x[:7])
    check(fast, plain, -1.0, x[:7, ::2])


def test_bits_are_those_of_choices_that_compute_both(monkeypatch):
    for function in APPLIES:
        plain = silent(function)
        taken = [jitrt.jit(plain)(X.copy(), c) for c in (1.0, -0.5)]
        monkeypatch.setenv("JITRT_RULES_OFF", "one_branch")
        fast = jitrt.jit(plain, fastmath=False)
        for found, c in zip(taken, (1.0, -0.5)):
            np.testing.assert_array_equal(fast(X.copy(), c), found)
        monkeypatch.delenv("JITRT_RULES_OFF")


def used_outside(x, c):
    y, z = np.exp(x), np.sin(x)
    return np.where(c > 0, y, z), y, z


def cheap(x, c):
    return np.where(c > 0, x * 2, x + 1)


@pytest.mark.parametrize("function", [two_functions, silent(used_outside), silent(cheap)])
def test_what_numpy_would_tell_of_and_what_costs_little_is_computed(function):
    fast = jitrt.jit(function)
    assert "one_branch" not in fast.explain(X, 1.0).rules
    for c in (1.0, -1.0):
        check(fast, function, c)


def test_conditions_of_several_elements_choose_by_element():
    plain = silent(two_functions)
    assert "one_branch" not in jitrt.jit(plain).explain(X, X[0]).rules
    check(jitrt.jit(plain), plain, X[0])


def test_small_arrays_are_not_worth_a_branch():
    plain = silent(two_functions)
    assert "one_branch" not in jitrt.jit(plain).explain(X[:2, :3], 1.0).rules
    check(jitrt.jit(plain), plain, 1.0, X[:2, :3])
