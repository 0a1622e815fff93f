"""The native entry sees that a class has changed: its members, its bases, and what they hold."""

from typing import ClassVar

import numpy as np
import pytest
from entry_calls import Model, Watched, check, compiled, needs_versions, x

import jitrt

pytestmark = needs_versions


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


WAYS = {
    "__init__": lambda self, a, b: vars(self).update(a=b, b=a, c=1),
    "__setattr__": lambda self, name, value: object.__setattr__(self, name, (name, value)),
    "__getattribute__": lambda self, name: "got" if name == "a" else object.__getattribute__(self, name),
    "__getattr__": lambda self, name: vars(self)["a"] if name == "c" else object.__getattribute__(self, name),
    "__new__": staticmethod(lambda cls, a, b: object.__new__(cls)),
    "__del__": lambda self: deleted.append(1),
    "__array__": lambda self, dtype=None, copy=None: np.zeros(2),
}
deleted = []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [4, 100_000])
def test_ways_that_the_class_of_a_result_gets_later(way, size):
    class Made:
        def __init__(self, a, b):
            self.a, self.b = a, b

    def makes(x):
        return Made(x + 1, x * 2)

    def outcome(function):
        deleted.clear()
        value = function(x)
        found = [repr(value.a), repr(value.b), repr(getattr(value, "c", None)), np.asarray(value).ndim]
        del value
        return found, list(deleted)

    x = np.ones(size)
    fast = jitrt.jit(makes)
    for _ in range(4):
        assert outcome(fast) == outcome(makes)
    setattr(Made, way, WAYS[way])
    for _ in range(4):
        assert outcome(fast) == outcome(makes)
    delattr(Made, way)
    if way in ("__init__", "__new__"):
        return
    for _ in range(4):
        assert outcome(fast) == outcome(makes)
