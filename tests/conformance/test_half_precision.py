"""Half precision: every conversion, and the rounding after every single operation of a fused chain."""

import numpy as np
import pytest
from compare import check, together
from operands import special

import jitrt

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
NUMBERS = "?bBhHiIlLefdFD"


def between():
    """Numbers of double precision at and around every tie of half precision, and some beyond its range."""
    halves = np.sort(EVERY[np.isfinite(EVERY)].astype(np.float64))
    ties = (halves[:-1] + halves[1:]) / 2
    near = [np.nextafter(ties, -np.inf), ties, np.nextafter(ties, np.inf), ties * (1 + 2.0**-30)]
    return np.concatenate([*near, [65519.9, 65520.0, 1e6, -1e300, 5e-324, 1e-40, 2.0**-25, np.nan, np.inf, -np.inf]])


@pytest.mark.parametrize("char", NUMBERS)
def test_from_half(char):
    finite = EVERY[np.isfinite(EVERY)]
    if char in "BHIL":  # what is negative is undefined in C
        finite = finite[finite >= 0]
    limit = np.iinfo(char).max if char in "bBhHiIlL" else np.inf
    with np.errstate(all="ignore"):
        source = EVERY if char in "efdFD?" else finite[abs(finite.astype(float)) <= limit]
        check(lambda x: x.astype(char), source)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("char", NUMBERS)
def test_to_half(char):
    with np.errstate(all="ignore"):
        source = between().astype(char) if char in "fdFD" else special(char)
    # NumPy warns of imaginary parts that are lost, and computes it therefore.
    check((lambda x: x.real.astype(np.float16)) if char in "FD" else (lambda x: x.astype(np.float16)), source)


def test_every_operation_rounds():
    draw = np.random.default_rng(0)
    x, y, z = (draw.choice(EVERY[np.isfinite(EVERY)], 20_000) for _ in range(3))
    cases = {
        "sum and product": lambda x, y, z: x * y + z,
        "differences": lambda x, y, z: (x - y) - (y - z) * x,
        "quotients": lambda x, y, z: x / y / z,
        "roots": lambda x, y, z: np.sqrt(np.abs(x)) * np.sqrt(np.abs(y)) - z,
        "numbers": lambda x, y, z: 0.1 * x + 3 * y - z / 7,
        "float32": lambda x, y, z: (x * y).astype(np.float32) * z.astype(np.float32),
        "mixed": lambda x, y, z: x * y + z.astype(np.float64),
        "chosen": lambda x, y, z: np.where(x < y, x * z, y),
        "powers": lambda x, y, z: x**2 + y**3 - z**-1,
        "any power": lambda x, y, z: np.abs(x) ** y,
        "floors": lambda x, y, z: x // y + y % z,
        "sums in order": lambda x, y, z: np.cumsum(x * 0.001),
        "columns": lambda x, y, z: (x.reshape(100, 200) * y.reshape(100, 200)).T + z[:100],
        "gathered": lambda x, y, z: x[np.argsort(y)[:99]] + z[:99],
        "places": lambda x, y, z: (np.argmax(x), np.argmin(np.abs(y * z))),
        "reversed": lambda x, y, z: x[::-1] * y[::1] - z[0],
    }
    check(together(cases), x, y, z)


def test_sums_are_formed_in_single_precision():
    x = np.full(5000, 1.0, np.float16)  # in half precision 2048 + 1 is 2048
    check(lambda x: (x.sum(), x.mean(), (x * 2).sum(), (x / 512 + 1).prod()), x, relative=1e-3)


@pytest.mark.parametrize("size", [1, 3, 40, 200])
def test_products_of_matrices_are_added_in_single_precision(size):
    draw = np.random.default_rng(size)
    x, y = (draw.normal(size=(size, size)).astype(np.float16) for _ in range(2))
    cases = {
        "matmul": lambda x, y: x @ y,
        "dot": lambda x, y: np.dot(x, y[0]),
        "stacks": lambda x, y: x[None] @ y.T[None],
        "rows": lambda x, y: np.dot(x[0], y[0]),
        "layer": lambda x, y: np.maximum(x @ y + y[0], 0) * x,
        "mixed": lambda x, y: x @ y.astype(np.float32),
    }
    check(together(cases), x, y, relative=2e-3, ulp=1)


def test_writes():
    def function(x, y):
        x[1:] += y[:-1]
        x[0] = 2.5
        return x * 2

    compiled = jitrt.jit(function)
    for size in (5, 300):
        x, y = (np.linspace(-3, 7, size).astype(np.float16) for _ in range(2))
        other = x.copy()
        assert (compiled(x, y) == function(other, y)).all() and (x == other).all()


@pytest.mark.parametrize("kind", ["over", "invalid", "divide", "under"])
def test_exceptions(kind):
    cases = {"over": (60_000, 2), "invalid": (np.inf, 0), "divide": (1, 0), "under": (6e-8, 0.001)}
    x, y = (np.full(9, v, np.float16) for v in cases[kind])
    function = (lambda x, y: x / y) if kind == "divide" else (lambda x, y: x * y)
    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        compiled(x, y), compiled(x, y)
    with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError) as wanted:
        function(x, y)
    with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError) as raised:
        compiled(x, y)
    assert str(raised.value) == str(wanted.value)


ROUNDED = {
    "sum": lambda x, m: ((x * 1).sum(axis=0), (x * 1).sum(), (x + 0).sum(axis=-1), np.add.reduce(x * 1)),
    "prod": lambda x, m: ((x * np.float16(1.001)).prod(axis=0), x.prod()),
    "nan": lambda x, m: (np.nansum(x * 1, axis=0), np.nanmean(x * 1, axis=0), np.nanprod(x)),
    "mean": lambda x, m: ((x * 1).mean(axis=0), x.mean(), (x * 1).mean(axis=0, dtype=np.float16)),
    "where": lambda x, m: (np.sum(x * 1, axis=0, where=m), np.mean(x, where=m), np.where(m, x, 0).sum(axis=0)),
    "mask": lambda x, m: ((x * 1)[m].sum(), x[m].mean(), (x * 1)[m].prod()),
    "narrowed": lambda x, m: (x.astype(np.float32).sum(axis=0, dtype=np.float16), x.sum(dtype=np.float32)),
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("shape", [(6000,), (6000, 3), (3, 6000), (40, 3, 50)])
def test_sums_are_rounded_where_numpy_rounds_them(name, shape):
    """Those that NumPy rounds after each row stop at 2048, where a step of one is less than half a place."""
    f = ROUNDED[name]
    g = jitrt.jit(f)
    for x in (np.ones(shape, np.float16), np.ones(shape, np.float16, order="F"), np.ones(shape, np.float16)[::-1]):
        m = np.arange(x.size).reshape(shape) % 2 == 0
        expected = f(x, m)
        for _ in range(3):
            for found, other in zip(g(x, m), expected, strict=True):
                assert found.dtype == other.dtype
                np.testing.assert_allclose(found, other, rtol=2e-3)


def test_sums_of_rows_are_compiled():
    """Of each row of a C-contiguous array NumPy's iterator makes one loop, which rounds once."""

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True), np.prod(x, axis=(1, 2))

    compiled = jitrt.jit(softmax)
    x = np.linspace(0, 1, 32 * 3 * 256).astype(np.float16).reshape(32, 3, 256)
    for given in (x, x, np.asfortranarray(x), x[:, ::-1], x[:, :, 1:]):
        for found, wanted in zip(compiled(given), softmax(given), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=2e-3)
    assert "NumPy executes nothing" in str(compiled.explain(x))
