"""Views of what functions with loops compute: their elements lie as in NumPy, whatever is computed as a whole here."""

import numpy as np
import pytest
from texts import function_of

import jitrt

COMPUTED = (
    "(x * 2)", "np.abs(x - 4)", "np.where(x > 2, x, y)", "(x + y[0])", "(x > 3)", "x.astype(np.float32)", "(x * 2).T",
    "(x * 2)[1:]", "np.cumsum(x, axis=1)", "(x[0] * y[:, :1])", "(x - 1).reshape(4, 3)", "(x + 1)[None]",
)  # fmt: skip
VIEWS = (
    "", "[::2]", "[::-1]", "[1:]", "[1:3]", "[0]", "[-1][1:]", "[:, 0]", "[:, ::-1]", "[:, 1:]", "[1:2, 1:]",
    "[..., 0]", "[:1]", "[:, None]", "[0][::2]", "[::2][::-1]", "[1:][0]", ".T[1:]", "[::2].T", "[n - 2:]",
    "[::n - 1]", "[0, :n - 1]", "[::2].copy()", "[::-1].reshape(-1)", ".ravel()[::2]", "[:, 1:] + 1", "-a[::-1]",
    "[0][1:][::-1]",
)  # fmt: skip
ENDS = {
    "at once": "return {}",
    "a variable": "t = {}\n    return t, t.sum()",
    "a list": "made = []\n    for k in range(n):\n        made.append({})\n    return made",
    "carried": "t = {}\n    for k in range(n):\n        t = {}\n    return t",
}


def described(value):
    if isinstance(value, (tuple, list)):
        return [described(part) for part in value]
    strides = [s for s, extent in zip(value.strides, value.shape) if extent > 1 and value.size]
    return type(value), value.dtype, value.shape, strides, value.tolist()


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("computed", COMPUTED)
def test_strides(computed, view, end):
    value = view.replace("a[", f"{computed}[") if view.startswith("-a") else computed + view
    body = ENDS[end].replace("{}", value)
    source = f"def f(x, y, n):\n    for k in range(n):\n        x[k, k] += y[k, 0]\n    {body}\n"
    f = function_of(source)
    compiled = jitrt.jit(f)

    def outcome(function):
        try:
            return described(function(np.arange(12.0).reshape(3, 4), np.ones((3, 4)), 3))
        except (IndexError, TypeError, ValueError) as error:
            return type(error), str(error)

    for _ in range(2):
        assert outcome(compiled) == outcome(f)


@pytest.mark.parametrize("layout", ["c", "every other"])
@pytest.mark.parametrize(
    "view", ["x[1:]", "x.T", "x.reshape(-1)", "x.ravel()", "x[::-1]", "x[None]", "x[0]", "x", "x[:, 1:]", "(x * 2)[1:]"]
)
def test_one_view_is_one_object(view, layout):
    """What is returned twice is one array, and what is made twice is two."""
    f = function_of(
        f"def f(x, n):\n    for k in range(n):\n        x[k, k] *= 2\n    t = {view}\n    return t, t, [{view}]\n"
    )
    compiled = jitrt.jit(f)
    for _ in range(3):
        x = np.arange(48.0).reshape(6, 8)[:: 2 if layout == "every other" else 1]
        first, second, (other,) = compiled(x, 3)
        assert first is second and (other is first) == (view == "x")
        np.testing.assert_array_equal(first, f(np.arange(48.0).reshape(6, 8)[:: 2 if layout != "c" else 1], 3)[0])
