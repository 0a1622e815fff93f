"""Native calls of procedures: which calls they serve, and what they give."""

import gc
import linecache
import sys
import threading

import numpy as np
import pytest
from entry_calls import check, compiled

import jitrt
from jitrt.runtime.objects import fields

pytestmark = pytest.mark.skipif(fields() is None, reason="objects of this build of Python lie elsewhere")


def served_natively(function, *calls):
    """A compiled function that has served all calls as the plain one does, and the last ones in native code alone."""
    fast = jitrt.jit(function)
    for args in calls:
        for _ in range(2):
            same(fast(*args), function(*args))
    slow = fast.cache_info().slow_calls
    for args in calls:
        same(fast(*args), function(*args))
    assert fast.cache_info().slow_calls == slow
    return fast


def same(got, want):
    assert type(got) is type(want)
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape and got.flags.c_contiguous
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want or (got != got and want != want)


ROWS = np.random.default_rng(1).random((40, 30))


def total(x):
    s = 0.0
    for k in range(len(x)):
        s = s * 0.5 + x[k]
    return s


def test_numbers_of_python_and_numpy_are_told_apart():
    def several(x, n, factor):
        s, hits, found = 0.0, 0, False
        for k in range(n):
            s = s + float(x[k]) * factor
            if x[k] > 0.5:
                hits += 1
                found = True
        return s, hits, found, x[0] * 2, n, None, "text"

    x = ROWS[0]
    served_natively(several, (x, 20, 0.5), (x, 10, 2.5))
    served_natively(several, (x.astype(np.float32), 20, 0.5))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "b1"])
def test_new_arrays_of_any_shape(dtype):
    def shifted(x, n):
        out = np.zeros((n, len(x)), x.dtype)
        for i in range(n):
            for j in range(len(x)):
                out[i, j] = x[j - i]
        return out, out[0, 0]

    x = (ROWS[0] * 100).astype(dtype)
    served_natively(shifted, (x, 3), (x[:7].copy(), 5), (x, 30))


def test_arguments_are_given_back_as_the_objects_that_they_are():
    def chosen(x, y, k):
        for v in x:
            if v > k:
                return x
        return y

    fast = served_natively(chosen, (ROWS[0], ROWS[1], 0.5), (ROWS[0], ROWS[1], 2.0))
    x, y = ROWS[0].copy(), ROWS[1].copy()
    assert fast(x, y, 0.0) is x and fast(x, y, 3.0) is y


def test_other_layouts_types_and_keywords_are_served_as_well():
    fast = served_natively(total, (ROWS[0],), (ROWS[:, 0],), (np.arange(5),))
    assert fast(x=ROWS[1]) == total(ROWS[1])
    same(fast(list(ROWS[2])), total(list(ROWS[2])))
    with pytest.raises(TypeError):
        fast(None)
    with pytest.raises(TypeError):
        fast(ROWS[0], 1)


def test_known_arguments_choose_the_procedure():
    def by_name(x, how, flag):
        s = 0.0
        for v in x:
            s = s + v if how == "sum" else s * v
            if flag:
                s = s + 1.0
        return s

    served_natively(by_name, (ROWS[0], "sum", True), (ROWS[0], "product", True), (ROWS[0], "sum", False))


def test_what_is_read_from_outside_may_change():
    text = """
def f(x):
    s = 0.0
    for k in range(len(x)):
        s = s + x[k] * FACTOR * TABLE[k]
    return s
"""
    linecache.cache["<outside>"] = (len(text), None, text.splitlines(True), "<outside>")
    scope = {"np": np, "FACTOR": 2.0, "TABLE": np.arange(30.0)}
    exec(compile(text, "<outside>", "exec"), scope)
    function = scope["f"]
    fast = jitrt.jit(function)
    tables = [np.ones(30), np.arange(60.0)[::2], np.arange(30)]
    for changes in ({}, {"FACTOR": 3.0}, *({"TABLE": table} for table in tables)):
        scope.update(changes)
        for _ in range(3):
            same(fast(ROWS[0]), function(ROWS[0]))
    scope["TABLE"][:] = 7
    same(fast(ROWS[0]), function(ROWS[0]))
    del scope["FACTOR"]
    with pytest.raises(NameError):
        fast(ROWS[0])


def test_calls_that_stop_or_warn_run_as_written():
    def quotient(x, k):
        s = 0.0
        for _ in x:
            s = s + 1.0 / x[k]
        return s

    fast = served_natively(quotient, (ROWS[0], 3))
    zero = ROWS[0].copy()
    zero[3] = 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert fast(zero, 3) == np.inf
    with np.errstate(all="ignore"):
        assert fast(zero, 3) == np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        fast(zero, 3)
    with pytest.raises(IndexError):
        fast(ROWS[0], 99)
    with pytest.raises(IndexError):
        fast(ROWS[0], 1 << 60)
    with pytest.raises(IndexError):
        fast(ROWS[0], 1 << 70)
    same(fast(ROWS[0], 4), quotient(ROWS[0], 4))


