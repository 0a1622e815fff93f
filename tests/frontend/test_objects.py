"""Objects as arguments: their attributes are read at every call, and what a method does to the world happens."""

import sys
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

import jitrt
from jitrt.values.attributes import has_plain_attributes
from jitrt.values.kinds import flatten, rebuild

x = np.arange(6.0)
CALLS = []


@dataclass
class Option:
    strike: float
    weights: np.ndarray
    call: bool = True

    def payoff(self, spot):
        sign = 1.0 if self.call else -1.0
        return np.maximum(sign * (spot - self.strike), 0) * self.weights

    @property
    def total(self):
        return self.weights.sum()

    @staticmethod
    def discount(value, rate):
        return value * np.exp(-rate)


class Filter:
    gain = 2.0

    def __init__(self, taps):
        self.taps = taps
        self.inner = Option(1.0, taps * 2)

    @jitrt.jit
    def apply(self, a):
        return a * self.taps.sum() * self.gain + self.inner.weights[0]

    @jitrt.jit
    def scale_taps(self, factor):
        self.taps *= factor

    @jitrt.jit
    def count(self, a):
        self.calls = getattr(self, "calls", 0) + 1
        return a + 1

    def note(self, a):
        CALLS.append(len(a))
        return a

    @jitrt.jit
    def noted(self, a):
        return self.note(a) * 2


def price(option, spot, rate):
    return option.discount(option.payoff(spot), rate) / option.total


def test_a_dataclass_runs_compiled():
    compiled = jitrt.jit(price)
    for option in (Option(2.0, x + 1), Option(3.0, x + 2), Option(3.0, x + 2, call=False)):
        for _ in range(2):
            np.testing.assert_allclose(compiled(option, x, 0.1), price(option, x, 0.1), rtol=1e-14)
    assert not compiled.explain(option, x, 0.1).plain_reason


def test_attributes_are_read_at_every_call():
    filter_ = Filter(x.copy())
    for taps in (x, x * 2, np.ones(3)):
        filter_.taps = taps
        np.testing.assert_array_equal(filter_.apply(x), x * taps.sum() * 2.0 + filter_.inner.weights[0])
    Filter.gain = 3.0
    try:
        np.testing.assert_array_equal(filter_.apply(x), x * 9.0 + filter_.inner.weights[0])
    finally:
        Filter.gain = 2.0
    assert not Filter.apply.explain(filter_, x).plain_reason


def test_arrays_of_an_object_are_written():
    filter_ = Filter(x.copy())
    taps = filter_.taps
    for _ in range(2):
        filter_.scale_taps(2.0)
    np.testing.assert_array_equal(taps, x * 4)
    assert filter_.taps is taps


def test_attributes_that_a_function_sets_are_set():
    filter_ = Filter(x)
    for k in range(3):
        filter_.count(x)
        assert filter_.calls == k + 1


def test_effects_of_methods_happen_at_every_call():
    CALLS.clear()
    for _ in range(3):
        Filter(x).noted(x)
    assert CALLS == [6, 6, 6]


def test_results_are_the_objects_themselves():
    option = Option(1.0, x)

    @jitrt.jit
    def same(o):
        return o

    @jitrt.jit
    def weights(o):
        return o.weights

    for _ in range(2):
        assert same(option) is option and weights(option) is x


def test_partial_functions():
    def scaled(a, factor, *, shift):
        return a * factor + shift

    compiled = jitrt.jit(partial(scaled, shift=1.0))
    for factor in (2.0, 3.0):
        np.testing.assert_array_equal(compiled(x, factor), x * factor + 1.0)
    assert not compiled.explain(x, 2.0).plain_reason


def test_circles_of_objects():
    a = Filter(x)
    a.inner.owner = a
    np.testing.assert_array_equal(a.apply(x), x * x.sum() * 2)


class Forwarding:
    def __getattr__(self, name):
        return 1.0


@dataclass
class Nested:
    option: Option
    values: list = field(default_factory=list)


@pytest.mark.parametrize("kind", [int, np.ndarray, partial, Forwarding, np.random.Generator, ValueError, dict])
def test_classes_that_are_more_than_their_attributes(kind):
    assert not has_plain_attributes(kind)


def test_flattening():
    leaves = []
    nested = Nested(Option(1.0, x), [2.0, (x,)])
    structure = flatten(nested, leaves, objects=True)
    assert [type(v) for v in leaves] == [float, np.ndarray, bool, float, np.ndarray]
    again = rebuild(structure, iter(leaves))
    assert type(again) is Nested and again.option.weights is x and again.values[1][0] is x
    assert hash(structure) == hash(flatten(nested, [], objects=True))


class Slotted:
    __slots__ = ("k", "x")

    def __init__(self, x, k):
        self.x, self.k = x, k

    def scaled(self, dt):
        return self.x * self.k + dt

    def step(self, dt):
        self.x = self.x + dt * self.k
        self.k += 1.0
        return self


class Longer(Slotted):
    __slots__ = ("_Longer__hidden", "late")

    def store(self, dt):
        self.late = self.x * dt
        return self.late


