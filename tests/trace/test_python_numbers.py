"""Arithmetic of Python numbers among the arguments: Python's rules, once for each value, beside the arrays."""

import numpy as np
import pytest

import jitrt
from jitrt.expr.pythonnumbers import is_python


def arithmetic(x, a, b):
    scale = (a**2 + b**2) / (2 * (a**2 + b**2)) - a // b + a % b
    return x * scale + (1 / a) * x - 2 * a + a / 3


@pytest.mark.parametrize("numbers", [(0.1, 0.2), (3.0, -0.7), (1e150, 1e-150), (7.5, 2.0), (float("inf"), 3.0)])
def test_same_bits_as_python(numbers):
    x = np.linspace(-1, 1, 7)
    fast = jitrt.jit(arithmetic)
    for _ in range(2):
        np.testing.assert_array_equal(fast(x, *numbers), arithmetic(x, *numbers))


def test_same_bits_for_other_values():
    x = np.linspace(-1, 1, 7)
    fast = jitrt.jit(arithmetic)
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(200, 2)).tolist():
        np.testing.assert_array_equal(fast(x, a, b), arithmetic(x, a, b))


def test_python_raises():
    fast = jitrt.jit(lambda x, a, b: x * (a / b))
    x = np.ones(3)
    np.testing.assert_array_equal(fast(x, 1.0, 4.0), x / 4)
    with pytest.raises(ZeroDivisionError):
        fast(x, 1.0, 0.0)
    with pytest.raises(ZeroDivisionError):
        jitrt.jit(lambda x, a: x + a / 0)(x, 1.0)
    power = jitrt.jit(lambda x, a: x * a**a)
    power(x, 2.0)
    with pytest.raises(OverflowError):
        power(x, 1e6)
    np.testing.assert_array_equal(fast(x, 1.0, 2.0), x / 2)


def test_computed_numbers_stay_python_numbers():
    """A number that a kernel computed divides as Python's numbers do."""
    fast = jitrt.jit(lambda x, a, b: x + 1.0 / (a - b))
    x = np.ones(3)
    np.testing.assert_array_equal(fast(x, 3.0, 1.0), x + 0.5)
    with pytest.raises(ZeroDivisionError):
        fast(x, 2.0, 2.0)


def test_powers_that_turn_complex():
    power = jitrt.jit(lambda x, a: x * a**0.5)
    x = np.ones(3)
    assert power(x, 4.0).dtype == np.float64
    assert power(x, -4.0).dtype == np.complex128
    np.testing.assert_array_equal(power(x, 9.0), 3 * x)


def test_equal_arithmetic_is_done_once():
    def repeated(x, dx, dy):
        for _ in range(2):
            x = x * (dx**2 + dy**2) + dx**2 * x[0]
        return x

    x = np.ones(4)
    explanation = jitrt.jit(repeated).explain(x, 0.1, 0.2)
    graph = explanation.graph
    assert sum(is_python(node.op) for node in graph.nodes()) == 2
    np.testing.assert_array_equal(jitrt.jit(repeated)(x, 0.1, 0.2), repeated(x, 0.1, 0.2))


def test_a_literal_divisor_needs_no_python():
    graph = jitrt.jit(lambda x, a: x * (2 * a / 3)).explain(np.ones(4), 0.3).graph
    assert not any(is_python(node.op) for node in graph.nodes())


def test_explain_says_what_python_computes():
    calls = jitrt.jit(lambda x, a: np.sqrt(x) * (1 / a)).explain(np.ones(4), 0.3).host_calls
    assert len(calls) == 1 and "Python's rules" in calls[0]
