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


def agree(called, first, rest):
    def function(x, n, first, *rest):
        for k in range(n):
            x[k] += 1
        return called(first, *rest)

    got, want = (outcome(f, np.arange(6.0), 2, first, *rest) for f in (jitrt.jit(function), function))
    assert_same(got, want)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("called", CHOSEN, ids=lambda f: f.__name__)
def test_arguments_of_other_kinds(called):
    number = CHOSEN.index(called)
    for first in FIRST[number % 2 :: 2]:
        agree(called, first, REST[number % len(REST)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("called", CHOSEN, ids=lambda f: f.__name__)
def test_all_arguments_of_other_kinds(called):
    for first in FIRST:
        for rest in REST:
            agree(called, first, rest)


@pytest.mark.parametrize("called", [np.split, np.array_split, np.hsplit, np.ndim])
def test_lists_of_numbers(called):
    for first in ([1.0, 2.0], (1.0, 2.0), [[1, 2], [3, 4]]):
        agree(called, first, () if called is np.ndim else (1,))
