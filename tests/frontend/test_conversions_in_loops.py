"""Arrays made of arrays, numbers and lists in functions with loops: what is a copy, and what the array itself."""

import functools

import numpy as np
import pytest

import jitrt
from tests.frontend.test_element_loops import agrees, function_of, outcome, same


def decayed(convert):
    """A function that converts its argument, writes to what it gets, and returns both."""

    def function(x):
        y = convert(x)
        for i in range(1, len(y)):
            y[i] += y[i - 1] * 0.5
        return y.sum(), x.sum()

    return function


CONVERSIONS = {
    "asarray": lambda x: np.asarray(x),
    "asarray of this type": lambda x: np.asarray(x, dtype=float),
    "asarray of another type": lambda x: np.asarray(x, dtype=np.float32),
    "asanyarray": lambda x: np.asanyarray(x),
    "array": lambda x: np.array(x),
    "array that need not be copied": lambda x: np.array(x, copy=None),
    "array of another type": lambda x: np.array(x, np.complex128),
    "atleast_1d": lambda x: np.atleast_1d(x),
    "row": lambda x: np.atleast_2d(x)[0],
    "astype": lambda x: x.astype(np.float64),
    "astype without a copy": lambda x: x.astype(np.float64, copy=False),
    "asarray of a part": lambda x: np.asarray(x[1:]),
    "asarray of a result": lambda x: np.asarray(x * 2),
    "asarray twice": lambda x: np.asarray(np.asarray(x)),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS.keys())
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_what_is_written_to_a_converted_array(convert, dtype):
    x = np.arange(1, 9).astype(dtype)
    try:
        decayed(convert)(x.copy())
    except TypeError:  # integers do not take halves
        return
    agrees(decayed(convert), (x.copy(),), (x[:3].copy(),), (x[::2].copy(),), (x[::-1].copy(),))


def test_a_converted_array_is_the_argument():
    def halves(x):
        y = np.asarray(x)
        for i in range(1, len(x)):
            y[i] += y[i - 1] * 0.5
        return y

    x = np.arange(6.0)
    fast = agrees(halves, (x.copy(),), (x[:4].copy(),))
    given = x.copy()
    assert fast(given) is given


def test_a_converted_list():
    def weighted(x):
        weights = np.asarray([0.25, 0.5, 0.25])
        out = np.zeros(len(x))
        for i in range(1, len(x) - 1):
            out[i] = (weights * x[i - 1 : i + 2]).sum()
        return out

    agrees(weighted, (np.arange(9.0),), (np.arange(5.0) ** 2,))


def test_a_number_as_an_array_of_one_element():
    def sums(a, x):
        scale = np.atleast_1d(a)
        total = 0.0
        for i in range(len(x)):
            total = total * 0.5 + x[i] * scale[0]
        return total

    agrees(sums, (2.0, np.arange(5.0)), (3.0, np.arange(7.0)))


@pytest.mark.parametrize("bins", [(0.0, 1.0, 2.5), [0.0, 1.0, 2.5], (3, 1, 0), [1], ()])
def test_bins_and_points_that_are_written_out(bins):
    values = tuple(2.0 * v + 1 for v in bins)

    def binned(x):
        return np.digitize(x, bins) * 2

    def between(x):
        return np.interp(x, bins, values) * 2

    x = np.linspace(-1, 4, 41)
    for function in (binned, between):
        fast = jitrt.jit(function)
        for given in (x, x[::2], x[:0]):
            try:
                want = function(given)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)):
                    fast(given)
            else:
                np.testing.assert_array_equal(fast(given), want)


def test_a_text_as_the_key_of_a_dict_that_is_written_out():
    def scaled(x, unit="km"):
        scales = {"m": [1.0, 2.0], "km": [1e3, 2e3], "mile": [1609.344, 3218.688]}
        low, high = scales[unit]
        total = 0.0
        for i in range(len(x)):
            total = total * low + x[i] * high
        return total

    x = np.arange(1.0, 6.0)
    agrees(scaled, (x,), (x, "m"), (x[:3], "mile"), (x, "km"))
    with pytest.raises(KeyError, match="foot"):
        jitrt.jit(scaled)(x, "foot")


def test_interpolation_between_points_that_do_not_increase():
    def filtered(x, xp, fp):
        total = np.zeros(len(x))
        for i in range(1, len(x)):
            total[i] = total[i - 1] * 0.5 + np.interp(x[i], xp, fp)
        return total, np.interp(x, xp, fp)

    rng = np.random.default_rng(0)
    calls = []
    for n in (1, 3, 4, 5, 12, 30, 60):
        xp = rng.integers(0, 12, n).astype(float)
        calls.append((rng.uniform(-1, 13, 20), xp, rng.normal(size=n)))
        calls.append((np.round(calls[-1][0]), np.sort(xp), rng.normal(size=n)))
    agrees(filtered, *calls)


