"""Loops that end on a condition and become loop nodes: every case against the plain function."""

import numpy as np
import pytest
from test_rolling import X, Y, check, nodes

import jitrt

POSITIVE = np.abs(X) + 0.5
pytestmark = pytest.mark.usefixtures("without_procedures")


def same_as_plain(function, *args):
    """Compare results where it does not matter how the function runs."""
    want = function(*args)
    got = jitrt.jit(function)(*args)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert type(g) is type(w)
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("limit", [1e-3, 0.1, 0.49, 0.6, 100.0])
def test_while_on_a_reduction(limit):
    def run(x, limit):
        x = x * 0.5
        while x.max() > limit:
            x = x * 0.75
        return x

    check(run, X, limit)


def test_while_not():
    def run(x, limit):
        x = x + 1
        while not x.max() < limit:
            x = x * 0.5
        return x

    check(run, X, 0.01)


def test_thousands_of_iterations():
    def run(u, limit):
        u = u.copy()
        change = np.abs(u).max()
        while change > limit:
            old = u.copy()
            u[1:-1] = (u[2:] + u[:-2]) * 0.5
            change = np.abs(u - old).max()
        return u, change

    u = np.zeros((60, 3))
    u[-1] = 1.0
    check(run, u, 1e-7)


def test_one_program_for_all_numbers_of_iterations():
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            x = x * 0.5
        return x

    compiled = jitrt.jit(run)
    for limit in (2.0, 0.9, 0.3, 1e-5, 0.9):
        np.testing.assert_array_equal(compiled(X, limit), run(X, limit))
    assert len(nodes(compiled.explain(X, 1.0).graph)) == 1


def test_first_value_of_another_type():
    """``error = 1.0`` before the loop, and a NumPy scalar in it."""

    def run(b, limit):
        x, error = np.zeros_like(b), 1.0
        while error > limit:
            new = b + 0.25 * (x + x[::-1])
            error = np.abs(new - x).max()
            x = new
        return x

    check(run, X, 1e-9)
    check(run, X, 2.0)


def test_variables_that_only_the_body_assigns_are_read_behind_the_loop():
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            y = x * 0.5
            x = y * 0.5
        return x, y

    same_as_plain(run, X, 0.1)
    with pytest.raises(UnboundLocalError):
        jitrt.jit(run)(X, 2.0)


def test_variables_of_the_body_are_read_in_a_try_statement():
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            y = x * 0.5
            x = y * 0.5
        try:
            return x, y
        except NameError:
            return x, x

    for limit in (0.1, 2.0):
        same_as_plain(run, X, limit)


def test_an_argument_that_may_be_returned_itself():
    def run(x, limit):
        while x.max() > limit:
            x = x * 0.5
        return x

    compiled = jitrt.jit(run)
    x = X.copy()
    np.testing.assert_array_equal(compiled(x, 0.1), run(x, 0.1))
    assert compiled(x, 2.0) is x


def test_an_argument_that_is_changed_if_there_is_no_iteration():
    def run(x, limit):
        while x.max() > limit:
            x = x * 0.5
        x += 1
        return x

    for limit in (0.1, 2.0):
        x, y = X.copy(), X.copy()
        np.testing.assert_array_equal(jitrt.jit(run)(x, limit), run(y, limit))
        np.testing.assert_array_equal(x, y)


def test_another_name_for_what_is_rebound():
    def run(x, limit):
        x = x + 0
        y = x
        while x.max() > limit:
            x = x * 0.5
        x += 1
        return x, y

    for limit in (0.1, 2.0):
        same_as_plain(run, X, limit)


def test_rebound_in_a_function_that_is_called():
    def halve(x, limit):
        while x.max() > limit:
            x = x * 0.5
        x += 1
        return x

    def run(x, limit):
        y = x * 1.5
        return halve(y, limit), y

    for limit in (0.1, 2.0):
        same_as_plain(run, X, limit)


def test_swap_in_a_while_loop():
    def run(a, b, limit):
        a, b = a + 0, b + 0
        while a.max() > limit:
            b[:] = a * 0.5
            a, b = b, a
        return a, b

    for limit in (0.1, 0.2, 2.0):
        same_as_plain(run, X, Y, limit)


