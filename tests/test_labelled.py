"""Functions of pandas Series with the same labels: compiled where they act by elements or fold, with equal results."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest

import jitrt

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("error")

N = 400


def series(seed=0, dtype=float, name="a", index=None, missing=True):
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=N) * 9).astype(dtype)
    if missing and np.dtype(dtype).kind == "f":
        values[::7] = np.nan
        values[3], values[5] = np.inf, 0.0
    return pd.Series(values, index=INDEX if index is None else index, name=name)


INDEX = pd.date_range("2020-01-01", periods=N, freq="h")


def same(x, y):
    if isinstance(x, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict):
        return type(y) is dict and list(x) == list(y) and all(same(x[k], y[k]) for k in x)
    if isinstance(x, pd.Series):
        assert type(x) is type(y) and x.name == y.name and x.dtype == y.dtype
        assert type(x.index) is type(y.index) and x.index.equals(y.index)
        if x.dtype.kind not in "fiub" or not isinstance(x.dtype, np.dtype):
            return x.equals(y)
        return np.allclose(x.to_numpy(), y.to_numpy(), rtol=1e-6 if x.dtype == np.float32 else 1e-13, equal_nan=True)
    if type(x) is not type(y):
        return False
    if isinstance(x, (np.ndarray, np.generic, float)):
        return np.asarray(x).dtype == np.asarray(y).dtype and np.allclose(x, y, rtol=1e-12, equal_nan=True)
    return x == y


def outcome(function, args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            value = function(*args)
        except Exception as error:
            value = (type(error), str(error))
    return value, sorted((w.category.__name__, str(w.message)) for w in found)


def check(function, *args, compiled=True):
    fast = jitrt.jit(function)
    for _ in range(6):
        want, got = outcome(function, args), outcome(fast, args)
        assert same(got[0], want[0]), f"{got[0]} and not {want[0]}"
        assert got[1] == want[1]
    assert (fast.explain(*args).plain_reason == "") == compiled
    return fast


BY_ELEMENT = {
    "arithmetic": lambda s, t: (s * 2.5 - t) / (t + 1) + -s,
    "reflected": lambda s, t: 1 / s + (3 - t) * 2 + np.float64(2) * s,
    "powers": lambda s, t: s**2 + abs(t) ** 0.5 + s**-1,
    "functions": lambda s, t: np.exp(-s * s) * np.sin(t) + np.sqrt(np.abs(s)),
    "comparisons": lambda s, t: (s > 0) & ~(t <= s) | (s != t) ^ (t == 3),
    "extremes": lambda s, t: np.maximum(s, t) + np.minimum(s, 0.0),
    "choices": lambda s, t: np.where((s > 0) & (t > 0), s, 0.5),
    "missing": lambda s, t: (s.fillna(0) + t.fillna(2), s.isna() | t.notna()),
    "clipped": lambda s, t: s.clip(-1, 2.5) + t.clip(lower=0) + t.clip(upper=1.0),
    "several": lambda s, t: {"sum": s + t, "both": (s, [s - t, t.abs()]), "n": len(s), "kind": s.dtype.kind},
    "as ufuncs": lambda s, t: np.add(s, t) * np.subtract(1, s) + np.negative(t) + np.absolute(s),
    "values": lambda s, t: s.values * 2 + t.to_numpy(),
    "without labels": lambda s, t: (np.isclose(s, t), np.count_nonzero(s > t)),
}
FOLDS = {
    "standard score": lambda s, t: (s - s.mean()) / s.std(),
    "sum": lambda s, t: (s.sum(), np.sum(s * t), (s * t).sum() / s.sum()),
    "extremes": lambda s, t: (s.min(), t.max(), np.max(s) - np.min(t)),
    "variances": lambda s, t: (s.var(), np.var(t), s.std(ddof=0), np.std(s)),
    "looked at": lambda s, t: s * 2 if s.max() > t.max() else t * 3,
}


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_what_acts_by_elements(name):
    check(BY_ELEMENT[name], series(1), series(2, name="b"))
    check(BY_ELEMENT[name], series(1), series(2))


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("name", FOLDS)
def test_folds(name, missing):
    def finite(seed, name):
        return series(seed, name=name, missing=missing).replace(np.inf, 2.0)

    check(FOLDS[name], finite(1, "a"), finite(2, None))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.uint8, bool])
def test_types(dtype):
    s, t = series(1, dtype), series(2, dtype)
    if dtype is bool:
        check(lambda s, t: (s & t) | ~s, s, t)
        check(lambda s, t: s + t, s, t, compiled=False)
        return
    check(lambda s, t: (s + t) * 2 - s, s, t)
    check(lambda s, t: s / t + 0.5, s, t)
    check(lambda s, t: s // t, s, t, compiled=False)
    check(lambda s: s.mean() + s.sum(), s, compiled=dtype is not np.float32)


def test_many_names_share_one_program():
    fast = jitrt.jit(lambda s, t: s * t + s)
    for k in range(30):
        s, t = series(k, name=f"n{k}"), series(k + 1, name=f"n{k % 3}")
        assert same(fast(s, t), s * t + s)
    assert len(fast._labelled.compiled._specialisations.compiled()) <= 2


def test_numbers_arrays_and_keywords():
    def f(s, k, w, *, scale=2.0):
        return s * k + w * scale

    fast, w = jitrt.jit(f), np.arange(N) * 0.5
    for k in (1, 2, 2.5, np.float64(3)):
        for _ in range(3):
            assert same(fast(series(), k, w, scale=k), f(series(), k, w, scale=k))
            assert same(fast(series(), k, w=w), f(series(), k, w=w))


OTHER_LABELS = pd.RangeIndex(N)
OTHERS = {
    "labels": (lambda s, t: s + t, (series(1), series(2, index=OTHER_LABELS))),
    "order": (lambda s, t: s + t, (series(1), series(2)[::-1])),
    "elements": (lambda s: s.iloc[0] * s, (series(1),)),
    "items": (lambda s: s[s > 0].sum(), (series(1),)),
    "running": (lambda s: s.cumsum() + s.shift(1), (series(1),)),
    "labels used": (lambda s: s * s.index.hour, (series(1),)),
    "text": (lambda s: s + "x", (pd.Series(["a", "b"]),)),
    "nullable": (lambda s: s * 2 + 1, (pd.Series([1, None], dtype="Int64"),)),
    "nothing": (lambda s: (s.mean(), s.sum() + 1), (pd.Series([], dtype=float),)),
    "only missing": (lambda s: (s.mean(), s.max()), (pd.Series([np.nan, np.nan]),)),
    "refused": (lambda s: s @ "x", (series(1),)),
    "lengths": (lambda s, w: s + w, (series(1), np.ones(3))),
    "type": (lambda s: 1.0 if type(s) is np.ndarray else s.head(2).sum(), (series(1),)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_calls_are_those_of_pandas(name):
    function, args = OTHERS[name]
    check(function, *args, compiled=False) if name not in ("lengths", "refused") else None
    fast = jitrt.jit(function)
    for _ in range(5):
        want, got = outcome(function, args), outcome(fast, args)
        assert same(got[0], want[0])


def test_attributes_are_kept():
    s = series(1)
    s.attrs["unit"] = "m"
    fast = jitrt.jit(lambda s: s * 2 + 1)
    for _ in range(5):
        assert fast(s).attrs == {"unit": "m"}


def test_what_is_asked():
    def f(s):
        if not isinstance(s, pd.Series) or type(s) is not pd.Series or isinstance(s, np.ndarray):
            return None
        return s * len(s) + s.size + s.shape[0] + s.ndim

    check(f, series(1))


def test_changes():
    def f(s, o):
        s = s * 2
        s += 1
        o.append(s)
        return s

    fast = jitrt.jit(f)
    for _ in range(5):
        s, o = series(1), []
        before = s.copy()
        got = fast(s, o)
        assert same(s, before) and same(got, before * 2 + 1) and o[0] is got

    def in_place(s):
        s *= 2
        return s.sum()

    fast = jitrt.jit(in_place)
    for _ in range(5):
        s = series(1, missing=False)
        before = s.copy()
        assert np.isclose(fast(s), 2 * before.sum()) and same(s, before * 2)


def test_the_argument_itself():
    fast = jitrt.jit(lambda s, k: (s, s * k + 1))
    for _ in range(5):
        s = series(1)
        assert fast(s, 2.0)[0] is s


def test_results_that_come_again():
    def f(s, o):
        t = s * 2
        both = [t, s]
        return t, both, {"t": t, "both": both}, o, o

    fast, o = jitrt.jit(f), [1]
    for _ in range(5):
        s = series(1)
        t, both, named, p, q = fast(s, o)
        assert named["t"] is t and both[0] is t and both[1] is s and named["both"] is both and p is q is o
        assert same(t, s * 2)


class Pair(NamedTuple):
    x: object
    y: object


class Holder:
    value = None


def hold(s, o):
    o.value = s * 2
    return o


def rename(s, o):
    s.name = "b"
    return s * 2


def round_or_not(s, o):
    try:
        return round(s)
    except TypeError:
        return None


@pytest.mark.parametrize(
    "function", [lambda s, o: Pair(s * 2, 1), lambda s, o: {1: {s.size}, 2: s + 1}, hold, rename, round_or_not]
)
def test_where_labels_are_held_in_other_ways(function):
    fast = jitrt.jit(function)
    for _ in range(5):
        s, o, before = series(1), Holder(), series(1)
        got, want = fast(s, o), function(before, Holder())
        assert s.name == before.name
        if function is hold:
            assert got is o and same(o.value, want.value)
        elif isinstance(want, Pair):
            assert type(got) is Pair and same(tuple(got), tuple(want))
        elif isinstance(want, dict):
            assert got[1] == want[1] and same(got[2], want[2])
        else:
            assert same(got, want)


def test_effects_happen_once():
    calls = []

    def f(s):
        calls.append(1)
        return s * 2 + 1

    fast = jitrt.jit(f)
    for k in range(1, 8):
        fast(series(1))
        assert len(calls) == k


def test_warnings_and_exceptions():
    s = series(1)
    check(lambda s: np.log(s) + 1 / (s - s), s)
    fast = jitrt.jit(lambda s: np.log(s) + 1)
    for _ in range(5):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            fast(s)


def test_calls_with_arrays_are_explained_as_such():
    fast = jitrt.jit(lambda s: s * 2 + 1)
    for _ in range(3):
        fast(series(1))
    assert "stand" not in fast.explain(np.ones(5)).text() and len(fast.explain(np.ones(5)).graph.inputs) == 1
    np.testing.assert_array_equal(fast(np.ones(5)), np.full(5, 3.0))


def test_expressions_leave_series_to_pandas():
    from jitrt import expr

    program = expr.compile(expr.leaf("x") * 2 + 1)
    for _ in range(3):
        assert same(program(series(1)), series(1) * 2 + 1)


def test_clear_forgets():
    fast = jitrt.jit(lambda s: s * 2 + 1)
    fast(series(1))
    fast.clear()
    assert same(fast(series(1)), series(1) * 2 + 1)


XARRAY = {
    "arithmetic": lambda a, c: (a * 2.5 - c) / (c + 1) + 1 / a,
    "functions": lambda a, c: np.exp(-a * a) * np.sin(c) + abs(a) ** 0.5,
    "comparisons": lambda a, c: ((a > 0) & ~(c <= a), a == c),
    "choices": lambda a, c: np.where((a > 0) & (c > 0), a, 0.5) + a.values,
    "extremes": lambda a, c: np.maximum(a, 2) + np.minimum(c, 0.0) * len(a) + a.ndim,
}
NOT_COMPILED = {
    "folds": lambda a, c: a - a.mean(),
    "axes": lambda a, c: a.T + c,
    "elements": lambda a, c: a[0] + c,
    "attributes": lambda a, c: (a * 2 + c).assign_attrs(unit="m"),
    "coordinates": lambda a, c: a * a.x + c,
}


@pytest.mark.parametrize("name", [*XARRAY, *NOT_COMPILED])
def test_data_arrays(name):
    xr = pytest.importorskip("xarray")
    data = np.random.default_rng(1).normal(size=(30, 20))
    data[2, 3] = np.nan
    a = xr.DataArray(data, dims=("t", "x"), coords={"t": range(30), "x": np.arange(20.0), "k": 3}, name="a")
    others = [a.rename("c") * 0.5 + 1, a + 1, a[::-1], a[:20] * 2, a.drop_vars("k"), a.assign_attrs(unit="m")]
    function = (XARRAY | NOT_COMPILED)[name]
    fast = jitrt.jit(function)
    for k, c in enumerate(others):
        for _ in range(3):
            (want, told), (got, warned) = outcome(function, (a, c)), outcome(fast, (a, c))
            for x, y in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,)):
                assert type(x) is type(y)
                if isinstance(x, xr.DataArray):
                    xr.testing.assert_allclose(x, y, rtol=1e-13)
                    assert x.name == y.name and x.attrs == y.attrs and x.dtype == y.dtype
            assert told == warned
        if k < 2:
            assert (fast.explain(a, c).plain_reason == "") == (name in XARRAY)
