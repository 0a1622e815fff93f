"""Calls that Python serves, since NumPy executes some of the steps: native code still looks at the arguments."""

import tracemalloc
import warnings

import numpy as np
import pytest

import jitrt

W = np.linspace(0.5, 1.5, 40)
x = np.linspace(-1.0, 3.0, 40)


def sorts(a):
    y = np.exp(a) * 2 + 1
    s = np.sort(y)
    return s * 3 - 1, s + y


def reads_a_global(a):
    return np.sort(a * W) + W.sum()


def looks(a):
    if a.sum() > 0:
        return np.sort(a) * 2 + W
    return a - 1


def nested(a):
    return {"a": a + 1, "b": (np.median(a) + a * 2, 3)}


def several_parts(a):
    values, counts = np.unique(np.floor(a * 3), return_counts=True)
    low, high = np.percentile(a, [10, 90])
    return values * 1.0 + counts.sum(), low + high, np.linalg.norm(a) * a


def product(a):
    return (np.outer(a, a) @ W) * a + np.linalg.norm(a, ord=1)


FUNCTIONS = (sorts, reads_a_global, looks, nested, several_parts, product)


def leaves(value):
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in leaves(v)]
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple) else [value]


def same(got, want):
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert type(g) is type(w)
        np.testing.assert_allclose(g, w, rtol=1e-13)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_calls_do_not_look_for_their_specialisation_again(function):
    fast = jitrt.jit(function)
    for _ in range(3):
        same(fast(x), function(x))
    before = fast.cache_info().slow_calls
    for k in range(5):
        same(fast(x + k), function(x + k))
    assert fast.cache_info().slow_calls == before


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_other_arguments_are_told_apart(function):
    fast = jitrt.jit(function)
    values = (x, x[::-1], x.astype(np.float32), -x - 5, np.asfortranarray(x), x)
    for _ in range(3):
        for value in values:
            got, want = fast(value), function(value)
            for g, w in zip(leaves(got), leaves(want), strict=True):
                np.testing.assert_allclose(g, w, rtol=2e-5)


@pytest.mark.parametrize("new", [W * 2, W.astype(np.float32), W[::-1]], ids=["values", "dtype", "strides"])
def test_a_global_array_that_is_another_one(monkeypatch, new):
    fast = jitrt.jit(reads_a_global)
    for _ in range(3):
        fast(x)
    monkeypatch.setitem(globals(), "W", new)
    np.testing.assert_allclose(fast(x), reads_a_global(x), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
def test_a_global_array_that_has_another_shape(monkeypatch):
    own = W.copy()
    monkeypatch.setitem(globals(), "W", own)
    fast = jitrt.jit(reads_a_global)
    for _ in range(3):
        fast(x)
    own.shape = (40, 1)
    same(fast(x), reads_a_global(x))


def test_exceptions_are_those_of_numpy():
    def inverse(a, b):
        return np.linalg.inv(a) * b + 1

    fast = jitrt.jit(inverse)
    good, bad = np.eye(3) * 2, np.zeros((3, 3))
    for a in (good, good, bad, good, bad):
        if a is bad:
            with pytest.raises(np.linalg.LinAlgError, match="Singular"):
                fast(a, good)
        else:
            np.testing.assert_array_equal(fast(a, good), inverse(a, good))


def test_warnings_are_those_of_numpy():
    def roots(a):
        return np.sort(np.sqrt(a)) + np.linalg.norm(a)

    fast = jitrt.jit(roots)
    good, bad = np.ones(5), -np.ones(5)
    for a in (good, good, good, bad, good, bad):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            got = fast(a)
        with warnings.catch_warnings(record=True) as wanted:
            warnings.simplefilter("always")
            want = roots(a)
        np.testing.assert_array_equal(got, want)
        assert [(str(w.message), w.lineno) for w in seen] == [(str(w.message), w.lineno) for w in wanted]


def test_arguments_that_are_written_and_overlap():
    def shifts(a, b):
        if b.sum() > 0:
            a += b
        else:
            a -= b
        return a

    fast = jitrt.jit(shifts)
    for _ in range(4):
        for start in (5, 1, 0):
            one, two = np.arange(20.0), np.arange(20.0)
            fast(one[start : start + 10], one[:10])
            shifts(two[start : start + 10], two[:10])
            np.testing.assert_array_equal(one, two)


def test_what_numpy_returns_is_not_overwritten_by_the_next_call():
    fast = jitrt.jit(lambda a: np.squeeze(np.linalg.qr(np.outer(a, a) + np.eye(len(a)))[0] * 2) + 1)
    first = fast(x)
    kept = first.copy()
    fast(x + 1)
    np.testing.assert_array_equal(first, kept)


class Walker:
    """An object whose integer is another one at every call."""

    def __init__(self, n):
        self.u, self.v, self.steps = np.linspace(0, 1, n), np.zeros(n), 0

    def step(self, force):
        self.v = self.v + 0.01 * (force - self.u)
        self.u = self.u + 0.01 * self.v
        self.steps += 1
        return self.u.max()


def test_results_are_made_when_numpy_has_freed_what_it_needed_before():
    def winsorised(x):
        return np.clip(x, *np.percentile(x, [5, 95]))

    fast, x = jitrt.jit(winsorised), np.random.default_rng(0).standard_normal(500_000)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), winsorised(x))
    assert fast.explain(x).host_calls
    tracemalloc.start()
    try:
        result = fast(x)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.nbytes <= most < 1.5 * x.nbytes  # and not the copy that NumPy sorts beside the result


