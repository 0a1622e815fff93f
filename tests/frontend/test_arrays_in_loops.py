"""NumPy's functions of whole arrays in loops: differences, filters, repetitions, and what treats nan apart."""

import numpy as np
import pytest
from test_element_loops import outcome
from texts import function_of

import jitrt
from jitrt.runtime.stagedloops import LoopEngine

RNG = np.random.default_rng(1)
NAN, INF = np.nan, np.inf

OF_VECTORS = [
    "np.diff(x)", "np.diff(x, n=2)", "np.diff(x, 1, axis=0)", "np.diff(x, 3)", "np.diff(x > 0.4)", "np.ediff1d(x)",
    "np.cumsum(x)", "np.cumsum(x, axis=0)", "x.cumsum()", "np.cumprod(x)", "x.cumprod()",
    "np.gradient(x)", "np.gradient(x, 0.25)", "np.gradient(x, -2)",
    "np.convolve(x, y)", "np.convolve(x, y[:2], 'same')", "np.convolve(x[:3], y, mode='valid')",
    "np.convolve(y[:1], x, 'same')", "np.convolve(x[:2], y, 'same')", "np.convolve(x, [1, 2, 1], 'same')",
    "np.convolve([0.5, 0.25], x)", "np.correlate(x, y[:2])", "np.correlate(x, [1, -1], 'full')",
    "np.correlate(x, y[:2], 'same')", "np.correlate(y[:2], x, 'same')", "np.correlate(x, x, mode='full')",
    "np.delete(x, 1)", "np.delete(x, -1)", "np.delete((9 * x).astype(np.int8), 0)", "np.delete(x, n)",
    "np.insert(x, 1, 5.5)", "np.insert(x, -1, n)", "np.insert((9 * x).astype(np.int32), len(x), 7)",
    "np.take(x, [0, -1])", "np.take(x, (1, 1), axis=0)", "x.take([2, 0])", "np.stack([x, y], axis=1)",
    "np.stack((x, x * 2, y), axis=-1)",
    "np.repeat(x, 3)", "x.repeat(2)", "np.repeat(x, 0)", "np.tile(x, 2)", "np.tile(x, 0)",
    "np.inner(x, y)", "np.vdot(x, y)", "np.kron(x[:2], y)", "np.flip(x).sum()",
    "np.polyval([2.0, -1.5, 0.25], x)", "np.polyval(y, x)", "np.polyval([1, 0, -3], x[0])", "np.polyval([-0.0], x)",
    "np.nansum(x)", "np.nanmean(x)", "np.nanvar(x)", "np.nanstd(x, ddof=1)", "np.nanmax(x)", "np.nanmin(x)",
    "np.nan_to_num(x)", "np.average(x)", "np.average(x, weights=y)", "np.isclose(x, y)", "np.isclose(x, 0.5)",
    "np.isclose(x, y, rtol=0.5, atol=0)", "np.array_equal(x, y)", "np.array_equal(x, x)", "np.array_equal(x, x[1:])",
    "np.sinc(x)", "np.select([x < 0.3, x < 0.6], [x, 2 * x])", "np.select([x > y], [1.5], default=-1)",
    "np.select([x > y], [1.5], 2)", "np.allclose(x, y)",
    "np.pad(x, 2)", "np.pad(x, 1, mode='edge')", "np.pad(x, 0)", "np.argmax(x > 0.6)", "np.argmin(x > 0.2)",
    "(x > 2).argmax()", "np.logaddexp.reduce(x)", "np.bitwise_xor.reduce((9 * x).astype(np.int64))",
]  # fmt: skip
OF_MATRICES = [
    "np.diff(a, axis=0)", "np.diff(a, axis=-1)", "np.diff(a, n=2, axis=0)", "np.cumsum(a, axis=0)",
    "np.cumsum(a, axis=1)", "a.cumsum(axis=1)", "np.cumsum(a)", "np.cumprod(a, axis=-1)", "a.trace()",
    "np.swapaxes(a, 0, 1).sum(axis=0)", "a.swapaxes(-1, 0)[1, 0]", "np.flip(a, axis=1)[0, 0]", "np.flip(a)[0, 1]",
    "np.rot90(a)[0, 1]", "np.rot90(a, 3)[1, 0]", "np.rot90(a, k=-2)[0, 1]", "np.nansum(a, axis=0)",
    "np.nanmean(a, axis=1)", "np.array_equal(a, a[::-1])", "np.isclose(a, a[0])", "np.average(a)", "np.sinc(a)",
    "np.moveaxis(a, 0, 1).sum(axis=0)", "np.moveaxis(a, -1, 0)[1].sum()", "np.stack([a, a * 2], axis=1)",
    "np.stack([a, a + 1, a], axis=-1)", "np.moveaxis(np.stack([a, a]), 2, 0)[1, 0].max()",
    "np.swapaxes(np.stack([a, a * 2]), 0, 2)[0, 1].max()", "np.take(a, [0, 1])",
    "np.argmax(a > 0.5, axis=1)", "np.nan_to_num(a)", "np.repeat(a, 2)",
]  # fmt: skip


