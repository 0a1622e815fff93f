"""Keys of dicts and sets that are nan: Python finds them by the identity of the object."""

import numpy as np
import pytest

import jitrt

NAN = float("nan")


def counted(values):
    found = {}
    for v in values:
        found[v] = found.get(v, 0) + 1
    return len(found), list(found.values())


def distinct(values):
    found, n = set(), 0
    for v in values:
        n += v in found
        found.add(v)
    return n, len(found)


def looked_up(x, y):
    return {x: 1}.get(y, 0), len({x, y}), x * 2


@pytest.mark.parametrize("function", [counted, distinct], ids=lambda f: f.__name__)
def test_lists_with_one_nan(function):
    fast = jitrt.jit(function)
    for _ in range(3):
        for values in ([NAN, 1.0, NAN] * 5, [1.0, 2.0, 1.0], [NAN, float("nan")], [NAN, 1.0, NAN] * 40):
            assert fast(values) == function(values)
        array = np.array([np.nan, 1.0, np.nan])
        assert fast(array) == function(array)


def test_numbers():
    fast = jitrt.jit(looked_up)
    for x, y in ((1.5, 2.5), (1.5, 1.5), (NAN, NAN), (NAN, 1.5), (1.5, NAN), (2.5, 1.5)) * 3:
        assert repr(fast(x, y)) == repr(looked_up(x, y))
