"""Loops over elements run compiled with the results, types, errors and changed arguments of plain Python."""

import math
import os
import time

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged
from jitrt.runtime import trials
from jitrt.runtime.loopengine import MISS
from jitrt.runtime.stagedloops import LoopEngine
from jitrt.values.glance import has_loops


def _bits(array):
    """The bytes of an array; signs of NaN in complex numbers depend on the compiler that Python was built with."""
    parts = array.ravel().view(array.real.dtype) if array.dtype.kind == "c" else array
    return np.where(np.isnan(parts), np.nan, parts).tobytes() if array.dtype.kind == "c" else array.tobytes()


def same(got, want):
    assert type(got) is type(want), (got, want)
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            same(x, y)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape
        assert _bits(got) == _bits(want)
    else:
        assert repr(got) == repr(want)


def outcome(function, args):
    copies = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    with np.errstate(all="ignore"):
        try:
            return function(*copies), copies, None
        except Exception as error:
            return None, copies, (type(error), str(error))


def agrees(function, *calls, compiled=True):
    """Every call gives what the plain function gives, and the last was served by compiled code."""
    engine = LoopEngine(function)
    fast = jitrt.jit(function)
    for args in calls:
        want = outcome(function, args)
        for _ in range(2):
            got = outcome(fast, args)
            same(got[:2], want[:2])
            assert got[2] == want[2]
    assert bool(fast._loops.source(calls[-1])) == compiled == (engine.active and bool(engine.source(calls[-1])))
    return fast


def prefix_sums(x):
    out = np.zeros_like(x)
    total = 0
    for k in range(len(x)):
        total += x[k]
        out[k] = total
    return out, total


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8, np.uint8])
def test_the_type_of_a_sum_that_starts_from_an_int(dtype):
    x = np.array([1, 2, 3, 50], dtype)
    agrees(prefix_sums, (x,), (x[:0],), (x + x,), (x,))


def test_overflow_of_integers_is_left_to_python():
    def factorial(n, x):
        product = 1
        for k in range(1, n + 1):
            product = product * k
            x[0] = k
        return product

    fast = agrees(factorial, (5, np.zeros(1)), (20, np.zeros(1)))
    same(outcome(fast, (30, np.zeros(1))), outcome(factorial, (30, np.zeros(1))))  # more than 64 bits


def test_what_a_stopped_loop_wrote_is_taken_back():
    def running_product(x):
        for k in range(1, len(x)):
            x[k] = x[k] * x[k - 1]
        return x[-1]

    small, large = np.full(5, 3), np.full(50, 3)
    agrees(running_product, (small,), (large,), (small,))


def test_errors_are_pythons():
    def quotients(x, y, n):
        for k in range(n):
            x[k] = x[k] / y
        return math.sqrt(x[0])

    x = np.array([4.0, 9.0])
    agrees(quotients, (x, 2.0, 2), (x, 0.0, 2), (x, 2.0, 3), (-x, 2.0, 2), (x, 4.0, 1))


def test_negative_and_wrong_indices():
    def picked(x, where):
        total = 0.0
        for k in range(len(where)):
            total += x[where[k]]
        return total

    x = np.arange(4.0)
    agrees(picked, (x, np.array([0, -1, -4])), (x, np.array([4])), (x, np.array([-5])), (x, np.array([1, 2])))


def test_divisions_round_down():
    def both(x, y, s, t):
        q, r, a, b = 0, 0, 0.0, 0.0
        for k in range(len(x)):
            q += x[k] // s
            r += x[k] % s
            a += y[k] // t
            b += y[k] % t
        return q, r, a, b

    x, y = np.arange(-9, 9), np.linspace(-3, 3, 18)
    agrees(both, *[(x, y, s, t) for s in (3, -3, 1, -7) for t in (0.7, -0.7, 2.0)])
    agrees(both, (x, y, 2, 1.5), (x, y, 0, 1.5), (x, y, 2, 0.0), (x, np.full(18, np.inf), 2, 1.5), (x, y, 2, 1.5))


def test_single_precision_stays_single():
    def accumulate(x, s):
        total = np.float32(0)
        for k in range(len(x)):
            total += x[k] * s
        return total, total * 2.0

    x = np.linspace(0, 1, 7, dtype=np.float32)
    agrees(accumulate, (x, 0.1), (x, 0.2))
    agrees(accumulate, (x, np.float32(0.1)))
    agrees(accumulate, (x, np.float64(0.1)))  # a total that becomes a double


