"""What NumPy computes while a function is traced is not computed again in the run behind the trace."""

import importlib
import threading

import numpy as np
import pytest

import jitrt
from jitrt.ir.ops.steps import SMALL


@pytest.fixture
def medians(monkeypatch):
    """A list that grows with every median that NumPy computes, but for small ones in place of others."""
    module = importlib.import_module("numpy.lib._function_base_impl")
    compute, made = module._ureduce, []

    def counting(a, *args, **kwargs):
        if max(np.shape(a)) > SMALL:
            made.append(1)
        return compute(a, *args, **kwargs)

    monkeypatch.setattr(module, "_ureduce", counting)
    return made


def f(x):
    return np.median(x, axis=0, keepdims=True)


X = np.random.default_rng(1).standard_normal((30, 40))


def check(made, function, first):
    """A call has the function's results; the first one makes `first` calls, later ones as many as the function."""
    fast = jitrt.jit(function)
    want = function(X.copy())
    each = len(made)
    for expected in (first, each, each):
        made.clear()
        np.testing.assert_allclose(fast(X.copy()), want, rtol=1e-13)
        assert len(made) == expected
    np.testing.assert_allclose(fast(X[::-1] * 2), function(X[::-1] * 2), rtol=1e-13)
    assert not fast.explain(X).plain_reason
    return fast


def test_a_call_on_an_argument_is_made_once(medians):
    check(medians, lambda x: f(x) + 1.0, first=1)


def test_calls_on_views_and_on_results_of_calls(medians):
    check(medians, lambda x: f(f(x)[::-1].T) + f(x[1:, ::2]).sum(), first=3)


def test_what_kernels_compute_of_an_operand_is_computed_by_them(medians):
    check(medians, lambda x: f(np.exp(x)) + 1.0, first=1)


def test_arguments_that_are_written_before_and_after(medians):
    def function(x):
        first = f(x)
        x[1:-1] = x[:-2]
        second = f(x)
        x[0] = 0.0
        return np.concatenate([first, second, x])

    check(medians, function, first=2)


def test_results_that_are_written_in_place(medians):
    def function(x):
        found = f(x)
        again = found.copy()
        found += 1.0
        found[0, 0] = again[0, -1]
        return found * again + f(x)

    check(medians, function, first=2)


def test_the_result_itself_is_returned(medians):
    fast = check(medians, lambda x: f(x), first=1)
    kept = fast(X)
    kept += 1.0
    np.testing.assert_array_equal(fast(X), f(X))


def test_looks_at_values_in_between():
    def function(x):
        found = f(x)
        if found.sum() > 0:
            return f(found[:, ::-1]) + 1.0
        return found

    fast = jitrt.jit(function)
    for sign in (1.0, -1.0, 1.0):
        np.testing.assert_array_equal(fast(X + sign), function(X + sign))


def test_other_threads_do_not_get_them():
    gate = threading.Barrier(2, timeout=60)

    def function(x):
        return np.median(x, axis=0) + x

    fast, results = jitrt.jit(function), {}

    def run(k):
        gate.wait()
        results[k] = [fast(X * (k + 1)) for _ in range(5)]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        for found in results[k]:
            np.testing.assert_array_equal(found, function(X * (k + 1)))


def test_explanations_leave_nothing_behind():
    fast = jitrt.jit(lambda x: f(x) + 1.0)
    fast.explain(X)
    np.testing.assert_array_equal(fast(X * 3), f(X * 3) + 1.0)


def test_floating_point_exceptions_of_calls_are_reported():
    x = np.ones((3, 4))
    fast = jitrt.jit(lambda x: np.corrcoef(x) + 1.0)
    for _ in range(2):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            fast(x)
    with np.errstate(all="ignore"):
        assert np.isnan(fast(x)).all()


def test_random_draws():
    def function(x, seed):
        rng = np.random.default_rng(seed)
        return np.sort(x + rng.standard_normal(x.shape), axis=0) + np.median(rng.random(5))

    fast = jitrt.jit(function)
    for seed in (1, 1, 2):
        np.testing.assert_array_equal(fast(X, seed), function(X, seed))


@pytest.mark.parametrize("looks", [False, True])
def test_nobody_waits_for_what_large_loops_are_unrolled_to(looks, monkeypatch, without_procedures):
    monkeypatch.delenv("JITRT_STRICT")

    def recursion(x):
        h = np.zeros(2000)
        h[0] = x.sum()
        for k in range(1, len(h)):
            h[k] = 0.5 * h[k - 1] + x[k] * x[k - 1]
        return np.log(h) if looks and h[-1] > 1 else np.sqrt(h)

    compiled = jitrt.jit(recursion)
    x = np.linspace(1.0, 2.0, 2000)
    np.testing.assert_array_equal(compiled(x), recursion(x))
    assert "unrolled to" in str(compiled.explain(x))