@pytest.mark.parametrize("most", [3, 4, 9, 50])
@pytest.mark.parametrize("limit", [1e-12, 1e-3, 100.0, -1.0])
def test_break_at_the_end_of_the_body(most, limit):
    def run(a, limit, most):
        x = a + 0
        for _ in range(most):
            step = (x * x - a) / (2 * x)
            x = x - step
            if np.abs(step).max() < limit:
                break
        return x

    check(run, POSITIVE, limit, most)


@pytest.mark.parametrize("limit", [0.01, 0.4, 3.0])
def test_number_is_read_after_a_break(limit):
    def run(x, limit, most):
        x = x + 0
        for k in range(most):  # noqa: B007
            x = x * 0.5
            if x.max() < limit:
                break
        return x, k

    same_as_plain(run, X, limit, 20)


@pytest.mark.parametrize("limit", [0.01, 0.4, 3.0, -2.0])
def test_break_with_else(limit):
    def run(x, limit, most):
        x = x + 0
        for _ in range(most):
            x = x * 0.5
            if x.max() < limit:
                break
        else:
            x = x + 100
        return x

    same_as_plain(run, X, limit, 10)


@pytest.mark.parametrize("limit", [0.01, 0.4, 3.0, -2.0])
def test_break_in_the_middle(limit):
    def run(x, limit, most):
        x = x + 0
        for _ in range(most):
            x = x * 0.5
            if x.max() < limit:
                break
            x = x + 0.01
        return x

    same_as_plain(run, X, limit, 10)


@pytest.mark.parametrize("limit", [0.01, 0.4, 3.0, -2.0])
def test_return_from_the_loop(limit):
    def run(x, limit, most):
        x = x + 0
        for _ in range(most):
            x = x * 0.5
            if x.max() < limit:
                return x
        return x - 1

    same_as_plain(run, X, limit, 10)


@pytest.mark.parametrize("limit", [0.01, 0.4, 3.0])
def test_endless_loop_with_a_break(limit):
    def run(x, limit):
        x = x + 0
        while True:
            x = x * 0.5 - 0.01
            if x.max() < limit:
                break
        return x

    check(run, X, limit)


@pytest.mark.parametrize("limit", [0.01, 0.4, 3.0])
def test_while_in_a_for_loop(limit):
    def run(x, limit):
        x = x + 0
        for _ in range(12):
            x = x + 1
            while x.max() > limit:
                x = x * 0.5
        return x

    explanation = check(run, X, limit, rolled=1)
    (loop,) = nodes(explanation.graph)
    assert len(nodes(loop["loop"].body)) == 1


def test_for_in_a_while_loop():
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            for _ in range(10):
                x = (x + x[::-1]) * 0.375
            x[0] = 0
        return x

    same_as_plain(run, X, 1e-6)


def test_branches_in_loops():
    def run(x, limit):
        for _ in range(12):
            x = x * 0.5 if x.max() > limit else x + 1
        return x

    for limit in (0.1, 0.6):
        same_as_plain(run, X, limit)


def test_branch_in_a_while_loop():
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            x = x * 0.5
            if x.min() < -0.2:
                x = x + 0.05
        return x

    same_as_plain(run, X, 0.1)


def test_condition_that_does_not_change():
    def run(x, limit):
        n = 0
        while x.max() > limit:
            n += 1
            if n == 5:
                break
        return x * n

    same_as_plain(run, X, 0.1)
    same_as_plain(run, X, 10.0)


def test_two_conditions():
    def run(x, limit):
        x = x + 0
        while x.max() > limit and x.min() < 0:
            x = x * 0.5 + 0.01
        return x

    for limit in (0.1, 0.01, 2.0):
        same_as_plain(run, X, limit)


def test_exception_in_an_iteration_that_does_not_take_place():
    def run(x, limit):
        k = 0
        values = [1.0, 2.0]
        x = x + 0
        while x.max() < limit:
            x = x + values[k]
            k += 1
        return x

    for limit in (-5.0, 1.5, 3.0):
        same_as_plain(run, X, limit)


def test_inputs_of_a_condition_that_are_arrays_of_one_element():
    def run(x, limit):
        x = x + 0
        while x.max(axis=0, keepdims=True).max(axis=1, keepdims=True) > limit:
            x = x * 0.5
        return x

    check(run, X, 0.1)