def test_no_reference_is_lost_or_kept():
    def both(x, n):
        out = np.empty(n)
        for k in range(n):
            out[k] = x[k] * 2
        return out, x, out[0], n

    fast = served_natively(both, (ROWS[0], 20))
    x, n = ROWS[1].copy(), 1000003 % 30
    objects = (x, np.dtype(float), np.float64, None)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        out, given, _, _ = fast(x, n)
    assert given is x and out.base is None and out.flags.owndata
    del out, given
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 100 for a, b in zip(after, before))


def test_threads_call_at_once():
    def slow(x):
        s = 0.0
        for _ in range(200):
            for v in x:
                s = s * 0.5 + v
        return s

    fast = served_natively(slow, (ROWS[0],))
    inputs = [np.random.default_rng(k).random(3000) for k in range(4)]
    found = [[] for _ in inputs]

    def work(k):
        found[k].extend(fast(inputs[k]) for _ in range(10))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x, values in zip(inputs, found):
        assert set(values) == {slow(x)}


def test_released_functions_go_on():
    fast = served_natively(total, (ROWS[0],))
    for _ in range(3):
        fast.release()
        gc.collect()
        for row in ROWS[:4]:
            same(fast(row), total(row))
    jitrt.clear_caches()
    same(fast(ROWS[5]), total(ROWS[5]))
    fast.clear()
    for row in ROWS[:4]:
        same(fast(row), total(row))
    assert fast.plain_reason == ""


def root(f, x):
    for k in range(50):
        h = 1e-6
        step = f(x) / ((f(x + h) - f(x - h)) / (2 * h))
        x -= step
        if abs(step) < 1e-12:
            return x, k
    return x, 50


SHIFT = 5.0


def cubic():
    return lambda x: x**3 - 2 * x - SHIFT


def test_functions_that_are_made_anew_and_do_the_same(monkeypatch):
    function = compiled(root, cubic(), 2.0)
    assert check(function, cubic(), 3.0)
    assert not check(function, lambda x: x**3 - 2 * x - 6, 3.0)
    assert not check(function, lambda x, c=7.0: x**2 - c, 3.0)
    changed = cubic()
    changed.__code__ = (lambda x: x**2 - SHIFT).__code__
    assert not check(function, changed, 3.0)
    with_default = cubic()
    with_default.__defaults__ = (1.0,)
    check(function, with_default, 3.0)
    monkeypatch.setitem(cubic.__globals__, "SHIFT", 7.0)
    check(function, cubic(), 3.0)
    shift = 4.0
    for shift in (4.0, 9.0, 4.0):
        check(function, lambda x: x**2 - shift, 3.0)  # noqa: B023


class Holder:
    def __init__(self, values):
        self.values = values


def weighted(xs, scale):
    s = 0
    for k in range(len(xs)):
        s = s + xs[k] * k * scale
    return s


def test_lists_of_numbers_of_any_length():
    big = 1 << 62
    calls = [([1, 2, 3], 2), ([-5], 2), (list(range(1000)), 2), ([0.5, 1.5], 2), ([-0.0], 2), ([float("nan")] * 9, 2)]
    fast = served_natively(weighted, *calls, ([7] * 3000, 1), ([1], 2))
    others = [[True, 2], [np.float64(2), 3.0], [1, np.int64(3)]]
    for xs in ([], [big, 1], [5, big], [1, 1 << 70], [1, 2.0], [1.0, 2], *others):
        for _ in range(2):
            got, want = fast(xs, 2), weighted(xs, 2)
            assert repr(got) == repr(want)
    same(fast([1, 2, 3], 2), weighted([1, 2, 3], 2))


def test_lists_are_read_anew_in_each_call_and_given_back_as_they_are():
    def run(xs, out):
        for k in range(len(xs)):
            out[k] = xs[k] * 2
        return xs

    def of_holder(held, factor):
        s = 0.0
        for v in held.values:
            s += v * factor
        return s

    xs, fast = [1.0, 2.0, 3.0], jitrt.jit(run)
    for _ in range(3):
        assert fast(xs, np.zeros(3)) is xs
    held = Holder(xs)
    fast = served_natively(of_holder, (held, 2.0))
    xs[1] = 10.0
    same(fast(held, 2.0), of_holder(held, 2.0))
    xs.append(4.0)
    same(fast(held, 2.0), of_holder(held, 2.0))
    xs[0] = 1
    same(fast(held, 2.0), of_holder(held, 2.0))


def test_what_is_written_here_is_not_looked_at_in_calls():
    def counted(x):
        seen = {}
        for v in x:
            seen[v] = seen.get(v, 0) + 1
        return len(seen)

    fast = jitrt.jit(counted)
    fast(np.arange(100) % 7)
    fast(np.arange(100) % 7)
    (loop,) = fast._loops._all()
    assert counted in [c.container for c in loop.staged.captured]
    assert all("written_containers" not in str(c.container) for c in loop.staged.captured)
