"""Functions that look at values: the same results in every call, whatever the values are."""

import math
import warnings

import numpy as np
import pytest
from helpers_elsewhere import asserts, asserts_after_a_write
from test_mutation import assert_equal, numbers

import jitrt


def check(function, calls, compiled=True):
    """Plain and compiled agree in each of `calls`, which are argument tuples, run twice over."""
    fast = jitrt.jit(function)
    if compiled:
        assert fast.explain(*copies(calls[0])).plain_reason == ""
    for args in (*calls, *calls):
        mine, plain = copies(args), copies(args)
        try:
            want = function(*plain)
        except Exception as error:
            with pytest.raises(type(error)) as raised:
                fast(*mine)
            assert str(raised.value) == str(error)
            continue
        assert_equal(fast(*mine), want)
        assert_equal(mine, plain)
    return fast


def copies(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def branch(x):
    y = x * 2
    if y.sum() > 10:
        return y - 1
    elif y.max() > 2 and not y.min() > 5:
        return y, x
    return -y


def early_return(x):
    if not (x > 0).all():
        return None
    return np.sqrt(x)


def bisect(a):
    low, high = np.zeros_like(a), np.maximum(a, 1.0)
    rounds = 0
    while (high - low).max() > 1e-6:
        middle = 0.5 * (low + high)
        small = middle**3 < a
        low, high = np.where(small, middle, low), np.where(small, high, middle)
        rounds += 1
    return 0.5 * (low + high), rounds


def newton(x):
    for _ in range(50):
        step = (x * x - 2) / (2 * x)
        x = x - step
        if np.abs(step).max() < 1e-12:
            break
    else:
        raise RuntimeError("no convergence")
    return x


def own_exception(x):
    total = x.sum()
    if total > 100:
        raise ValueError(f"too large: {total:.1f}")
    return x / total


def caught_exception(x):
    try:
        if x[0] > 2:
            raise KeyError("first")
        y = x + 1
    except KeyError as error:
        y = x * len(error.args)
    finally:
        y = y * 2
    return y


def writes_in_a_branch(x, y):
    x[0] = -1
    if y.sum() > 3:
        x += y
        y[:] = 0
    x[1:] *= 2
    return x.sum()


def converges_in_place(x):
    while x.max() > 1:
        x *= 0.5
    return x


def number_of_rows(x):
    n = int(x[0]) % 5 + 1
    out = np.zeros((n, 2))
    for k in range(n):
        out[k] = x[:2] * k
    return out


def python_scalars(x):
    total = float(x.sum())
    return math.sqrt(total), max(x[0], x[1]), min(float(x[0]), 2.0), round(total, 2), x * total


def comparisons_are_chained(x):
    s = x.mean()
    return [v for v in (0.5, 1.5, 2.5) if 0 < v < s], sorted([x[2], x[0], x[1]]), s in (1.0, 2.0)


def formatted(x):
    return f"{x.sum():.2f} {x[0]} {x.astype(int)}", str(x[:2]), repr(x[0] * 2)


def looped_rows(x):
    found = []
    for row in x.reshape(2, -1):
        if row.sum() > 4:
            found.append(row * 2)
    return found


def listed(x):
    return (x * 2).tolist(), x.sum().item(), x[1].tolist()


def views_across_a_look(x):
    y = x + 1
    part = y[1:]
    if y.sum() > 5:
        part[0] = 100
    y[-1] = 7
    return y, part


def first_positive(x):
    for k, v in enumerate(x):
        if v > 1:
            return k
    return -1


def recursive(x):
    if x.size == 1 or x.sum() < 1:
        return x.sum()
    half = x.size // 2
    return recursive(x[:half]) + recursive(x[half:])


def generator_inside(x):
    def parts():
        k = 0
        while x[k] < 2:
            yield x[k] * 2
            k += 1

    return sum(parts())


def result_of_an_early_segment(x):
    y = x * 3
    z = x * 3
    flag = bool(y[0] > 2)
    return y, z, y[1:], flag


FUNCTIONS = [
    branch, early_return, bisect, newton, asserts, own_exception, caught_exception, converges_in_place,
    number_of_rows, python_scalars, comparisons_are_chained, formatted, looped_rows, listed, views_across_a_look,
    first_positive, recursive, result_of_an_early_segment,
]  # fmt: skip
VALUES = [
    np.array([1.0, 2.0, 3.0, 4.0]),
    np.array([0.5, 0.25, 0.125, 2.0]),
    np.array([30.0, 40.0, 50.0, 2.5]),
    np.array([0.125, 0.25, 0.125, 0.375]),  # all of them have exact sums, in any order
    np.array([-1.0, 2.0, 0.0, 9.0]),
    np.array([3.0, 1.0, 1.0, 1.0]),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function):
    values = VALUES[1:] if function in (newton, bisect) else VALUES
    values = [v for v in values if function is not newton or (v > 0).all()]
    check(function, [(v,) for v in values])


def test_writes_to_arguments_happen_once():
    check(writes_in_a_branch, [(a, b) for a in VALUES for b in VALUES[:2]])


def test_generators_that_look_at_values():
    check(generator_inside, [(v,) for v in VALUES if (v >= 2).any()])


def test_nothing_is_written_before_an_exception():
    check(asserts_after_a_write, [(v,) for v in VALUES])


def test_a_known_way_runs_without_python():
    fast = jitrt.jit(counted)
    for value in (1.0, 2.0, -1.0, -2.0, 3.0):
        fast(np.full(3, value))
    explanation = fast.explain(np.ones(3))
    assert explanation.looked_at and "test_segments.py" in explanation.looked_at[0]
    assert len(explanation.kernels) >= 2


def counted(x):
    return x * 2 if x.sum() > 0 else x - 1


def test_equal_segments_are_one_program(without_procedures):

    def bisect_seen(a):  # a loop that keeps its middles cannot become one step
        low, high = np.zeros_like(a), np.maximum(a, 1.0)
        middles = []
        while (high - low).max() > 1e-6:
            middles.append(0.5 * (low + high))
            small = middles[-1] ** 3 < a
            low, high = np.where(small, middles[-1], low), np.where(small, high, middles[-1])
        return 0.5 * (low + high), len(middles)

    explanation = jitrt.jit(bisect_seen).explain(VALUES[2])
    assert len(explanation.looked_at) > 20 and len(explanation.programs) <= 4


def test_values_that_change_in_every_call():
    def scaled(x):
        return x / x.sum().tolist() + np.zeros(3)

    fast = jitrt.jit(scaled)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(40):
            assert_equal(fast(numbers(3) + k), scaled(numbers(3) + k))
    assert [w.category for w in caught] == [jitrt.JitrtPerformanceWarning]


def test_values_that_change_in_every_call_of_large_arrays(without_procedures):

    def normalised(x, steps):
        for _ in range(steps):
            size = np.abs(x).max().tolist()
            x = x / size + 0.5
            x[0] = size
            x[x > 2] = np.sqrt(x[x > 2])
        return x, size

    fast, compiled = jitrt.jit(normalised), 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(24):
            value = np.linspace(-1, 3 + k, 1_000_000)
            got, want = fast(value.copy(), 2), normalised(value.copy(), 2)
            np.testing.assert_allclose(got[0], want[0], rtol=1e-14)
            assert type(got[1]) is float and math.isclose(got[1], want[1], rel_tol=1e-14)
            compiled = fast._traced.programs.count if k <= 14 else compiled
    assert [str(w.message) for w in caught if "traced at every call" in str(w.message)]
    assert fast._traced.programs.count == compiled


def test_large_arrays_that_are_looked_at():
    def listed_all(x):
        return sum((x * 2).tolist())

    fast = jitrt.jit(listed_all)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jitrt.JitrtPerformanceWarning)
        for k in range(12):
            assert_equal(fast(numbers(2000) + k), listed_all(numbers(2000) + k))


