"""Attributes that a function does not read, and that hold arrays of numbers in one call and of objects in another."""

from types import SimpleNamespace

import numpy as np
import pytest

import jitrt


class Pair:
    def __init__(self, a):
        self.a = a


class State:
    def __init__(self, unread, n):
        self.unread, self.low, self.mean, self.scale = unread, np.full(n, 1000.0), np.full(n, 5.0), np.full(n, 0.01)


def waves(x):
    return np.exp(np.sin(x) * np.cos(x)) / (1 + x * x)


def drawn(o, x):
    return np.random.normal(o.mean, o.scale) + waves(x)  # noqa: NPY002


FUNCTIONS = {
    "drawn": drawn,
    "sorted": lambda o, x: np.sort(o.mean * x) + o.scale * waves(x),
    "transformed": lambda o, x: np.fft.fft(o.mean).real * waves(x),
    "looked at": lambda o, x: o.mean[0] * waves(x) if o.scale.sum() > 0 else x,
    "kernels alone": lambda o, x: o.mean * waves(x) + o.scale,
}
VALUES = {
    "objects": lambda: np.array([[None]]),
    "text": lambda: np.array(["a"]),
    "records": lambda: np.zeros(2, [("a", "f8"), ("b", "O")]),
    "numbers": lambda: np.array([1.0]),
    "dict": lambda: {"a": np.array([None])},
    "dict of numbers": lambda: {"a": np.array([1.0])},
    "tuple": lambda: (np.array([None]),),
    "tuple of numbers": lambda: (np.array([1.0]),),
    "object": lambda: Pair(np.array([None])),
    "object with numbers": lambda: Pair(np.array([1.0])),
    "set": lambda: [{1}],
    "list": lambda: [1.0],
    "namespace": lambda: SimpleNamespace(a=np.array([None])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_read_may_hold_anything(name):
    function, n = FUNCTIONS[name], 20_000
    fast, x = jitrt.jit(function), np.full(n, 0.5)
    for first in VALUES:
        for then in (first, first, *VALUES):
            o = State(VALUES[then](), n)
            np.random.seed(1)  # noqa: NPY002
            want = function(o, x)
            np.random.seed(1)  # noqa: NPY002
            np.testing.assert_allclose(fast(o, x), want, rtol=1e-14)
