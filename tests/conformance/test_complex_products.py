"""Products of NumPy's complex scalars round each of their parts, those of arrays round once where the processor can."""

import numpy as np
import pytest

import jitrt

COUNT = 40
WRITTEN = {
    "operator": "x[{i}] * y[{i}]",
    "three": "x[{i}] * y[{i}] * x[{i}]",
    "beside Python's": "(1.3 + 0.7j) * x[{i}] * y[{i}]",
    "beside a float": "x[{i}] * 2.5 * y[{i}]",
    "square": "x[{i}] ** 2",
    "function": "np.multiply(x[{i}], y[{i}])",
    "square by a function": "np.square(x[{i}])",
    "arrays of one": "(x[{i}:{i} + 1] * y[{i}:{i} + 1])[0]",
}


def function(text):
    names = {"np": np}
    exec(text, names)
    return names["f"]


def traced(text):
    """All products written out."""
    return function(f"def f(x, y):\n    return ({', '.join(text.format(i=i) for i in range(COUNT))})")


def looped(text):
    lines = "def f(x, y):", "    out = np.empty_like(x)", "    for i in range(len(x)):"
    return function("\n".join([*lines, f"        out[i] = {text.format(i='i')}", "    return out"]))


def updated(text):
    """A product that takes the place of a factor, again and again: errors would grow."""
    return function(
        f"def f(x, y):\n    z = x[0]\n    for i in range(len(x)):\n        z *= {text.format(i='i')}\n"
        "        z = z * z / (z.real * z.real + z.imag * z.imag)\n    return z"
    )


@pytest.mark.parametrize("kind", [np.complex128, np.complex64])
@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("form", [traced, looped, updated])
def test_bits_are_numpys(form, text, kind):
    rng = np.random.default_rng(5)
    x, y = (rng.normal(size=COUNT) + 1j * rng.normal(size=COUNT) for _ in range(2))
    plain = form(text)
    fast = jitrt.jit(plain)
    for scale in (1.0, 0.37):
        args = ((x * scale).astype(kind), y.astype(kind))
        got, want = np.asarray(fast(*args)), np.asarray(plain(*args))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
