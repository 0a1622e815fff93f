"""The elementary functions against mpmath, NumPy's special values, and their own compiled form."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
import platform
import re
import sys
import warnings

import numpy as np
import points
import pytest
import reference
import scipy.special
from jitrt.kernels import vmath
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock

from jitrt.codegen.context import code_generator, has_avx512, has_fma

ROWS = [(f.name, char) for f in vmath.FUNCTIONS.values() for char in f.types if f.name != "sinc"]
DTYPES = {"d": np.float64, "f": np.float32}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40, -1e-40]


def _arguments(name: str, char: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    if vmath.FUNCTIONS[name].arity == 1:
        return (points.one_argument(name, DTYPES[char], count, seed),)
    return points.two_arguments(name, DTYPES[char], count, seed)


def _numpy(name: str) -> np.ufunc:
    return getattr(np, name, None) or getattr(scipy.special, name)


TARGETS = {"fma": (True, False), "no_fma": (False, False), "avx512": (True, True)}
ROWS_OF_TARGETS = [
    pytest.param(name, char, *TARGETS[target], id=f"{name}-{char}-{target}")
    for name, char in ROWS
    for target in TARGETS
    if target != "avx512" or vmath.FUNCTIONS[name].wide is not None
]


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize(("name", "char", "fma", "avx512"), ROWS_OF_TARGETS)
def test_within_one_ulp(name: str, char: str, fma: bool, avx512: bool) -> None:
    arguments = _arguments(name, char, 700)
    result = vmath.evaluate(name, *arguments, fma=fma, avx512=avx512)
    errors = reference.ulp_errors(name, result, *arguments)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 1.0, [x[worst] for x in arguments]


@pytest.mark.parametrize("char", "df")
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_near_one(name: str, char: str) -> None:
    """Where the sum of two exponentials is nearly one, down to some thirty times the least distance that there is."""
    rng = np.random.default_rng(4)
    unit = 1.0 if name == "logaddexp" else np.log(2.0)
    larger = -np.exp(rng.uniform(np.log(1e-9), np.log(0.69), 300))
    other = np.log(-np.expm1(larger))
    nearness = rng.uniform(-48, 0, 300) if char == "d" else rng.uniform(-30, 0, 300)
    other *= 1.0 + np.exp2(nearness) * rng.choice([-1.0, 1.0], 300)
    x, y = (a.astype(DTYPES[char]) for a in (larger / unit, other / unit))
    for arguments in ((x, y), (y, x)):
        result = vmath.evaluate(name, *arguments, fma=True, avx512=True)
        errors = reference.ulp_errors(name, result, *arguments)
        assert errors.max() <= 1.0, [a[np.argmax(errors)] for a in arguments]


@pytest.mark.parametrize(("name", "char", "fma", "avx512"), ROWS_OF_TARGETS)
def test_special_values_are_numpys(name: str, char: str, fma: bool, avx512: bool) -> None:
    values = np.array(SPECIAL, DTYPES[char])
    arity = vmath.FUNCTIONS[name].arity
    arguments = [np.array(column) for column in zip(*itertools.product(values, repeat=arity), strict=True)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = _numpy(name)(*arguments)
    result = vmath.evaluate(name, *arguments, fma=fma, avx512=avx512)
    exact = ~np.isfinite(expected) | (expected == 0) | (np.abs(expected) == 1)
    same = (result == expected) & (np.signbit(result) == np.signbit(expected)) | np.isnan(result) & np.isnan(expected)
    wrong = np.flatnonzero(exact & ~same)
    assert not wrong.size, [([x[i] for x in arguments], result[i], expected[i]) for i in wrong]
    assert np.isnan(expected).tolist() == np.isnan(result).tolist()
    near = np.isfinite(expected)
    with np.errstate(all="ignore"):
        # NumPy's own functions are up to four units away from the true value.
        np.testing.assert_array_max_ulp(result[near], expected[near], 4)


def _add_loop(module: ir.Module, name: str, char: str, fma: bool, avx512: bool = False) -> None:
    """The function named as the module, ``(out, inputs..., count)``: a loop over contiguous arrays."""
    element, index = {"d": ir.DoubleType(), "f": ir.FloatType()}[char], ir.IntType(64)
    arity = vmath.FUNCTIONS[name].arity
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [element.as_pointer()] * (arity + 1) + [index]), module.name
    )
    set.add(function.attributes, '"prefer-vector-width"="512"')
    for argument in function.args[:-1]:
        argument.add_attribute("noalias")
    entry, loop, done = (function.append_basic_block(label) for label in ("entry", "loop", "done"))
    builder = ir.IRBuilder(entry)
    builder.branch(loop)
    builder.position_at_end(loop)
    i = builder.phi(index)
    values = [builder.load(builder.gep(p, [i], inbounds=True)) for p in function.args[1:-1]]
    emit = vmath.emitter(name, char * arity, fma, avx512)
    assert emit is not None
    builder.store(emit(builder, values), builder.gep(function.args[0], [i], inbounds=True))
    following = builder.add(i, index(1), flags=["nsw"])
    i.add_incoming(index(0), entry)
    i.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, function.args[-1]), loop, done)
    builder.position_at_end(done)
    builder.ret_void()


@functools.cache
@global_compiler_lock
def _compiled(name: str, char: str, avx512: bool) -> tuple[object, object]:
    """The function in a loop for this machine, which may lack fma: both variants are right."""
    library = code_generator().create_library(f"test_{name}_{char}_{avx512}")
    module = library.create_ir_module(f"test_{name}_{char}_{avx512}")
    _add_loop(module, name, char, has_fma(), avx512)
    library.add_ir_module(module)
    library.finalize()
    arity = vmath.FUNCTIONS[name].arity
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)
    return library, prototype(library.get_pointer_to_function(module.name))


COMPILED_ROWS = [
    pytest.param(
        name,
        char,
        wide,
        id=f"{name}-{char}" + "-avx512" * wide,
        marks=[pytest.mark.skipif(wide and not has_avx512(), reason="no AVX-512")],
    )
    for name, char in ROWS
    for wide in (False, True)
    if not wide or vmath.FUNCTIONS[name].wide is not None
]


@pytest.mark.wide(times=2)
@pytest.mark.parametrize(("name", "char", "avx512"), COMPILED_ROWS)
def test_compiled_equals_numpy_back_end(name: str, char: str, avx512: bool) -> None:
    values = np.array(SPECIAL, DTYPES[char])
    arguments = [np.concatenate([x, np.roll(values, i)]) for i, x in enumerate(_arguments(name, char, 400, 1))]
    library, call = _compiled(name, char, avx512)
    result = np.empty_like(arguments[0])
    call(result.ctypes.data, *(x.ctypes.data for x in arguments), result.size)
    expected = vmath.evaluate(name, *arguments, fma=has_fma(), avx512=avx512)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result[result == 0]), np.signbit(expected[result == 0]))
    if has_avx512():
        assert "zmm" in library.get_asm_str()


@pytest.mark.parametrize(("name", "char", "avx512"), COMPILED_ROWS)
def test_results_do_not_depend_on_the_place(name: str, char: str, avx512: bool) -> None:
    """Whole vectors, what remains behind them, and single elements; special values beside ordinary ones."""
    _library, call = _compiled(name, char, avx512)
    arguments = [x[:77].copy() for x in _arguments(name, char, 100, 2)]
    for i, x in enumerate(arguments):
        x[i::7] = np.resize(SPECIAL, x[i::7].size)
    results = []
    for count in (77, 1):
        result = np.empty_like(arguments[0])
        for start in range(0, 77, count):
            call(*(x[start:].ctypes.data for x in (result, *arguments)), count)
        results.append(result)
    np.testing.assert_array_equal(*results)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="compiles for x86-64")
@pytest.mark.parametrize(
    ("name", "char"),
    [
        (name, char)
        for name in ("exp", "log", "power", "tanh", "arctan2", "erf", "sin", "tan", "arctanh", "expm1", "sinh")
        for char in vmath.FUNCTIONS[name].types
    ],
)
def test_vectorises_with_avx2_alone(name: str, char: str) -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = ir.Module("avx2")
    module.triple = llvm.get_default_triple()
    _add_loop(module, name, char, fma=True)
    machine = llvm.Target.from_triple(module.triple).create_target_machine(cpu="haswell", opt=3)
    parsed = llvm.parse_assembly(str(module))
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(parsed, passes)
    body = machine.emit_assembly(parsed).split("\navx2:")[1]
    assert re.search(r"vfn?madd\w*\s.*ymm", body)


@pytest.mark.parametrize("char", "df")
def test_huge_and_ordinary_arguments_share_a_loop(char: str) -> None:
    x = np.linspace(-10, 10, 101).astype(DTYPES[char])
    x[::7] = [1e22, -1e30, 3e38, 1e7, -5e9] * 3
    for name in ("sin", "cos", "tan"):
        _library, call = _compiled(name, char, has_avx512())
        result = np.empty_like(x)
        call(result.ctypes.data, x.ctypes.data, x.size)
        assert reference.ulp_errors(name, result, x).max() <= 1.0


INVALID, DIVIDE, OVERFLOW = 1, 4, 8
RAISING = [
    ("exp", 1000.0, OVERFLOW), ("exp2", 2000.0, OVERFLOW), ("expm1", 1000.0, OVERFLOW), ("sinh", 1000.0, OVERFLOW),
    ("log", 0.0, DIVIDE), ("log2", 0.0, DIVIDE), ("log10", 0.0, DIVIDE), ("log1p", -1.0, DIVIDE),
    ("log", -1.0, INVALID), ("log2", -1.0, INVALID), ("log10", -1.0, INVALID), ("log1p", -2.0, INVALID),
    ("arcsin", 2.0, INVALID), ("arccos", 2.0, INVALID), ("arccosh", 0.5, INVALID), ("sin", np.inf, INVALID),
]  # fmt: skip


def _flags(name: str, char: str, *arguments: np.ndarray) -> int:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    _library, call = _compiled(name, char, has_avx512())
    result = np.empty_like(arguments[0])
    pointers = [array.ctypes.data for array in (result, *arguments)]
    library.feclearexcept(61)
    call(*pointers, result.size)
    return library.fetestexcept(INVALID | DIVIDE | OVERFLOW)


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="flags of x86-64 Linux")
@pytest.mark.parametrize("char", "df")
@pytest.mark.parametrize(("name", "value", "flag"), RAISING)
def test_poles_and_domain_errors_raise_their_flag(name: str, value: float, flag: int, char: str) -> None:
    assert _flags(name, char, np.full(40, value, DTYPES[char])) == flag


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="flags of x86-64 Linux")
@pytest.mark.parametrize(("name", "char"), ROWS)
def test_ordinary_arguments_raise_no_flag(name: str, char: str) -> None:
    low, high = (1.5, 3.0) if name == "arccosh" else (0.1, 0.9)
    x = np.linspace(low, high, 200).astype(DTYPES[char])
    assert not _flags(name, char, *[x] * vmath.FUNCTIONS[name].arity)


@pytest.mark.wide(pairs=True)
@pytest.mark.skipif(sys.platform != "linux" or not has_avx512(), reason="flags of AVX-512 on Linux")
@pytest.mark.parametrize("value", [np.nan, 0.0, -0.0, 1.0, -1.0])
@pytest.mark.parametrize(("name", "char"), ROWS)
def test_no_flags_but_numpys(name: str, char: str, value: float) -> None:
    """The generic formulas, for other processors, raise the flag of invalid operations for nan as well."""
    x = np.full(40, value, DTYPES[char])
    reported = 0

    def report(_kind: str, flag: int) -> None:
        nonlocal reported
        reported |= {1: DIVIDE, 2: OVERFLOW, 4: 0, 8: INVALID}[flag]

    with warnings.catch_warnings(), np.errstate(all="call", call=report):
        warnings.simplefilter("ignore")
        _numpy(name)(*[x] * vmath.FUNCTIONS[name].arity)
    assert _flags(name, char, *[x] * vmath.FUNCTIONS[name].arity) & ~reported == 0


@pytest.mark.parametrize("fma", [True, False], ids=["fma", "no_fma"])
@pytest.mark.parametrize("char", "df")
def test_sinc_against_many_digits(char: str, fma: bool) -> None:
    """``sin(y) / y`` for y, the product with pi, rounded as NumPy rounds it: two functions of one unit each."""
    x = np.concatenate([np.random.default_rng(5).uniform(-20, 20, 600), np.arange(-9, 10)]).astype(DTYPES[char])
    x = x[x != 0]
    y = x * DTYPES[char](np.pi)
    result = vmath.evaluate("sinc", x, fma=fma)
    for value, angle in zip(result, y, strict=True):
        exact = reference.CONTEXT.mpf(float(angle))
        true = reference.CONTEXT.sin(exact) / exact
        unit = float(np.spacing(DTYPES[char](abs(float(true)))))
        assert abs(float(reference.CONTEXT.mpf(float(value)) - true)) <= 2.0 * unit


@pytest.mark.parametrize(("name", "char", "fma", "avx512"), ROWS_OF_TARGETS)
def test_monotone_up_to_the_error(name: str, char: str, fma: bool, avx512: bool) -> None:
    """Neighbours may be one error out of order, and no more: between the pieces of a function there are no steps."""
    increasing = {
        "exp": (-80, 80), "exp2": (-100, 100), "expm1": (-80, 80), "log": (0, 100), "log2": (0, 100), "log10": (0, 100),
        "log1p": (-1, 100), "sqrt": (0, 100), "cbrt": (-100, 100), "arcsin": (-1, 1), "arctan": (-100, 100),
        "sinh": (-80, 80), "tanh": (-10, 10), "arcsinh": (-100, 100), "arccosh": (1, 100), "arctanh": (-1, 1),
        "erf": (-5, 5), "expit": (-80, 80),
    }  # fmt: skip
    if name not in increasing:
        pytest.skip("not monotone, or of two arguments")
    rng = np.random.default_rng(11)
    low, high = increasing[name]
    x = np.sort(np.concatenate([rng.uniform(low, high, 4000), low + (high - low) * np.arange(1, 256) / 256]))
    x = x.astype(DTYPES[char])
    x = np.unique(np.concatenate([x, np.nextafter(x, DTYPES[char](np.inf))]))
    x = x[(x > low) & (x < high)]
    result = vmath.evaluate(name, x, fma=fma, avx512=avx512)
    steps = np.diff(result)
    assert np.all(steps >= -np.spacing(np.abs(result[:-1]))), x[:-1][steps < -np.spacing(np.abs(result[:-1]))]


@pytest.mark.parametrize("char", "df")
def test_sinc_is_numpys(char: str) -> None:
    x = np.concatenate([[0.0, 1e-300, 0.5, 1.0], np.linspace(-9, 9, 301)]).astype(DTYPES[char])
    np.testing.assert_allclose(vmath.evaluate("sinc", x), np.sinc(x), rtol=0, atol=np.finfo(x.dtype).eps)


def test_unknown_functions_and_types_have_no_emitter() -> None:
    assert vmath.emitter("spherical_jn", "d") is None
    assert vmath.emitter("exp", "l") is None
    assert vmath.emitter("exp", "dd") is None
    assert vmath.emitter("float_power", "ff") is None
    assert vmath.emitter("power", "ff") is None


def _float64_errors(name: str, x: np.ndarray) -> np.ndarray:
    """How far the compiled function of float32 is from the one of float64, in units of the last place."""
    _library, call = _compiled(name, "f", has_avx512())
    result = np.empty_like(x)
    call(result.ctypes.data, x.ctypes.data, x.size)
    with np.errstate(all="ignore"):
        true = _numpy(name)(x.astype(np.float64))
        unit = np.maximum(2.0 ** (np.floor(np.log2(np.abs(true))) - 23), 2.0**-149)
        return np.where(np.isinf(result) | (true == 0), result != true.astype(np.float32), np.abs(result - true) / unit)


@pytest.mark.parametrize("name", [name for name in vmath.FUNCTIONS if points.around_turns(name).size])
def test_every_float32_around_turning_points(name: str) -> None:
    x = points.around_turns(name)
    errors = _float64_errors(name, x)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 1.0, x[worst]


@pytest.mark.parametrize("seed", range(3))
def test_arctan2_in_all_directions(seed: int) -> None:
    """float32 points of all sizes, and next to the directions by which they are turned."""
    rng = np.random.default_rng(seed)
    count = 20000
    bits = rng.integers(0, 2**32, (2, count), dtype=np.uint64).astype(np.uint32).view(np.float32)
    d = rng.uniform(1, 2, count) * 2.0 ** rng.integers(-140, 127, count)
    n = d * rng.choice([0.125, 0.1875, 0.25, 0.3125, 0.4375, 0.6875, 0.9375, 1.0], count)
    n = n * (1 + rng.normal(size=count) * 1e-3) * rng.choice([-1, 1], count)
    y = np.concatenate([bits[0], n.astype(np.float32), d.astype(np.float32)])
    x = np.concatenate([bits[1], d.astype(np.float32), n.astype(np.float32)])
    keep = np.isfinite(x) & np.isfinite(y) & ((x != 0) | (y != 0))
    y, x = y[keep].copy(), x[keep].copy()
    _library, call = _compiled("arctan2", "f", has_avx512())
    result = np.empty_like(x)
    call(result.ctypes.data, y.ctypes.data, x.ctypes.data, x.size)
    true = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    with np.errstate(divide="ignore"):
        unit = np.maximum(2.0 ** (np.floor(np.log2(np.abs(true))) - 23), 2.0**-149)
    errors = np.abs(result - true) / unit
    assert errors.max() <= 1.0, (y[errors.argmax()], x[errors.argmax()])


@pytest.mark.parametrize("fma", [True, False], ids=["fma", "no_fma"])
def test_large_powers_of_bases_near_one(fma: bool) -> None:
    """Where the logarithm's error is multiplied most."""
    rng = np.random.default_rng(3)
    x = np.concatenate([1 + rng.uniform(-w, w, 300) for w in (1e-6, 0.01, 0.03, 0.05, 0.1, 0.3)])
    y = rng.choice([-1, 1], x.size) * rng.uniform(800, 1020, x.size) / np.log2(x)
    result = vmath.evaluate("power", x, y, fma=fma, avx512=fma)
    assert reference.ulp_errors("power", result, x, y).max() <= 1.0


