"""Python loops that become loop nodes, and those that must not: every case against the plain function."""

import numpy as np
import pytest
from compare import assert_same

import jitrt

X = np.linspace(-1.0, 1.0, 24).reshape(4, 6)
Y = X[::-1] * 0.5 + 0.25


def nodes(graph):
    return [n for n in graph.nodes() if n.op.kind.value == "control"]


def check(function, *args, rolled=1):
    """Compare results and changed arguments with those of the plain function; count the loops of the graph."""

    def copies():
        return [a.copy() if isinstance(a, np.ndarray) else a for a in args]

    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        expected_args = copies()
        want = function(*expected_args)
        for _ in range(2):
            given = copies()
            assert_same(compiled(*given), want)
            assert_same(given, expected_args)
        explanation = compiled.explain(*copies())
    assert not explanation.plain_reason, explanation.plain_reason
    assert len(nodes(explanation.graph)) == rolled, explanation.graph
    return explanation


def test_functional_body():
    def run(x, v, dt, steps):
        for _ in range(steps):
            a = (1 - x * x) * v - x
            x = x + dt * v
            v = v + dt * a
        return x, v

    for steps in (0, 1, 2, 3, 5, 7):
        check(run, X, Y, 0.01, steps, rolled=0)
    for steps in (8, 9, 20, 101):
        check(run, X, Y, 0.01, steps)


def test_variables_of_the_body_after_the_loop():
    def run(x, steps):
        for i in range(steps):  # noqa: B007
            double = x + x
            x = double * 0.25 + 1
        return x, double, i

    check(run, X, 9)
    check(run, X, 30)


def test_swap():
    def run(x, y, steps):
        for _ in range(steps):
            x, y = y, x * 0.5 + y
        return x, y

    check(run, X, Y, 12)
    check(run, X, Y, 13)


def test_three_way_rotation():
    def run(x, y, z, steps):
        for _ in range(steps):
            x, y, z = y, z, x
        return x, y, z

    for steps in (12, 13, 14):
        compiled = jitrt.jit(run)
        args = X.copy(), Y.copy(), X + 1
        got, want = compiled(*args, steps), run(*args, steps)
        assert_same(got, want)
        assert [g is w for g, w in zip(got, want)] == [True] * 3


def test_rotation_with_a_computed_value():
    def run(x, y, z, steps):
        for _ in range(steps):
            x, y, z = y, z, (x[::-1] + y) * 0.5
        return x, y, z

    for steps in range(8, 16):
        check(run, X, Y, X + 1, steps)


def test_stencil_in_place():
    def run(u, steps):
        u = u.copy()
        for _ in range(steps):
            u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        return u

    check(run, X, 50)


def test_argument_is_written():
    def run(u, steps):
        for _ in range(steps):
            u[1:] = u[:-1] * 0.5 + u[1:]
            u += 1

    check(run, X, 20)


def test_double_buffer_of_arguments():
    """Which array holds the last values depends on the parity of the number of steps."""

    def run(a, b, steps):
        for _ in range(steps):
            b[1:-1] = (a[2:] + a[:-2]) * 0.5
            a, b = b, a
        return a

    for steps in (10, 11):
        check(run, X, Y, steps)


def test_double_buffer_that_is_not_returned():
    def run(a, b, steps):
        for _ in range(steps):
            b[:] = a * 0.5 + 1
            a, b = b, a

    for steps in (10, 11):
        check(run, X, Y, steps)


def test_views_made_before_the_loop():
    def run(u, steps):
        inner, edge = u[1:-1], u[0]
        for _ in range(steps):
            inner += edge
            edge *= 0.5
        return u.sum(axis=1), inner + 1

    check(run, X, 16)


def test_views_made_in_the_loop():
    def run(u, steps):
        for _ in range(steps):
            row = u[1]
            u[0] += row
            row -= 0.25
        row[2] = 7
        return u

    check(run, X, 16)


