"""Loops in the native driver: where carried values lie, and that iterations copy nothing."""

import numpy as np
import pytest
from jitrt.kernels import driver

import jitrt
from jitrt.runtime.steps import ControlStep

N = 2000  # elements: too many for a first value to be copied as a small one


def program(function, *args):
    explanation = jitrt.jit(function).explain(*args)
    assert not explanation.plain_reason, explanation.plain_reason
    assert not explanation.host_calls
    return explanation.compiled.program


def loops(function, *args):
    """The loops of a program, as they are scheduled."""
    return [s.call for s in program(function, *args).steps if isinstance(s, ControlStep)]


def rows(function, *args):
    """Rows of the native driver that a program consists of."""
    (block,) = program(function, *args).new_frame().blocks
    width, header = len(driver.ROW), dict(zip(driver.HEADER, map(int, block)))
    first = len(driver.HEADER) + header["patches"] * len(driver.PATCH)
    return [tuple(map(int, block[first + width * k :][:width])) for k in range(header["rows"])]


def copies(function, *args):
    """Copies in a program: rows that copy, and kernels that do nothing else."""
    of_rows = sum(kernel == driver.COPY for kernel, *_ in rows(function, *args))
    moved = 0
    for nest in jitrt.jit(function).explain(*args).loop_nests:
        moved += not any(type(s).__name__ == "Compute" for s in nest.statements())
    return of_rows + moved


def stencil(x):
    """What cannot be written over its operand."""
    return np.concatenate((x[:1], (x[2:] + x[:-2]) * 0.5, x[-1:]))


def convolution(x, w, b):
    return x * w + x[::-1] * b


def check(function, *args):
    want = function(*args)
    compiled = jitrt.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(*args), want)


X = np.random.default_rng(0).normal(size=N)


@pytest.mark.parametrize("n", range(1, 8))
def test_double_buffered(n):
    def run(x, w, b):
        return jitrt.fori_loop(0, n, lambda i, y: convolution(y, w, b), x)

    (call,) = loops(run, X, 0.5, 0.25)
    assert call.rotation.length == 2
    assert copies(run, X, 0.5, 0.25) == 0
    check(run, X, 0.5, 0.25)


def test_the_document_s_while_loop():
    """``(while (c < 5) y = conv(x, w, b))(x <= y)``."""

    def run(x, w, b):
        def condition(state):
            return state[1] < 5.0

        def body(state):
            x, c = state
            return convolution(x, w, b), c + 1.0

        return jitrt.while_loop(condition, body, (x, np.float64(0)))[0]

    (call,) = loops(run, X, 0.5, 0.25)
    assert call.rotation.length == 2
    # When the loop ends is not known beforehand. Each exit brings the result to its place, an iteration moves nothing.
    end = max(k for k, (kernel, *_, jump) in enumerate(rows(run, X, 0.5, 0.25)) if kernel == driver.TURN)
    large = [k for k, r in enumerate(rows(run, X, 0.5, 0.25)) if r[0] == driver.COPY and r[2] == X.nbytes]
    assert all(k > end for k in large)
    check(run, X, 0.5, 0.25)


def test_elementwise_steps_write_over_their_operands():
    def run(x, v, dt):
        return jitrt.fori_loop(0, 9, lambda i, s: (s[0] + dt * s[1], s[1] - dt * s[0]), (x, v))[0]

    (call,) = loops(run, X, X[::-1].copy(), 0.01)
    assert call.rotation.length == 1
    assert call.rotation.source == (0, 1)
    assert copies(run, X, X[::-1].copy(), 0.01) == 0
    check(run, X, X[::-1].copy(), 0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 10])
def test_dependence_over_several_iterations(n):
    """``x[c] = conv(x[c - 4], w, b)``."""

    def run(x):
        def body(i, last):
            a, b, c, d = last
            return b, c, d, stencil(a)

        return jitrt.fori_loop(0, n, body, (x, x * 2, x * 3, x * 4))[3]

    (call,) = loops(run, X)
    assert call.rotation.length == 5
    check(run, X)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7])
def test_swaps_and_rotations(n):
    def run(x, y):
        def body(i, s):
            a, b, c, d = s
            return b, a + 1, d, stencil(c)

        a, b, c, d = jitrt.fori_loop(0, n, body, (x, y, x - 1, y - 1))
        return a + 2 * b + 3 * c + 4 * d

    check(run, X, X[::-1].copy())


@pytest.mark.parametrize("limit", [0.5, 40, 300, 1e3, 1e4, 1e9])
def test_exits_of_while_loops(limit):
    """At every phase of the unrolled loop, and before the first iteration."""

    def run(x, y, limit):
        def body(s):
            a, b, c = s
            return b, stencil(a) + 1, c * 1.7

        a, b, c = jitrt.while_loop(lambda s: s[2].max() < limit, body, (x, y, y * y))
        return a + b + c

    check(run, X, X[::-1].copy(), float(limit))


