"""Functions that numba compiles are parts of kernels and procedures, and give what they give without jitrt."""

import itertools
import math

import numba
import numpy as np
import pytest

import jitrt

FIRST_LAST = {
    "float64": (1.5, -2.0), "float32": (0.25, 3.0), "int64": (3, -4), "int32": (7, 0), "uint8": (200, 1),
    "bool": (True, False), "complex128": (1.5 - 2j, 3j), "complex64": (0.5j, 1 + 0.25j),
}  # fmt: skip


def operands(dtype, shape=(7,)):
    size = math.prod(shape)
    values = np.resize(np.array(FIRST_LAST[dtype], dtype), size).reshape(shape)
    values = values + np.arange(size).reshape(shape).astype(dtype) if dtype != "bool" else values
    if np.dtype(dtype).kind == "f" and size > 4:
        values.flat[1:5] = [np.nan, -0.0, np.inf, -1.0]
    return values.astype(dtype)


def outcome(function, *args):
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except Exception as error:
        return type(error), str(error)


def assert_same(mine, other):
    assert type(mine) is type(other), (mine, other)
    if isinstance(mine, tuple):
        assert len(mine) == len(other)
        for x, y in zip(mine, other):
            assert_same(x, y)
        return
    if isinstance(mine, type):
        assert mine is other
        return
    if not isinstance(mine, str):
        assert np.asarray(mine).dtype == np.asarray(other).dtype
    np.testing.assert_array_equal(mine, other)
    if np.asarray(mine).dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(other))


def fresh(kind):
    """New functions of numba's, which have been compiled for nothing yet."""

    def mixed(x, y):
        return x * 2 + y if x != y else x - y

    def quotient(x, y):
        return x / y

    def truth(x, y):
        return x == y

    def checked(x, y):
        if x == 3:
            raise ValueError("three")
        return x + y

    return [kind(f) for f in (mixed, quotient, truth, checked)]


PAIRS = [
    ("float64", "float64"),
    ("float32", "int64"),
    ("int64", "float32"),
    ("uint8", "int32"),
    ("bool", "bool"),
    ("complex64", "float64"),
]  # each takes numba some seconds


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=map("-".join, PAIRS))
def test_vectorized_functions_of_arrays(first, second):
    for plain, own in zip(fresh(numba.vectorize), fresh(numba.vectorize)):
        x, y = operands(first), operands(second)
        expected = outcome(lambda x, y, plain=plain: plain(x, y) + x, x, y)
        compiled = jitrt.jit(lambda x, y, own=own: own(x, y) + x)
        for _ in range(2):
            assert_same(outcome(compiled, x, y), expected)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=map("-".join, PAIRS))
def test_functions_of_numbers(first, second):
    for plain, own in zip(fresh(numba.njit), fresh(numba.njit)):
        for k, python in itertools.product(range(3), (False, True)):
            x, y = operands(first), operands(second)[k]
            y = y.item() if python else y
            expected = outcome(lambda x, y, k=k, plain=plain: (plain(x[k], y), x + plain(x[k], y)), x, y)
            compiled = jitrt.jit(lambda x, y, k=k, own=own: (own(x[k], y), x + own(x[k], y)))
            for _ in range(2):
                assert_same(outcome(compiled, x, y), expected)


def loop(function):
    def f(x, y):
        found = []
        for k in range(len(x)):
            found.append(function(x[k], y))
        return found

    return f


@pytest.mark.wide
@pytest.mark.parametrize("kind", [numba.njit, numba.vectorize])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=map("-".join, PAIRS))
def test_functions_of_elements_in_loops(kind, first, second):
    for plain, own in zip(fresh(kind), fresh(kind)):
        x, y = operands(first), operands(second)[0]
        compiled = jitrt.jit(loop(own))
        for given in (y, y.item()):
            expected = outcome(loop(plain), x, given)
            assert_same(outcome(compiled, x, given), expected)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 0, 4)])
def test_shapes(shape):
    @numba.vectorize
    def huber(x, d):
        return 0.5 * x * x if abs(x) < d else d * (abs(x) - 0.5 * d)

    @jitrt.jit
    def f(x, d):
        return np.exp(-huber(x * 2.0, d)), huber(d, x.T), huber(x, 1.0)

    x = operands("float64", shape)
    for d in (np.float64(0.75), np.full(shape, 2.0).T, 1):
        expected = outcome(f.__wrapped__, x, d)
        for _ in range(2):
            result = outcome(f, x, d)
            assert [type(v) for v in result] == [type(v) for v in expected]
            if isinstance(expected[0], type):
                assert result == expected  # shapes that do not fit
                continue
            for mine, other in zip(result, expected):
                np.testing.assert_allclose(mine, other, rtol=1e-14, strict=True)


@numba.vectorize
def root(x):
    if x < 0:
        raise ValueError("negative")
    return math.sqrt(x)


@numba.vectorize
def halved(x):
    return 0.5 * x if x > 0 else x


@numba.njit
def decayed(t, x):
    return 0.9 * t + x if x > t else t - 0.25 * x


@numba.njit
def inverse(x):
    return 1.0 / x


def test_they_are_inlined():
    f = jitrt.jit(lambda x: np.sin(halved(np.cos(x) * 2.0)) + root(x) + decayed(x[0], 2.0))
    x = np.linspace(0.5, 2.0, 2000)
    np.testing.assert_allclose(f(x), f.__wrapped__(x), rtol=1e-14)
    assert "NumPy executes nothing" in str(f.explain(x))
    kernels = f.explain(x).kernels
    assert any("halved" in str(k.nest) for k in kernels)
    assert not any("call i32" in k.llvm for k in kernels)


