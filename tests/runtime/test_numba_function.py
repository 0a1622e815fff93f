"""Jit functions that code compiled by numba calls: results, types, exceptions and references are those of a call."""

import gc
import sys
import threading

import numba
import numpy as np
import pytest

import jitrt


@jitrt.jit
def scaled(x, factor):
    return x * factor + 1.0


CASES = {
    "array": ("float64[:](float64[:], float64)", lambda: (np.arange(5.0), 2.0)),
    "strided array": ("float64[:](float64[:], float64)", lambda: (np.arange(9.0)[::-2], 2.0)),
    "empty array": ("float64[:](float64[:], float64)", lambda: (np.empty(0), 2.0)),
    "array without axes": ("float64(float64[:], float64)", lambda: (np.array([2.0]), 2.0)),
    "columns": ("float64[::1, :](float64[::1, :], float64)", lambda: (np.ones((3, 4), order="F"), 2.0)),
    "single precision": ("float32[:, :](float32[:, :], float32)", lambda: (np.ones((3, 2), np.float32), 2.0)),
    "number": ("float64(float64, float64)", lambda: (0.5, 3.0)),
    "integers": ("float64(int64, int64)", lambda: (2, 3)),
    "complex": ("complex128[:](complex128[:], complex128)", lambda: (np.array([1j, 2.0]), 1 - 2j)),
    "conversion": ("float64(float64, float64)", lambda: (2, 3.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_results(case):
    signature, make = CASES[case]
    called = jitrt.numba_function(
        scaled if case != "array without axes" else jitrt.jit(lambda x, k: x[0] * k), signature
    )

    @numba.njit
    def caller(x, factor):
        return called(x, factor)

    x, factor = make()
    expected = x * factor + 1.0 if case != "array without axes" else x[0] * factor
    for function in (caller, called):
        for _ in range(3):
            result = function(x, factor)
            assert np.asarray(result).dtype == np.asarray(expected).dtype
            np.testing.assert_array_equal(result, expected)


def test_what_is_written_is_seen():
    @jitrt.jit
    def filled(x):
        x[...] = x * 2.0
        return x.sum()

    called = jitrt.numba_function(filled, "float64(float64[:])")

    @numba.njit
    def caller(n):
        x = np.ones(n)
        return called(x) + called(x), x

    total, x = caller(4)
    assert total == 24.0
    np.testing.assert_array_equal(x, np.full(4, 4.0))


def test_exceptions_are_raised_by_the_caller():
    @jitrt.jit
    def checked(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x + 1.0

    called = jitrt.numba_function(checked, "float64[:](float64[:])")

    @numba.njit
    def caller(x):
        return called(x)[0]

    assert caller(np.zeros(2)) == 1.0
    with pytest.raises(ValueError, match="negative"):
        caller(-np.ones(2))
    assert caller(np.zeros(2)) == 1.0


class Refusal(ValueError):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


def _refusing(x):
    if x[0] < 0:
        raise Refusal(7, "negative")
    return x.tolist() if x[0] > 1 else np.linalg.inv(x.reshape(1, 1))[0]


@pytest.mark.parametrize("value", [-1.0, 0.0, 2.0, 0.5])
def test_exceptions_are_caught_by_callers(value):
    called = jitrt.numba_function(_refusing, "float64[:](float64[:])")

    @numba.njit
    def between(x):
        return called(x) + 1.0

    @numba.njit
    def caught(x):
        count = 0
        for _ in range(3):
            try:
                between(x)
            except Exception:
                count += 1
        return count

    assert caught(np.array([value])) == (0 if value == 0.5 else 3)
    kinds = {-1.0: Refusal, 0.0: np.linalg.LinAlgError, 2.0: TypeError}
    if value not in kinds:
        return
    for _ in range(2):
        with pytest.raises(kinds[value]) as raised:
            between(np.array([value]))
        assert type(raised.value) is kinds[value] and "raised at " in raised.value.__notes__[0]
        assert getattr(raised.value, "code", 7) == 7

    @numba.njit
    def another(x):
        try:
            between(x)
            count = 0
        except Exception:
            count = 1
        raise IndexError(("of its own", "without one")[1 - count])

    with pytest.raises(IndexError, match="of its own"):
        another(np.array([value]))


def test_a_result_of_another_type_is_an_error():
    called = jitrt.numba_function(scaled, "float32[:](float64[:], float64)")
    with pytest.raises(TypeError):
        called(np.ones(2), 1.0)
    with pytest.raises(TypeError, match="result"):
        jitrt.numba_function(scaled, "(float64[:], float64)")
    with pytest.raises(numba.TypingError):
        called(np.ones(2))


MADE = {
    "another dtype of that size": ("float64[:](float64[:])", lambda x: x.astype(np.int64)),
    "another byte order": ("float64[:](float64[:])", lambda x: x.astype(">f8")),
    "another number of axes": ("float64[:, :](float64[:])", lambda x: x * 2.0),
    "not contiguous": ("float64[::1](float64[:])", lambda x: x[::2]),
    "in another order": ("float64[::1, :](float64[:])", lambda x: x.reshape(2, 4) * 2.0),
    "read-only": ("float64[:](float64[:])", lambda x: np.broadcast_to(x[:1], (5,))),
    "a list": ("float64[:](float64[:])", lambda x: x.tolist()),
    "in a tuple": ("Tuple((float64, float64[::1]))(float64[:])", lambda x: (x.sum(), x[::2])),
    "no tuple": ("UniTuple(float64, 2)(float64[:])", lambda x: x.sum()),
}


@pytest.mark.parametrize("case", MADE)
def test_no_memory_is_read_as_something_else(case):
    signature, function = MADE[case]
    called = jitrt.numba_function(jitrt.jit(function), signature)
    for _ in range(3):
        with pytest.raises(TypeError, match="the signature says"):
            called(np.arange(8.0))


def test_arguments_that_are_not_converted():
    called = jitrt.numba_function(scaled, "float64[::1](float64[::1], float64)")
    read_only = np.ones(4)
    read_only.flags.writeable = False
    for x in (np.ones(4, np.float32), np.ones(8)[::2], np.ones((2, 2)), read_only):
        with pytest.raises(numba.TypingError):
            called(x, 1.0)


def test_tuples():
    called = jitrt.numba_function(jitrt.jit(lambda x: (x * 2.0, x.sum())), "Tuple((float64[:], float64))(float64[:])")
    for _ in range(3):
        x, total = called(np.ones(3))
        np.testing.assert_array_equal(x, np.full(3, 2.0))
        assert total == 3.0


def test_references_are_given_back():
    called = jitrt.numba_function(scaled, "float64[:](float64[:], float64)")
    x = np.ones(100)
    called(x, 1.0)
    before = sys.getrefcount(x)
    results = [called(x, 2.0) for _ in range(50)]
    gc.collect()
    assert sys.getrefcount(x) == before
    assert all(sys.getrefcount(r) <= 3 for r in results)


def test_threads_without_the_lock():
    called = jitrt.numba_function(scaled, "float64[:](float64[:], float64)")

    @numba.njit(nogil=True)
    def caller(x, times):
        total = 0.0
        for k in range(times):
            total += called(x, k).sum()
        return total

    x, found = np.arange(10.0), []
    expected = caller(x, 200)
    threads = [threading.Thread(target=lambda: found.append(caller(x, 200))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [expected] * 4
