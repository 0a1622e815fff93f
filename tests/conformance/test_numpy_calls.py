"""Random calls of NumPy's functions give, raise and leave behind what they do without jitrt."""

import random

import numpy as np
import pytest
from numpy_calls import Call, Operand, functions, random_call, random_calls

import jitrt


@pytest.mark.parametrize("seed", range(8))
def test_random_calls(seed):
    differences = [f"{call.text}: {found}" for call in random_calls(40, seed) if (found := call.difference())]
    assert not differences, "\n".join(differences)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["alone", "loop", "numbers"])
@pytest.mark.parametrize("seed", range(100, 113))
def test_a_million_random_calls(seed, form):
    """Each function with operands of 13 kinds, and 20 values of each."""
    calls = random_calls(100, seed, form)
    differences = [f"{call.text}: {found}" for call in calls if (found := call.difference(13, 20))]
    assert not differences, "\n".join(differences)


def test_counts_are_not_of_the_largest_integers():
    # NumPy writes in front of its result where it counts those, by which a run ended with `munmap_chunk()`.
    calls = [random_call(random.Random(seed), "np.bincount") for seed in range(40)]
    made = [operand(turn) for call in calls for operand in call.operands for turn in range(20)]
    assert all(np.max(x, initial=0) < 1000 for x in made if x.dtype.kind in "iu")


@pytest.mark.wide
@pytest.mark.parametrize("form", ["loop", "numbers"])
@pytest.mark.parametrize("seed", range(4))
def test_random_calls_in_loops(seed, form):
    calls = random_calls(40, seed, form)
    differences = [f"{call.text}: {found}" for call in calls if (found := call.difference())]
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("form", ["loop", "numbers"])
@pytest.mark.parametrize(
    "text",
    [
        "np.any(x0, axis=(0, 0))",
        "np.sum(x0, axis=[0, 1])",
        "np.prod(x0, keepdims=None)",
        "np.mean(x0, 0, keepdims=1.5)",
        "np.std(x0, keepdims=None)",
        "x0.argmin(axis=())",
        "x0[0].argmax(axis=(0,))",
        "np.median(x0[0], 1)",
        "np.median(x0, 2)",
        "np.nanmedian(x0[0], 1)",
        "np.quantile(x0[0], 0.5, axis=1)",
        "np.percentile(x0, 50, axis=-3)",
        "np.nanpercentile(x0[0], 50, axis=1)",
        "np.zeros(())",
        "np.full((), 2)",
        "np.ones_like(0.5)",
        "np.zeros_like(x0[0, 0])",
        "np.ascontiguousarray(2)",
        "np.identity(2, dtype='>f8')",
        "np.identity(10**20)",
        "np.zeros_like([1, 2, 3], dtype='>i4')",
        "np.full_like(x0, 'a')",
        "np.triu(x0, k=10**20)",
        "x0[0, 0] + 2**63",
        "np.negative(True)",
        "np.imag(x0)",
        "np.transpose(x0[0], 1)",
        "np.transpose(x0, (0, 0))",
        "x0.transpose(1)",
        "np.tensordot(x0[0], x0[0])",
        "np.diagonal(x0, offset=9)",
        "np.hypot(3j, -1)",
        "np.sqrt(2, 1)",
        "np.unravel_index([0, 1], (2, 6))",
        "np.histogram(x0, bins=[0, 1, 2], range=(0, 1))",
        "np.asanyarray(300, 'i8')",
        "np.asanyarray(x0[0, 0])",
        "np.asarray(300, dtype='u1')",
        "np.array([-1, 1], dtype='u1')",
        "np.array([[1, 300.5], [2, 3]], 'i1')",
        "np.array(-1.5, 'u1')",
        "np.array([x0[0, 1] * 300, 2.5], 'u1')",
        "[1] < 2",
        "isinstance(x0, 5)",
        "issubclass(x0, int)",
        "abs([x0[0, 0], 1])",
        "min(2**70)",
        "float(1j)",
        "x0.astype('f4', subok=None)",
        "np.equal.accumulate(x0[:0])",
        "list(range(2**70))",
        "np.allclose(np.iinfo('i4').min + x0.astype('i4'), np.iinfo('i4').min + x0.astype('i4'))",
    ],
)
def test_calls_in_loops_that_differed(text, form):
    for dtype in ("f8", "i8"):
        call = Call(text, (lambda dtype=dtype: np.arange(12).reshape(3, 4).astype(dtype),), form)
        assert not call.difference(), call.difference()


