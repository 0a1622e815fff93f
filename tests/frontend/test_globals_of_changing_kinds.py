"""Globals that hold an array in one call, and another array, a list, a number or nothing in the next."""

import itertools

import numpy as np
import pytest
from texts import function_of

import jitrt

KINDS = {
    "array": lambda: np.arange(300.0) * 0.5,
    "other array": lambda: np.arange(30.0),
    "integers": lambda: np.arange(40),
    "list": lambda: [1.0, 2, 3],
    "dict": lambda: {"a": 1.0},
    "number": lambda: 5,
    "scalar": lambda: np.float32(2),
    "nothing": None,
}
TEXTS = {
    "kernels": "return np.sqrt(np.abs(A)) * k",
    "step": "y = np.sqrt(np.abs(A)) * k\n    return y - np.median(y)",
    "look": "y = np.sqrt(np.abs(A)) * k\n    return y if np.sum(y) > 3 else -y",
    "list": "return np.array([v * k for v in A])",
}


def outcome(function):
    try:
        return np.asarray(function(2)).tolist()
    except Exception as error:
        return repr(error)


@pytest.mark.wide
@pytest.mark.parametrize("names", list(itertools.combinations(KINDS, 3)), ids=" ".join)
@pytest.mark.parametrize("text", TEXTS)
def test_each_call_has_its_own(text, names):
    function = function_of(f"def f(k):\n    {TEXTS[text]}\n")
    fast = jitrt.jit(function)
    for name in names * 3:
        function.__globals__.pop("A", None)
        if KINDS[name] is not None:
            function.__globals__["A"] = KINDS[name]()
        assert outcome(fast) == outcome(function)
