"""Sums are at least as accurate as NumPy's: both are compared with exactly rounded ones."""

import math

import numpy as np
import pytest

import jitrt

SIZES = (100, 513, 5000, 32768, 40001, 300_000)


def error(result, exact, magnitude):
    return abs(float(result) - exact) / magnitude


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("size", SIZES)
def test_sum(char, size):
    rng = np.random.default_rng(size)
    total = jitrt.jit(lambda x: x.sum())
    strided = jitrt.jit(lambda x: x[::2].sum())
    eps = float(np.finfo(char).eps)
    for _ in range(3):
        x = (rng.normal(size=size) * 10.0 ** rng.integers(-3, 3, size)).astype(char)
        for function, operand in ((total, x), (strided, x[::2])):
            exact, magnitude = math.fsum(operand.astype(float)), math.fsum(np.abs(operand).astype(float))
            allowed = max(error(operand.sum(), exact, magnitude), eps)
            assert error(function(x), exact, magnitude) <= allowed


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_along_an_axis(axis):
    """Columns too are no worse than NumPy's, which adds them one after the other."""
    x = np.random.default_rng(0).normal(size=(3000, 400)).astype(np.float32) + np.float32(10)
    compiled = jitrt.jit(lambda x: x.sum(axis=axis))(x).astype(float)
    exact = x.astype(float).sum(axis=axis)
    worst = np.abs(x.sum(axis=axis) - exact).max()
    assert np.abs(compiled - exact).max() <= max(worst, np.finfo(np.float32).eps * np.abs(exact).max())


def test_mean_and_variance():
    x = (np.random.default_rng(1).normal(size=100_000) + 1000).astype(np.float32)
    mean, variance = jitrt.jit(lambda x: (x.mean(), x.var()))(x)
    exact_mean = math.fsum(x.astype(float)) / x.size
    exact = math.fsum((x.astype(float) - exact_mean) ** 2) / x.size
    assert abs(mean - exact_mean) <= max(abs(float(x.mean()) - exact_mean), 1e-4)
    assert abs(variance - exact) <= max(abs(float(x.var()) - exact), 1e-6)
