"""What code may ask while it is traced: classes, types and constants of others cost no compile."""

import collections.abc
import datetime
import decimal
import enum
import functools
import math
import numbers
import pathlib
import re
import types
import typing

import numpy as np
import pytest

import jitrt

X = np.linspace(0.5, 2, 50)


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Registry:
    """A class with state, which code may ask about, and not make objects of."""

    made: typing.ClassVar[list] = []

    def __new__(cls, *args):
        cls.made.append(args)
        return super().__new__(cls)


class Loud(type):
    def __call__(cls, *args):
        Registry.made.append(args)
        return super().__call__(*args)


class Meta(metaclass=Loud):
    pass


MODE = Mode.FAST
WHEN = datetime.datetime(2020, 1, 1)
PATTERN = re.compile("a.c")
NAMES = frozenset({"a", "b"})
FOLDER = pathlib.Path("here")
PRICE = decimal.Decimal("1.5")


def asks_for_classes(x, y=2.0):
    if isinstance(x, (Registry, Meta, list)) or issubclass(type(x), Registry):
        return None
    if isinstance(y, numbers.Number) and isinstance(x, collections.abc.Sized) and not isinstance(y, numbers.Integral):
        x = x * 2
    return x + y if type(x) is not Registry else None


def asks_for_unions(x, y=2.0):
    return x * 2 if isinstance(y, int | float) and isinstance(x, (np.ndarray, Registry)) else None


def asks_for_members(x):
    if MODE is Mode.FAST and MODE != Mode.SLOW and Level.HIGH.value == 5 and Mode.SLOW.name == "SLOW":
        x = x + 1
    return x * (2 if MODE == Mode.FAST else 3)


def asks_for_limits(x):
    return x + np.finfo(x.dtype).eps + np.finfo(np.float32).tiny + np.iinfo(np.int16).max


def asks_for_constants(x):
    if WHEN.year == 2020 and PATTERN.pattern == "a.c" and "a" in NAMES and FOLDER.name == "here" and PRICE > 1:
        return x * 2 + 1
    return x


def asks_what_can_be_called(x):
    double = functools.partial(np.multiply, 2.0)
    return double(x) + 1 if callable(double) and not hasattr(x, "loc") and getattr(x, "iloc", None) is None else x


ASKING = [
    asks_for_classes, asks_for_unions, asks_for_members, asks_for_limits, asks_for_constants, asks_what_can_be_called,
]  # fmt: skip


@pytest.mark.parametrize("function", ASKING)
def test_asking_is_free(function):
    fast = jitrt.jit(function)
    Registry.made.clear()
    for x in (X, X[::2], X.astype(np.float32)):
        np.testing.assert_array_equal(fast(x), function(x))
        assert fast(x).dtype == function(x).dtype
    assert not fast.explain(X).plain_reason
    assert not Registry.made


def makes(x):
    if x[0] > 0:
        Registry(len(x))
    return x * 2


def makes_by_another_name(x, kind=Meta):
    kind()
    return x * 2


@pytest.mark.parametrize("function", [makes, makes_by_another_name])
def test_objects_with_effects_are_made_by_the_plain_function(function):
    fast = jitrt.jit(function)
    Registry.made.clear()
    for number in range(1, 4):
        np.testing.assert_array_equal(fast(X), X * 2)
        assert len(Registry.made) == number


def test_a_rebound_constant_is_heeded():
    global MODE
    fast = jitrt.jit(asks_for_members)
    try:
        for mode in (Mode.FAST, Mode.SLOW, Mode.FAST):
            MODE = mode
            for _ in range(2):
                np.testing.assert_array_equal(fast(X), asks_for_members(X))
    finally:
        MODE = Mode.FAST


class Rooted:
    pass


class Plain:
    pass


class Registered(Rooted):
    made: typing.ClassVar[list] = []

    def __new__(cls):
        cls.made.append(cls)
        return super().__new__(cls)


MODULE, FUNCTION = types.ModuleType, types.FunctionType
OF_MODULES = {
    "type": lambda x: x * (type(math) is types.ModuleType),
    "type by another name": lambda x: x * (type(math) is MODULE),
    "class": lambda x: x * (math.__class__ is MODULE),
    "class and type": lambda x: x * (math.__class__ is type(math)),
    "name of the class": lambda x: x * len(math.__class__.__name__),
    "name of the type": lambda x: x * len(type(math).__name__),
    "text": lambda x: x * len(math.__doc__),
    "name": lambda x: x * len(math.__name__),
    "missing": lambda x: x * getattr(math, "missing", 3.0) * (1 + hasattr(math, "__path__")),
    "in a loop": lambda x: sum(v * len(math.__class__.__name__) for v in x),
}
OF_CLASSES = {
    "by two names": lambda x: x * (FUNCTION is types.FunctionType),
    "by two names of the module": lambda x: x * (types.LambdaType is types.FunctionType),
    "of a function": lambda x: x * (types.BuiltinFunctionType is type(len)),
    "of a local function": lambda x: x * (type(lambda: 0) is types.FunctionType),
    "class of a function": lambda x: x * (types.BuiltinFunctionType is len.__class__),
    "another": lambda x: x * (1 + (type(len) is types.FunctionType)),
    "of a class": lambda x: x * (type(Registry) is type),
    "of a plain class": lambda x: x * (type(int) is type),
    "text": lambda x: x * len(types.FunctionType.__doc__),
    "bases": lambda x: x * issubclass(Registered, Rooted) * (1 + issubclass(Registered, int | Plain)),
    "bases among others": lambda x: x * issubclass(Registered, (int, Rooted)) + issubclass(Registered, Registered),
    "no bases": lambda x: x * (1 + issubclass(Rooted, Registered)),
}


@pytest.mark.parametrize("function", [*OF_MODULES.values(), *OF_CLASSES.values()], ids=[*OF_MODULES, *OF_CLASSES])
def test_modules_and_classes_are_what_they_are_in_python(function):
    """Views of modules told of themselves, and what stands for a class was not the class that `type` gave."""
    fast = jitrt.jit(function)
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), function(X))


@typing.runtime_checkable
class Rounded(typing.Protocol):
    def __round__(self, digits: int = 0): ...


def asks_for_methods(x, y):
    kinds = (collections.abc.Iterable, collections.abc.Hashable, collections.abc.Reversible, collections.abc.Callable)
    found = [isinstance(v, kind) for v in (x, y, x * y) for kind in (*kinds, typing.SupportsIndex, Rounded)]
    return x * 2 if isinstance(y, (str, collections.abc.Container)) else x * 3, found


@pytest.mark.parametrize("y", [2.0, 2, np.float64(2), np.int32(2), np.arange(3.0), np.array(2.0)], ids=repr)
def test_what_is_traced_has_the_methods_of_its_value(y):
    fast, x = jitrt.jit(asks_for_methods), np.arange(3.0)
    for _ in range(4):
        got, want = fast(x, y), asks_for_methods(x, y)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1] == want[1]