def test_two_names_for_one_array():
    def run(u, steps):
        w = u
        for _ in range(steps):
            u += 0.5
            w = w * 1
        w = w + u
        return u, w

    check(run, X, 16)


def test_nested_loops():
    def run(p, b, steps, inner):
        for _ in range(steps):
            for _ in range(inner):
                p = (p + p[::-1]) * 0.25 + b
            b = b * 0.5 + p
        return p, b

    # The first iteration, in which a variable is new, is on its own, and has a loop inside.
    explanation = check(run, X, Y, 12, 9, rolled=2)
    loop = nodes(explanation.graph)[-1]
    assert len(nodes(loop["loop"].body)) == 1
    check(run, X, Y, 12, 3)
    check(run, X, Y, 3, 12, rolled=3)


def test_three_levels():
    def run(x):
        for _ in range(8):
            for _ in range(9):
                for _ in range(10):
                    x = x * 0.5 + 1
                x = x + x[::-1] * 0.125
            x[0] = 2
        return x

    check(run, X.copy(), rolled=3)


def test_loop_in_a_function_that_is_called():
    def smooth(u, times):
        for _ in range(times):
            u = (u + u[::-1]) * 0.5
        return u

    def run(u, steps):
        total = u * 0
        for _ in range(steps):
            u = smooth(u, 10) * 0.75
            total = total + u
        return u, total

    check(run, X, 20)


def test_callee_writes_into_its_argument():
    def kick(a, b):
        for _ in range(10):
            a += b
            b *= 0.5

    def run(a, b):
        kick(a, b)
        return a - b

    check(run, X, Y)


def test_state_in_containers():
    def run(x, steps):
        state = {"a": x, "b": [x + 1, x + 2]}
        for _ in range(steps):
            state["a"] = state["a"] * 0.5 + state["b"][1]
            state["b"][0] = state["b"][0] - 0.25
        return state, state["b"][0]

    check(run, X, 20)


def test_containers_made_in_the_loop():
    def run(x, y, steps):
        s = [x, y]
        for _ in range(steps):
            s = [s[1], s[0] * 0.5]
        return s

    check(run, X, Y, 20)
    check(run, X, Y, 21)


def test_tuples_as_state():
    def run(x, y, steps):
        s = (x, (y, None))
        for _ in range(steps):
            s = (s[1][0] + 1, (s[0] * 0.5, None))
        return s

    check(run, X, Y, 20)


def test_captured_array_is_written():
    shared = Y.copy()

    def run(x, steps):
        for _ in range(steps):
            shared[:] = shared * 0.5 + x
        return shared + 0

    def fresh():
        shared[:] = Y

    compiled = jitrt.jit(run)
    want = run(X, 20)
    changed = shared.copy()
    for _ in range(2):
        fresh()
        assert_same(compiled(X, 20), want)
        assert_same(shared, changed)
    assert len(nodes(compiled.explain(X, 20).graph)) == 1


def test_array_of_the_caller_that_the_loop_does_not_name():
    def run(x, y, steps):
        def update():
            y[0] += x[0]

        for _ in range(steps):
            update()
            x = x * 0.5
        return x

    check(run, X, Y, 20)


def test_scalars():
    def run(x, steps):
        total, t = 0.0, x[0, 0]
        for _ in range(steps):
            t = t * 0.5 + 1
            total = total + x.sum()
            x = x + t
        return x, total, t

    explanation = check(run, X, 20)
    assert not explanation.host_calls


def test_float32_and_integers():
    def run(x, steps):
        for _ in range(steps):
            x = x * 3 + 1
        return x

    check(run, np.arange(12, dtype=np.int32), 40)
    check(run, np.arange(12, dtype=np.uint8), 40)
    check(run, X.astype(np.float32), 10)


def test_break_and_else():
    def run(x, steps, stop):
        for _ in range(steps):
            x = x * 0.5
            if stop:
                break
        else:
            x = x + 1
        return x

    check(run, X, 20, False)
    check(run, X, 20, True, rolled=0)


