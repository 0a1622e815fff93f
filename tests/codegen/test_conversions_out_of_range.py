"""Floats that no integer stands for: NumPy warns of each conversion, whatever comes of the integer."""

import warnings

import numpy as np
import pytest

import jitrt

FUNCTIONS = {
    "largest": lambda x, t: np.max(x.astype(t)),
    "smallest": lambda x, t: np.min(x.astype(t)),
    "chosen": lambda x, t: np.where(x > 0, x.astype(t), 3),
    "clipped": lambda x, t: np.maximum(x.astype(t), 1),
}


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args)
    told = [str(w.message) for w in caught if w.category is not jitrt.JitrtPerformanceWarning]
    return repr(result), told


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("source", ["f2", "f4", "f8"])
@pytest.mark.parametrize("target", ["i4", "i8", "u4", "i2"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e30])
def test_every_place(name, source, target, value):
    function = FUNCTIONS[name]
    compiled = jitrt.jit(lambda x: function(x, target))
    for size in (1, 2, 3, 5, 7, 11, 18, 33):
        for place in {0, size // 2, size - 1}:
            x = np.ones(size, source)
            assert outcome(compiled, x) == outcome(function, x, target)
            with np.errstate(over="ignore"):
                x[place] = value
            assert outcome(compiled, x) == outcome(function, x, target), (size, place)