def test_nan_and_signed_zero_are_told_apart():
    def signs(x):
        return math.copysign(1.0, float(x[0])), float(x[0]) != float(x[0]), x + 1

    check(signs, [(np.array([v, 1.0]),) for v in (0.0, -0.0, 1.0)])
    fast = jitrt.jit(signs)
    for v in (0.0, -0.0, np.nan, 0.0):
        got, want = fast(np.array([v])), signs(np.array([v]))
        assert got[:2] == want[:2]


def test_python_floats_are_compared():
    def step(x, threshold, scale):
        if threshold > 0.5 and scale != 0:
            return x * threshold
        return x * (threshold < 1) + scale

    check(step, [(VALUES[0], t, s) for t in (0.1, 0.5, 0.7, 2.0) for s in (0.0, 2.5)])


def test_a_comparison_of_python_floats_is_a_python_bool():
    def flags(x, t):
        return t > 0.5, not t, x * 1

    check(flags, [(VALUES[0], t) for t in (0.0, 0.7)])


def test_math_of_traced_numbers():
    def angles(x, t):
        return math.sin(t) + math.hypot(t, 2.0), x * math.exp(-t), math.floor(t), math.isnan(t)

    check(angles, [(VALUES[0], t) for t in (0.25, 1.5, 1.75)])