def test_the_first_of_equal_types_decides_by_value():
    def largest(x):
        best = -1.0
        where = -1
        for k in range(len(x)):
            if x[k] > best:
                best = x[k]
                where = k
        return best, where

    x = np.array([0.5, 2.0, 1.0])
    agrees(largest, (x,), (-x - 1,), (x[:0],), (x,))


def test_swaps_and_loops_over_rows():
    def reverse(m):
        for row in m:
            for k in range(len(row) // 2):
                row[k], row[len(row) - 1 - k] = row[len(row) - 1 - k], row[k]

    m = np.arange(12.0).reshape(3, 4)
    agrees(reverse, (m,), (m.T,), (m[::-1, ::2],))


def test_strided_and_fortran_arguments():
    def total(m):
        s = 0.0
        for i in range(m.shape[0]):
            for j in range(m.shape[1]):
                s += m[i, j] * (i + 2 * j)
        return s

    m = np.arange(12.0).reshape(3, 4)
    agrees(total, (m,), (m.T,), (m[::-1, ::2],), (np.asfortranarray(m),))


def test_arguments_given_by_default_and_by_name():
    def scaled(x, factor=2.0):
        out = np.empty(len(x))
        for k in range(len(x)):
            out[k] = x[k] * factor
        return out

    x = np.arange(3.0)
    fast = agrees(scaled, (x,), (x, 3.0))
    same(fast(x, factor=4.0), scaled(x, factor=4.0))


def test_numbers_and_arrays_of_the_outside_are_read_at_every_call():
    table = np.array([1.0, 2.0])
    offset = 1

    def f(x):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * table[k % 2] + offset
        return total

    x = np.arange(5.0)
    fast = agrees(f, (x,))
    table[:] = 7.0
    offset = 2
    agrees(f, (x,))
    for _ in range(3):
        same(fast(x), f(x))


def test_overlapping_arguments():
    def smear(x, y):
        for k in range(len(x)):
            y[k] = x[k] + 1
        return y[0]

    fast = jitrt.jit(smear)
    a, b = np.zeros(8), np.zeros(8)
    fast(np.zeros(3), np.zeros(3))
    for _ in range(2):
        fast(a[:-1], a[1:])
        smear(b[:-1], b[1:])
        same(a, b)


def test_read_only_arguments_raise():
    def clear(x):
        for k in range(len(x)):
            x[k] = 0.0

    x = np.ones(3)
    x.flags.writeable = False
    fast = jitrt.jit(clear)
    for argument in (x, np.ones(3), x):
        if argument.flags.writeable:
            fast(argument)
            assert not argument.any()
        else:
            with pytest.raises(ValueError, match="read-only"):
                fast(argument)


def test_calls_that_leave_out_arguments_are_served_like_others():
    def recursion(x, k=2, gain=0.5):
        s1 = s2 = 0.0
        for v in x:
            s0 = v + k * s1 - gain * s2
            s2, s1 = s1, s0
        return s1

    x = np.linspace(0.0, 1.0, 50)
    fast = agrees(recursion, (x,), (x, 3), (x,))
    for args in ((x,), (x, 3), (x, 2, 0.25)):
        assert fast(*args) == recursion(*args)
        assert fast._loops.serve(args) == recursion(*args)  # without a look at what it is called with
    assert fast._loops.faster_plain((x,), fast) is None


def test_arguments_by_name_are_served_like_others():
    def recursion(x, k=2, /, gain=0.5, *, shift=0.0):
        return x, k, gain, shift

    def filtered(x, k=2, gain=0.5, out=None):
        total = 0.0 if out is None else 1.0
        for v in x:
            total = v + k * total - gain * v
        return total

    x = np.linspace(0.0, 1.0, 50)
    fast = jitrt.jit(filtered)
    for kwargs in ({"k": 3}, {"gain": 0.25}, {"gain": 0.25, "k": 1}, {"out": 1}, {"gain": np.float64(2.0)}):
        for _ in range(3):
            assert repr(fast(x, **kwargs)) == repr(filtered(x, **kwargs))
        assert fast._loops.serve(fast._loops.by_position((x,), kwargs)) == filtered(x, **kwargs)
    assert repr(fast(gain=0.5, x=x)) == repr(filtered(x))
    for args, kwargs in (((x,), {"x": x}), ((x,), {"other": 1}), ((), {"k": 1}), ((x, 1, 2, 3, 4), {"k": 1})):
        assert fast._loops.by_position(args, kwargs) is None
        with pytest.raises(TypeError):
            fast(*args, **kwargs)
    assert LoopEngine(recursion).by_position((x,), {"gain": 1}) is None  # it has parameters that only have names


def test_floating_point_exceptions_are_what_the_error_state_says():
    def weighted(x, w, out):
        total = 0.0
        for k in range(len(x)):
            out[k] = x[k] * w[k]
            total += out[k]
        return total

    fast = jitrt.jit(weighted)
    x, w = np.ones(300), np.ones(300)
    x[7] = np.inf
    for _ in range(3):
        agrees(fast.__wrapped__, (x, w, np.zeros(300)))
        assert fast(x, w, np.zeros(300)) == np.inf
    w[7] = 0
    for _ in range(3):
        results = [np.zeros(300), np.zeros(300)]
        with np.errstate(all="ignore"):
            assert np.isnan(fast(x, w, results[0]))
        with pytest.warns(RuntimeWarning, match="invalid value encountered in scalar multiply"):
            assert np.isnan(fast(x, w, results[0]))
        for function, out in zip((fast, weighted), results):
            out[:] = 5
            message = "invalid value encountered in scalar multiply"
            with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message):
                function(x, w, out)
        same(*results)
    w[7] = 1e-300
    assert fast(x, w, np.zeros(300)) == np.inf
    assert fast._loops.serving


