"""Scans against NumPy, bit for bit: NumPy forms them strictly in order, and so do kernels."""

import numpy as np
import pytest
from compare import check, together
from covering import few
from operands import LINES, MATRICES, ordinary

import jitrt

CUMULATIVE = (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
ACCUMULATED = (
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_or, np.logical_and, np.subtract,
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")


def special(char, size):
    """Values with zeros of both signs, and, from the middle on, infinities and a nan."""
    x = ordinary(char, size, 3)
    if x.dtype.kind in "iu":
        return x % 5
    if x.dtype.kind in "fc" and size > 4:
        x = np.abs(x) ** 0.1 * np.where(np.arange(size) % 3, 1, -1).astype(x.real.dtype)
        x[0], x[1], x[size // 2], x[size - 2] = -0.0, -0.0, np.inf, np.nan
    return x


def accumulate(ufunc, axis):
    return lambda *a: [ufunc.accumulate(x, axis=axis) for x in a]


def cumulative(function, axis):
    return lambda *a: [function(x, axis=axis) for x in a]


@pytest.mark.parametrize("char", few("?lfFBdbhHiILegDG", 4))
def test_dtypes_and_layouts(char):
    lines = [make(special(char, 35)) for make in LINES.values()]
    planes = [make(special(char, 35)) for name, make in MATRICES.items() if name not in ("0-d", "scalar", "row")]
    cases = {}
    for axis in (0, -1):
        for ufunc in ACCUMULATED:
            if not (char == "?" and ufunc is np.subtract):
                cases[f"{ufunc.__name__} {axis}"] = accumulate(ufunc, axis)
        for function in CUMULATIVE:
            cases[f"{function.__name__} {axis}"] = cumulative(function, axis)
    for function in CUMULATIVE:
        cases[f"{function.__name__} flat"] = cumulative(function, None)
    extremes = {k: f for k, f in cases.items() if k.startswith(("m", "f")) and "mul" not in k}
    check(together({k: f for k, f in cases.items() if k not in extremes}), *lines, *planes)
    check(together(extremes), *lines, *planes, zeros=False)  # which zero is the maximum is left open


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 700])
def test_lengths(size):
    """Around the strips in which what stands before and behind a scan is computed."""
    x, y = ordinary("d", size, 1), ordinary("d", size, 2)

    def f(x, y):
        before = np.sqrt(x * x + 1) * np.sqrt(np.abs(y)) / 3
        c = np.cumsum(before)
        d = np.maximum.accumulate(np.sqrt(c) * y / (1 + c))
        return np.sqrt(np.abs(c)) / before + d, c, x / (y + 5) * np.cumsum(x > 0), np.sqrt(x * x) / 7

    check(f, x, y)  # operations that round once


def test_what_is_read_again_behind_a_scan():
    """A result may lie where a temporary was: no part of the loop reads that after another has written it."""

    def f(x):
        t = np.cumsum(x * x)
        c = np.cumsum(np.sqrt(t + 1) / 3)
        return c, np.sqrt(c) / (t + 1) / 7

    for size in (5, 256, 1000):
        check(f, ordinary("d", size, 1))
        check(lambda x: f(x)[0] * 2, ordinary("d", size, 1))
        check(lambda x: f(np.sqrt(np.abs(x))[::-1])[::-1], ordinary("d", size, 1))


@pytest.mark.parametrize("shape", [(3, 300), (300, 3), (4, 5, 6), (1, 7), (7, 1), (0, 3), (3, 0), (2, 3, 4, 5)])
@pytest.mark.parametrize("order", "CF")
def test_axes(shape, order):
    x = np.asarray(ordinary("d", int(np.prod(shape))).reshape(shape), order=order)
    cases = {}
    for axis in range(len(shape)):
        cases[f"alone {axis}"] = lambda x, k=axis: np.cumsum(x, k)
        cases[f"fused {axis}"] = lambda x, k=axis: np.cumsum(x * 2 + 1, k) - x
        cases[f"turned {axis}"] = lambda x, k=axis: np.cumsum(x.T, k)[::-1] + 1
        cases[f"twice {axis}"] = lambda x, k=axis: np.cumsum(np.cumsum(x, k) * 0.5, k)
        cases[f"both {axis}"] = lambda x, k=axis: np.cumsum(np.cumsum(x, k), -1 - k)
        cases[f"folded {axis}"] = lambda x, k=axis: (x - np.maximum.accumulate(x, k)).sum(axis=0)
        cases[f"broadcast {axis}"] = lambda x, k=axis: np.cumsum(x, k) * x[:, :1] + np.cumsum(x, k).sum(axis=0)
    check(together(cases), x, relative=1e-13, zeros=False)


def test_what_uses_a_scan():
    x = ordinary("d", 50)

    def f(x):
        c = np.cumsum(np.concatenate([np.zeros(1), x]))
        moving = (c[5:] - c[:-5]) / 5
        steps = np.diff(np.cumsum(x)), np.diff(x, 2), np.diff(x > 0)
        joined = np.concatenate([np.cumsum(x), np.cumprod(np.sqrt(np.abs(x)))])
        return moving, steps, joined, np.cumsum(x)[::-1], np.cumsum(x.reshape(5, 10), 1).T, c[-1], np.cumsum(x)[7]

    check(f, x)
    check(lambda x: (x.cumsum(), x.cumprod(dtype=np.float32), np.add.accumulate(x > 0), np.add.reduce(x > 0)), x)


def test_a_scan_in_the_nest_that_pads_its_operand():
    def f(x):
        t = np.cumsum(x, axis=0)
        return np.pad(t, 2)[1:-1, 1:-1], np.cumsum(t, axis=1), np.cumsum(t, axis=1).argmax()

    check(f, ordinary("d", 128).reshape(64, 2)[::-1])


def test_reduce_of_ufuncs():
    x = ordinary("d", 60).reshape(3, 4, 5)
    cases = {}
    for ufunc in ACCUMULATED:
        cases[ufunc.__name__] = lambda x, u=ufunc: (u.reduce(x), u.reduce(x, axis=-1, keepdims=True))
    check(together(cases), x, ulp=8, zeros=False)


def test_along_what_does_not_exist():
    for call in (lambda x: np.cumsum(x, 2), lambda x: np.add.accumulate(x, 2), lambda x: np.diff(x, axis=5)):
        with pytest.raises(np.exceptions.AxisError):
            jitrt.jit(call)(np.ones((2, 3)))
    with pytest.raises(ValueError):
        jitrt.jit(lambda x: np.diff(x, -1))(np.ones(3))


def test_threads_do_not_change_a_scan():
    x = ordinary("d", 300_000)
    rows = lambda x: np.exp(np.cumsum(np.sin(x), -1))  # noqa: E731
    columns = lambda x: np.exp(np.cumsum(np.sin(x), 0))  # noqa: E731
    for y in (x.reshape(300, 1000), x.reshape(2, 150_000)):
        for function in (rows, columns):
            np.testing.assert_array_equal(jitrt.jit(function, threads=1)(y), jitrt.jit(function)(y))
