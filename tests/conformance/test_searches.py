"""Places of extremes: the first one, or the first nan, however the array lies and whatever is computed on the way."""

import numpy as np
import pytest
from compare import check, together
from operands import LINES, ordinary

import jitrt

BOTH = (np.argmax, np.argmin)


def edge_cases(char, size):
    """Rows with their extremes at the ends, twice, nowhere, and with nans and infinities of all kinds."""
    x = np.stack([ordinary(char, size, seed) for seed in range(9)])
    if x.dtype.kind == "b":
        return x
    x[1] = x[1, 0]
    low, high = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(char).min, np.iinfo(char).max)
    x[2], x[3] = low, high
    x[4, -1], x[4, size // 2] = high, low
    x[5, size // 3 :: 2] = high
    if x.dtype.kind == "f":
        x[6, size // 2 :] = np.nan
        x[7] = np.nan
        x[8] = np.where(np.arange(size) % 2, 0.0, -0.0)
    return x


@pytest.mark.wide
@pytest.mark.parametrize("char", "?bBhHiIlLefd")
@pytest.mark.parametrize("size", [1, 2, 7, 255, 256, 257, 600, 1100])
def test_rows(char, size):
    x = edge_cases(char, size)
    cases = {}
    for f in BOTH:
        cases[f.__name__] = lambda x, f=f: (f(x, axis=1), f(x, axis=0), f(x[:, ::-1], 1, keepdims=True), f(x.T, 0))
        cases[f"{f.__name__} of all"] = lambda x, f=f: (f(x), f(x, keepdims=True), [f(row) for row in x])
    check(together(cases), x)


@pytest.mark.parametrize("char", "bHqfd")
def test_rows_of_every_length(char):
    """Vectors, the one at the end that overlaps another, and what is shorter than a vector."""
    compiled = jitrt.jit(lambda x: (x.argmax(1), x.argmin(1)))
    for size in (*range(1, 36), *range(61, 70), *range(126, 132), 500, 513, 4095, 4097, 9000):
        x = edge_cases(char, size)
        for rows in (x, np.roll(x, 1, axis=1), x[:, ::-1].copy()):
            for found, wanted in zip(compiled(rows), (rows.argmax(1), rows.argmin(1))):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("layout", LINES)
def test_layouts(layout):
    x = LINES[layout](ordinary("f", 700) // 1)
    check(lambda x: (x.argmax(), x.argmin(), np.argmax(np.abs(x)), np.argmin(x * 2 - x[0])), x)


def test_axes_and_what_is_fused():
    x = (ordinary("d", 6 * 7 * 40) // 0.25).reshape(6, 7, 40)
    cases = {}
    for f in BOTH:
        for axis in (0, 1, 2, -2):
            cases[f"{f.__name__} {axis}"] = lambda x, f=f, axis=axis: (
                f(np.abs(x - x[0, 0]), axis),
                f(x, axis, keepdims=True) * 2,
                x.max(axis=axis) + f(x, axis),
                np.take_along_axis(x, f(x, axis, keepdims=True), axis),
            )
    check(together(cases), x)


def test_threads():
    x = ordinary("d", 600_000) // 0.001
    for shape in ((600, 1000), (3, 200_000), (200_000, 3)):
        y = x.reshape(shape)

        def f(y):
            return np.argmax(y * 2, axis=1), np.argmin(y, axis=0), np.argmax(y)

        for one, several, want in zip(jitrt.jit(f, threads=1)(y), jitrt.jit(f)(y), f(y)):
            np.testing.assert_array_equal(one, want)
            np.testing.assert_array_equal(several, want)


def test_of_nothing():
    for x in (np.empty(0), np.empty((0, 3)), np.empty((3, 0))):
        with pytest.raises(ValueError, match="empty sequence"):
            jitrt.jit(lambda x: np.argmax(x))(x)
    assert jitrt.jit(lambda x: np.argmax(x, axis=0))(np.empty((3, 0))).shape == (0,)
