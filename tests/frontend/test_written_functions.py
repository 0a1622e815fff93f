"""NumPy's functions that staged functions have in Python: what NumPy gives, to the bit, for all kinds of operands."""

import numpy as np
import pytest
from covering import few
from test_element_loops import agrees
from texts import function_of

from jitrt.frontend.control.written import WRITTEN
from jitrt.frontend.control.written_arrays import ARRAYS
from jitrt.frontend.control.written_complex import COMPLEX
from jitrt.frontend.control.written_draws import DRAWS
from jitrt.frontend.control.written_lists import LISTS
from jitrt.frontend.control.written_maps import MAPS
from jitrt.frontend.control.written_math import MATH
from jitrt.runtime.stagedfunction import StagedFunction

RNG = np.random.default_rng(1)
X = RNG.random(50)
K = RNG.integers(0, 20, 40)
M = RNG.random((5, 7))
TRUTHS = X > 0.5
SINGLE = X.astype(np.float32)
WITH_NAN = np.where(X > 0.9, np.nan, X)
EMPTY = np.empty(0)
SORTED = np.cumsum(X)
CUBE = RNG.random((2, 3, 6))
WHOLE = np.floor(M * 8)  # whose products have the same sums in any order
CALLS = {
    "np.diff(x)": [X, K, TRUTHS, SINGLE, M, X[:1], EMPTY, K.astype(np.uint8)],
    "np.nonzero(x)": [X, K, TRUTHS, WITH_NAN, EMPTY],
    "np.flatnonzero(x)": [M > 0.5, X * 0, X, K],
    "np.cumsum(x)": [X, K, TRUTHS, SINGLE, M, EMPTY, K.astype(np.int8), WITH_NAN],
    "np.cumprod(x)": [X, K, SINGLE],
    "np.median(x)": [X, X[:49], K, SINGLE, M, TRUTHS, RNG.random(1001), np.repeat(1.5, 200), K.astype(np.int16)],
    "np.median(x, axis=1)": [M, M.T.copy(), M[:, :6], SINGLE.reshape(5, 10), K.reshape(5, 8)],
    "np.median(x, 0)": [M, X, M.T, RNG.random((3000, 2))],
    "np.median(x, -1)": [CUBE, M],
    "np.nanmedian(x)": [WITH_NAN, X, K, M],
    "np.nanmedian(x, 1)": [np.where(M > 0.8, np.nan, M), M],
    "np.quantile(x, y)": [(X, 0.3), (X, 1.0), (X, np.array([0.0, 0.1, 0.5, 1.0])), (RNG.random(5000), 0.77), (M, 0.25)],
    "np.quantile(x, y, axis=1)": [(M, 0.25), (CUBE[0], 0.9)],
    "np.percentile(x, [10, 50.5, 100])": [X, X[:1], X[:2], RNG.random(3000), M],
    "np.percentile(x, y)": [(X, 5), (X, 33.3), (X, 0), (X, 100), (X, np.array([3, 60]))],
    "np.percentile(x, 75, 0)": [M, X],
    "np.nanquantile(x, y)": [(WITH_NAN, 0.3), (X, np.array([0.0, 0.7]))],
    "np.nanpercentile(x, y)": [(WITH_NAN, 30), (WITH_NAN, np.array([25, 75]))],
    "np.sort(x)": [X, K, M, SINGLE, WITH_NAN, EMPTY, TRUTHS, K.astype(np.uint8), CUBE, RNG.random(3000), X[::2]],
    "np.sort(x, None)": [M, CUBE],
    "np.sort(x, kind='stable')[::-1] * 2": [X, K],
    "np.argsort(x)": [X, K, M, SINGLE, WITH_NAN, EMPTY, TRUTHS, X[::-3], K.astype(np.int8)],
    "x.argsort(kind='stable')": [K, K.reshape(5, 8), TRUTHS],
    "np.argsort(np.argsort(x))": [X, K, RNG.random(3000)],
    "np.lexsort((x, y))": [(K, K[::-1]), (X[:40], K), (WITH_NAN, TRUTHS)],
    "np.searchsorted(np.cumsum(x), y)": [(X, X * 9), (X, 3.3), (K, K * 3), (K, 7)],
    "np.searchsorted(np.cumsum(x), y, side='right')": [(X, X * 9), (K, K), (K, 7)],
    "np.interp(y, np.cumsum(x), x)": [(X, X * 30 - 2), (X, 3.3), (X, -1.0), (X, 1e9), (K, K * 3), (SINGLE, SINGLE)],
    "np.bincount(x)": [K, K.astype(np.int32), K[:0]],
    "np.bincount(x, y)": [(K, X[:40]), (K, SINGLE[:40])],
    "np.bincount(x, minlength=30)": [K],
    "np.digitize(x, y)": [(X, SORTED), (K, np.arange(9)), (SINGLE, SORTED)],
    "np.histogram(x, 7)": [X, M, SORTED],
    "np.histogram(x, 5, (0.25, 0.75))[0]": [X, WITH_NAN, M, EMPTY],
    "np.histogram(x, 5, weights=y)": [(X, X), (M, M), (np.tile(X, 2000), np.tile(SORTED, 2000))],
    "np.histogram(x, 5, (0, 1), weights=y)[0]": [(X, X), (WITH_NAN, X), (EMPTY, EMPTY)],
    "np.histogram(x, 7, density=True)": [X, M, SORTED],
    "np.histogram(x, y)": [
        (X, np.array([0.1, 0.25, 0.25, 0.5, 0.9])),
        (WITH_NAN, np.array([0.0, 1.0])),
        (SORTED, SORTED),
    ],
    "np.histogram2d(x, y)": [(X, SORTED), (X[::2], X[1::2])],
    "np.histogram2d(x, y, 6, [[0.1, 1.5], (0, 2)])": [(X, SORTED), (X[::2], X[1::2]), (X[:0], X[:0])],
    "np.histogram2d(x, y, bins=(3, 8), range=((-1, 1), (0, 2)))": [(X, SORTED), (X * 9, X)],
    "np.histogram2d(x, y, [5, np.sort(y)])": [(X, SORTED), (SORTED, X)],
    "np.histogram2d(x, y, [np.sort(x), np.sort(y)], weights=x * y)": [(X, SORTED), (SORTED, X[::-1])],
    "np.histogram2d(x, y, 4)[0]": [(X, SORTED), (np.tile(X, 200), np.tile(SORTED, 200))],
    "np.isin(x, y)": [(K, K[:5]), (K.reshape(5, 8), np.array([3, 90, -7]))],
    "np.unique(x)": [
        K,
        K.reshape(5, 8),
        K.astype(np.int8) - 9,
        K.astype(np.uint8),
        K * (1 << 40),
        K.astype(np.uint32) << 27,
    ],
    "np.unique(x, return_counts=True)": [K, K * -(1 << 40), K[:1] << 50],
    "np.cross(x, y)": [(X[:3], X[3:6]), (K[:3], X[3:6]), (SINGLE[:3], SINGLE[3:6])],
    "np.trapezoid(x[:3])": [X, K, SINGLE],
    "np.trapezoid(x[:3], y[:3])": [(X, SORTED)],
    "np.trace(x[:2])": [M, M.T, K.reshape(5, 8)],
    "np.diagflat(x)": [X, K, M],
    "np.diag(x) + 1": [X, K, M, M.T, EMPTY, TRUTHS],
    "np.diag(np.diag(x)) * 2": [M, K.reshape(5, 8)],
    "np.unravel_index(np.argmax(x), x.shape)": [M, K.reshape(5, 8)],
    "np.tensordot(x, y, axes=1)": [(WHOLE, WHOLE.T), (K.reshape(5, 8), K.reshape(8, 5)), (K, K), (M[:, :0], M.T[:0])],
    "np.tensordot(x, y)": [(WHOLE, WHOLE), (np.floor(CUBE * 9), np.floor(CUBE[0] * 9)), (WHOLE[::2, ::-1], WHOLE[1:4])],
    "np.tensordot(x, y, 0)": [(K, K[:3]), (WHOLE, SINGLE[:2])],
    "np.tril(x)": [M, M > 0.5, M.T],
    "np.triu(x, 1)": [M, M.T],
    "np.flip(x) + 1": [X, K],
    "np.ptp(x)": [X, K],
    "np.allclose(x, y)": [(X, X + 1e-12), (X, X + 1e-3), (K, K)],
    "np.clip(x, None, 0.5)": [X, WITH_NAN],
    "x.clip(min=0.5)": [X, WITH_NAN],
}
LEFT_TO_NUMPY = {
    "np.median(x)": [EMPTY, WITH_NAN],
    "np.median(x, 1)": [np.where(M > 0.5, np.nan, M), M[:, :0]],
    "np.nanmedian(x, 1)": [np.where(M > 0.1, np.nan, M)],
    "np.quantile(x, y)": [
        (X, 1.5),
        (X, -0.1),
        (WITH_NAN, 0.5),
        (X, np.array([0.5, 2.0])),
        (np.array([1.0, np.inf]), 1.0),
    ],
    "np.quantile(x, y, 1)": [(M[:, :0], 0.5)],
    "np.nanpercentile(x, y)": [(X * np.nan, 30)],
    "np.lexsort((x, y))": [(X, K)],
    "np.bincount(x)": [K - 1],
    "np.searchsorted(x, y)": [(X, np.nan)],
    "np.digitize(x, y)": [(X, SORTED[::-1].copy()), (WITH_NAN, SORTED)],
    "np.histogram(x)": [X * 0, EMPTY],
    "np.histogram(x, y)": [(X, X), (X, np.array([0.5])), (np.tile(X, 400), SORTED)],
    "np.histogram(x, 3, weights=y)": [(X, X[1:])],
    "np.histogram2d(x, y, [y, 4])": [(X, -SORTED)],
    "np.histogram2d(x, y)": [(X, X[1:]), (X * 0, X), (WITH_NAN, X)],
    "np.isin(x, y)": [(K, EMPTY.astype(int)), (K, np.array([1 << 40, 0]))],
    "np.unique(x)": [K[:0]],
    "np.interp(y, x, x)": [(EMPTY, 1.0)],
    "np.unravel_index(x[0], (3, 4))": [K + 12, K - 30],
    "np.tensordot(x, y, 1)": [(M, M), (X, X[:3])],
    "np.cross(x, y)": [(X[:2], X[:2]), (X[:3], X[:4])],
    "np.allclose(x, y)": [(X, WITH_NAN)],
}


