"""Integers of NumPy's that are equal to others and have types of their own: longlong, where long is int64."""

import linecache

import numpy as np
import pytest

import jitrt
from jitrt.base.dtypes import is_twin

TWINS = [c for c in "iIlLqQ" if is_twin(np.dtype(c))]
TEXTS = """x; x + 1; x + y; y + x; x.sum(); x.max(); x[0]; x[0] + y[0]; x[::2] * 2; x.copy(); x.astype(t); y.astype(t)
np.zeros(3, t); np.full(3, 1, t); np.full(3, y[0], t); np.array([1, 2], t); np.arange(3, dtype=t)
np.asarray(y, t) + 1; np.where(x > 1, x, 0); np.concatenate([x, y]); np.cumsum(x); np.clip(x, 0, 2); np.unique(x)
np.bincount(y, minlength=t(3)); np.maximum.accumulate(x); np.sort(x); np.ptp(x); t(3) * y; t(3) + y[0]; y.sum(dtype=t)
np.add(y, 1, dtype=t); x @ x; x.dtype.char; x.dtype.num; x.dtype is np.dtype(np.int64); isinstance(x[0], np.int64)
np.result_type(x, y).char; [v for v in x]; max(x); x.tolist(); C * y; C.sum() + y; np.zeros_like(y, dtype=t)
np.linspace(0, 3, 4, dtype=t)"""
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
