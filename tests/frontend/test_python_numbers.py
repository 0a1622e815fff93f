"""Arithmetic of Python numbers among the arguments: Python's rules, once for each value, beside the arrays."""

import itertools
import math
import operator

import numpy as np
import pytest

import jitrt
from jitrt.ir.ops.pythonnumbers import LIBRARY_FUNCTIONS, is_python


def arithmetic(x, a, b):
    scale = (a**2 + b**2) / (2 * (a**2 + b**2)) - a // b + a % b
    return x * scale + (1 / a) * x - 2 * a + a / 3


@pytest.mark.parametrize("numbers", [(0.1, 0.2), (3.0, -0.7), (1e150, 1e-150), (7.5, 2.0), (float("inf"), 3.0)])
def test_same_bits_as_python(numbers):
    x = np.linspace(-1, 1, 7)
    fast = jitrt.jit(arithmetic)
    for _ in range(2):
        np.testing.assert_array_equal(fast(x, *numbers), arithmetic(x, *numbers))


def test_same_bits_for_other_values():
    x = np.linspace(-1, 1, 7)
    fast = jitrt.jit(arithmetic)
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(200, 2)).tolist():
        np.testing.assert_array_equal(fast(x, a, b), arithmetic(x, a, b))


def test_python_raises():
    fast = jitrt.jit(lambda x, a, b: x * (a / b))
    x = np.ones(3)
    np.testing.assert_array_equal(fast(x, 1.0, 4.0), x / 4)
    with pytest.raises(ZeroDivisionError):
        fast(x, 1.0, 0.0)
    with pytest.raises(ZeroDivisionError):
        jitrt.jit(lambda x, a: x + a / 0)(x, 1.0)
    power = jitrt.jit(lambda x, a: x * a**a)
    power(x, 2.0)
    with pytest.raises(OverflowError):
        power(x, 1e6)
    np.testing.assert_array_equal(fast(x, 1.0, 2.0), x / 2)


def test_computed_numbers_stay_python_numbers():
    """A number that a kernel computed divides as Python's numbers do."""
    fast = jitrt.jit(lambda x, a, b: x + 1.0 / (a - b))
    x = np.ones(3)
    np.testing.assert_array_equal(fast(x, 3.0, 1.0), x + 0.5)
    with pytest.raises(ZeroDivisionError):
        fast(x, 2.0, 2.0)


def test_powers_that_turn_complex():
    power = jitrt.jit(lambda x, a: x * a**0.5)
    x = np.ones(3)
    assert power(x, 4.0).dtype == np.float64
    assert power(x, -4.0).dtype == np.complex128
    np.testing.assert_array_equal(power(x, 9.0), 3 * x)


def test_equal_arithmetic_is_done_once():
    def repeated(x, dx, dy):
        for _ in range(2):
            x = x * (dx**2 + dy**2) + dx**2 * x[0]
        return x

    x = np.ones(4)
    explanation = jitrt.jit(repeated).explain(x, 0.1, 0.2)
    graph = explanation.graph
    assert sum(node.op.name == "libm_pow" for node in graph.nodes()) == 2
    np.testing.assert_array_equal(jitrt.jit(repeated)(x, 0.1, 0.2), repeated(x, 0.1, 0.2))


def test_a_literal_divisor_needs_no_python():
    graph = jitrt.jit(lambda x, a: x * (2 * a / 3)).explain(np.ones(4), 0.3).graph
    assert not any(is_python(node.op) for node in graph.nodes())


def test_explain_says_what_python_computes():
    calls = jitrt.jit(lambda x, a: np.sqrt(x) * (1j * a)).explain(np.ones(4), 0.3).host_calls
    assert len(calls) == 1 and "Python's rules" in calls[0]


def every_operator(x, a, b):
    return x * 2, a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(a), divmod(a, b), a


SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 5e-324, 1.7e308, 3.0, 0.1, -2.5, 1e16]