def calling(expression, count):
    """A function with a loop, and the call behind it."""
    arguments = ", ".join("xy"[:count])
    loop = "    turns = 0\n    for i in range(40):\n        turns += i\n"
    return function_of(f"def f({arguments}):\n{loop}    return {expression}, turns\n")


@pytest.mark.parametrize("part", few(range(2), 1))
@pytest.mark.parametrize("expression", CALLS)
def test_gives_what_numpy_gives(expression, part):
    for args in CALLS[expression][part::2]:
        args = args if isinstance(args, tuple) else (args,)
        agrees(calling(expression, len(args)), args)


@pytest.mark.parametrize("expression", LEFT_TO_NUMPY)
@pytest.mark.filterwarnings("ignore")
def test_what_numpy_refuses_or_treats_differently_is_left_to_it(expression):
    for args in LEFT_TO_NUMPY[expression]:
        args = args if isinstance(args, tuple) else (args,)
        agrees(calling(expression, len(args)), args)


def test_every_function_is_called():
    text = " ".join(CALLS)
    # See test_arrays_in_loops, test_complex_functions, test_containers, test_conversions_in_loops, test_forms_of_loops,
    # test_native_draws, test_statistics_in_loops, test_vectorized.
    elsewhere = (
        np.linalg.det,
        np.linalg.cholesky,
        np.flipud,
        np.fliplr,
        *ARRAYS,
        *COMPLEX,
        *DRAWS,
        *MAPS,
        *MATH,
        *LISTS,
        np.cov,
        np.corrcoef,
    )
    assert not [f.__name__ for f in WRITTEN if f"np.{f.__name__}(" not in text and f not in elsewhere]


