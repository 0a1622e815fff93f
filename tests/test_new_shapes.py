"""Functions whose arguments are new in every call: given up for plain NumPy, until arguments come again."""

import threading
import warnings

import numpy as np
import pytest

import jitrt
from jitrt import policy

pytestmark = pytest.mark.usefixtures("without_templates")

MANY = 300  # calls, of which some were traced


def polynomial(a, b):
    return a * b + 1.5


def arguments(n):
    return np.arange(n) * 0.25, np.full(n, 3.0)


def new_shapes(function, lengths=range(1, MANY + 1)):
    for n in lengths:
        np.testing.assert_array_equal(function(*arguments(n)), polynomial(*arguments(n)))


@pytest.fixture
def given_up():
    function = jitrt.jit(polynomial)
    with pytest.warns(jitrt.JitrtPerformanceWarning):
        new_shapes(function)
    return function


def test_one_warning_at_the_users_line():
    function = jitrt.jit(polynomial)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        new_shapes(function, range(1, 2000))
    (warning,) = caught
    assert (
        warning.category is jitrt.JitrtPerformanceWarning
        and "65 calls had arguments of new shapes or values" in str(warning.message)
    )
    assert warning.filename == __file__
    assert function.cache_info().compiled < 80
    assert function.cache_info().slow_calls < 90


def test_arguments_that_come_again_are_compiled(given_up):
    a, b = arguments(1000)
    for _ in range(1000):
        np.testing.assert_array_equal(given_up(a, b), polynomial(a, b))
    before = given_up.cache_info().slow_calls
    for _ in range(100):
        given_up(a, b)
    assert given_up.cache_info().slow_calls == before
    assert given_up.explain(a, b).kernels


def test_known_arguments_stay_compiled(given_up):
    before = given_up.cache_info().slow_calls
    for _ in range(100):
        given_up(*arguments(20))
    assert given_up.cache_info().slow_calls == before


def test_given_up_again_without_a_second_warning(given_up):
    a, b = arguments(1000)
    for _ in range(1000):
        given_up(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new_shapes(given_up, range(2000, 2000 + MANY))
    assert given_up.cache_info().slow_calls < MANY


def test_where_numpy_takes_longer_than_the_traces_it_goes_on(monkeypatch):
    monkeypatch.setattr(policy, "TRACE", 0)
    monkeypatch.setattr(policy, "TRACED_NODE", 1)
    function = jitrt.jit(polynomial)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new_shapes(function, range(1, 150))
    assert function.cache_info().compiled == 149


def test_compiling_ahead_of_time_is_no_call():
    function = jitrt.jit(polynomial)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 100):
            function.compile(*arguments(n))
        new_shapes(function, range(1, 100))
    assert function.cache_info().slow_calls == 0


def test_errors_of_calls_that_are_spared(given_up):
    for _ in range(20):
        with pytest.raises(ValueError, match="could not be broadcast"):
            given_up(np.ones(5), np.ones(7))
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            given_up(np.ones(5))


def test_other_arguments_are_told_apart(given_up):
    integers = np.arange(30)
    assert given_up(integers, integers).dtype == np.float64
    assert given_up(a=2, b=3) == 7.5
    np.testing.assert_array_equal(given_up([1.0, 2.0], 2.0 * np.ones(2)), [3.5, 5.5])


def test_threads(given_up):
    wrong = []

    def work(first):
        for n in range(first, first + MANY):
            if not np.array_equal(given_up(*arguments(n)), polynomial(*arguments(n))):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(1000 * (k + 1),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
