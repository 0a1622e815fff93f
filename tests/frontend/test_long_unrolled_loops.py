"""Loops that record too much: that is known after some iterations, and not after all of them have been recorded."""

import numpy as np
import pytest

import jitrt
from jitrt.frontend.effects import Effects


@pytest.fixture
def recorded(monkeypatch):
    """How many operations have been recorded."""
    monkeypatch.setenv("JITRT_STRICT", "0")
    counts = []
    plain = Effects.operation

    def operation(self, node):
        counts.append(node)
        return plain(self, node)

    monkeypatch.setattr(Effects, "operation", operation)
    return counts


def weight(k, j):
    return float(f"{k % 7}.{j}")


def wandering(x):
    """No two iterations do the same, and each does much."""
    for k in range(3000):
        for j in range(k % 5):
            x = np.sqrt(x * x + weight(k, j))
        x = x / x.sum()
    return x


def early(x):
    for k in range(3000):
        if k > 40:
            break
        for j in range(k % 5):
            x = np.sqrt(x * x + weight(k, j))
    return x


def returning(x):
    for k in range(3000):
        for j in range(k % 5):
            x = np.sqrt(x * x + weight(k, j))
        if k > 40:
            return x


def test_a_loop_that_will_record_too_much_is_given_up_early(recorded):
    fast = jitrt.jit(wandering)
    x = np.arange(1.0, 401.0)
    np.testing.assert_array_equal(fast(x), wandering(x))
    assert "too many operations on small arrays" in fast.plain_reason
    assert len(recorded) < 1000


@pytest.mark.parametrize("function", [early, returning])
def test_a_loop_that_may_end_early_is_not(recorded, function):
    fast = jitrt.jit(function)
    x = np.arange(1.0, 401.0)
    np.testing.assert_allclose(fast(x), function(x), rtol=1e-14)
    assert not fast.plain_reason


def test_large_arrays_are_worth_it(recorded):
    def long(x):
        for k in range(60):
            for j in range(k % 5):
                x = np.sqrt(x * x + weight(k, j))
        return x

    fast = jitrt.jit(long)
    x = np.arange(1.0, 200_001.0)
    np.testing.assert_allclose(fast(x), long(x), rtol=1e-14)
    assert not fast.plain_reason
