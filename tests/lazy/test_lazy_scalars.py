"""Where NumPy gives a scalar, so does `jitrt.numpy`; the namespace of the array API standard gives an array."""

import decimal
import fractions
import json
import math
import pickle
import statistics

import numpy
import pytest

import jitrt.numpy as np
from jitrt.numpy import array_api

DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "c16")
METHODS = ("sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmax", "argmin", "item", "trace", "ptp")
REDUCTIONS = {
    **{name: lambda np, x, name=name: getattr(np, name)(x) for name in (*METHODS[:11], *METHODS[12:], "median")},
    **{f"method {name}": lambda np, x, name=name: getattr(x, name)() for name in METHODS[:11]},
    "item": lambda np, x: x.item(2),
    "of elements": lambda np, x: x[1, 2],
    "of a part": lambda np, x: x[1:, 0].sum(),
    "axes": lambda np, x: np.sum(x, axis=(0, 1)),
    "reduce": lambda np, x: np.add.reduce(x, axis=None),
    "product": lambda np, x: x[0] @ x[1],
    "matmul": lambda np, x: np.matmul(x[0], x[1]),
    "dot": lambda np, x: np.dot(x[0], x[1]),
    "vdot": lambda np, x: np.vdot(x, x),
    "einsum": lambda np, x: np.einsum("ij,ij->", x, x),
    "norm": lambda np, x: np.linalg.norm(x),
    "count": lambda np, x: np.count_nonzero(x),
    "pending": lambda np, x: (x + x).sum(),
    "quantile": lambda np, x: np.quantile(x, 0.25),
    "nansum": lambda np, x: np.nansum(x),
    "average": lambda np, x: np.average(x),
    "several": lambda np, x: (np.unique(x)[0], [np.sum(x), np.max(x)]),
    "keepdims": lambda np, x: np.sum(x, keepdims=True),
    "out": lambda np, x: np.sum(x, axis=0, out=np.zeros(4, x.dtype)),
    "an axis": lambda np, x: x.max(axis=1),
}


def kinds(value):
    if type(value) in (list, tuple):
        return type(value), [kinds(v) for v in value]
    return "array" if isinstance(value, np.ndarray) else type(value)


def outcome(call, *args):
    try:
        return call(*args)
    except Exception as error:
        return type(error)


def values(dtype):
    return (numpy.arange(12).reshape(3, 4) % 5).astype(dtype)


@pytest.mark.parametrize("limit", [0, None], indirect=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_types_are_numpys(name, dtype, limit):
    call, plain = REDUCTIONS[name], values(dtype)
    want = outcome(call, numpy, plain)
    if isinstance(want, type):
        assert outcome(call, np, np.array(plain)) is want
        return
    for given in (np.array(plain), np.array(plain) + np.array(numpy.zeros((), plain.dtype))):
        got = call(np, given)
        assert kinds(got) == kinds(want)
        for x, y in zip(*(v if type(v) is tuple else (v,) for v in (got, want))):
            numpy.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("limit", [0, None], indirect=True)
def test_what_takes_no_array_takes_a_sum(limit):
    x = np.arange(5.0) + 0.5
    total, whole = x.sum(), np.arange(5).sum()
    assert isinstance(total, float) and isinstance(np.mean(x), numpy.floating) and numpy.isscalar(total)
    assert json.dumps({"total": total, "list": [x.max()]}) == '{"total": 12.5, "list": [4.5]}'
    assert f"{total:.3f} {total!r} {total}" == "12.500 np.float64(12.5) 12.5" and format(whole, "d") == "10"
    assert {total: 1}[12.5] == 1 and {12.5: 2}[total] == 2 and total in {12.5} and hash(total) == hash(12.5)
    assert list(range(int(whole)))[whole - 1] == 9 and [0] * whole == [0] * 10 and "ab"[np.argmax(x) - 4] == "a"
    assert total.is_integer() is False and total.as_integer_ratio() == (25, 2) and math.floor(total) == 12
    assert decimal.Decimal(total) == decimal.Decimal("12.5") and fractions.Fraction(total) == fractions.Fraction(25, 2)
    assert statistics.mean([total, x.max()]) == 8.5 and sorted([total, x.min()])[0] == 0.5
    assert pickle.loads(pickle.dumps(total)) == 12.5 and type(total.item()) is float
    assert np.bool_(True) is (x > 0).all() and (x > 0).all() is numpy.True_


@pytest.mark.parametrize("limit", [0, None], indirect=True)
def test_a_scalar_does_not_see_what_is_written_later(limit):
    x = np.arange(4.0)
    total, first, y = x.sum(), x[0], x * 2
    x[:] = 9.0
    assert total == 6.0 and first == 0.0 and y.tolist() == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.parametrize("limit", [0, None], indirect=True)
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmax", "argmin"])
def test_the_standard_has_arrays(name, limit):
    x = array_api.asarray([1.0, 2.0, 3.0])
    found = getattr(array_api, name)(x)
    assert type(found) is np.ndarray and found.shape == () and found == getattr(numpy, name)([1.0, 2.0, 3.0])
    assert type(array_api.sqrt(found + 1)) is np.ndarray and found.__array_namespace__() is array_api
    assert type(array_api.linalg.vector_norm(x)) is np.ndarray and type(array_api.vecdot(x, x)) is np.ndarray
