"""Calls with small arrays: what NumPy answers in microseconds is not traced for one call, and costs little later."""

import itertools
import warnings

import numpy as np
import pytest

import jitrt
from jitrt import policy
from jitrt.call.budget import TraceBudget
from jitrt.call.tree import Plain

TABLE = {name: tuple(map(int, f"{k:05b}")) for k, name in enumerate(map("".join, itertools.product("xyz", repeat=3)))}


@pytest.fixture(autouse=True)
def as_users_run_it(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setattr(policy, "COMPILED_KERNEL", -(1 << 60))  # what is compiled later has tests of its own


def scaled(x, how="twice", *, offset=1.0):
    if how == "twice":
        x = x * 2
    return np.sqrt(x * x + offset) - x


def values(kind, size):
    return np.arange(1.0, 1.0 + size).astype(kind)


CALLS = [
    lambda: ((values("f8", 5),), {}),
    lambda: ((values("f4", 5), "once"), {}),
    lambda: ((values("f8", 5).reshape(1, 5),), {"how": "once", "offset": 2.0}),
    lambda: ((3.5,), {}),
    lambda: ((values("f8", policy.SMALL_CALL // 8), "twice"), {}),
]


@pytest.mark.parametrize("call", CALLS)
def test_the_first_calls_of_a_kind_run_plain(call):
    fast = jitrt.jit(scaled)
    for k in range(policy.SMALL_CALLS + 2):
        args, kwargs = call()
        np.testing.assert_allclose(fast(*args, **kwargs), scaled(*args, **kwargs), rtol=1e-6)
        assert bool(fast.plain_reason) == (k < policy.SMALL_CALLS)
        assert fast.cache_info().compiled == (k >= policy.SMALL_CALLS)


def test_what_is_not_small_is_compiled_at_once():
    fast = jitrt.jit(scaled)
    fast(values("f8", policy.SMALL_CALL // 8 + 1))
    assert not fast.plain_reason


@pytest.mark.parametrize("asked", ["warn", "raise"])
def test_who_asks_for_plain_calls_is_not_told_of_the_first(asked):
    fast = jitrt.jit(scaled, on_plain=asked)
    fast(values("f8", 5))
    assert not fast.plain_reason


def test_what_is_compiled_ahead_of_calls_serves_the_first_one():
    for prepare in ("compile", "explain"):
        fast = jitrt.jit(scaled)
        getattr(fast, prepare)(values("f8", 5))
        fast(values("f8", 5))
        assert not fast.plain_reason


def test_a_kind_is_compiled_later_the_more_traces_have_not_paid():
    fast = jitrt.jit(scaled)
    for traces, (size, how, offset) in enumerate(itertools.product((2, 3), ("twice", "once"), (1.0, 2))):
        calls = 0
        while fast.cache_info().compiled == traces:
            fast(values("f8", size), how, offset=offset)
            calls += 1
        assert policy.SMALL_CALLS < calls <= policy.SMALL_CALLS + traces + 1


def test_a_kind_that_is_traced_is_not_put_off_again():
    """What Python serves comes there at each call, while other kinds have traces that do not pay."""
    fast = jitrt.jit(lambda x: x + 1.0 if float(x[0]) > 0.0 else x)
    kinds = [values("f8", size) for size in (3, 4, 5, 6)]
    for x, _ in itertools.product(kinds, range(30)):
        fast(x)
    for x in kinds:
        fast(x)
        assert "one of the first calls" not in fast.plain_reason


@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")
def test_traces_that_end_in_vain_are_fewer():
    fast = jitrt.jit(lambda x, name: np.linalg.eigvalsh(x) * len(name))
    for _, name in itertools.product(range(20), TABLE):
        fast(np.eye(2), name)
    assert fast.cache_info().compiled == 0
    assert fast.cache_info().plain <= 2 * policy.CREDIT_FOR_SMALL


def refused(x, name):
    if name != "yes":
        raise ValueError(f"{name} of {x.shape}")
    return x * len(name)


def test_calls_that_raise_are_traced_a_few_times():
    """Tests of a package call its functions with one wrong argument after the other."""
    fast = jitrt.jit(refused)
    for size, name in itertools.product((3, policy.SMALL_CALL), TABLE):
        with pytest.raises(ValueError, match=f"^{name} of"):
            fast(values("f8", size), name)
    assert len(fast._specialisations._failures) == policy.RAISED
    fast = jitrt.jit(refused)
    x = values("f8", policy.SMALL_CALL)
    for k in range(policy.RAISED):
        with pytest.raises(ValueError, match=r"^no"):
            fast(x[k:], "no")
    fast(x, "yes")
    assert "other kinds raise exceptions" in fast.plain_reason
    assert fast(x, "yes")[0] == 3.0
    assert not fast.plain_reason


@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")
def test_calls_that_each_differ_make_few_traces():
    """Each trace takes as long as thousands of such calls."""
    fast = jitrt.jit(lambda x, name: x * len(name) + 1.0)
    for _, name in itertools.product(range(3), TABLE):
        assert fast(values("f8", 3), name)[0] == 4.0
    assert fast.cache_info().compiled <= policy.CREDIT_FOR_SMALL + 2


def looked_up(x, name="xxx"):
    a, b, c, d, e = TABLE[name]
    s = x.sum()
    if s > 100.0:  # a look at a value
        return x * a + b
    return x[0] * b + c * d + e


def test_what_takes_a_large_table_apart_runs_plain():
    """Python takes 150 parts of a table apart for three operations on five elements."""
    fast = jitrt.jit(looked_up)
    for k in range(policy.SMALL_CALLS + policy.CALLS_TO_TABLE):
        x = values("f8", 5) + k
        assert fast(x) == looked_up(x)
    assert fast.cache_info().compiled == 0
    slow = fast.cache_info().slow_calls
    for _ in range(20):
        fast(values("f8", 5))
    assert fast.cache_info().slow_calls == slow  # native code calls the plain function


def test_a_plain_call_sees_arrays_that_have_grown(monkeypatch):
    table = {"weights": np.ones(3)}

    def weighted(x):
        return np.sqrt(x * table["weights"]) + np.exp(-x) * table["weights"]

    fast = jitrt.jit(weighted)
    for size in (3, 3, 3, 40_000, 40_000):
        table["weights"] = np.full(size, 2.0)
        np.testing.assert_allclose(fast(values("f8", 1)), weighted(values("f8", 1)), rtol=1e-15)
    assert not fast.plain_reason


@pytest.mark.parametrize("errors", [True, False])
def test_own_warnings_are_given_to_those_who_ask(errors):
    fast = jitrt.jit(lambda x, name: x * float(name) + len(name))
    x = values("f8", 400)
    with warnings.catch_warnings(record=not errors) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("error" if errors else "always")
        for n in range(200):
            fast(x, str(n))
        assert "few came again" in fast.plain_reason
        assert not caught


def recurrence(x, n=3):
    y = np.zeros_like(x)
    for _ in range(n):
        for i in range(1, len(x)):
            y[i] = 0.5 * y[i - 1] + x[i]
    return y


LOOPS = {  # arguments of a function with loops, and whether a glance says that NumPy is done with them soon
    "few": ((values("f8", 4),), True),
    "many elements": ((values("f8", 400),), False),
    "an integer says how often": ((values("f8", 4), 100_000), False),
    "one of NumPy's does": ((values("f8", 4), np.int64(100_000)), False),
    "one of no dimensions does": ((values("f8", 4), np.array(100_000)), False),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_wait_where_numpy_is_done_with_them_soon(name):
    args, waits = LOOPS[name]
    fast = jitrt.jit(recurrence)
    for k in range(policy.SMALL_CALLS + 1):
        fast(*args)
        assert bool(fast.plain_reason) == (waits and k < policy.SMALL_CALLS), k
    np.testing.assert_array_equal(fast(args[0]), recurrence(args[0]))


TURNS = 100_000


def test_numbers_that_the_function_names_say_how_often():
    def of_a_global(x):
        for _ in range(TURNS):
            x = x * 0.5 + 1.0
        return x

    def of_a_constant(x):
        for _ in range(100_000):
            x = x * 0.5 + 1.0
        return x

    for function in (of_a_global, of_a_constant):
        fast = jitrt.jit(function)
        assert fast(1.0) == 2.0
        assert not fast.plain_reason


def test_a_glance_asks_nothing_of_the_users_objects():
    class Asked:
        @property
        def shape(self):
            raise AssertionError("it was asked")

        def __getattr__(self, name):
            raise AssertionError(name)

        def __index__(self):
            raise AssertionError("it was asked")

    def turns(x, held):
        for _ in range(2):
            x = x + 1.0
        return x

    assert jitrt.jit(turns)(1.0, [Asked()]) == 3.0
    assert jitrt.jit(turns)(1.0, Asked()) == 3.0


def test_types_that_are_refused_in_a_row_are_tried_more_rarely():
    def of_text(x, text):
        for c in text.split():
            x = x + float(c)
        return x

    fast = jitrt.jit(of_text)
    kinds = [np.dtype(t).type for t in "bBhHiIlLefd"]
    for kind, _ in itertools.product(kinds, range(policy.SMALL_CALLS + 1)):
        assert fast(np.full(3, kind(1)), "1 2")[0] == 4
    assert 0 < fast._loops._made < len(kinds) - 2


def test_long_traces_count_for_several(monkeypatch):
    """An object that remembers each call is another one each time; a trace of hundreds of operations takes long."""
    monkeypatch.setenv("JITRT_STRICT", "0")

    class Log:
        def __init__(self):
            self.seen = []

    def function(x, log):
        log.seen.append(x)
        for k in range(len(x)):
            x[k] = x.reshape(-1)[k] * 0.5
        return x

    fast, log = jitrt.jit(function), Log()
    for _ in range(30):
        x = np.linspace(1, 2, 90 * 60).reshape(90, 60)
        want = function(x.copy(), Log())
        assert (fast(x, log) == want).all()
    assert len(log.seen) == 30
    assert fast.cache_info().compiled <= policy.CREDIT // 4


def test_long_traces_in_vain_count_for_several():
    short, long = TraceBudget(), TraceBudget()
    for k in range(2):
        short.note_trace(k, Plain("it does nothing", operations=5))
        long.note_trace(k, Plain("it does nothing", operations=1000))
    assert not short.is_used_up(policy.CREDIT)
    assert long.is_used_up(policy.CREDIT)


@pytest.mark.parametrize(
    "make", [lambda: np.array(["a", "b"]), lambda: np.array([1, 5], "m8[s]")], ids=["text", "times"]
)
def test_native_code_lets_calls_fall_back_whose_dtypes_are_new_objects(monkeypatch, make):
    """Each array of texts, or of times, has a dtype of its own."""
    monkeypatch.setenv("JITRT_STRICT", "0")
    fast = jitrt.jit(lambda x, k: np.unique(x)[:k])
    for _ in range(600):
        assert len(fast(make(), 1)) == 1
    assert fast.plain_reason and fast.cache_info().slow_calls < 200