def test_all_bits_of_all_operators_without_python():
    fast, x = jitrt.jit(every_operator), np.ones(3)
    rng = np.random.default_rng(1)
    random = (rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-20, 20, (300, 2))).tolist()
    for a, b in [(1.0, 2.0), *((a, b) for a in SPECIAL for b in SPECIAL), *random]:
        try:
            want = every_operator(x, a, b)
        except ZeroDivisionError as error:
            with pytest.raises(ZeroDivisionError, match=str(error)):
                fast(x, a, b)
            continue
        found = fast(x, a, b)
        np.testing.assert_array_equal(found[0], want[0])
        for mine, theirs in zip(flat(found[1:]), flat(want[1:])):
            assert type(mine) is float
            assert np.isnan(theirs) if np.isnan(mine) else (mine, np.signbit(mine)) == (theirs, np.signbit(theirs))


def flat(values):
    return [n for v in values for n in (v if type(v) is tuple else [v])]


def powers(x, a, b):
    return x * 2, a**2, b**-1, a**0.5, a**b, 2**a, b**3


def test_all_bits_of_powers():
    fast, x, rng = jitrt.jit(powers), np.ones(3), np.random.default_rng(2)
    random = (rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-3, 3, (300, 2))).tolist()
    for a, b in [(1.5, 2.0), *((a, b) for a in SPECIAL for b in SPECIAL), *random, (1e-160, 1.0), (3e-155, 2.0)]:
        compare(fast, powers, x, a, b)


def library(x, a):
    return (
        x * math.sin(a), math.cos(a), math.exp(a), math.atan(a), math.tanh(a), math.atan2(a, 2), math.sqrt(a * a),
        math.log(abs(a) + 1), math.log10(2 + a * a), math.expm1(a / 9), math.log(3 + a * a, 2),
    )  # fmt: skip


def test_all_bits_of_functions():
    fast, x, rng = jitrt.jit(library), np.ones(3), np.random.default_rng(3)
    for a in [1.0, *SPECIAL, *(rng.normal(size=200) * 10.0 ** rng.integers(-9, 3, 200)).tolist()]:
        compare(fast, library, x, a)


def every_function(x, a):
    return (
        x * 2, math.sqrt(a), math.sin(a), math.cos(a), math.tan(a), math.asin(a), math.acos(a), math.atan(a),
        math.sinh(a), math.cosh(a), math.tanh(a), math.asinh(a), math.acosh(1 + a), math.atanh(a), math.exp(a),
        math.expm1(a), math.log(a), math.log2(a), math.log10(a), math.log1p(a), math.atan2(a, 0.4), a**0.3, math.erf(a),
        math.erfc(a),
    )  # fmt: skip


def test_every_function_of_the_library():
    fast, x = jitrt.jit(every_function), np.ones(3)
    assert {op.name for op in LIBRARY_FUNCTIONS.values()} <= {n.op.name for n in fast.explain(x, 0.3).graph.nodes()}
    for a in np.random.default_rng(4).random(100).tolist():
        assert fast(x, a)[1:] == every_function(x, a)[1:]
    assert fast.cache_info().tables == 1


def compare(fast, function, x, *numbers):
    try:
        want = function(x, *numbers)
    except (ArithmeticError, ValueError) as error:
        with pytest.raises(type(error)):
            fast(x, *numbers)
        return
    found = fast(x, *numbers)
    np.testing.assert_array_equal(found[0], want[0])
    for mine, theirs in zip(found[1:], want[1:], strict=True):
        assert type(mine) is type(theirs)
        if mine == mine or theirs == theirs:
            assert mine == theirs and np.signbit(np.real(mine)) == np.signbit(np.real(theirs))


def test_functions_of_computed_scalars():
    fast = jitrt.jit(lambda x: x / math.sqrt(x.sum()) + math.log(x[0]))
    for k in (1.0, 2.0, 5.5):
        x = np.array([k, 3.0, 0.1])
        np.testing.assert_array_equal(fast(x), x / math.sqrt(x.sum()) + math.log(x[0]))
    with pytest.raises(ValueError, match="math domain error"):
        fast(np.array([-1.0, 3.0, 0.1]))
    assert fast.cache_info().slow_calls == 1


