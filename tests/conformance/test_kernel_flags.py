"""Kernels raise the floating-point exceptions that NumPy reports: all of them, and on ordinary operands no others."""

import itertools

import numpy as np
import pytest
import scipy.special

import jitrt
from jitrt.ir.ops.ufuncs import NUMPY_UFUNCS
from jitrt.runtime import errstate
from jitrt.runtime.steps import HostStep

UFUNCS = sorted((u for u in NUMPY_UFUNCS if u.nin < 3), key=lambda u: u.__name__)
SPECIAL_FUNCTIONS = (scipy.special.erf, scipy.special.erfc, scipy.special.expit)
WATCHED = sum(errstate.NUMBERS[kind] for kind in ("divide", "over", "invalid"))
POINTS = {
    "d": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 800.0, -800.0, 1e300, -1e300, np.inf, -np.inf, np.nan],
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 100.0, -110.0, 1e38, -1e38, np.inf, -np.inf, np.nan],
    "e": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 12.0, -14.0, 65504.0, -65504.0, np.inf, -np.inf, np.nan],
}


def reported(ufunc, arguments):
    """What NumPy reports, as a sum of numbers."""
    found = 0

    def handler(kind, flag):
        nonlocal found
        found |= sum(n for name, n in errstate.NUMBERS.items() if kind.startswith(name[:4]))

    with np.errstate(all="call", call=handler):
        ufunc(*arguments)
    return found & WATCHED


def kernel(ufunc, arguments):
    """A function that gives what the kernel of `ufunc` raises for arguments like these."""
    names = "ab"[: ufunc.nin]
    scope = {"u": ufunc}
    exec(f"def f({', '.join(names)}):\n    return u({', '.join(names)})", scope)
    return kernel_of(scope["f"], arguments)


def kernel_of(function, arguments):
    explanation = jitrt.jit(function).explain(*arguments)
    if explanation.compiled is None or any(isinstance(s, HostStep) for s in explanation.compiled.program.steps):
        pytest.skip("no kernel")
    program = explanation.compiled.program
    frame = program.new_frame()
    (action,) = frame.actions

    def run(arguments):
        objects = tuple(frame.begin(list(arguments)))
        return frame.run_native(action, id(objects), WATCHED & program.image.may_raise, 0) & WATCHED

    return run


def compiled_for(ufunc, char):
    arguments = [np.full(37, 0.5, char) for _ in range(ufunc.nin)]
    try:
        with np.errstate(all="ignore"):
            ufunc(*arguments)
    except TypeError:
        pytest.skip("no such loop")
    return kernel(ufunc, arguments)


@pytest.mark.wide
@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_nothing_is_missed(ufunc, char):
    run = compiled_for(ufunc, char)
    for point in itertools.product(POINTS[char], repeat=ufunc.nin):
        arguments = [np.full(37, 0.5, char) for _ in point]
        for place in (0, 17, 36):  # in a full vector and behind the last one
            for argument, value in zip(arguments, point):
                argument[place] = value
        want, got = reported(ufunc, arguments), run(arguments)
        assert want & ~got == 0, point


PARTS = {"D": (0.0, -0.0, 1.0, -800.0, 1e300, np.inf, np.nan), "F": (0.0, -0.0, 1.0, -110.0, 1e38, np.inf, np.nan)}
AT_A_TIME = 7  # every seventh pair of operands: it has each part beside each of the other's


