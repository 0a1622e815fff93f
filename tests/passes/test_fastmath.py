"""Arithmetic that the user lets the compiler rearrange, and constants that are wider than NumPy's."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import jitrt
from jitrt.ir.ops.optable import OPS
from jitrt.ir.ops.relaxed import RELAXED
from jitrt.runtime.stagedloops import LoopEngine

_UNARY = [
    np.exp,
    np.log,
    np.sqrt,
    np.negative,
    np.absolute,
    np.square,
    lambda x: x**3,
    lambda x: x**-5,
    lambda x: x / 7,
]
_BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum]


def fast(function):
    return jitrt.jit(fastmath=True)(function)


def _rules(function, *args):
    return jitrt.jit(fastmath=True)(function).explain(*args).rules


def _operations(function, *args):
    nodes = fast(function).explain(*args).compiled.stages[-1][1].nodes()
    return [n.op.name for n in nodes if n.args and n.op.name != "broadcast_to"]


def _random_function(seed):
    rng = np.random.default_rng(seed)
    steps = [(rng.integers(3), rng.integers(1 << 30), rng.integers(1 << 30), rng.uniform(0.5, 2)) for _ in range(12)]

    def function(x, y):
        values = [x, y, np.abs(x) + 1.0]
        for kind, which, other, number in steps:
            a, b = values[which % len(values)], values[other % len(values)]
            if kind == 0:
                made = np.abs(_UNARY[which % len(_UNARY)](a)) + 0.5
            elif kind == 1:
                made = np.abs(_BINARY[which % len(_BINARY)](a, b)) + 0.25
            else:
                made = (a + number) * number + (1 - b / number)
            values.append(np.tanh(made / 4) + 1.5)  # of moderate size, and smooth
        return values[-1] + values[-2] * values[-3]

    return function


@pytest.mark.wide
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(25))
def test_random_functions_differ_in_their_last_places_alone(seed, dtype):
    rng = np.random.default_rng(seed)
    function = _random_function(seed)
    compiled = fast(function)
    for size in (1, 37, 5000):
        x, y = rng.uniform(0.5, 2, (2, size)).astype(dtype)
        expected = function(x.astype(np.float64), y.astype(np.float64))
        found = compiled(x, y)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=2000 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (lambda x: (x + 1.5) + 2.0, ["relaxed_add"]),
        (lambda x: (x - 1.5) * 1.0 - 2.0, ["relaxed_add"]),
        (lambda x: (x * 1.5) / 3.0, ["relaxed_multiply"]),
        (lambda x: np.log(1 + x), ["log1p"]),
        (lambda x: np.log(np.exp(x) + np.exp(2 - x)), ["relaxed_subtract", "logaddexp"]),
        (lambda x: np.exp(x) - 1, ["expm1"]),
        (lambda x: np.sqrt(x * x), ["absolute"]),
        (lambda x: x**6, ["relaxed_multiply"] * 3),
        (lambda x: x**-2, ["relaxed_multiply", "relaxed_divide"]),
    ],
)
def test_formulas(function, operations):
    x = np.linspace(0.1, 3, 1000)
    assert _operations(function, x) == operations
    np.testing.assert_allclose(fast(function)(x), function(x), rtol=1e-13)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.log(2 + x),
        lambda x: np.exp(x) - 2,
        lambda x: np.sqrt(x * (x + 1)),
        lambda x: x / 1e-320,  # whose reciprocal is infinite
        lambda x: x**17,
        lambda x: x**2.5,
        lambda x: (x + 1.7e308) + 1.7e308,
    ],
)
def test_what_looks_like_these_formulas(function):
    x = np.linspace(0.1, 3, 1000)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(fast(function)(x), function(x), rtol=1e-13)
    found = _rules(function, x)
    wrong = {"log_of_sum", "exp_minus_one", "root_of_square", "power_as_product", "reassociate_floats"}
    assert not wrong & found.keys()
    assert "multiply_by_reciprocal" not in found


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.library == RELAXED], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_operation_by_itself_is_numpys(op, dtype):
    special = np.array([np.inf, -np.inf, np.nan, 1.0, -1.0, 0.0, 3e38, 1e-38, 7.5], dtype)
    ufunc = op.ufunc
    args = [np.repeat(special, 9), np.tile(special, 9)][: ufunc.nin]
    function = (lambda x: ufunc(x)) if ufunc.nin == 1 else lambda x, y: ufunc(x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fast(function)(*args), function(*args))
    assert _operations(function, *args) == [op.name]


def test_infinity_and_nan_stay_what_they_are():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, 1.0] * 20)

    def function(x, y):
        return (x - y) * 2.0 + x / 3.0, np.exp(x) - 1, np.where(np.isnan(x), y, x)

    with np.errstate(all="ignore"):
        for found, expected in zip(fast(function)(x, x[::-1]), function(x, x[::-1])):
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x + y) - x,
        lambda x, y: x - (x - y),
        lambda x, y: (x - y) + (y - x),
        lambda x, y: (x * 2 + 1) - x * 2,
        lambda x, y: (x * y) / x,
    ],
)
def test_nan_stays_where_terms_cancel(function):
    x, y = np.array([np.nan, 1.0, 2.0, -3.0] * 20), np.full(80, 0.5)

    def looped(x, y):
        out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = function(x[i], y[i])
        return out

    for relaxed in (jitrt.jit(fastmath=True)(function), jitrt.jit(fastmath=True)(looped)):
        for _ in range(3):
            np.testing.assert_allclose(relaxed(x, y), function(x, y))
            np.testing.assert_allclose(relaxed(y, x), function(y, x))


@pytest.mark.parametrize("dtype", ["i4", "u1", "i8", "?", "c16"])
def test_other_types_keep_numpys_bits(dtype):
    x = np.arange(-30, 30).astype(dtype)

    def function(x):
        return (x + x) * x, x * x + x

    for found, expected in zip(fast(function)(x), function(x)):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def total(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def test_a_loop_is_rearranged_and_the_same_function_without_the_option_is_not():
    x, y = np.random.default_rng(1).random((2, 1000))
    text = LoopEngine(total, fast(total)._options.rounding).source((x, y))
    assert "relaxed_add" in text
    assert "relaxed_multiply" in text
    compiled = fast(total)
    exact = jitrt.jit(total)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x, y), x @ y, rtol=1e-13)
        assert exact(x, y) == total(x, y)
    assert "relaxed" not in LoopEngine(total).source((x, y))


def test_division_by_zero_in_a_loop_raises():
    def quotients(x, y):
        s = 0.0
        for i in range(x):
            s += 1.0 / (y - i)
        return s

    compiled = fast(quotients)
    assert compiled(3, 7.0) == pytest.approx(quotients(3, 7.0))
    with pytest.raises(ZeroDivisionError):
        compiled(3, 1.0)


def test_new_shapes_loops_and_choices():
    @fast
    def function(x, n):
        for _ in range(n):
            x = x + 0.25 * (1.0 - x) / 3.0
        return jitrt.cond(x.sum() > 0, lambda x: x * 1.5 * 2.0, lambda x: -x, x)

    for size in (40, 41, 900, 50_000):
        for n in (2, 5):
            x = np.linspace(0, 1, size)
            np.testing.assert_allclose(function(x, n), function.__wrapped__(x, n), rtol=1e-13)


def test_the_option_is_pickled_and_shown():
    def own(x):
        return x + 1.0 + 2.0

    assert pickle.loads(pickle.dumps(_pickled))._options == _pickled._options
    assert "relaxed_add" in str(fast(own).lower(np.ones(100)))
    assert "relaxed_add" not in str(jitrt.jit(own).lower(np.ones(100)))


@fast
def _pickled(x):
    return x * 2.0


def test_other_processes_find_it_on_disk(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        import numpy as np
        import jitrt

        def function(x):
            y = np.sort(x * 1.5 * 2.0 + 1.0)
            return (y + 1.5) + 2.0

        x = np.linspace(0, 1, 40_000)
        fast, exact = jitrt.jit(fastmath=True)(function), jitrt.jit(function)
        np.testing.assert_allclose(fast(x), function(x), rtol=1e-14)
        np.testing.assert_array_equal(exact(x), function(x))
        print("numba" in sys.modules)
        """)
    )
    environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path / "cache")}
    printed = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert printed == ["True\n", "False\n"]


