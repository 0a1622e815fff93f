"""Code, defaults, functions of NumPy and builtins that somebody replaces are heeded by the next call."""

import builtins
import types

import numpy as np
import pytest

import jitrt

X = np.arange(5.0) + 1

SOURCE = """
import functools
import math
import numpy as np
from numpy import sin as sine

def helper(x, k=2.0, *, c=1.0):
    return x * k + c

def other(x, k=2.0, *, c=1.0):
    return x - k * c

class K:
    a = 3.0
    def method(self, x):
        return x * self.a
    @staticmethod
    def static(x):
        return x * 2
    @classmethod
    def of_class(cls, x):
        return x * 3
    @property
    def size(self):
        return self.a * 4

def another_method(self, x):
    return x + self.a

def make(scale):
    return lambda x: x * scale

closed = make(2.0)
unused = 0

part = functools.partial(helper, k=2.0)
part_of_array = functools.partial(helper, k=np.full(5, 2.0))

def calls_part(x): return part(x)
def calls_part_of_array(x): return part_of_array(x)
def calls_helper(x): return helper(x) + 1
def calls_method(x, k): return k.method(x)
def calls_static(x): return K.static(x)
def calls_class(x): return K.of_class(x)
def calls_property(x, k): return x * k.size
def calls_closed(x): return closed(x)
def calls_given(x, f): return f(x)
def calls_sin(x): return np.sin(x) * 2
def calls_sine(x): return sine(x) * 2
def calls_norm(x): return x / np.linalg.norm(x)
def calls_math(x): return x * math.sqrt(4.0)
def calls_abs(x): return abs(x) + 1
def calls_len(x): return x * len(x)
def loops(x):
    for k in range(3):
        x = x * k + 1
    return x
"""


class World:
    """A module with these functions, and what changes it."""

    def __init__(self):
        self.module = types.ModuleType("world")
        exec(SOURCE, vars(self.module))
        self.restored = []

    def replace(self, holder, name, value):
        self.restored.append((holder, name, vars(holder)[name]) if name in vars(holder) else (holder, name))
        setattr(holder, name, value)

    def restore(self):
        for holder, name, *before in reversed(self.restored):
            setattr(holder, name, *before) if before else delattr(holder, name)


def set_code(w):
    w.helper.__code__ = w.other.__code__


def set_defaults(w):
    w.helper.__defaults__ = (5.0,)


def set_keywords(w):
    w.helper.__kwdefaults__ = {"c": 7.0}


def change_keywords(w):
    w.helper.__kwdefaults__["c"] = 7.0


def set_method(w):
    w.K.method.__code__ = w.another_method.__code__


def set_static(w):
    w.K.static.__code__ = (lambda x: x - 1).__code__


def set_class(w):
    w.K.of_class.__func__.__code__ = (lambda cls, x: x - 1).__code__


def set_property(w):
    w.K.size.fget.__code__ = (lambda self: self.a - 4).__code__


def set_cell(w):
    w.closed.__closure__[0].cell_contents = 9.0


def set_own_code(w):
    w.calls_helper.__code__ = w.calls_sin.__code__


def set_keyword_of_part(w):
    w.part.keywords["k"] = 9.0


def write_keyword_of_part(w):
    w.part_of_array.keywords["k"][:] = 9.0


def set_array_of_part(w):
    w.part_of_array.keywords["k"] = np.arange(5.0)


def shadow_abs(w):
    w.abs = lambda x: x * 0 + 7


def shadow_abs_and_delete_another(w):
    del w.unused
    w.abs = lambda x: x * 0 + 7


def shadow_range(w):
    w.range = lambda n: [5, 6]


def shadow_len(w):
    w.len = lambda x: 11


def rebind_sine(w):
    w.sine = np.cos


# What changes the module of the functions alone, and calls of the functions that it changes.
CHANGES = [
    ("calls_helper", set_code), ("calls_helper", set_defaults), ("calls_helper", set_keywords),
    ("calls_helper", change_keywords), ("calls_helper", set_own_code), ("calls_method", set_method),
    ("calls_static", set_static), ("calls_class", set_class), ("calls_property", set_property),
    ("calls_closed", set_cell), ("calls_abs", shadow_abs), ("calls_abs", shadow_abs_and_delete_another),
    ("loops", shadow_range), ("calls_len", shadow_len),
    ("calls_sine", rebind_sine), ("calls_part", set_keyword_of_part), ("calls_part_of_array", write_keyword_of_part),
    ("calls_part_of_array", set_array_of_part), ("given_helper", set_code), ("given_helper", set_defaults),
    ("given_closed", set_cell),
]  # fmt: skip


def _close(one, other):
    return np.allclose(one, other, rtol=1e-14)  # elementary functions have their own last bits


def _call(world, name):
    more = {"calls_method": lambda: (world.K(),), "calls_property": lambda: (world.K(),)}
    given = {"given_helper": world.helper, "given_closed": world.closed}
    name, arguments = ("calls_given", (given[name],)) if name in given else (name, more.get(name, tuple)())
    return getattr(world, name), (X, *arguments)


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("calls", [1, 2, 20])
@pytest.mark.parametrize(("name", "change"), CHANGES, ids=lambda v: getattr(v, "__name__", v))
def test_replaced(name, change, calls):
    world = World().module
    function, arguments = _call(world, name)
    f = jitrt.jit(function)
    before = function(*arguments)
    for _ in range(calls):
        assert _close(f(*arguments), before)
    change(world)
    expected = function(*arguments)
    assert not _close(expected, before)
    for _ in range(calls):
        assert _close(f(*arguments), expected)


def _mine(x):
    return np.zeros_like(x) + 3


@pytest.mark.parametrize(
    ("name", "holder", "attribute", "value"),
    [
        ("calls_sin", np, "sin", np.cos), ("calls_sin", np, "sin", _mine), ("calls_norm", np.linalg, "norm", _mine),
        ("calls_math", __import__("math"), "sqrt", lambda x: 5.0), ("calls_abs", builtins, "abs", _mine),
    ],
)  # fmt: skip
def test_replaced_elsewhere(name, holder, attribute, value):
    world = World()
    function, arguments = _call(world.module, name)
    f = jitrt.jit(function)
    for _ in range(10):
        before = function(*arguments)
        assert _close(f(*arguments), before)
    try:
        world.replace(holder, attribute, value)
        found = [f(*arguments) for _ in range(10)]
        expected = function(*arguments)
    finally:
        world.restore()
    assert not _close(expected, before)
    assert all(_close(value, expected) for value in found)
    assert all(_close(f(*arguments), before) for _ in range(10))


def test_new_names_in_the_module_do_not_make_calls_slow():
    world = World().module
    f = jitrt.jit(world.calls_abs)
    for k in range(300):
        f(X)
        f(X)
        if k % 10 == 0:
            setattr(world, f"name{k}", k)
    assert f.cache_info().compiled == 1 and f.cache_info().slow_calls < 40


def test_a_namespace_is_what_numpy_is_now(monkeypatch):
    x = np.arange(3.0)

    def by_namespace(x):
        return x.__array_namespace__().sin(x) + 1

    with monkeypatch.context() as replaced:
        replaced.setattr(np, "sin", np.cos)
        np.testing.assert_allclose(jitrt.jit(lambda x: np.sin(x) * 2)(x), np.cos(x) * 2)
        np.testing.assert_allclose(jitrt.jit(by_namespace)(x), np.cos(x) + 1)
    np.testing.assert_allclose(jitrt.jit(by_namespace)(x), np.sin(x) + 1)
