"""Functions that ask whether two arguments are one object: calls where they are, among others where they are not."""

import numpy as np
import pytest

import jitrt


def writes(a, b):
    if b is a:
        a -= 0.5
    return a


def reads(a, b):
    r = a * 2
    return r, a is b, a is not b


def loops(a, b):
    s = 0.0
    for k in range(len(a)):
        s += a[k]
        if b is a:
            s += 1
    return s, a is b


def in_a_helper(a, b):
    def same(p, q):
        return p is q

    return (a + 1) if same(a, b) else a - b


class Holder:
    def __init__(self, x):
        self.x = x


def of_an_object(a, b):
    return a.x * 2 if a.x is b else a.x + b


def into_a_dict(a, b):
    found = {"q": a}
    if b is found["q"]:
        found["p"] = a * 3
    return found


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("mode", ["0", "1"])
@pytest.mark.parametrize("function", [writes, reads, loops, in_a_helper, of_an_object, into_a_dict])
def test_calls_with_one_array_twice(function, mode, strided, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", mode)
    fast = jitrt.jit(function)
    for call in range(14):
        mine, its = (np.arange(600.0) + call for _ in range(2))
        other = np.arange(1200.0)[::2] if strided else np.arange(600.0)
        outcomes = []
        for f, x in ((function, mine), (fast, its)):
            y = x if call in (5, 9, 10) else x[:] if call == 7 else other.copy() if not strided else other
            given = Holder(x) if function is of_an_object else x
            outcomes.append((repr(f(given, y)), x.tolist()))
        assert outcomes[0] == outcomes[1]


def test_of_what_is_known_to_be_one_nothing_is_asked():
    def f(a, b, how=None):
        if how is None or type(a) is float or how is np.newaxis:
            return a + b
        return a - b

    fast, x = jitrt.jit(f), np.arange(3000.0)
    for _ in range(4):
        np.testing.assert_array_equal(fast(x[1:], x[:-1]), x[1:] + x[:-1])
    assert fast._dispatch.last() is not None  # which would leave arrays that overlap to Python


def both_names(a, items):
    for _ in range(10):
        items[0] = items[0] * 0.5
        first, *_ = items
    first[...] += a.T
    return first, a


def two_names(a, items):
    t = a * 2
    for _ in range(12):
        t = np.sin(t) + a
        u = t
    items[0] = u
    return t, u


@pytest.mark.parametrize("function", [both_names, two_names])
def test_names_of_one_array_after_a_loop(function):
    fast = jitrt.jit(function)
    for k in range(5):
        a, items = np.arange(3.0) + k, [np.ones(3), np.zeros(3)]
        copies = [x.copy() for x in items]
        got, want = fast(a, items), function(a, copies)
        assert [x is items[0] for x in got] == [x is copies[0] for x in want]
        np.testing.assert_allclose(got, want)
        np.testing.assert_allclose(items, copies)
