"""Functions among the arguments, of any kind, called directly, by Python and by NumPy: each call has their effects."""

import enum
import functools
import operator
from typing import NamedTuple

import numpy as np
import pytest

import jitrt

NOTED, COUNTS, FACTOR = [], {"k": 0}, [2.0]


class Model:
    n = 0

    def __init__(self):
        self.calls, self.sizes = 0, []

    def step(self, v):
        self.calls += 1
        self.sizes.append(np.size(v))
        return v * 2

    def note(self, v):
        NOTED.append(np.size(v))
        return v * FACTOR[0]

    def __call__(self, v):
        self.calls += 1
        return v * 2

    @classmethod
    def of_class(cls, v):
        NOTED.append(np.size(v))
        return v * 3 + FACTOR[0] + cls.n

    @staticmethod
    def static(v):
        NOTED.append(np.size(v))
        return v * 3


class Empty:
    def note(self, v):
        NOTED.append(7)
        return v * 2


def second(k, v):
    NOTED.append(np.size(v))
    return v * 2


def counted(v):
    COUNTS["k"] += np.size(v)
    return v + COUNTS["k"]


class Heir(Model):
    """A class that inherits what makes its objects callable."""


KINDS = {
    "method": lambda m: m.step,
    "method that names a list": lambda m: m.note,
    "method of an object without attributes": lambda m: Empty().note,
    "callable": lambda m: m,
    "callable by inheritance": lambda m: m,
    "class method": lambda m: m.of_class,
    "static method": lambda m: m.static,
    "partial": lambda m: functools.partial(second, 1.0),
    "partial of a method": lambda m: functools.partial(m.note),
    "function": lambda m: counted,
    "lambda": lambda m: lambda v: (NOTED.append(m.calls), v * 2)[1],
    "lambda with a method": lambda m: lambda v, g=m.note: g(v),
    "closure with a method": lambda m: (lambda g: lambda v: g(v) + m.step(v))(m.of_class),
}
CALLERS = {
    "directly": lambda x, f: f(x),
    "in a list": lambda x, f: [g(x) for g in [f, f]][1],
    "in a dict": lambda x, f: {"a": f}["a"](x),
    "map": lambda x, f: sum(map(f, [x.sum(), x.min()])),
    "filter": lambda x, f: sum(filter(f, [x[0], x[1]])),
    "sorted": lambda x, f: sorted([x[0], x[1], x[2]], key=f)[0],
    "reduce": lambda x, f: functools.reduce(lambda a, b: f(a) + b, [x[0], x[1], x[2]]),
    "piecewise": lambda x, f: np.piecewise(x, [x < 0.5], [f, 0]),
    "piecewise of two": lambda x, f: np.piecewise(x, [x < 0.5, x >= 0.5], (f, f)),
    "apply_along_axis": lambda x, f: np.apply_along_axis(f, 0, x.reshape(-1, 100)).sum(),
    "apply_over_axes": lambda x, f: np.apply_over_axes(
        lambda a, axis: f(a.sum(axis, keepdims=True)), x.reshape(-1, 10), [0]
    ),
    "fromfunction": lambda x, f: np.fromfunction(f, (5,)).sum(),
    "vectorize": lambda x, f: np.vectorize(f, otypes=[float])(x[:4]).sum(),
}


