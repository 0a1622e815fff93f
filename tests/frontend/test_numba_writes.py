"""What functions of numba's write into: found in their code, and not done to copies that share no memory."""

import numba
import numpy as np
import pytest

import jitrt
from jitrt.frontend.python.numbas import written_by


@numba.njit
def chained(out, x):
    for k in range(out.size):
        out[k] = x[k] + 1.0


@numba.njit
def filtered(x, rate):
    y = np.empty_like(x)
    last = 0.0
    for k in range(x.size):
        last += rate * x[k]
        y[k] = last
    return y


@numba.njit
def first_raised(x, y):
    x[0] += 1.0
    return y[0]


@numba.njit
def added(x):
    np.add(x, 1.0, x)
    return x[0]


@numba.njit
def of_rows(x):
    for row in x:
        row += 1.0


@numba.njit
def through_another(x, y):
    z = y.T
    chained(z, x)


@numba.njit
def in_a_list(x, y):
    held = [x]
    held[0][0] = y[0]


@numba.njit
def product_into(x, y, out):
    np.dot(x, y, out)


@numba.njit
def of_tuples(x, y):
    held = (x,) + (y,)  # noqa: RUF005
    held[1][0] = 2.0


WRITTEN = [
    (chained, {0}), (filtered, set()), (first_raised, {0}), (added, {0}), (of_rows, {0}), (through_another, {1}),
    (in_a_list, {0, 1}), (product_into, {2}), (of_tuples, {0, 1}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "places"), WRITTEN, ids=[f.__name__ for f, _ in WRITTEN])
def test_what_is_written(function, places):
    arguments = [f"argument {k}" for k in range(function.py_func.__code__.co_argcount)]
    assert set(written_by(function, arguments, {})) == {arguments[k] for k in places}


def work(x):  # which is worth compiling
    return np.exp(np.sin(x) * 0.5) + np.tanh(x) * np.log1p(x * x) + np.arctan(x)


def shifted(x):
    y = work(x)
    chained(y[1:], y[:-1])
    return work(y)


def shifted_argument(x):
    y = work(x)
    chained(x[1:], x[:-1])
    return work(x) + y


def given_twice(x):
    y = work(x)
    return first_raised(y, y), work(y)


def part_and_whole(x):
    y = work(x)
    return first_raised(y, y[:1]), work(y)


def to_an_output(x):
    y = work(x)
    return added(y), work(y)


def to_an_argument(x):
    return added(x), work(x)


@pytest.mark.parametrize(
    "function", [shifted, shifted_argument, given_twice, part_and_whole, to_an_output, to_an_argument]
)
def test_arguments_that_share_memory(function):
    compiled = jitrt.jit(function)
    for _ in range(3):
        x, y = (np.linspace(0.0, 1.0, 50_000) for _ in range(2))
        expected, made = function(x), compiled(y)
        for mine, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (made, expected))):
            np.testing.assert_allclose(mine, other, rtol=1e-13)
        np.testing.assert_array_equal(y, x)


def test_functions_that_are_vouched_for():
    def function(x):
        y = work(x)
        write(y[1:], y[:-1])
        return work(y)

    def write(out, x):
        for k in range(0, len(out), 1000):
            out[k : k + 1000] = x[k : k + 1000] + 1.0

    jitrt.pure(write, writes=["out"])
    x = np.linspace(0.0, 1.0, 50_000)
    np.testing.assert_allclose(jitrt.jit(function)(x), function(x), rtol=1e-13)


def test_read_only_arguments_are_taken():
    f = jitrt.jit(lambda x: work(filtered(x, 0.5)) * 2.0)
    x = np.linspace(0.0, 1.0, 50_000)
    x.flags.writeable = False
    np.testing.assert_allclose(f(x), f.__wrapped__(x), rtol=1e-13)
    assert not f.explain(x).plain_reason
