"""Native calls of procedures that write their arguments, take objects apart, or return what holds other things."""

import collections
import copy
import gc
import sys

import numpy as np
import pytest

import jitrt
from jitrt.runtime.objects import fields

pytestmark = pytest.mark.skipif(fields() is None, reason="objects of this build of Python lie elsewhere")
X = np.random.default_rng(2).random((60, 50))


def described(value):
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return type(value), [(k, described(v)) for k, v in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value), [described(v) for v in value]
    return (type(value), described(vars(value))) if hasattr(value, "__dict__") else (type(value), repr(value))


def ended(run, args):
    with np.errstate(all="raise"):
        try:
            made = run(*args)
        except Exception as error:
            made = type(error), str(error)
    return described(made), described(args)


def copied(args):
    """Copies of the arguments that lie in memory as these do."""
    memo = {}
    for a in args:
        if isinstance(a, np.ndarray) and a.base is not None:
            base = a.base.copy()
            at = a.ctypes.data - a.base.ctypes.data
            memo[id(a)] = np.ndarray(a.shape, a.dtype, base, at, a.strides)
    return copy.deepcopy(args, memo)


def served(function, *calls, odd=()):
    """Calls are served as the plain function serves them, and `calls` in native code alone in the end."""
    fast = jitrt.jit(function)
    for args in (*calls, *calls, *odd, *calls):
        assert ended(fast, copied(args)) == ended(function, copied(args))
    assert fast._loops.source(calls[0])
    slow = fast.cache_info().slow_calls
    for args in calls:
        assert ended(fast, copied(args)) == ended(function, copied(args))
    assert fast.cache_info().slow_calls == slow
    for args in odd:
        assert ended(fast, copied(args)) == ended(function, copied(args))
    return fast


def decayed(x, y, k):
    for i in range(len(x)):
        x[i] = x[i] * 2 + 1
        y[i % 3] = 1 / x[i]
    y[1] = x[k]


