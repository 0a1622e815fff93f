"""Folds of columns, four rows at a time: whatever is left of them, and whatever is folded."""

import numpy as np
import pytest

import jitrt

rng = np.random.default_rng(3)


def folds(x, w):
    return x.sum(0), x.max(0), x.min(0), x.prod(0), (x * w + x).sum(0), (x.sum(0), x.max(0)), np.any(x > w, 0)


@pytest.mark.parametrize("char", "?bHilfdD")
def test_numbers_of_rows(char):
    compiled = jitrt.jit(folds)
    for rows in (1, 2, 3, 4, 5, 7, 8, 9, 11, 100, 203):
        for columns in (9, 33, 70):
            x = rng.integers(0, 2 if char == "?" else 5, (rows, columns)).astype(char)
            w = rng.integers(0, 2, columns).astype(char)
            for got, want in zip(compiled(x, w), folds(x, w), strict=True):
                for g, expected in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
                    assert g.dtype == expected.dtype
                    np.testing.assert_allclose(g, expected, rtol=1e-5 if char == "f" else 1e-12)


def test_special_values():
    """Nans and infinities in each of the rows that are taken together; overflowing integers."""
    for row in range(6):
        for value in (np.nan, np.inf, -np.inf, -0.0):
            x = rng.normal(size=(6, 40))
            x[row, ::3] = value
            got, want = jitrt.jit(lambda x: (x.sum(0), x.max(0), x.min(0)))(x), (x.sum(0), x.max(0), x.min(0))
            for g, w in zip(got, want):
                np.testing.assert_allclose(g, w, rtol=1e-14, atol=1e-14)
    x = rng.integers(-100, 100, (9, 40)).astype(np.int8)
    got = jitrt.jit(lambda x: (x.sum(0, dtype=np.int8), x.prod(0, dtype=np.int8)))(x)
    for g, w in zip(got, (x.sum(0, dtype=np.int8), x.prod(0, dtype=np.int8))):
        np.testing.assert_array_equal(g, w)


def test_layouts_and_threads():
    x = rng.normal(size=(5003, 21))
    for view in (x, x[::-1], x[:, ::-1], x[::3, 1:17], np.asfortranarray(x), x.reshape(5003, 3, 7)):
        np.testing.assert_allclose(jitrt.jit(lambda x: x.sum(0))(view), view.sum(0), rtol=1e-11, atol=1e-11)
    wide = rng.normal(size=(70, 30_000))
    one, several = (jitrt.jit(lambda x: (x.sum(0), x.max(0)), threads=n)(wide) for n in (1, None))
    for p, q, want in zip(one, several, (wide.sum(0), wide.max(0))):
        np.testing.assert_array_equal(p, q)
        np.testing.assert_allclose(p, want, rtol=1e-11, atol=1e-11)
