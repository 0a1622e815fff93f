"""Loops that use the number of the iteration, or count integers up: as symbols where that is right."""

import numpy as np
import pytest
from compare import assert_same
from test_rolling import X, Y, check, nodes

import jitrt


def same_as_plain(function, *args):
    want = function(*args)
    for _ in range(2):
        assert_same(jitrt.jit(function)(*args), want)


FORMS = (
    "x + i * 0.5",
    "x + dt * i",
    "x * (i + 1)",
    "x + (3 - i) * dt",
    "x - i",
    "i - x",
    "x + i / 7",
    "x + 2 * (i - 1) / steps",
    "x * -i",
    "x + np.sin(0.1 * i)",
    "x + (i * dt - 0.25)",
    "x / (i + 1)",
    "x + i * (x[0, 0] * 0.5)",
)


@pytest.mark.wide
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("numbers", ["steps", "2, steps, 3", "steps, 0, -1"])
def test_arithmetic(form, numbers):
    namespace = {"np": np}
    source = f"def run(x, dt, steps):\n    for i in range({numbers}):\n        x = {form} * 0.5\n    return x, i"
    if "sin" in form:
        source = source.replace("np.sin(0.1 * i)", "np.sqrt(0.1 * i + 5)")
    exec(source, namespace)
    check(namespace["run"], X, 0.125, 40)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.complex64])
def test_dtypes(dtype):
    def run(x):
        for i in range(20):
            x = x * 0.5 + i
        return x

    check(run, X.astype(dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.bool_])
def test_integers_are_checked_one_by_one(dtype):
    def run(x):
        for i in range(20):
            x = x + i
        return x

    same_as_plain(run, np.arange(6).astype(dtype))


def test_number_that_does_not_fit():
    def run(x):
        for i in range(300):
            x = x + i
        return x

    with pytest.raises(OverflowError):
        jitrt.jit(run)(np.arange(6, dtype=np.uint8))


OTHERS = (
    "x[i % 4] + x",
    "x * (i % 3)",
    "x + i**2",
    "x + i // 2",
    "x if i < 5 else x * 0.5",
    "x * w[i]",
    "x + len(str(i))",
    "x + float(i)",
    "x + int(i)",
    "x + {3: 2.0}.get(i, 1.0)",
    "x * (0.5 if isinstance(i, int) else 2)",
    "x * (0.5 if type(i) is int else 2)",
    "x + abs(i - 3)",
    "x + min(i, 4)",
    "x + np.full(6, i)",
    "x + np.float64(i)",
    "x + np.arange(6) * i",
    "x * 2.0**-i",
    "x + sum(range(i))",
    "x + i.bit_length()",
    "x * (i == 3)",
    "np.add(x, i)",
    "np.where(x > 0, x, i)",
    "x + (1j * i).imag",
    "x + bool(i)",
    "x + round(i / 3)",
)


@pytest.mark.parametrize("form", OTHERS)
def test_other_uses(form):
    namespace = {"np": np}
    source = f"def run(x, w):\n    for i in range(12):\n        x = ({form}) * 0.5\n    return x"
    exec(source, namespace)
    want = namespace["run"](X, [0.5] * 12)
    assert_same(jitrt.jit(namespace["run"])(X, [0.5] * 12), want)


def test_in_place():
    def run(x):
        x = x.copy()
        for i in range(20):
            x[1:-1] += i * 0.25
            x *= 0.5
            x[0] = i
            x -= i
        return x

    same_as_plain(run, X)


def test_time_that_is_counted_up():
    def run(x, dt, steps):
        t = 0.0
        for _ in range(steps):
            x = x + np.sqrt(t + 1) * dt
            t += dt
        return x, t

    check(run, X, 0.125, 20)