def outcomes(function, kind, arrays):
    """What calls give, one after the other, and what they have noted so far."""
    model, found = Heir() if kind == "callable by inheritance" else Model(), []
    given = KINDS[kind](model)
    NOTED.clear()
    COUNTS["k"], Model.n = 0, 0
    for k, x in enumerate(arrays):
        FACTOR[0], Model.n = float(k // 2), k // 3
        made = np.asarray(function(x, given), float).sum()
        found.append((round(float(made), 6), model.calls, list(model.sizes), list(NOTED), dict(COUNTS)))
    return found


@pytest.mark.parametrize("with_work", [False, True], ids=["alone", "with work"])
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("kind", KINDS)
def test_effects_come_in_each_call(kind, caller, with_work):
    call = CALLERS[caller]

    def function(x, f):
        z = x
        if with_work:
            for _ in range(25):
                z = np.sqrt(z * z + 1) * 0.5
        return call(x, f) + z.sum()

    rng = np.random.default_rng(0)
    arrays = [rng.random(20_000 if with_work else 1000) for _ in range(6)]
    assert outcomes(jitrt.jit(function), kind, arrays) == outcomes(function, kind, arrays)


@pytest.mark.parametrize("kind", ["method", "class method", "callable", "partial of a method"])
def test_they_are_traced(kind):
    model = Model()
    given = KINDS[kind](model)
    fast = jitrt.jit(lambda x, f: f(x) + 1)
    for _ in range(4):
        fast(np.arange(500.0), given)
    assert fast.explain(np.arange(500.0), given).kernels


WEIGHTS = np.arange(3.0)


class Pair(NamedTuple):
    a: float
    b: float

    def scaled(self, v):
        return v * WEIGHTS.sum() + self.b

    def noted(self, v):
        NOTED.append(self.a)
        return v * self.b

    def plain(self, v):
        return v * self.a + self.b


class Mode(enum.Enum):
    FAST = 1

    def scaled(self, v):
        return v * WEIGHTS.sum() + self.value

    def noted(self, v):
        NOTED.append(self.name)
        return v * self.value

    def plain(self, v):
        return v * self.value


class Scaling:
    def __get__(self, owner, kind):
        NOTED.append("get")
        return lambda v: v * WEIGHTS.sum()


class Inherited(Scaling):
    pass


class Described:
    scaled = noted = plain = Scaling()


class DescribedByAnHeir:
    scaled = noted = plain = Inherited()


@pytest.mark.parametrize("way", ["called", "bound", "by name", "made"])
@pytest.mark.parametrize("method", ["scaled", "noted", "plain"])
@pytest.mark.parametrize(
    "owner",
    [Pair(2.0, 3.0), Mode.FAST, Described(), DescribedByAnHeir()],
    ids=["named tuple", "member", "descriptor", "heir of a descriptor"],
)
def test_methods_of_classes_without_copies(owner, method, way):
    """They read arrays and lists of their module as these are in each call."""
    call = operator.methodcaller
    ways = {
        "called": (lambda x, o: getattr(o, method)(x), owner),
        "bound": (lambda x, f: f(x), getattr(owner, method)),
        "by name": (
            {Pair: lambda x, _: Pair(2.0, 3.0).noted(x), Mode: lambda x, _: Mode.FAST.noted(x)}.get(
                type(owner), lambda x, o: call(method, x)(o)
            ),
            owner,
        ),
        "made": (lambda x, o: [getattr(p, method)(x) for p in (o, o)][1], owner),
    }
    function, given = ways[way]
    found = []
    for f in (function, jitrt.jit(function)):
        NOTED.clear()
        made = []
        for k in range(5):
            WEIGHTS[:] = np.arange(3.0) * k
            made.append(f(np.arange(300.0) + k, given).tolist())
        found.append((made, list(NOTED)))
    assert found[0] == found[1]


def test_methods_that_read_nothing_else_are_traced():
    for owner in (Pair(2.0, 3.0), Mode.FAST):
        fast = jitrt.jit(lambda x, o: o.plain(x) + 1)
        for _ in range(4):
            fast(np.arange(500.0), owner)
        assert fast.explain(np.arange(500.0), owner).kernels


class Copied:
    def __init__(self):
        self.k = 2.0

    @jitrt.jit
    def compiled(self, v):
        return v * self.k + WEIGHTS[1]

    @functools.cached_property
    def kept(self):
        return self.k * 2

    @property
    def asked(self):
        return self.k * WEIGHTS[1]


@pytest.mark.parametrize("use", [lambda x, o: o.compiled(x), lambda x, o: x * o.kept, lambda x, o: x * o.asked])
def test_members_of_the_usual_kinds_have_copies(use):
    """Descriptors of jitrt and of the standard library are none of the user's."""
    fast, owner = jitrt.jit(use), Copied()
    for k in range(4):
        WEIGHTS[:] = np.arange(3.0) * k
        x = np.arange(300.0) + k
        np.testing.assert_array_equal(fast(x, owner), use(x, owner))
    assert fast.explain(x, owner).kernels
