"""Python's complex numbers in loops: every operation as Python has it, to the bit."""

import sys

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

PARTS = np.array([0.0, -0.0, 1.5, -2.25, 1e200, -1e-200, 3e-310, np.inf, -np.inf, np.nan])
pytestmark = pytest.mark.skipif(sys.version_info >= (3, 14), reason="operations of real and complex numbers differ")


def escape_times(h, w, most):
    out = np.zeros((h, w), dtype=np.int64)
    for i in range(h):
        for j in range(w):
            c = complex(-2 + 3 * j / w, -1.5 + 3 * i / h)
            z = 0j
            for k in range(most):
                z = z * z + c
                if abs(z) > 2:
                    out[i, j] = k
                    break
    return out


def test_the_mandelbrot_set():
    agrees(escape_times, (12, 15, 30), (1, 1, 3), (0, 4, 9))


@pytest.mark.parametrize(
    "expression",
    ["z + w", "z - w", "z * w", "-z", "+z", "z.conjugate()", "complex(z.imag, w.real)",
     "z + 2", "1.5 - z", "z * 3", "z**3", "z**1", "2j * z"],
)  # fmt: skip
def test_operations(expression):
    function = function_of(
        "def f(x, y, out):\n    for k in range(len(x)):\n        z = complex(x[k], y[k])\n"
        f"        w = complex(y[k], -x[k]) + 1j\n        out[k] = {expression}\n    return out\n"
    )
    x, y = (a.ravel() for a in np.meshgrid(PARTS[:7], PARTS[:7]))
    agrees(function, (x, y, np.zeros(len(x), complex)), (x[::-1] / 3, y, np.zeros(len(x), complex)))
    if expression not in ("z**3", "z**1", "z + w", "z - w"):  # no infinite powers; the sign of inf - inf is nobody's
        x, y = (a.ravel() for a in np.meshgrid(PARTS, PARTS))
        agrees(function, (x, y, np.zeros(len(x), complex)))


def test_quotients():
    def quotients(x, y, out):
        for k in range(len(x)):
            out[k] = complex(x[k], 1.0) / complex(y[k], 2.5)
        return out

    x, y = (a.ravel() for a in np.meshgrid(PARTS[2:7], PARTS[2:7]))
    agrees(quotients, (x, y, np.zeros(len(x), complex)), (x, y, np.zeros(len(x), np.complex64)))

    def inverses(x, out):
        for k in range(len(x)):
            out[k] = 1 / complex(x[k], 0.0)
        return out

    agrees(inverses, (PARTS[2:6], np.zeros(4, complex)), (np.zeros(3), np.zeros(3, complex)))  # raises


def test_a_complex_number_that_is_carried_and_returned():
    def orbit(x, y, n):
        z = complex(x, y)
        turns = 0
        while abs(z) < 4.0 and turns < n:
            z = z * z * 0.5 + 1
            turns += 1
            if z == 1.5 + 0j or z != z:
                return z, turns
        return z, turns

    agrees(orbit, (0.25, 0.5, 9), (1.0, 0.0, 9), (9.0, 1.0, 2))


def test_magnitudes_of_numpy():
    def sizes(x):
        s = 0.0
        for v in x:
            s = s + np.abs(complex(v, 1.0))
        return s

    agrees(sizes, (PARTS[:4],), (PARTS[2:4],))


def test_what_is_too_large_is_left_to_python():
    def powers(x):
        s = 0j
        for k in range(len(x)):
            s += complex(x[k], 1.0) ** 3
        return s

    agrees(powers, (np.array([1.0, 2.0]),), (np.array([1e150]),))  # raises an OverflowError