def test_counters():
    def run(x, steps):
        k, odd, down = 0, 1, 100
        for _ in range(steps):
            x = x * 0.5 + k
            k += 1
            odd = odd + 2
            down -= 3
        return x, k, odd, down

    explanation = check(run, X, 40)
    assert not explanation.host_calls
    check(run, X, 41)


def test_counters_that_nothing_uses():
    def run(x, steps):
        calls = 0
        for i in range(steps):
            last = i + 1
            x = x * 0.5
            calls += 1
        return x, calls, last

    check(run, X, 40)


def test_counter_that_is_looked_at_later():
    def run(x, steps):
        k = 0
        for _ in range(steps):
            k += 1
            x = x * 0.5 if k < 9 else x + 1
        return x, k

    same_as_plain(run, X, 20)


def test_counter_that_stops():
    def run(x, steps):
        k = 0
        for _ in range(steps):
            k = min(k + 1, 6)
            x = x * 0.5 + k
        return x, k

    same_as_plain(run, X, 20)


def test_counter_in_a_container():
    def run(x, steps):
        state = [0, x]
        for _ in range(steps):
            state[0] += 1
            state[1] = state[1] * 0.5 + state[0]
        return state

    same_as_plain(run, X, 20)


def test_number_kept_in_a_container():
    def run(x, steps):
        last = [0]
        for i in range(steps):
            last[0] = i
            x = x * 0.5 + i
        return x, last

    same_as_plain(run, X, 20)


def test_number_of_the_iteration_before():
    def run(x, steps):
        before = 0
        for i in range(steps):
            x = x * 0.5 + before
            before = i
        return x, before

    check(run, X, 20, rolled=1)


def test_nested_loops_with_both_numbers():
    def run(x):
        for i in range(9):
            for j in range(10):
                x = x * 0.5 + (i * 0.25 + j) - 2 * i
            x = x + i
        return x, i, j

    explanation = check(run, X, rolled=2)
    assert not explanation.host_calls


def test_inner_range_depends_on_the_number():
    def run(x):
        for i in range(12):
            for j in range(i):
                x = x * 0.5 + j
        return x

    same_as_plain(run, X)


def test_passed_to_a_function():
    def step(x, n, dt):
        return x * 0.5 + n * dt

    def run(x, dt):
        for i in range(20):
            x = step(x, i, dt)
        return x

    check(run, X, 0.125)


def test_passed_to_a_function_that_tells_types():
    def step(x, n):
        return x * 0.5 if type(n) is int else x + n

    def run(x):
        for i in range(20):
            x = step(x, i)
        return x

    same_as_plain(run, X)


def test_kept_in_a_closure():
    def run(x):
        for i in range(20):

            def step(y, n=i):
                return y * 0.5 + n

            x = step(x)
        return x

    same_as_plain(run, X)


def test_list_of_results():
    def run(x):
        seen = []
        for i in range(12):
            seen.append(x * i)
        return seen

    same_as_plain(run, X)


def test_division_by_the_number():
    def run(x):
        for i in range(12):
            x = x + 1.0 / i
        return x

    with pytest.raises(ZeroDivisionError):
        jitrt.jit(run)(X)


def test_large_numbers():
    def run(x):
        for i in range(1 << 53, (1 << 53) + 12):
            x = x * 0.5 + i
        return x

    same_as_plain(run, X)


def test_break_and_counter():
    def run(x, limit):
        k = 0
        x = x + 0
        for i in range(50):
            x = x * 0.5 + i
            k += 1
            if x.max() > limit:
                break
        return x, k, i

    for limit in (3.0, 20.0, 1e9):
        same_as_plain(run, X, limit)


def test_program_does_not_grow():
    def run(x, steps):
        for i in range(steps):
            x = x + np.sqrt(abs(x)) * (i * 0.001)
        return x

    explanation = check(run, X, 3000)
    assert len(nodes(explanation.graph)) == 1
    assert len(explanation.graph.nodes()) < 40
    check(run, Y, 3000)


