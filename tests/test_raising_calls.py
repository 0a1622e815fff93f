"""Calls that raise are traced once, and those of the same kind that do not are compiled."""

import numpy as np
import pytest

import jitrt
import jitrt.call.template
import jitrt.call.tracing
from jitrt.frontend import trace as traces


@pytest.fixture
def traced(monkeypatch):
    """The functions that have been traced, one for each trace."""
    made = []

    def trace(request):
        made.append(request.function)
        return traces.trace(request)

    monkeypatch.setattr(jitrt.call.template, "trace", trace)
    monkeypatch.setattr(jitrt.call.tracing, "trace", trace)
    return made


def checked(x, gain):
    if not isinstance(gain, (int, float)):
        raise TypeError(f"gain must be a number, not {type(gain).__name__}")
    if x.ndim != 1 or len(x) < 3:
        raise ValueError(f"shape {x.shape}")
    return x * gain


def reached(x, n):
    total = 0.0
    for k in range(n):
        total += x[k]
    return total


@pytest.mark.parametrize("serve", [lambda f: f, lambda f: lambda *args: f.__call__(*args)], ids=["native", "python"])
@pytest.mark.parametrize(("function", "second"), [(checked, "2"), (reached, 9)], ids=["traced", "loops"])
def test_tracebacks_lead_from_the_call_to_the_function(function, second, serve):
    fast = serve(jitrt.jit(function))
    for _ in range(3):
        with pytest.raises((IndexError, TypeError)) as raised:
            fast(np.ones(5), second)
        frames = [frame.name for frame in raised.traceback]
        own = [entry for entry in raised.traceback if "/jitrt/" in str(entry.path)]
        assert frames[-1] == function.__name__ and len(own) <= 1
        assert all(entry.frame.f_locals["__tracebackhide__"] for entry in own)


def test_one_trace(traced):
    fast = jitrt.jit(checked)
    for x, gain, error in (
        (np.ones(5), "2", TypeError),
        (np.ones((50, 2)), 2.0, ValueError),
        (np.ones(50), None, TypeError),
    ):
        traced.clear()
        with pytest.raises(error) as got:
            fast(x, gain)
        with pytest.raises(error) as want:
            checked(x, gain)
        assert str(got.value) == str(want.value)
        assert len(traced) == 1
    np.testing.assert_array_equal(fast(np.ones(50), 2.0), checked(np.ones(50), 2.0))
    assert not fast.plain_reason


def test_an_exception_of_the_trace_alone(traced, monkeypatch):
    """The plain function answers, and the next call has another trace."""
    failing = [True]
    begin = traces._trace_once

    def once(request, excepted):
        if request.extents and failing:
            raise KeyError("of the trace")
        return begin(request, excepted)

    monkeypatch.setattr(traces, "_trace_once", once)
    fast, x = jitrt.jit(checked), np.arange(50.0)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x, 2.0), checked(x, 2.0))
    assert not fast.plain_reason and len(traced) == 3


def gets(x, places):
    return x[places] * 2


def sets(x, places):
    x[places] = 10.0
    return x


def sets_in_a_loop(x, places):
    for k in range(3):
        x[k] += 1
        x[places] = x[k]
    return x


PLACES = [
    np.arange(3.0),
    np.arange(3) > 1.0,
    np.array([0, 1, 2]),
    np.arange(3.0) + 1j,
    "a",
    None,
    [],
    1.0,
    np.array([2, 9]),
]


@pytest.mark.parametrize("function", [gets, sets, sets_in_a_loop], ids=lambda f: f.__name__)
def test_exceptions_of_what_is_no_index_are_raised_in_no_other_ones_context(function):
    fast = jitrt.jit(function)

    def outcome(f, places):
        x = np.arange(3.0)
        try:
            return repr(f(x, places)), x.tolist()
        except Exception as error:
            return type(error), str(error), error.__context__, error.__cause__, x.tolist()

    for places in PLACES * 2:
        assert outcome(fast, places) == outcome(function, places)
