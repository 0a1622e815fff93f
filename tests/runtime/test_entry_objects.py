"""The native entry takes objects apart as Python does: their attributes, and those of what they hold."""

import copy
import gc
import inspect
import pickle
import sys
import weakref
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import jitrt
from jitrt.runtime.objects import fields
from jitrt.trace.versions import version_offset

pytestmark = pytest.mark.skipif(
    fields() is None or version_offset() is None, reason="calls are checked in Python on this build"
)

x = np.arange(6.0)


class Watched(jitrt.JitFunction):
    """A function that counts the calls that native code does not serve."""

    missed = 0

    def _call(self, args, kwargs):
        self.missed += 1
        return super()._call(args, kwargs)


def is_served(function, *args, **kwargs):
    """Whether native code serves a call like this one."""
    before = function.missed
    function(*args, **kwargs)
    return function.missed == before


def check(function, *args, **kwargs):
    """Whether native code serves such a call, which gives what the plain function gives."""
    before = function.missed
    np.testing.assert_array_equal(function(*args, **kwargs), function.__wrapped__(*args, **kwargs))
    return function.missed == before


class Model:
    scale = 2.0

    def __init__(self, x=x, k=3.0):
        self.x = x
        self.k = k
        self.name = "model"

    def run(self, dt):
        return self.x * self.k * self.scale + dt

    @property
    def scaled(self):
        return self.x * self.k

    def by_property(self, dt):
        return self.scaled + dt


class Heir(Model):
    pass


@dataclass
class Point:
    x: np.ndarray
    k: float


@dataclass(frozen=True)
class Frozen:
    x: np.ndarray
    k: float


Pair = namedtuple("Pair", "x k")


def axpy(o, dt):
    return o.x * o.k + dt


def compiled(function, *args):
    """`function`, called so that native code serves further calls like these."""
    made = Watched(function)
    for _ in range(2):  # what methods name is known after the first one
        check(made, *args)
    assert check(made, *args)
    return made


@pytest.mark.parametrize("kind", [Model, Heir, Point, Frozen, Pair])
def test_objects_are_served(kind):
    function = compiled(axpy, kind(x, 3.0), 0.5)
    assert check(function, kind(x + 1, 4.0), 1.5)
    assert not check(function, kind(x[:3], 4.0), 1.5)
    assert not check(function, kind(x.astype(np.float32), 4.0), 1.5)
    assert not check(function, kind(x, np.float64(4.0)), 1.5)
    assert not check(function, kind(x, 4), 1.5)
    for value in (kind(x[:3], 4.0), kind(x, 4.0), kind(x.astype(np.float32), 4.0), kind(x, 4)):
        assert check(function, value, 1.5)


def test_methods_and_properties():
    function = compiled(Model.by_property, Model(), 0.5)
    assert check(function, Model(x * 2, 5.0), 0.5)
    assert not check(function, Heir(x * 2, 5.0), 0.5)
    assert check(function, Heir(x * 3, 5.0), 0.5)


def test_changes_of_an_object_between_calls():
    model = Model()
    function = compiled(Model.run, model, 0.5)
    model.x = x * 3
    assert check(function, model, 0.5)
    model.x = x[:4]
    assert not check(function, model, 0.5)
    model.x = x
    model.extra = 1.0
    assert not check(function, model, 0.5)
    assert check(function, model, 0.5)
    del model.extra
    assert check(function, model, 0.5)
    model.name = "another"
    assert not check(function, model, 0.5)
    model.__dict__ = {"x": x * 5, "k": 1.0, "name": "model"}
    assert check(function, model, 0.5)
    model.__dict__ = {"k": 1.0, "x": x * 5, "name": "model"}
    assert not check(function, model, 0.5)
    model.__class__ = Heir
    assert not check(function, model, 0.5)
    del model.x
    with pytest.raises(AttributeError):
        function(model, 0.5)


def test_attributes_whose_names_are_not_interned():
    function = compiled(Model.run, Model(), 0.5)
    model = Model()
    vars(model).clear()
    vars(model).update({"".join(name): value for name, value in vars(Model(x + 7)).items()})
    assert check(function, model, 0.5)


def test_changes_of_a_class_between_calls():
    class Local(Model):
        scale = 5.0

    local = Local()
    function = compiled(Local.run, local, 0.5)
    Local.scale = 7.0
    assert not check(function, local, 0.5)
    assert check(function, local, 0.5)
    Local.unrelated = 1.0
    assert not check(function, local, 0.5)
    assert check(function, local, 0.5)
    del Local.scale
    assert not check(function, local, 0.5)
    assert check(function, local, 0.5)


