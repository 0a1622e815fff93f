"""Symbols in objects that nothing takes apart never get into results, nor into the calls that NumPy makes."""

import collections
import functools
import types

import numpy as np
import pytest

import jitrt

Pair = collections.namedtuple("Pair", "first second")
X = np.arange(1.0, 5.0)


def apply(x, f):
    return np.apply_along_axis(lambda row: f(row), 0, x)


def added(x, y):
    return x + y


RESULTS = {
    "slice": lambda x: slice(x[0], x[1]),
    "nested slice": lambda x: (slice(None, x.sum()), x * 2),
    "array of objects": lambda x: np.array([x[0], None], dtype=object),
    "element of such an array": lambda x: (a := np.empty(2, object), a.__setitem__(0, x[1]), a)[2],
    "partial": lambda x: functools.partial(added, x * 2)(x),
    "namespace": lambda x: types.SimpleNamespace(a=x * 2).a,
    "set": lambda x: len({x[0], x[1]}),
}
CALLS = {
    "named tuple": lambda x: np.linalg.norm((*Pair(x[0], x[1]), x[2])),
    "named tuple in a row": lambda x: np.hstack(Pair(x, 2 * x)),
    "list in a call": lambda x: np.interp(x, [0.0, x[3]], Pair(x[0], x[1])),
    "function": lambda x: apply(x, lambda row: row * x.sum()),
    "partial": lambda x: apply(x, functools.partial(added, x * 2)),
    "piecewise": lambda x: np.piecewise(x, [x > 2, x <= 2], [functools.partial(added, y=x[0]), x[1]]),
    "deque": lambda x: np.interp(x, collections.deque([0.0, x[3]]), [0.0, 1.0]),
}


def same(want, got):
    assert type(want) is type(got)
    if isinstance(want, tuple):
        for a, b in zip(want, got, strict=True):
            same(a, b)
    elif isinstance(want, slice):
        same((want.start, want.stop), (got.start, got.stop))
    elif isinstance(want, np.ndarray) and want.dtype.hasobject:
        same(tuple(want), tuple(got))
    else:
        np.testing.assert_array_equal(got, want, strict=isinstance(want, np.ndarray))


@pytest.mark.parametrize("function", (RESULTS | CALLS).values(), ids=RESULTS | CALLS)
def test_none_outlives_a_trace(function):
    compiled = jitrt.jit(function)
    for scale in (1, 2, 2, 3):
        same(function(scale * X), compiled(scale * X))