def test_numbers_are_computed_in_native_code():
    fast, x = jitrt.jit(lambda x, a, b: (x * (a / b) ** 2, a // b)), np.ones(3)
    for a in (1.0, 2.0, 3.0, float("nan")):
        fast(x, a, 2.0)
    with pytest.raises(ZeroDivisionError):
        fast(x, 1.0, 0.0)
    info = fast.cache_info()
    assert info.tables == 1 and info.slow_calls == 1


def test_nothing_is_written_before_python_raises():
    def scale(x, a, b):
        x += 1
        x *= a / b
        return x.sum() / b

    for size in (5, 40_000):  # copied back, and written in place
        fast, x = jitrt.jit(scale), np.ones(size)
        fast(x, 4.0, 2.0)
        np.testing.assert_array_equal(x, 4.0)
        with pytest.raises(ZeroDivisionError):
            fast(x, 1.0, 0.0)
        np.testing.assert_array_equal(x, 5.0)  # as the plain function leaves it


def test_conditions_before_and_after_a_look():
    def steps(x, a, b):
        c = 1.0 / a
        if x.sum() > 0:
            return x * c
        return x * (c / b)

    fast, x = jitrt.jit(steps), np.ones(4)
    for sign, a, b in [(1, 2.0, 0.0), (-1, 2.0, 4.0), (1, 4.0, 3.0), (-1, 5.0, 2.0)]:
        np.testing.assert_array_equal(fast(sign * x, a, b), steps(sign * x, a, b))
    for sign, a, b in [(1, 0.0, 1.0), (-1, 0.0, 1.0), (-1, 1.0, 0.0)]:
        with pytest.raises(ZeroDivisionError):
            fast(sign * x, a, b)


def test_loops_whose_numbers_change():
    def sweep(x, t, dt):
        for n in range(12):
            x = x * (1.0 / t) + 1.0 / (n + 1)
            t = t - dt
        return x

    fast, x = jitrt.jit(sweep), np.ones(4)
    for t in (20.0, 3.5, 100.0):
        np.testing.assert_allclose(fast(x, t, 1.0), sweep(x, t, 1.0), rtol=1e-14)
    with pytest.raises(ZeroDivisionError):
        fast(x, 7.0, 1.0)


def test_while_loops_divide():
    def halve(x, a):
        while x.max() > 1:
            x = x / (1.0 + 1.0 / a)
            a = a - 1.0
        return x

    fast, x = jitrt.jit(halve), np.full(4, 50.0)
    np.testing.assert_allclose(fast(x, 100.0), halve(x, 100.0), rtol=1e-13)
    with pytest.raises(ZeroDivisionError):
        fast(np.full(4, 1e6), 3.0)


def test_division_by_the_number_of_an_iteration():
    """It is known not to be zero, so the loop becomes one node without a check."""

    def series(x, a):
        for n in range(50):
            x = x + a / (n + 1) - 1.0 / (-2 * n - 3) + a // (3 * n + 1)
        return x

    fast, x = jitrt.jit(series), np.ones(4)
    names = {node.op.name for node in fast.explain(x, 1.5).graph.nodes()}
    assert "loop" in names and "assume" not in names
    for a in (1.5, 0.0, -7.25, float("inf")):
        np.testing.assert_array_equal(fast(x, a), series(x, a))


def test_division_by_the_number_of_an_iteration_that_is_zero():
    def series(x, first):
        for n in range(first, 20):
            x = x + 1.0 / n
        return x

    fast, x = jitrt.jit(series), np.ones(4)
    np.testing.assert_array_equal(fast(x, 1), series(x, 1))
    for first in (0, -3):
        with pytest.raises(ZeroDivisionError):
            fast(x, first)
    np.testing.assert_array_equal(fast(x, 2), series(x, 2))


class Counted:
    def __init__(self, n):
        self.n, self.x = n, np.zeros(10)


def test_powers_of_integers_that_change():
    """Small powers are products of integers: no trace for each of them, and Python's integers where they are longer."""

    def step(counted, z):
        counted.n += 1
        counted.x[0] += z / counted.n**2
        return counted.n**3, counted.x[0], counted.n**1

    compiled = jitrt.jit(step)
    for start in (0, -70, 2**20, 2**33):
        mine, others = Counted(start), Counted(start)
        for k in range(30):
            assert compiled(mine, 0.5 + k) == step(others, 0.5 + k)
            assert (mine.n, type(mine.n), mine.x[0]) == (others.n, int, others.x[0])
        if start == 0:
            assert compiled.cache_info().slow_calls < 10


def test_powers_of_integers():
    values = [0, 1, -1, 3, -17, 2**15, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1]
    for exponent in range(6):
        compiled = jitrt.jit(lambda x, n, e=exponent: (x + 1, n**e))
        for n in values * 2:
            found = compiled(np.ones(3), n)[1]
            assert (found, type(found)) == (n**exponent, int)


PARTS = {
    "real": lambda z: z.real,
    "imag": lambda z: (z.imag, -z.imag),
    "conjugate": lambda z: z.conjugate(),
    "np.real": lambda z: np.real(z),
    "np.imag": lambda z: np.imag(z),
    "of a product": lambda z: [(z * z).imag, (z + 1).real.real],
    "decides no dtype": lambda z: (np.float32([1, 2]) * z.real, np.arange(3) * np.imag(z), z.real / 3),
    "complex": lambda z: (complex(z.real, -z.imag), complex(real=-z.real), complex(z.imag * 2.0)),
    "round": lambda z: round(z.real, 1),
    "isinstance": lambda z: (isinstance(z.real, float), isinstance(z.imag, int)),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_numbers(name):
    """Those of Python's numbers are Python's numbers; those of arrays without axes are arrays."""
    function = PARTS[name]
    numbers = 1.5 + 2j, complex(-0.0, -0.0), complex("nan+2.5j"), 1.5, -0.0, 2, True, np.complex64(1j), np.float32(-2)
    for number in numbers:
        compiled = jitrt.jit(function)
        for z in (number, number * 3, number):
            assert repr(compiled(z)) == repr(function(z))


def test_complex_of_computed_numbers_keeps_signs_of_zeros():
    function = lambda x, y: (complex(x * 1, -y), complex(x, y * 1))  # noqa: E731
    numbers = 1.5, 0.0, -0.0, float("inf"), 2, np.float64(-0.0), np.float32(0.0)
    for x, y in itertools.product(numbers, repeat=2):
        assert repr(jitrt.jit(function)(x, y)) == repr(function(x, y))


@pytest.mark.parametrize("array", [np.array(2.0), np.array(2), np.ones(3), np.ones(3, complex), np.array(1j)])
def test_imaginary_parts_of_real_arrays_may_not_be_written(array):
    for function in (np.imag, lambda x: x.imag, lambda x: (x * 1).imag, lambda x: x[..., None][0].imag):
        got, want = jitrt.jit(function)(array), function(array)
        assert repr(got) == repr(want)
        assert type(got) is type(want)
        assert got.flags.writeable == want.flags.writeable


def element(v):
    made = np.zeros(3, np.uint8)
    made[0] = v
    return made


TO_INTEGERS = {
    "uint8": lambda v, x: np.uint8(v),
    "int8": lambda v, x: np.int8(v * 2.0),
    "int64": lambda v, x: np.int64(v),
    "uint64": lambda v, x: np.uint64(v),
    "array": lambda v, x: np.array(v, np.int8),
    "list": lambda v, x: np.array([v, 1.0], np.uint8),
    "nested": lambda v, x: np.asarray([[1.0, v]], dtype=np.uint16),
    "element": lambda v, x: element(v),
    "numpy": lambda v, x: np.uint8(np.float64(v)),
    "item": lambda v, x: np.int16([v, v][1]),
    "beside": lambda v, x: x.astype(np.int8) + np.int8(v),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::jitrt.JitrtPerformanceWarning")
@pytest.mark.parametrize("form", TO_INTEGERS)
def test_floats_that_become_integers(form):
    """A float of Python's becomes one by way of Python's integers, which have to fit; one of NumPy's is cut off."""
    function, x = TO_INTEGERS[form], np.arange(5000.0)
    fast = jitrt.jit(function)

    def outcome(called, v):
        try:
            made = called(v, x)
        except (OverflowError, ValueError) as error:
            return type(error), str(error)
        return type(made), made.dtype, made.tolist()

    for v in (1.5, -0.5, -1.0, -2.5, 63.9, 64.0, 127.9, 128.0, 255.9, 256.0, -129.0, 65536.0, 2.0**63, -(2.0**63)):
        want = outcome(function, v)
        assert [outcome(fast, v), outcome(fast, v)] == [want, want], v
    for v in (2.0**64, 1e300, float("nan"), float("inf")):
        want = outcome(function, v)
        assert [outcome(fast, v), outcome(fast, v)] == [want, want], v


@pytest.mark.wide
@pytest.mark.parametrize("operator_", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift])
@pytest.mark.parametrize("integer", [operator.pos, abs, lambda b: b + 1, lambda b: b * 3])
def test_integers_of_comparisons_in_operations_that_floats_do_not_have(operator_, integer):
    """What an integer could be as a float was asked for where NumPy has no such operation: an internal error."""

    @jitrt.jit
    def f(x, i, limit):
        return operator_(x, integer(i != limit)), operator_(x > 0, integer(i > limit))

    for x in (np.arange(4), np.arange(4, dtype=np.uint8), np.bool_(True)):
        for i, limit in ((3, 2.5), (2, 2.0), (-1, 4)):
            for got, want in zip(f(x, i, limit), f.__wrapped__(x, i, limit)):
                assert got.dtype == want.dtype and np.array_equal(got, want)


NUMBERS = [
    2.5,
    0.5,
    -2.0,
    2,
    True,
    np.float64(2.5),
    np.float32(2.5),
    np.float16(0.5),
    np.int64(2),
    np.int8(3),
    np.bool_(True),
]


@pytest.mark.wide
@pytest.mark.parametrize("power", [lambda x, y: x**y, lambda x, y: (x * 1.0) ** y, lambda x, y: x ** (y * 1)])
@pytest.mark.parametrize("base", NUMBERS)
def test_powers_of_numbers_have_numpys_types(power, base):
    """A float of Python's to the power of one of NumPy's with less precision was of double precision."""
    fast = jitrt.jit(power)
    with np.errstate(all="ignore"):
        for exponent in NUMBERS:
            want, got = power(base, exponent), fast(base, exponent)
            assert type(got) is type(want), exponent
            np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=repr(exponent))


@pytest.mark.wide
@pytest.mark.parametrize("operator_", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
@pytest.mark.parametrize("is_constant", [False, True])
def test_complex_numbers_in_front_of_numpys_floats_are_pythons(operator_, is_constant):
    """An np.float64 is a float, so Python computes: beside an array of less precision the result counts for nothing."""

    def plain(c, s, x):
        c = 2 + 1j if is_constant else c
        left, right, total = operator_(c, s), operator_(s, c), operator_(c, x.sum(dtype=np.float64))
        return left, right, total, left * x, right * x, total * x, operator_(c, np.float64(0.5)) * x

    fast = jitrt.jit(plain)
    for s in (np.float64(1.5), np.float32(1.5), np.complex128(1.5), 1.5, np.int64(2)):
        for x in (np.ones(3, np.float32), np.ones((2, 2), np.float16)):
            for _ in range(2):
                for got, want in zip(fast(2 + 1j, s, x), plain(2 + 1j, s, x)):
                    assert type(got) is type(want) and np.asarray(got).dtype == np.asarray(want).dtype
                    np.testing.assert_allclose(got, want, rtol=1e-3)
