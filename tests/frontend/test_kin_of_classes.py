"""Classes that a trace has copies of: nobody sees these among the subclasses, the bases or the instances of others."""

import abc
import collections.abc
import typing

import numpy as np
import pytest

import jitrt


@typing.runtime_checkable
class HasShape(typing.Protocol):
    shape: tuple


@typing.runtime_checkable
class HasFit(typing.Protocol):
    def fit(self, x): ...


class Shaped(abc.ABC):  # noqa: B024
    @classmethod
    def __subclasshook__(cls, kind):
        return hasattr(kind, "area") or NotImplemented


class Even(type):
    def __instancecheck__(cls, value):
        return isinstance(value, (int, np.integer)) and value % 2 == 0


class EvenNumber(metaclass=Even):
    pass


class Layer:
    name = "layer"

    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k

    @classmethod
    def create(cls, name, k):
        return next(c for c in cls.__subclasses__() if c.name == name)(k)


class Dense(Layer):
    name = "dense"


class Bias(Layer):
    name = "bias"

    def __call__(self, x):
        return x + self.k


class Mixin:
    def go(self, x):
        return super().go(x) + 1


class Core:
    def go(self, x):
        return x


class Both(Mixin, Core):
    pass


def created(x):
    return Layer.create("dense", 2)(x) + Layer.create("bias", 1)(x), len(Layer.__subclasses__())


def made(x):
    for layer in [Dense(3), Bias(2), Layer(4)]:
        x = layer(x)
    return x, [c.__name__ for c in Layer.__subclasses__()]


def kin(x):
    return Both().go(x), Both.__mro__.index(Core), [c is Mixin for c in Both.__bases__], Both.__base__ is Mixin


def asked(x):
    kinds = (HasShape, HasFit, Shaped, EvenNumber, collections.abc.Iterable)
    return x * 2, [isinstance(x, kind) for kind in kinds]


def asked_in_loops(x):
    found = 0.0
    for k in range(4):
        found += isinstance(k, EvenNumber) + 10 * isinstance(x, HasShape) + 100 * isinstance(x, HasFit)
    return x * 2, found


def matched(x):
    match x:
        case HasShape():
            return x * 2
        case collections.abc.Sized():
            return x * 3
        case int() | float():
            return x * 4
    return x


VALUES = [2.0, 3, 4, np.float64(2), np.arange(3.0), np.array(2.0), np.int64(4)]


@pytest.mark.parametrize("function", [created, made, kin, asked, asked_in_loops, matched], ids=lambda f: f.__name__)
def test_answers_are_those_of_the_originals(function):
    fast = jitrt.jit(function)
    for x in VALUES * 3:
        want, got, after = function(x), fast(x), function(x)
        for found in (got, after):
            assert repr(found) == repr(want)


def test_matching_by_class_is_compiled():
    def function(x):
        match x:
            case np.ndarray():
                return x * 2
            case float():
                return x * 3

    fast, x = jitrt.jit(function), np.arange(1000.0)
    np.testing.assert_array_equal(fast(x), x * 2)
    assert fast(1.5) == 4.5 and fast.explain(x).compiled is not None