@pytest.mark.wide
@pytest.mark.parametrize("step", [1, 2, -3])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_what_was_written_is_taken_back(dtype, step):
    x = (X[:, 0] * 9 + 1).astype(dtype)[::step]
    y = np.ones((3, 4), dtype)[:, 1] if dtype[0] != "i" else np.ones(9, "f8")[::3]
    bad = np.repeat(x, 2)[::2]
    bad[len(bad) // 2] = -0.5  # which gives a division by zero, but for integers
    served(decayed, (x, y, 3), (x[5:], y, 0), (x, y, -1), odd=[(x, y, 99), (bad, y, 1), (x, x[:3], 1), (x[:0], y, 0)])


@pytest.mark.parametrize("turn", [lambda a: a, lambda a: a.T, lambda a: a[::-2, 1::3], lambda a: a[:, ::-1]])
def test_arrays_of_any_layout_are_taken_back(turn):
    def spread(a, limit):
        for i in range(1, a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = a[i, j] + a[i - 1, j] * 0.5
                if a[i, j] > limit:
                    a[i, j] = 1.0 / (a[i, j] - a[i, j])

    given = turn(X.copy())
    served(spread, (given, 10.0), (given[3:], 20.0), odd=[(given, 1.2), (given, 0.9), (given[:1], 0.0)])


def test_arrays_that_overlap_themselves():
    def doubled(a):
        for i in range(a.shape[0]):
            a[i, 1:] = a[i, :-1] * 2 + a[i, 1:]

    def windows(base, shape, strides):
        return np.ndarray(shape, base.dtype, base, 0, strides)

    base = np.arange(900.0)
    apart, over = windows(base, (20, 40), (320, 8)), windows(base, (20, 40), (8, 8))
    served(doubled, (apart[:, ::-1],), (apart[::2],), odd=[(over,), (over[:, ::-1],), (windows(base, (3, 0), (0, 0)),)])


class Spring:
    def __init__(self, k, x, name="s"):
        self.k, self.x, self.name = k, x, name

    def force(self, i):
        return -self.k * self.x[i]


class Slotted:
    __slots__ = ("k", "name", "x")

    def __init__(self, k, x, name="s"):
        self.k, self.x, self.name = k, x, name

    force = Spring.force


Pair = collections.namedtuple("Pair", "k x")


def energy(spring, n):
    total = 0.0
    for i in range(n):
        total = total + spring.force(i) * spring.x[i]
    return total, spring.x


@pytest.mark.parametrize("kind", [Spring, Slotted])
def test_objects(kind):
    calls = [(kind(2.0, X[0]), 9), (kind(3.0, X[1]), 40), (kind(-1.0, X[2][:7].copy()), 7)]
    fast = jitrt.jit(energy)
    for _ in range(3):
        for spring, n in calls:
            got, want = fast(spring, n), energy(spring, n)
            assert got == want or (got[0] == want[0] and got[1] is want[1])
    slow = fast.cache_info().slow_calls
    for spring, n in calls:
        spring.k = spring.k * 2
        spring.name = "another"
        assert fast(spring, n)[0] == energy(spring, n)[0]
    assert fast._loops.source(calls[0]) and fast.cache_info().slow_calls == slow
    for changed, n in ((kind(2, X[0]), 9), (kind(2.0, X[0].astype("f4")), 9), (kind(2.0, X[0]), 99)):
        assert ended(fast, (changed, n))[0] == ended(energy, (changed, n))[0]


def test_a_method_that_is_replaced():
    class Weight:
        def __init__(self, k):
            self.k = k

        def of(self, x):
            return self.k * x

    def weighed(weight, x):
        total = 0.0
        for v in x:
            total = total + weight.of(v)
        return total

    fast = jitrt.jit(weighed)
    for _ in range(4):
        assert fast(Weight(2.0), X[0]) == weighed(Weight(2.0), X[0])
    Weight.of = lambda self, x: self.k + x
    for _ in range(4):
        assert fast(Weight(2.0), X[0]) == weighed(Weight(2.0), X[0])


def test_tuples_named_tuples_and_dicts():
    def of_tuple(p, n):
        total = 0.0
        for i in range(n):
            total = total + p[0] * p[1][i]
        return total

    def of_pair(p, n):
        total = 0.0
        for i in range(n):
            total = total + p.k * p.x[i]
        return total

    def of_dict(p, n):
        for i in range(n):
            p["x"][i] = p["k"] * p["x"][i]
        return p["x"]

    x, z = X[0].copy(), X[1].copy()
    served(of_tuple, ((2.0, x), 30), ((1.5, z), 50), odd=[((2.0, x), 51), ((2, x), 5), ((2.0, x, 1), 5)])
    served(of_pair, (Pair(2.0, x), 30), (Pair(1.5, z), 50), odd=[((2.0, x), 30), (Pair(2.0, x), 51)])
    odd = [({"x": x, "k": 2.0}, 30), ({"k": 2.0, "x": x}, 51), ({"k": 2.0}, 3)]
    served(of_dict, ({"k": 2.0, "x": x}, 30), ({"k": 1.5, "x": z}, 50), odd=odd)


def test_results_that_hold_others():
    def several(x, n):
        total, found = 0.0, []
        for i in range(n):
            total = total + x[i]
            if x[i] > 0.5:
                found.append(x[i] * 2)
        out = np.zeros(n)
        for i in range(n):
            out[i] = total
        return {"total": total, 3: [n, (out, None, [])]}, found, (total, complex(total, n))

    fast = served(several, (X[0], 30), (X[1], 50), (X[2], 0))
    x, n = X[3].copy(), 40
    gc.collect()
    objects = (x, np.dtype(float), None, "total", fast)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(1000):
        fast(x, n)
    assert all(abs(sys.getrefcount(o) - b) < 500 for o, b in zip(objects, before))  # a leak would be one a call


def test_whole_arrays_up_to_a_size():
    def settled(a, b, limit):
        for _ in range(4):
            if a.sum() > limit:
                break
            a = a + b
        return a

    large = np.ones(1 << 18)
    served(settled, (X[0], X[1], 90.0), (X[2], X[3], 1e9), odd=[(large, large, 1e9), (large[:9], large[:8], 1e9)])


def test_arguments_by_default():
    def scaled(x, factor=2.0, n=9):
        total = 0.0
        for _ in range(n):
            for v in x:
                total = total + factor * v
        return total

    fast = served(scaled, (X[0],), (X[1],))
    scaled.__defaults__ = (3.0, 8)
    for _ in range(3):
        assert fast(X[0]) == scaled(X[0]) and fast(X[0], 1.0) == scaled(X[0], 1.0)


def test_a_new_array_or_an_argument():
    def grown(x, y, k):
        z = x
        for i in range(k):
            z = z + y[i]
            if z[0] > 1e9:
                break
        return z

    fast = served(grown, (X[0], X[1], 5), (X[2], X[1], 9))
    for _ in range(3):
        x = X[0].copy()
        assert fast(x, X[1], 0) is x and fast(x, X[1], 1) is not x