@pytest.mark.parametrize("size", [1, 2, 23, 24, 25, 26, 100, 997])
def test_medians_of_windows_in_any_order(size):
    function = function_of(
        "def f(x, w):\n    out = np.empty(len(x) - w + 1)\n    for k in range(len(out)):\n"
        "        out[k] = np.median(x[k:k + w])\n    return out\n"
    )
    x = RNG.integers(0, 50, size + 3).astype(float)
    agrees(function, (x, size), (np.sort(x), size), (np.sort(x)[::-1].copy(), size), (x * 0.0, size))


def test_loops_may_end_with_the_histogram_of_no_values(monkeypatch):
    """Behind all of the work the procedure stopped, and everything ran again."""
    stops = []
    monkeypatch.setattr(StagedFunction, "count_stop", lambda self: stops.append(self))
    function = function_of(
        "def f(x):\n    total = np.zeros(5)\n    for k in range(len(x)):\n"
        "        total += np.histogram(x[k + 1:] - x[k], bins=5, range=(0, 1))[0]\n    return total\n"
    )
    agrees(function, (X,), (EMPTY,))
    assert not stops


def test_continue_in_loops_that_are_unrolled():
    def neighbours(g):
        counts = np.zeros_like(g)
        for i in range(g.shape[0]):
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di == 0 and dj == 0:
                        continue
                    if g[i, dj] > 3:
                        if di > 0:
                            continue
                        counts[i, 0] += 1
                    else:
                        counts[i, 1] += dj
                        continue
                    counts[i, 2] += di
        return counts

    g = RNG.integers(0, 9, (6, 4))
    agrees(neighbours, (g,), (g[:0],), (g * 0,))


