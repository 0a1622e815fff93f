"""Operations that kernels leave to NumPy's own inner loops, called on strips: its bits, wherever they stand."""

import os
import subprocess
import sys

import numpy as np
import pytest
from jitrt.kernels import numpy_loops
from operands import special

import jitrt

SPECIAL = np.concatenate(
    [
        special("f"),
        np.array([0.5, 1.5, 2.5, 3.0, -0.5, -1.0, -2.0, -3.0, 7.5, 63.0, 64.0, -64.0, 65.0, 2.0**24, 2.0**24 + 2], "f"),
        np.array([1e-45, -1e-45, 1e-40, -1e-40, 1e10, -1e10, -3.4e38, -0.99999994, -1.0000001], "f"),
    ]
)
LENGTHS = (0, 1, 2, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1024, 1500)


def _runs_in_kernels(function, *args):
    explanation = jitrt.jit(function).explain(*args)
    return not explanation.plain_reason and not explanation.host_calls


def _assert_same_bits(result, expected):
    result, expected = np.asarray(result), np.asarray(expected)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert result.tobytes() == expected.tobytes()


def _power(x, y):
    return x**y


def _pairs(rng, number):
    """Bases and exponents: of all bits, near the results that are rounded apart, whole and half exponents."""
    anything = rng.integers(0, 2**32, (2, number), dtype=np.uint32).view("f")
    halves = (rng.integers(-130, 131, number) / 2).astype("f")
    wide = -np.exp2(rng.uniform(-126, 128, number)).astype("f")
    bounded = np.minimum(64, 140 / np.maximum(np.abs(np.log2(-wide)), 1e-3))
    whole = np.rint(rng.uniform(-1, 1, number) * bounded).astype("f")
    normal = rng.standard_normal(number).astype("f")
    yield from ((anything[0], anything[1]), (anything[0], halves), (wide, whole), (normal, np.rint(halves / 4)))