def test_return_from_the_loop():
    def run(x, steps):
        for _ in range(steps):
            x = x * 0.5
            if x.ndim == 2:
                return x
        return x + 1

    check(run, X, 20, rolled=0)


def test_continue():
    def run(x, steps, skip):
        for _ in range(steps):
            x = x * 0.5
            if skip:
                continue
            x = x + 1
        return x

    check(run, X, 20, True)
    check(run, X, 20, False)


def test_body_reads_the_number():
    def run(x, steps):
        for i in range(steps):
            x = x + i * 0.5
        return x

    check(run, X, 12)


def test_number_is_read_after_the_loop():
    def run(x, steps):
        for i in range(3, steps, 2):  # noqa: B007
            x = x * 0.5
        return x + i

    check(run, X, 40)
    check(run, X, 41)


def test_list_that_grows(without_procedures):
    def run(x, steps):
        seen = []
        for _ in range(steps):
            x = x * 0.5
            seen.append(x)
        return seen, len(seen)

    check(run, X, 12, rolled=0)


def test_iterator_that_advances():
    def run(x, steps):
        factors = iter([0.5, 0.25, 2.0, 1.5] * 10)
        for _ in range(steps):
            x = x * next(factors) + 1
        return x

    check(run, X, 12, rolled=0)


def test_iterator_in_a_closure():
    def run(x, steps):
        factors = iter([0.5, 0.25, 2.0, 1.5] * 10)

        def factor():
            return next(factors)

        def advance(x, f):
            for _ in range(steps):
                x = x * f() + 1
            return x

        return advance(x, factor)

    check(run, X, 12, rolled=0)


def test_list_that_is_consumed_in_a_closure(without_procedures):
    def run(x, steps):
        factors = [0.5, 0.25, 2.0, 1.5] * 10

        def advance(x, f):
            for _ in range(steps):
                x = x * f() + 1
            return x

        return advance(x, lambda: factors.pop())

    check(run, X, 12, rolled=0)


def test_counter():
    def run(x, steps):
        k = 0
        for _ in range(steps):
            x = x * 0.5 if k % 3 else x + 1
            k += 1
        return x, k

    check(run, X, 20, rolled=0)


def test_float_counter_that_is_known():
    def run(x, steps):
        t = 0.0
        for _ in range(steps):
            x = x * 0.5 if t > 1.0 else x + t
            t += 0.25
        return x, t

    check(run, X, 20, rolled=0)


def test_created_array_that_is_looked_at():
    """What depends on no argument can be looked at while tracing, and decides what later iterations do."""

    def run(x, steps):
        t = np.zeros(1)
        for _ in range(steps):
            t = t + 1
            x = x * 0.5 if t[0] < 10 else x + 1
        return x

    check(run, X, 20, rolled=0)


def test_plain_array_that_changes():
    def run(x, steps):
        weights = np.array([1, 2, 3])
        for _ in range(steps):
            x = x + weights[1]
            weights[1] += 2
        return x

    compiled = jitrt.jit(run)
    assert_same(compiled(X, 20), run(X, 20))


def test_body_that_settles_after_some_iterations():
    def run(x, steps):
        previous = None
        for _ in range(steps):
            if previous is not None:
                x = x + previous
            previous = x * 0.5
        return x, previous

    check(run, X, 20)


def test_body_that_changes_later(without_procedures):
    def run(x, steps):
        k = [0]
        for _ in range(steps):
            k[0] += 1
            x = x * 0.5 if k[0] < 7 else x + 1
        return x

    check(run, X, 20, rolled=0)


def test_type_changes_in_the_first_iteration():
    def run(x, steps):
        total = 0
        for _ in range(steps):
            total = total + x
        return total

    check(run, X, 20)
    check(run, X.astype(np.float32), 20)


def test_shapes_that_grow():
    def run(x, steps):
        for _ in range(steps):
            x = np.concatenate((x, x[:1]))
        return x

    check(run, X, 12, rolled=0)


