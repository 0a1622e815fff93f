"""The operator ``**`` with exponents for which NumPy does not call pow."""

import numpy as np
import pytest
from operands import special

import jitrt

EXACT = [2, 2.0, 0.5, -1, -1.0, 1, 1.0, 0, np.float64(0.5), np.float32(2)]


@pytest.mark.parametrize("exponent", EXACT, ids=repr)
@pytest.mark.parametrize("char", "fd")
def test_bits_are_numpys(char, exponent):
    x = np.concatenate([special(char), np.random.default_rng(2).normal(size=300).astype(char)])
    with np.errstate(all="ignore"):
        result, expected = jitrt.jit(lambda x: x**exponent)(x), x**exponent
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("char", "hil")
def test_roots_of_integers(char):
    x = np.arange(0, 400).astype(char)
    result = jitrt.jit(lambda x: x**0.5)(x)
    assert result.dtype == (x**0.5).dtype
    np.testing.assert_array_max_ulp(result, x**0.5, 1)
    np.testing.assert_array_equal(result, np.sqrt(x.astype(result.dtype)))


@pytest.mark.parametrize("exponent", [3, 3.0], ids=repr)
def test_cubes(exponent):
    x = np.concatenate([special("d"), np.random.default_rng(2).normal(size=300)])
    with np.errstate(all="ignore"):
        result, expected = jitrt.jit(lambda x: x**exponent)(x), x**exponent
        near = np.isfinite(expected) & (np.abs(expected) > np.finfo("d").tiny)
        np.testing.assert_array_max_ulp(result[near], expected[near], 1)
        np.testing.assert_array_equal(result[~near & (x != 0)] + 0.0, x[~near & (x != 0)] ** 3.0 + 0.0)
    np.testing.assert_array_equal(np.signbit(result[x == 0]), np.signbit(x[x == 0]))


def _squared(z):
    return z**2


def _squared_in_place(z):
    z **= 2
    return z


def _squared_where(z, inside):
    z[inside] = z[inside] ** 2 + 1
    return z


@pytest.mark.parametrize("char", "FD")
def test_squares_of_complex_numbers_are_those_of_the_operator(char):
    """They are `np.square`; a power has other last bits, and other signs of zeros."""
    rng = np.random.default_rng(0)
    z = ((rng.normal(size=50) + 1j * rng.normal(size=50)) * 10.0 ** rng.integers(-9, 9, 50)).astype(char)
    z[:3] = [0, complex(-0.0, 0.0), complex(1.0, -0.0)]
    for function, args in ((_squared, ()), (_squared_in_place, ()), (_squared_where, (z.real > 0,))):
        compiled = jitrt.jit(function)
        explanation = compiled.explain(z.copy(), *args)
        assert not explanation.plain_reason and "NumPy executes" not in str(explanation)
        assert np.asarray(compiled(z.copy(), *args)).tobytes() == np.asarray(function(z.copy(), *args)).tobytes()
