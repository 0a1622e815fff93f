"""Objects of inherited, slotted, frozen and enumerated classes, data classes and named tuples that loops make."""

import dataclasses
import enum
import typing
from collections import namedtuple

import numpy as np
import pytest
from object_checks import X, check


class Base:
    def __init__(self, start):
        self.total = start

    def add(self, x):
        self.total += x

    def scaled(self, x):
        return x * 2


class Counting(Base):
    def __init__(self, start=0.0):
        super().__init__(start)
        self.n = 0

    def add(self, x):
        super().add(self.scaled(x))
        self.n += 1

    def scaled(self, x):
        return Base.scaled(self, x) + 1


class Further(Counting):
    def scaled(self, x):
        return super().scaled(x) * 3


@pytest.mark.parametrize("kind", [Counting, Further])
def test_inheritance(kind):
    def run(values):
        c = kind()
        for x in values:
            c.add(x)
        return c.total, c.n, isinstance(c, Base), type(c) is Counting

    check(run, (X,), (X[:0],))


class Celsius:
    def __init__(self, t):
        self._t = t

    @property
    def fahrenheit(self):
        return self._t * 1.8 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        if value < -400:
            raise ValueError("cold")
        self._t = (value - 32) / 1.8


def test_properties_with_setters():
    def run(values):
        c = Celsius(1.0)
        for x in values:
            c.fahrenheit += x
            c.fahrenheit = c.fahrenheit * 0.5
        return c.fahrenheit, c._t

    check(run, (X,), (X * 1000,))


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a

    def step(self, x):
        self.b = self.a
        self.a = x


def test_slots():
    def run(values):
        s = Slotted(0.5)
        for x in values:
            s.step(x)
        return s.a, s.b

    def other(values):
        s = Slotted(0.5)
        for x in values:
            s.c = x
        return s.a

    check(run, (X,), (X[:0],))
    check(other, (X,), (X[:0],), staged=None)


@dataclasses.dataclass
class Particle:
    x: float
    v: float = 0.0
    trail: list = dataclasses.field(default_factory=list)
    seen: int = dataclasses.field(default=3, init=False)
    energy: float = dataclasses.field(init=False)

    def __post_init__(self):
        self.energy = 0.5 * self.v**2

    def step(self, dt):
        self.v -= dt * self.x
        self.x += dt * self.v
        self.seen += 1
        self.trail.append(self.x)


@dataclasses.dataclass(frozen=True)
class Rates:
    a: float = 0.5
    b: float = 2.0

    def slope(self, x):
        return self.a * x - self.b


@dataclasses.dataclass(slots=True)
class Slim:
    x: float
    y: int = 1


def test_dataclasses():
    def run(n, dt):
        p, q, r, s = Particle(1.0), Particle(2.0, v=0.25), Rates(b=3.0), Slim(1.0)
        for _ in range(n):
            p.step(dt)
            q.step(dt * 2)
            s.x += r.slope(p.x)
            s.y += 2
        return p.x, q.v, p.trail, q.energy, p.seen, r.b, s.x, s.y

    check(run, (5, 0.125), (0, 0.5))


def test_frozen_dataclasses_are_not_changed():
    def run(values):
        r = Rates()
        for x in values:
            r.a = x
        return r.a

    def in_place(values):
        r = Rates(np.zeros(9))
        for x in values:
            r.a += x
        return r.a

    check(run, (X,), (X[:0],), staged=None)
    check(in_place, (X,), (X[:0],), staged=None)


Point = namedtuple("Point", "x y")


class Place(typing.NamedTuple):
    x: float
    y: float = 1.0

    def norm(self):
        return abs(self.x) + self.y

    @property
    def doubled(self):
        return self.x * 2


def test_named_tuples():
    def run(values):
        p, total = Point(0.0, 1), 0.0
        for x in values:
            q = Place(x)
            a, b = p
            p = p._replace(x=a + q.norm() + q.doubled, y=q.y)
            total += b * p[0] + len(q) + sum(q)
        return total, p.x, p.y

    check(run, (X,), (X[:0],))


def test_named_tuples_as_results():
    def run(values):
        p = Place(0.0)
        for x in values:
            p = Place(p.x + x, p.y * 0.5)
        return p, Point(1, [p.x])

    check(run, (X,), (X[:0],))


class State(enum.Enum):
    IDLE = 0
    UP = 1
    DOWN = 2


class Machine:
    def __init__(self):
        self.state, self.peaks = State.IDLE, 0

    def feed(self, d):
        if self.state is State.IDLE:
            self.state = State.UP if d > 0 else State.DOWN
        elif self.state == State.UP and d < 0:
            self.state = State.DOWN
            self.peaks += 1
        elif self.state in (State.DOWN, State.IDLE) and d > 0:
            self.state = State.UP


def test_states_of_an_enumeration():
    def run(values):
        m = Machine()
        for k in range(1, len(values)):
            m.feed(values[k] - values[k - 1])
        return m.peaks, m.state, m.state is not State.IDLE, State.UP.value

    check(run, (np.sin(np.arange(30.0)),), (X[:1],), (X,))