def test_all_exits_of_one_loop():
    for n in range(9):

        def run(x, last, n=n):
            def body(s):
                k, a, b, c = s
                return k + 1, stencil(c), a, b

            return jitrt.while_loop(lambda s: s[0] < last, body, (np.float64(0), x, x + 1, x + 2))[1:]

        want, got = run(X, float(n)), jitrt.jit(run)(X, float(n))
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g, w)


def test_nested_loops_are_native():
    def run(x):
        def outer(i, s):
            inner = jitrt.fori_loop(0, 3, lambda j, t: stencil(t) + s, s)
            return jitrt.while_loop(lambda t: abs(t).max() > 2, lambda t: t / 2, inner)

        return jitrt.fori_loop(0, 5, outer, x)

    assert len(loops(run, X)) == 1
    check(run, X)


def test_nested_scans():
    a = np.arange(24.0).reshape(2, 3, 4)

    def run(a):
        def plane(total, p):
            total, ys = jitrt.scan(lambda t, row: (t + row, t * row), total, p)
            return total * 0.5, ys

        total, ys = jitrt.scan(plane, a[0, 0], a)
        return ys + total

    assert len(loops(run, a)) == 1
    check(run, a)
    check(run, a[:, ::-1, ::-1])
    check(run, np.asfortranarray(a))


def test_scan_into_rows():
    def run(x, rows):
        return jitrt.scan(lambda s, r: (s * 0.5 + r, s), x, rows)[1]

    assert len(loops(run, X, np.stack([X, X + 1, X + 2]))) == 1
    check(run, X, np.stack([X, X + 1, X + 2]))


def test_choice_in_a_loop():
    def run(x):
        def body(i, s):
            return jitrt.cond(s.max() > 1, lambda s: s / 3, lambda s: s * 2 + 0.25, s)

        return jitrt.fori_loop(0, 20, body, x)

    assert len(loops(run, X)) == 1
    check(run, X)


def test_first_values_that_are_views():
    def run(x):
        return jitrt.fori_loop(0, 3, lambda i, s: (stencil(s[0]), s[1] + s[0].sum()), (x[::-2], x[0]))[0]

    check(run, X)
    check(run, X[::3])


def test_one_array_carried_twice():
    def run(x):
        a, b = jitrt.fori_loop(0, 3, lambda i, s: (stencil(s[1]), stencil(s[0]) * 2), (x, x))
        return a - b + x

    check(run, X)


def test_large_arrays_on_several_threads():
    x = np.random.default_rng(1).normal(size=(700, 900))
    check(lambda x: jitrt.fori_loop(0, 4, lambda i, s: s * 0.5 + s[::-1] * 0.5, x), x)


def test_empty_arrays():
    check(lambda x: jitrt.fori_loop(0, 4, lambda i, s: s * 0.5 + s[::-1], x), np.zeros((0, 3)))


def test_many_calls_give_independent_results():
    compiled = jitrt.jit(lambda x: jitrt.fori_loop(0, 5, lambda i, s: stencil(s), x))
    first = compiled(X)
    kept = first.copy()
    compiled(X + 1)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("n", [3, 15, 16, 19, 20, 21, 64])
def test_iterations_of_large_arrays_are_fused(n):
    x, v = np.random.default_rng(2).normal(size=(2, 40_000))

    def run(x, v, dt):
        for _ in range(n):
            a = (1 - x * x) * v - x
            x, v = x + dt * v, v + dt * a
        return x, v

    turns = [call.what.count for call in loops(run, x, v, 0.01)]
    assert sum(turns) < n or n < 20
    want = run(x, v, 0.01)
    got = jitrt.jit(run)(x, v, 0.01)
    for g, w in zip(got, want):
        np.testing.assert_array_equal(g, w)


def test_fused_iterations_share_kernels_whatever_their_number():
    x = np.random.default_rng(2).normal(size=80_000)

    def run(x, n):
        return jitrt.fori_loop(0, n, lambda i, x: x * 0.5 + 1, x)

    compiled = jitrt.jit(run)
    known = {k.address for k in compiled.explain(x, 101).kernels}
    assert len(known) == 2
    for n in (5, 64, 65, 999):
        assert {k.address for k in compiled.explain(x, n).kernels} <= known
        np.testing.assert_array_equal(compiled(x, n), run(x, n))


def test_what_a_loop_gives_is_overwritten_behind_it():
    """The part that is written does not depend on the loop, and is computed before it."""

    def run(a, b):
        c, m = a * 0.5, 1.0
        while m > 0.1:
            b[1:-1] = (a[2:] + a[:-2]) * 0.5
            m = m * 0.5 + abs(c).max() * 0
        b[1:-1] = (c[2:] + c[:-2]) * 0.5
        return b + 0

    a, b = np.random.default_rng(3).normal(size=(2, 4, 6))
    expected = b.copy()
    want = run(a, expected)
    compiled = jitrt.jit(run)
    for _ in range(3):
        given = b.copy()
        np.testing.assert_array_equal(compiled(a, given), want)
        np.testing.assert_array_equal(given, expected)
