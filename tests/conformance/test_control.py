"""Loops and choices as single nodes: what is recorded, and that it gives what plain Python gives."""

import numpy as np
import pytest
from compare import assert_same

import jitrt

X = np.linspace(-2.0, 2.0, 12).reshape(3, 4)


def check(function, *args, nodes=1, plain=False):
    """Compare with the plain function, and count the control nodes of the graph."""
    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        want = function(*args)
        for _ in range(2):
            assert_same(compiled(*args), want)
    explanation = compiled.explain(*args)
    if plain:
        assert explanation.plain_reason
        return explanation
    assert not explanation.plain_reason, explanation.plain_reason
    found = [n for n in explanation.graph.nodes() if n.op.kind.value == "control"]
    assert len(found) == nodes, explanation.graph
    return explanation


def test_fori():
    check(lambda x: jitrt.fori_loop(0, 5, lambda i, a: np.sqrt(abs(a)) + x, x), X)


def test_fori_without_iterations():
    check(lambda x: jitrt.fori_loop(0, 0, lambda i, a: a + 1, x) * 2, X, nodes=0)
    check(lambda x: jitrt.fori_loop(0, -3, lambda i, a: a + 1, x) * 2, X, nodes=0)


def test_fori_uses_the_number_of_the_iteration():
    check(lambda x: jitrt.fori_loop(0, 7, lambda i, a: a * 0.5 + x * i, x), X)
    single = X.astype(np.float32)
    check(lambda x: jitrt.fori_loop(0, 7, lambda i, a: a * 0.5 + x * i, x), single)


def test_fori_with_changing_types_runs_a_first_iteration():
    check(lambda x: jitrt.fori_loop(0, 4, lambda i, a: a + x.sum(axis=1), 0.0), X)
    check(lambda x: jitrt.fori_loop(0, 4, lambda i, a: a + x[0, 0], 0), X)


def test_fori_that_grows_is_unrolled():
    check(lambda x: jitrt.fori_loop(0, 6, lambda i, a: np.concatenate((a, x)), x), X, nodes=0)


def test_fori_with_nested_state():
    def run(x):
        def body(i, state):
            return {"a": state["b"][0] * 0.5, "b": [state["a"] + x, None]}

        return jitrt.fori_loop(0, 5, body, {"a": x, "b": [x + 1, None]})

    check(run, X)


def test_nested():
    def run(x):
        def row(i, a):
            return jitrt.fori_loop(0, 3, lambda j, c: np.sqrt(abs(c)) + a * i + x, a)

        return jitrt.fori_loop(0, 4, row, x)

    check(run, X)


def test_while():
    check(lambda x: jitrt.while_loop(lambda s: s.max() > 0.1, lambda s: s / 2, x), X)


def test_while_without_iterations():
    check(lambda x: jitrt.while_loop(lambda s: s.max() > 100, lambda s: s / 2, x), X)


def test_while_with_a_counter():
    def run(x):
        return jitrt.while_loop(lambda s: s[1] < 6.0, lambda s: (np.sqrt(abs(s[0])), s[1] + 1.0), (x, x[0, 0]))

    check(run, X)


def test_while_promotes_python_numbers():
    def run(x):
        return jitrt.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + x[2, 3], s[1] * 0.5), (0, x))

    check(run, X)


def test_while_of_changing_shapes_runs_plain():
    def run(x):
        return jitrt.while_loop(lambda s: s.sum() < 10, lambda s: np.concatenate((s, s)), x)

    check(run, X[0] + 3, plain=True)


def test_scan():
    check(lambda x: jitrt.scan(lambda total, row: (total + row, total * row), x[0], x), X)
    check(lambda x: jitrt.scan(lambda total, row: (total + row.sum(), total), 0.0, x), X)


def test_scan_of_several_arrays():
    def run(x, y):
        return jitrt.scan(lambda s, e: (s + e["x"], (s, e["y"].sum())), x[0], {"x": x, "y": y})

    check(run, X, np.round(8 * X))  # whose sums are the same in any order


def test_scan_over_nothing():
    with pytest.raises(ValueError, match="nothing"):
        jitrt.scan(lambda s, x: (s, x), 0.0, np.zeros((0, 3)))
    with pytest.raises(ValueError, match="lengths"):
        jitrt.scan(lambda s, x: (s, x[0]), 0.0, (np.zeros(2), np.zeros(3)))


def test_cond():
    def run(x, limit):
        return jitrt.cond(x.sum() > limit, lambda a: (np.sqrt(abs(a)), a + limit), lambda a: (a * 2, a - limit), x)

    for limit in (-100.0, 100.0):
        check(run, X, limit)