def test_loops_with_them_are_compiled():
    @jitrt.jit
    def f(x):
        t, found = 0.0, np.empty(len(x))
        for k in range(len(x)):
            t = decayed(t, x[k]) + halved(x[k]) + inverse(x[k])
            found[k] = t
        return found

    x = np.linspace(0.5, 2.0, 50)
    np.testing.assert_array_equal(f(x), f.__wrapped__(x))
    assert "decayed" in f.explain(x).loop


def test_what_they_raise_is_raised_and_nothing_is_written():
    @jitrt.jit
    def loops(x):
        for k in range(len(x)):
            x[k] = inverse(x[k])

    @jitrt.jit
    def whole(x):
        x += 1.0
        x *= root(x)

    for f, wrong, error in ((loops, 0.0, ZeroDivisionError), (whole, -3.0, ValueError)):
        for at in (None, 3, None, 0):
            x = np.linspace(0.5, 2.0, 9)
            if at is not None:
                x[at] = wrong
            y = x.copy()
            expected = outcome(f.__wrapped__, y)
            assert (expected is None) is (at is None)
            assert_same(outcome(f, x), expected)
            assert_same(x, y)
            assert expected is None or expected[0] is error


def test_warnings_are_those_of_the_ufunc():
    @numba.vectorize
    def quotient(x, y):
        return x / y

    f = jitrt.jit(lambda x, y: quotient(x + 0.0, y) * 2.0)
    x = np.ones(3)
    assert_same(f(x, x), f.__wrapped__(x, x))
    for function in (f.__wrapped__, f):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            function(x, x * 0.0)


def test_conversions_are_those_of_what_is_compiled_already():
    """numba converts numbers to the types of a function that it has rather than to compile another one."""
    for first in (1.5, np.float32(1.5), 2, True):
        plain, own = (numba.njit(lambda x: x * 2) for _ in range(2))
        plain(first), own(first)
        for given in (3, 2.5, np.float32(0.1), np.int8(100), False):
            x = np.array([given, given])
            expected = outcome(lambda x, plain=plain: plain(x[0]) * np.float32(1), x)
            assert_same(outcome(jitrt.jit(lambda x, own=own: own(x[0]) * np.float32(1)), x), expected)


def test_signatures_that_are_given():
    one = numba.vectorize(["float64(float64)"])(lambda x: x * 2)
    two = numba.njit("float32(float32)")(lambda x: x * 2)
    for dtype in FIRST_LAST:
        x = operands(dtype)
        f = jitrt.jit(lambda x: (one(x + x), two(x[0])))
        expected = outcome(f.__wrapped__, x)
        assert_same(outcome(f, x), expected)


def test_other_functions_of_numbas_are_steps_and_callbacks_are_pythons():
    @numba.cfunc("float64(float64)")
    def callback(x):
        return x * 2.0 + 1.0

    @numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
    def inner(x, y, out):
        total = 0.0
        for k in range(x.shape[0]):
            total += x[k] * y[k]
        out[0] = total

    @jitrt.jit
    def f(x):
        y = np.empty(len(x))
        inner(x, x * 2.0, y)
        return callback(x + 1.0), inner(x, x[::-1]), y - 1.0

    x = np.arange(12.0).reshape(3, 4)
    assert_same(f(x), f.__wrapped__(x))
    assert_same(f(x), f.__wrapped__(x))
    assert "is compiled" in str(f.explain(x))


def test_what_a_callback_has_for_callers_in_c():
    @numba.cfunc("float64(float64)")
    def callback(x):
        return x * 2.0 + 1.0

    f, g = jitrt.jit(lambda x: x * callback.ctypes(2.0)), jitrt.jit(lambda x: (callback(x + 1.0), callback.address))
    x = np.arange(3.0)
    for _ in range(3):
        assert_same(f(x), x * 5.0)
        assert_same(g(x), (x * 2.0 + 3.0, callback.address))
    assert "by its address" in f.explain(x).plain_reason


def test_a_function_that_is_replaced():
    global decayed
    f = jitrt.jit(lambda x: x + decayed(x[0], 1.0))
    x, before = np.ones(3), decayed
    f(x)
    try:
        decayed = numba.njit(lambda t, x: t + 100.0 * x)
        assert_same(f(x), x + 101.0)
    finally:
        decayed = before


def test_nothing_of_them_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    f = jitrt.jit(lambda x: halved(x) * 17.0 - np.arctan(x))
    f(np.linspace(-1.0, 1.0, 50))
    texts = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    assert not any(b"halved" in text for text in texts)


@numba.njit
def _one_more(a):
    return a + 1


@numba.njit
def _root(a):
    if a < 0:
        raise ValueError("negative")
    return np.sqrt(a)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * _one_more(2.0),
        lambda x: x * _one_more(2) + _one_more(3),
        lambda x: x[_one_more(2)] + x,
        lambda x: x * _root(4.0),
    ],
)
def test_functions_of_numbas_are_given_constants(function):
    x = np.linspace(0.0, 1.0, 20_000)
    fast = jitrt.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), function(x))
    assert not fast.plain_reason


def test_stencils_of_numbas_run_plain():
    @numba.stencil
    def neighbours(a):
        return a[-1] + a[1]

    x = np.arange(20_000.0)
    fast = jitrt.jit(lambda x: neighbours(x) + 1)
    for _ in range(2):
        np.testing.assert_array_equal(fast(x), neighbours(x) + 1)
