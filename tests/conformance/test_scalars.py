"""Scalars among the operands: Python numbers, which are weak (NEP 50), NumPy scalars and 0-d arrays, on either side."""

import operator
import warnings

import numpy as np
import pytest
from compare import check, together
from covering import few
from operands import ordinary

import jitrt

BINARY = (
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.floor_divide,
    np.remainder,
    np.power,
    np.maximum,
    np.less,
    np.equal,
)
DTYPES = "?bBhHiIlLefdgFDG"
NUMBERS = (3, 2.5, 1 + 2j, True)
LOOP_MISSING = TypeError


def both_sides(ufunc, value):
    """The ufunc with a literal on the right and on the left."""
    return lambda x: (ufunc(x, value), ufunc(value, x))


def supported(ufunc, x, value):
    with np.errstate(all="ignore"):
        try:
            ufunc(x, value), ufunc(value, x)
        except LOOP_MISSING:
            return False
    return True


def operand(char, size=9):
    values = ordinary(char, size)
    return np.abs(values) if char in "bhil" else values


# Powers are elementary functions; so are complex ones.
def tolerance(char):
    return {"ulp": 4.0 if char not in "FDG" else 8.0, "zeros": False}


@pytest.mark.parametrize("char", few("?lfFBdbhHiILegDG", 4))
def test_python_numbers(char):
    x = operand(char)
    for shaped in (x, x[2:3].reshape(())):
        exact, powers = {}, {}
        for ufunc in BINARY:
            for value in NUMBERS:
                if supported(ufunc, shaped, value):
                    chosen = powers if ufunc is np.power else exact
                    chosen[f"{ufunc.__name__} {value}"] = both_sides(ufunc, value)
        check(together(exact), shaped, zeros=False)
        if powers:
            check(together(powers), shaped, **tolerance(char))


@pytest.mark.parametrize("char", "FD")
def test_products_with_complex_literals(char):
    # One of two products is rounded before they are added: which one depends on the order of the factors.
    x = ordinary(char, 999)
    for function in (lambda x: (0.3 + 0.7j) * x, lambda x: x * (0.3 + 0.7j), lambda x: 1 - (0.3 + 0.7j) * x):
        np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))


PRODUCTS = {
    "elements": lambda x, y: x * y,
    "a literal": lambda x, y: x * (0.3 + 0.7j) + (0.3 + 0.7j) * y,
    "a square": lambda x, y: x**2,
    "NumPy's function": lambda x, y: np.multiply(x, y),
    "a scalar of NumPy's": lambda x, y: x * np.complex64(0.3 + 0.7j) - y,
    "sums": lambda x, y: (x + y) * (x - y) * 2.5,
}


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_products_of_complex_scalars(product, char):
    # NumPy's operator rounds each product of parts, and its ufunc fuses one of them with their sum.
    def of_elements(x):
        made = np.empty_like(x)
        for i in range(len(x)):
            made[i] = product(x[i], x[i - 1])
        return made

    x = ordinary(char, 200)
    np.testing.assert_array_equal(jitrt.jit(of_elements)(x), of_elements(x))
    of_two, compiled = (lambda x: product(x[0], x[1])), jitrt.jit(lambda x: product(x[0], x[1]))
    for k in range(50):
        assert compiled(x[k : k + 2]) == of_two(x[k : k + 2])


@pytest.mark.parametrize("char", few("?lfFBdbhHiILegDG", 4))
def test_numpy_scalars(char):
    x = operand(char)
    cases = {}
    for other in DTYPES:
        value = np.ones(1, other)[0]
        for ufunc in (np.add, np.multiply, np.maximum, np.greater):
            if supported(ufunc, x, value):
                cases[f"{ufunc.__name__} {other}"] = both_sides(ufunc, value)
    check(together(cases), x, zeros=False)


@pytest.mark.parametrize("char", few("?BlfdFbhHiILegDG", 6))
def test_scalar_arguments(char):
    """Numbers that are arguments of the function, and what is computed from them before an array joins."""
    x, scalar = operand(char), operand(char)[3]
    if char == "?":
        pytest.skip("subtraction of booleans has no loop")

    def f(x, s, weak, number):
        return s * x, s + s, x + weak * 2.0, weak - 1.0, s * weak, (x * s).T, x[..., None] * s, -s, s > number, weak

    ulp = 2 if char in "FDG" else 0  # NumPy's products of complex scalars are not fused, those of arrays are
    for number in (1.25, 1j) if char in "FDG" else (1.25,):
        check(f, x, scalar, 2.5, number, ulp=ulp)
        check(f, x[:1].reshape(()), scalar, 0.5, number, ulp=ulp)