def test_it_is_no_step_of_its_own():
    x = np.full(9, 1.5, "f")
    assert _runs_in_kernels(_power, x, x)
    assert _runs_in_kernels(lambda x: 2 * x**3 + 1, x)
    assert _runs_in_kernels(lambda z: np.expm1(z) * z**-3 + np.tan(z), x.astype("F"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_of_special_values():
    x, y = (np.ravel(a) for a in np.meshgrid(SPECIAL, SPECIAL))
    compiled = jitrt.jit(_power)
    _assert_same_bits(compiled(x, y), x**y)
    for exponent in SPECIAL:
        _assert_same_bits(compiled(SPECIAL, exponent), SPECIAL**exponent)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", [100_000, pytest.param(3_000_000, marks=pytest.mark.slow)])
def test_powers_have_numpys_bits(number):
    compiled = jitrt.jit(_power)
    for x, y in _pairs(np.random.default_rng(number), number):
        _assert_same_bits(compiled(x, y), x**y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("exponent", [3, -3, 4.0, 0.5, -0.5, 1.5, 2, -1, 7, -64, 100, np.float32(5)], ids=repr)
def test_literal_exponents(exponent):
    x = np.concatenate([SPECIAL, (np.random.default_rng(3).standard_normal(20_000) * 4).astype("f")])
    _assert_same_bits(jitrt.jit(lambda x: x**exponent)(x), x**exponent)
    _assert_same_bits(jitrt.jit(_power)(x, float(exponent)), x ** float(exponent))


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n):
    x = np.linspace(-2, 2, n).astype("f")
    compiled = jitrt.jit(lambda x, y: (x * y) ** 2.3 - x)
    _assert_same_bits(compiled(x, x), (x * x) ** 2.3 - x)


def _chained(x, y):
    a = np.abs(x) ** y
    return np.abs(a + x) ** 2.3 - a**0.3 * x


def _in_place(x):
    x **= 3
    x += 1
    return x


def _rows(x):
    return (x**3).sum(axis=1), (x**3).max(axis=0), x.sum(axis=1) ** 3


def _scanned(x):
    return np.cumsum(x**3, axis=-1) + x, np.cumsum(x**3 + 1, axis=0)


def _searched(x):
    return np.argmax(x**3), np.argmin(x**5, axis=1)


def _across(x):
    return x**3 + x.T**3 * 2


def _by_rows(x):
    return x ** x[:, :1], x ** x[0], x[0] ** 2.5, 2 ** x[:, :1]


def _neighbours(x):
    p = x**3
    return p[1:] - p[:-1]


def _gathered(x):
    return x[np.array([3, 1, 0, 2])] ** 3 + x[:4]


def _chosen(x):
    return np.where(x > 0, x**3, x)


@pytest.mark.wide(times=2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "function", [_in_place, _rows, _scanned, _searched, _across, _by_rows, _neighbours, _gathered, _chosen]
)
@pytest.mark.parametrize("shape", [(4, 4), (700, 3), (40, 40), (6, 700), (300, 300)], ids=str)
def test_forms_of_nests(function, shape):
    if function is _across and shape[0] != shape[1]:
        pytest.skip("for squares")
    x = np.random.default_rng(1).integers(-5, 6, shape).astype("f")  # whole numbers: sums of cubes are exact
    for layout in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        expected, result = function(layout.copy("K")), jitrt.jit(function)(layout.copy("K"))
        for got, want in zip(*(r if isinstance(r, tuple) else (r,) for r in (result, expected)), strict=True):
            _assert_same_bits(got, want)


def test_one_call_reads_what_another_gives():
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal(5_000).astype("f") for _ in range(2))
    with np.errstate(all="ignore"):
        _assert_same_bits(jitrt.jit(_chained)(x, y), _chained(x, y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("name", ["expm1", "tan", "arcsin", "arctanh", "log10"])
def test_complex_functions(char, name):
    z = np.concatenate([special(char), np.random.default_rng(0).standard_normal(2_000).view(char)])
    function = getattr(np, name)
    result, expected = jitrt.jit(lambda z: function(z) + 1)(z), function(z) + 1
    np.testing.assert_array_max_ulp(result.real, expected.real, 2)
    np.testing.assert_array_max_ulp(result.imag, expected.imag, 2)


@pytest.mark.parametrize(("base", "exponent"), [(-1e30, 2.5), (-2.0, 3.0), (-0.0, -3.0), (-1e30, 3.0), (np.nan, 3.0)])
def test_exceptions_are_those_of_the_loop(base, exponent):
    def reported(function):
        found = []
        with np.errstate(all="call", call=lambda kind, flag: found.append(kind)):
            function(np.full(40, base, "f"), np.full(40, exponent, "f"))
        return sorted(set(found) - {"underflow"})

    assert reported(jitrt.jit(_power)) == reported(_power)


def test_what_is_no_loop_of_numpys():
    assert numpy_loops.symbol("numpy", "power", "ll->l") is None
    assert numpy_loops.symbol("numpy", "no such function", "ff->f") is None
    assert numpy_loops.symbol("numpy", "power", "fd->f") is None
    assert numpy_loops.symbol("numpy", "pi", "ff->f") is None
    assert not numpy_loops.bind(["numpy.power.ll->l"])
    assert numpy_loops.bind(["another library's symbol"])


_SCRIPT = """
import numpy as np, jitrt
x = np.linspace(-3, 3, 1000).astype("f")
for e in (3, 2.5, -7):
    with np.errstate(all="ignore"):
        assert (jitrt.jit(lambda x, e: x**e + 0)(x, float(e))).tobytes() == (x ** float(e) + 0).tobytes()
print("loaded" if jitrt.codegen.cache._loaded else "compiled")
"""


def test_cached_code_calls_the_loops_of_its_process(tmp_path):
    """Also where NumPy has chosen other loops for the processor than in the process that compiled the code."""
    outputs = []
    for disabled in ("", "", "X86_V4 AVX512_ICL AVX512_SPR AVX512_SKX"):
        environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path), "JITRT_STRICT": "1"}
        if disabled:
            environment["NPY_DISABLE_CPU_FEATURES"] = disabled
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(run.stdout.strip())
    assert outputs == ["compiled", "loaded", "loaded"]


def test_looking_at_powers_raises_nothing():
    with np.errstate(all="raise"):
        numpy_loops._is_slow_beside_zero("power", "ff->f")