@pytest.mark.parametrize("holder", ["itself", "base"])
def test_properties_that_a_class_gets_later(holder):
    class Base:
        pass

    class Local(Base):
        def __init__(self):
            self.x = x.copy()

        def run(self, dt):
            return self.x * 2.0 + dt

    local = Local()
    function = compiled(Local.run, local, 0.5)
    kind = Local if holder == "itself" else Base
    kind.x = property(lambda self: self.__dict__["x"] * 10)
    check(function, local, 0.5)
    check(function, local, 0.5)
    del kind.x
    check(function, local, 0.5)
    kind.__getattribute__ = lambda self, name: np.full(6, 3.0) if name == "x" else object.__getattribute__(self, name)
    check(function, local, 0.5)
    check(function, local, 0.5)


def test_members_that_are_replaced():
    class Local(Model):
        @property
        def scaled(self):
            return self.x * 3.0

        @staticmethod
        def shift(dt):
            return dt + 1.0

        @classmethod
        def unit(cls):
            return 2.0

        def run(self, dt):
            return self.scaled * self.shift(dt) + self.unit()

    local = Local()
    function = compiled(Local.run, local, 0.5)
    Local.scaled = property(lambda self: self.x * 5.0)
    check(function, local, 0.5), check(function, local, 0.5)
    Local.shift = staticmethod(lambda dt: dt - 1.0)
    check(function, local, 0.5), check(function, local, 0.5)
    Local.unit = classmethod(lambda cls: 7.0)
    check(function, local, 0.5), check(function, local, 0.5)
    assert check(function, local, 0.5)


def test_bases_that_are_replaced():
    class One:
        def factor(self):
            return 2.0

    class Other:
        def factor(self):
            return 3.0

    class Local(One):
        def __init__(self):
            self.x = x

        def run(self, dt):
            return self.x * self.factor() + dt

    local = Local()
    function = compiled(Local.run, local, 0.5)
    for base in (Other, One, Other):
        Local.__bases__ = (base,)
        check(function, local, 0.5), check(function, local, 0.5)
    assert check(function, local, 0.5)


