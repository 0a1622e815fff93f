"""Programs that leave nearly everything to NumPy run as plain NumPy on small arrays."""

import numpy as np
import pytest

import jitrt


def ranked(x):
    return np.sort(x)[::-1] * 2.0


@pytest.fixture(autouse=True)
def not_strict(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")


def test_small_arrays_run_plain():
    fast = jitrt.jit(ranked)
    small = np.arange(10.0)
    assert "too small" in fast.explain(small).plain_reason
    for _ in range(3):
        np.testing.assert_array_equal(fast(small), ranked(small))


def test_large_arrays_are_compiled():
    assert not jitrt.jit(ranked).explain(np.arange(1e6)).plain_reason


def test_kernels_alone_are_always_worthwhile():
    assert not jitrt.jit(lambda x: x * 2 + 1).explain(np.arange(2.0)).plain_reason


def test_a_plain_entry_lets_other_arguments_be_compiled():
    fast = jitrt.jit(ranked)
    for n in (10, 10, 1_000_000, 10, 1_000_000):
        x = np.arange(float(n))
        np.testing.assert_array_equal(fast(x), ranked(x))
    assert not fast.explain(np.arange(1e6)).plain_reason


def add_to(x, y):
    x += y


def relax(x, y):
    x[1:-1] += 0.25 * (x[2:] - 2 * x[1:-1] + x[:-2]) * y[1:-1]


def test_what_is_copied_to_an_argument_has_to_pay():
    x, y = np.arange(1e5), np.ones(100_000)
    assert "without a copy" in jitrt.jit(add_to).explain(x, y).plain_reason
    assert not jitrt.jit(relax).explain(x, y).plain_reason
    fast, wanted = jitrt.jit(add_to), x.copy()
    for _ in range(3):
        fast(x, y)
        add_to(wanted, y)
    np.testing.assert_array_equal(x, wanted)


def test_copying_a_few_elements_is_cheaper_than_calls():
    assert not jitrt.jit(relax).explain(np.arange(9.0), np.ones(9)).plain_reason


def test_loops_over_time_write_once():
    def steps(x, y):
        for _ in range(10):
            x += y

    assert not jitrt.jit(steps).explain(np.arange(1e5), np.ones(100_000)).plain_reason