def test_types_of_scalar_results():
    """Reductions and ufuncs of 0-d operands give scalars; views and copies give arrays."""
    x = np.arange(6.0).reshape(2, 3)
    zero_d = np.array(4.0)

    def f(x, z):
        return {
            "sum": x.sum(),
            "sum of a row": x[0].sum(),
            "item": x[1, 2],
            "item as array": x[1, 2, ...],
            "exp": np.exp(z),
            "z + 1": z + 1,
            "reshape": x[0, 0].reshape(()),
            "mean": np.mean(x),
            "keepdims": x.sum(keepdims=True),
            "max": x.max(),
            "argmax": x.argmax(),
            "count": np.count_nonzero(x),
            "any": x.any(),
            "where": np.where(z > 1, z, 0.0),
            "astype": z.astype(np.float32),
            "copy": z.copy(),
            "transposed": z.T,
            "ravel": z.ravel(),
            "clip": z.clip(0, 1),
            "dot": x[0].dot(x[1]),
            "matmul": x[0] @ x[1],
            "squeeze": np.squeeze(x[:1, :1]),
            "take": np.take(x, 3),
            "like": np.zeros_like(z),
            "cumsum": z.cumsum(),
            "broadcast": np.broadcast_to(z, ()),
            "std": x.std(),
            "abs": abs(z),
            "round": np.round(z),
            "negative": -z,
            "sum of 0-d": z.sum(),
            "max of 0-d": np.max(z),
            "any of 0-d": np.any(z),
        }

    check(f, x, zero_d)
    check(f, x, np.array(3.0, np.float32))


def test_integers_at_the_edge_of_a_dtype():
    cases = {
        "u8": lambda a, b, c: (a + 255, a * 0, a & 15, a == 256, a < -1, a >= 300),
        "i8": lambda a, b, c: (b + 127, b - (-128), b == 1000, b != 128),
        "u64": lambda a, b, c: (c + 2**64 - 1 - 0, c // 7, c == 2**64, c > -1),
    }
    args = np.array([0, 1, 255], np.uint8), np.array([-128, 127], np.int8), np.array([0, 2**64 - 1], np.uint64)
    check(together({k: v for k, v in cases.items() if k != "u64"}), *args)
    check(lambda a, b, c: (c // 7, c == 2**64, c > -1, c + (2**64 - 1)), *args)


def test_functions_of_scalars_along_an_axis():
    """NumPy lets axis 0 and -1 of a scalar pass in some functions."""
    cases = {
        "folds": lambda x: (
            np.sum(x.sum(), axis=0),
            np.max(x[0], axis=-1),
            np.any(x[0], axis=0),
            np.sum(x[0], axis=()),
        ),
        "scans": lambda x: (np.cumsum(x.sum(), axis=0), np.argmax(x[0], axis=0)),
        "moves": lambda x: (np.take(x.sum(), [0, 0], axis=0), np.repeat(x[0], 3, 0), np.repeat(x[0], 2, -1)),
    }
    check(together(cases), np.arange(3.0))


def test_powers_with_a_literal_exponent():
    """Exponents that are rewritten to products, quotients and one correctly rounded cube."""
    for char in "fdliB":
        x = np.abs(operand(char, 40)) + np.ones(1, char)[0]
        cases = {f"{p}": lambda x, p=p: (x**p, x.T**p) for p in (1, 2, 3, 4)}
        if char in "fd":
            cases |= {f"{p}": lambda x, p=p: x**p for p in (-1, 0.5, 0, 2.0, -2, 3.0)}
        check(together(cases), x, ulp=4 if char in "fd" else 0)


@pytest.mark.parametrize("char", "?bhil")
def test_integers_wrap_around_beside_literals(char):
    """Also where LLVM can see that the result is too large for every operand."""
    x = np.arange(4).astype(char)
    most = int(np.iinfo(x.dtype).max) if char != "?" else 2**63 - 1
    for function in (
        lambda x: (abs(x) + 3) * most,
        lambda x: (abs(x) * 2 + 1) * most,
        lambda x: (abs(x) + most) + 1,
        lambda x: -2 - (abs(x) + most),
    ):
        fast = jitrt.jit(function)
        np.testing.assert_array_equal(fast(x), function(x))
        assert fast(x).dtype == function(x).dtype


def outcome_of(function, *args):
    """The results and warnings of a call, or what it raises under ``over="raise"``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = function(*args)
    with np.errstate(over="raise"):
        try:
            function(*args)
            raised = ""
        except FloatingPointError as error:
            raised = str(error)
    return made, type(made), [str(w.message) for w in caught if w.category is RuntimeWarning], raised


SCALAR_OPERATIONS = {
    "add": lambda a: a[0] + a[1],
    "subtract": lambda a: a[1] - a[0],
    "multiply": lambda a: a[0] * a[1],
    "negative": lambda a: -a[0],
    "absolute": lambda a: abs(a[0]),
    "number behind": lambda a: a[0] + 100,
    "number in front": lambda a: 100 - a[0],
    "scalar": lambda a: a[0] * np.int8(3),
    "unread": lambda a: (a[0] * a[1], a[1])[1],
    "of folds": lambda a: a.max() + a.max(),
    "in place": lambda a: operator.iadd(a[0], a[1]),
    "array of one": lambda a: a[:1] + a[1:2],
    "array without axes": lambda a: np.add(a[0], a[1]),
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("char", "bBhHiIlL")
@pytest.mark.parametrize("function", SCALAR_OPERATIONS.values(), ids=SCALAR_OPERATIONS)
def test_integer_scalars_report_what_overflows(function, char):
    limits = np.iinfo(char)
    near = [limits.min, limits.min + 1, limits.max, limits.max - 1, limits.max // 2, limits.max // 2 + 1, 0, 1, 7]
    values = [*near, *([-1, -2, limits.min // 2] if limits.min else [2])]
    compiled = jitrt.jit(function)
    for first in values:
        for second in values:
            a = np.array([first, second], char)
            assert outcome_of(compiled, a) == outcome_of(function, a), a