@pytest.mark.parametrize(
    "text",
    [
        "np.sum(x0, keepdims=None)",
        "np.sum(x0, keepdims=1)",
        "np.nanmax(x0, axis=0, keepdims=None)",
        "x0.std(dtype=int)",
        "np.mean(x0, 0, dtype='i4')",
        "np.reshape(x0, -1, order='K')",
        "np.reshape(x0, -1, order='A')",
        "np.pad(x0[0, 0], -1)",
        "np.ones((2, 6), order='K')",
        "np.ones((2, 6), 1, dtype=complex)",
        "np.full(2, 3, fill_value=4)",
        "np.zeros(2, float, 'C', None)",
        "np.ascontiguousarray(x0, 'f8', dtype='f4')",
        "np.take_along_axis(x0[0], [0, 1])",
        "np.heaviside(np.broadcast_to(x0[:1], x0.shape), 1, dtype=float)",
        "np.add(np.broadcast_to(x0[:1], x0.shape), x0[:, :1], dtype='f4')",
        "np.logical_or(x0, 2**70)",
        "np.logical_xor(-(2**63) - 1, x0)",
        "np.vectorize(5)",
        "np.diag([[1, 2], [3, 4]])",
        "np.argwhere(x0 > 1)",
        "np.repeat(x0, -1)",
        "x0[:0].repeat(-1)",
        "np.argmin(x0.reshape(6, 2), 0)",
        "x0.astype('f4', subok=None)",
        "np.sort(x0, axis=None)[1:] + 1",
        "np.sort(x0.T, None, 'stable') * 2",
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "c16", "u1"])
def test_calls_that_differed(text, dtype):
    call = Call(text, (lambda: np.arange(12).reshape(3, 4).astype(dtype),))
    assert not call.difference(), call.difference()


@pytest.mark.parametrize("form", ["alone", "loop"])
@pytest.mark.parametrize("fill", ["'a'", "b'a'", "None", "object", "{1: 2}", "np.array('a')", "2**70", "'5'", "300"])
@pytest.mark.parametrize(
    "text", ["np.full(x0.shape, {}, x0.dtype)", "np.full_like(x0, {})", "np.copyto(x0, {}, casting='unsafe')"]
)
def test_fills_of_no_elements(text, fill, form):
    # NumPy converts nothing then, not even a text that is no number.
    for dtype in ("f8", "u1", "c16"):
        call = Call(text.format(fill), (lambda dtype=dtype: np.zeros((0, 3), dtype),), form)
        assert not call.difference(), call.difference()


@pytest.mark.parametrize(
    "value", ["np.str_('5')", "np.float64(1e300)", "np.float64(2.5)", "np.datetime64('2020-01-01')"]
)
@pytest.mark.parametrize("index", ["...", "slice(0, 2)", "x0 > 0", "0"])
@pytest.mark.parametrize("dtype", ["u1", "i8", "f4"])
def test_assigned_scalars(dtype, index, value):
    call = Call(f"x0.__setitem__({index}, {value})", (lambda: np.arange(3).astype(dtype),))
    assert not call.difference(), call.difference()


