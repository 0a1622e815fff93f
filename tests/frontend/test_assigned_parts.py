"""Loops that assign attributes of objects and items of dicts: the procedure's variables, written at its end."""

import copy
import dataclasses

import numpy as np
import pytest

import jitrt


class Body:
    def __init__(self, x, v):
        self.x, self.v, self.t, self.count, self.energy, self.best = x, v, 0, 0, None, None

    def step(self, dt):
        self.v += dt * -2.0 * self.x
        self.x = self.x + dt * self.v
        self.t += dt
        self.count += 1
        if self.count % 3 == 0:
            self.energy = 0.5 * self.count


class Slotted:
    __slots__ = ("best", "count", "energy", "t", "v", "x")
    __init__ = Body.__init__
    step = Body.step


@dataclasses.dataclass
class Record:
    x: object
    v: object
    t: float = 0
    count: int = 0
    energy: object = None
    best: object = None
    step = Body.step


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float
    count: int = 0


def shown(value):
    if isinstance(value, (Body, Slotted, Record)):
        return [shown(getattr(value, name)) for name in Slotted.__slots__]
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    if isinstance(value, dict):
        return {k: shown(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    return type(value), repr(value)


def check(function, *calls, staged=True):
    compiled = jitrt.jit(function)
    for args in calls:
        for _ in range(2):
            given, plain = copy.deepcopy(args), copy.deepcopy(args)
            outcomes = []
            for f, its in ((compiled, given), (function, plain)):
                try:
                    outcomes.append(shown(f(*its)))
                except Exception as error:
                    outcomes.append((type(error), str(error)))
            assert outcomes[0] == outcomes[1]
            assert shown(given) == shown(plain)
    assert bool(jitrt.jit(function).explain(*copy.deepcopy(calls[0])).loop) is staged


def run(body, steps, dt):
    for _ in range(steps):
        body.step(dt)
    return body.t


X = np.linspace(-1.0, 2.0, 7)


@pytest.mark.parametrize("kind", [Body, Slotted, Record])
@pytest.mark.parametrize("x", [1.0, np.float64(0.5), np.float32(0.25), X], ids=["float", "float64", "float32", "array"])
def test_methods_change_their_object(kind, x):
    check(run, *[(kind(x, x * 0.5), steps, 0.125) for steps in (7, 2, 0)], staged=x is not X)


def test_a_stop_leaves_objects_as_they_were():
    def divided(body, values):
        for v in values:
            body.count += 1
            body.v[body.count % 3] = v
            body.t += 1 / float(v)
        return body.t

    check(divided, (Body(1.0, X.copy()), X[:3]), (Body(1.0, X.copy()), np.array([1.0, 0.0, 2.0])))


def test_items_of_dicts():
    def counted(totals, values):
        for v in values:
            if v > 0:
                totals["positive"] += 1
            else:
                totals["others"] += 1
            totals["sum"] = totals["sum"] + v
        return totals["sum"]

    start = {"positive": 0, "others": 0, "sum": 0.0}
    check(counted, (start, X), (start, X * 0), (start, X[:0]))


def test_dicts_of_the_function():
    def counted(values):
        totals = {"positive": 0, "sum": 0.0, 3: 1}
        for k in range(len(values)):
            totals["positive"] += values[k] > 0
            if values[k] > 0:
                totals["sum"] += values[k]
            totals[3] = totals[3] * 2 % 7
        return totals, totals["sum"]

    check(counted, (X,), (X[:0],))


def test_attributes_that_may_not_be_assigned():
    def best(body, values):
        for v in values:
            if v > 1:
                body.best = v
        return body.count

    check(best, (Body(1.0, 2.0), X), (Body(1.0, 2.0), X * 0))


def test_an_object_that_is_two_arguments():
    def both(first, second, n):
        for _ in range(n):
            first.count += 1
            second.count += 10
        return first.count

    same = Body(1.0, 2.0)
    check(both, (Body(1.0, 2.0), Body(1.0, 2.0), 4), (same, same, 4))


def test_frozen_objects_are_pythons_to_refuse():
    def assigned(record, n):
        for _ in range(n):
            record.count += 1

    compiled = jitrt.jit(assigned)
    with pytest.raises(dataclasses.FrozenInstanceError):
        compiled(Frozen(1.0), 3)


class Checked:
    def __init__(self):
        self._level, self.count = 0, 0

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        self._level = value
        self.count += 1


def test_properties_are_set_by_their_functions():
    def raised(checked, n):
        for k in range(n):
            checked.level = k
        return checked.count

    assert jitrt.jit(raised)(Checked(), 4) == 4


@pytest.mark.parametrize("value", [np.array([1.0]), np.array([[1.0]]), np.array(1.0), 1.0])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_array_is_assigned_to_one_element(value):
    def f(x, y):
        x[1] = y
        return x

    fast = jitrt.jit(f)
    for _ in range(3):
        found = []
        for function in (f, fast):
            try:
                found.append(function(np.zeros(3), value).tolist())
            except (TypeError, ValueError) as error:
                found.append((type(error), str(error)))
        assert found[0] == found[1]


def summed_attribute(held, values):
    for v in values:
        held.t += v
    return held


def summed_item(held, values):
    for v in values:
        held["t"] += v
    return held


def summed_and_listed(held, values):
    for v in values:
        held["t"] += v
    return [held["t"], {"held": held}]


def summed_inside(held, values):
    for v in values:
        held["of"]["t"] += v
    return held["of"], values


def summed_in_object(held, values):
    for v in values:
        held.best["t"] += v
    return {"best": held.best, "t": held.t}


def stored_by_places(held, values):
    held["t"] += 1
    values[np.array([1, 0])] = 0.25
    return values, held


def copied(held, values):
    for v in values:
        held["t"] += v
    return dict(held), held.copy(), {**held}


def stored_and_returned(held, values):
    own = {"t": 1.0}
    for v in values:
        own["t"] += v
    held["of"] = own
    return own


def identities(value, numbers):
    """A value with a number for everything that holds others: the same one for the same object."""
    if not isinstance(value, (dict, list, tuple, Body, Record)):
        return repr(value)
    if id(value) in numbers:
        return numbers[id(value)]
    number = numbers[id(value)] = len(numbers)
    parts = value if isinstance(value, (list, tuple)) else (value if isinstance(value, dict) else vars(value)).items()
    return number, type(value), [identities(part, numbers) for part in parts]


@pytest.mark.parametrize(
    "function, make",
    [
        (summed_attribute, lambda: Body(1.0, 0.5)),
        (summed_attribute, lambda: Record(1.0, 0.5)),
        (summed_item, lambda: {"t": 0.5}),
        (summed_and_listed, lambda: {"t": 0.5}),
        (summed_inside, lambda: {"of": {"t": 0.5}}),
        (summed_in_object, lambda: Record(1.0, 0.5, best={"t": 2.0})),
        (stored_by_places, lambda: {"t": 0.5, "of": None}),
        (copied, lambda: {"t": 0.5}),
        (stored_and_returned, lambda: {"of": {"t": 0.5}}),
    ],
)
def test_what_is_returned_is_the_argument(function, make):
    """And no other object with the same parts."""
    outcomes = []
    for f in (function, jitrt.jit(function)):
        held = make()
        outcomes.append([identities([held, f(held, X.copy())], {}) for _ in range(4)])
    assert outcomes[0] == outcomes[1]