@pytest.mark.parametrize("index", ["i", "-i - 1", "2 * i", "19 - i", "i + 20", "-1 - 2 * i"])
def test_elements_of_a_vector(index):
    namespace = {"np": np}
    source = f"def run(x, w):\n    for i in range(20):\n        x = x * 0.5 + w[{index}]\n    return x"
    exec(source, namespace)
    explanation = check(namespace["run"], X, np.arange(40.0))
    assert not explanation.host_calls
    check(namespace["run"], X, np.arange(80, dtype=np.float32)[::-2])


@pytest.mark.parametrize("index", ["i, 0", "-i - 1, -1", "2, i", "-1, 19 - i"])
def test_elements_of_a_table(index):
    namespace = {"np": np}
    source = f"def run(x, w):\n    for i in range(20):\n        x = x * 0.5 + w[{index}]\n    return x"
    exec(source, namespace)
    table = np.arange(400.0).reshape(20, 20)
    for w in (table, table.astype(np.float32)[::-1, ::2] if "i, 0" in index else table.T, table.astype(np.int64)):
        explanation = check(namespace["run"], X, w)
        assert not explanation.host_calls


@pytest.mark.parametrize("index", ["i, 0, 1", "2, i, -1", "0, 1, i", "0, 1, i - 30"])
def test_elements_of_a_table_with_three_axes(index):
    namespace = {"np": np}
    source = f"def run(x, w):\n    for i in range(20):\n        x = x * 0.5 + w[{index}]\n    return x"
    exec(source, namespace)
    same_as = np.random.default_rng(1).normal(size=(20, 21, 22))
    if "30" in index:
        with pytest.raises(IndexError):
            jitrt.jit(namespace["run"])(X, same_as)
    else:
        check(namespace["run"], X, same_as)


def test_rows_that_the_loop_writes_into():
    def run(x):
        x = x.copy()
        for i in range(20):
            x[1:, 0] = x[1:, 0] * 0.5 + x[i, 1] + x[0, 0]
            x[:, 1] *= 0.5
        return x

    check(run, np.linspace(0, 1, 48).reshape(24, 2))


@pytest.mark.parametrize("form", ["w[i]", "w[i, :]", "w[:, i]", "w[i, None, 0]", "w[..., i, 0]", "w[i, j]", "w[i, i]"])
def test_other_parts_of_a_table(form):
    namespace = {"np": np}
    body = f"        for j in range(9):\n            x = x * 0.5 + ({form}).sum()"
    source = f"def run(x, w):\n    for i in range(9):\n{body}\n    return x"
    exec(source, namespace)
    same_as_plain(namespace["run"], X, np.arange(400.0).reshape(20, 20))


def test_elements_of_what_the_loop_writes():
    def run(x):
        x = x.copy()
        for i in range(20):
            x[1:] = x[1:] * 0.5 + x[i]
        return x

    check(run, np.linspace(0, 1, 24))


@pytest.mark.parametrize("index", ["i", "i - 3", "i + 25", "-i - 25"])
def test_elements_that_are_not_there(index):
    namespace = {"np": np}
    source = f"def run(x, w):\n    for i in range(20):\n        x = x * 0.5 + w[{index}]\n    return x"
    exec(source, namespace)
    for n in (10, 40):
        try:
            want = namespace["run"](X, np.arange(float(n)))
        except IndexError:
            with pytest.raises(IndexError):
                jitrt.jit(namespace["run"])(X, np.arange(float(n)))
        else:
            assert_same(jitrt.jit(namespace["run"])(X, np.arange(float(n))), want)


def test_sum_of_many_terms():
    def run(t, a, f):
        total = np.zeros_like(t)
        for i in range(len(a)):
            total = total + a[i] * np.sqrt(f[i] * t)
        return total

    a = np.linspace(1, 2, 500)
    explanation = check(run, np.linspace(0, 1, 30), a, a[::-1])
    assert len(nodes(explanation.graph)) == 1
