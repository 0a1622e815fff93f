"""What functions store in their arguments, objects, dicts and lists, is there after every call."""

import copy
import functools
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import jitrt
from jitrt.values.growing import Growing
from jitrt.values.kinds import flatten, flatten_call, rebuild

SIZE = 2000


def numbers(seed=0):
    return np.random.default_rng(seed).normal(size=SIZE)


class Heat:
    created = 0

    def __init__(self, u):
        self.u = u
        self.t = 0.0
        self.energies = []

    def rate(self):
        out = np.zeros(self.u.shape)
        out[1:-1] = self.u[2:] - 2 * self.u[1:-1] + self.u[:-2]
        return out

    @property
    def energy(self):
        return (self.u**2).sum()

    @functools.cached_property
    def largest(self):
        return np.abs(self.u).max()

    def step(self, dt):
        self.u = self.u + dt * self.rate()
        self.t += dt

    def swap(self, dt):
        self.u, self.old = self.u + dt * np.roll(self.u, 1), self.u
        return self.old

    def leapfrog(self, dt):
        self.u[1:-1] += dt * self.rate()[1:-1]
        self.view = self.u[::2]
        return self

    def run(self, steps, dt):
        for _ in range(steps):
            self.step(dt)
            self.energies.append(self.energy)
        return self.energies

    def log(self, dt):
        self.step(dt)
        self.energies.append(self.energy)

    def peak(self):
        return self.largest + self.u[0]

    def forget(self):
        total = self.u.sum()
        del self.t
        return total

    def named(self, name, value):
        setattr(self, name, value * 2)
        return getattr(self, "u") * 3  # noqa: B009


class Damped(Heat):
    def rate(self):
        return super().rate() * 0.5


class Counted(Heat):
    def count(self):
        type(self).created += 1
        self.u = self.u + 1


@dataclass(frozen=True)
class State:
    x: np.ndarray
    v: np.ndarray
    t: float = 0.0
    tags: list = field(default_factory=list)

    @classmethod
    def at_rest(cls, x):
        return cls(x, np.zeros_like(x))


def advance(state, dt):
    return State(state.x + dt * state.v, state.v - dt * state.x, state.t + dt)


def advance_by_replacing(state, dt):
    return replace(state, x=state.x + dt * state.v)


def advance_a_copy(heat, dt):
    other = copy.copy(heat)
    other.u = other.u * dt
    return other


def starts(x):
    return State.at_rest(x * 2).x + 1


def collect(history, x):
    history.append(x * 2)
    return x.sum()


def fill(results, x):
    results["sum"] = x.sum()
    results["double"] = x * 2
    results["x"] = x


def both(a, b):
    a.u = a.u + 1
    b.u = b.u * 2
    return a.u


def replaced(values, x):
    values[0] = x + 1
    values.append(x)
    values.insert(0, x * 3)


def link(a, b):
    a.partner = b
    b.partner = a
    a.u = a.u + b.u


CALLS = {
    "step": (Heat.step, lambda: (Heat(numbers()), 0.1)),
    "overridden": (Heat.step, lambda: (Damped(numbers()), 0.1)),
    "swap": (Heat.swap, lambda: (Heat(numbers()), 0.1)),
    "in place": (Heat.leapfrog, lambda: (Heat(numbers()), 0.1)),
    "loop": (Heat.run, lambda: (Heat(numbers()), 3, 0.1)),
    "log": (Heat.log, lambda: (Heat(numbers()), 0.1)),
    "cached property": (Heat.peak, lambda: (Heat(numbers()),)),
    "setattr": (Heat.named, lambda: (Heat(numbers()), "other", numbers())),
    "frozen": (advance, lambda: (State(numbers(), numbers(1)), 0.1)),
    "replace": (advance_by_replacing, lambda: (State(numbers(), numbers(1)), 0.1)),
    "copy": (advance_a_copy, lambda: (Heat(numbers()), 0.5)),
    "constructor": (starts, lambda: (numbers(),)),
    "list": (collect, lambda: ([], numbers())),
    "dict": (fill, lambda: ({}, numbers())),
    "list changed": (replaced, lambda: ([None], numbers())),
    "two objects": (both, lambda: (Heat(numbers()), Heat(numbers(1)))),
    "one object twice": (both, lambda: (Heat(numbers()),) * 2),
    "links": (link, lambda: (Heat(numbers()), Heat(numbers(1)))),
}


def assert_alike(got, want, seen=()):
    assert type(got) is type(want)
    if isinstance(want, np.ndarray):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert_alike(g, w, seen)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        assert_alike(list(got.values()), list(want.values()), seen)
    elif isinstance(want, (Heat, State)):
        if id(want) not in seen:
            assert_alike(vars(got), vars(want), (*seen, id(want)))
    elif isinstance(want, (float, np.generic)):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    else:
        assert got == want