ALONG = """x0.cumsum({}); x0.cumprod(axis={}); x0.sum({}); x0.argmax({}); x0.std({}); np.diff(x0, axis={}); x0.any({})
np.concatenate([x0, x0], {}); np.stack([x0, x0], {}); x0.swapaxes({}, 0); np.expand_dims(x0, {}); np.flip(x0, {})
np.roll(x0, 1, {}); x0.repeat(2, {}); x0.take([0], {}); np.sort(x0, {}); x0.argsort({}); np.moveaxis(x0, {}, 0)
np.ptp(x0, {}); np.median(x0, {}); np.count_nonzero(x0, {}); np.add.reduce(x0, {}); np.add.accumulate(x0, {})
np.maximum.accumulate(x0, {}); np.split(x0, 1, {}); np.delete(x0, 0, {}); np.append(x0, x0, {})
np.gradient(x0, axis={})
np.trapezoid(x0, axis={}); np.linalg.norm(x0, axis={}); np.average(x0, {}); np.nancumsum(x0, {}); x0.diagonal(axis1={})
x0.trace(0, {}); np.tril(x0, {}); np.eye(3, k={}); np.diag(x0, {})"""


@pytest.mark.wide(times=3)
@pytest.mark.parametrize("form", ["alone", "loop"])
@pytest.mark.parametrize("axis", ["True", "np.True_", "1.0", "np.array(1)", "np.array([1])", "'a'", "np.int8(1)"])
@pytest.mark.parametrize("text", ALONG.replace("\n", "; ").split("; "))
def test_axes_that_equal_integers(text, axis, form):
    call = Call(text.format(axis), (lambda: np.arange(6.0).reshape(2, 3),), form)
    assert not call.difference(), call.difference()


@pytest.mark.parametrize("form", ["alone", "loop"])
@pytest.mark.parametrize(
    "text",
    [
        "np.nonzero(x0)",
        "np.where(x0 > 2)",
        "x0.nonzero()[1]",
        "[*x0.nonzero()][::-1]",
        "np.nonzero(x0)[0] * 2",
        "np.nonzero(x0[0] > 1)",
        "np.argwhere(x0)",
        "np.flipud(x0)",
        "np.squeeze(x0[:1])",
        "x0[np.nonzero(x0 > 2)]",
        "np.full_like(x0, 1j)",
        "np.full((2, 6), 1j, dtype='f2')",
        "np.full_like([1, 2], 1j)",
        "np.linspace(0, 1j, 3, dtype=float)",
        "np.flip([[1, 2, 3], [4, 5, 6]], 0)",
        "np.ones((3, 4), order='F') * x0[0, 0]",
        "x0.dot(np.array(2.0))",
        "x0.T.dot(np.array(2.0))",
    ],
)
@pytest.mark.parametrize("order", "CF")
def test_layouts_and_warnings(text, order, form):
    call = Call(text, (lambda: np.arange(12.0).reshape(3, 4).copy(order),), form)
    assert not call.difference(), call.difference()


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (2, 1)])
@pytest.mark.parametrize("dtype", ["u1", "?", "i1", "u2", "i2", "i8", "f4", "f8"])
def test_sorting_of_next_to_nothing(dtype, shape):
    """Radix sorts read the first element: a process died."""
    for text in ("np.sort(x0)", "np.sort(x0, kind='stable')", "np.argsort(x0, kind='stable')", "np.median(x0)"):
        call = Call(text, (lambda: np.ones(shape, dtype),), "loop")
        assert not call.difference(), call.difference()


def test_zeros_of_both_signs_among_arguments():
    for zero in ("0.0", "-0.0", "0", "False"):
        for text in (
            "np.arange({}, -1, -1)",
            "np.full(2, {})",
            "np.linspace({}, 1, 2)",
            "np.mask_indices(3, np.triu, int({}))[0]",
        ):
            call = Call(f"np.copysign(1, {text.format(zero)})", (lambda: np.zeros(1),))
            assert not call.difference(), call.difference()


@pytest.mark.parametrize("text", ["x0 % x1", "x0 / x1", "x0 // x1", "np.divmod(x0, x1)", "x1 * 2 / x0[::-1] + 1"])
@pytest.mark.parametrize("lowest", [0, 1, np.iinfo(np.int64).min])
def test_durations_divided_by_nothing(text, lowest):
    """NumPy warned of it, and kernels did not."""
    made = (lambda: np.array([lowest, 5, 7], "m8[s]"), lambda: np.array([0, 2, lowest], "m8[s]"))
    assert not (call := Call(text, made)).difference(), call.difference()


