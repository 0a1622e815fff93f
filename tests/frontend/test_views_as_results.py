"""Views of arrays that staged functions return: of new ones and of arguments, with NumPy's strides and bases."""

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage

# Bodies of functions of an array of integers `x` and a number `n` below its length.
BODIES = {
    "columns behind others": """
        m = np.zeros((n, 5))
        for i in range(n):
            for j in range(5):
                m[i, j] = x[i] * j
        return m[:, 2:]""",
    "a path in reverse": """
        p = np.zeros(n, int)
        for k in range(1, n):
            p[k] = (p[k - 1] * 7 + x[k]) % 11
        return p[::-1]""",
    "the inside of an argument": """
        for k in range(1, n):
            x[k] += x[k - 1]
        return x[1:-1]""",
    "an argument in reverse, and a number": """
        s = 0
        for k in range(n):
            s += x[k]
        return x[::-1][2:], s""",
    "views of views": """
        y = np.zeros((n, n, 3))
        for k in range(n):
            y[k, k % 5] += x[k]
        return y[1 : n - 2, ::2][:, ::-1, 1]""",
    "a new axis and a step of run time": """
        y = np.zeros((n, 4))
        for k in range(n):
            y[k] = x[k]
        s = 1 + n % 3
        return y[::-2, None, 1:3], s""",
    "a step of run time": """
        y = np.zeros((n, 4))
        for k in range(n):
            y[k] = x[k]
        return y[:: 1 + n % 3, 1]""",
    "one of two": """
        y = np.zeros((n, 3))
        for k in range(n):
            y[k, k % 3] = 1
        if x[0] > 2:
            return y[:, 0]
        return y[::2, 1]""",
    "parts of a dict": """
        y = np.zeros((n, 3), int)
        z = np.zeros(n)
        for k in range(n):
            y[k, k % 3] = x[k]
            z[k] = k
        return {"rows": y[::2], "last": z[-1], "tail": z[n:0:-3]}""",
    "a view that a loop writes": """
        y = np.ones((n, 3))
        z = y[1::2]
        for k in range(len(z)):
            z[k] *= k
        return z""",
    "no elements": """
        y = np.ones((n, 3))
        for k in range(n):
            y[k] = k
        return y[n:0:2]""",
}  # fmt: skip


def made(body):
    return function_of(f"def f(x, n):{body}\n")


def described(value, given):
    """What is seen of a result: of an array its elements, its layout, and the array that it is a view of."""
    if isinstance(value, np.ndarray):
        base = value.base
        layout = value.dtype, value.shape, value.strides, value.flags.writeable, value.flags.owndata
        of = "argument" if base is given else None if base is None else (base.shape, base.strides, base.flags.owndata)
        return *layout, of, value.tolist()
    if isinstance(value, dict):
        return {key: described(v, given) for key, v in value.items()}
    if isinstance(value, tuple):
        return tuple(described(v, given) for v in value)
    return type(value), value


@pytest.mark.parametrize("name", BODIES)
def test_as_numpy(name):
    function = made(BODIES[name])
    stage(function, (np.arange(9), 8), True)  # which raises where it is not staged
    fast = jitrt.jit(function)
    for n in (8, 11, 30, 8, 1, 12):
        given = np.random.default_rng(n).integers(0, 5, n + 3)
        mine, its = given.copy(), given.copy()
        for _ in range(2):  # the second one goes the way of warm calls
            assert described(fast(mine, n), mine) == described(function(its, n), its)
            np.testing.assert_array_equal(mine, its)


def test_what_is_written_into_a_view_is_written_into_the_argument():
    function = made(BODIES["the inside of an argument"])
    fast, x = jitrt.jit(function), np.arange(12)
    for _ in range(4):
        fast(x, 9)[3] = -7
        assert x[4] == -7


def test_two_results_in_the_same_memory():
    function = made("\n    y = np.zeros(n)\n    for k in range(n):\n        y[k] = x[k]\n    return y, y[::2]")
    fast, x = jitrt.jit(function), np.arange(12)
    for _ in range(4):
        whole, part = fast(x, 9)
        whole[4] = 50
        assert part[2] == 50