def test_a_way_that_writes_to_arguments_that_overlap():
    def step(a, b):
        if b.sum() > 100:
            a += b
            b *= 2
        return a.sum()

    fast = jitrt.jit(step)
    for value in (1.0, 2.0, 200.0, 1.0, 300.0):
        for views in (lambda m: (m, m), lambda m: (m[1:], m[:-1]), lambda m: (m[::2], m[1::2])):
            mine, plain = np.full(6, value), np.full(6, value)
            assert fast(*views(mine)) == step(*views(plain))
            assert_equal(mine, plain)


def test_explain_writes_nothing():
    mine = VALUES[0].copy()
    jitrt.jit(converges_in_place).explain(mine)
    assert_equal(mine, VALUES[0])


def test_looks_and_calls_are_logged(caplog):
    with caplog.at_level("INFO", "jitrt.trace"):
        jitrt.jit(lambda x: np.partition(x, 1) if x.sum() > 0 else x)(VALUES[0])
    assert "looks at a value (bool) at" in caplog.text and "leaves np.partition to NumPy" in caplog.text
    assert "test_segments.py" in caplog.text


def test_a_loop_whose_turns_are_different_large_graphs_is_not_compiled_turn_by_turn(without_procedures):

    def eliminate(a):
        for k in range(len(a)):
            pivot = k + int(np.argmax(np.abs(a[k:, k])))
            a[[k, pivot]] = a[[pivot, k]]
            for i in range(k + 1, len(a)):
                a[i, k:] -= a[i, k] / a[k, k] * a[k, k:]
        return a

    make = lambda: np.random.default_rng(0).normal(size=(40, 40))  # noqa: E731
    fast = jitrt.jit(eliminate)
    assert "looks at values more than" in fast.explain(make()).plain_reason
    assert fast._traced.programs.count < 5
    np.testing.assert_array_equal(fast(make()), eliminate(make()))


@pytest.mark.parametrize("before", range(2, 7))
def test_a_way_that_comes_later_reads_what_others_do_not(before):
    def either(x, y):
        first, second = x * y, x - y
        if first[0] > 0:
            return first.sum()
        return second.max() if second[1] > 0 else second.min()

    compiled = jitrt.jit(either)
    x, y = np.arange(1.0, 5.0), np.ones(4)
    for sign in [1] * before + [-1] * 3 + [1, -1]:
        assert compiled(sign * x, y) == either(sign * x, y)