def test_trials_of_short_calls_do_not_warn_again():
    def total(x, w):
        s = 0.0
        for k in range(len(x)):
            s += x[k] * w[k]
        return s

    fast = jitrt.jit(total)
    for _ in range(40):
        with pytest.warns(RuntimeWarning) as caught:
            fast(np.array([1.0, np.inf]), np.array([1.0, 0.0]))
        assert len(caught) == 1


def test_returning_an_argument_gives_that_object():
    def clear(x):
        for k in range(len(x)):
            x[k] = 0.0
        return x

    fast = jitrt.jit(clear)
    for _ in range(3):
        x = np.ones(3)
        assert fast(x) is x and not x.any()


def test_slices_rows_tuples_and_counts():
    def sieve(n):
        prime = np.ones(n + 1, dtype=bool)
        prime[:2] = False
        k = 2
        while k * k <= n:
            if prime[k]:
                prime[k * k :: k] = False
            k += 1
        return prime, prime.sum()

    def neighbours(m):
        total = 0
        for row in m[1:-1]:
            for d in (-1, 0, 1):
                total += row[d + 1]
        return total

    def area(points):
        twice = 0.0
        for k in range(len(points)):
            x, y = points[k - 1]
            u, v = points[k]
            twice += x * v - u * y
        return twice / 2

    def roots(edges, n):
        parent = np.arange(n)
        for a, b in edges:
            while parent[a] != a:
                a = parent[a]
            parent[a] = parent[b]
        return parent

    m = np.arange(20).reshape(4, 5)
    agrees(sieve, (30,), (100,))
    agrees(neighbours, (m,), (m[:2],), (m[::-1],), (m,))
    agrees(area, (m[:, :2] * 1.5,), (m[:, 1:3] * 0.5,), (m * 1.0,), (m[:0] * 1.0,), (m[:, :2] * 1.5,))
    agrees(roots, (m[:, :2], 20), (m[:2, 1:3], 20), (m[:, :3], 20), (m[:, :2], 5), (m[::-1, 3:], 20))


def test_conditions_of_python_and_numpy_truth_values():
    def nearest(distance, done):
        u = -1
        for k in range(len(distance)):
            if not done[k] and (u < 0 or distance[k] < distance[u]):
                u = k
        return u

    d = np.array([3.0, 1.0, 2.0])
    agrees(nearest, (d, np.zeros(3, bool)), (d, np.array([False, True, False])), (d, np.ones(3, bool)))


def _prints(x):
    for k in range(len(x)):
        print(x[k])


def _list(x):
    out = []
    for _ in range(len(x)):
        out.append(x)
    return out


def _array_operation(x):
    for k in range(len(x)):
        x = x + k
    return x