@pytest.mark.wide
@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_nothing_is_missed_of_complex_numbers(ufunc, char):
    run = compiled_for(ufunc, char)
    numbers = [complex(*parts) for parts in itertools.product(PARTS[char], repeat=2)]
    for point in list(itertools.product(numbers, repeat=ufunc.nin))[:: 1 if ufunc.nin == 1 else AT_A_TIME]:
        arguments = [np.full(37, 0.5, char) for _ in point]
        for argument, value in zip(arguments, point):
            argument[17] = value
        want, got = reported(ufunc, arguments), run(arguments)
        assert want & ~got == 0, point


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize(
    "name", ["x < x", "x <= x", "x > x", "x >= x", "1.0 * x", "x * 1.0", "(0.5 - 2j) * x", "x / 1"]
)
def test_nothing_is_missed_of_one_complex_operand(name, char):
    """LLVM knows what comparing a number with itself gives, and the order of factors decides what is invalid."""
    function = eval(f"lambda x: {name}")
    run = kernel_of(function, [np.full(37, 0.5, char)])
    for parts in itertools.product(PARTS[char], repeat=2):
        x = np.full(37, 0.5, char)
        x[17] = complex(*parts)
        assert reported(function, [x]) & ~run([x]) == 0, x[17]


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize(
    "ufunc", [np.less, np.greater_equal, np.divide, np.reciprocal, np.exp], ids=lambda u: u.__name__
)
def test_results_where_flags_are_raised(ufunc, char):
    """Infinity minus infinity decides them: as zero, it changes no zero's sign."""
    numbers = [complex(*parts) for parts in itertools.product(PARTS[char], repeat=2)]
    arguments = [np.array(part, char) for part in zip(*itertools.product(numbers, repeat=ufunc.nin))]
    with np.errstate(all="ignore"):
        want, got = ufunc(*arguments), jitrt.jit(lambda *a: ufunc(*a))(*arguments)
    parts = [np.stack([np.real(v), np.imag(v)]) for v in (got, want)]
    if ufunc is np.exp:  # whose values may differ in the last places
        parts = [np.where(np.isfinite(v) & (v != 0), 1.0, v) for v in parts]
    np.testing.assert_array_equal(*parts)
    assert np.array_equal(*[np.signbit(np.where(np.isnan(v), 0, v)) for v in parts])


# Where NumPy's own loops of one function disagree: on AVX-512 `power` reports these, elsewhere, and as `float_power`,
# it does not. Kernels raise a flag, and what is reported is then NumPy's.
OF_SOME_POWERS = {(0.0, -np.inf), (1e300, np.inf), (-1e300, np.inf)}
FURTHER = {
    "d": [2.0, -0.5, 10.0, 1e-5, -1e-5, 700.0, 1e-310, -1e-310],
    "f": [2.0, -0.5, 10.0, 1e-5, -1e-5, 88.0, 1e-40, -1e-40],
    "e": [2.0, -0.5, 10.0, 1e-3, -1e-3, 11.0, 1e-7, -1e-7],
}


@pytest.mark.wide
@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("ufunc", [*UFUNCS, *SPECIAL_FUNCTIONS], ids=lambda u: u.__name__)
def test_special_values_raise_nothing_else(ufunc, char):
    run = compiled_for(ufunc, char)
    for point in itertools.product(POINTS[char] + FURTHER[char], repeat=ufunc.nin):
        if ufunc in (np.power, np.float_power) and point in OF_SOME_POWERS:
            continue
        arguments = [np.full(37, 0.5, char) for _ in point]
        for place in (0, 17, 36):
            for argument, value in zip(arguments, point):
                argument[place] = value
        want, got = reported(ufunc, arguments), run(arguments)
        assert got & ~want == 0, point


@pytest.mark.wide
@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_ordinary_operands_raise_nothing(ufunc, char):
    run = compiled_for(ufunc, char)
    rng = np.random.default_rng(0)
    for size in (0.1, 0.9, 30.0):
        arguments = [rng.uniform(size / 10, size, 37).astype(char) for _ in range(ufunc.nin)]
        if not reported(ufunc, arguments):
            assert run(arguments) == 0


COMPARISONS = {
    "masks": lambda x: np.where(x > 0, np.sqrt(np.abs(x)), np.sqrt(x * x)) * (x <= 1),
    "with infinity": lambda x: np.where(x == np.inf, 1, np.sqrt(np.abs(x))),
    "extremes": lambda x: np.sqrt(np.minimum(np.maximum(x, 0.25), 4)),
    "fmax": lambda x: np.sqrt(np.fmax(x, 0.25)),
    "clip": lambda x: np.sqrt(np.clip(x, 0.25, 4)),
    "sign": lambda x: np.sqrt(np.abs(np.sign(x))),
    "count": lambda x: np.count_nonzero(np.sqrt(np.abs(x)) > 1),
    "remainder": lambda x: np.sqrt(np.abs(x)) + (np.isnan(x) | (x < 1)),
}


@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("function", COMPARISONS.values(), ids=COMPARISONS)
def test_comparisons_with_nan_raise_nothing(function, char):
    arguments = [np.linspace(0.5, 2, 37).astype(char)]
    run = kernel_of(function, arguments)
    for place in (0, 17, 36):
        x = np.linspace(0.5, 2, 37).astype(char)
        x[place] = np.nan
        assert run([x]) == 0, place