@pytest.mark.parametrize(
    "text", ["np.repeat(x0, -1)", "x0.repeat(-1, axis=0)", "np.tile(x0, 0)", "np.tile(x0, (2, 2))"]
)
def test_calls_with_other_values_and_extents(text):
    """Copies of nothing are views; a negative number of copies is refused of elements alone."""
    for layout in ("C", "read-only"):
        call = Call(text, (Operand("f8", (3, 3), 1, layout, False),))
        assert not call.difference(13), call.difference(13)


@pytest.mark.parametrize("form", ["alone", "loop"])
@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        ("np.sin(x0, out=x0, where=x1)", "dd"),
        ("np.logical_not(3j, out=x0, where=x1)", "d?"),
        ("np.fmod(x0, 2, out=..., where=x1)", "dM"),
        ("np.subtract.reduce(x0, out=x1)", "dd"),
        ("np.logical_or.reduce(x0, axis=(), out=x1)", "dM"),
        ("np.bitwise_or.reduce([1, 2, 3], out=x0[0, 0:1])", "Dd"),
        ("np.add.reduce(x0, out=x1[0])", "id"),
        ("np.vstack((x0, x1))", "mM"),
        ("np.hstack((x0, x1))", "Mm"),
        ("x0.conj()", "M"),
        ("x0.conjugate()", "m"),
        ("np.tile(x0, np.uint8(200))", "d"),
        ("np.tile(x0, (np.uint8(2), np.int8(100)))", "d"),
        ("x0[0, 0:1].reshape(()).__complex__(-3)", "d"),
        ("np.select(x0, x1)", "?d"),
        ("np.select([x0], x1)", "?d"),
        ("np.split(x0, 1)", "d"),
        ("np.array_split(x0[:0], 3)", "d"),
        ("x0.squeeze(), x0.squeeze()", "d"),
        ("np.squeeze(x0[0], axis=())", "d"),
        ("np.size(x0, x1[0, 1])", "di"),
        ("np.size(x0, axis=x1[0, 9:])", "di"),
        ("np.size(x0, axis=np.argmax(x1[:, :1]))", "di"),
        ("np.ma.asarray(x0)", "d"),
        ("np.ma.getdata(x0, 0)", "d"),
        ("np.ma.transpose(x0)", "d"),
        ("np.ma.reshape(x0, (4, 3))", "d"),
        ("np.ma.floor_divide(x0, x0)", "m"),
        ("np.ma.equal(x0, x1, x1)", "dd"),
        ("np.ma.divide(x0, 2, x1)", "dd"),
        ("np.linalg.solve(x0.reshape(3, 2, 2).T[:, :, 1:] + np.eye(2), np.ones((2, 2, 2)).T)", "d"),
        ("np.nancumsum(np.broadcast_to(x0[:1], (5, 4)), axis=0)", "d"),
        ("np.nancumprod(np.broadcast_to(x0[:1], (5, 4)), axis=1)", "f"),
    ],
)
def test_calls_of_other_operands(text, dtypes, form):
    """Arrays given to write to, masks that are none, parts that are the whole, and orders of memory."""
    kinds = {"M": "M8[s]", "m": "m8[s]"}
    operands = [np.arange(12).reshape(3, 4).astype(kinds.get(d, d)) for d in dtypes]
    made = tuple(x.copy for x in operands)
    call = Call(text, made, form)
    assert not call.difference(), call.difference()


def test_permutations_of_nothing():
    """NumPy shuffles an array without elements where it is, which is no write."""
    function = jitrt.jit(lambda g, x: g.permutation(x))
    for size in (0, 5, 0):
        made = function(np.random.default_rng(1), np.zeros(size))
        assert made.shape == (size,)


def test_differences_are_found(monkeypatch):
    assert len(functions()) > 300
    monkeypatch.setattr(jitrt, "jit", lambda function: lambda *args: function(*args) + 0.5)
    made = (lambda: np.arange(3.0),)
    assert "gave" in Call("np.sin(x0)", made).difference()
