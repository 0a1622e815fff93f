"""`numpy.where` in loops computes both of its operands everywhere, and what they raise is seen."""

import warnings

import numpy as np
import pytest
from texts import function_of

from jitrt.runtime.stagedloops import LoopEngine

VALUES = [
    "1 / x[k]",
    "np.sqrt(x[k])",
    "np.log(x[k])",
    "x[k] / y[k]",
    "np.exp(x[k] * -1e5)",
    "x[k] ** 2.5",
    "1 / x[k] * 2",
]


def chosen_of(value):
    return function_of(
        "def f(x, y, out):\n    for k in range(len(out)):\n"
        f"        out[k] = np.where(y[k] > 0.5, {value}, 0.0)\n        if out[k, 0] > 1e9:\n            out[k] *= 2\n"
        "    return out\n"
    )


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("length", [1, 3, 8, 17])
def test_what_is_not_chosen_warns_as_in_numpy(value, length):
    function = chosen_of(value)
    x, y = np.full((4, length), 2.0), np.ones((4, length))
    y[2, length // 2] = 0
    x[2, length // 2] = -3 if "np" in value or "**" in value else 0
    engine = LoopEngine(function)
    engine._looked = True
    found = []
    for call in (function, lambda *args: engine.call(args, True)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(x, y, np.zeros((4, length)))
        found.append([str(w.message) for w in seen])
    assert found[0] == found[1] and found[0]
