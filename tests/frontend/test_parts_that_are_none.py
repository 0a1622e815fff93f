"""Tuples of which a part is None at first, as in the search for the best of many."""

import numpy as np
import pytest

import jitrt

x = np.random.default_rng(0).random(300)


def best(values):
    found = (-9e9, None)
    for i in range(len(values)):
        if values[i] > found[0]:
            found = (values[i], i)
    return found


def best_pair(values):
    found = (0.0, None)
    for k in np.arange(1.0, 4.0, 0.5):
        for i in range(len(values)):
            s = float(values[i]) / k
            if s > found[0]:
                found = (s, (k, i))
    return found


def asked(values):
    found = (None, 0.0)
    for v in values:
        if found[0] is None or v > found[0]:
            found = (v, found[1] + 1)
        elif found[0] is not None and v < 0.5:
            found = (found[0], found[1] - 1)
    return found


def used(values):
    found = (0.0, None)
    total = 0
    for i in range(len(values)):
        if values[i] > found[0]:
            found = (float(values[i]), i)
        total += found[1]
    return total, found


def in_lists(values):
    found = [None, -1.0]
    for i in range(len(values)):
        if values[i] > found[1]:
            found = [i, float(values[i])]
    return found


@pytest.mark.parametrize("function", [best, best_pair, asked, used, in_lists])
@pytest.mark.parametrize("values", [x, -x, x[:1], x[:0], np.full(5, np.nan)], ids=range(5))
def test_they_are_as_with_python(function, values):
    def run(f):
        try:
            return repr(f(values))
        except TypeError as error:
            return str(error)

    f = jitrt.jit(function)
    assert [run(f) for _ in range(4)] == [run(function)] * 4


@pytest.mark.parametrize("function", [best, best_pair, asked, used])
def test_no_call_is_left_to_python(function):
    f = jitrt.jit(function)
    for _ in range(6):
        assert repr(f(x)) == repr(function(x))
    assert not f.plain_reason
    assert not any(loop.stops for loop in f._loops._all())