def test_what_is_never_the_same_object_runs_plain_on_small_arrays(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    function = Watched(lambda o: o.x[o.part] * 2.0)
    for _ in range(200):
        o = Model()
        o.part = slice(1, int("3"))
        check(function, o)
    assert "too small" in function.explain(o).plain_reason


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_as_before(collects):
    function = compiled(Model.run, Model(), 0.5)
    (gc.enable if collects else gc.disable)()
    try:
        for _ in range(3):
            check(function, Model(), 0.5)
            assert gc.isenabled() == collects
    finally:
        gc.enable()


def test_classes_that_change_at_every_call():
    class Counted(Model):
        count = 0

        def __init__(self):
            super().__init__()
            Counted.count += 1

    function = Watched(Model.run)
    for _ in range(200):
        check(function, Counted(), 0.5)


def test_classes_that_change_now_and_then(monkeypatch):
    class Local(Model):
        pass

    seconds = iter(range(1, 1000))
    monkeypatch.setattr("jitrt.runtime.dispatch.monotonic", lambda: float(next(seconds)))
    function = compiled(Model.run, Local(), 0.5)
    for k in range(150):
        Local.unrelated = k
        assert not check(function, Local(), 0.5)
        assert check(function, Local(), 0.5)


def test_what_occurs_twice_is_another_call():
    def same(a, b, dt):
        return a.x * (2.0 if a is b else 3.0) + b.x * dt

    function = compiled(same, Point(x, 1.0), Point(x, 1.0), 0.5)
    point = Point(x, 1.0)
    assert not check(function, point, point, 0.5)
    for _ in range(2):
        assert check(function, point, point, 0.5)
        assert check(function, Point(x, 1.0), point, 0.5)

    def same_list(a, b):
        return a[0] * (2.0 if a is b else 3.0)

    items = [x]
    function = compiled(same_list, [x], [x])
    assert not check(function, items, items)
    assert check(function, items, items)
    assert check(function, [x], items)


def test_objects_in_containers_and_objects():
    def total(tree):
        return tree["models"][0].x + tree["models"][1].inner.x * tree["weights"]["second"]

    def tree(shift):
        outer = Model(x - shift)
        outer.inner = Point(x + shift, 2.0)
        return {"models": [Model(x * shift), outer], "weights": {"second": 3.0, "": (1, None, True)}}

    function = compiled(total, tree(0.0))
    assert check(function, tree(4.0))
    other = tree(1.0)
    other["models"][1].inner = Frozen(x, 3.0)
    assert not check(function, other)
    other = tree(1.0)
    other["weights"][""] = (1, None, False)
    assert not check(function, other)
    other["weights"][""] = (2, None, True)
    assert not check(function, other)


captured = Model(x * 2)
settings = {"gain": x + 1, "shift": 0.5}


def test_objects_and_dicts_that_a_function_names():
    def named(dt):
        return captured.x * settings["gain"] + settings["shift"] * dt

    global captured
    function = compiled(named, 0.5)
    captured.x = x * 9
    settings["shift"] = 2.5
    assert check(function, 0.5)
    captured = Model(x * 5)
    assert check(function, 0.5)
    settings["gain"] = x[:1]
    assert not check(function, 0.5)
    settings["gain"] = x + 1


class Constants:
    weights = x * 3
    table: ClassVar = {"a": x + 2, "b": 2.0}

    def run(self, dt):
        return self.weights * dt + self.table["a"] * self.table["b"]


def test_arrays_and_dicts_of_a_class():
    function = compiled(Constants.run, Constants(), 0.5)
    Constants.table["b"] = 4.0
    assert check(function, Constants(), 0.5)
    np.add(Constants.weights, 1.0, out=Constants.weights)
    assert check(function, Constants(), 0.5)
    Constants.weights = x * 7
    check(function, Constants(), 0.5)
    assert check(function, Constants(), 0.5)
    Constants.weights = x[0]
    check(function, Constants(), 0.5)
    check(function, Constants(), 0.5)
    Constants.weights = x * 3
    check(function, Constants(), 0.5)


def test_captured_arrays_of_several_shapes():
    scope = {"g": x}
    exec("def f(a):\n    return (g * 2.0).sum() + a", scope)
    function = Watched(scope["f"])
    for value in (x, x[:3], x, x[:2], x[:3], x, x[:2]) * 2:
        scope["g"] = value
        check(function, x)
    assert function.missed <= 6


def test_arrays_of_an_object_are_changed():
    def shift(o, dt):
        o.x += dt * o.k
        return o.x

    function = Watched(shift)
    for _ in range(4):
        point = Point(x.copy(), 2.0)
        array = point.x
        assert function(point, 0.5) is array
        np.testing.assert_array_equal(array, x + 1.0)
    assert function.missed <= 2


def test_attributes_that_share_memory():
    class Two:
        def __init__(self, a, b):
            self.a, self.b = a, b

    def change(o):
        o.a += 1.0
        return o.b * 2.0

    function = Watched(change)
    base = np.arange(8.0)
    for first, second in ((0, 1), (0, 0), (0, 1), (1, 0), (0, 0), (0, 1)):
        for views in (False, True):
            ours, theirs = base.copy(), base.copy()
            if views:
                made = [Two(m[first : first + 6], m[second : second + 6]) for m in (ours, theirs)]
            else:
                made = [Two(m, m if first == second else m.copy()) for m in (ours, theirs)]
            np.testing.assert_array_equal(function(made[0]), change(made[1]))
            np.testing.assert_array_equal(ours, theirs)


def test_no_reference_is_lost_or_kept():
    model, other = Model(x.copy()), Model(x[:3].copy())
    function = compiled(Model.run, model, 0.5)
    function(other, 0.5)
    watched = [model, other, model.x, other.x, vars(model), vars(other), Model, vars(model)["name"]]
    for _ in range(100):
        function(model, 0.5), function(other, 0.5)
    gc.collect()
    before = [sys.getrefcount(v) for v in watched], sys.getallocatedblocks()
    for _ in range(20_000):
        function(model, 0.5), function(other, 0.5)
    gc.collect()
    assert [sys.getrefcount(v) for v in watched] == before[0]
    assert abs(sys.getallocatedblocks() - before[1]) < 1000


def test_exceptions_of_a_call_are_numpys():
    def divide(o, dt):
        return o.x / o.k + dt

    function = compiled(divide, Point(x + 1, 2.0), 0.5)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        function(Point(x + 1, np.float64(0.0)), 0.5)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        function(Point(x, np.float64(0.0)), 0.5)
    assert check(function, Point(x + 2, 2.0), 0.5)


def test_threads_that_change_objects():
    big = np.ones(200_000)
    models = [Model(big.copy(), float(k)) for k in range(4)]
    function = Watched(Model.run)

    def work(k):
        model = models[k % 4]
        model.x = np.full(200_000, float(k))  # the array that another call may be reading is let go
        return np.unique(function(model, 0.5)).size

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(400))) == {1}