@pytest.mark.parametrize(("name", "x"), [("exp", 1.0400925874710083), ("tanh", 0.062250152230262756)])
def test_what_scans_of_float32_have_found(name: str, x: float) -> None:
    """Errors above one unit, at these and some neighbours, that points on a stride had missed."""
    near = (np.arange(-2000, 2000) + np.float32(x).view(np.int32)).astype(np.int32).view(np.float32)
    for avx512 in (False, True):
        errors = reference.ulp_errors(name, vmath.evaluate(name, near, avx512=avx512), near)
        assert errors.max() <= 1.0


@pytest.mark.parametrize("name", [f.name for f in vmath.FUNCTIONS.values() if f.arity == 1 and f.name != "sinc"])
@pytest.mark.parametrize("stride", [40009, pytest.param(61, marks=pytest.mark.slow)])
def test_all_of_float32(name: str, stride: int) -> None:
    """Every float32 on a stride, against the same function in float64."""
    _library, call = _compiled(name, "f", has_avx512())
    chunk = 1 << 22
    with np.errstate(all="ignore"):
        for start in range(0, 2**32, chunk * stride):
            bits = np.arange(start, min(start + chunk * stride, 2**32), stride, dtype=np.uint64)
            x = bits.astype(np.uint32).view(np.float32)
            result = np.empty_like(x)
            call(result.ctypes.data, x.ctypes.data, x.size)
            true = _numpy(name)(x.astype(np.float64))
            rounded = true.astype(np.float32)
            np.testing.assert_array_equal(np.isnan(result), np.isnan(true))
            unit = np.maximum(2.0 ** (np.floor(np.log2(np.abs(true))) - 23), 2.0**-149)
            errors = np.abs(result - true) / unit
            limits = np.isfinite(result) & np.isfinite(rounded) & (true != 0)
            assert np.max(errors, where=limits, initial=0) <= 1.0, x[np.argmax(np.where(limits, errors, 0))]
            extreme = ~np.isnan(true) & ~limits
            np.testing.assert_array_equal(result[extreme], rounded[extreme])