def _small(x, y):
    for k in range(len(x)):
        x[k] = y[k] * 2
    return x


def test_a_variable_that_only_a_loop_assigns():
    def last(x):
        for k in range(len(x)):
            found = x[k]
        return found

    x = np.arange(3.0)
    agrees(last, (x,), (x[:0],), (x,))


@pytest.mark.parametrize("function", [_prints, _list, _array_operation])
def test_refused(function):
    assert has_loops(function.__code__)
    engine, args = LoopEngine(function), (np.ones(3),)
    assert engine.call(args) is MISS and engine.reason(args)


def test_complex_numbers_and_halves_are_refused():
    for dtype in (np.complex128, np.float16):
        with pytest.raises(NotStaged):
            stage(_small, (np.ones(3), np.ones(3, dtype)))


def test_values_that_do_not_fit_are_left_to_numpy():
    x = np.zeros(2, np.int8)
    agrees(_small, (x, np.array([3, -4])), (x, np.array([300, -4])), (x, np.array([63, 64])), (x, np.array([1, 2])))


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("target", ["i1", "i2", "i4", "i8", "u1", "u2", "u4"])
@pytest.mark.parametrize("source", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8"])
def test_numbers_of_numpy_that_do_not_fit(source, target):
    def copied(x, y):
        for k in range(len(x)):
            x[k] = y[k]

    limits = np.iinfo(target)
    x, y = np.zeros(100, target), np.arange(100).astype(source)
    calls = [(x, y)]
    for value in (int(limits.max) + 1, int(limits.min) - 1, 3 * int(limits.max)):
        if source[0] == "f" or np.iinfo(source).min <= value <= np.iinfo(source).max:
            wrong = y.copy()
            wrong[70] = value
            calls.append((x, wrong))
    agrees(copied, *calls, (x, y))


def test_the_first_call_is_compiled(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")

    def work(x):
        total = 0.0
        for k in range(len(x)):
            total = total * 0.5 + x[k]
        return total

    fast = jitrt.jit(work)
    x = np.arange(2000.0)
    same(fast(x), work(x))
    assert "compiled as one function" in fast.explain(x).text() and fast._loops.serving


def _grow(x, step):
    for k in range(1, len(x)):
        x[k] += x[k - 1] * step
    return x


def _doubled(x):
    made = []
    for v in x:
        made.append(v * 2)
    return made


def test_short_calls_run_plain_where_that_is_faster(monkeypatch):
    """Native code calls the plain function for arguments like theirs: lists of results are made in Python."""
    monkeypatch.setattr(trials, "_seconds", lambda loop, run, call: 1e-6 if run is loop.function else 1e-5)
    fast = jitrt.jit(_doubled)
    for k in range(200):
        assert fast(np.arange(1) + 0.5 * k) == _doubled(np.arange(1) + 0.5 * k)
    assert fast.cache_info().tables == 2 and fast.cache_info().slow_calls < 20


def test_short_calls_that_write_are_served_natively():
    fast = jitrt.jit(_grow)
    for k in range(200):
        same(fast(np.arange(1) + 0.5 * k, 0.5), _grow(np.arange(1) + 0.5 * k, 0.5))
    assert fast.cache_info().slow_calls < 20


OUTSIDE = np.zeros(3)


def _lower_outside(x):
    for k in range(len(x)):
        x[k] = x[k] * 0.5
    OUTSIDE[:] -= 1.0
    return x


def test_trials_of_short_calls_do_not_change_arrays_of_outside():
    fast = jitrt.jit(_lower_outside)
    for n in (3, 12, 3, 70):
        for _ in range(30):
            before = OUTSIDE[0]
            fast(np.arange(n) + 0.5)
            assert OUTSIDE[0] == before - 1


def test_trials_of_short_calls_do_not_change_arguments():
    fast = jitrt.jit(_grow)
    for n in (3, 12, 3, 70, 12):
        for k in range(40):
            same(fast(np.arange(n) + 0.5 * k, 0.5), _grow(np.arange(n) + 0.5 * k, 0.5))
    assert fast._loops.serving


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_computes():
    def work(x):
        total = 0.0
        for k in range(len(x)):
            total = total * 0.25 + x[k]
        return total

    fast = jitrt.jit(work)
    x = np.arange(100.0)
    want = [fast(x) for _ in range(3)][-1]
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, repr(fast(x)).encode())
        os._exit(0)
    deadline = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG)[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert os.read(reader, 100).decode() == repr(want)


def test_memory_of_procedures_is_freed():
    def turned(x):
        for k in range(40):
            x = x * x[k]
            x[k + 1] = 0.5
        return x[1:].sum() + x[0]

    fast = jitrt.jit(turned)
    x = np.linspace(1, 2, 1000)
    same(fast(x), fast(x))
    (loops,) = fast._loops._loops.values()
    assert loops[0].pool
    fast.release()
    assert not loops[0].pool
    assert abs(fast(x) - turned(x)) < 1e-9 * turned(x)


def box(x, out):
    for i in range(3):
        for j in range(3):
            out += x[i : len(x) - 2 + i, j : x.shape[1] - 2 + j] * (i + j)
    return sum(x[i : len(x) - 2 + i] for i in range(3)) / 3


def box_and_medians(x, out):
    return [np.median(x[:, k]) for k in range(3)], box(x, out)


@pytest.mark.parametrize(("function", "staged"), [(box, False), (box_and_medians, True)])
def test_few_iterations_with_operations_on_arrays_are_one_expression(function, staged):
    """Written out they are fused; but what NumPy would have to execute then is better off in a loop."""
    fast = jitrt.jit(function)
    for shape in [(5, 5), (40, 30)]:
        x = np.random.default_rng(0).random(shape)
        got, want = np.zeros((shape[0] - 2, shape[1] - 2)), np.zeros((shape[0] - 2, shape[1] - 2))
        same(fast(x, got), function(x, want))
        same(got, want)
    assert bool(fast._loops.source((x, got))) == staged


@pytest.mark.parametrize("effect", ["b *= b", "log.append(1)", "keep['n'] += 1", "a.sort()"])
@pytest.mark.parametrize("stop", ["raise KeyError", "if b[0] > 0.4: raise KeyError", "{}[k]"])
def test_trials_have_no_effects(effect, stop):
    """Where a procedure stops the plain function does what the procedure has no part of, and it does so once."""
    source = f"""
def f(a, b, k):
    total = 0.0
    for v in a:
        total = total * 0.5 + v
    try:
        {stop}
    except KeyError:
        {effect}
    b[0] += 0.125
    return total
"""

    def outcome(decorate):
        log, keep = [], {"n": 0}
        call, found = decorate(function_of(source, log=log, keep=keep)), []
        b = np.array([0.25, 2.0])
        for _ in range(4):
            a = np.linspace(0.0, 1.0, 9)[::-1].copy()
            found.append((call(a, b, 3), a.tolist(), b.tolist(), len(log), keep["n"]))
        return found

    assert outcome(jitrt.jit) == outcome(lambda function: function)


@pytest.mark.parametrize("value", ["[1, 2, 3]", "(1.5, 2.5, 3.5)", "[]", "'x'", "None", "[[1, 2, 3]]", "{}"])
@pytest.mark.parametrize("mask", ["a > 1", "a <= a", "a > 9"])
def test_masks_take_what_numpy_converts(mask, value):
    fast = function_of(f"def f(a):\n    a[{mask}] = {value}\n    return a")

    def outcome(call):
        a = np.array([1.0, 2.0, 0.5, 3.0, 4.0])
        try:
            return call(a).tolist(), a.tolist()
        except (ValueError, TypeError) as error:
            return type(error), str(error), a.tolist()

    compiled = jitrt.jit(fast)
    for _ in range(3):
        assert repr(outcome(compiled)) == repr(outcome(fast))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float64])
@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, 2**70, -(2**63) - 1])
def test_large_integers_fill_arrays(number, dtype):
    def filled(n):
        total = 0
        for k in range(n):
            total = total + np.full(n, number, dtype)[k]
        return total

    def alike(n):
        total = 0
        for k in range(n):
            total = total + np.full_like(np.zeros(n, dtype), number)[k]
        return total

    for function in (filled, alike):
        compiled, outcomes = jitrt.jit(function), []
        for f in (function, compiled, compiled, compiled):
            try:
                made = f(3)
                outcomes.append((type(made), made))
            except OverflowError as error:
                outcomes.append(str(error))
        assert outcomes[1:] == [outcomes[0]] * 3
