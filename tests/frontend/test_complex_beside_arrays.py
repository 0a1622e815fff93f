"""Complex numbers of Python's beside arrays and numbers of NumPy's, in functions with loops."""

import numpy as np
import pytest

import jitrt
from tests.frontend.test_element_loops import agrees, function_of, outcome, same

STEPS = {
    "array by a literal": ("y = x * 1j", "s += y[i] * 2"),
    "literal minus an array": ("y = 1j - x", "s -= y[i]"),
    "waves": ("y = np.exp(1j * x)", "s += y[i] * y[i - 1]"),
    "element by a literal": ("", "s += x[i] * 1j"),
    "literal by an element": ("", "s += 1j * x[i]"),
    "literal over an element": ("", "s += 1j / (x[i] + 1)"),
    "number that changes": ("w = 1 + 0j", "w = w * (0.6 + 0.8j); s += w * x[i]"),
    "number that changes, on the right": ("w = 1 + 0j", "w = w * (0.6 + 0.8j); s += x[i] * w"),
    "function of one": ("", "s += x[i] * np.exp(-2j * np.pi * i / len(x))"),
    "quotient": ("w = 0.5j", "w = w + 0.25; s += x[i] / w"),
}


@pytest.mark.parametrize("before, step", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64])
def test_sums(before, step, dtype):
    source = f"def f(x):\n    s = 0j\n    {before}\n    for i in range(len(x)):\n        {step}\n    return s\n"
    function = function_of(source)
    fast = jitrt.jit(function)
    for x in (np.arange(5.0), np.arange(1.0, 4.0), np.array([2.0]), np.ones(0)):
        for _ in range(2):
            got, want = fast(x.astype(dtype)), function(x.astype(dtype))
            assert type(got) is type(want)
            assert got == pytest.approx(want, rel=1e-14) if "exp" in before + step else repr(got) == repr(want)
    assert fast._loops.source((np.arange(5).astype(dtype),))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int8])
def test_numbers_of_fewer_bits(dtype):
    def total(x):
        w, s = 1j, 0j
        for i in range(len(x)):
            w = w * (0.6 + 0.8j)
            s += w * x[i]
        return s, w * x

    fast = jitrt.jit(total)
    for x in (np.arange(5.0), np.arange(2.0), np.ones(0)):
        for _ in range(2):
            same(outcome(fast, (x.astype(dtype),)), outcome(total, (x.astype(dtype),)))


def averaged(x):
    y, s = np.zeros_like(x), 0.0
    for i in range(len(x)):
        s = 0.9 * s + 0.1 * x[i]
        y[i] = s
    return y, s


def weighted(x):
    s = 0
    for i in range(len(x)):
        s = s + x[i] * x[i]
    return s / 3


@pytest.mark.parametrize("function", [averaged, weighted])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8, np.complex64])
def test_sums_that_start_from_a_number_of_pythons(function, dtype):
    agrees(function, *((x.astype(dtype),) for x in (np.arange(5.0), np.arange(1.0, 4.0), np.array([2.0]))))