def test_ambiguous_truth():
    def run(x, limit):
        while x > limit:
            x = x * 0.5
        return x

    with pytest.raises(ValueError, match="ambiguous"):
        jitrt.jit(run)(X, 0.1)


def test_nan_ends_the_loop():
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            x = x * 0.5
        return x

    check(run, np.array([1.0, np.nan]), 0.1)
    check(run, np.array([1.0, -np.inf]), 0.1)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_integer_that_decides_later(limit):
    def run(x, limit):
        k = 0
        x = x + 0
        while x.max() > limit:
            k += 1
            if k == 5:
                x = x + 0.5
            x = x * 0.5
        return x

    same_as_plain(run, X, limit)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_switch_that_decides(limit):
    def run(x, limit):
        even = True
        x = x + 0
        while x.max() > limit:
            even = not even
            x = x * 0.5 if even else x * 0.25
        return x, even

    same_as_plain(run, X, limit)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_python_numbers_of_the_body_that_decide(limit):
    def run(x, limit):
        n = 1
        x = x + 0
        while x.max() > limit:
            m = n * 2
            n = m if m < 32 else 1
            x = x * 0.5 if n > 1 else x * 0.75
        return x

    same_as_plain(run, X, limit)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_iterations_are_counted(limit):
    def run(x, limit):
        rounds, left = 0, 100
        x = x + 0
        while x.max() > limit:
            x = x * 0.75
            rounds += 1
            left = left - 2
        return x, rounds, left

    check(run, X, limit)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_counted_and_used(limit):
    def run(x, limit):
        rounds = 0
        x = x + 0
        while x.max() > limit:
            x = x * 0.75 - rounds * 0.001
            rounds += 1
        return x, rounds

    same_as_plain(run, X, limit)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_counted_and_looked_at_afterwards(limit):
    def run(x, limit):
        rounds = 0
        x = x + 0
        while x.max() > limit:
            x = x * 0.75
            rounds += 1
        return x * 2 if rounds > 3 else x

    same_as_plain(run, X, limit)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0])
def test_at_most_so_many_iterations(limit):
    def run(x, limit, most):
        rounds = 0
        x = x + 0
        while x.max() > limit and rounds < most:
            x = x * 0.75
            rounds += 1
        return x, rounds

    for most in (0, 1, 3, 7, 100):
        same_as_plain(run, X, limit, most)


@pytest.mark.parametrize("limit", [1e-4, 0.1, 0.6, 3.0, -1.0])
@pytest.mark.parametrize("numbers", [(20,), (3, 40, 2), (40, 0, -3)])
def test_number_behind_a_break(limit, numbers):
    def run(x, limit, first, *more):
        x = x + 0
        for k in range(first, *more):  # noqa: B007
            x = x * 0.75
            if x.max() < limit:
                break
        return x, k

    def run2(x, limit, a, b, c):
        x = x + 0
        for k in range(a, b, c):  # noqa: B007
            x = x * 0.75
            if x.max() < limit:
                break
        return x, k

    if len(numbers) == 3:
        check(run2, X, limit, *numbers)
    same_as_plain(run, X, limit, *numbers)


@pytest.mark.parametrize("limit", [1e-3, 0.4, 3.0])
def test_comparisons_of_tuples_ask_for_what_is_no_condition(limit):
    def run(x, limit):
        x = x + 0
        while (x.max(), 1) > (limit, 0):
            x = x * 0.5
        return x

    same_as_plain(run, X, limit)


@pytest.mark.parametrize("limit", [1e-3, 0.4, 3.0])
def test_comprehensions_in_the_body(limit):
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            x = sum([x * k for k in range(3)]) * 0.25
        return x

    check(run, X, limit)


@pytest.mark.parametrize("limit", [1e-3, 0.4, 3.0])
def test_variables_that_nobody_reads_behind_the_loop_where_there_are_handlers(limit):
    def run(x, limit):
        x = x + 0
        while x.max() > limit:
            y = x * 0.5
            x = y * 0.5
        try:
            return x + limit
        except ValueError:
            return x

    check(run, X, limit)
