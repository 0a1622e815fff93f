"""Calls that run no Python: what loops give back, elements, columns and turned views too, and records with vectors."""

import sys

import numpy as np
import pytest

import jitrt

X, Z = np.linspace(-1.0, 1.0, 1001), np.arange(12.0) * (1 + 2j)
MASKS = {"line": X > 0.3, "square": X[:900].reshape(30, 30) > 0.3, "none": X > 5.0}


def element(z):
    best = z[0]
    for k in range(len(z)):
        if z[k].real > 5.0:
            best = z[k]
    return best


def element_and_place(z):
    place = 0
    for k in range(len(z)):
        if z[k].real > 5.0:
            place = k
    return z[place] * 2, place


CASES = {
    "tuple": (lambda b: np.nonzero(b), MASKS),
    "method": (lambda b: b.nonzero(), MASKS),
    "first": (lambda b: np.where(b)[0], MASKS),
    "last": (lambda b: b.nonzero()[-1], MASKS),
    "flat": (lambda b: np.flatnonzero(b), MASKS),
    "rows": (lambda b: np.argwhere(b), MASKS),
    "beside": (lambda b: (np.flatnonzero(b), 2), MASKS),
    "number": (element, {"complex": Z}),
    "numbers": (element_and_place, {"complex": Z}),
}


def python_calls(function, *args):
    """The names of the Python functions that a call runs."""
    names = []

    def see(frame, event, _):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(see)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("name", CASES)
def test_no_python(name):
    function, operands = CASES[name]
    compiled = jitrt.jit(function)
    for operand in operands.values():
        for _ in range(3):
            compiled(operand)
        assert compiled.explain(operand).loop
        got, want = compiled(operand), function(operand)
        for x, y in zip(got if type(want) is tuple else [got], want if type(want) is tuple else [want]):
            assert type(x) is type(y)
            np.testing.assert_array_equal(x, y)
            assert not np.size(y) or getattr(x, "strides", 0) == getattr(y, "strides", 0)
        assert python_calls(compiled, operand) == []


@pytest.mark.parametrize("n", [1000, 100_000])
@pytest.mark.parametrize(
    "fields", [[("x", "f8"), ("m", "f4")], [("x", "f8"), ("v", "f8", (3,))], [("v", "f4", (2, 2)), ("x", "i4")]]
)
def test_records(fields, n):
    """Of each length. With a field that has axes Python prepared each call, which took a quarter of a millisecond;
    where one was aligned and another not, the table for the one length served calls of all.
    """
    records = np.zeros(n, fields)
    records["x"] = np.arange(n)

    def function(p):
        return np.sqrt(p["x"]) * 2 + p["x"]

    compiled = jitrt.jit(function)
    for _ in range(12):
        np.testing.assert_array_equal(compiled(records), function(records))
    assert python_calls(compiled, records) == []
    for other in (records[::2], records[: n // 3]):
        np.testing.assert_array_equal(compiled(other), function(other))
