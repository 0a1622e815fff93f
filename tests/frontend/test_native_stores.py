"""Calls that change objects and dicts given as arguments: native code assigns what the procedure gives."""

import copy

import numpy as np
import pytest
from object_checks import outcome

import jitrt


class Walker:
    def __init__(self, n):
        self.x = np.linspace(0.5, 1.5, n)
        self.t, self.count, self.name, self.last = 0.0, 0, "w", np.float64(2.0)
        self.is_far = False


class Slotted:
    __slots__ = ("count", "t", "x")

    def __init__(self, n):
        self.x, self.t, self.count = np.linspace(0.5, 1.5, n), 0.0, 0


class Pair:
    def __init__(self, n):
        self.left, self.right, self.t = Walker(n), Slotted(n), 0.0


def stepped(w, dt):
    for i in range(len(w.x)):
        w.x[i] += dt * i
        w.t += w.x[i]
    w.count += 1
    return w.t


def with_new_attributes(w, dt):
    w.total = 0.0
    for i in range(len(w.x)):
        w.total += w.x[i]
    w.where = int(w.total) + 1
    w.last, w.is_far = w.x[0] * dt, w.total > 3


def on_some_ways(w, dt):
    for i in range(len(w.x)):
        if w.x[i] > dt:
            w.count = i
            return i
        w.t += w.x[i]
    w.last = w.x[-1]
    return w.x


def with_new_arrays(w, dt):
    made = np.zeros(len(w.x))
    for i in range(len(w.x)):
        made[i] = w.x[i] * dt
    w.x, w.before = made, made[0]
    return w.count


def of_a_dict(d, dt):
    for i in range(len(d["x"])):
        d["t"] += d["x"][i] * dt
        d["n"] += 1
    return d["n"]


def of_parts(p, dt):
    for i in range(len(p.left.x)):
        p.left.t += p.right.x[i] * dt
        p.right.t += p.left.x[i]
        p.right.count += 1
    p.t = p.left.t + p.right.t
    return p.t


def of_two(a, b):
    for i in range(len(a.x)):
        a.t += b.x[i]
        b.t += a.t
    return a.t


def beyond_the_end(w, n):
    for i in range(n):
        w.count += 1
        w.t += w.x[i]
    return w.t


PARAMETERS = {"x": np.arange(5.0), "t": 0.0, "n": 3}
CASES = [
    (stepped, Walker, 0.25), (stepped, Slotted, 0.5), (with_new_attributes, Walker, 0.5),
    (on_some_ways, Walker, 1.1), (on_some_ways, Walker, 9.0), (with_new_arrays, Walker, 0.5),
    (of_a_dict, lambda n: dict(PARAMETERS, x=np.arange(float(n))), 0.5), (of_parts, Pair, 0.5),
    (beyond_the_end, Walker, 5),
]  # fmt: skip


def tables(compiled):
    return [loop.table for loops in compiled._loops._loops.values() for loop in loops if loop.table is not None]


@pytest.mark.parametrize("function, make, value", CASES)
def test_calls_in_a_row(function, make, value):
    """The same object goes through many calls, and others of other sizes in between."""
    compiled = jitrt.jit(function)
    got, want = make(5), make(5)
    for k in range(8):
        assert outcome(compiled, (got, value)) == outcome(function, (want, value))
        assert outcome(compiled, (make(k + 5), value)) == outcome(function, (make(k + 5), value))
    assert tables(compiled)


def test_values_of_other_kinds():
    compiled, w, v = jitrt.jit(stepped), Walker(4), Walker(4)
    for _ in range(3):
        compiled(w, 0.5), stepped(v, 0.5)
    for t in (0, np.float32(1.5), np.float64(0.5), True, 2**62, 1.0, "a"):
        w.t = v.t = t
        for _ in range(3):
            assert outcome(compiled, (w, 0.5)) == outcome(stepped, (v, 0.5))


def test_one_object_under_two_names():
    compiled = jitrt.jit(of_two)
    for _ in range(3):
        a, b = (Walker(5), Walker(5)), (Walker(5), Walker(5))
        assert outcome(compiled, a) == outcome(of_two, b)
    for _ in range(3):
        a, b = Walker(5), Walker(5)
        assert outcome(compiled, (a, a)) == outcome(of_two, (b, b))


def test_a_procedure_that_stops_has_stored_nothing_of_its_own():
    compiled = jitrt.jit(beyond_the_end)
    for n in (3, 3, 3, 9, 3, 9, 9, 3):
        got, want = Walker(5), Walker(5)
        assert outcome(compiled, (got, n)) == outcome(beyond_the_end, (want, n))


def test_classes_that_change():
    """A method that assigns attributes in its own way is noticed."""

    class Other(Walker):
        pass

    compiled, w = jitrt.jit(stepped), Other(4)
    for _ in range(3):
        compiled(w, 0.5)
    seen = []

    def assign(self, name, value):
        seen.append(name)
        object.__setattr__(self, name, value)

    Other.__setattr__ = assign
    compiled(w, 0.5)
    assert seen == ["t"] * 4 + ["count"]


def test_a_write_that_is_refused():
    compiled = jitrt.jit(stepped)
    for _ in range(3):
        w, v = Walker(4), Walker(4)
        outcome(compiled, (w, 0.5))
        w, v = copy.deepcopy(w), copy.deepcopy(w)
        w.x.flags.writeable = v.x.flags.writeable = False
        assert outcome(compiled, (w, 0.5)) == outcome(stepped, (v, 0.5))
