"""Integers of NumPy's that are equal to others and have types of their own: longlong, where long is int64."""

import linecache

import numpy as np
import pytest

import jitrt
from jitrt.base.dtypes import is_twin
from jitrt.codegen.scalar import emitter
from jitrt.frontend.control.scalars import loop_dtypes
from jitrt.ir.ops.optable import OPS

TWINS = [c for c in "iIlLqQ" if is_twin(np.dtype(c))]
TEXTS = """x; x + 1; x + y; y + x; x.sum(); x.max(); x[0]; x[0] + y[0]; x[::2] * 2; x.copy(); x.astype(t); y.astype(t)
np.zeros(3, t); np.full(3, 1, t); np.full(3, y[0], t); np.array([1, 2], t); np.arange(3, dtype=t)
np.asarray(y, t) + 1; np.where(x > 1, x, 0); np.concatenate([x, y]); np.cumsum(x); np.clip(x, 0, 2); np.unique(x)
np.bincount(y, minlength=t(3)); np.maximum.accumulate(x); np.sort(x); np.ptp(x); t(3) * y; t(3) + y[0]; y.sum(dtype=t)
np.add(y, 1, dtype=t); x @ x; x.dtype.char; x.dtype.num; x.dtype is np.dtype(np.int64); isinstance(x[0], np.int64)
np.result_type(x, y).char; [v for v in x]; max(x); x.tolist(); C * y; C.sum() + y; np.zeros_like(y, dtype=t)
np.linspace(0, 3, 4, dtype=t); np.where(x > 1, C[0], y); np.where(y > 1, t(1), 2); np.select([y > 1], [t(1)])"""
FORMS = ("return {}", "total = 0\n    for k in range(3):\n        total += k\n    return {}, total")


def seen(value):
    if isinstance(value, (tuple, list)):
        return [seen(v) for v in value]
    return type(value), getattr(getattr(value, "dtype", None), "num", 0), np.asarray(value).tolist()


@pytest.mark.parametrize("form", FORMS, ids=["alone", "loop"])
@pytest.mark.parametrize("text", TEXTS.replace("\n", "; ").split("; "))
@pytest.mark.parametrize("char", TWINS)
def test_types_of_results(char, text, form):
    """Also after calls with the usual ones, of which nothing may be taken, and before such."""
    source = f"def function(x, y):\n    {form.format(text)}\n"
    linecache.cache[source] = len(source), None, source.splitlines(True), source
    space = {"np": np, "t": np.dtype(char).type, "C": np.array([4, 5, 6, 7], char)}
    exec(compile(source, source, "exec"), space)
    function = space["function"]
    twin = np.array([3, 1, 2, 0], char)
    usual = np.array([1, 2, 3, 4], twin.dtype.str)
    for first, second in ((twin, usual), (usual, twin), (usual, usual)):
        compiled = jitrt.jit(function)
        for x in (first, second, first, second):
            assert seen(compiled(x, usual)) == seen(function(x, usual))


COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
INTEGERS = {"u8": [0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1], "i8": [0, 1, -1, 5, 2**63 - 1, -(2**63)], "i2": [0, 1, -1, 5]}


@pytest.mark.parametrize("pair", [("u8", "i8"), ("i8", "u8"), ("u8", "i2"), ("i2", "u8")], ids="-".join)
@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_with_and_without_a_sign(name, pair):
    """NumPy compares them by loops of longlong alone."""
    x, y = (np.array(INTEGERS[char], char) for char in pair)
    x, y = np.repeat(x, y.size), np.tile(y, x.size)
    ufunc = getattr(np, name)
    compiled = jitrt.jit(lambda x, y: ufunc(x, y))
    np.testing.assert_array_equal(compiled(x, y), ufunc(x, y))
    assert not compiled.explain(x, y).host_calls


@pytest.mark.parametrize("char", TWINS)
def test_what_has_been_asked_of_twins(char):
    """Equal dtypes are one key of what is kept: what was refused to longlong was refused to int64, too."""
    twin = np.dtype(char)
    source = np.dtype(np.int16)
    assert emitter(OPS["cast"], (source,), twin) is not None
    assert emitter(OPS["cast"], (source,), np.dtype(twin.str)) is not None
    mixed = loop_dtypes(np.less, (np.dtype(np.uint64), np.dtype(np.int64)))
    assert not any(map(is_twin, mixed))
