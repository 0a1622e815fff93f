"""Calls of one function in sequences: values, types and errors that change from call to call."""

import warnings

import numpy as np
import pytest

import jitrt
from jitrt import policy
from jitrt.call import lookup

MANY = 100


def slow_calls(function, calls):
    """How many of the `calls`, tuples of arguments, native code does not serve."""
    before = function.cache_info().slow_calls
    for args in calls:
        function(*args)
    return function.cache_info().slow_calls - before


def plain_in_the_end(x, n):
    y = x * 2 + 1
    if n % 50 == 7:
        return y - 1
    return y


def test_integers_of_functions_that_run_plain(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    function = jitrt.jit(plain_in_the_end)
    x = np.arange(10.0)
    for n in range(10):
        function(x, n)
    assert function.cache_info().plain
    for n in range(MANY):
        np.testing.assert_array_equal(function(x, n), plain_in_the_end(x, n))
    assert slow_calls(function, ((x, n) for n in range(MANY))) == 0
    assert slow_calls(function, [(x, 1 << 70)]) == 1


@jitrt.jit
def views(x, n):
    return (x + n)[1:], x


@jitrt.jit
def looking(x, n):
    y = x * n + np.sqrt(x)
    return y if y.sum() < 0 else y * 2


@pytest.mark.parametrize("function", [views, looking])
def test_integers_of_functions_that_python_serves(function):
    x = np.arange(10.0)
    for n in range(10):
        function(x, n)
    assert slow_calls(function, ((x, n) for n in range(MANY))) == 0
    for n in (3, -1, (1 << 63) - 1, 1 << 63, 1 << 70):
        for one, other in zip(function(x, n), function.__wrapped__(x, n)):
            np.testing.assert_array_equal(one, other)


def ratio(x, y):
    return x / y + 1.0


def test_functions_that_warn_in_every_call():
    function = jitrt.jit(ratio)
    x, y = np.ones(10), np.zeros(10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(MANY):
            assert np.isinf(function(x, y)).all()
    assert len(caught) == MANY and {w.filename for w in caught} == {__file__}
    assert function.cache_info().slow_calls == 1
    with np.errstate(all="ignore"):
        assert slow_calls(function, [(x, y)] * MANY) == 0
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        function(x, y)


@pytest.fixture
def traces(monkeypatch):
    """Grows with every call that is traced to be compiled."""
    found = []

    def counted(call, *args):
        found.append(call)
        return specialise(call, *args)

    specialise = lookup.specialise
    monkeypatch.setattr(lookup, "specialise", counted)
    return found


def product(x, y):
    return x * y + 1


def test_calls_that_raise_are_traced_ever_more_rarely(traces):
    function = jitrt.jit(product)
    x = np.arange(10.0)
    for n in range(MANY):
        with pytest.raises(ValueError, match="could not be broadcast"):
            function(x, np.ones(3))
        if n % 7 == 0:
            np.testing.assert_array_equal(function(x, x), product(x, x))
    assert len(traces) <= 1 + 7  # in calls 1, 2, 4 ... 64, if they are looked at
    assert function.cache_info()[:2] == (1, 0)
    with pytest.raises(ValueError, match="broadcast"):
        function.explain(x, np.ones(3))


def test_a_function_that_only_raises_at_first():
    function = jitrt.jit(product)
    x = np.arange(10.0)
    for _ in range(MANY):
        with pytest.raises(ValueError, match="could not be broadcast"):
            function(x, np.ones(3))
    for _ in range(2 * MANY):
        np.testing.assert_array_equal(function(x, x), product(x, x))
    assert function.cache_info().compiled == 1
    assert slow_calls(function, [(x, x)] * MANY) == 0


failing = True


def unlike_the_first(x):
    if failing:
        raise ValueError("not yet")
    return x * 2 + 1


def test_calls_that_raised_and_no_longer_do():
    function = jitrt.jit(unlike_the_first)
    x = np.arange(10.0)
    global failing
    for _ in range(MANY):
        with pytest.raises(ValueError, match="not yet"):
            function(x)
    failing = False
    for _ in range(2 * MANY):
        np.testing.assert_array_equal(function(x), 2 * x + 1)
    assert slow_calls(function, [(x,)] * MANY) == 0


def two(n):
    return np.arange(n) * 0.25, np.full(n, 3.0)


@pytest.mark.parametrize(
    "lengths",
    [
        [k % 300 + 1 for k in range(3000)],
        [k // 3 + 1 for k in range(1500)],
        [50 if k % 20 else k + 100 for k in range(3000)],
        [k * k % 1009 + 1 for k in range(3000)],
    ],
    ids=["a cycle", "three times each", "few among many", "in disorder"],
)
def test_shapes_that_come_again_too_rarely(traces, without_templates, lengths):
    function = jitrt.jit(product)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in lengths:
            np.testing.assert_array_equal(function(*two(n)), product(*two(n)))
    (warning,) = caught
    assert warning.filename == __file__ and "few came again" in str(warning.message)
    assert len(traces) < 100
    assert slow_calls(function, [two(50)] * MANY) < MANY


def test_large_arrays_of_new_shapes_are_traced(traces, without_templates):
    function = jitrt.jit(lambda x, y: np.exp(np.sin(x) * np.cos(y)) + np.log(x + 1) * np.tanh(y))
    for n in range(MANY):
        x = np.ones(1 << 18)[: -1 - n]
        function(x, x)
    assert len(traces) == MANY


def test_what_is_in_use_is_kept_when_the_oldest_are_dropped(traces, without_templates, monkeypatch):
    monkeypatch.setattr(policy, "TRACE", 0)  # every trace pays
    monkeypatch.setattr(policy, "TRACED_NODE", 1)
    function = jitrt.jit(product)
    for n in range(1000):
        function(*two(n))
        function(*two(5))
    assert len(traces) == 1000 and function.cache_info().compiled <= 256
    assert slow_calls(function, [two(5)] * MANY) == 0


def added(arrays):
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


def test_kernels_that_are_new_in_every_call(traces):
    function = jitrt.jit(added)
    x = np.arange(10.0)
    with pytest.warns(jitrt.JitrtPerformanceWarning):
        for n in range(1, MANY):
            np.testing.assert_array_equal(function([x] * n), n * x)
    assert len(traces) < 32


mode = "linear"


def with_mode(x):
    return x * 2 if mode == "linear" else x * x + len(mode) if mode else x


def in_modes(function, modes):
    global mode
    x = np.arange(10.0)
    for n in modes:
        mode = n
        np.testing.assert_array_equal(function(x), with_mode(x))


def test_what_it_reads_from_outside_is_named_if_that_is_why(traces):
    function = jitrt.jit(with_mode)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_modes(function, [str(n) for n in range(1000)])
    (warning,) = caught
    assert "mode, which it reads from outside, was something else in 64 calls" in str(warning.message)
    assert warning.filename == __file__
    assert len(traces) < 100
    assert function.explain(np.arange(10.0)).kernels


def test_what_it_reads_from_outside_may_be_as_it_was_before(traces):
    function = jitrt.jit(with_mode)
    modes = ["linear", "square", "cube"]
    in_modes(function, modes)
    before = function.cache_info()
    assert before.compiled == before.tables == 3
    in_modes(function, modes * MANY)
    assert len(traces) == 3 and function.cache_info() == before
    in_modes(function, [f"another {n}" for n in range(4)])
    assert function.cache_info().compiled == 4


class Body:
    def __init__(self, mass, label):
        self.mass, self.label = mass, label


def test_labels_that_are_always_new(traces):
    function = jitrt.jit(lambda body: body.mass * 2 + 1)
    mass = np.arange(10.0)
    with pytest.warns(jitrt.JitrtPerformanceWarning):
        for n in range(1000):
            np.testing.assert_array_equal(function(Body(mass, str(n))), mass * 2 + 1)
    assert len(traces) < 100
    assert function.cache_info().tables <= 16  # each of which would be tried in every call
    assert slow_calls(function, [(Body(mass, str(n)),) for n in range(MANY)]) < 10


def part(x, place):
    return x[place] * 2 + 1


def applied(change, x):
    return change(x) + 1


@pytest.mark.parametrize(
    "function, arguments",
    [(part, lambda x, n: (x, slice(n % 3, None))), (applied, lambda x, n: (lambda y: y * 2, x))],
    ids=["slices", "functions"],
)
def test_arguments_that_native_code_cannot_compare(monkeypatch, function, arguments):
    monkeypatch.setenv("JITRT_STRICT", "0")
    jitted = jitrt.jit(function)
    x = np.arange(10.0)
    for n in range(4 * MANY):
        args = arguments(x, n)
        np.testing.assert_array_equal(jitted(*args), function(*args))
    assert slow_calls(jitted, (arguments(x, n) for n in range(MANY))) < 10
    assert not jitted.explain(*arguments(np.ones(1 << 20), 0)).plain_reason  # Python has the time to take them apart


first, second = [1.0], [5.0, 6.0]


def with_first(x):
    first[0] = first[0] + 1
    return x * first[0]


def with_second(x):
    second[0] = second[0] + 1
    return x * second[0] + second[1]


helper = with_first


def helped(x):
    return helper(x) + 1


def test_functions_that_are_replaced_by_others_that_name_other_lists():
    global helper, first, second
    function = jitrt.jit(helped)
    x = np.arange(3.0)

    def calls(jitted):
        global helper, first, second
        first, second = [1.0], [5.0, 6.0]
        for n in range(30):
            helper = (with_first, with_second)[n // 3 % 2]
            yield jitted(x).tolist(), list(first), list(second)

    assert list(calls(function)) == list(calls(helped))
    helper = with_first
