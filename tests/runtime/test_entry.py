"""The native entry: it serves calls like the one before, and passes on all others."""

import copy
import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from entry_calls import Watched, is_served, needs_native_calls, x

import jitrt
from jitrt.runtime.program import Program

pytestmark = needs_native_calls


def axpy(a, s, b):
    return a * s + b


@pytest.fixture
def compiled():
    function = Watched(axpy)
    function(x, 2.0, x)
    assert is_served(function, x, 2.0, x)
    return function


def test_it_serves_equal_types(compiled):
    np.testing.assert_array_equal(compiled(x + 1, 3.0, x * 2), axpy(x + 1, 3.0, x * 2))
    assert compiled.missed == 1


def test_all_known_calls_are_served_in_any_order(compiled):
    calls = [(x[:n], 2.0, x[:n]) for n in range(1, 7)]
    calls += [(x[:n].astype(np.float32), 3.0, x[:n].astype(np.float32)) for n in range(1, 7)]
    calls += [(np.ones((n, 2)), 3.0, np.ones((n, 2)).T.copy().T) for n in range(1, 40)]
    for arguments in calls:
        compiled(*arguments)
    for arguments in calls[::-1] + calls[::3] * 2 + calls:
        before = compiled.missed
        got = compiled(*arguments)
        np.testing.assert_array_equal(got, axpy(*arguments))
        assert compiled.missed == before


def test_what_native_code_cannot_serve_keeps_its_frame(monkeypatch):
    """A step that NumPy executes needs Python; the search for a native table must not be made at every call."""
    made = []
    new_frame = Program.new_frame
    monkeypatch.setattr(Program, "new_frame", lambda self: made.append(self) or new_frame(self))
    fast = jitrt.jit(lambda x: np.partition(x, 4) * 2.0 + 1.0)
    for k in range(5):
        x = np.arange(9.0) * (-1) ** k
        np.testing.assert_array_equal(fast(x), np.partition(x, 4) * 2.0 + 1.0)
    assert len(made) == 1


def test_a_table_works_in_the_frame_of_the_first_call(monkeypatch):
    """Which Python ran; only calls that native code cannot serve at that moment need another one."""
    made = []
    new_frame = Program.new_frame
    monkeypatch.setattr(Program, "new_frame", lambda self: made.append(self) or new_frame(self))
    fast = jitrt.jit(lambda x, y, s: (x * s + np.exp(y)).sum(axis=0) * s)
    for k in range(4):
        a = np.linspace(0.0, k, 60).reshape(12, 5)
        np.testing.assert_allclose(fast(a, a, 1.5 * k), (a * 1.5 * k + np.exp(a)).sum(axis=0) * 1.5 * k, rtol=1e-13)
    assert len(made) == 1 and fast.cache_info().slow_calls == 1
    (found,) = fast._specialisations.compiled()
    np.testing.assert_allclose(found.compiled.program.run([a, a, 2.0])[0], (a * 2 + np.exp(a)).sum(axis=0) * 2, 1e-13)
    assert len(made) == 2  # the first one is the table's alone
    fast.release()
    np.testing.assert_allclose(fast(a, a, 2.0), (a * 2 + np.exp(a)).sum(axis=0) * 2, rtol=1e-13)
    assert len(made) == 3 and not found.compiled.program._frames


def test_a_frame_that_no_table_can_use_is_given_back(monkeypatch):
    made = []
    new_frame = Program.new_frame
    monkeypatch.setattr(Program, "new_frame", lambda self: made.append(self) or new_frame(self))
    fast = jitrt.jit(lambda x: x * 2.0 + 1.0)
    for k in range(4):
        x = (np.arange(60.0) + k).reshape(3, 4, 5).transpose(1, 0, 2)  # native code makes no results of such strides
        np.testing.assert_array_equal(fast(x), x * 2.0 + 1.0)
        assert fast(x).strides == (x * 2.0 + 1.0).strides
    assert len(made) == 1


