"""Numbers whose kind changes in a loop: Python's, NumPy's, integers that become floats; and constants that overflow."""

import numpy as np
import pytest
from test_element_loops import agrees, outcome, same
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged
from jitrt.runtime.loopengine import MISS
from jitrt.runtime.stagedloops import LoopEngine


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


# Numbers of which only a run knows whether they are integers or floats, and what may be done with them.
MADE = (
    "(2 if x[0] > 3 else 0.5)",
    "max(2, float(x[0]) / 2)",
    "min(max(2, float(x[0])), max(3, float(x[1]) / 3))",
    "(1 if x[0] > 3 else x[1])",
)
USED = (
    "{}", "-{}", "abs({})", "np.abs({})", "np.add({}, 1)", "np.negative({})", "np.array([{}, 1])", "np.full(3, {})",
    "max({}, 1)", "min(1, {})", "{} * 2", "x * {}", "np.add(x, {})", "round({})", "int({})", "np.float32({})",
    "({}, 3)", "same({})", "np.sqrt({})", "np.where(x > 2, {}, 0)", "{} // 2", "{} == 2", "not {}", "{} or 3",
    "np.dot(x, {})", "np.clip(x, 0, {})", "x.clip(0, {})", "np.power({}, 2)", "np.sum([{}, 2])", "math.floor({})",
    "{} == 0", "{} < x[0]", "{} >= np.int64(2)", "{} > np.float32(0.3)", "{} != np.float64(0.1)", "0.5 <= {}",
    "{} == 2**53 + 1", "(2**53 + 1) * {} > x[1]", "3 if {} == 2 else 4", "{} < True",
)  # fmt: skip


@pytest.mark.parametrize("made", MADE)
def test_uses_of_a_number_whose_kind_a_run_decides(made):
    compiled = 0
    for used in USED:
        source = f"def f(x):\n    for i in range(len(x)):\n        x[i] += 1\n    return {used.format(made)}\n"
        function = function_of(source, same=lambda v: v)
        engine = LoopEngine(function)
        for start in (0, 1, 4):
            want = outcome(function, (np.arange(4) + start,))
            got = outcome(lambda x, engine=engine: engine.call((x,)), (np.arange(4) + start,))
            if got[0] is not MISS:
                same(got[:2], want[:2])
                assert got[2] == want[2], used
                compiled += 1
    assert compiled > len(USED)


def test_a_state_that_is_an_integer_at_first_and_computed_later():
    def traded(prices, n):
        held, cash, trades = 0, 1000.0, 0
        for k in range(n, len(prices)):
            before = prices[k - n]
            if prices[k] > before and held == 0:
                held, cash, trades = cash / prices[k], 0.0, trades + 1
            elif prices[k] < before and held > 0:
                cash, held = held * prices[k], 0
        return cash + held * prices[-1], held > 0, trades

    rng = np.random.default_rng(5)
    engine = LoopEngine(traded)
    for _ in range(5):
        prices = 100 + rng.normal(size=60)
        got = engine.call((prices, 3))
        assert got is not MISS and not engine._latest[0].stops
        same(got, traded(prices, 3))


@pytest.mark.parametrize(
    "result", ["np.cos(True)", "np.float16(v)", "(np.sinh(b), 1.5)", "x[0] * np.float16(2)", "h[1]"]
)
def test_numbers_of_two_bytes_are_results(result):
    plain = function_of(f"def f(x, b, h):\n    t = 0\n    for v in x:\n        t = {result}\n    return t, h[0]\n")
    fast, x, h = jitrt.jit(plain), np.array([1.0, 2.5]), np.array([0.5, -2.0], np.float16)
    for _ in range(20):  # by Python, then by native code
        assert repr(fast(x, True, h)) == repr(plain(x, True, h))
