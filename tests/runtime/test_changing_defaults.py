"""What defaults of a function with loops hold is what it is at the call."""

import linecache

import numpy as np
import pytest

import jitrt

X = np.arange(400) * 0.5 - 1


class Base:
    k = 2.0


class Item(Base):
    def __init__(self):
        self.a = 1.0


class Slotted(Base):
    __slots__ = ("a",)

    def __init__(self):
        self.a = 1.0


def of_part(default, part, keyword=False):
    """A function with a loop that reads a part of a default."""
    space = {"held": default}
    source = (
        f"def function(x, {'*, ' if keyword else ''}held=held):\n"
        f"    s = 0.0\n    for i in range(len(x)):\n        s += x[i] * {part}\n    return s\n"
    )
    name = f"<{part}, {keyword}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)
    return space["function"]


def put(key, value):
    return lambda held: held.__setitem__(key, value)


def assign(name, value):
    return lambda held: setattr(held, name, value)


CHANGES = {
    "number of list": (lambda: [1.0], "held[0]", put(0, 5.0)),
    "kind of number of list": (lambda: [1.0], "held[0]", put(0, 3)),
    "length of list": (lambda: [1.0], "len(held)", lambda held: held.append(2.0)),
    "array in list": (lambda: [X], "held[0][3]", put(0, X + 1)),
    "list in list": (lambda: [[1.0]], "held[0][0]", lambda held: held[0].__setitem__(0, 5.0)),
    "value of dict": (lambda: {"n": 1.0}, "held['n']", put("n", 5.0)),
    "array in place of number": (lambda: {"n": 1.0}, "held['n']", put("n", X)),
    "attribute": (Item, "held.a", assign("a", 5.0)),
    "kind of attribute": (Item, "held.a", assign("a", 3)),
    "array as attribute": (Item, "held.a", assign("a", X)),
    "attribute that hides that of the class": (Item, "held.k", assign("k", 7.0)),
    "slot": (Slotted, "held.a", assign("a", 5.0)),
    "object in tuple": (lambda: (Item(),), "held[0].a", lambda held: setattr(held[0], "a", 5.0)),
    "object in list": (lambda: [Item()], "held[0].a", put(0, Base())),
    "element of array": (lambda: np.ones(3), "held[1]", put(1, 5.0)),
    "shape of array": (lambda: np.ones(6), "len(held)", lambda held: held.resize((2, 3), refcheck=False)),
}


@pytest.mark.parametrize("calls", [1, 2, 3, 5])
@pytest.mark.parametrize("keyword", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_what_a_default_holds_is_changed(name, keyword, calls):
    make, part, change = CHANGES[name]
    held = make()
    plain = of_part(held, part, keyword)
    fast = jitrt.jit(plain)
    for _ in range(calls):
        assert fast(X) == plain(X)
    change(held)
    for _ in range(3):
        assert outcome(fast) == outcome(plain)


def outcome(function):
    try:
        return str(function(X))
    except (AttributeError, TypeError) as error:
        return repr(error)


@pytest.mark.parametrize("calls", [1, 3, 5])
def test_what_a_loop_writes_into_a_default(calls):
    def plain(x, total=[0.0]):  # noqa: B006
        for i in range(len(x)):
            total[0] += x[i]
        return total[0]

    fast = jitrt.jit(plain)
    for k in range(calls):
        assert fast(X) == X.sum() * (k + 1)
    plain.__defaults__[0][0] = 0.0
    assert fast(X) == X.sum() == plain.__defaults__[0][0]


@pytest.mark.parametrize("name", ["number of list", "value of dict", "attribute", "element of array"])
def test_calls_with_defaults_are_native(name):
    make, part, change = CHANGES[name]
    held = make()
    plain = of_part(held, part)
    fast = jitrt.jit(plain)
    for _ in range(5):
        fast(X)
    slow = fast.cache_info().slow_calls
    change(held)
    assert fast(X) == plain(X)
    assert fast.cache_info().slow_calls == slow
