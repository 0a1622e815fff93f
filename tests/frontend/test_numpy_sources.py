"""NumPy's functions that NumPy writes in Python: traced through their source, with what NumPy gives in every call."""

import warnings

import numpy as np
import pytest

import jitrt

RNG = np.random.default_rng(3)
X = RNG.normal(size=40)
Y = RNG.random(40) + 0.5
M = RNG.normal(size=(6, 5))
P = RNG.normal(size=(30, 3))
K = RNG.integers(-9, 9, 40)
SINGLE = X.astype(np.float32)
WITH_NAN = np.where(np.abs(X) > 1, np.nan, X)
COMPLEX = X + 1j * Y
EMPTY = np.empty(0)

TRACED = {
    "np.linalg.norm(x, axis=1, keepdims=True)": [(M,), (P,), (M.astype(np.float32),), (M + 1j,), (np.empty((0, 3)),)],
    "np.linalg.norm(x, 1, axis=-1) + np.linalg.norm(x, np.inf, -1) + np.linalg.norm(x, 3, 1)": [(P,), (M,)],
    "np.isclose(x, y)": [(X, X + 1e-9), (K, K), (WITH_NAN, WITH_NAN), (SINGLE, X), (np.array([np.inf, 1]), np.inf)],
    "np.isclose(x, y, equal_nan=True, rtol=0.1)": [(WITH_NAN, WITH_NAN * 1.01)],
    "np.polyval([1.0, -2.0, 3.0], x)": [(X,), (K,), (COMPLEX,), (SINGLE,)],
    "np.polyval(x[:4], y)": [(X, Y)],
    "np.sinc(x)": [(X,), (np.zeros(3),), (SINGLE,)],
    "np.nan_to_num(x)": [(WITH_NAN,), (X / 0.1,), (np.array([np.inf, -np.inf, np.nan]),), (K,)],
    "np.nan_to_num(x, nan=1.5, posinf=9, neginf=-9)": [(np.array([np.inf, -np.inf, np.nan, 1.0]),)],
    "np.average(x, weights=y)": [(X, Y), (X, np.zeros(40)), (SINGLE, Y), (K, K + 20)],
    "np.average(x, axis=0)": [(M,), (P,)],
    "np.trapezoid(x, y)": [(X, Y), (K, X)],
    "np.meshgrid(x, y)": [(X, Y[:7]), (K, Y)],
    "np.meshgrid(x, y, indexing='ij', sparse=True)": [(X, Y[:7])],
    "np.broadcast_arrays(x, y)": [(M, M[0]), (X, X)],
    "np.cross(x, y)": [(P, P[::-1]), (P, P[0]), (P.astype(int), P)],
    "np.gradient(x)": [(X,), (M,), (SINGLE,), (K,)],
    "np.gradient(x, 0.5, axis=0, edge_order=2)": [(M,), (X,)],
    "np.gradient(x, y)": [(X, np.cumsum(Y))],
    "np.unwrap(x * 9)": [(X,), (M,), (SINGLE,)],
    "np.vander(x, 3)": [(X,), (K,)],
    "np.cov(x)": [(M,), (X,), (P.T,)],
    "np.corrcoef(x, y)": [(X, Y)],
    "np.pad(x, 2, mode='edge')": [(X,), (M,)],
    "np.pad(x, ((1, 2), (0, 1)), mode='constant', constant_values=7)": [(M,)],
    "np.pad(x, 3, mode='reflect')": [(X,), (M,)],
    "np.kron(x, y)": [(M, M[:2]), (X[:3], K[:2])],
    "np.tril(x) + np.triu(x, 1)": [(M,), (M.astype(int),)],
    "np.diag(x)": [(M,), (X,)],
    "np.trace(x)": [(M,), (K.reshape(5, 8).astype(np.int8),), (M > 0,)],
    "np.trace(x, 1, dtype=np.float32)": [(M,)],
    "np.append(x, y)": [(X, Y), (M, 1)],
    "np.fft.fftshift(x)": [(X,), (M,)],
    "np.fix(x)": [(X,), (SINGLE,)],
    "np.isposinf(x) | np.isneginf(x)": [(X,), (np.array([np.inf, -np.inf, np.nan]),)],
    "np.cumulative_sum(x)": [(X,), (K,)],
    "np.real_if_close(x)": [(X + 0j,), (COMPLEX,)],
    "np.array_equal(x, y)": [(X, X), (X, Y), (X, M)],
    "np.allclose(x, y)": [(X, X), (X, Y)],
    "np.multiply(x, y, dtype=np.float32)": [(SINGLE, SINGLE)],
    "np.add(x, y, dtype=float)": [(K, K), (SINGLE, K)],
    "np.add(x, y, dtype=np.int64)": [(K, X)],
    "np.broadcast(x, y).shape": [(M, M[0])],
    "x.flags.c_contiguous, x.flags['F'], x.flags.fnc": [(M,), (M.T,), (X,)],
}


def function_of(expression):
    names = {"np": np}
    exec(f"def f(x, y=None):\n    return {expression}\n", names)
    return names["f"]


