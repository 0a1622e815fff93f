"""Programs for any size: views as results, what calls store in objects, error states, objects that functions name."""

import copy
import random
from types import SimpleNamespace

import numpy as np
import pytest

import jitrt

pytestmark = pytest.mark.filterwarnings("ignore")


class Body:
    """An object with arrays and numbers."""

    def __init__(self, x, k):
        self.x, self.k, self.total = x, k, 0.0

    def __eq__(self, other):
        return same(vars(self), vars(other))

    def smooth(self):
        self.x = self.x * 0.5 + self.x[::-1]
        self.total = self.x.sum()
        return self.x[1:]

    def step(self, dt):
        self.x += self.x[::-1] * dt
        self.k = self.k + 1.0
        return self.k


PARAMETERS = {"a": 2.0, "b": np.arange(3.0), "n": 2}
STATE = SimpleNamespace(scale=np.ones(1) * 0.5, count=0.0)


def views(x, k):
    y = x * 2
    return y[1:], y[::2], y, x[:-1], y.T, x[None, :, None]


def stored(x, k):
    body = Body(x, k)
    first = body.smooth()
    return body, first, [body.total, {"x": x + k}]


def ignoring(x, k):
    with np.errstate(divide="ignore", invalid="ignore"):
        return (x - x) / (x * 0) + k


def raising(x, k):
    with np.errstate(divide="raise"):
        return 1 / x + k


def reads_outside(x, k):
    return x * PARAMETERS["a"] + PARAMETERS["b"].sum() + x[: PARAMETERS["n"]].sum()


def stores_outside(x, k):
    STATE.count = STATE.count + x.sum()
    STATE.scale[...] = STATE.scale * 0.5 + k
    return x * STATE.scale


def in_dicts(x, k):
    found = {"x": x + 1, "n": len(x), "half": x[: len(x) // 2] * 2}
    found["sum"] = found["x"].sum() * k
    return found


FUNCTIONS = [views, stored, ignoring, raising, reads_outside, stores_outside, in_dicts]


def same(got, want):
    if type(got) is not type(want):
        return False
    if isinstance(want, dict):
        return list(got) == list(want) and all(same(got[k], want[k]) for k in want)
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, np.ndarray):
        return (
            (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
            and got.flags.writeable == want.flags.writeable
            and np.allclose(got, want, 1e-12, 1e-12, equal_nan=True)
        )
    if isinstance(want, float):
        return bool(np.isclose(got, want, 1e-11, equal_nan=True))
    return got == want


def shares(result, arrays):
    """Which of the results are memory of which arguments or results before."""
    flat = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, np.ndarray)]
    return [[np.shares_memory(a, b) for b in (*arrays, *flat[:k])] for k, a in enumerate(flat)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_and_what_is_stored(function):
    chosen, many = random.Random(1), jitrt.jit(function)
    before = copy.deepcopy(vars(STATE))
    for k in range(60):
        n = chosen.choice([0, 1, 2, 3, 5, 8, 31, 64, 100])
        x = np.random.default_rng(k).random(n)
        if k % 3 == 0:
            x = np.repeat(x, 2)[::2]
        own, state = copy.deepcopy(x) if k % 3 else np.repeat(x, 2)[::2], copy.deepcopy(vars(STATE))
        try:
            want = function(own, 0.25)
        except (ZeroDivisionError, FloatingPointError) as error:
            with pytest.raises(type(error)):
                many(x, 0.25)
            continue
        after = copy.deepcopy(vars(STATE))
        vars(STATE).update(copy.deepcopy(state))
        got = many(x, 0.25)
        assert same(got, want), (n, got, want)
        assert same(dict(vars(STATE)), after) and same(x, own)
        assert shares(got, [x]) == shares(want, [own])
    vars(STATE).update(before)


@pytest.mark.parametrize("function", [views, ignoring, reads_outside, in_dicts])
def test_new_sizes_are_not_traced(function):
    many = jitrt.jit(function)
    for n in range(20, 70):
        assert same(many(np.ones(n), 0.5), function(np.ones(n), 0.5))
    assert many.cache_info().compiled <= 6


@pytest.mark.parametrize("method", [Body.smooth, lambda body: body.step(0.5)])
def test_methods_store_into_objects_of_any_size(method):
    many = jitrt.jit(method)
    for n in [*range(30, 90), 0, 1, 2, 3, 31]:
        x = np.random.default_rng(n).random(n)
        one, other = Body(x.copy(), 1.0), Body(x.copy(), 1.0)
        for _ in range(2):
            assert same(many(one), method(other))
            assert same(vars(one), vars(other))
    assert many.cache_info().compiled <= 12


def test_objects_that_name_the_same_array():
    def add(a, b):
        a.x[1:] = a.x[:-1] + b.x[1:]
        return b.x.sum()

    many = jitrt.jit(add)
    for n in range(20, 60):
        x, y = np.random.default_rng(n).random((2, n))
        arrays = [(x, y), (x, x), (x, y[::-1])][n % 3]
        copies = [a.copy() for a in arrays] if n % 3 != 1 else [x.copy()] * 2
        got = many(Body(arrays[0], 1), Body(arrays[1], 1))
        want = add(Body(copies[0], 1), Body(copies[1], 1))
        assert np.isclose(got, want)
        np.testing.assert_allclose(arrays[0], copies[0])


LENGTHS = [
    lambda x: x[: len(x) // 2] * 2,
    lambda x: (x / len(x), len(x), len(x), [len(x) + 1, len((x, x))]),
    lambda x: np.zeros(len(x) + 1) + int(x.shape[0]),
    lambda x: x * int("7") + int(2.5) + len("abc"),
    lambda x: (lambda len: x[:len] * 2)(2),
]


@pytest.mark.parametrize("function", LENGTHS)
def test_lengths_may_be_any(function):
    many = jitrt.jit(function)
    for n in range(20, 50):
        got, want = many(np.ones(n)), function(np.ones(n))
        assert same(got, want), (got, want)
    assert many.cache_info().compiled <= 5
    if function is not LENGTHS[3]:
        with pytest.raises((TypeError, IndexError)):
            many(np.float64(2))
