"""Floating-point exceptions: `np.errstate` is honoured at every call, as NumPy honours it."""

import threading
import warnings

import numpy as np
import pytest
from jitrt.kernels import entry as native

import jitrt
from jitrt.runtime import errstate


def ratio(a, b):
    return np.log(a) / b


def several(a, b):
    return a / b, (a * b).sum(), np.sqrt(a)


def with_host_step(a, b):
    return np.sort(a / b) + np.linalg.norm(a)


def with_view(a, b):
    return (a / b)[::2], a


def of_constants(a, b):
    spectrum = np.zeros(50)
    spectrum /= (len(a) - 50) * np.hanning(8).sum()
    spectrum[1:-1] *= 2
    return spectrum + a, np.log(np.arange(50.0)) - b, np.sqrt(np.full(50, -1.0)) * a


ordinary = np.linspace(1.0, 2.0, 50)
zero = np.zeros(50)
large = np.full(50, 1e300)
CALLS = {
    "divide": (ordinary, zero),
    "invalid": (-ordinary, ordinary),
    "both": (zero, zero),
    "over": (large, large),
    "none": (ordinary, ordinary),
}
FUNCTIONS = [ratio, several, with_host_step, with_view, of_constants]


def outcome(function, arguments):
    """Results, and what NumPy said: warnings with their lines, exceptions, or calls of a handler."""
    said = []

    class Log:
        def write(self, text):
            said.append(text)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        previous = np.seterrcall(Log() if "log" in np.geterr().values() else lambda *a: said.append(a))
        try:
            result = function(*arguments)
        except FloatingPointError as error:
            result = str(error)
        finally:
            np.seterrcall(previous)
    return result, said, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


def same(got, want):
    assert got[1:] == want[1:]
    if isinstance(want[0], str):
        assert got[0] == want[0]
        return
    results = [r if isinstance(r, tuple) else (r,) for r in (got[0], want[0])]
    for g, w in zip(*results, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-13)


