"""The native entry sees that a class has changed: its members, its bases, and what they hold."""

from typing import ClassVar

import numpy as np
import pytest
from entry_calls import Model, Watched, check, compiled, needs_versions, x

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
