"""A call whose trace fails runs the plain function, once, whatever that does outside of its arguments."""

import numpy as np
import pytest

import jitrt

MEMORY = np.zeros(2)
SEEN = []


def writes_a_global_array(a, tell):
    MEMORY[(0,)] += 1.0
    return a[5]


def writes_a_view_of_it(a, tell):
    MEMORY[1:] += a[:1]
    np.put(a, [0, 9], 1.0)


def tells_a_callback(a, tell):
    for row in a * 2:
        tell(row)
    return a @ np.ones(5)


def tells_and_does_not_know_a_name(a, tell):
    tell(a.sum())
    return unknown  # noqa: F821


def stores_in_a_container(a, tell):
    SEEN.append(1)
    SEEN[0] = SEEN[0] + 1
    return a.reshape(7)


FUNCTIONS = (
    writes_a_global_array, writes_a_view_of_it, tells_a_callback, tells_and_does_not_know_a_name, stores_in_a_container,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("strict", ["0", "1"])
def test_the_function_runs_once(function, strict, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", strict)

    def done(decorate):
        called = decorate(function)
        MEMORY[:], told = 0.0, []
        SEEN.clear()
        errors = []
        for size in (3, 3, 3, 4, 2):
            with pytest.raises((IndexError, ValueError, NameError)) as caught:
                called(np.arange(float(size)), lambda v: told.append(float(v)))
            errors.append(caught.type)
        return errors, MEMORY.tolist(), told, list(SEEN)

    assert done(jitrt.jit) == done(lambda f: f)


def test_an_internal_error_is_still_told(monkeypatch):
    """The plain function raises nothing where the trace did: the error is ours."""

    def broken(a):
        return a.sum() * 2

    monkeypatch.setattr("jitrt.call.tracing.trace", lambda *_, **__: 1 / 0)
    with pytest.raises(jitrt.errors.JitrtError, match="ZeroDivisionError"):
        jitrt.jit(broken)(np.ones(3))
    monkeypatch.setenv("JITRT_STRICT", "0")
    assert jitrt.jit(broken)(np.ones(3)) == 6.0


def test_exceptions_may_hold_what_was_computed():
    @jitrt.jit
    def failing(x):
        raise LookupError(x * 2 + 1)

    for _ in range(3):
        with pytest.raises(LookupError) as caught:
            failing(np.ones(1000))
        np.testing.assert_array_equal(caught.value.args[0], np.full(1000, 3.0))
