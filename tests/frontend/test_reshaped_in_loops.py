"""What loops write into an array, or into one of another shape, is seen in both where NumPy gives a view."""

import numpy as np
import pytest
from texts import function_of

import jitrt

ONE_AXIS = "x; x[::2]; x[::-1]; x[1:]; x[::k]; x[:k]; x * 1.0; (x + 1)[::2]; (x * 2)[k:]; (x + 1)[::k]"
SEVERAL_AXES = """x.reshape(2, -1); x.reshape(-1, k); x.reshape(k, -1); x.reshape(2, -1)[:, ::2]
x.reshape(2, -1)[:, 1:]; x.reshape(k, -1)[:, :2]; x.reshape(k, -1)[:1]; x.reshape(-1, 2)[:, :1]
x.reshape(-1, 2)[:, :k]; x.reshape(-1, 2)[::2]; x.reshape(2, -1).T; x.reshape(1, -1).T
x.reshape(-1, 2).T + 1; x.reshape(-1, 2)[::-1]; (x + 1).reshape(-1, 2)[:, :1]
x.reshape(2, 2, -1)[:, 1]; x.reshape(2, 2, -1)[:, :, 0]; x.reshape(2, -1, 2)[:, :, 0]
x.reshape(2, 2, -1)[..., ::-1]"""
SHAPES = "reshape(-1); reshape(-1, 2); reshape(2, -1); reshape(k, -1); reshape(-1, 1, 2); ravel(); flatten()"
WRITES = (
    "y[0] = 70.0; y += 1; y[...] = 4; x[0] = 9; x += i; x[k:] = 1; z[-1] *= 3; z[i % len(z)] = i; y[i % len(y)] -= 2"
)
CALLS = [(8, 2), (16, 2), (4, 1), (8, 4), (8, 1), (2, 1), (16, 4)]  # elements, and k


def parts(text):
    return text.replace("\n", "; ").split("; ")


def outcome(function, size, k):
    x = np.arange(size) + 1.0
    try:
        made = function(x, 5, k)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        made = type(error), str(error)
    return repr(made), x.tolist()


@pytest.mark.wide
@pytest.mark.parametrize("shape", parts(SHAPES))
@pytest.mark.parametrize("array", [*parts(ONE_AXIS), *parts(SEVERAL_AXES)])
def test_writes_through_another_shape(array, shape):
    writes = parts(WRITES)
    seed = len(array) + 3 * len(shape)
    for turn in range(3):
        first, second = (writes[(seed + turn * step) % len(writes)] for step in (2, 5))
        function = function_of(
            f"def f(x, n, k):\n    y = {array}\n    z = y.{shape}\n    s = 0.0\n    for i in range(n):\n"
            f"        {first}\n        s += z.sum()\n        {second}\n        s += y.sum() + x[i % len(x)]\n"
            "    return s, z.sum(), y.sum(), x.sum()\n"
        )
        compiled = jitrt.jit(function)
        for size, k in CALLS:
            for _ in range(2):
                assert outcome(compiled, size, k) == outcome(function, size, k)


def check_elements(array, shape):
    """Writes of one element after the other, of which procedures are made; whole arrays are left to kernels."""
    function = function_of(
        f"def f(x, n, k):\n    y = {array}\n    z = y.{shape}\n    s = 0.0\n    for i in range(n):\n"
        "        z[(0,) * z.ndim] = 70.0 + i\n        s += y[(0,) * y.ndim] + x[0]\n"
        "        y[(0,) * y.ndim] = 5.0\n        s += z[(0,) * z.ndim] + x[i % len(x)]\n    return s, z.size\n"
    )
    compiled = jitrt.jit(function)
    for size, k in CALLS:
        for _ in range(2):
            assert outcome(compiled, size, k) == outcome(function, size, k)


@pytest.mark.wide
@pytest.mark.parametrize("shape", parts(SHAPES))
@pytest.mark.parametrize("array", [*parts(ONE_AXIS), *parts(SEVERAL_AXES)])
def test_elements_that_are_written_through_another_shape(array, shape):
    check_elements(array, shape)


@pytest.mark.parametrize("array", ["(x + 1)[::k]", "(x * 2)[k:][::k]", "(x + 1).reshape(2, -1)[:k, :2]", "x[::k]"])
def test_a_flat_part_that_may_be_the_whole(array):
    """Of which NumPy gives a view: with a step of one, the strides say so at run time alone."""
    check_elements(array, "ravel()")


def test_they_are_compiled():
    def views(x, n):
        pairs, turned = x[::2].reshape(-1, 2), x.reshape(4, -1).T.reshape(-1)
        for i in range(n):
            pairs[i, 0] += turned[i]
        return x.sum()

    compiled = jitrt.jit(views)
    for _ in range(2):
        x, y = np.arange(32.0), np.arange(32.0)
        assert compiled(x, 4) == views(y, 4)
        np.testing.assert_array_equal(x, y)
    assert str(compiled.explain(np.arange(32.0), 4).loops[0]).endswith("compiled as a loop")
