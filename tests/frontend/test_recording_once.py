"""Bodies of called functions are recorded once, however deep the calls are nested."""

import numpy as np
from test_element_loops import agrees

from jitrt.frontend.control import statements
from jitrt.frontend.control.stage import stage

X = np.linspace(0.0, 1.0, 30)


def innermost(x, k):
    return x[k] * 2.0


def third(x, k):
    return innermost(x, k) + 1.0


def second(x, k):
    return third(x, k) - 3.0


def first(x, k):
    return second(x, k) * x[0]


def summed(x):
    total = 0.0
    for k in range(len(x)):
        total += first(x, k)
    return total


def clipped(x, k):
    if x[k] > 0.5:
        return 1
    return third(x, k)


def summed_after_a_choice(x):
    total = 0.0
    for k in range(len(x)):
        total += clipped(x, k)
    return total


def returns_recorded(function, monkeypatch):
    found = []
    do_return = statements.Statements.do_Return

    def counted(self, s):
        found.append(s)
        do_return(self, s)

    with monkeypatch.context() as patch:
        patch.setattr(statements.Statements, "do_Return", counted)
        stage(function, (X,))
    return len(found)


def test_each_call_is_recorded_once(monkeypatch):
    assert returns_recorded(summed, monkeypatch) <= 1 + 2 * 4  # the loop is recorded again for the type of its sum
    agrees(summed, (X,))


def test_where_returns_differ_the_second_time_knows_their_kind(monkeypatch):
    assert returns_recorded(summed_after_a_choice, monkeypatch) <= 1 + 3 * 4  # as above, and the inner one again
    agrees(summed_after_a_choice, (X,), (np.array([0.9, 0.8]),), (np.empty(0),))


def largest_half(x):
    def halves():
        for k in range(3):
            yield x[k] * 0.5

    largest = 0.0
    for half in halves():
        largest = max(largest, min(half, x[0]))
    return largest


def test_the_function_of_a_call_is_evaluated_once(monkeypatch):
    called, named = [], statements.Statements.named
    with monkeypatch.context() as patch:
        patch.setattr(statements.Statements, "named", lambda self, e: called.append(e.id) or named(self, e))
        stage(largest_half, (X,))
    visits = called.count("half")  # which stands once in the body of the loop
    assert called.count("max") == called.count("min") == called.count("halves") == visits > 0
    agrees(largest_half, (X,))