def test_cond_with_python_conditions():
    assert jitrt.cond(True, lambda a: a + 1, lambda a: a - 1, 1) == 2
    check(lambda x: jitrt.cond(x.ndim == 2, lambda a: a + 1, lambda a: a - 1, x), X, nodes=0)


def test_cond_of_different_types_runs_plain():
    check(lambda x: jitrt.cond(x.sum() > 100, lambda a: a, lambda a: a.astype(np.float32), x), X, plain=True)


def test_host_calls_inside():
    matrix = X @ X.T + 5 * np.eye(3)
    explanation = check(lambda a: jitrt.fori_loop(0, 3, lambda i, m: np.linalg.inv(m) + a, a), matrix)
    assert explanation.host_calls


def test_trip_count_compiles_nothing():
    compiled = jitrt.jit(lambda x, n: jitrt.fori_loop(0, n, lambda i, a: np.sqrt(abs(a)) + x, x))
    first = [k.address for k in compiled.explain(X, 10).kernels]
    assert [k.address for k in compiled.explain(X, 1000).kernels] == first


def test_plain():
    assert jitrt.fori_loop(0, 3, lambda i, s: s + i, 0) == 3
    assert jitrt.while_loop(lambda s: s < 10, lambda s: 2 * s, 1) == 16
    total, ys = jitrt.scan(lambda s, x: (s + x, s), 0, np.arange(4))
    assert total == 6
    assert_same(ys, np.array([0, 0, 1, 3]))


def test_bodies_that_write_into_their_state():
    def run(x):
        def body(i, s):
            s[0] = s[1] * 0.5
            return s + 1

        y = x + 0
        return jitrt.fori_loop(0, 9, body, y), y  # the first iteration writes into `y`

    check(run, X, nodes=0)

    def of_its_own(x):
        def body(i, s):
            s = s + 1
            s[0] = s[1] * 0.5
            return s

        return jitrt.fori_loop(0, 9, body, x)

    check(of_its_own, X)


def test_bodies_that_write_into_arrays_from_outside():
    def counted(x):
        seen = np.zeros(4)

        def body(i, s):
            seen[i % 4] = s[0, 0]
            seen[1] += 1
            return s * 0.5

        return jitrt.fori_loop(0, 9, body, x), seen

    def until(x):
        seen = np.zeros(4)

        def body(s):
            seen[1] += 1
            return s * 0.5

        return jitrt.while_loop(lambda s: s.max() > 0.1, body, x), seen

    def chosen(x):
        seen = np.zeros(4)

        def write(s):
            seen[0] = 1
            return s

        return jitrt.cond(x.sum() < 100, write, lambda s: s * 2, x) + 0, seen

    for run in (counted, until, chosen):
        compiled = jitrt.jit(run)
        for _ in range(2):
            assert_same(compiled(X), run(X))


@pytest.mark.parametrize("lower, upper", [(2, 9), (-3, 4), (5, 5), (7, 3)])
def test_numbers_from_lower_to_upper(lower, upper):
    check(lambda x: jitrt.fori_loop(lower, upper, lambda i, a: a * 0.5 + x * i, x), X, nodes=int(upper > lower))
    compiled = jitrt.jit(lambda x, m, n: jitrt.fori_loop(m, n, lambda i, a: a * 0.5 + x * i, x))
    for m, n in ((lower, upper), (lower - 1, upper + 2), (lower, upper)):
        want = X
        for i in range(m, n):
            want = want * 0.5 + X * i
        np.testing.assert_array_equal(compiled(X, m, n), want)


def test_the_order_without_lower_is_refused():
    for wrong in (lambda: jitrt.fori_loop(3, lambda i, s: s, 0), lambda: jitrt.fori_loop(3, lambda i, s: s, 0, 1)):
        with pytest.raises(TypeError, match=r"fori_loop\(n, body, init\) is fori_loop\(0, n, body, init\)"):
            wrong()


def changes_structure(x):
    def body(s, v):
        return ((s[0] + 1, v) if type(s) is tuple else (v * 1, v.sum())), v

    return jitrt.scan(body, x[0], x)[0][0]


def writes_and_changes_structure(x):
    total = np.zeros(2)

    def body(s, v):
        total[0] += v[0]
        return ((s[0] + 1, v) if type(s) is tuple else (v * 1, v.sum())), v

    return jitrt.scan(body, x[0], x)[0][0] + total.sum()


@pytest.mark.parametrize("function", [changes_structure, writes_and_changes_structure])
def test_nothing_is_left_of_a_body_that_is_no_node(function):
    compiled = jitrt.jit(function)
    for factor in (1, 2, 3):
        np.testing.assert_allclose(compiled(X * factor), function(X * factor))
    assert compiled.plain_reason == ""