def test_keywords_are_served(compiled):
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, b=x, s=4.0), axpy(x, 4.0, x))
    assert is_served(compiled, x, b=x + 1, s=5.0)
    assert not is_served(compiled, x, s=5.0, b=x + 1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        compiled(x, b=x, t=4.0)


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i4", "i8", "f4", "f8", "c8", "c16"])
def test_unpickled_arrays_are_served(kind):
    function = Watched(lambda a, b: a * 2 + b)
    a = np.arange(6).astype(kind)
    function(a, a)
    for _ in range(3):
        other = pickle.loads(pickle.dumps(a))
        np.testing.assert_array_equal(function(other, a), a * 2 + a)
        np.testing.assert_array_equal(function(a, pickle.loads(pickle.dumps(other))), a * 2 + a)
    assert function.missed == 1
    swapped = a.astype(a.dtype.newbyteorder(">"))
    np.testing.assert_array_equal(function(a, swapped), a * 2 + swapped)


def test_dates_of_other_units_are_other_calls():
    function = Watched(lambda a: a + np.timedelta64(1, "s"))
    days, seconds = (np.arange(4).astype(f"M8[{unit}]") for unit in ("D", "s"))
    for a in (days, seconds, days, pickle.loads(pickle.dumps(seconds)), pickle.loads(pickle.dumps(days))):
        got = function(a)
        np.testing.assert_array_equal(got, a + np.timedelta64(1, "s"))
        assert got.dtype == (a + np.timedelta64(1, "s")).dtype


@pytest.mark.usefixtures("without_templates")
@pytest.mark.parametrize(
    "make",
    [
        lambda a: (a, a * 2, 3.0),
        lambda a: [a, [a * 2, 3.0]],
        lambda a: {"a": a, "b": (a * 2, {"c": 3.0, "d": a})},
        lambda a: {"a": {}, "b": [a, ()], "c": a},
    ],
)
def test_containers_are_served(make):
    def total(tree):
        leaves = []

        def walk(value):
            if isinstance(value, dict):
                value = list(value.values())
            if isinstance(value, (list, tuple)):
                for item in value:
                    walk(item)
            else:
                leaves.append(value)

        walk(tree)
        return sum(leaves[1:], start=leaves[0] * 1.0)

    function = Watched(total)
    function(make(x))
    assert is_served(function, make(x + 1))
    np.testing.assert_array_equal(function(make(x + 2)), total(make(x + 2)))
    assert not is_served(function, make(x[:3]))
    assert not is_served(function, (make(x),))
    np.testing.assert_array_equal(function(make(x)), total(make(x)))


def test_dicts_in_another_order_are_other_calls():
    function = Watched(lambda d: np.stack([v * 1.0 for v in d.values()]))
    np.testing.assert_array_equal(function({"a": x, "b": -x}), [x, -x])
    np.testing.assert_array_equal(function({"b": -x, "a": x}), [-x, x])
    np.testing.assert_array_equal(function({"a": x, "b": -x}), [x, -x])
    np.testing.assert_array_equal(function({"a": x, "c": -x}), [x, -x])


@pytest.mark.parametrize(
    "kind", [float, complex, np.float64, np.float32, np.complex64, np.complex128, np.int8, np.bool_]
)
def test_numbers_are_served(kind):
    function = Watched(lambda a, s: a * s + s)
    for value in (0, 1, 3, 7):
        got, want = function(x, kind(value)), x * kind(value) + kind(value)
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
    assert function.missed == 1


def test_concurrent_calls_have_tables_of_their_own():
    big = np.ones(300_000)
    function = Watched(lambda a: np.sqrt(a) + np.exp(a))
    want = function(big)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: function(big), range(200)):
            np.testing.assert_array_equal(got, want)
    missed = function.missed
    assert missed < 50
    assert is_served(function, big)


def test_clearing_while_others_compute():
    big = np.ones(300_000)
    function = jitrt.jit(lambda a: np.sqrt(a) + np.exp(a))
    want = function(big)

    def work(k):
        if k % 10 == 0:
            function.clear()
            gc.collect()
        return function(big)

    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(work, range(100)):
            np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("without_templates")
@pytest.mark.parametrize(
    "arguments",
    [
        (x, 2.0),
        (x, 2.0, x, x),
        (x[:5], 2.0, x[:5]),
        (x.astype(np.float32), 2.0, x),
        (x.reshape(1, 6), 2.0, x),
        (np.arange(12.0)[::2], 2.0, x),
        (x[::-1], 2.0, x),
        (x, 2, x),
        (x, np.float64(2), x),
        (x, None, x),
        (np.ma.array(x), 2.0, x),
        (x.astype(">f8"), 2.0, x),
        (np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64), 2.0, x),
        (list(x), 2.0, x),
    ],
    ids=range(14),
)
def test_it_passes_on_everything_else(compiled, arguments):
    before = compiled.missed
    try:
        want = axpy(*arguments)
    except TypeError:
        with pytest.raises(TypeError):
            compiled(*arguments)
        return
    got = compiled(*arguments)
    assert compiled.missed == before + 1
    np.testing.assert_array_equal(got, want)
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_array_equal(compiled(x, 2.0, x), axpy(x, 2.0, x))


def test_scalars_and_tuples():
    def several(a):
        return a.sum(), a * 2, a.max()

    function = Watched(several)
    function(x)
    got = function(x)
    assert function.missed == 1
    assert type(got) is tuple and [type(g) for g in got] == [np.float64, np.ndarray, np.float64]
    assert got[0] == 15.0 and got[2] == 5.0


def test_results_are_fresh_and_writable(compiled):
    first, second = compiled(x, 2.0, x), compiled(x, 3.0, x)
    assert not np.shares_memory(first, second) and first.flags.owndata and first.flags.writeable
    np.testing.assert_array_equal(first, axpy(x, 2.0, x))


def test_no_reference_is_lost_or_kept(compiled):
    a, b, s = np.ones(6), np.ones(6), 1234.5
    gc.collect()
    c, names = np.ones(6), {"b": b, "s": s}

    def counts():
        gc.collect()
        return [sys.getrefcount(o) for o in (a, b, c, s, names, np.ndarray, a.dtype)]

    for _ in range(2):
        compiled(c[::2], s, c[::2]), compiled(a, **names)
        with pytest.raises(TypeError):  # what is remembered of that call is of a dtype
            compiled(a)
    before = counts()
    for _ in range(100):
        compiled(a, s, b)
        compiled(a, **names)
        compiled(c[::2], s, c[::2])
        with pytest.raises(TypeError):
            compiled(a)
        with pytest.raises(FloatingPointError), np.errstate(all="raise"):
            compiled(np.full(6, 1e308), 1e308, b)
    after = counts()
    assert after == before