_WEIGHTS = jitrt.frozen(np.random.default_rng(3).random((300, 300)).astype(np.float32))
_CONSTANTS = {"scale": jitrt.frozen(np.random.default_rng(4).random(300).astype(np.float32))}


def _normalised(weights, scale):
    chain = weights * np.float32(0.1) + scale
    for k in range(1, 6):
        chain = np.sqrt(chain * np.float32(1 / k) + np.float32(0.3)) / np.float32(1.1)
    return chain


@pytest.mark.parametrize("is_argument", [False, True])
def test_wide_constants_are_rounded_once(is_argument):
    def function(x, weights):
        return x * _normalised(weights if is_argument else _WEIGHTS, _CONSTANTS["scale"])

    x = np.ones((300, 300), np.float32)
    wide, exact = jitrt.jit(wide_constants=True)(function), jitrt.jit(function)
    reference = _normalised(_WEIGHTS.astype(np.float64), _CONSTANTS["scale"].astype(np.float64)).astype(np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(wide(x, _WEIGHTS), reference)
        np.testing.assert_array_equal(exact(x, _WEIGHTS), function(x, _WEIGHTS))
    assert (function(x, _WEIGHTS) != reference).any()


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.complex128])
def test_constants_that_are_wide_are_numpys(dtype):
    numbers = jitrt.frozen(np.arange(1, 41).astype(dtype))

    def function(x):
        return x + ((numbers * 3 + 1) * numbers).sum() + numbers.T[::2].sum(), numbers * 2

    x = np.ones(40, dtype)
    for found, expected in zip(jitrt.jit(wide_constants=True)(function)(x), function(x)):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
