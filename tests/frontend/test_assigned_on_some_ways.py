"""Variables of functions with loops that are assigned on some ways only, and read where they have been."""

import numpy as np
import pytest

import jitrt
from tests.frontend.test_element_loops import agrees, outcome, same


def trades(x):
    position, cash, days = 0, 100.0, []
    for i, price in enumerate(x):
        if position == 0 and price < 1.5:
            position, entry, since = 1, price, i
        elif position == 1 and price > 2:
            position = 0
            cash += price - entry
            days.append(i - since)
    return cash, days


def last_above(x):
    for v in x:
        if v > 1:
            found = v
    return found


def in_loops(x, n):
    total = 0.0
    for k in range(n):
        for v in x:
            if v > k:
                w = v * 2
            elif v < -1:
                total += w
        total += k
    return total, w


def in_front(x, flag):
    if flag:
        t = 1.0
    for v in x:
        if v > 2:
            t = v
        elif v < -2:
            t = t + 1
    return t


def while_running(x):
    i = 0
    while i < len(x):
        if x[i] > 1:
            best = i
        elif x[i] < -9:
            break
        i += 1
    else:
        return best, i
    return best


def differences(x):
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        if i > 0:
            out[i] = v - previous  # noqa: F821 (assigned in the iteration before)
        previous = v  # noqa: F841
    return out


def rows_before(x):
    total = 0.0
    for i in range(len(x) - 1):
        if i > 2:
            total += row.sum()  # noqa: F821
        row = x[i : i + 2] * 2  # noqa: F841
    return total


def may_be_none(x):
    total = 0.0
    for v in x:
        if v > 1:
            low = None
        elif v > 0:
            low = v
        elif v < -1 and low is not None:
            total += low
    return total


def bound_by_hand(x):
    def nearest(v):
        if v > 0:
            sign = 1
        elif v < 0:
            sign = -1
        return sign * v

    total = 0.0
    for v in x:
        total += nearest(v)
    return total


def other_kinds(x):
    total = 0.0
    for v in x:
        if v > 1:
            row = np.full(3, v)
        elif v < -1:
            total += row.sum()
    return total


X = np.array([0.5, 1.2, 2.5, -3.0, 1.4, 3.0, 0.2, -1.5, 2.2])
CALLS = [(X,), (X[::-1].copy(),), (X[2:3].copy(),), (X[:1].copy(),), (np.zeros(0),), (np.array([-3.0, 2.5]),), (X,)]


@pytest.mark.parametrize(
    "function, rest", [
        (trades, ()), (last_above, ()), (in_loops, (2,)), (in_front, (0,)), (in_front, (1,)),
        (while_running, ()), (differences, ()), (bound_by_hand, ()),
    ],
)  # fmt: skip
def test_what_is_read_where_it_may_not_be_assigned(function, rest):
    agrees(function, *((*args, *rest) for args in CALLS))


def of_two_kinds(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * k
    pairs = [(v, 2 * v) for v in x]
    for k in pairs:
        total += k[0] - k[1]
    for k in range(len(x)):
        if k > 1:
            w = x[k]
        elif k < 0:
            total += w
    for w in pairs:
        total += w[0]
    return total


def test_a_variable_of_two_loops_with_values_of_two_kinds():
    fast = jitrt.jit(of_two_kinds)
    for args in CALLS:
        same(outcome(fast, args), outcome(of_two_kinds, args))


def test_a_loop_around_that_may_not_run():
    agrees(in_loops, (X, 2), (X, 0), (X[:3], 1), (X, 3))


@pytest.mark.parametrize("function", [may_be_none, other_kinds, rows_before])
def test_what_is_no_number(function):
    fast = jitrt.jit(function)
    for args in CALLS * 2:
        got, want = outcome(fast, args), outcome(function, args)
        same(got[:2], want[:2])
        assert got[2] == want[2]
