"""Objects that attributes of classes hold are read and written as other objects are."""

import numpy as np
import pytest

import jitrt

X = np.arange(400) * 0.5


class Plain:
    def __init__(self, a):
        self.a = a


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Holder:
    o = None

    def method(self, x):
        o = self.o
        o.a += 1
        return x * o.a

    @classmethod
    def of_class(cls, x):
        o = cls.o
        o.a += 1
        return x * o.a


class Derived(Holder):
    pass


def reads(x):
    return x * Holder.o.a


def reads_a_name(x):
    o = Holder.o
    return x * o.a


def asks(x):
    o = Holder.o
    return x * (o.a if hasattr(o, "a") else 1)


def gets(x):
    return x * getattr(getattr(Holder, "o"), "a")  # noqa: B009


def matches(x):
    match Holder.o:
        case Plain(a=a) | Slotted(a=a):
            return x + a
    return x


def reads_inherited(x):
    return x * Derived.o.a


def reads_in_loop(x):
    s = 0.0
    for v in x:
        s += v * Holder.o.a
    return s


def counts(x):
    o = Holder.o
    o.a += 1
    return x * o.a


def counts_in_loop(x):
    o = Holder.o
    for v in x:
        o.a = o.a + v
    return x


def writes(x):
    o = Holder.o
    o.a = x * 2
    return x


def counts_in_method(x):
    return Holder().method(x)


def counts_in_class_method(x):
    return Derived.of_class(x)


FUNCTIONS = (
    reads, reads_a_name, asks, gets, matches, reads_inherited, reads_in_loop, counts, counts_in_loop, writes,
    counts_in_method, counts_in_class_method,
)  # fmt: skip


@pytest.mark.parametrize("kind", [Plain, Slotted])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_an_object_in_a_class_holds(function, kind, monkeypatch):
    def run(call):
        found = []
        for a in (1.0, 1.0, 1.0, 5.0, 2):
            if a != 1.0 or not found:  # in place of what the last calls have left
                monkeypatch.setattr(Holder, "o", kind(a))
            found += [(call(X), Holder.o.a) for _ in range(3)]
            Holder.o.a = 7.0
            found += [(call(X), Holder.o.a) for _ in range(2)]
        return found

    want, got = run(function), run(jitrt.jit(function))
    for w, g in zip(want, got):
        for one, other in zip(w, g):
            assert type(one) is type(other)
            np.testing.assert_array_equal(one, other)
