"""Complex functions: NumPy's special values, and both parts against wider types."""

import itertools

import numpy as np
import pytest
from jitrt.kernels import vmath, vmath_complex

import jitrt

TARGETS = {"fma": (True, False), "no_fma": (False, False), "avx512": (True, True)}
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 100.0, np.inf, -np.inf, np.nan]
NAMES = sorted(vmath_complex.FUNCTIONS)
# In units of the last place of each part: a product or a quotient of functions that have one each.
LIMITS = {"absolute": 1.0, "angle": 1.0, "exp": 3.5, "sqrt": 2.5}


def _parts(values: np.ndarray) -> list[np.ndarray]:
    return [values.real, values.imag] if values.dtype.kind == "c" else [values]


def _pairs(char: str) -> np.ndarray:
    z = np.empty(len(PARTS) ** 2, char)
    z.real, z.imag = np.array(list(itertools.product(PARTS, repeat=2))).T
    return z


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("char", "DF")
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_numpys(name: str, char: str, target: str) -> None:
    z = _pairs(char)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    result = vmath.evaluate_complex(name, z, *TARGETS[target])
    assert result.dtype == expected.dtype
    for ours, theirs in zip(_parts(result), _parts(expected), strict=True):
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        exact = ~np.isfinite(theirs) | (theirs == 0)
        np.testing.assert_array_equal(ours[exact], theirs[exact])
        known = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(ours[known]), np.signbit(theirs[known]))
        np.testing.assert_allclose(ours[~exact], theirs[~exact], rtol=10 * np.finfo(ours.dtype).eps)


def _points(name: str, char: str) -> np.ndarray:
    rng = np.random.default_rng(7)
    reach = {"D": 300, "F": 35}[char]
    sizes = (
        10.0 ** rng.uniform(-reach, reach, 3000) if name != "exp" else rng.uniform(0, {"D": 709, "F": 88}[char], 3000)
    )
    angles = rng.uniform(-np.pi, np.pi, 3000)
    with np.errstate(all="ignore"):
        far = (sizes * np.cos(angles) + 1j * sizes * np.sin(angles)).astype(char)
    near = (rng.normal(size=2000) + 1j * rng.normal(size=2000)).astype(char)
    return np.concatenate([far, near, far.real + 1j * near.real[:1].astype(char)]).astype(char)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs a wider type")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("char", "DF")
@pytest.mark.parametrize("name", sorted(LIMITS))
def test_both_parts_are_accurate(name: str, char: str, target: str) -> None:
    z = _points(name, char)
    result = vmath.evaluate_complex(name, z, *TARGETS[target])
    with np.errstate(all="ignore"):
        true = getattr(np, name)(z.astype("G" if char == "D" else "D"))
        for ours, exact in zip(_parts(result), _parts(true), strict=True):
            rounded = exact.astype(ours.dtype)
            usable = np.isfinite(rounded) & (np.abs(rounded) > np.finfo(ours.dtype).tiny)
            errors = np.abs(ours - exact)[usable] / np.spacing(np.abs(rounded[usable]))
            assert errors.max() <= LIMITS[name], z[usable][np.argmax(errors)]


@pytest.mark.parametrize("target", TARGETS)
def test_the_logarithm_near_modulus_one(target: str) -> None:
    import mpmath

    angles = np.random.default_rng(3).uniform(0, 7, 300)
    z = np.exp(1j * angles) * (1 + np.repeat([0, 1e-9, 1e-3], 100))
    result = vmath.evaluate_complex("log", z, *TARGETS[target]).real
    with mpmath.workprec(300):
        for value, x, y in zip(result, z.real, z.imag, strict=True):
            true = mpmath.log(mpmath.mpf(x) ** 2 + mpmath.mpf(y) ** 2) / 2
            # Squares with their errors have some 106 digits, of which the sum with -1 cancels 53.
            assert abs(mpmath.mpf(value) - true) <= abs(true) * 2.0**-51 + mpmath.mpf(2) ** -100


@pytest.mark.parametrize("char", "DF")
def test_compiled_in_one_expression(char: str) -> None:
    def wave(z):
        return np.exp(z) * np.sqrt(z) + np.log(z) + abs(z) * np.angle(z) + np.angle(z, deg=True)

    rng = np.random.default_rng(1)
    z = (rng.normal(size=203) + 1j * rng.normal(size=203)).astype(char)
    result, expected = jitrt.jit(wave)(z), wave(z)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=60 * np.finfo(char).eps)