@pytest.mark.parametrize("name", CALLS)
def test_stores_are_made_at_every_call(name):
    function, make = CALLS[name]
    compiled = jitrt.jit(function)
    mine, theirs = make(), make()
    for _ in range(4):
        assert_alike(compiled(*mine), function(*theirs))
        assert_alike(mine, theirs)
    assert not compiled.explain(*make()).plain_reason


def test_explaining_stores_nothing():
    heat = Heat(numbers())
    before = heat.u
    jitrt.jit(Heat.step).explain(heat, 0.1)
    assert heat.u is before and heat.t == 0.0


def test_attributes_are_the_arrays_themselves():
    heat, u = Heat(numbers()), None
    swap = jitrt.jit(Heat.swap)
    for _ in range(3):
        u = heat.u
        assert swap(heat, 0.1) is u and heat.old is u


def test_an_object_that_is_returned_is_the_callers():
    heat, values = Heat(numbers()), [numbers()]
    assert jitrt.jit(Heat.leapfrog)(heat, 0.1) is heat and heat.view.base is heat.u
    assert jitrt.jit(lambda v, x: (v, x + 1))(values, numbers())[0] is values


def test_nothing_is_stored_when_the_function_fails():
    @jitrt.jit
    def fails(heat, x):
        heat.u = heat.u + 1
        return x + np.ones(3)

    heat = Heat(numbers())
    with pytest.raises(ValueError, match="broadcast"):
        fails(heat, numbers())
    np.testing.assert_array_equal(heat.u, numbers() + 1)  # as NumPy has it, once


def test_stores_up_to_an_exception_that_depends_on_values_are_made():
    def guarded(heat, x):
        heat.u = heat.u + x
        if x.max() > 5:
            raise ArithmeticError("too large")
        heat.t = x.sum()

    compiled = jitrt.jit(guarded)
    for x in (numbers(), numbers() * 100, numbers()):
        mine, theirs = Heat(numbers()), Heat(numbers())
        outcomes = []
        for f, heat in ((compiled, mine), (guarded, theirs)):
            try:
                outcomes.append(f(heat, x))
            except ArithmeticError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert_alike(mine, theirs)


def test_a_floating_point_exception_stores_once():
    @jitrt.jit
    def ratio(heat, x):
        heat.t += 1.0
        heat.u = heat.u / x

    heat = Heat(numbers())
    for k in range(3):
        heat.u = numbers()
        with np.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide"):
            ratio(heat, np.zeros(SIZE))
        assert heat.t == k + 1.0


def test_class_attributes_are_counted():
    compiled = jitrt.jit(Counted.count)
    counted, before = Counted(numbers()), Counted.created
    for _ in range(3):
        compiled(counted)
    compiled.explain(counted)
    assert Counted.created == before + 3 and "class" in compiled.explain(counted).plain_reason


def test_a_list_that_grows_is_not_compiled_anew():
    heat = Heat(numbers())
    log = jitrt.jit(Heat.log)
    for _ in range(100):
        log(heat, 0.01)
    assert len(heat.energies) == 100 and log.cache_info().compiled <= 2


def test_one_list_under_two_names():
    def note(first, second, x):
        first.append(x.sum())
        second.append(x.max())
        first.append(x.min())

    mine, theirs = [], []
    compiled = jitrt.jit(note)
    for _ in range(3):
        compiled(mine, mine, numbers())
        note(theirs, theirs, numbers())
    assert mine == pytest.approx(theirs)


def test_structures_of_what_occurs_twice():
    shared = [1.0]
    leaves = []
    structure = flatten((shared, {"a": shared}), leaves, objects=True)
    again = rebuild(structure, iter([2.0]))
    assert leaves == [1.0] and again[0] is again[1]["a"] and again[0] == [2.0]
    circle = []
    circle.append(circle)
    again = rebuild(flatten(circle, [], objects=True), iter(()))
    assert again[0] is again


def test_structures_of_lists_that_grow():
    growing = Growing(frozenset({"energies"}), frozenset({1}))
    leaves = []
    heat = Heat(numbers())
    structures = []
    for values in ([], [1.0, 2.0]):
        heat.energies = values
        structures.append(flatten_call((heat, [*values]), {}, (), leaves, growing))
    assert structures[0] == structures[1] and len(leaves) == 4


LOG = []
TOTALS = {"calls": 0, "sum": 0.0}
SETTINGS = {"gain": 2.0, "offset": np.ones(1)}
MODEL = Heat(numbers(3))
NESTED = {"models": [MODEL], "log": LOG}


def logs_to_a_global(x):
    LOG.append(x.sum())
    return x * 2


def totals(x):
    TOTALS["calls"] += 1
    TOTALS["sum"] += x.sum()
    return x * TOTALS["calls"]


def reads_settings(x):
    return x * SETTINGS["gain"] + SETTINGS["offset"] + len(LOG)


