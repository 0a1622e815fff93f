"""Modules that a function has in a variable, gets as an argument or finds in an object: ``def f(x, xp=np)``."""

import math
import types

import numpy as np
import pytest

import jitrt

X = np.linspace(0.1, 1, 50)
LONG = np.linspace(0.1, 1, 20_000)

OWN = types.ModuleType("own")
exec("def scaled(x): return x * K\ndef noisy(x):\n    CALLS.append(1)\n    return x", vars(OWN))


class Holder:
    xp = np

    def __init__(self):
        self.own = OWN


def default(x, xp=np):
    return xp.sqrt(x) * 2 + xp.exp(-x)


def keyword(x, *, xp=np):
    return xp.linalg.norm(x) + xp.pi * xp.float32(3) * x if isinstance(x, xp.ndarray) else None


def of_class(x, holder):
    return holder.xp.sqrt(x) + 1


def of_object(x, holder):
    return holder.own.scaled(x) + holder.own.A.sum()


def in_dict(x, modules):
    return modules["np"].exp(x) * modules["math"].pi


def by_name(x, module, name):
    return getattr(module, name)(x)


def drawn(x, xp):
    return xp.random.default_rng(3).random(len(x)) + x


def quiet(x, xp):
    with xp.errstate(invalid="ignore"):
        return xp.sqrt(-x)


def recurrence(x, xp=np):
    out = np.zeros(len(x))
    for k in range(1, len(x)):
        out[k] = 0.5 * out[k - 1] + xp.sin(x[k])
    return out


@pytest.fixture(autouse=True)
def own():
    vars(OWN).update(K=2.0, A=np.arange(3.0), CALLS=[])


CALLS = [
    (default, (X,), {}),
    (default, (X, np), {}),
    (default, (LONG,), {"xp": np}),
    (keyword, (X,), {}),
    (keyword, (LONG,), {"xp": np}),
    (of_class, (X, Holder), {}),
    (of_class, (X, Holder()), {}),
    (of_object, (X, Holder()), {}),
    (in_dict, (X, {"np": np, "math": math}), {}),
    (by_name, (X, np, "sqrt"), {}),
    (by_name, (X, OWN, "scaled"), {}),
    (drawn, (X, np), {}),
    (quiet, (X, np), {}),
    (recurrence, (LONG,), {}),
    (recurrence, (LONG, math), {}),
]


@pytest.mark.parametrize("function, args, kwargs", CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_like_numpy(function, args, kwargs):
    fast = jitrt.jit(function)
    for call in range(5):
        if call == 3:
            OWN.K, OWN.A = 3.0, np.arange(4.0)
        np.testing.assert_allclose(fast(*args, **kwargs), function(*args, **kwargs), rtol=1e-13)
    assert fast.plain_reason == ""


def test_loops_are_compiled():
    fast = jitrt.jit(recurrence)
    fast(LONG, math)
    assert "compiled as a loop" in str(fast.explain(LONG, math))
    assert "in Python" not in str(fast.explain(LONG, np))


def test_modules_are_told_apart():
    other = types.ModuleType("other")
    other.sqrt, other.exp = np.cbrt, np.expm1
    fast = jitrt.jit(default)
    for module in (np, other, np, other, np):
        np.testing.assert_allclose(fast(X, module), default(X, module), rtol=1e-13)


def test_a_name_that_is_defined_later():
    fast = jitrt.jit(lambda x, module: module.scaled(x))
    fast(X, OWN)
    before = OWN.scaled
    try:
        OWN.scaled = np.negative
        assert np.array_equal(fast(X, OWN), -X)
    finally:
        OWN.scaled = before
    assert np.array_equal(fast(X, OWN), 2 * X)


def in_a_variable(x):
    module = np
    module.set_printoptions(precision=3)
    return x * 2


def as_an_argument(x, xp):
    xp.set_printoptions(precision=3)
    return x * 2


def by_a_name(x, xp, name):
    getattr(xp, name)(precision=3)
    return x * 2


def made_name(x, xp):
    getattr(xp, "_".join(["set", "printoptions"]))(precision=3)
    return x * 2


@pytest.mark.parametrize(
    "function, args",
    [
        (in_a_variable, (X,)),
        (as_an_argument, (X, np)),
        (by_a_name, (X, np, "set_printoptions")),
        (made_name, (X, np)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_changes_the_process_is_done_in_every_call(function, args):
    fast, before = jitrt.jit(function), np.get_printoptions()
    try:
        for _ in range(4):
            np.set_printoptions(precision=8)
            fast(*args)
            assert np.get_printoptions()["precision"] == 3
    finally:
        np.set_printoptions(**before)


def test_seeds_are_set_in_every_call():
    def seeded(x, xp):
        xp.random.seed(3)
        return x * xp.random.random()

    fast, numpys = jitrt.jit(seeded), np.random
    state = numpys.get_state()
    try:
        for call in range(4):
            numpys.seed(call)
            got, after = fast(X, np), numpys.random()
            numpys.seed(call)
            assert np.array_equal(got, seeded(X, np)) and after == numpys.random()
    finally:
        numpys.set_state(state)


def test_functions_of_modules_that_do_more():
    fast = jitrt.jit(by_name)
    for call in range(4):
        fast(X, OWN, "noisy")
        assert len(OWN.CALLS) == call + 1


def test_functions_of_modules_that_do_more_by_names_that_are_made():
    def joined(x, module, first):
        return getattr(module, first + "isy")(x)

    fast = jitrt.jit(joined)
    for call in range(4):
        fast(X, OWN, "no")
        assert len(OWN.CALLS) == call + 1


def test_new_shapes_are_served():
    fast = jitrt.jit(default)
    for n in (3, 40, 500, 7, 6000):
        x = np.linspace(0, 1, n)
        np.testing.assert_allclose(fast(x, np), default(x, np), rtol=1e-13)
    assert fast.plain_reason == ""