def test_list_comprehension_over_a_range(without_procedures):
    def run(x, steps):
        return [x * 0.5 for _ in range(steps)], sum(range(steps)), list(range(2, steps, 3))

    check(run, X, 12, rolled=0)


def test_ranges_that_are_objects():
    def run(x, steps):
        r = range(steps)
        for _ in r:
            x = x + 1
        return x + len(r), isinstance(r, range)

    check(run, X, 12, rolled=0)


def test_constant_that_equals_the_state():
    """The first state is what the body makes anew in each iteration."""

    def run(x, steps):
        u = np.zeros((4, 6))
        for _ in range(steps):
            u = u * 0.5 + np.zeros((4, 6)) + x
        return u

    check(run, X, 20)


def test_equal_values_by_chance():
    def run(x, steps):
        a, b = x * 2, x * 2
        for _ in range(steps):
            a = a + 1
            b = b + 2
        return a, b

    check(run, X, 20)


def test_equal_values_all_the_time():
    def run(x, steps):
        for _ in range(steps):
            a = x * 2
            b = x * 2
            a += 1
            x = (a + b) * 0.25
        return x, a, b

    check(run, X, 20)


def test_copies_in_the_body():
    def run(u, steps):
        for _ in range(steps):
            old = u.copy()
            u[1:] = old[:-1]
            u[0] = old[-1]
        return u, old

    check(run, X, 21)


def test_exception_in_the_body():
    def run(x, y, steps):
        for _ in range(steps):
            x = x * 0.5 + y
        return x

    with pytest.raises(ValueError, match="broadcast"):
        jitrt.jit(run)(X, np.zeros(5), 20)


def test_exception_that_is_caught():
    def run(x, y, steps):
        for _ in range(steps):
            try:
                x = x + y
            except ValueError:
                x = x * 0.5
        return x

    check(run, X, np.zeros(5), 20)
    check(run, X, Y, 20)


def test_with_statement():
    def run(x, steps):
        for _ in range(steps):
            with np.errstate(all="ignore"):
                x = x / 3
        return x

    compiled = jitrt.jit(run)
    assert_same(compiled(X, 20), run(X, 20))


def test_while_else_of_python_values():
    def run(x, steps):
        k = 0
        while k < steps:
            x = x * 0.5 + 1
            k += 1
        return x, k

    compiled = jitrt.jit(run)
    assert_same(compiled(X, 20), run(X, 20))


def test_many_trip_counts_share_kernels():
    def run(x, steps):
        for _ in range(steps):
            x = (x + x[::-1]) * 0.5
        return x

    compiled = jitrt.jit(run)
    first = [k.address for k in compiled.explain(X, 10).kernels]
    for steps in (11, 50, 1000):
        check(run, X, steps)
        assert [k.address for k in compiled.explain(X, steps).kernels] == first


def test_long_loops_are_small_programs():
    def run(u, steps):
        for _ in range(steps):
            lap = u[2:] + u[:-2] - 2 * u[1:-1]
            u[1:-1] += 0.1 * lap
        return u

    explanation = check(run, X, 10_000)
    assert len(explanation.graph.nodes()) < 30


def test_nonfinite_values():
    def run(x, steps):
        for _ in range(steps):
            x = x * x - x
        return x

    check(run, np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e300, 5e-324, 1.5]), 30)


def test_empty_arrays():
    def run(x, steps):
        for _ in range(steps):
            x = x * 0.5 + x[::-1]
        return x

    check(run, np.zeros((0, 3)), 20)


def test_comprehensions_in_the_body_and_around():
    def run(x):
        for _ in range(12):
            x = sum([x * k for k in range(3)]) + sum({k: x + k for k in range(2)}.values())
        return x * 1e-9

    def around(x):
        return [[x * k + j for k in range(12)] for j in range(9)]

    check(run, X)
    check(around, X, rolled=0)
