"""Norms of vectors in loops, by every axis and of every order that has a fold."""

import itertools

import numpy as np
import pytest
from test_element_loops import agrees, outcome, same
from texts import function_of

import jitrt

RNG = np.random.default_rng(1)
SPECIAL = np.array([[0.0, -0.0, 3.0], [np.nan, 1.0, -2.0], [-np.inf, 4.0, 1e-200], [5.0, -7.5, 1e200]])


def rows(arguments):
    return function_of(
        "import numpy as np\ndef f(x, y):\n    total = 0.0\n    for i in range(len(y)):\n"
        f"        d = np.linalg.norm(x - y[i], {arguments})\n        total += d.sum() * 0.5 + d.shape[0]\n"
        "    return total, d * 1\n"
    )


@pytest.mark.wide
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("order", ["None", "2", "1", "np.inf", "-np.inf"])
def test_along_an_axis(order, dtype):
    for axis, kept in itertools.product(("1", "-2", "(0,)"), (False, True)):
        x, y = ((RNG.normal(size=(n, 4)) * 9).astype(dtype) for n in (6, 5))
        agrees(rows(f"ord={order}, axis={axis}, keepdims={kept}"), (x, y), (x[:1], y[:2]))


@pytest.mark.parametrize("arguments", ["", ", 1", ", np.inf", ", 2", ", None, 0", ", 'fro', (0, 1)", ", ord='f'"])
def test_of_special_values(arguments):
    matrix = "fro" in arguments or "'f'" in arguments
    function = function_of(
        "import numpy as np\ndef f(x):\n    total = []\n    for k in range(len(x)):\n"
        f"        total.append(np.linalg.norm(x[k{':' if matrix else ''}]{arguments}))\n    return total\n"
    )
    with np.errstate(all="ignore"):
        agrees(function, (SPECIAL,), (SPECIAL[:, :1],), (SPECIAL.astype(np.float32),))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("order", ["None", "2", "1", "np.inf", "-np.inf"])
def test_of_complex_numbers(order, dtype):
    """Magnitudes have our own bits, at most one unit in the last place from NumPy's."""
    for axis, kept in itertools.product(("1", "(0,)"), (False, True)):
        x, y = ((RNG.normal(size=(n, 4)) + 1j * RNG.normal(size=(n, 4))).astype(dtype) for n in (6, 5))
        function = rows(f"ord={order}, axis={axis}, keepdims={kept}")
        fast = jitrt.jit(function)
        for args in ((x, y), (x, y), (x[:1], y[:2]), (x * 0, y * np.nan), (x * np.inf, y)):
            (total, made), (its_total, its) = outcome(fast, args)[0], outcome(function, args)[0]
            assert made.dtype == its.dtype and type(total) is type(its_total)
            np.testing.assert_allclose(made, its, rtol=5e-7 if dtype is np.complex64 else 1e-15)
            np.testing.assert_allclose(total, its_total, rtol=1e-6)
        assert fast._loops.serving


@pytest.mark.parametrize(
    "arguments",
    ["3", "0", "-1", "'nuc'", "1, (0, 1)", "2, None", "None, 5", "None, (0, 0)", "None, 1.5"],
)
def test_others_are_left_to_numpy(arguments):
    function = function_of(
        f"import numpy as np\ndef f(x):\n    total = 0.0\n    for k in range(3):\n"
        f"        if x[k, 0] > 0:\n            total = total + np.linalg.norm(x, {arguments})\n    return total\n"
    )
    x = RNG.random((4, 3))
    fast = jitrt.jit(function)
    for _ in range(2):
        same(outcome(fast, (x,))[:2], outcome(function, (x,))[:2])


def test_nothing():
    function = rows("axis=1")
    agrees(function, (np.ones((3, 2)), np.ones((2, 2))), (np.ones((0, 2)), np.ones((2, 2))))
    extreme = rows("ord=np.inf, axis=1")
    fast = jitrt.jit(extreme)
    for x in (np.ones((3, 2)), np.ones((3, 0)), np.ones((0, 2))):
        args = x, np.ones((2, x.shape[1]))
        same(outcome(fast, args)[:2], outcome(extreme, args)[:2])
