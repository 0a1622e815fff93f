"""Which of two equal numbers an extreme is shows in the sign of a zero: NumPy's choice, wherever it has a steady one.

It depends on the loop: vectors take the second operand, and ``clip`` by two numbers keeps the element. What is behind
the last vector of `fmax` and `fmin`, and the lanes of a long fold, give now one and now the other in NumPy itself.
"""

import platform

import numpy as np
import pytest
from compare import check, together

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="NumPy's vectors for x86-64")

SIZES = (1, 2, 3, 7, 8, 9, 16, 17, 33, 70, 300)


def zeros(size, char, seed=0):
    """Zeros of both signs, one in four of them another number or nan."""
    draw = np.random.default_rng([size, ord(char), seed])
    x = np.where(draw.random(size) < 0.5, 0.0, -0.0)
    other = draw.random(size) < 0.25
    x[other] = draw.choice([1.0, -1.0, np.nan, np.inf, -np.inf], other.sum())
    return x.astype(char)


@pytest.mark.wide
@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("function", [np.maximum, np.minimum])
def test_operands(function, char):
    cases = {
        "arrays": lambda x, y: function(x, y),
        "number": lambda x, y: function(x, 0.0),
        "negative number": lambda x, y: function(-0.0, y),
        "reversed": lambda x, y: function(x[::-1], y),
        "strided": lambda x, y: function(x[::2], y[::2]),
        "element": lambda x, y: function(x, y[0]),
        "elements": lambda x, y: function(x[0], y[-1]),
        "inverse": lambda x, y: 1 / function(x, 0.0),
        "fused": lambda x, y: function(x * 1.0, y * 1.0) * 1.0,
        "accumulated": lambda x, y: function.accumulate(x),
        "first axis": lambda x, y: function.reduce(np.stack([x, y, x, y, y]) * 1.0, axis=0),
    }
    for size in SIZES:
        check(together(cases), zeros(size, char), zeros(size, char, 1))


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("function", [np.fmax, np.fmin])
def test_ignoring_nan(function, char):
    cases = {"arrays": lambda x, y: function(x, y), "number": lambda x, y: function(x, 0.0)}
    for size in (64, 256):  # whole vectors
        check(together(cases), zeros(size, char), zeros(size, char, 1))
    for size in SIZES:  # elsewhere the numbers
        check(together(cases), zeros(size, char), zeros(size, char, 1), zeros=False)


@pytest.mark.parametrize("char", "efd")
def test_clip(char):
    cases = {
        "numbers": lambda x, y: np.clip(x, 0.0, 1.0),
        "zeros": lambda x, y: np.clip(x, -0.0, 0.0),
        "upper zero": lambda x, y: x.clip(-1.0, -0.0),
        "array": lambda x, y: np.clip(x, y, 1.0),
        "arrays": lambda x, y: np.clip(x, y, y + 1),
        "one element": lambda x, y: np.clip(x, y[:1], 1.0),
        "elements": lambda x, y: np.clip(x[0], y[0], 1.0),
        "lower alone": lambda x, y: np.clip(x, 0.0, None),
        "upper alone": lambda x, y: np.clip(x, None, -0.0),
        "nan": lambda x, y: np.clip(x, np.nan, 1.0),
    }
    for size in SIZES:
        check(together(cases), zeros(size, char), zeros(size, char, 1))


@pytest.mark.wide
@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.0, -0.0])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_folds_of_one_value(value, char):
    """Nothing but infinities, nans, or zeros of one sign, in which a fold must not show what it starts by."""
    functions = (np.max, np.min, np.ptp, np.argmax, np.argmin)
    functions += () if np.isnan(value) else (np.nanmax, np.nanmin)  # which warn, so that they run plain
    cases = {f"{f.__name__} {axis}": folded(f, axis) for f in functions for axis in (0, 1, None)}
    for size in (1, 9, 33, 300):
        check(together(cases), np.full((3, size), value, char))


def folded(function, axis):
    return lambda x: function(x, axis=axis)