def test_objects_with_small_arrays_first_and_large_ones_later(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    fast = jitrt.jit(Walker.step)
    for n in (50, 200_000):
        one, two = Walker(n), Walker(n)
        force = np.linspace(-1, 1, n)
        for _ in range(70):
            np.testing.assert_allclose(fast(one, force), two.step(force), rtol=1e-13)
        np.testing.assert_allclose(one.u, two.u, rtol=1e-13)
        assert one.steps == two.steps == 70
    assert 0 < fast.cache_info().compiled < 7
    assert not fast.explain(one, force).plain_reason
    assert not fast.explain(Walker(50), np.ones(50)).plain_reason


def test_objects_with_small_arrays_that_python_takes_apart(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")

    def pair(walker, force):
        walker.v = walker.v + force
        found = {"u": walker.u, "energy": (walker.v * walker.v).sum(), "order": np.argsort(force + walker.v)}
        return found, found

    fast = jitrt.jit(pair)
    for n in (50, 200_000):
        one, two = Walker(n), Walker(n)
        for _ in range(30):
            (got, same), (want, _) = fast(one, 0.5), pair(two, 0.5)
            assert got is same
            np.testing.assert_allclose(got["energy"], want["energy"], rtol=1e-13)
            np.testing.assert_array_equal(got["order"], want["order"])
            assert got["u"] is one.u
        assert ("too small" in fast.explain(Walker(n), 0.5).plain_reason) == (n == 50)


@pytest.mark.parametrize("with_procedures", [True, False], ids=["procedure", "segments"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_views_for_several_of_numpys_steps_show_what_is_written_in_between(order, with_procedures, request):
    if not with_procedures:
        request.getfixturevalue("without_procedures")

    def plain(x, w):
        found = []
        h = np.zeros(4)
        for k in range(4):
            z = np.concatenate([x[k], h]) @ w[:, :8]
            found.append(np.sort(w.T.reshape(-1)))  # a copy in one of the orders
            w[1:, 2:4] *= 0.5
            h = np.tanh(z[:4]) * (w[::-1, :8] @ z).sum()
            w[:, 0] = h.sum()
            found.append(np.sort(w.T.reshape(-1))[:3] + (w[:, 1:9] @ z).sum())
        return h, found, np.sort(x[:, ::2], axis=0), w[:, :8] @ np.ones(8)

    rng = np.random.default_rng(0)
    compiled = jitrt.jit(plain)
    for _ in range(3):
        x, w = rng.normal(size=(4, 4)), np.array(rng.normal(size=(8, 12)), order=order)
        other = w.copy("K")
        got, wanted = compiled(x, w), plain(x, other)
        for g, e in zip((*got[1], got[0], *got[2:], w), (*wanted[1], wanted[0], *wanted[2:], other), strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-9)
    assert with_procedures or len(compiled.explain(x, w).host_calls) > 8
