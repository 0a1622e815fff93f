"""Blocks of `np.errstate` that ignore exceptions: computed with what stands outside, which reports its own."""

import sys
import warnings

import numpy as np
import pytest
from covering import few

import jitrt

KINDS = ("divide", "over", "under", "invalid")
OPERATIONS = [
    lambda x, y: x / y,
    lambda x, y: x * y,
    lambda x, y: x - y,
    lambda x, y: np.log(x),
    lambda x, y: np.sqrt(y),
    lambda x, y: np.exp(x),
    lambda x, y: x**y,
    lambda x, y: np.maximum(x, y),
    lambda x, y: np.where(x > y, x, y),
    lambda x, y: np.abs(x) + 1.0,
    lambda x, y: np.arcsin(y),
    lambda x, y: (x + 1e300) * 1e10,
    lambda x, y: x.max() * y,
    lambda x, y: np.cumsum(x) + y,
    lambda x, y: x[::-1] * y,
]
VALUES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e308, 1e-308, 0.5])


def random_program(rng):
    """A function of statements in and out of blocks, each with some of the exceptions ignored."""
    steps = []
    for _ in range(rng.integers(2, 6)):
        ignored = {k: "ignore" for k in KINDS if rng.random() < 0.5} if rng.random() < 0.6 else None
        steps.append((ignored, [OPERATIONS[k] for k in rng.integers(len(OPERATIONS), size=rng.integers(1, 4))]))

    def function(x, y):
        results = []
        for ignored, operations in steps:
            if ignored is None:
                for operation in operations:
                    x, y = y, operation(x, y)
            else:
                with np.errstate(**ignored):
                    for operation in operations:
                        x, y = y, operation(x, y)
            results.append(x)
        return y, *results

    return function


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            results = function(*args)
        except FloatingPointError as error:
            return str(error), []
    return results, [str(w.message) for w in warned if not issubclass(w.category, jitrt.JitrtPerformanceWarning)]


def check(fast, function, *args):
    (results, warned), (wanted, wanted_warnings) = outcome(fast, *args), outcome(function, *args)
    assert warned == wanted_warnings
    if isinstance(wanted, str):
        assert results == wanted
        return
    with np.errstate(all="ignore"):
        for result, want in zip(results, wanted, strict=True):
            np.testing.assert_allclose(result, want, rtol=1e-12)


@pytest.mark.parametrize("seed", few(range(40), 15))
def test_random_blocks(seed):
    rng = np.random.default_rng(seed)
    function = random_program(rng)
    fast = jitrt.jit(function)
    for size in (7, 7, 300):
        for values in (VALUES[[2, 4, 11]], VALUES):
            x, y = rng.choice(values, size), rng.choice(values, size)
            for state in ({}, {"all": "raise"}, {"under": "warn"}):
                with np.errstate(**state):
                    check(fast, function, x, y)


def ratio(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        r = x / y
    return np.where(y != 0, r, 0.0) * 2 + np.exp(x), r


def calls_of_python(function, run):
    """How often the plain function runs."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += event == "call" and frame.f_code is function.__code__

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def test_one_program():
    """Nothing is looked at, zeros are no reason to compute again, and what stands outside of the block is reported."""
    fast = jitrt.jit(ratio)
    x = np.linspace(-1.0, 1.0, 1000)
    y = np.round(10 * x[::-1])
    explanation = fast.explain(x, y)
    assert len(explanation.kernels) == 2 and not explanation.plain_reason and "looks at" not in str(explanation)
    for _ in range(4):
        check(fast, ratio, x, y)
    assert calls_of_python(ratio, lambda: fast(x, y)) == 0
    for changed in (np.where(y == 3, 1e300, x) * 1e8, x):
        check(fast, ratio, changed, y)


def test_the_same_inside_and_outside():
    def both(x, y):
        with np.errstate(divide="ignore"):
            r = x / y
        return r, x / y

    fast = jitrt.jit(both)
    for y in (np.arange(1.0, 100.0), np.arange(99.0)):
        for _ in range(3):
            check(fast, both, np.ones(99), y)


def test_kernels_say_what_they_ignore():
    explanation = jitrt.jit(ratio).explain(np.ones(1000), np.ones(1000))
    texts = [str(k.nest) for k in explanation.kernels]
    assert sum("ignores divide, invalid" in text for text in texts) == 1
