"""Writes into arguments that NumPy refuses, and whose errors the function catches: read-only arrays have others."""

import numpy as np
import pytest
from texts import function_of

import jitrt

WRITES = [
    "a += 1j",
    "a[...] = b[:3]",
    "np.copyto(a, 1j * b)",
    "np.add(a, 1j, out=a)",
    "a[5000] = 1",
    "a.sort(axis=3)",
    "a.fill('x')",
    "a[0] = [1, 2]",
    "a += b[:3]",
    "np.putmask(a, b[:3] > 0, 1)",
    "a[1:][::-1] *= 1j",
    "a[7:].put([9999], 1)",
]


def outcome(function, args):
    try:
        return function(*args).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("read_only", [(0, 1, 0, 1, 1), (1, 0, 1, 0, 0)])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("caught", ["TypeError", "Exception"])
def test_as_numpy(write, caught, read_only):
    text = f"""
def f(a, b):
    try:
        {write}
    except {caught} as error:
        b = b + len(str(error))
    return b * 2
"""
    function = function_of(text)
    fast = jitrt.jit(function)
    for locked in read_only:
        mine, its = np.arange(1000.0), np.arange(1000.0)
        mine.flags.writeable = its.flags.writeable = not locked
        b = np.arange(1000.0)
        assert outcome(fast, (its, b)) == outcome(function, (mine, b))
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("index", [":", ":, :", "..., :", ":, ..., :"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_slices_of_more_axes_than_there_are(index, shape):
    function = function_of(f"def f(a, b):\n    a[{index}] = 2\n    return a + b\n")
    fast = jitrt.jit(function)
    for _ in range(3):
        mine, its = np.ones(shape), np.ones(shape)
        assert outcome(fast, (its, 1.0)) == outcome(function, (mine, 1.0))
        np.testing.assert_array_equal(mine, its)


TABLE = [np.arange(3.0), np.ones(3)]


def of_two_shapes(a):
    np.positive(a, a)
    try:
        a.T[::-1] -= TABLE[0]
    except (ValueError, TypeError) as error:
        return type(error).__name__


def into_out(a):
    np.positive(a, a)
    try:
        np.multiply(a, TABLE[0], out=a)
    except (ValueError, TypeError) as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")
@pytest.mark.parametrize("function", [of_two_shapes, into_out])
@pytest.mark.parametrize("kind", "Hdfb")
def test_dtypes_are_looked_at_before_shapes(function, kind):
    """Also in traces for any shape."""
    fast = jitrt.jit(function)
    for n in (300, 300, 300, 301, 302, 300):
        assert fast(np.ones(n, kind)) == function(np.ones(n, kind))
