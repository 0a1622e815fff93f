"""What results do not depend on, since another operand decides them, warns and raises as in NumPy."""

import warnings

import numpy as np
import pytest

import jitrt
from jitrt.ir.absorbed import absorbed
from jitrt.ir.build import constant, elementwise, input_node
from jitrt.ir.ops.contractions import Call, call, call_result
from jitrt.ir.types import ArrayType

A = np.tile([1.0, 2.0, 3.0], 50)
B = np.arange(150)
U, T = B.astype(np.uint8), B > -1

DECIDED = {
    "integers are finite": lambda q, a, b, u, t: (q > 5) | np.isfinite(b),
    "a literal": lambda q, a, b, u, t: (q > 5) | True,
    "ones": lambda q, a, b, u, t: (q > 5) | np.ones(150, bool),
    "equal to itself": lambda q, a, b, u, t: (q > 5) | (b == b),
    "unsigned": lambda q, a, b, u, t: (q > 5) | (u >= 0),
    "a mask or not": lambda q, a, b, u, t: (q > 5) | (t | ~t),
    "nowhere": lambda q, a, b, u, t: np.where(b != b, q, a),
    "everywhere": lambda q, a, b, u, t: np.where(np.isfinite(b), a, q),
    "and false": lambda q, a, b, u, t: np.logical_and(q, b < b),
    "times zero": lambda q, a, b, u, t: (q > 5) * (u * 0),
    "and zero": lambda q, a, b, u, t: (q > 5).astype(int) & (b - b),
    "no remainder": lambda q, a, b, u, t: (q > 5) | (b % 1 == 0),
    "the larger one": lambda q, a, b, u, t: np.maximum(q > 5, b == b),
    "shifted away": lambda q, a, b, u, t: (q > 5) & ((u >> 8) > 0),
    "with itself": lambda q, a, b, u, t: (q > 5) ^ (q > 5),
}


def told(function, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [str(w.message) for w in found]


@pytest.mark.parametrize("name", DECIDED)
def test_what_is_decided_without_it(name):
    def function(a, b, u, t):
        return DECIDED[name](1 / (a - 1), a, b, u, t)

    fast = jitrt.jit(function)
    for _ in range(2):
        (want, warned), (got, was_warned) = told(function, A, B, U, T), told(fast, A, B, U, T)
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype and was_warned == warned == ["divide by zero encountered in divide"]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        fast(A, B, U, T)
    fast(A + 1, B, U, T)


@pytest.mark.parametrize("name", DECIDED)
def test_what_is_decided_in_one_of_many_iterations(name):
    def function(a, b, u, t):
        kept = t
        for _ in range(40):
            a = a - 1
            kept = kept ^ (DECIDED[name](1 / a, a, b, u, t) > 0)
        return a, kept

    fast = jitrt.jit(function)
    for start in (100.5, 100.5, 20.0):
        (want, warned), (got, was_warned) = (told(f, A * 0 + start, B, U, T) for f in (function, fast))
        np.testing.assert_array_equal(got, want)
        assert was_warned == warned == ["divide by zero encountered in divide"] * (start == 20)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        fast(A * 0 + 20, B, U, T)


@pytest.mark.parametrize("name", DECIDED)
def test_what_is_decided_in_a_body(name):
    def decided(a, b, u, t):
        return DECIDED[name](1 / a, a, b, u, t) > 0

    def loop(a, b, u, t):
        return jitrt.fori_loop(0, 40, lambda k, s: (s[0] - 1, s[1] ^ decided(s[0], b, u, t)), (a, t))[1]

    def choice(a, b, u, t):
        return jitrt.cond(b[0] == 0, lambda a, b, u, t: decided(a, b, u, t) * 1, lambda a, b, u, t: b * 1, a, b, u, t)

    for function, start in ((loop, 20.0), (choice, 0.0)):
        fast = jitrt.jit(function)
        for value in (100.5, 100.5, start):
            (want, warned), (got, was_warned) = (told(f, A * 0 + value, B, U, T) for f in (function, fast))
            np.testing.assert_array_equal(got, want)
            assert was_warned == warned == ["divide by zero encountered in divide"] * (value == start)


def test_complex_comparisons():
    x = np.array([complex(np.nan, 1), 1, 2] * 50)
    fast = jitrt.jit(lambda x, b: (x <= x) | np.isfinite(b))
    assert told(fast, x, B)[1] == ["invalid value encountered in less_equal"]


def test_nothing_is_added_where_the_other_operand_is_open():
    f8, i8 = (ArrayType(np.dtype(t), (3,)) for t in ("f8", "i8"))
    x, y, k = input_node(0, f8), input_node(1, f8), input_node(2, i8)
    quotient = elementwise(np.divide, x, y)
    large = elementwise(np.greater, quotient, constant(3.0))
    for other in (elementwise(np.less, y, constant(2.0)), elementwise(np.less, k, constant(5))):
        assert absorbed([elementwise(np.bitwise_and, large, other)]) == []
    assert absorbed([elementwise(np.bitwise_or, large, elementwise(np.isfinite, k))]) == [quotient]


def test_long_chains():
    x = input_node(0, ArrayType(np.dtype(np.int64), (3,)))
    found = x
    for _ in range(5000):
        found = elementwise(np.add, found, elementwise(np.invert, x))
    assert absorbed([found]) == []


def test_steps_are_computed_anyway():
    def function(a, b):
        b.sort(axis=0)
        b <<= 1
        return a * 2, b

    fast = jitrt.jit(function)
    for _ in range(3):
        b = np.arange(60, 0, -1).reshape(6, 10)
        for got, want in zip(fast(A, b.copy()), function(A, b.copy()), strict=True):
            np.testing.assert_array_equal(got, want)
    type_ = ArrayType(np.dtype(np.int64), (3,))
    made = call_result(call(Call(np.sort, None, "sort", ""), (input_node(0, type_),)), (), type_)
    assert absorbed([elementwise(np.left_shift, made, constant(1))]) == []
