"""What functions have lost: counted wherever plain calls are made, by native code, too."""

from time import perf_counter

import numpy as np
import pytest

import jitrt
from jitrt.running.report import _seconds_a_tick
from jitrt.runtime.threads import num_threads

x = np.arange(500.0)


def found(function):
    """What the report says of a function of this file."""
    [one] = [f for f in jitrt.report().functions if f.name.endswith(f".{function.__qualname__}")]
    return one


@pytest.mark.parametrize("calls", [1, 5, 300])
def test_plain_calls_are_all_counted(calls):
    @jitrt.jit
    def prints(a):
        print(end="")
        return a + 1

    prints(x)  # functions of one line are one: it may have been called for other parameters
    before = found(prints).plain_calls
    for _ in range(calls):
        prints(x)
    one = found(prints)
    assert one.plain_calls - before == calls and one.lost >= one.plain_seconds > 0
    assert "prints" in one.plain[0].reason and one.plain[0].rewrite
    assert one.line.startswith(__file__)


def test_calls_inside_of_calls_are_not_timed_twice():
    def once(n):
        print(end="")
        return sum(recursive(n - 1) for _ in range(3)) if n else 0

    recursive = jitrt.jit(once)
    recursive(4)
    from time import perf_counter

    start = perf_counter()
    recursive(7)
    taken = perf_counter() - start
    one = found(recursive)
    assert one.plain_calls >= 3**7 and one.plain_seconds < 3 * taken + 0.1


def test_functions_that_gain_nothing_have_lost_nothing_but_compiling():
    @jitrt.jit
    def compiled(a):
        return np.exp(a) * 2

    @jitrt.jit
    def refused(a):
        print(end="")
        return a

    for _ in range(20):
        compiled(x), refused(x)
    one = found(compiled)
    assert one.lost == one.compiling > 0
    names = [f.name for f in jitrt.report().functions]
    lost = [f.lost for f in jitrt.report().functions]
    assert lost == sorted(lost, reverse=True) and one.name in names


def test_steps_of_numpy_between_kernels_are_no_plain_calls():
    @jitrt.jit
    def ranked(a):
        return np.sort(np.exp(a) * 2) + 1

    for _ in range(20):
        ranked(np.linspace(0.0, 1.0, 50_000))
    one = found(ranked)
    assert not ranked.plain_reason and one.plain_calls == 0 and one.lost == one.compiling


def test_procedures_that_python_starts_are_not_compiled_in_each_call():
    """Their external calls need the interpreter: all of their time was taken for compiling."""

    @jitrt.jit
    def relaxed(a, n):
        w, total = np.ones(len(a)), 0.0
        for _ in range(n):
            for i in range(20 * len(w)):  # clearly more than the step
                w[i % len(w)] = w[i % len(w)] * 0.5 + i * 0.1
                total += w[i % len(w)]
            w = np.linalg.solve(a, w)
        return total

    a = 3 * np.eye(60) + 0.1
    for _ in range(5):
        relaxed(a, 20)
    before = found(relaxed).compiling
    start = perf_counter()
    for _ in range(100):
        relaxed(a, 20)
    assert not found(relaxed).plain
    assert found(relaxed).compiling - before < 0.5 * (perf_counter() - start)


def test_how_it_is_shown():
    @jitrt.jit
    def shown(a):
        print(end="")
        return a

    shown(x)
    report = jitrt.report()
    assert len(repr(report)) < 100
    assert "what helps: " in str(report) and "test_how_it_is_shown.<locals>.shown" in str(report)
    page = report._repr_html_()
    assert page.count("<tr>") == len(report.functions) + 1 and "&lt;locals&gt;.shown" in page


def test_ticks_are_seconds():
    assert num_threads() and 0 <= _seconds_a_tick() < 1e-6


def test_advice_on_plain_calls_is_about_their_loops():
    kept = []

    @jitrt.jit
    def picks(values):
        for k, v in enumerate(values):
            if v > 0.5:
                kept.append(k)
        return len(values)

    for _ in range(4):
        picks(np.linspace(0.0, 1.0, 5000))
    assert found(picks).plain[0].rewrite.startswith("do this in front of the call or behind it")


def test_names_that_cannot_be_printed():
    def function(x):
        print(end="")
        return x + 1

    function.__name__ = function.__qualname__ = "odd\ud800\x1b"
    jitrt.jit(function)(np.ones(5000))
    report = jitrt.report()
    assert any("odd\\ud800" in f.name for f in report.functions)
    (str(report) + report._repr_html_()).encode()