def steps_a_global(x):
    MODEL.u = MODEL.u + x
    MODEL.t += 1.0
    return MODEL.energy


def reaches_it_in_two_ways(x):
    MODEL.u = x
    NESTED["models"][0].u = NESTED["models"][0].u + 1
    NESTED["log"].append(1)
    return MODEL.u, len(LOG)


def closes_over():
    seen, counts = [], {"n": 0}

    def count(x):
        counts["n"] += 1
        seen.append(x.max())
        return x + counts["n"], len(seen)

    return count


class Registry:
    known = []  # noqa: RUF012
    options = {"scale": 3.0}  # noqa: RUF012

    def __init__(self, u):
        self.u = u

    def register(self):
        self.known.append(self.u.size)
        return self.u * self.options["scale"]


def registers(registry):
    return registry.register()


def reset():
    LOG.clear()
    TOTALS.update(calls=0, sum=0.0)
    SETTINGS.update(gain=2.0, offset=np.ones(1))
    vars(MODEL).update(u=numbers(3), t=0.0)
    Registry.known.clear()
    Registry.options["scale"] = 3.0


def changed():
    return [*LOG], dict(TOTALS), dict(SETTINGS), vars(MODEL).copy(), [*Registry.known]


@pytest.mark.parametrize(
    "function",
    [logs_to_a_global, totals, reads_settings, steps_a_global, reaches_it_in_two_ways, registers],
    ids=lambda f: f.__name__,
)
def test_lists_dicts_and_objects_that_the_function_names(function):
    compiled = jitrt.jit(function)
    outcomes = []
    for f in (function, compiled):
        reset()
        found = []
        for k in range(6):
            x = numbers(k) if function is not registers else Registry(numbers(k))
            found.append((f(x), changed()))
            if k == 3:
                SETTINGS["gain"] = 7.0
                MODEL.u = numbers(9)
                Registry.options["scale"] = 5.0
        outcomes.append(found)
    for want, got in zip(*outcomes):
        assert_alike(got, want)
    reset()
    assert not compiled.explain(numbers() if function is not registers else Registry(numbers())).plain_reason


def test_what_a_closure_holds():
    plain, compiled = closes_over(), jitrt.jit(closes_over())
    for k in range(6):
        assert_alike(compiled(numbers(k)), plain(numbers(k)))


def test_another_object_under_the_same_name():
    global SETTINGS
    compiled, before = jitrt.jit(reads_settings), SETTINGS
    reset()
    try:
        for gain in (2.0, 3.0):
            SETTINGS = {"gain": gain, "offset": np.zeros(SIZE)}
            np.testing.assert_array_equal(compiled(numbers()), numbers() * gain)
    finally:
        SETTINGS = before


def test_a_global_list_that_grows_is_not_compiled_anew():
    reset()
    compiled = jitrt.jit(logs_to_a_global)
    for _ in range(80):
        compiled(numbers())
    assert len(LOG) == 80 and compiled.cache_info().compiled <= 2
    reset()


def test_state_when_a_call_fails():
    def fails(x):
        TOTALS["calls"] += 1
        LOG.append(1)
        return x + np.ones(3)

    reset()
    compiled = jitrt.jit(fails)
    for k in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            compiled(numbers())
        assert TOTALS["calls"] == k + 1 and len(LOG) == k + 1
    reset()


def test_large_tables_are_left_alone():
    table = {k: float(k) for k in range(1000)}
    compiled = jitrt.jit(lambda x: x * table[3])
    np.testing.assert_array_equal(compiled(numbers()), numbers() * 3.0)
    assert compiled.explain(numbers()).plain_reason


def test_objects_with_thousands_of_values_run_plain():
    heat = Heat(numbers())
    heat.energies = [float(k) for k in range(10_000)]
    compiled = jitrt.jit(lambda h: (h.u * 2, h.energies[-1]))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(heat)[0], heat.u * 2)
    assert "values in its lists" in compiled.explain(heat).plain_reason


def test_scalars_that_are_given_stay_scalars():
    compiled = jitrt.jit(lambda model, s, x: (s, model.t, x * 2))
    heat = Heat(numbers())
    heat.t = np.float32(2.0)
    got = compiled(heat, np.float64(3.0), numbers())
    assert type(got[0]) is np.float64 and type(got[1]) is np.float32


def test_a_list_whose_place_something_else_takes():
    def f(a, b, d):
        d["q"] = a
        for k in range(len(b)):
            b[k] = b[k] * 0
        return a, k

    fast = jitrt.jit(f)
    for q in ([[True], [False]], np.ones(2), [1, 2], [], 3.0, [np.ones(2), 1]):
        for a in (np.ones((2, 5), bool), [[True]], [1.0, 2.0]):
            for _ in range(3):
                d = {"p": 0.5, "q": q}
                got = fast(a, np.ones(3), d)
                assert d["q"] is a and got[0] is a and got[1] == 2