STEPS = {
    "ascontiguousarray": "x = np.ascontiguousarray(x)",
    "ascontiguousarray of a type": "x = np.ascontiguousarray(x, np.float32)",
    "squeeze": "x = x.squeeze()",
    "squeeze of an axis": "x = np.squeeze(x[None, :, None], axis=(0, 2))",
    "tolist": "x = np.array(x.tolist())",
    "tolist of rows": "x = np.array([row[0] for row in x.reshape(-1, 1).tolist()])",
    "flipud": "x = np.flipud(x)",
    "fliplr": "x = np.fliplr(x[None])[0]",
    "r_": "x = np.r_[0, x, x[:1], 2.5]",
    "c_": "x = np.c_[x, x * 2].ravel()",
    "column_stack": "x = np.column_stack((x, x[::-1])).ravel()",
    "real": "x = np.real(x)",
    "real of complex numbers": "x = np.real(x * 1j)",
    "isscalar": "if np.isscalar(x):\n        x = np.array([x])",
    "isscalar of an element": "x = x * 2 if np.isscalar(x[0]) and not np.isscalar(x) else x",
    "dict of keywords": "settings = dict({'a': 2.0}, b=3.0)\n    x = x * settings['b'] + settings['a']",
    "broadcast_to": "x = np.broadcast_to(x, (3, len(x)))[1] + np.broadcast_to(2.0, len(x))",
    "copyto": "y = np.empty_like(x)\n    np.copyto(y, x * 2)\n    x = y",
    "copyto of a number": "y = np.empty_like(x)\n    np.copyto(y, 3)\n    x = y + x",
    "copyto where": "np.copyto(x, 0.5, where=x > 2)",
    "copyto of parts of an array": "np.copyto(x, x[::-1].copy(), where=x > 2)",
    "finfo": "x = x + np.finfo(float).eps * np.iinfo(np.int32).max",
    "finfo of its type": "x = x + np.finfo(x.dtype).eps",
    "reduce": "from functools import reduce\n    x = x * reduce(lambda p, q: p + q, [1, 2, 3])",
    "reduce from a value": "from functools import reduce\n    x = x * reduce(lambda p, q: p + q, x, 1.5)",
    "flat": "total = 0.0\n    for v in x.flat:\n        total += v\n    x = x * total",
    "flat of rows": "x = x + sum([v for v in x.reshape(-1, 1).flat])",
}


def after(step, parameters):
    """A function with a loop behind a statement."""
    loop = "for i in range(1, len(x)):\n        s = s * 0.5 + x[i] * x[i - 1]"
    return function_of(
        f"def f({parameters}):\n    {step}\n    s = 0.0\n    {loop}\n    return s\n", functools=functools
    )


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_what_stands_in_front_of_a_loop(step):
    agrees(after(step, "x"), (np.arange(7.0),), (np.arange(4.0) ** 2,), (np.linspace(-1, 3, 9),))


@pytest.mark.parametrize(
    "step",
    [
        "np.copyto(n, 2.5)", "np.copyto(n, x)", "np.copyto(n, 300)", "np.copyto(x, x[:2])", "np.broadcast_to(x, 3)",
        "np.squeeze(x, axis=0)", "np.copyto(x, 1.0, where=x)", "np.broadcast_to(x, (2, 3)).fill(0)",
        "functools.reduce(max, [])", "x.flat[99]", "np.broadcast_to(x, (2, len(x)))[0, 0] = 1", "np.r_['a', x]",
    ],
)  # fmt: skip
def test_what_numpy_refuses_in_front_of_a_loop(step):
    function = after(step, "x, n")
    fast = jitrt.jit(function)
    for _ in range(3):
        args = np.arange(7.0), np.zeros(3, np.uint8)
        want, got = outcome(function, args), outcome(fast, args)
        same(got[:2], want[:2])
        assert got[2] == want[2]


def test_a_part_may_be_contiguous():
    def halves(x, k):
        y = np.ascontiguousarray(x[::k])
        for i in range(1, len(y)):
            y[i] = y[i] + y[i - 1] * 0.5
        return y.sum()

    fast = jitrt.jit(halves)
    for k in (1, 2, 1, 3):
        args = np.arange(12.0), k
        same(outcome(fast, args), outcome(halves, args))
    strided = np.arange(24.0)[::2]
    same(outcome(fast, (strided, 1)), outcome(halves, (strided, 1)))


@pytest.mark.parametrize("kind", ["float", "int", "complex", "bool", "abs"])
@pytest.mark.parametrize(
    "array", ["np.zeros(1)", "np.array([2])", "np.ones((1, 1))", "x[:1]", "np.array(3.0)", "x.sum()"]
)
def test_numbers_of_arrays_that_have_axes(kind, array):
    """NumPy refuses one with axes, or warns of it, but for truth."""
    text = f"def f(x):\n    s = 0\n    for k in range(30):\n        s = s + {kind}({array})\n    return s"
    function = function_of(text)
    compiled = jitrt.jit(function)
    for _ in range(3):
        same(outcome(compiled, (np.arange(1.0, 4.0),)), outcome(function, (np.arange(1.0, 4.0),)))
