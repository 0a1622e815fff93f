"""Functions whose Python code has to run at every call are not compiled."""

import math
import random
import time

import numpy as np
import pytest

import jitrt
from jitrt.errors import Untraceable
from jitrt.frontend.python.purity import scan

COUNTER = 0
LOG = []
SETTINGS = {"scale": 2.0}
x = np.arange(4.0)


def prints(a):
    print("called")
    return a + 1


def counts(a):
    global COUNTER
    COUNTER += 1
    return a + 1


def appends_to_a_global(a):
    LOG.append(1)
    return a + 1


def draws(a):
    return a + np.random.normal(size=a.shape)  # noqa: NPY002


def draws_from_random(a):
    return a + random.random()


def reads_the_clock(a):
    return a + time.time()


def reads_a_dict(a):
    return a * SETTINGS["scale"]


def opens_a_file(a):
    with open("/dev/null") as f:
        return a + len(f.read())


def imports_what_nobody_has_imported(a):
    if len(a) > 1000:
        import this

        return a + len(this.s)
    return a + 1


def sets_an_attribute(a):
    sets_an_attribute.last = a.shape
    return a + 1


def calls_something_impure(a):
    return counts(a) * 2


def generates(a):
    yield a + 1


IMPURE = [
    prints, counts, draws_from_random, reads_the_clock, opens_a_file,
    imports_what_nobody_has_imported, sets_an_attribute, calls_something_impure, generates,
]  # fmt: skip


@pytest.mark.parametrize("function", IMPURE, ids=lambda f: f.__name__)
def test_impure_functions_are_told(function):
    with pytest.raises(Untraceable):
        scan(function)
    assert jitrt.jit(function).explain(x).plain_reason


def test_a_nonlocal_counter_counts_every_call():
    calls = 0

    @jitrt.jit
    def counted(a):
        nonlocal calls
        calls += 1
        return a + 1

    for _ in range(3):
        counted(x)
    assert calls == 3


def test_random_numbers_differ_from_call_to_call():
    fast = jitrt.jit(draws)
    assert not np.array_equal(fast(x), fast(x))


def test_a_dict_argument_is_changed_for_the_caller():
    @jitrt.jit
    def store(a, results):
        results["sum"] = a.sum()
        return a + 1

    results = {}
    for k in (1.0, 2.0):
        store(x * k, results)
        assert results["sum"] == (x * k).sum()


def test_in_place_updates_reach_the_caller():
    @jitrt.jit
    def update(a, b):
        a += b
        a[0] = -1.0
        np.multiply(a, 2.0, out=a)

    mine = x.copy()
    update(mine, x)
    assert mine.tolist() == [-2.0, 4.0, 8.0, 12.0]


def test_updates_by_index_happen_once():
    @jitrt.jit
    def count(a, where):
        np.add.at(a, where, 1.0)

    mine = np.zeros(3)
    for _ in range(2):
        count(mine, np.array([0, 0, 2]))
    assert mine.tolist() == [4.0, 0.0, 2.0]


def test_numpy_functions_that_work_in_place_reach_the_caller():
    @jitrt.jit
    def clean(a):
        return np.nan_to_num(a, copy=False, nan=7.0) * 2

    mine = np.array([1.0, np.nan])
    assert clean(mine).tolist() == [2.0, 14.0] and mine.tolist() == [1.0, 7.0]
    assert not clean.explain(np.ones(2)).plain_reason


LOOKS = [bool, float, int, str, repr, "{:.2f}".format, list, math.sqrt]


@pytest.mark.parametrize("look", LOOKS, ids=lambda f: f.__name__)
def test_looking_at_a_value_runs_the_plain_function(look):
    def looks(a):
        s = a.sum() * 0.5
        return a * 2, look(s if look is not list else a)

    got, want = jitrt.jit(looks)(x), looks(x)
    np.testing.assert_array_equal(got[0], want[0])
    assert got[1] == want[1]


def test_mutable_defaults_are_not_frozen():
    @jitrt.jit
    def collect(a, seen=[]):  # noqa: B006
        seen.append(1)
        return a + len(seen)

    assert [float(collect(x)[0]) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_default_arrays_are_read_at_every_call():
    weights = np.ones(4)

    @jitrt.jit
    def weighted(a, w=weights):
        return a * w

    weighted(x)
    weights[:] = 3.0
    np.testing.assert_array_equal(weighted(x), x * 3.0)


def test_pure_functions_pass():
    def pure(a, n=3):
        parts = [a * k for k in range(n)]
        if isinstance(a, np.ndarray) and len(parts) > 2:
            parts.append(np.maximum(a, math.pi))
        return sum(parts) + max(n, 2)

    scan(pure)
    np.testing.assert_array_equal(jitrt.jit(pure)(x), pure(x))
