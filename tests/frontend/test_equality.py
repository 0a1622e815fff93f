"""Comparisons with what is neither an array nor a number, which Python would decide by identity."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest

import jitrt


class Unequal:
    """Something that compares in a way of its own."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unequal)

    __hash__ = None  # type: ignore[assignment]


OTHERS = [None, "a", b"a", len, float, {}, Unequal(), range(3), [1, 2, 3], (1.0, 2.0, 3.0), [1], []]
VALUES = [np.arange(3.0), np.arange(3), np.array(2.0), np.float64(2), np.int8(2), 2.0, 2]


@pytest.mark.wide
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
@pytest.mark.parametrize("is_reflected", [False, True])
def test_equality_with_other_things_is_numpys(compare, other, is_reflected):
    def function(x):
        return compare(other, x) if is_reflected else compare(x, other)

    for value in VALUES:
        try:
            want = function(value)
        except ValueError as error:  # shapes
            with pytest.raises(ValueError, match=str(error)[:20]):
                jitrt.jit(function)(value)
            continue
        compiled = jitrt.jit(function)
        for _ in range(2):
            got = compiled(value)
            assert type(got) is type(want)
            assert np.array_equal(got, want)
            assert getattr(got, "dtype", None) == getattr(want, "dtype", None)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_])
def test_the_least_integer_warns_of_nothing(dtype):
    @jitrt.jit
    def function(x):
        with np.errstate(divide="ignore"):
            y = x > -(2**63)
        return y, x * 1.0 + np.int64(-(2**63)), x == -(2**63)

    x = np.array([0, 1, 1], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        greater, sums, equal = function(x)
    assert greater.all() and not equal.any()
    assert np.array_equal(sums, x * 1.0 + np.int64(-(2**63)))