class Stepped:
    def __init__(self):
        self.x = x.copy()

    @jitrt.jit
    def run(self, dt, shift=1.0):
        return self.x * dt + shift

    @jitrt.jit
    def kind(self):
        return self.x * 0.0


class Twice(Stepped):
    @jitrt.jit
    def run(self, dt, shift=1.0):
        return super().run(dt, shift=shift) * 2.0


def test_methods_are_bound_as_those_of_plain_functions():
    for _ in range(3):
        stepped, twice = Stepped(), Twice()
        np.testing.assert_array_equal(stepped.run(0.5), x * 0.5 + 1.0)
        np.testing.assert_array_equal(stepped.run(dt=0.5, shift=2.0), x * 0.5 + 2.0)
        np.testing.assert_array_equal(Stepped.run(stepped, 0.5), x * 0.5 + 1.0)
        np.testing.assert_array_equal(twice.run(0.5), x + 2.0)
        np.testing.assert_array_equal(Stepped.run(twice, 0.5), x * 0.5 + 1.0)
    bound = stepped.run
    assert inspect.ismethod(bound) and bound.__self__ is stepped and bound == stepped.run
    assert weakref.WeakMethod(bound)() == bound
    for moved in (bound, copy.copy(bound), pickle.loads(pickle.dumps(bound))):
        np.testing.assert_array_equal(moved(0.5), x * 0.5 + 1.0)
    stepped.run = lambda dt: "its own"
    assert stepped.run(0.5) == "its own"
    del stepped.run
    np.testing.assert_array_equal(stepped.run(0.5), x * 0.5 + 1.0)
    with pytest.raises(TypeError):
        stepped.run()
    with pytest.raises(TypeError):
        Stepped.run()


def test_methods_that_are_replaced():
    stepped, original = Stepped(), Stepped.kind
    results = []
    for method in (original, lambda self: "plain", original, jitrt.jit(lambda self: self.x + 1.0)):
        Stepped.kind = method
        results += [stepped.kind() for _ in range(2)]
    Stepped.kind = original
    for got, want in zip(results, (x * 0.0, x * 0.0, "plain", "plain", x * 0.0, x * 0.0, x + 1.0, x + 1.0)):
        np.testing.assert_array_equal(got, want)


class Scaled(Pair):
    __slots__ = ()
    scale = 2.0

    def scaled(self):
        return self.x * self.scale + self.k


def test_methods_of_tuples_with_names():
    def call(pair):
        return pair.scaled()

    function = compiled(call, Scaled(x, 1.0))
    try:
        Scaled.scale = 5.0
        for _ in range(3):
            check(function, Scaled(x, 1.0))
        assert check(function, Scaled(x + 1, 2.0))
        Scaled.scaled = lambda self: self.x - self.scale
        for _ in range(3):
            check(function, Scaled(x, 1.0))
        Scaled.x = property(lambda self: self[0] + 100)
        check(function, Scaled(x, 1.0))
    finally:
        del Scaled.x
        Scaled.scale = 2.0


class Open(Pair):
    scale = 2.0


def test_attributes_of_tuples_with_names():
    def call(pair):
        return pair.x * pair.scale

    function = Watched(call)
    for _ in range(3):
        check(function, Open(x, 1.0))
    other = Open(x, 1.0)
    for scale in (3.0, 4.0, x):
        other.scale = scale
        check(function, other)
        check(function, Open(x, 1.0))


class Odd(Pair):
    __slots__ = ()
    lengths: ClassVar = [2]

    def __len__(self):
        return self.lengths[0] // (self.lengths[0] != 0)


def test_tuples_with_a_length_of_their_own():
    def call(pair):
        return pair.x * pair.k + len(pair)

    function = Watched(call)
    for length in (2, 2, 2, 1, 2):
        Odd.lengths[0] = length
        check(function, Odd(x, 1.0))
    Odd.lengths[0] = 0
    with pytest.raises(ZeroDivisionError):
        function(Odd(x, 1.0))
    Odd.lengths[0] = 2
    check(function, Odd(x, 1.0))


def test_tuples_with_names_that_the_function_makes():
    def call(x):
        return Scaled(x, 1.0).scaled() + 1

    function = Watched(call)
    check(function, x)
    for scale in (3.0, 2.0):
        Scaled.scale = scale
        for _ in range(2):
            check(function, x)