def outcome(function, args):
    """What a call gives, and the warnings of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            return type(error), str(error), []
    kind = type(result)
    parts = [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else [result])]
    return kind, parts, sorted(str(w.message) for w in caught)


def check(got, want):
    assert got[0] is want[0] and got[2] == want[2]
    if isinstance(want[1], str):
        assert got[1] == want[1]
        return
    assert len(got[1]) == len(want[1])
    for a, b in zip(got[1], want[1]):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype.itemsize == 4 else 1e-12, atol=1e-13)


@pytest.mark.parametrize("expression", TRACED)
def test_gives_what_numpy_gives(expression):
    function = function_of(expression)
    fast = jitrt.jit(function)
    for args in TRACED[expression]:
        for _ in range(2):
            copies = [a.copy("K") if isinstance(a, np.ndarray) else a for a in args]
            check(outcome(fast, copies), outcome(function, args))
            for copied, a in zip(copies, args):
                np.testing.assert_array_equal(copied, a)


def test_numpy_executes_nothing_of_them():
    through = [
        "norm(x, axis=1",
        "isclose(x, y)",
        "cross(x",
        "gradient(x)",
        "pad(x, 2",
        "average(x, w",
        "meshgrid(x, y)",
    ]
    for expression, inputs in TRACED.items():
        if any(name in expression for name in through):
            explained = jitrt.jit(function_of(expression)).explain(*inputs[0])
            assert explained.kernels and not explained.host_calls and not explained.plain_reason, expression


def test_checks_of_values_are_heeded_in_later_calls():
    """Weights that sum to zero: NumPy raises; a compiled call must not go by what the first one saw."""
    fast = jitrt.jit(lambda x, w: np.average(x * 2, weights=w))
    for _ in range(3):
        np.testing.assert_allclose(fast(X, Y), np.average(X * 2, weights=Y))
        with pytest.raises(ZeroDivisionError):
            fast(X, np.zeros(40))
    fast = jitrt.jit(lambda x: np.real_if_close(x * 2))
    for x in (X + 0j, COMPLEX, X + 0j, COMPLEX):
        assert fast(x).dtype == np.real_if_close(x).dtype


@pytest.mark.parametrize("method", ["linear", "inverted_cdf", "averaged_inverted_cdf", "weibull", "midpoint"])
@pytest.mark.parametrize("name", ["percentile", "nanpercentile", "quantile"])
def test_sources_that_ask_for_arrays_without_axes(name, method):
    """What ``out=...`` gives may be assigned to, which a scalar may not."""
    function = getattr(np, name)
    for values in (X, SINGLE, WITH_NAN):
        for q in (0.5, 1, np.float32(0.25)):
            compiled = jitrt.jit(lambda x, q=q: function(x, q, method=method))
            want = function(values, q, method=method)
            for _ in range(2):
                got = compiled(values)
                assert type(got) is type(want)
                assert np.array_equal(got, want, equal_nan=True)


def test_dates_that_sources_fold():
    spans = np.array([5, 0, 3], "m8[s]")
    for function in (np.any, np.all, np.max, np.sum, np.median, np.ptp, np.mean):
        assert jitrt.jit(lambda d, function=function: function(d))(spans) == function(spans)


def test_warnings_come_at_every_call():
    fast = jitrt.jit(lambda x: np.cov(x[:, :1] * 2))
    for _ in range(3):
        assert outcome(fast, [M])[2] == outcome(fast.__wrapped__, [M])[2] != []


def test_results_are_arrays_of_their_own_where_numpys_are():
    fast = jitrt.jit(lambda x: np.nan_to_num(x))
    x = X.copy()
    for _ in range(3):
        made = fast(x)
        made[0] = 99
        assert x[0] == X[0]
    fast = jitrt.jit(lambda x: np.nan_to_num(x, copy=False))
    x = WITH_NAN.copy()
    assert fast(x) is x and not np.isnan(x).any()


def test_float_as_a_class_beside_calls_of_it():
    """A generator that asks ``isinstance(v, float)`` in a module whose other functions call ``float``."""
    names = {"np": np}
    exec(
        "def half(x):\n    return float(x[0]) / 2\n"
        "def count(*values):\n    return sum(1 for v in values if isinstance(v, float))\n"
        "def f(x):\n    return x * half(x) + count(1.5, 2, half(x))\n",
        names,
    )
    fast = jitrt.jit(names["f"])
    for _ in range(2):
        np.testing.assert_array_equal(fast(Y), names["f"](Y))


@pytest.mark.parametrize("is_computed", [True, False])
def test_what_is_broadcast_before_its_memory_changes(is_computed):
    def function(x, y):
        y = y * 2 if is_computed else y
        made = np.broadcast_arrays(x, y)
        y[0] = 7.0
        return made

    for args in [(M, M[:1]), (M, M[:1] + 1)] * 2:
        got, want = (call(*(a.copy() for a in args)) for call in (jitrt.jit(function), function))
        with pytest.warns(FutureWarning, match="future versions"):
            assert got[1].flags.writeable
        np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("given", ["np.broadcast_arrays(x, y)", "np.broadcast_arrays(x, y)[1][2:]", "x, y"])
def test_what_is_broadcast_warns_when_it_is_written(given):
    function = function_of(f"[np.broadcast_arrays(x, y)[0] + 1, {given}]")
    fast = jitrt.jit(function)
    for args in [(M, M[:1]), (M, M.copy()), (M, M[:1]), (M[:, :1], M[:1])] * 2:
        got, want = [], []
        for found, called in ((got, fast), (want, function)):
            for array in called(*(a.copy() for a in args))[1]:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    array[...] = 1
                found.append([w.category for w in caught])
        assert got == want


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [np.ones(3)], (np.ones(3), np.zeros(3))])
@pytest.mark.parametrize("copy", [False, None, 0, True])
def test_lists_that_are_not_to_be_copied(values, copy):
    def f(x, values):
        return x * 2, np.nan_to_num(values, copy)

    fast = jitrt.jit(f)
    for _ in range(5):
        if copy is None or copy:
            np.testing.assert_array_equal(fast(np.ones(4), values)[1], f(np.ones(4), values)[1])
            continue
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            fast(np.ones(4), values)