@pytest.mark.parametrize("how", ["ignore", "warn", "raise", "call", "log"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_errors_are_reported_as_numpy_reports_them(function, how):
    compiled = jitrt.jit(function)
    for _ in range(3):
        for arguments in CALLS.values():
            with np.errstate(all=how):
                got, want = outcome(compiled, arguments), outcome(function, arguments)
            same(got, want)


def test_printing(capfd):
    compiled = jitrt.jit(ratio)
    compiled(ordinary, ordinary)
    with np.errstate(all="print"):
        ratio(zero, zero)
        want = capfd.readouterr()
        compiled(zero, zero)
    assert capfd.readouterr() == want != ("", "")


def test_the_state_is_that_of_the_call():
    compiled = jitrt.jit(ratio)
    with np.errstate(all="ignore"):
        compiled(zero, zero)
    for _ in range(3):
        with pytest.raises(FloatingPointError, match="divide by zero encountered in log"), np.errstate(divide="raise"):
            compiled(zero, ordinary)
        with np.errstate(divide="ignore"):
            compiled(zero, ordinary)
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            compiled(zero, ordinary)


def test_worker_threads_report_theirs():
    def function(a):
        return 1.0 / (a * 2)

    compiled = jitrt.jit(function)
    big = np.ones(2_000_000)
    compiled(big)
    for place in (0, 1, 700_000, 1_300_000, 1_999_999):
        big[place] = 0
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            compiled(big)
        big[place] = 1
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(compiled(big), 0.5)


def test_threads_have_states_of_their_own():
    compiled = jitrt.jit(ratio)
    with np.errstate(all="ignore"):
        compiled(zero, ordinary)
    failures = []

    def strict():
        with np.errstate(all="raise"):
            for _ in range(200):
                try:
                    compiled(zero, ordinary)
                    failures.append("did not raise")
                except FloatingPointError:
                    pass

    def lax():
        with np.errstate(all="ignore"):
            for _ in range(200):
                try:
                    compiled(zero, ordinary)
                except FloatingPointError:
                    failures.append("raised")

    threads = [threading.Thread(target=t) for t in (strict, lax, strict, lax)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_nan_in_comparisons_is_no_exception():
    def function(a):
        return np.where(a > 1.5, a * 2 + 1, np.maximum(a, 0.5)).clip(1, 3), (a * 0.5).max(), np.isnan(a).sum()

    compiled = jitrt.jit(function)
    gaps = ordinary.copy()
    gaps[::7] = np.nan
    with np.errstate(all="raise"):
        for _ in range(3):
            for got, want in zip(compiled(gaps), function(gaps)):
                np.testing.assert_array_equal(got, want)
    ((_, _, (table,)),) = compiled._dispatch._tables.values()
    assert table[native.TABLE.index("raised")] == 0


def test_flags_that_were_up_before_do_not_matter():
    compiled = jitrt.jit(ratio)
    compiled(ordinary, ordinary)
    with np.errstate(all="ignore"):
        compiled(zero, zero)
    with np.errstate(all="raise"):
        compiled(ordinary, ordinary)


def test_calls_that_raise_again_and_again_are_not_computed_twice():
    def function(a, b):
        return a / b

    compiled = jitrt.jit(function)
    compiled(ordinary, ordinary)
    ((_, _, (table,)),) = compiled._dispatch._tables.values()
    place = native.TABLE.index("raised")
    tries = 0
    with np.errstate(all="raise"):
        for _ in range(2000):
            before = table[place], table[place + 1]
            with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
                compiled(ordinary, zero)
            tries += table[place + 1] >= before[1]
        assert tries < 20
    with np.errstate(all="ignore"):
        compiled(ordinary, zero)
    assert table[place] == 0


def test_programs_say_what_they_may_raise():
    def raised_by(function, *arguments):
        compiled = jitrt.jit(function)
        return compiled.explain(*arguments).compiled.program.image.may_raise

    assert raised_by(lambda a: a > 1, ordinary) == 0
    assert raised_by(lambda a: np.maximum(a, 1).max(), ordinary) == 0
    assert raised_by(lambda a: a + 1, np.arange(5)) == 0
    assert raised_by(lambda a: np.where(a > 0, a, -a), ordinary) == 0
    invalid = errstate.NUMBERS["invalid"]
    assert not raised_by(lambda a: np.where(a > 2, a * 2 + 1, 1 / a), ordinary) & invalid
    assert not raised_by(lambda a: ((a / 3 - 0.5).max(), np.exp(a) * a.size), ordinary) & invalid
    for function in (lambda a: a * 0.0, lambda a: a - np.inf, lambda a: a - a, lambda a: a * (1 + 2j)):
        assert raised_by(function, ordinary) & invalid
    assert raised_by(lambda a: np.sqrt(a), ordinary) & errstate.NUMBERS["invalid"]
    assert raised_by(lambda a: a.sum(), ordinary) & errstate.NUMBERS["over"]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint16, np.uint64])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_divided_by_zero(name, dtype):
    ufunc = getattr(np, name)

    def function(a, b):
        return ufunc(a, b) * 2

    compiled = jitrt.jit(function)
    a, b = np.arange(50).astype(dtype), np.arange(1, 51).astype(dtype)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(compiled(a, b), function(a, b))
    for place in (0, 30, 49):
        zeros = b.copy()
        zeros[place] = 0
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=f"divide by zero encountered in {name}"):
            compiled(a, zeros)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(compiled(a, zeros), function(a, zeros))


def test_the_lowest_integer_divided_by_minus_one():
    compiled = jitrt.jit(lambda a, b: a // b)
    a, b = np.full(20, np.iinfo(np.int64).min), np.full(20, -1)
    compiled(a, b + 3)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow encountered in floor_divide"):
        compiled(a, b)