@dataclass(slots=True)
class SlotPoint:
    x: np.ndarray
    k: float

    scaled = Slotted.scaled
    step = Slotted.step


@dataclass(slots=True, frozen=True, weakref_slot=True)
class FrozenSlots:
    x: np.ndarray
    k: float

    scaled = Slotted.scaled

    def moved(self, dt):
        return FrozenSlots(self.x + dt, self.k)


@pytest.mark.parametrize("kind", [Slotted, Longer, SlotPoint, FrozenSlots])
def test_objects_with_slots(kind, without_templates):
    compiled = jitrt.jit(kind.scaled)
    for k in range(4):
        for value in (x * k, x[:3] + k, x.astype(np.float32)):
            np.testing.assert_array_equal(compiled(kind(value, 2.0 + k), 0.5), value * (2.0 + k) + 0.5)
    assert not compiled.explain(kind(x, 2.0), 0.5).plain_reason
    assert compiled.cache_info().slow_calls == 3


@pytest.mark.parametrize("kind", [Slotted, Longer, SlotPoint])
def test_slots_that_a_function_sets(kind):
    compiled = jitrt.jit(kind.step)
    ours, theirs = kind(x.copy(), 2.0), kind(x.copy(), 2.0)
    for _ in range(5):
        assert compiled(ours, 0.5) is ours
        theirs.step(0.5)
        np.testing.assert_array_equal(ours.x, theirs.x)
        assert ours.k == theirs.k
    assert compiled.cache_info().slow_calls == 1


def test_empty_slots():
    compiled = jitrt.jit(Longer.store)
    ours = Longer(x, 1.0)
    for k in range(4):
        got = compiled(ours, 0.5 + k)
        assert got is ours.late
        np.testing.assert_array_equal(got, x * (0.5 + k))
    assert compiled.cache_info().slow_calls == 2
    for _ in range(3):
        del ours.late
        np.testing.assert_array_equal(compiled(ours, 0.5), x * 0.5)
    assert compiled.cache_info().slow_calls == 2
    del ours.x
    with pytest.raises(AttributeError):
        compiled(ours, 0.5)

    @jitrt.jit
    def has(o, a):
        return a + 1.0 if hasattr(o, "late") else a + 2.0

    for late in (True, False, True, False):
        o = Longer(x, 1.0)
        if late:
            o.late = 3.0
        np.testing.assert_array_equal(has(o, x), x + (1.0 if late else 2.0))


def test_results_with_slots():
    compiled = jitrt.jit(FrozenSlots.moved)
    for _ in range(3):
        got = compiled(FrozenSlots(x, 2.0), 0.5)
        assert type(got) is FrozenSlots and got.k == 2.0
        np.testing.assert_array_equal(got.x, x + 0.5)


def test_loops_over_objects_with_slots():
    def steps(o, n):
        for _ in range(n):
            o.x = o.x + 0.5 * o.k
            o.k *= 0.5
        return o.x

    compiled = jitrt.jit(steps)
    for _ in range(2):
        ours, theirs = Slotted(x.copy(), 2.0), Slotted(x.copy(), 2.0)
        np.testing.assert_array_equal(compiled(ours, 20), steps(theirs, 20))
        assert ours.k == theirs.k


class WithDict(Slotted):
    pass


class Mixed:
    __slots__ = ("__dict__", "x")


class Hides(Slotted):
    __slots__ = ()
    x = property(lambda self: 1.0)


class Twice(Slotted):
    __slots__ = ("x",)


@pytest.mark.parametrize("kind", [WithDict, Mixed, Hides, Twice])
def test_slots_beside_something_else(kind):
    assert not has_plain_attributes(kind)


def test_references_of_slots():
    compiled = jitrt.jit(Slotted.step)
    body = Slotted(x.copy(), 1.0)
    for _ in range(3):
        compiled(body, 0.5)
    kept = body.x
    before = sys.getrefcount(body), sys.getrefcount(kept), sys.getallocatedblocks()
    for _ in range(20_000):
        compiled(body, 0.5)
    assert sys.getrefcount(body) == before[0] and sys.getrefcount(kept) == before[1] - 1
    assert abs(sys.getallocatedblocks() - before[2]) < 1000


class NoModule:
    __module__ = None

    def __init__(self, x):
        self.x = x


class NumberedModule:
    __module__ = 3

    def method(self, x):
        return x * 2


class ModuleOfItsOwn:
    @property
    def __module__(self):
        return "here"

    def __init__(self):
        self.x = 2.0


def nowhere(x):
    return x * 3


nowhere.__module__ = None
ODD = (NoModule(4.0), NumberedModule(), ModuleOfItsOwn())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * ODD[0].x,
        lambda x: ODD[1].method(x),
        lambda x: x * ODD[2].x,
        lambda x, a=ODD[0]: x * a.x,
        lambda x, a=ODD[2]: x * a.x,
        lambda x: nowhere(x) + isinstance(x, NoModule),
        lambda x: NoModule(x).x + ModuleOfItsOwn().x,
    ],
)
def test_classes_say_what_they_like_of_their_module(function, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "1")
    compiled = jitrt.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.arange(3.0)), function(np.arange(3.0)))
