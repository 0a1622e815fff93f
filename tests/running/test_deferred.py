"""Functions of a program that is run become jit functions, staying the same objects, when their work pays for it."""

import copy
import inspect
import pickle
import threading
import types

import numpy as np
import pytest

from jitrt import policy
from jitrt.jitfunction import JitFunction
from jitrt.running import deferred
from jitrt.running.deferred import Deferred, _Code
from jitrt.values.glance import Glance, instructions


@pytest.fixture(autouse=True)
def without_compiler(monkeypatch):
    """As in a process that has not imported the compiler, and has not called anything yet."""
    monkeypatch.setattr(deferred, "_COMPILER", "jitrt.not_imported")
    monkeypatch.setattr(Deferred, "spent", 0.0)
    monkeypatch.setattr(_Code, "_known", {})


def total(x, k=1):
    """Sum."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * k
    return s


def shifted(x):
    return np.sqrt(x) + 1


@Deferred
def named(x):
    return np.sqrt(x) + 1


def test_little_work_stays_plain_and_much_becomes_compiled():
    made = Deferred(total)
    alias, words = made, np.arange(4.0)
    for _ in range(3):
        assert made(words) == 6.0 and made(words, k=2) == 12.0
    assert type(made) is Deferred
    Deferred.spent = policy.LOADING * 0.6
    assert made(np.arange(1e6)) == total(np.arange(1e6))
    assert type(made) is JitFunction and alias is made
    assert made(words) == 6.0 and made.plain_reason == "" and made.__name__ == "total"
    assert made.cache_info().slow_calls > 0


def test_many_calls_with_little_work_become_compiled():
    made, x = Deferred(shifted), np.ones(5000)
    calls = 0
    while type(made) is Deferred and calls < 200_000:
        made(x)
        calls += 1
    assert 1000 < calls < 200_000


def test_what_has_little_work_of_its_own_stays_plain():
    """Each was compiled at its first call as soon as another one had had the compiler imported."""
    made, Deferred.spent = Deferred(shifted), 2.0 * policy.LOADING
    for _ in range(10):
        assert made(np.ones(1000))[0] == 2.0
    assert type(made) is Deferred
    while type(made) is Deferred:
        made(np.ones(1_000_000))


def test_work_of_what_a_function_calls_is_its_own():
    """A loop that calls others on large arrays had next to no work, and each call of it ran in parts."""
    inner, large = Deferred(shifted), np.ones(100_000)

    def outer():
        return inner(large)

    made, calls = Deferred(outer), 0
    Deferred.spent = policy.LOADING
    while type(made) is Deferred and calls < 100:
        made()
        calls += 1
    assert 3 < calls < 100


def test_functions_of_one_code_count_together():
    def make(k):
        @Deferred
        def scaled(x):
            return np.sqrt(x) * k

        return scaled

    Deferred.spent, x = policy.LOADING, np.ones(100_000)
    kinds = []
    while JitFunction not in kinds:
        made = make(2.0)
        made(x)
        kinds.append(type(made))
    assert 10 < len(kinds) < 100_000


def test_it_looks_as_a_function():
    made = Deferred(total)
    assert isinstance(made, types.FunctionType) and made.__doc__ == "Sum." and made.__code__ is total.__code__
    assert inspect.signature(made) == inspect.signature(total) and made.__defaults__ == (1,)
    assert copy.copy(made) is made and copy.deepcopy([made])[0] is made and not hasattr(made, "_no_such_thing")
    assert type(made) is Deferred
    with pytest.raises(AttributeError):
        made.no_such_thing  # noqa: B018
    assert len(Deferred(shifted).compile(np.ones(5)).kernels) == 1


def test_methods(monkeypatch):
    monkeypatch.setattr(policy, "COMPILED_INSTRUCTION", 0)

    class Model:
        k = 2.0

        @Deferred
        def scaled(self, x):
            return x * self.k

        @staticmethod
        @Deferred
        def half(x):
            return x / 2

    model = Model()
    for size, Deferred.spent in ((3, 0.0), (400, policy.LOADING)):
        assert model.scaled(np.ones(size))[0] == 2.0 and model.half(np.ones(size))[0] == 0.5
        assert Model.scaled(model, np.ones(3))[0] == 2.0
    assert type(vars(Model)["scaled"]) is JitFunction


def test_pickles_by_name():
    assert pickle.loads(pickle.dumps(named)) is named


def test_exceptions_are_the_functions_own():
    made = Deferred(shifted)
    for _ in range(100):  # more than calls that may stand in one another
        with pytest.raises(TypeError, match="shifted"):
            made()
    assert type(made) is Deferred


def test_threads_find_a_whole_one(monkeypatch):
    monkeypatch.setattr(policy, "COMPILED_INSTRUCTION", 0)
    made, x, found = Deferred(shifted), np.ones(1000), []

    def work():
        for _ in range(300):
            found.append(made(x)[0])

    Deferred.spent = policy.LOADING - 2e5
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2.0] * 1800 and type(made) is JitFunction


def estimate(function, *args):
    seen = Glance()
    seen.look(args)
    seen.look_at_code(function)
    return seen.work(instructions(function.__code__))


def test_what_work_is_expected():
    class Holder:
        def __init__(self, x):
            self.x = x

    def repeated(x, n):
        for _ in range(n):
            x = x * 0.5 + 1
        return x

    def within(x):
        return [v * w for v in x for w in x]

    def empty():
        pass

    assert estimate(empty) < 1e4
    assert estimate(shifted, np.ones(10)) < 1e4 < 1e6 < estimate(shifted, np.ones(10**7))
    assert estimate(shifted, Holder(np.ones(10**7))) > 1e6 and estimate(shifted, [np.ones(10**7)]) > 1e6
    assert estimate(total, np.ones(100)) < 1e6 < 1e8 < estimate(total, np.ones(10**6))
    assert estimate(repeated, np.ones(10**4), 3) < 1e7 < 1e8 < estimate(repeated, np.ones(10**4), 10**5)
    assert estimate(within, np.ones(10**4)) > 1e8
    assert estimate(total, np.ones((0, 5))) < 1e6 and estimate(shifted, np.float64(3), "text", None, 2.5) < 1e4
