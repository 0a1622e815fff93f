"""Loops that change objects, dicts and named values become one node, or stay unrolled: what is stored is right."""

import numpy as np
import pytest

import jitrt

SIZE = 300
TOTALS = {"sum": 0.0, "calls": 0}
LOG = []


def numbers(seed=0):
    return np.random.default_rng(seed).random(SIZE)


class Inner:
    def __init__(self):
        self.level = 0.0
        self.count = 5


class Model:
    def __init__(self, u):
        self.u = u
        self.v = u * 0.5
        self.t = 0.0
        self.n = 0
        self.inner = Inner()
        self.inner.owner = self
        self.table = {"last": 0.0, "steps": 1}
        self.history = []

    def step(self, dt):
        self.u = self.u + dt * (np.roll(self.u, 1) - self.u)
        self.t += dt

    def advance(self, dt):
        self.u, self.v = self.v + dt, self.u * 0.9
        self.n += 1
        self.inner.level = self.u.sum()
        self.inner.count += 2
        self.table["last"] = self.inner.level * 2
        self.table["steps"] += 3


def steps(model, count):
    for _ in range(count):
        model.step(0.1)


def steps_by_a_bound_method(model, count):
    step = model.step
    for _ in range(count):
        step(0.1)
    return model.u.max()


def advances(model, count):
    for _ in range(count):
        model.advance(0.25)
    return model.n, model.inner.count


def in_place(model, count):
    for k in range(count):
        model.u[1:-1] += 0.1 * (model.u[2:] - 2 * model.u[1:-1] + model.u[:-2])
        model.n += 1
        model.t = k * 0.5


def until(model, count):
    while model.u.max() - model.u.min() > 0.3:
        model.step(0.3)
        model.inner.level = model.t
    return model.t


def new_attribute(model, count):
    while model.u.sum() > 1e-3:
        model.u = model.u * 0.5
        model.smallest = model.u.min()
    return model.smallest


def new_attribute_in_a_range(model, count):
    for _ in range(count):
        model.u = model.u * 0.5 + 0.1
        model.smallest = model.u.min()
    return model.smallest


def reads_its_counter(model, count):
    for _ in range(count):
        model.n += 1
        model.u = model.u + 1.0 / model.n


def indexes_by_its_counter(model, count):
    for _ in range(count):
        model.u[model.n] = model.t
        model.t += 0.5
        model.n += 1


def records(model, count):
    for _ in range(count):
        model.step(0.1)
        model.history.append(model.u.sum())


def note(x):
    TOTALS["sum"] = x.sum()
    TOTALS["calls"] += 1


def by_a_helper(model, count):
    x = model.u
    for _ in range(count):
        x = x * 0.5 + 1
        note(x)
    return x


def by_a_helper_until(model, count):
    x = model.u
    total = x.sum()
    while total > 1e-3:
        x = x * 0.5
        total = x.sum()
        TOTALS["sum"] = x.max()
    return x


def logs_in_a_loop(model, count):
    x = model.u
    for k in range(count):
        x = x * 0.5 + 1
        if k % 10 == 0:
            LOG.append(x.sum())
    return x


def nested_loops(model, count):
    for _ in range(count):
        for _ in range(10):
            model.step(0.01)
        model.n += 1


def swaps_in_place(model, count):
    for _ in range(count):
        np.multiply(model.u, 0.5, out=model.v)
        model.u, model.v = model.v, model.u


FUNCTIONS = [
    steps, steps_by_a_bound_method, advances, in_place, until, new_attribute, new_attribute_in_a_range,
    reads_its_counter, indexes_by_its_counter, records, by_a_helper, by_a_helper_until, logs_in_a_loop, nested_loops,
    swaps_in_place,
]  # fmt: skip
ROLLED = [steps, steps_by_a_bound_method, advances, in_place, by_a_helper, nested_loops]


def state(value, seen):
    """What a value holds, comparable."""
    if isinstance(value, (Model, Inner)):
        if id(value) in seen:
            return "again"
        return {k: state(v, {*seen, id(value)}) for k, v in vars(value).items()}
    if isinstance(value, dict):
        return {k: state(v, seen) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [state(v, seen) for v in value]
    return value


def assert_alike(got, want):
    if isinstance(want, dict):
        assert list(got) == list(want)
        assert_alike(list(got.values()), list(want.values()))
    elif isinstance(want, list):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert_alike(g, w)
    else:
        assert type(got) is type(want)
        if want is not None and not isinstance(want, str):
            np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_loops_store_what_python_stores(function):
    compiled = jitrt.jit(function)
    outcomes = []
    for f in (function, compiled):
        TOTALS.update(sum=0.0, calls=0)
        LOG.clear()
        model, found = Model(numbers()), []
        for count in (3, 20, 20, 35, 20):
            if function is indexes_by_its_counter:
                model.n = count
            result = f(model, count)
            found.append(state([result, model, TOTALS, LOG], set()))
            if function in (until, new_attribute, by_a_helper_until):
                model.u = numbers(count)
        outcomes.append(found)
    for want, got in zip(*outcomes):
        assert_alike(got, want)


@pytest.mark.parametrize("function", ROLLED, ids=lambda f: f.__name__)
def test_they_become_one_node(function):
    explanation = jitrt.jit(function).explain(Model(numbers()), 40)
    assert not explanation.plain_reason
    assert any(node.op.name == "loop" for node in explanation.graph.nodes())


def test_long_unrolled_simulations_run_plain(without_procedures):
    compiled, model, other = jitrt.jit(records), Model(numbers()), Model(numbers())
    compiled(model, 500)
    records(other, 500)
    assert_alike(state(model, set()), state(other, set()))
    assert "unrolled" in compiled.explain(model, 500).plain_reason
