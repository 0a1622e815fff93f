"""Floating-point exceptions of integers: what NumPy tells of steps and of casts, with its lines, under any error state.

Arrays of integers raise them, too: in divisions, and where floats become integers that are no operands of the step.
"""

import itertools
import warnings

import numpy as np
import pytest

import jitrt
from jitrt.errors import JitrtPerformanceWarning

TOO_LARGE = np.array([np.nan, 1e300])

# What writes into `x`, which has integers or float16.
WRITES = {
    "add.at": lambda x: np.add.at(x, [0, 0, 1], np.inf),
    "floor_divide.at": lambda x: np.floor_divide.at(x, [0, 1], 0),
    "remainder.at": lambda x: np.remainder.at(x, [0, 1], x[:2] * 0),
    "put": lambda x: np.put(x, [0, 1], np.nan),
    "put several": lambda x: np.put(x, [0, 1], TOO_LARGE),
    "place": lambda x: np.place(x, x > 0, [np.nan]),
    "putmask": lambda x: np.putmask(x, x > 0, [np.nan, 1e300]),
    "copyto": lambda x: np.copyto(x, np.inf, casting="unsafe"),
    "copyto a list": lambda x: np.copyto(x, [np.nan] * 12, casting="unsafe"),
    "copyto several": lambda x: np.copyto(x, np.full(12, 1e300), casting="unsafe"),
    "places": lambda x: x.__setitem__([0, 1], TOO_LARGE),
    "flat": lambda x: x.flat.__setitem__(slice(0, 2), TOO_LARGE),
    "flat of a list": lambda x: x.flat.__setitem__(slice(0, 2), [np.nan, 1e300]),
    "flat of large integers": lambda x: x.flat.__setitem__(slice(0, 2), [300, 2**70]),
    "one of flat": lambda x: x.flat.__setitem__(0, [300, 1]),
    "all of flat": lambda x: setattr(x, "flat", [np.nan, 1e300]),
    "fill_diagonal": lambda x: np.fill_diagonal(x.reshape(2, -1), TOO_LARGE[:1]),
    "put_along_axis": lambda x: np.put_along_axis(x, np.array([0, 1]), TOO_LARGE, 0),
}
GIVES = {
    "insert": lambda x: np.insert(x, 1, TOO_LARGE[:1]),
    "reduce": lambda x: np.floor_divide.reduce(x * 0),
    "accumulate": lambda x: np.floor_divide.accumulate(x * 0),
    "outer": lambda x: np.floor_divide.outer(x, x * 0),
    "reduceat": lambda x: np.remainder.reduceat(x * 0, [0, 2]),
    "full_like": lambda x: np.full_like(x, np.array(np.nan)),
    "sort": lambda x: np.sort(x // (x * 0)),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda v: v // 0, 0, x),
    "piecewise": lambda x: np.piecewise(x, [x > 2], [lambda v: v // 0, np.nan]),
    "vectorize": lambda x: np.vectorize(lambda v: v // (v * 0))(x[:3]),
    "divmod": lambda x: np.divmod(np.unique(x), x[:1] * 0)[0],
    "cumsum": lambda x: np.cumsum(x * 30000, dtype="f2"),
    "sum": lambda x: np.sum(x * 30000, dtype="f2"),
    "bincount": lambda x: np.bincount(np.abs(x)) // 0,
    "clip": lambda x: np.clip(np.sort(x), np.float64(1), np.inf).astype(x.dtype),
    "matmul": lambda x: np.matmul(x.astype("f2") * 30000, x.astype("f2") * 30000),
    "geomspace": lambda x: np.geomspace(x[1:3] * 0 + 1, x[2:4] * 0, 3, dtype=int),
}


def writing(write):
    def function(x):
        x = x * 1
        write(x)
        return x

    return function


def said(function, dtype, how):
    """What a call gives, or its exception, and warnings with their lines."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=how):
        warnings.simplefilter("always")
        try:
            made = function(np.arange(12).astype(dtype))
            result = made.dtype, made.shape, made.tobytes()
        except Exception as error:
            result = type(error), str(error)
    told = [w for w in caught if w.category is not JitrtPerformanceWarning]
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in told]


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("dtype", ["i2", "i8", "u1", "?", "f2"])
@pytest.mark.parametrize("how", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("name", [*WRITES, *GIVES])
def test_errors_and_lines_are_numpys(name, how, dtype):
    function = writing(WRITES[name]) if name in WRITES else GIVES[name]
    compiled = jitrt.jit(function)
    for _ in range(3):
        assert said(compiled, dtype, how) == said(function, dtype, how)


def as_type(x, y):
    return (x + 0).astype(y.dtype)


def assigned(x, y):
    y[...] = x * 1
    return y


def row_by_row(x, y):
    for k in range(len(x)):
        y[k] = x[k] * 1
    return y


@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("source", ["f4", "f8"])
@pytest.mark.parametrize("function", [as_type, assigned, row_by_row])
def test_casts_of_what_does_not_fit(function, source, target):
    """NumPy's loops give some numbers for them, and tell of them in the part that is computed by vectors."""
    compiled = jitrt.jit(function)
    values = (
        1.0,
        200,
        -1,
        -200,
        4e4,
        3e9,
        2.0**32 - 512,
        5e9,
        -3e9,
        1e12,
        1e18,
        2.0**63,
        1e19,
        -1e19,
        2e19,
        np.inf,
        np.nan,
    )
    for value, shape in itertools.product(values, [(1, 1), (2, 3), (3, 17)]):
        with np.errstate(all="ignore"):
            x = np.full(shape, value, source)
        outcomes = []
        for f in (function, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                made = f(x, np.zeros(shape, target))
            outcomes.append(
                (made.tolist(), [(str(w.message), w.lineno) for w in caught if w.category is RuntimeWarning])
            )
        assert outcomes[0] == outcomes[1], value
