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
    for _ in range(3):  # a thread compiles during the first two
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


def damped(x, turns=200):
    """The number is compared with arrays: that is no loop of the graph, and one of statements."""
    for k in range(turns):
        x = np.where(x > k, x - 1.0, x * 1.01)
    return x


def over_a_list(x, turns=200):
    r = np.zeros_like(x)
    for weight in [1.0 / (k + 1) for k in range(turns)]:
        r = np.where(r > weight, r * x, r + weight)
    return r


def until(x, turns=200):
    k = 0
    while k < turns:
        x = np.where(x > k, x - 1.0, x * 1.01)
        k += 1
    return x


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("function", [damped, over_a_list, until])
def test_a_procedure_takes_the_place_of_many_small_iterations(function, strict, recorded, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", strict)
    fast = jitrt.jit(function)
    for n in (50, 50, 50, 80):
        x = np.linspace(0.0, 9.0, n)
        np.testing.assert_array_equal(fast(x, turns=220), function(x, turns=220))
    assert fast.explain(x, turns=220).loops[-1].what == "compiled as a loop"
    assert len(recorded) < 1000
    np.testing.assert_array_equal(fast(x), function(x))


def test_few_iterations_and_large_arrays_are_fused():
    for n, turns in ((50, 9), (200_000, 100)):
        fast, x = jitrt.jit(damped), np.linspace(0.0, 9.0, n)
        np.testing.assert_array_equal(fast(x, turns), damped(x, turns))
        assert fast.explain(x, turns).loops[0].what.startswith("unrolled")


def test_steps_of_numpy_count(recorded):
    def filtered(x, turns):
        for k in range(turns):
            x = np.fft.irfft(np.fft.rfft(x) * np.exp(-0.001 * k), len(x))
        return x

    fast, x = jitrt.jit(filtered), np.linspace(0.0, 9.0, 50)
    np.testing.assert_array_equal(fast(x, 300), filtered(x, 300))
    assert "too many operations on small arrays" in fast.plain_reason
    assert len(recorded) < 200


def test_rows_that_are_swapped_many_times():
    """What a function of NumPy writes into was looked for on each path to it; they double with each swap."""

    def function(b, mask):
        for q, r in zip(b, b):
            b[0], b[-1] = b[-1], b[0].copy()
            last = q + r
        np.putmask(b, mask, 3)
        return last

    b = np.arange(120.0).reshape(40, 3)
    compiled = jitrt.jit(function)
    for _ in range(3):
        x, y = b.copy(), b.copy()
        assert (compiled(x, b > 50) == function(y, b > 50)).all()
        assert (x == y).all()
