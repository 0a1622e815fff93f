"""Functions of NumPy in staged functions, with arguments of kinds that they do not expect."""

import numpy as np
import pytest
from compare import assert_same

import jitrt
from jitrt.frontend.control.library import FUNCTIONS

FIRST = [2.5, np.float64(2.5), 3, True, [1.0, 2.0], (1.0, 2.0), None, np.array(2.5), np.arange(4.0)]
REST = [(), (1,), ([0, 1],), (2, 1)]
UNKNOWN = {np.empty, np.empty_like}  # elements
CHOSEN = [f for f in FUNCTIONS if getattr(f, "__module__", "") == "numpy" and f not in UNKNOWN]


def outcome(function, *args):
    try:
        return function(*args)
    except jitrt.JitrtError:
        raise
    except Exception as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("called", CHOSEN, ids=lambda f: f.__name__)
def test_arguments_of_other_kinds(called):
    def function(x, n, first, *rest):
        for k in range(n):
            x[k] += 1
        return called(first, *rest)

    number = CHOSEN.index(called)
    for first in FIRST[number % 2 :: 2]:
        rest = REST[number % len(REST)]
        got, want = (outcome(f, np.arange(6.0), 2, first, *rest) for f in (jitrt.jit(function), function))
        assert_same(got, want)
