"""Attributes that no kernel can take, and that the function does nothing with: locks, tables, sets, texts."""

import copy
import dataclasses
import io
import threading
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import jitrt

X = np.linspace(0, 1, 50)


class Model:
    def __init__(self, extra):
        self.a, self.w, self.calls = 2.0, np.arange(3.0), 0
        self.extra = extra
        self.child = None

    def run(self, x):
        self.calls += 1
        return x * self.a + self.w.sum()

    def locked(self, x):
        with self.extra:
            return self.run(x)


class Strange:
    def __getattr__(self, name):
        raise AttributeError(name)


EXTRA = {
    "lock": threading.Lock,
    "set": lambda: {"u", "v"},
    "deque": lambda: deque([1]),
    "ordered dict": OrderedDict,
    "default dict": lambda: defaultdict(list),
    "file": io.StringIO,
    "texts": lambda: np.array(["a", "b"]),
    "objects": lambda: np.array([1, "a"], object),
    "exception": lambda: ValueError("a"),
    "object": Strange,
    "in a list": lambda: [threading.Lock()],
    "in a dict": lambda: {"lock": threading.Lock()},
    "in an object": lambda: Model(threading.Lock()),
    "of itself": lambda: None,
}


def run(x, m):
    return m.run(x)


def loop(x, m):
    s = 0.0
    for v in x:
        s = s * 0.5 + v * m.a
        m.calls += 1
    return s


@pytest.mark.parametrize("function", [run, loop, Model.run])
@pytest.mark.parametrize("make", EXTRA.values(), ids=EXTRA)
def test_they_are_in_nobodys_way(make, function):
    mine, plain = Model(make()), Model(make())
    if mine.extra is None:
        mine.extra, plain.extra = {mine, threading}, {plain, threading}
    fast, extra = jitrt.jit(function), mine.extra
    for _ in range(4):
        args = (lambda m: (m, X)) if function is Model.run else (lambda m: (X, m))
        np.testing.assert_allclose(fast(*args(mine)), function(*args(plain)))
        assert mine.calls == plain.calls and mine.extra is extra
    assert fast.plain_reason == ""


def test_native_code_serves_such_calls():
    fast, m = jitrt.jit(lambda x, m: x * m.a), Model(threading.Lock())
    for _ in range(3):
        fast(X, m)
    before = fast.cache_info().slow_calls
    for _ in range(20):
        fast(X, m)
    assert fast.cache_info().slow_calls == before


@dataclasses.dataclass
class Data:
    a: float
    names: set = dataclasses.field(default_factory=set)


READERS = {
    "statement": lambda x, m: x * len(m.extra),
    "dict": lambda x, m: x * len([v for v in m.__dict__.values() if isinstance(v, set)]),
    "name": lambda x, m, name="extra": x * len(getattr(m, name)),
    "copy": lambda x, m: x * len(copy.copy(m).__dict__["extra"]),
    "store": lambda x, m: setattr(m, "extra", {1, 2, 3}) or x * len(m.extra),
    "comparison": lambda x, m: x if Data(1.0, m.extra) == Data(1.0, {"u"}) else -x,
    "text": lambda x, m: x * len(repr(Data(1.0, m.extra))),
}


@pytest.mark.parametrize("function", READERS.values(), ids=READERS)
def test_what_is_read_in_another_way_is_read(function):
    fast = jitrt.jit(function)
    for values in ({"u"}, {"u"}, {"u", "v"}, {"u"}, {"w", "x", "y"}):
        mine, plain = Model(set(values)), Model(set(values))
        np.testing.assert_array_equal(fast(X, mine), function(X, plain))
        assert mine.extra == plain.extra


def test_data_that_is_compared():
    def chosen(x, d):
        return x * d.a if d == Data(2.0, {"u"}) else -x

    fast = jitrt.jit(chosen)
    for d in (Data(2.0, {"u"}), Data(2.0, {"u"}), Data(2.0, {"v"}), Data(2.0, {"u"}), Data(3.0, {"u"})):
        np.testing.assert_array_equal(fast(X, d), chosen(X, d))


def test_objects_are_returned_and_kept_with_them():
    def kept(x, m):
        m.child = m
        return m, m.run(x), [m]

    fast, m = jitrt.jit(kept), Model(threading.Lock())
    for _ in range(3):
        same, _, listed = fast(X, m)
        assert same is m and m.child is m and listed[0] is m
    assert isinstance(m.extra, type(threading.Lock()))


def test_they_change_between_calls():
    fast, mine, plain = jitrt.jit(run), Model(None), Model(None)
    for extra in (None, {1}, 2.5, np.ones(3), threading.Lock(), [1], {1}, {2}, "a"):
        mine.extra = plain.extra = extra
        np.testing.assert_allclose(fast(X, mine), run(X, plain))
        assert mine.extra is extra and mine.calls == plain.calls
    del mine.extra, plain.extra
    np.testing.assert_allclose(fast(X, mine), run(X, plain))
