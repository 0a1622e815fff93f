"""Complex numbers as arguments, as parts of them and as results."""

import copy
import itertools
import sys

import numpy as np
import pytest
from test_element_loops import agrees, same

import jitrt

PARTS = [0.0, -0.0, 1.5, -2.25, 1e-300, 1e300, np.inf, -np.inf, np.nan]
pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="operations of real and complex numbers differ")


def steps_until_large(c, most):
    z = c
    for n in range(most):
        if z.real * z.real + z.imag * z.imag > 4.0:
            return n, z
        z = z * z + c
    return most, z


def filtered(x, w):
    out = np.zeros_like(x)
    for k in range(1, len(x)):
        out[k] = out[k - 1] * w + x[k]
    return out


def turned(w, n):
    total = 0.0
    for k in range(n):
        total += w.real * k - w.imag
    return total, w


@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_every_value(kind):
    """Native code hands the parts over as they are, signs of zeros and nan included."""
    values = [kind(complex(*parts)) for parts in itertools.product(PARTS, PARTS)]
    with np.errstate(all="ignore"):
        agrees(turned, *((value, 5) for value in values))


def test_a_number_for_which_a_loop_ends_early():
    agrees(steps_until_large, (-0.75 + 0.1j, 90), (0.3 + 0.5j, 20), (3.0 - 2j, 9), (0j, 0))


def test_native_calls_see_each_number():
    fast = jitrt.jit(steps_until_large)
    for k in range(200):
        c = complex(-2 + 0.02 * k, 0.005 * k)
        assert repr(fast(c, 50)) == repr(steps_until_large(c, 50))
    assert fast.plain_reason == ""


@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_beside_arrays(kind):
    x = np.random.default_rng(1).normal(size=(40, 2)) @ [1, 1j]
    agrees(filtered, (x, kind(0.5 - 0.25j)), (x[:3], kind(1j)), (x[:0], kind(0)))


def test_numbers_of_other_types_take_the_place():
    fast = jitrt.jit(turned)
    for value in (1 + 2j, np.complex128(1 - 2j), 2.5, np.float64(2.5), 3, np.complex64(1 + 1j), 0.5j):
        for _ in range(3):
            same(fast(value, 4), turned(value, 4))


class Oscillator:
    def __init__(self):
        self.z, self.w, self.total = 1 + 2j, 0.6 + 0.79j, 0.0


def swings(o, n):
    for _ in range(n):
        o.z = o.z * o.w
        o.total += o.z.real
    return o.z


def test_attributes():
    one, other, fast = Oscillator(), Oscillator(), jitrt.jit(swings)
    for n in (5, 0, 7, 300):
        assert repr(fast(one, n)) == repr(swings(other, n))
        assert repr(vars(one)) == repr(vars(other))


def rotated(pair, n):
    z, w = pair
    for _ in range(n):
        z, w = w * 1j, z + w
    return z, w


def test_in_tuples():
    agrees(rotated, ((1 + 1j, 2 - 1j), 9), ((0j, -0.0 + 0j), 4))
    with np.errstate(all="ignore"):
        pair = (complex(np.inf, 1), 1j)
        assert repr(jitrt.jit(rotated)(pair, 3)) == repr(rotated(copy.copy(pair), 3))