def in_a_loop(expression):
    return function_of(
        "import numpy as np\ndef f(rows, matrices, y):\n    found, n = [], 0\n    for i in range(len(rows)):\n"
        "        x, a = rows[i], matrices[i]\n        if i % 3 != 1:\n            n += 1\n"
        f"            found.append({expression})\n    return found, n\n"
    )


def alike(got, want):
    """Equal but for the last places of sums, of the same types, and with the same signs of zeros."""
    assert type(got) is type(want)
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            alike(x, y)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype
        tolerance = 1e-5 if want.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(got, want, tolerance, tolerance if want.dtype.kind == "c" else 0)
        if want.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got)[got == 0], np.signbit(want)[want == 0])
    else:
        assert got == want


def arguments(rows, matrices=None):
    rows = np.asarray(rows)
    if matrices is None:
        matrices = np.stack([np.stack([row[:3], row[-3:]]) for row in rows]) if len(rows) else np.zeros((0, 2, 3))
    return rows, matrices, rows[0, ::-1].copy() if len(rows) else np.zeros(4)


USUAL = arguments(RNG.random((5, 6))), arguments(RNG.random((2, 4))), arguments(np.zeros((0, 4)))
UNUSUAL = [
    arguments([[0.0, -0.0, 1.5, NAN], [NAN, NAN, NAN, NAN], [-0.0, -0.0, -0.0, -0.0], [INF, -INF, 1.0, NAN]]),
    arguments([[1e308, 1e308, -1e308, 5e-324], [1.0, 1.0, 1.0, 1.0]]),
    arguments(np.arange(12).reshape(3, 4)),
    arguments(np.arange(-6, 6, dtype=np.int8).reshape(3, 4)),
    arguments(RNG.random((3, 4)).astype(np.float32)),
    arguments(np.ones((3, 4), bool), np.ones((3, 2, 2), bool)),
    arguments(RNG.random((2, 1))),
    arguments(np.zeros((2, 0)), np.zeros((2, 0, 0))),
    arguments(RNG.random((3, 4)), RNG.random((3, 4, 2))),
    arguments(RNG.random((3, 4)) * 1j),
]


OVERFLOWING = 1


def unusual_for(expression):
    """BLAS adds products that are infinite in another order on each machine."""
    has_products = "convolve" in expression or "correlate" in expression
    return [args for k, args in enumerate(UNUSUAL) if k != OVERFLOWING or not has_products]


@pytest.mark.parametrize("expression", [*OF_VECTORS, *OF_MATRICES])
def test_functions(expression):
    function = in_a_loop(expression)
    fast, engine = jitrt.jit(function), LoopEngine(function)
    for args in USUAL:
        for _ in range(2):
            alike(outcome(fast, args), outcome(function, args))
    assert engine.source(USUAL[0])
    (loop,) = engine._all()
    assert not loop.staged.steps


