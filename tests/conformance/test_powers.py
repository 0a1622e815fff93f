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


def _power(x, y):
    return np.power(x, y)


def _raised(x, y):
    x **= y
    return x


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("function", [_power, _raised])
@pytest.mark.parametrize("exponent", [0.5, np.float64(0.5), -1.0, 2.0, 1, 0.0], ids=repr)
@pytest.mark.parametrize("char", "fd")
def test_one_exponent_for_all(function, exponent, char):
    """NumPy's loop looks at the exponent, however it was called: roots, with those of -inf and -0.0."""
    x = np.concatenate([special(char), np.random.default_rng(2).normal(size=300).astype(char)])
    with np.errstate(all="ignore"):
        expected = function(x.copy(), exponent)
        for compiled in (jitrt.jit(lambda x: function(x, exponent)), lambda x: jitrt.jit(function)(x, float(exponent))):
            result = compiled(x.copy())
            if result.dtype != expected.dtype:  # a NumPy scalar is not weak, and a Python number is
                continue
            np.testing.assert_array_max_ulp(result, expected, 1)
            np.testing.assert_array_equal(np.signbit(result[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("exponent", [2.0**k - 1 for k in range(15, 54, 2)])
def test_large_exponents_leave_no_sign(exponent):
    x = np.array([1.1, 3.7, 1e3, 1e-3, 1 + 2.0**-40, 1 - 2.0**-30, -3.7, -0.1] * 2)
    y = exponent * np.repeat([1, -1], 8)
    with np.errstate(all="ignore"):
        result = jitrt.jit(lambda x, y: x**y)(x, y)
        expected = x**y
    np.testing.assert_array_max_ulp(result, expected, 1)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@pytest.mark.parametrize("exponent", [0.5, -1.0, 3.0])
def test_one_exponent_is_no_choice_of_programs(exponent):
    compiled, x = jitrt.jit(lambda x, y: np.sqrt(x**y + 1)), np.full(5, 2.0)
    assert len(compiled.explain(x, exponent).kernels) == 1
    np.testing.assert_allclose(compiled(x, exponent), np.sqrt(x**exponent + 1), rtol=4e-16)


def _operator(x, y):
    return x**y


def _in_loop(x, y):
    total = 0
    for k in range(3):
        total += k
    return x**y, total


@pytest.mark.parametrize("exponent", [2, 3, 1, 0, True, 2.0, np.int64(2), np.int8(2)], ids=repr)
def test_truth_values(exponent):
    """NumPy's operator squares for Python's 2 alone, which gives other integers than the power."""
    x = np.array([True, False, True])
    functions = (_power, _operator, _in_loop, lambda x, y: pow(x > 0, y), lambda x, y: (np.square(x), x**exponent))
    for function in functions:
        compiled = jitrt.jit(function)
        for given in (exponent, 3, exponent):
            want, got = function(x, given), compiled(x, given)
            for a, b in zip(want, got) if isinstance(want, tuple) else [(want, got)]:
                assert np.asarray(a).dtype == np.asarray(b).dtype
                np.testing.assert_array_equal(a, b)
    with pytest.raises(np._core._exceptions._UFuncOutputCastingError, match="square"):
        jitrt.jit(_raised)(x, 2)


def _assert_close(result, expected, ulps):
    """Equal parts up to so many last places, and equal bits but for signs of nan where that is 0."""
    real = expected.dtype.char.lower()
    one, other = (np.nan_to_num(a.view(real), nan=7.0, posinf=np.inf, neginf=-np.inf) for a in (result, expected))
    np.testing.assert_array_max_ulp(one, other, ulps)
    np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("exponent", [-1, 0, 1, 3, -3, 4, 7, 99, -99, 100, -1.0, 2.0, 2.5, 1 + 1j, 0.5j], ids=repr)
@pytest.mark.parametrize("function", [_power, _operator, _raised])
@pytest.mark.parametrize("char", "FD")
def test_complex_powers_have_numpys_bits(char, function, exponent):
    with np.errstate(all="ignore"):
        numbers = np.random.default_rng(1).standard_normal(2_000).astype(char.lower()).view(char)
        z = np.concatenate([special(char), numbers])
        expected, result = function(z.copy(), exponent), jitrt.jit(lambda z: function(z, exponent))(z.copy())
        # For that NumPy's operator takes the reciprocal.
        is_reciprocal = type(exponent) is int and exponent == -1 and function is not _power
        _assert_close(result, expected, 2 if is_reciprocal else 0)


@pytest.mark.parametrize("function", [_operator, _raised])
@pytest.mark.parametrize("char", "FD")
def test_complex_roots_by_the_operator(char, function):
    z = special(char)
    with np.errstate(all="ignore"):
        expected = function(z.copy(), 0.5)
        _assert_close(jitrt.jit(lambda z: function(z, 0.5))(z.copy()), expected, 2)
        _assert_close(jitrt.jit(function)(z.copy(), 0.5), expected, 2)


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


@pytest.mark.parametrize("exponent", [*range(-8, 0), *range(3, 9)])
def test_whole_powers_of_float32_are_rounded_once(exponent):
    sizes = 10.0 ** np.random.default_rng(3).uniform(-45, 38, 4_000)
    x = np.concatenate([special("f"), (sizes * np.resize([1, -1], sizes.size)).astype("f")])
    compiled = jitrt.jit(lambda x: (x**exponent, np.power(x, float(exponent))))
    with np.errstate(all="ignore"):
        exact = (np.longdouble(x) ** exponent).astype("f")
        for result in compiled(x):
            assert result.dtype == np.float32
            np.testing.assert_array_max_ulp(result, exact, 1)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(exact))
    for number in (1e-40, 1e-9, 1.0, 1e9, 0.0, np.inf):  # what is raised is what NumPy raises
        outcomes = []
        for function in (compiled, lambda x: (x**exponent, np.power(x, float(exponent)))):
            with np.errstate(all="raise"):
                try:
                    outcomes.append(function(np.full(40, number, "f"))[0][0])
                except FloatingPointError as error:
                    outcomes.append(str(error))
        assert outcomes[0] == outcomes[1] or np.isclose(*outcomes, rtol=2e-7), number


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
        assert not explanation.plain_reason and not explanation.host_calls
        assert np.asarray(compiled(z.copy(), *args)).tobytes() == np.asarray(function(z.copy(), *args)).tobytes()
