"""The native entry stores what a function sets in objects, dicts and lists, when nothing can fail any more."""

import copy
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest
from entry_calls import Watched, needs_versions, x

pytestmark = needs_versions


@dataclass
class Body:
    x: np.ndarray = field(default_factory=x.copy)
    v: np.ndarray = field(default_factory=lambda: x + 1)
    t: float = 0.0
    n: int = 0
    history: list = field(default_factory=list)
    parts: list = field(default_factory=lambda: [x + 2, 1.0])
    named: dict = field(default_factory=lambda: {"a": x + 3, "b": 2.0})


def assert_equal(ours, theirs):
    """What both hold is the same."""
    assert type(ours) is type(theirs)
    if isinstance(ours, Body):
        ours, theirs = vars(ours), vars(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert_equal(one, other)
    else:
        np.testing.assert_array_equal(ours, theirs)


def step(o, dt):
    o.x = o.x + o.v * dt
    o.t += dt


def swap(o, dt):
    o.x, o.v = o.v, o.x


def keep_before(o, dt):
    o.v = o.x
    o.x = o.x * dt


def both_the_same(o, dt):
    o.x = o.v = o.v * dt
    return o.x


def in_place_and_new(o, dt):
    o.x += dt
    o.v = o.x * 2.0


def replace_items(o, dt):
    o.parts[0] = o.parts[0] * dt
    o.parts[1] = o.parts[1] + 1.0


def set_items(o, dt):
    o.named["a"] = o.named["a"] * o.named["b"]
    o.named["b"] = dt


def add_attribute(o, dt):
    o.energy = o.v * o.v * dt
    return o.energy * 2.0


def append(o, dt):
    o.history.append(o.x * dt)


def grow(o, dt):
    o.history.append(o.x.sum())
    o.history.extend([o.x * dt, o.t + dt])
    o.x = o.x + 1.0


def chained(o, dt):
    o.x = o.x * dt
    return o


def several(o, dt):
    o.x = o.x * dt
    return o, o.v * dt, o.named, 7, o.x


def scalars(o, dt):
    o.t = o.x.sum()
    o.n = None
    o.kind = "heated"


def of_shapes(o, dt):
    o.x = o.x[:3] * 1.0 if o.x.shape == (6,) else np.concatenate((o.x, o.x))


@pytest.mark.parametrize(
    "function",
    [
        step, swap, keep_before, both_the_same, in_place_and_new, replace_items, set_items, add_attribute, append, grow,
        chained, several, scalars, of_shapes,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_is_stored(function):
    made = Watched(function)
    ours, theirs = Body(), Body()
    for k in range(12):
        got, want = made(ours, 0.5 + k), function(theirs, 0.5 + k)
        assert_equal(got, want)
        assert_equal(ours, theirs)
        if want is theirs or isinstance(want, tuple):
            assert (got if want is theirs else got[0]) is ours
    assert made.missed <= 4
    fresh, other = Body(), Body()
    for _ in range(3):
        made(fresh, 2.0), function(other, 2.0)
        assert_equal(fresh, other)


def test_counters_become_inputs():
    def count(o, dt):
        o.n += 1
        o.x = o.x * o.n + dt

    made = Watched(count)
    ours, theirs = Body(), Body()
    for _ in range(50):
        made(ours, 0.5), count(theirs, 0.5)
    assert_equal(ours, theirs)
    assert type(ours.n) is int
    assert made.missed < 10


def test_what_was_stored_is_the_callers():
    made = Watched(step)
    body = Body()
    for _ in range(4):
        made(body, 0.5)
    before, content = body.x, body.x.copy()
    assert before.flags.owndata and before.flags.writeable
    made(body, 0.5)
    np.testing.assert_array_equal(before, content)
    assert body.x is not before


def test_one_array_in_two_attributes():
    for function in (step, swap, keep_before, in_place_and_new):
        made = Watched(function)
        for shared in (False, True, False, True, False):
            ours, theirs = Body(), Body()
            if shared:
                ours.v, theirs.v = ours.x, theirs.x
            for _ in range(3):
                made(ours, 0.5), function(theirs, 0.5)
                assert_equal(ours, theirs)
                assert (ours.x is ours.v) == (theirs.x is theirs.v)


def test_nothing_is_stored_by_a_call_that_raises():
    def divide(o, dt):
        o.t = dt
        o.x = o.x / dt
        o.history.append(dt)

    made = Watched(divide)
    body = Body(x=x + 1)
    for dt in (np.float64(2.0), np.float64(3.0), np.float64(4.0)):
        made(body, dt)
    ours, theirs = copy.deepcopy(body), copy.deepcopy(body)
    made(body, np.float64(5.0))  # copying has noted something in the class
    missed = made.missed
    for function, o in ((made, ours), (divide, theirs)):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            function(o, np.float64(0.0))
    assert_equal(ours, theirs)
    assert made.missed == missed
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        made(ours, np.float64(0.0))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        divide(theirs, np.float64(0.0))
    assert_equal(ours, theirs)


class Loud:
    """Something whose end runs Python code."""

    ended = 0

    def __init__(self, end):
        self.end = end

    def __del__(self):
        type(self).ended += 1
        self.end()


def test_the_end_of_what_was_stored_before_may_do_anything():
    made = Watched(keep_before)
    for _ in range(3):
        made(Body(), 2.0)
    body = Body()
    held = Loud(lambda: (vars(body).clear(), made(Body(), 3.0), gc.collect()))
    body.v = np.frombuffer(bytearray(48), dtype=np.float64)
    base = np.ndarray.__new__(type("Owner", (np.ndarray,), {}), 6)
    base[...] = 1.0
    base.held = held
    body.v = np.asarray(base)
    del base, held
    before = Loud.ended
    made(body, 2.0)
    gc.collect()
    assert Loud.ended == before + 1


def test_no_reference_is_lost_or_kept():
    made = Watched(grow)
    body = Body()
    for _ in range(4):
        made(body, 0.5)
        body.history.clear()
    watched = [body, vars(body), body.v, body.history, body.named, "x", "history"]
    gc.collect()
    before = [sys.getrefcount(v) for v in watched], sys.getallocatedblocks()
    for _ in range(20_000):
        made(body, 0.5)
        body.history.clear()
    gc.collect()
    assert [sys.getrefcount(v) for v in watched] == before[0]
    assert abs(sys.getallocatedblocks() - before[1]) < 1000


def test_threads_that_step_one_body():
    big = np.ones(150_000)
    made = Watched(step)
    bodies = [Body(big.copy(), big * k) for k in range(3)]

    def work(k):
        body = bodies[k % 3]
        made(body, 1.0)
        return np.unique(body.x).size

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(300))) == {1}


def test_stores_that_python_makes():
    def delete(o, dt):
        del o.t
        o.x = o.x * dt

    def nest(o, dt):
        o.pair = (o.x * dt, [o.v])

    def view(o, dt):
        o.x = o.v[::2]

    for function in (delete, nest, view):
        made = Watched(function)
        for _ in range(5):
            ours, theirs = Body(), Body()
            made(ours, 2.0), function(theirs, 2.0)
            assert_equal(ours, theirs)