def test_memory_stays_flat():
    function = jitrt.jit(lambda a: (a * 2, a.sum()))
    big = np.ones(200_000)
    for _ in range(20):
        function(big)
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(500):
        function(big)
    gc.collect()
    assert abs(sys.getallocatedblocks() - blocks) < 50


def test_static_arguments_are_compared():
    function = jitrt.jit(lambda a, n, flag: a * n if flag else a + n)
    for n, flag in [(2, True), (3, True), (2, False), (2, True), (10**6, True), (10**6, True)]:
        np.testing.assert_array_equal(function(x, n, flag), x * n if flag else x + n)


def test_functions_left_to_numpy_are_called_directly():
    def update(a):
        a += 1
        return a

    function = jitrt.jit(update)
    for k in range(40):
        mine = np.full(3 + k % 2, float(k))
        assert function(mine) is mine and mine[0] == k + 1


def test_keywords_do_not_confuse_it(compiled):
    np.testing.assert_array_equal(compiled(x, s=5.0, b=x), axpy(x, 5.0, x))
    np.testing.assert_array_equal(compiled(x, 2.0, x), axpy(x, 2.0, x))


def shift(u, v, s):
    u[1:-1] += s * (u[2:] - u[:-2])
    v *= 2
    return u


def increment(u):
    u += 1


@pytest.mark.parametrize("function", [shift, increment])
def test_changed_arguments_are_served(function):
    compiled = Watched(function)
    arguments = (np.arange(10.0), np.ones(5), 0.5)[: 1 if function is increment else 3]
    for _ in range(4):
        wanted = copy.deepcopy(arguments)
        want = function(*wanted)
        got = compiled(*arguments)
        assert got is (None if want is None else arguments[0])
        for mine, theirs in zip(arguments, wanted):
            np.testing.assert_array_equal(mine, theirs)
    assert compiled.missed == 1


def test_changed_arguments_are_not_served_where_they_overlap():
    compiled = Watched(shift)
    compiled(np.arange(10.0), np.ones(5), 0.5)
    for first, second in [((0, 10), (10, 15)), ((0, 10), (9, 14)), ((5, 15), (3, 8)), ((5, 15), (0, 5))]:
        mine, theirs = np.arange(20.0), np.arange(20.0)
        served = is_served(compiled, mine[slice(*first)], mine[slice(*second)], 0.5)
        assert served == (first[1] <= second[0] or second[1] <= first[0])
        shift(theirs[slice(*first)], theirs[slice(*second)], 0.5)
        np.testing.assert_array_equal(mine, theirs)


def test_what_is_read_only_is_not_changed():
    compiled = Watched(shift)
    compiled(np.arange(10.0), np.ones(5), 0.5)
    fixed, other = np.arange(10.0), np.ones(5)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(fixed, other, 0.5)
    np.testing.assert_array_equal(other, 1.0)


def test_nothing_is_changed_by_a_call_that_raises():
    compiled = Watched(lambda u, v: np.divide(u, v, out=u))
    u, v = np.arange(5.0), np.arange(5.0) + 1
    compiled(u, v)
    before = u.copy()
    v[3] = 0
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        compiled(u, v)
    assert compiled.missed == 1
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.divide(before, v, out=before)
    np.testing.assert_array_equal(u, before)


def test_no_reference_to_changed_arguments_is_lost_or_kept():
    compiled, nothing = Watched(shift), Watched(increment)
    u, v = np.arange(10.0), np.ones(5)
    results = [compiled(u, v, 0.5), nothing(u)]
    before = [sys.getrefcount(o) for o in (u, v, None)]
    for _ in range(1000):
        results = [compiled(u, v, 0.5), nothing(u)]
    after = [sys.getrefcount(o) for o in (u, v, None)]
    assert results[1] is None
    assert max(abs(a - b) for a, b in zip(after, before)) < 50


def test_classes_with_calls_of_their_own_are_called_by_these():
    class Counted(type(jitrt.jit(axpy))):
        calls = 0

        def __call__(self, /, *args, **kwargs):
            self.calls += 1
            return super().__call__(*args, **kwargs)

    compiled, counted = jitrt.jit(axpy), Counted(axpy)
    keywords, vectorcall = {"b": x}, 1 << 11
    for function in (compiled, counted):
        for _ in range(3):
            np.testing.assert_array_equal(function(x, 2.0, b=x), axpy(x, 2.0, x))
            np.testing.assert_array_equal(function(*(x, 2.0), **keywords), axpy(x, 2.0, x))
    assert counted.calls == 6 and not type(counted).__flags__ & vectorcall
    assert type(compiled).__flags__ & vectorcall  # native code is called without a tuple of the arguments