def test_a_function_that_returns_from_inside_of_a_loop():
    def place(x, limit):
        for k in range(len(x)):
            if x[k] > limit:
                return k

    def places(x):
        total = 0
        for row in range(3):
            k = place(x, row / 4)
            if k is None:
                total -= 1
        return total

    agrees(places, (X,))  # None or an integer

    def first(x, limit):
        for k in range(len(x)):
            if x[k] > limit:
                return k
        return -1

    def firsts(x):
        total = 0
        for row in range(3):
            total += first(x, row / 4)
        return total

    agrees(firsts, (X,), (X[:0],))


def test_diagonals():
    def scaled(a, b, n):
        d = np.diag(a)
        x = np.zeros_like(b)
        for _ in range(n):
            for i in range(len(b)):
                s = 0.0
                for j in range(len(b)):
                    if j != i:
                        s += a[i, j] * x[j]
                x[i] = (b[i] - s) / d[i]
        return x, d + 0

    agrees(scaled, (M[:, :5] + np.eye(5) * 9, X[:5], 4), (M[:2].T + 1, X[:2], 1))


@pytest.mark.parametrize("statement", ["d[0] = 5.0", "a[k, k] = 7.0", "a += 1"])
def test_a_diagonal_shows_the_array_and_is_not_written(statement):
    function = function_of(
        f"def f(a):\n    d = np.diag(a)\n    s = 0.0\n    for k in range(2):\n        {statement}\n        s += d[k]\n"
        "    return s\n"
    )
    agrees(function, (M.copy(),), compiled=statement.startswith("a["))
