"""What nothing reads in the bodies of jitrt's own loops and choices: it warns and raises as it does in plain NumPy."""

import warnings

import numpy as np
import pytest

import jitrt

OPERATIONS = {
    "of what is carried": lambda s, x: np.log(s),
    "of integers": lambda s, x: s.astype(int) // (s * 0).astype(int),
    "of what stays": lambda s, x: np.sqrt(x),
    "of a fold": lambda s, x: 1.0 / s.sum(),
    "an index": lambda s, x: x[np.abs(s).astype(int)],
    "several": lambda s, x: (np.log(s), np.exp(s * 400.0), 1.0 / x, s.max() ** 0.5),
    "of nothing": lambda s, x: np.log(s[:0]),
    "harmless": lambda s, x: (np.isnan(s), s > x, np.abs(s), -s),
}


def unread(operation, s, x):
    operation(s, x)
    return s * 1.0


BODIES = {
    "fori": lambda f, x: jitrt.fori_loop(0, 3, lambda i, s: unread(f, s, x) + 1.0, x),
    "fori and its number": lambda f, x: jitrt.fori_loop(0, 3, lambda i, s: unread(f, s - i, x) - 1.0, x),
    "no iterations": lambda f, x: jitrt.fori_loop(0, 0, lambda i, s: unread(f, s, x), x),
    "while": lambda f, x: jitrt.while_loop(lambda s: s.max() < 5, lambda s: unread(f, s, x) + 2.0, x),
    "scan": lambda f, x: jitrt.scan(lambda s, v: (unread(f, s * v, x), s[0]), x, x),
    "then": lambda f, x: jitrt.cond(x.sum() > 0, lambda s: unread(f, s, x), lambda s: s + 0.0, x),
    "otherwise": lambda f, x: jitrt.cond(x.sum() > 0, lambda s: s + 0.0, lambda s: unread(f, s, x), x),
    "both": lambda f, x: jitrt.cond(x.sum() > 0, lambda s: unread(f, s, x), lambda s: unread(f, s - 1.0, x), x),
    "only that": lambda f, x: jitrt.cond(x.sum() > 0, lambda: unread(f, x, x), lambda: x * 2.0),
    "nested": lambda f, x: jitrt.fori_loop(
        0, 2, lambda i, s: jitrt.cond(s.max() > 3, lambda t: unread(f, t, x), lambda t: t + 1.0, s), x
    ),
}
ARRAYS = ([1.0, 1.0, 1.0], [1.0, 0.0, 2.0], [-3.0, 0.0, 2.0], [7.0, 7.0, 9.0], [-3.0, 0.0, 9.0], [1.0, 2.0, 0.5])


def outcome(function, x, **states):
    with warnings.catch_warnings(record=True) as caught, np.errstate(**states):
        warnings.simplefilter("always")
        try:
            found = function(x)
        except (IndexError, FloatingPointError) as error:
            found = type(error)
    return repr(found), {str(w.message) for w in caught}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_like_numpy(name, body, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "1")
    operation, form = OPERATIONS[name], BODIES[body]

    def function(x):
        return form(operation, x)

    compiled = jitrt.jit(function)
    for values in (*ARRAYS, ARRAYS[0]):
        x = np.array(values)
        assert outcome(compiled, x) == outcome(function, x), values
        assert outcome(compiled, x, all="raise") == outcome(function, x, all="raise"), values
