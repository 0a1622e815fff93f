"""Lists in attributes that a function does nothing with: they may grow, and are no part of a call."""

import copy
import dataclasses

import numpy as np
import pytest

import jitrt


class Simulation:
    def __init__(self):
        self.u = np.linspace(1.0, 2.0, 10)
        self.time = 0.0
        self.history = []

    def step(self):
        self.u = self.u + 0.1 * np.sqrt(self.u)
        self.time += 0.1
        return self.u.sum()

    def mean(self):
        return sum(self.history) / len(self.history) if self.history else 0.0

    def scaled(self):
        return self.u * (1 + self.mean())


def in_step(function, calls, between):
    """Compares the compiled with the plain function, each with objects of its own; what the calls made of these."""
    jitted = jitrt.jit(function)
    mine, others = Simulation(), Simulation()
    for n in range(calls):
        got, expected = jitted(mine), function(others)
        np.testing.assert_allclose(got, expected, rtol=1e-14)
        between(mine, n)
        between(others, n)
    for name, value in vars(others).items():
        np.testing.assert_allclose(np.array(vars(mine)[name]), np.array(value), rtol=1e-14)
    return jitted


def keep(simulation, n):
    simulation.history.append(simulation.u[0].item())


def test_a_history_kept_by_the_caller():
    jitted = in_step(Simulation.step, 300, keep)
    assert jitted.cache_info()[:2] == (1, 0)
    assert jitted.cache_info().slow_calls == 1


def test_a_history_that_a_method_reads():
    in_step(Simulation.scaled, 20, keep)
    jitted = jitrt.jit(Simulation.scaled)
    simulation = Simulation()
    for n in range(3):
        simulation.history.append(float(n))
        assert not jitted.explain(simulation).plain_reason


def reads_dict(simulation):
    return simulation.u * len(simulation.__dict__["history"])


def matches(simulation):
    match simulation:
        case Simulation(history=[]):
            return simulation.u * 2
        case _:
            return simulation.u * 3


def by_name(simulation):
    return simulation.u * len(getattr(simulation, "history"))  # noqa: B009


@pytest.mark.parametrize("function", [reads_dict, matches, by_name])
def test_histories_that_are_read_in_other_ways(function):
    in_step(function, 10, keep)
    in_step(function, 10, lambda simulation, n: simulation.history.append(1.0) if n > 5 else None)


def longer(simulation, values):
    values.append(simulation.u.sum())
    return simulation.u * len(values)


def test_the_same_list_as_an_argument_of_its_own():
    jitted = jitrt.jit(longer)
    simulation, values = Simulation(), []
    for n in range(6):
        given = values if n % 2 else simulation.history
        count = len(given)
        np.testing.assert_array_equal(jitted(simulation, given), simulation.u * (count + 1))
        assert len(given) == count + 1 and given[-1] == simulation.u.sum()


def applied(change, simulation):
    return simulation.u * change(simulation)


def test_functions_among_the_arguments_that_read_it():
    jitted = jitrt.jit(applied)
    simulation = Simulation()
    for n in range(6):
        keep(simulation, n)
        for change in (lambda s: s.time + 1, lambda s: len(s.history), lambda s: s.history[-1]):
            np.testing.assert_array_equal(jitted(change, simulation), applied(change, simulation))


@dataclasses.dataclass
class State:
    u: np.ndarray
    history: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Label:
    weight: float
    names: list


def test_copies_and_comparisons_of_objects_with_such_lists():
    replaced = jitrt.jit(lambda state: dataclasses.replace(state, u=state.u * 2))
    copied = jitrt.jit(lambda state: (copy.copy(state), state.u * 2))
    equal = jitrt.jit(lambda a, b: (a == b) * a.weight)
    state = State(np.ones(3))
    for n in range(4):
        state.history.append(n)
        got = replaced(state)
        assert got.history is state.history and got.u.tolist() == [2.0] * 3
        got = copied(state)[0]
        assert got.history is state.history and got is not state
        assert equal(Label(2.0, [n]), Label(2.0, [n])) == 2.0
        assert equal(Label(2.0, [n]), Label(2.0, [n + 1])) == 0.0
