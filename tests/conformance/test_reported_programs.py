"""Programs that once gave another answer than NumPy or an internal error, one for each report; in both modes.

Results are compared to the last bit, with their types, and so are arguments afterwards, exceptions and warnings with
their texts. Tests of the classes that these programs belong to are generated elsewhere.
"""

import copy
import itertools
import logging
import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import jitrt

CALLS = 5
NAN = np.nan


def outcome(function, args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    told = [(w.category, str(w.message)) for w in caught if w.category is not jitrt.JitrtPerformanceWarning]
    return result, told, [a for a in args if isinstance(a, np.ndarray)]


def assert_alike(got, want):
    assert type(got) is type(want), (got, want)
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            assert_alike(x, y)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (got, want)
        np.testing.assert_array_equal(got, want)
        if want.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    else:
        assert got == want


def read_only(x):
    x.flags.writeable = False
    return x


def updated(x, y):
    x += y * 0.5 + np.sqrt(y) * 0.5
    x *= x
    return x.max()


def squared_differences(x):
    x *= x
    x[..., 1:] -= x[..., :-1]
    return x


def caught(a, i):
    try:
        a[i]
    except IndexError:
        return -a
    return a * 2 + 1


def raised(x):
    with np.errstate(all="raise"):
        1 / x
        return x + 1


def warned(x):
    np.log(x)
    return x + 1


def overwritten(c, s, v):
    c[c > s] = v
    c[:] = 0
    return c + 1


def copied(c):
    np.copyto(c, 0.25, where=c > 1)
    return c


def overflowing(x):
    with np.errstate(over="raise"):
        return x * 1e300


def into_no_axes(x):
    out = np.zeros(())
    result = np.add(x[0], 1, out=...), np.add(x[1], 1, out=out)
    return *result, result[1] is out


def chosen(x, m):
    return np.add(x, 1, where=m)[m]


def filled(b):
    t = b[1]
    t.fill(0.25)
    return t, b


def flat(b):
    t = b[1]
    t.flat[0] = 3
    return t, b


def in_place(b):
    return np.multiply(b[1], 3, out=b[1])


def augmented(b):
    t = b[1]
    t *= 3
    return t, b


class Foreign:
    def __array_function__(self, function, types, args, kwargs):
        return "foreign"


class Rows(np.ndarray):
    def __new__(cls, values, shape):
        return np.ndarray.__new__(cls, shape, float, values)


class Constant:
    def __init__(self, value):
        self.value = value


class Derived(Constant):
    pass


def convolved(image, kernels):
    """A layer of a convolution network, by comprehensions."""
    return np.array(
        [[[(image[i : i + 3, j : j + 3] * k).max() for j in range(14)] for i in range(14)] for k in kernels]
    )


def pulled(p, m):
    """Bodies that pull each other, one component after the other."""
    pull = np.zeros_like(p)
    for i, j in itertools.permutations(range(len(p)), 2):
        d = p[j] - p[i]
        pull[i] += m[j] * d / (np.sqrt((d * d).max()) + 0.5)
    return p + pull, np.array([np.abs(v).max() for v in pull])


def zeros(k, size=5):
    return np.array([-0.0, 0.0, -0.0, 1.0, -1.0] * 6)[: size + k]


def arange(n, *shape, dtype=float):
    return lambda k: (np.arange(n).astype(dtype).reshape(shape or (n,)) + k,)


def listed(name, *parts):
    return lambda x: getattr(np, name)([*([x[0], 2.0, x[1]] if p == "numbers" else x[:3] for p in parts)])


def nothing_left(name, *args):
    rows = np.array([[1.0, 2, 3], [NAN] * 3])
    return lambda x: getattr(np, name)(x, *args, axis=1), lambda k: (rows if k != 1 else np.nan_to_num(rows),)


PROGRAMS = {
    "a read-only argument after a writable one": (
        updated,
        lambda k: ((read_only if k in (1, 3, 4) else copy.copy)(np.linspace(1, 2, 64)), np.linspace(0.5, 1, 64)),
    ),
    "a large read-only argument": (
        updated,
        lambda k: ((read_only if k > 1 else copy.copy)(np.linspace(1, 2, 200_000)), np.linspace(0.5, 1, 200_000)),
    ),
    "the bytes behind an argument": (
        updated,
        lambda k: (np.frombuffer(np.ones(20_000).tobytes()) if k > 1 else np.ones(20_000), np.ones(20_000)),
    ),
    "concatenate": (lambda x: np.concatenate(([x[0]], np.diff(x))), arange(200_000)),
    "hstack": (lambda x: np.hstack(([x[0]], x, 2.0)), arange(64)),
    "vstack": (listed("vstack", "numbers", "array"), arange(64)),
    "stack": (listed("stack", "numbers", "array", "numbers"), arange(64)),
    "column_stack": (listed("column_stack", "numbers", "array"), arange(64)),
    "einsum": (lambda x: np.einsum("i,i", [x[0], x[1], 1], x[:3]), arange(64)),
    "nodes in containers": (lambda x: [x[0] * 2, {"a": x * 2}["a"], (x.max(), [x[1]])], arange(64)),
    "an index that is caught": (caught, lambda k: (np.arange(6.0), (1, 2, 3, 7, 2)[k])),
    "an unused division": (raised, lambda k: (np.arange(1.0 if k < 3 else 0.0, 6.0),)),
    "an unused logarithm": (warned, lambda k: (np.arange(1.0 if k < 3 else -1.0, 6.0),)),
    "what is overwritten": (overwritten, lambda k: (np.arange(6.0), 2.0, np.ones(3 if k < 3 else 5))),
    "copyto of a float": (copied, lambda k: (np.arange(5, dtype="u1"),)),
    "an initial maximum": (lambda a: a.max(initial=-5), arange(5, dtype="u1")),
    "an initial minimum": (lambda a: a.min(initial=300), arange(5, dtype="u1")),
    "maximum": (lambda x: (np.maximum(x, 0.0), np.maximum(0.0, x), np.maximum(x, -0.0)), lambda k: (zeros(k),)),
    "minimum": (lambda x: (np.minimum(x, 0.0), np.minimum(-0.0, x), 1 / np.minimum(x, 1)), lambda k: (zeros(k),)),
    "nanmax": (lambda x: (np.nanmax(x), np.nanmin(x), x.max(), x.min()), lambda k: (zeros(k, 3)[:3],)),
    "clip": (lambda x: (np.clip(x, 0.0, 1), np.clip(x, -0.0, -0.0), x.clip(-1, -0.0)), lambda k: (zeros(k),)),
    "an argument that overlaps itself": (
        squared_differences,
        lambda k: (
            sliding_window_view(np.arange(2.0, 8.0), 3, writeable=True) if k != 1 else np.arange(12.0).reshape(4, 3),
        ),
    ),
    "a constant that overflows": (lambda x: x * 1e300, arange(5, dtype="f4")),
    "a constant that overflows and raises": (overflowing, arange(5, dtype="f4")),
    "nanmax of nothing": nothing_left("nanmax"),
    "nanmin of nothing": nothing_left("nanmin"),
    "nanmean of nothing": nothing_left("nanmean"),
    "nanmedian of nothing": nothing_left("nanmedian"),
    "nanvar of nothing": nothing_left("nanvar"),
    "nanstd of nothing": nothing_left("nanstd"),
    "nanpercentile of nothing": nothing_left("nanpercentile", 50),
    "nanargmax of nothing": nothing_left("nanargmax"),
    "degrees of freedom": (
        lambda x: (np.nanvar(x, ddof=2), np.var(x, ddof=2)),
        lambda k: (np.array([1.0, NAN]) if k != 1 else np.arange(4.0),),
    ),
    "a mean of nothing": (lambda x: (np.mean(x), np.var(x)), lambda k: (np.zeros(0) if k != 1 else np.arange(4.0),)),
    "out that is an ellipsis": (into_no_axes, arange(3)),
    "where without out": (chosen, lambda k: (np.arange(3.0), np.array([True, False, True]))),
    "clip without bounds": (lambda x: np.clip(x), arange(3)),
    "clip with one bound": (lambda x: np.clip(x, 1), arange(3)),
    "clip with bounds of None": (lambda x: np.clip(x, None, None), arange(3)),
    "choose between types": (lambda x: np.choose([1, 0], [x, 1.0]), arange(2, dtype="f4")),
    "a variance with its mean": (
        lambda x, m: np.var(x, mean=np.mean(x, where=m, keepdims=True), where=m) == np.var(x, where=m),
        lambda k: (np.arange(9.0) / 7, np.arange(9) % 2 == 0),
    ),
    "full_like of a foreign array": (lambda x, o: np.full_like(o, x[0]), lambda k: (np.arange(3.0), Foreign())),
    "full_like of an object": (lambda x, o: np.full_like(x, o), lambda k: (np.arange(3.0), object)),
    "a scalar that is filled": (filled, arange(4)),
    "a scalar that is flat": (flat, arange(4)),
    "a scalar as out": (in_place, arange(4)),
    "a scalar that is augmented": (augmented, arange(4)),
    "zeros of True": (lambda x: np.zeros((True, 3)) + x[0], arange(6, 2, 3)),
    "reshape by True": (lambda x: x.reshape(True, -1), arange(6, 2, 3)),
    "sum along True": (lambda x: x.sum(axis=True), arange(6, 2, 3)),
    "cumsum along True": (lambda x: x.cumsum(axis=True), arange(6, 2, 3)),
    "reshape by an integer of NumPy's": (lambda x: x.reshape(np.int64(2), -1), arange(12, 3, 4)),
    "a copy if needed": (lambda x: np.array(x * 2, copy=np._CopyMode.IF_NEEDED), arange(12, 3, 4)),
    "a number that is divided": (
        lambda x, out, m: np.divide(2.0, x, out=out, where=m),
        lambda k: (4.0, np.zeros(3), np.array([True, False, True])),
    ),
    "a subclass of memory": (lambda x: Rows(x, (3, 4)) * 2, arange(12)),
    "results with names": (lambda x: (np.linalg.eig(x).eigenvalues, *np.linalg.slogdet(x)), arange(1, 1, 1)),
    "a class of that name": (lambda x, o: x * o.value, lambda k: (np.arange(3.0), Derived(2.0))),
    "reshape by an array": (lambda x: (x.reshape(np.array(x.shape)), x.reshape(np.array([4, 3]))), arange(12, 3, 4)),
    "broadcast_to an array": (lambda x: np.broadcast_to(x, np.array([3, 64])) * 1, arange(64)),
    "the namespace of an array": (lambda x: x.__array_namespace__().abs(x), arange(12)),
    "a convolution network": (convolved, lambda k: (np.arange(256.0).reshape(16, 16), np.ones((2, 3, 3)))),
    "bodies": (pulled, lambda k: (np.arange(15.0).reshape(5, 3) ** 2, np.ones(5))),
    "the other byte order": (lambda x: (x.astype(">f8"), x.astype(">i4") * 2), arange(12)),
    "r_": (lambda x: (np.r_[x, x, 1.0], np.c_[x, x]), arange(64)),
    "folds of lists": (lambda x: (np.max([x, x * 2], axis=0), np.mean([x, x * 3], 0)), arange(64)),
    "a complex number as an integer": (lambda x: int(x[0]), arange(3, dtype=complex)),
    "an argument named self": (lambda x, self: x * self, lambda k: (np.arange(3.0), 3)),
}


@pytest.fixture(params=["1", "0"], ids=["strict", "default"])
def mode(request, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", request.param)


@pytest.mark.wide
@pytest.mark.parametrize("name", PROGRAMS)
def test_reported_programs(name, mode, caplog):
    function, make = PROGRAMS[name]
    compiled = jitrt.jit(function)
    with caplog.at_level(logging.WARNING, "jitrt"):
        for k in range(CALLS):
            got, want = outcome(compiled, make(k)), outcome(function, make(k))
            assert_alike(got, want)
        if not isinstance(want[0], str):
            compiled.explain(*make(k))
    assert not [r for r in caplog.records if "internal error" in r.getMessage()]


GIVEN = {"itself": "c", "in a list": "c[0]", "in a dict": "c['c']", "as an attribute": "c.c"}
SOLVER = """
import types
hist = []
def solve(x, n, c):
    for k in range(n):
        x = x * 0.5 + 1
        GIVEN(k, x)
    return x.max()
cb = lambda k, v: hist.append(v.max())
ways = {"itself": cb, "in a list": [cb], "in a dict": {"c": cb}, "as an attribute": types.SimpleNamespace(c=cb)}
"""


@pytest.mark.parametrize("given", GIVEN)
def test_a_callback_that_stores(given, mode):
    spaces = {}, {}
    for space in spaces:
        exec(SOLVER.replace("GIVEN", GIVEN[given]), space)
    solve = jitrt.jit(spaces[0]["solve"]), spaces[1]["solve"]
    for k in range(CALLS):
        if k == 3:
            for space in spaces:
                space["hist"] = []
        got, want = (f(np.arange(5.0) + k, 12, space["ways"][given]) for f, space in zip(solve, spaces))
        assert_alike([got, spaces[0]["hist"]], [want, spaces[1]["hist"]])


@pytest.mark.parametrize("way", ["classmethod", "argument", "in a dict"])
def test_attributes_of_a_class_that_is_given(way, mode):
    class A:
        s = 2.0

        @classmethod
        def scaled(cls, x):
            return x * cls.s

    function, args = {
        "classmethod": (lambda x: A.scaled(x), ()),
        "argument": (lambda x, c: x * c.s, (A,)),
        "in a dict": (lambda x, d: x * d["cls"].s, ({"cls": A},)),
    }[way]
    compiled = jitrt.jit(function)
    for s in (2.0, 2.0, 9.0, 9.0, 3, np.arange(5.0)):
        A.s = s
        assert_alike(compiled(np.arange(5.0), *args), function(np.arange(5.0), *args))


REPLACED = """
def helper(x, k=2.0): return x * k
def other(x, k=3.0): return x * k * k
class K:
    def meth(self, x): return x + 1
    def other(self, x): return x - 1
o = K()
def f(x): return helper(x) + o.meth(x) + abs(x) + np.sqrt(x)
"""


@pytest.mark.parametrize("size", [5, 3000])
def test_what_is_replaced_is_heeded(size, mode, monkeypatch):
    space, x = {"np": np}, np.arange(float(size))
    exec(REPLACED, space)
    compiled = jitrt.jit(space["f"])

    def check():
        for _ in range(3):
            assert_alike(compiled(x), space["f"](x))

    check()
    space["helper"].__code__ = space["other"].__code__
    check()
    space["helper"].__defaults__ = (7.0,)
    check()
    space["K"].meth.__code__ = space["K"].other.__code__
    check()
    space["abs"] = lambda x: x * 100
    check()
    monkeypatch.setattr(np, "sqrt", np.square)
    check()
