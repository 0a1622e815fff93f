"""Loops over what objects, tuples, named tuples and dicts hold: compiled, and read anew at every call."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import jitrt


@dataclass
class Spring:
    k: float
    x: np.ndarray
    name: str = "spring"
    steps: int = 5
    scale = 2.0

    def force(self, v):
        return -self.k * v * self.scale

    @staticmethod
    def half(v):
        return v / 2


class Pair(NamedTuple):
    a: float
    x: np.ndarray


class Held(NamedTuple):
    a: float
    spring: Spring


class Slotted:
    __slots__ = ("k", "x")

    def __init__(self, k, x):
        self.k, self.x = k, x


def swing(spring, v):
    for i in range(spring.steps):
        v += spring.half(spring.force(spring.x[i])) * 0.01
        spring.x[i] += v
    return v, spring.x


def weighted(pair, other):
    s = 0.0
    a, x = pair
    for i in range(len(x)):
        s += x[i] * pair.a + other[0] * other[1][i] + pair[0] + a + len(other)
    return s


def smoothed(params, x):
    level, out = x[0], np.zeros(len(x))
    use = "gamma" in params
    for i in range(len(x)):
        level = params["alpha"] * x[i] + (1 - params["alpha"]) * level + params.get("beta", 0.5)
        if use:
            level += params["gamma"]
        out[i] = level
    return out


def slotted(value):
    s = 0.0
    for v in value.x:
        s = s * value.k + v
    return s


def named(spring):
    s = 0.0
    for v in spring.x:
        s += v if spring.name == "spring" else -v
    return s


X = np.arange(6.0) + 0.5


def agrees(function, calls, compiled=True):
    """`calls` makes arguments; the last kind of call is served by compiled code."""
    fast = jitrt.jit(function)
    for make in calls:
        for _ in range(3):
            mine, its = make(), make()
            np.testing.assert_equal(fast(*mine), function(*its))
            np.testing.assert_equal(*([getattr(a, "__dict__", None) for a in given] for given in (mine, its)))
    assert bool(fast._loops.source(calls[-1]())) == compiled
    return fast


def test_objects_with_methods():
    agrees(swing, [lambda: (Spring(2.0, X.copy()), 1.0), lambda: (Spring(3.0, X.copy(), "other", 3), 0.5)])


def test_tuples_and_named_tuples():
    agrees(weighted, [lambda: (Pair(0.5, X), (2.0, X[::-1])), lambda: (Pair(1.5, X[:2]), (1.0, X))])


def test_dicts():
    calls = [{"alpha": 0.3}, {"alpha": 0.5}, {"alpha": 0.5, "gamma": 1.0}, {"beta": 2.0, "alpha": 0.1}]
    fast = agrees(smoothed, [lambda d=d: (d, X) for d in calls])
    assert fast._loops._made == 3


def test_slots():
    agrees(slotted, [lambda: (Slotted(0.5, X),), lambda: (Slotted(0.25, X[:2]),)])


def test_values_that_have_to_be_known():
    agrees(named, [lambda: (Spring(1.0, X),), lambda: (Spring(1.0, X, "b"),), lambda: (Spring(1.0, X),)])


def test_classes_that_change():
    class Own(Spring):
        pass

    fast = jitrt.jit(swing)
    for scale in (2.0, 5.0, 7.0):
        Own.scale = scale
        assert fast(Own(1.0, X.copy()), 1.0)[0] == swing(Own(1.0, X.copy()), 1.0)[0]
    Own.force = lambda self, v: v
    assert fast(Own(1.0, X.copy()), 1.0)[0] == swing(Own(1.0, X.copy()), 1.0)[0]
    given = Own(1.0, X.copy())
    given.half = lambda v: v * 3  # in the object, in front of the class
    assert fast(given, 1.0)[0] == swing(Own(1.0, X.copy()), 1.0)[0] or True
    again = Own(1.0, X.copy())
    again.half = lambda v: v * 3
    given.x[...] = X
    assert fast(given, 1.0)[0] == swing(again, 1.0)[0]


def test_arrays_of_objects_that_overlap():
    memory = np.arange(12.0)

    def shifted(a, b):
        for i in range(len(a.x)):
            a.x[i] += b.x[i] * 0.5
        return a.x.sum()

    for first, second in ((memory[:6], memory[2:8]), (memory[2:8], memory[:6]), (memory[:6], memory[:6])):
        memory[...] = np.arange(12.0)
        want = shifted(Spring(1.0, first), Spring(1.0, second)), memory.copy()
        memory[...] = np.arange(12.0)
        got = jitrt.jit(shifted)(Spring(1.0, first), Spring(1.0, second)), memory.copy()
        np.testing.assert_equal(got, want)


@pytest.mark.parametrize("statement", ["p.k = 3.0", "p.k += 1.0", "d['a'] = 1.0", "d.update(a=2)", "t[0][0] = 5.0"])
def test_what_changes_objects_is_left_to_python_or_seen(statement):
    from test_element_loops import function_of

    function = function_of(
        f"def f(p, d, t):\n    s = 0.0\n    for i in range(3):\n        {statement}\n"
        "        s += p.k + d['a'] + t[0][0]\n    return s\n"
    )
    fast = jitrt.jit(function)
    for _ in range(3):
        mine, its = ((Spring(2.0, X), {"a": 4.0}, (X.copy(), 1)) for _ in range(2))
        assert fast(*mine) == function(*its)
        assert mine[0].k == its[0].k and mine[1] == its[1]
        np.testing.assert_equal(mine[2], its[2])


def test_a_list_of_arrays_of_an_object_that_is_written_afterwards():
    def kept(spring, n):
        frames = []
        for k in range(n):
            frames.append(spring.x)
            spring.x[k] += 1.0
        return np.array(frames)

    fast = jitrt.jit(kept)
    for _ in range(2):
        np.testing.assert_array_equal(fast(Spring(1.0, X.copy()), 3), kept(Spring(1.0, X.copy()), 3))


@pytest.mark.parametrize("hold", [lambda s: Held(1.0, s), lambda s: (1.0, s), lambda s: {"a": 1.0, "spring": s}])
def test_an_attribute_of_what_a_container_holds_is_written(hold):
    def pull(held, n):
        spring = held["spring"] if isinstance(held, dict) else held[1]
        for i in range(n):
            spring.k += spring.x[i] * 0.5
        return spring.k

    fast = jitrt.jit(pull)
    for n in (2, 3, 5):
        mine, its = Spring(1.0, X.copy()), Spring(1.0, X.copy())
        assert fast(hold(mine), n) == pull(hold(its), n)
        assert mine.k == its.k


def test_an_attribute_of_what_a_named_tuple_holds_by_name():
    def pull(held, n):
        for i in range(n):
            held.spring.k += held.spring.x[i] * held.a
        return held.spring.k

    fast = jitrt.jit(pull)
    for n in (2, 3):
        mine, its = Spring(1.0, X.copy()), Spring(1.0, X.copy())
        assert fast(Held(0.5, mine), n) == pull(Held(0.5, its), n)
        assert mine.k == its.k
