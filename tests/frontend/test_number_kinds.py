"""Numbers whose kind changes in a loop: Python's, NumPy's, integers that become floats; and constants that overflow."""

import numpy as np
import pytest
from test_element_loops import agrees, function_of

from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged


def test_an_integer_becomes_a_float_where_the_loop_assigns_it():
    def total(x):
        s = 0
        for row in x:
            for v in row:
                s += v
        return s

    x = np.arange(6.0).reshape(2, 3)
    agrees(total, (x,), (x[:0],), (x[:, :0],), (x,))


def test_a_number_that_returns_before_it_is_assigned():
    def found(x, limit):
        last = 0
        for k in range(len(x)):
            if x[k] > limit:
                return last, k
            last = x[k] * 0.5
        return last, -1

    x = np.arange(5.0)
    agrees(found, (x, 2.5), (x, -1.0), (x, 9.0), (x, 1.0))


def test_copies_of_a_number_that_is_not_yet_assigned():
    def pairs(x):
        total, before = 0, 0
        for k in range(len(x)):
            before = total
            total = total + x[k]
        return before, total

    x = np.arange(4.0) + 0.5
    agrees(pairs, (x,), (x[:1],), (x[:0],), (x,))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_the_larger_of_pythons_and_numpys_numbers(dtype):
    def largest(x):
        best = 0
        for k in range(len(x)):
            best = max(best, x[k])
        return best

    x = np.array([3, 9, 2], dtype)
    agrees(largest, (x,), (x * 0,), (x[:0],), (x,))


def test_a_constant_that_overflows_is_left_to_numpy():
    """It warns in each turn."""
    function = function_of("def f(a):\n    for k in range(len(a)):\n        a[k] = a[k] * 0.5 + 1e300\n    return a\n")
    with pytest.raises(NotStaged, match="does not fit"):
        stage(function, (np.ones(5, np.float32),))
