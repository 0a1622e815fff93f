"""Objects of classes with abstract bases, protocols and generic classes: they are their attributes as others are."""

import abc
import dataclasses
import typing
from typing import Any

import numpy as np
import pytest

import jitrt

T = typing.TypeVar("T")
WEIGHTS = np.arange(3.0)


class Model(abc.ABC):
    scale = 2.0

    def __init__(self, a):
        self.a, self.runs = a, 0

    @abc.abstractmethod
    def rate(self, x): ...

    @property
    @abc.abstractmethod
    def name(self): ...

    def run(self, x):
        self.runs += 1
        return self.rate(x) * self.scale + len(self.name) + np.zeros(len(x)) + WEIGHTS.sum()


class Linear(Model):
    name = property(lambda self: "linear")

    def rate(self, x):
        return x * self.a


class Quadratic(Linear):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b

    def rate(self, x):
        return super().rate(x) ** 2 + self.b

    @property
    def name(self):
        return "quadratic"


@dataclasses.dataclass
class Recorder(abc.ABC, typing.Generic[T]):
    a: float
    history: list = dataclasses.field(default_factory=list)

    def run(self, x):
        self.history.append(x.sum())
        return x * self.a


class Shape(typing.Protocol):
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


class Slotted(abc.ABC):  # noqa: B024
    __slots__ = ("v",)

    def __init__(self):
        self.v = 1.0

    def run(self, x):
        self.v = self.v * 2
        return x * self.v


def run(m, x):
    return m.run(x)


def makes(m, x):
    return Quadratic(x.mean(), 1.0).run(x) + Recorder[int](2.0).run(x)


def area(m, x):
    return x * m.area()


def asked(m, x):
    return x * (isinstance(m, Model) + 2 * isinstance(m, Quadratic))


def loop(m, x):
    out, s = np.zeros(len(x)), 0.0
    for k in range(len(x)):
        s = s + m.rate(x[k]) * 0.01 - s * 0.1
        m.runs += 1
        out[k] = s
    return out


def made_in_a_loop(m, x):
    q = Linear(0.0)
    for k in range(len(x)):
        q.a = q.a * 0.5 + x[k]
        q.runs += 1
    return q.a, q.runs


CASES: list[tuple[Any, Any]] = [
    (run, lambda: Linear(2.0)),
    (run, lambda: Linear(np.arange(3000.0))),
    (run, lambda: Quadratic(2.0, 1.0)),
    (run, lambda: Recorder(2.0)),
    (run, Slotted),
    (makes, lambda: 0),
    (area, lambda: Square(2.0)),
    (asked, lambda: Quadratic(2.0, 1.0)),
    (asked, lambda: Square(2.0)),
    (loop, lambda: Linear(2.0)),
    (loop, lambda: Quadratic(2.0, 1.0)),
    (made_in_a_loop, lambda: 0),
]


def attributes(m):
    return {name: getattr(m, name) for name in ("a", "b", "runs", "history", "side", "v") if hasattr(m, name)}


@pytest.mark.parametrize("function, make", CASES, ids=[f"{f.__name__}-{k}" for k, (f, _) in enumerate(CASES)])
def test_like_python(function, make, monkeypatch):
    fast, mine, plain = jitrt.jit(function), make(), make()
    for call in range(5):
        if call == 3:
            monkeypatch.setitem(globals(), "WEIGHTS", np.arange(4.0))
        if call == 4:
            monkeypatch.setattr(Model, "scale", 3.0)
        x = np.linspace(0, 1 + call, 3000)
        np.testing.assert_allclose(fast(mine, x), function(plain, x), rtol=1e-12)
        assert type(mine) is type(plain)
        np.testing.assert_equal(attributes(mine), attributes(plain))
    assert fast.plain_reason == ""


def test_abstract_classes_are_not_made():
    fast = jitrt.jit(lambda x: Model(1.0).run(x))
    for _ in range(3):
        with pytest.raises(TypeError, match="abstract"):
            fast(np.ones(3))
