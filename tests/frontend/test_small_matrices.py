"""Linear algebra of small matrices, alone and in stacks: in kernels, with NumPy's results, errors and types."""

import warnings

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.frontend.python.smallmatrices import MOST_ROWS

FUNCTIONS = {
    "inv": lambda a: 2.0 * np.linalg.inv(a),
    "det": lambda a: 1.0 + np.linalg.det(a),
    "cholesky": lambda a: np.linalg.cholesky(a) - 1.0,
    "inv alone": lambda a: np.linalg.inv(a),
    "det alone": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(a).logabsdet * np.linalg.slogdet(a)[0],
}
STACKS = [(), (1,), (7,), (0,), (2, 3), (300,)]


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = error
    return result, [str(w.message) for w in warned]


def check(function, wanted, *args):
    (result, warned), (want, wanted_warnings) = outcome(function, *args), outcome(wanted, *args)
    assert type(result) is type(want) and warned == wanted_warnings
    if isinstance(want, Exception):
        assert str(result) == str(want)
        return
    assert (result.dtype, result.shape) == (want.dtype, want.shape)
    for flag in ("WRITEABLE", "C_CONTIGUOUS", "F_CONTIGUOUS"):
        assert np.asarray(result).flags[flag] == np.asarray(want).flags[flag]
    rtol = 1e-4 if want.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(result, want, rtol=rtol, atol=rtol / 100 * max(1.0, np.abs(want).max(initial=0.0)))


def matrices(rng, stack, rows):
    """Matrices of all kinds: regular, definite, singular, of integers, with special values, in other orders.

    What is singular is so however it is rounded.
    """
    a = rng.standard_normal((*stack, rows, rows))
    yield a
    yield a @ a.swapaxes(-1, -2) + np.eye(rows)
    yield a.astype(np.float32)
    yield np.asfortranarray(a)
    yield a[..., ::-1]
    yield a[..., :1, :1] * np.ones((rows, rows)) * np.arange(rows)
    for special in (0.0, np.nan, np.inf, -0.0):
        changed = a.copy()
        changed[..., -1, 0] = special
        yield changed
    yield np.zeros_like(a)
    yield 1e200 * a
    yield 1e-200 * a
    yield rng.integers(-4, 5, a.shape) + 9 * rows * np.eye(rows, dtype=int)
    yield rng.permuted(np.broadcast_to(np.eye(rows, dtype=np.uint8), a.shape), axis=-1)
    for dtype in (np.float16, np.complex128, np.bool_):
        yield a.astype(dtype)


@pytest.mark.wide
@pytest.mark.parametrize("stack", STACKS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name, stack):
    rng = np.random.default_rng(0)
    for rows in range(1, MOST_ROWS + 2):
        fast = jitrt.jit(FUNCTIONS[name])
        for a in matrices(rng, stack, rows):
            for _ in range(2):
                check(fast, FUNCTIONS[name], a)


@pytest.mark.parametrize("shape", [(2, 3), (3,), (), (0, 0), (4, 0, 0)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_that_have_none(name, shape):
    check(jitrt.jit(FUNCTIONS[name]), FUNCTIONS[name], np.ones(shape))


@pytest.mark.parametrize("columns", few([None, 2, 0, 1, 7], 2))
def test_equations(columns):
    def solved(a, b):
        return np.linalg.solve(a, b)

    rng = np.random.default_rng(1)
    stacks = [((), ()), ((5,), ()), ((5,), (5,)), ((5,), (1,)), ((4, 5), (5,)), ((), (6,)), ((5,), (4,)), ((0,), ())]
    for rows in range(1, MOST_ROWS + 2):
        for of_a, of_b in stacks:
            for dtypes in ("dd", "ff", "fd", "if", "fi", "ll") if rows == 2 else ("dd",):
                a = (5 * rng.standard_normal((*of_a, rows, rows))).astype(dtypes[0])
                shape = (*of_b, rows) if columns is None else (*of_b, rows, columns)
                b = (5 * rng.standard_normal(shape)).astype(dtypes[1])
                check(jitrt.jit(solved), solved, a, b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_compute_them(name):
    rng, fast = np.random.default_rng(2), jitrt.jit(FUNCTIONS[name])
    for rows in range(1, MOST_ROWS + 1):
        a = rng.standard_normal((200, rows, rows))
        explanation = fast.explain(a @ a.swapaxes(-1, -2) + np.eye(rows))
        assert explanation.kernels and not explanation.host_calls and not explanation.plain_reason
    larger = np.eye(MOST_ROWS + 1) + np.zeros((200, 1, 1))
    assert jitrt.jit(FUNCTIONS[name]).explain(larger).host_calls


def test_the_result_of_slogdet_has_names():
    fast = jitrt.jit(lambda a: np.linalg.slogdet(a))
    a = np.random.default_rng(5).standard_normal((6, 2, 2))
    for x in (a, a[0], a.astype(np.float32)):
        found, wanted = fast(x), np.linalg.slogdet(x)
        assert type(found) is type(wanted) and found._fields == wanted._fields
        assert [(type(v), v.dtype) for v in found] == [(type(v), v.dtype) for v in wanted]
        np.testing.assert_allclose(found, wanted)


def test_any_number_of_matrices():
    """Programs serve stacks of other numbers of matrices, too."""
    fast = jitrt.jit(FUNCTIONS["inv"])
    for count in (40, 41, 500, 7):
        check(fast, FUNCTIONS["inv"], np.random.default_rng(count).standard_normal((count, 3, 3)))
    assert len(fast._specialisations) < 4


def test_singular_matrices_come_later():
    """After calls that were regular one is not; and the next one is again."""

    def inverted(a, out):
        out[0] = 1.0
        out[1:] = np.linalg.inv(a)[0].ravel()
        return out

    fast = jitrt.jit(inverted)
    regular = np.random.default_rng(3).standard_normal((100, 3, 3))
    singular = regular.copy()
    singular[50, 2] = 2.0 * singular[50, 1]
    singular[50, 1] = 0.0
    for a in (regular, regular, regular, singular, regular):
        results = [np.zeros(10), np.zeros(10)]
        check(lambda a, r=results: fast(a, r[0]), lambda a, r=results: inverted(a, r[1]), a)
        np.testing.assert_allclose(*results)


def test_of_traced_numbers_and_in_loops():
    def turned(x):
        return np.linalg.inv([[x[0], x[1]], [x[2], x[3]]]) @ x[:2]

    def filtered(x, p, values, h, noise):
        for z in values:
            gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + noise)
            x = x + gain @ (z - h @ x)
            p = p - gain @ h @ p
        return x * np.linalg.det(p)

    rng = np.random.default_rng(4)
    fast = jitrt.jit(turned)
    for _ in range(3):
        check(fast, turned, rng.standard_normal(4))
    args = np.zeros(4), np.eye(4), rng.standard_normal((9, 2)), np.eye(2, 4), 0.1 * np.eye(2)
    fast = jitrt.jit(filtered)
    for _ in range(3):
        check(fast, filtered, *args)