@pytest.mark.wide(times=2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unusual", range(len(UNUSUAL)))
@pytest.mark.parametrize("expression", [*OF_VECTORS, *OF_MATRICES])
def test_unusual_arguments(expression, unusual):
    function = in_a_loop(expression)
    fast = jitrt.jit(function)
    for args in unusual_for(expression)[unusual : unusual + 1] * 2:
        alike(outcome(fast, args), outcome(function, args))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [*OF_VECTORS, *OF_MATRICES])
def test_unusual_arguments_after_each_other(expression):
    function = in_a_loop(expression)
    fast = jitrt.jit(function)
    for args in unusual_for(expression):
        alike(outcome(fast, args), outcome(function, args))


def test_diagonals_are_filled():
    function = function_of(
        "import numpy as np\ndef f(matrices, v):\n    for i in range(len(matrices)):\n        if i % 2 == 0:\n"
        "            np.fill_diagonal(matrices[i], v + i)\n    return matrices.sum()\n"
    )
    fast = jitrt.jit(function)
    for shape, dtype in (((5, 3, 3), float), ((3, 2, 4), float), ((3, 4, 2), np.int32), ((2, 0, 3), float)):
        for v in (2.5, 7):
            args = np.zeros(shape, dtype), v
            for _ in range(2):
                alike(outcome(fast, args), outcome(function, args))


@pytest.mark.parametrize(
    "expression",
    [
        "np.isclose(x, a, rtol=0.5)",
        "np.isclose(x, a, rtol=0, atol=1)",
        "np.allclose(x[:1], a[:1], rtol=0.5)",
        "np.allclose(x, a, atol=1, rtol=0)",
        "np.isclose(x, 100)",
        "np.select([x > 1], [1], default=0)",
        "np.select([x > 1, x > 0], [1, 2])",
        "np.select([x > 1, x > 0], [1, 2.0])",
    ],
)
def test_integers(expression):
    """Their differences are those of floats, and do not wrap."""
    function = in_a_loop(expression)
    fast = jitrt.jit(function)
    for dtype, high in ((np.int8, 127), (np.uint8, 255), (np.int64, 2**53 + 1)):
        low = np.iinfo(dtype).min if dtype is np.int8 else 0
        rows = np.array([[high, low, high, 3], [1, 0, 2, 9], [low, 1, high - 1, 3]], dtype)
        others = np.array([[low, high, high - 1, 3], [0, 1, 2, 9], [high, 0, high, 3]], dtype)
        for _ in range(2):
            alike(outcome(fast, (rows, others, rows[0])), outcome(function, (rows, others, rows[0])))


STORES = [
    "a[np.arange(1)] = b", "a[[0]] = b", "a[np.arange(1), 0] = b", "a[np.arange(1)] *= b", "a[..., np.arange(1)] = b",
    "np.add.at(a, [0], b)", "np.add.at(a, np.arange(1), b)", "a[:1] = b", "np.copyto(a[:1], b)", "a.flat[:1] = b",
]  # fmt: skip


@pytest.mark.parametrize("loops", ["", "for _ in range(3):\n        "], ids=["once", "loop"])
@pytest.mark.parametrize("statement", STORES)
def test_values_are_broadcast_to_their_places(statement, loops):
    """And not these to the values: where a place is one element, a value of several does not fit."""
    function = function_of(f"import numpy as np\ndef f(a, b):\n    {loops}{statement}\n    return a\n")

    def told(f, shape, other):
        a = np.ones(shape)
        try:
            return f(a, np.full(other, 3.0)).tolist(), a.tolist()
        except (ValueError, IndexError) as error:
            return str(error), a.tolist()

    for shape in ((5, 2), (5,), (1, 2)):
        for other in ((5, 2), (5,), (1, 2), (2,), (5, 1), (1,), (0,)):
            compiled = jitrt.jit(function)
            for _ in range(4):
                assert told(compiled, shape, other) == told(function, shape, other), (shape, other)
