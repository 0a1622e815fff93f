"""Results that are dicts, lists, nested tuples, views and Python floats: native code gives them as Python would."""

import collections
import dataclasses
import itertools
import sys
import warnings

import numpy as np
import pytest

import jitrt
from jitrt import policy

Pair = collections.namedtuple("Pair", "low high")


class Holder:
    """An object."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class Slotted:
    """An object with slots."""

    __slots__ = ("a", "b")
    __init__ = Holder.__init__


@dataclasses.dataclass(frozen=True)
class Frozen:
    """An object that does not change."""

    a: object
    b: object


def shared(a, b):
    """A list and an object that occur several times."""
    found = [a]
    holder = Holder(found, b)
    return found, {"c": found, "d": holder}, holder


def circle(a, b):
    """An object that holds itself."""
    holder = Holder(a, [b])
    holder.b.append(holder)
    return holder


x = np.linspace(-1.0, 3.0, 12).reshape(3, 4)

LEAVES = {
    "array": lambda y: y * 2 + 1,
    "view": lambda y: (y * 3)[1:],
    "turned": lambda y: (y - 1).T,
    "flat": lambda y: (y + 4).reshape(-1),
    "element": lambda y: (y + 1)[0, 1],
    "part": lambda y: (y + 1).T[1:, 0],
    "of argument": lambda y: y[0],
    "argument": lambda y: y,
    "sum": lambda y: y.sum(),
    "number": lambda y: float(y.mean()),
    "item": lambda y: y.max().item(),
    "constant": lambda y: 3,
    "text": lambda y: "text",
}
SHAPES = {
    "one": lambda a, b: a,
    "pair": lambda a, b: (a, b),
    "dict": lambda a, b: {"a": a, "b": b},
    "numbers": lambda a, b: {1: a, (2, "x"): b, None: 4},
    "list": lambda a, b: [a, [b], []],
    "nested": lambda a, b: {"a": [a, (b, ())], "b": ({},)},
    "named": lambda a, b: Pair(a, Pair(b, 2)),
    "twice": lambda a, b: (a, [a], b),
    "object": lambda a, b: Holder(a, (b, Holder(1, "x"))),
    "slots": lambda a, b: {"c": Slotted(a, b)},
    "frozen": lambda a, b: [Frozen(Pair(a, 2), b)],
    "shared": shared,
    "circle": circle,
}


def same(got, want, given, seen=None):
    seen = {} if seen is None else seen
    assert type(got) is type(want)
    if isinstance(want, (list, dict, Holder, Slotted, Frozen)):
        if id(want) in seen:
            assert seen[id(want)] is got
            return
        assert got not in seen.values() if isinstance(want, Holder) else True
        seen[id(want)] = got
    if isinstance(want, (Holder, Slotted, Frozen)):
        assert getattr(got, "__dict__", {}).keys() == getattr(want, "__dict__", {}).keys()
        got, want = [got.a, got.b], [want.a, want.b]
    if isinstance(want, dict):
        assert list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w, given, seen)
    elif isinstance(want, np.ndarray):
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert got.dtype == want.dtype and got.strides == want.strides
        assert np.may_share_memory(got, given) == np.may_share_memory(want, given)
        assert got.flags.writeable == want.flags.writeable
    else:
        assert got == pytest.approx(want) if isinstance(want, float) else got == want


@pytest.mark.wide
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("leaves", list(itertools.combinations(LEAVES, 2)), ids="-".join)
def test_results_are_those_of_numpy(shape, leaves):
    first, second, nest = LEAVES[leaves[0]], LEAVES[leaves[1]], SHAPES[shape]

    def function(y):
        return nest(first(y), second(y))

    fast = jitrt.jit(function)
    for k in range(3):
        y = x + k
        got, again = fast(y), fast(y)
        same(got, function(y), y)
        same(again, function(y), y)
        got, again = flat(got), flat(again)
        assert not any(np.may_share_memory(g, a) for g in got for a in again if not np.may_share_memory(a, y))
    assert shape in ("twice", "shared", "circle") or fast.cache_info().slow_calls == 1


def flat(value, above=()):
    if any(value is v for v in above):
        return []
    above = (*above, value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (Holder, Slotted, Frozen)):
        value = [value.a, value.b]
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in flat(v, above)]
    return [value] if isinstance(value, np.ndarray) else []


def metrics(y, p):
    error = y - p
    squared = np.mean(error * error)
    total = np.sum((y - y.mean()) ** 2)
    return {
        "mse": float(squared),
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt(squared)),
        "r2": 1.0 - float(np.sum(error**2)) / float(total),
        "max": float(np.abs(error).max()),
        "bias": float(error.mean()),
        "range": (y.min(), float(y.max())),
    }


def test_dicts_of_floats_need_no_python(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    fast = jitrt.jit(metrics)
    for n in (10, 1000, 10_000):
        values, guesses = np.random.default_rng(n).normal(size=(2, n))
        for _ in range(policy.SMALL_CALLS + 3):  # the first ones run plain
            same(fast(values, guesses), metrics(values, guesses), values)
        assert fast.plain_reason == "" and not fast.explain(values, guesses).looked_at


def test_float_is_what_it_is():
    def uses(y, n):
        a, b = float(y[0]), float(n)
        kinds = isinstance(a, float), float is float, float("1.5"), 0.0, np.dtype(float) == y.dtype
        return a + b, float(y[1] > 0), float(np.float32(y[0])), kinds

    def divides(y):
        return {"ratio": float(y[0]) / float(y[1])}

    def branches(y):
        return y * 2 if float(y[0]) > 0 else y - 1

    def of_kinds(y):
        return [float(v) for v in (y[0], y.sum(), y[1:2].sum(), 3, True)]

    for function, arguments in (
        (uses, [(np.array([0.5, -2.0]), 3), (np.array([0.1, 2.0]), 4), (np.array([0.1, 2.0]), 2.5)]),
        (branches, [(np.array([0.5, -2.0]),), (np.array([-0.1, 2.0]),)]),
        (of_kinds, [(np.array([0, 1, 1], d),) for d in ("f8", "f4", "f2", "i8", "u8", "i1", "?")]),
        (divides, [(np.array([1.0, 4.0]),), (np.array([3.0, 4.0]),)]),
    ):
        fast = jitrt.jit(function)
        for args in arguments * 2:
            same(fast(*args), function(*args), args[0])
    fast = jitrt.jit(divides)
    with pytest.raises(ZeroDivisionError):
        fast(np.array([1.0, 0.0]))
    assert fast(np.array([1.0, 2.0])) == {"ratio": 0.5}
    with pytest.raises(ZeroDivisionError):
        fast(np.array([1.0, 0.0]))
    with pytest.raises(TypeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jitrt.jit(lambda y: float(y) * 2)(np.ones(3))


def test_no_reference_is_lost():
    fast = jitrt.jit(lambda y: {"a": y + 1, "b": [y[0], Pair(y.sum(), y)]})
    y = x.copy()
    for _ in range(3):
        fast(y)
    before = [sys.getrefcount(v) for v in (y, Pair, "a", list, dict, np.ndarray)]
    for _ in range(50):
        fast(y)
    assert [sys.getrefcount(v) for v in (y, Pair, "a", list, dict, np.ndarray)] == before
