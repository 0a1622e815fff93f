"""Operators of arrays and objects of other classes: NumPy leaves few of them to the object (NEP 13)."""

import fractions
import operator

import numpy as np
import pytest

import jitrt

X = np.array([1.0, 2.0, 4.0])


class Plain:
    """Knows arrays, and says nothing of it."""

    def __init__(self, factor):
        self.factor = factor

    def _of(self, other):
        return ("made of", type(other).__name__, other)

    __mul__ = __rmul__ = __radd__ = __gt__ = __lt__ = _of


class Asked(Plain):
    __array_ufunc__ = None


class Important(Plain):
    __array_priority__ = 1.0


class Unimportant(Plain):
    __array_priority__ = -1.0


class Ufuncs(Plain):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ("ufunc", ufunc.__name__, method)


class Without:
    pass


OPERANDS = {
    "array": lambda x: x,
    "scalar": lambda x: x[1],
    "sum": lambda x: x.sum(),
    "whole": lambda x: x.astype(int).sum(),
    "number": lambda x: float(x[1]),
}


def outcome(function, *args):
    try:
        return repr(function(*args))
    except TypeError as error:
        return repr(error)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("kind", [Plain, Asked, Important, Unimportant, Ufuncs, Without, fractions.Fraction])
@pytest.mark.parametrize("operation", ["mul", "add", "lt", "imul"])
@pytest.mark.parametrize("of", OPERANDS)
def test_operators(kind, operation, of):
    apply, operand = getattr(operator, operation), OPERANDS[of]
    given = kind() if kind is Without else kind(3)
    for function in (lambda x: apply(operand(x) * 2, given), lambda x: apply(given, operand(x) * 2)):
        compiled = jitrt.jit(function)
        for _ in range(3):
            assert outcome(compiled, X) == outcome(function, X)


class Measured:
    def __init__(self, value):
        self.value, self.asked = value, 0

    def __float__(self):
        self.asked += 1
        return self.value


def as_float(x):
    return float(Measured(float(x.sum() * 2))) + 1


def as_scalar(x):
    with np.errstate(all="ignore"):
        return float(Measured(float(x[1]) ** 2)) * x


def asked_once(x):
    measured = Measured(float(x.sum()))
    y = float(measured) * x
    return y, measured.asked


def as_array(x):
    return float(Measured(x))


@pytest.mark.parametrize("function", [as_float, as_scalar, asked_once, as_array])
def test_objects_that_give_floats(function):
    compiled = jitrt.jit(function)
    for k in range(4):
        assert outcome(compiled, X + k) == outcome(function, X + k)
    assert function is as_array or compiled.cache_info().compiled


def test_reshapes_to_nothing():
    compiled = jitrt.jit(lambda x: x.reshape())
    for x in (X, X[:1], X[0]):
        for _ in range(3):
            assert outcome(compiled, x) == "TypeError('reshape() takes exactly 1 argument (0 given)')"
