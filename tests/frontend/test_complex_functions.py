"""Functions of Python's `cmath`, angles, and arrays that are written out of complex numbers, in loops."""

import cmath
import math

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

import jitrt

PARTS = np.array([0.0, -0.0, 1.5, -2.25, 700.0, 1e200, -1e-200, 3e-310, np.inf, -np.inf, np.nan])
ORDINARY = np.array([0.0, -0.0, 1.5, -2.25, 3.0, -30.0, 1e-200])
CALLS = """cmath.exp(z); cmath.sqrt(z); cmath.phase(z); cmath.polar(z); cmath.rect(x, y); np.angle(z); np.angle(z, True)
np.angle(z, deg=True) + 1; cmath.exp(z) / cmath.sqrt(z + 1); cmath.exp(1j * y) * x; cmath.phase(cmath.rect(x, y))"""


def each(call):
    return function_of(
        "import cmath\ndef f(xs, ys):\n    made = []\n    for k in range(len(xs)):\n        x = float(xs[k])\n"
        f"        y = float(ys[k])\n        z = complex(x, y)\n        made.append({call})\n    return made\n"
    )


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("call", CALLS.replace("\n", "; ").split("; "))
def test_functions(call):
    """Elementary functions have our own bits, at most one unit in the last place from Python's."""
    function = each(call)
    compiled = jitrt.jit(function)
    xs, ys = (a.ravel() for a in np.meshgrid(ORDINARY, ORDINARY))
    keep = (xs != -1) | (ys != 0)
    for _ in range(2):
        got, want = compiled(xs[keep], ys[keep]), function(xs[keep], ys[keep])
        assert list(map(type, got)) == list(map(type, want))
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-300)
        np.testing.assert_array_equal(np.signbit(np.real(got)), np.signbit(np.real(want)))
    assert compiled._loops.serving


@pytest.mark.parametrize("call", CALLS.replace("\n", "; ").split("; "))
def test_special_values(call):
    function = each(call)
    compiled = jitrt.jit(function)
    compiled(ORDINARY[2:4], ORDINARY[2:4])
    for x in PARTS:
        for y in PARTS:
            args = np.array([x]), np.array([y])
            with np.errstate(all="ignore"):
                got, want = outcome(compiled, *args), outcome(function, *args)
            if isinstance(want, tuple):
                assert got == want
            else:
                np.testing.assert_allclose(got, want, rtol=1e-14)


def transmitted(ks, widths):
    out = np.empty(len(ks))
    for i in range(len(ks)):
        whole = np.eye(2, dtype=complex)
        for w in widths:
            p = ks[i] * w
            whole = whole @ np.array([[np.cos(p), 1j * np.sin(p) / ks[i]], [1j * ks[i] * np.sin(p), np.cos(p)]])
        out[i] = np.abs(whole[0, 0]) ** 2
    return out


def locked(x, a, b):
    phase, rate, out = 0.0, 0.0, np.empty(len(x), complex)
    for i in range(len(x)):
        out[i] = x[i] * cmath.exp(-1j * phase)
        error = out[i].real * out[i].imag
        rate += b * error
        phase += rate + a * error
        while phase >= 2 * math.pi:
            phase -= 2 * math.pi
    return out, phase


def roots(n):
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            z = complex(-2 + 4 * i / n, -2 + 4 * j / n)
            for _ in range(20):
                if abs(z) < 1e-9:
                    break
                z = z - (z**3 - 1) / (3 * z * z)
            found[i, j] = np.angle(z)
    return found


def pairs(x):
    total = 0j
    for v in x:
        total += np.array([v, 1j * v, 2.0, complex(v, 3.0)]).sum()
    return total


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (transmitted, (np.linspace(1, 2, 9), np.array([0.3, 0.7, 0.1]))),
        (locked, (np.exp(1j * np.linspace(0, 9, 50)), 0.1, 0.01)),
        (roots, (9,)),
        (pairs, (np.arange(50.0),)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_programs(function, args):
    compiled = jitrt.jit(function)
    for _ in range(2):
        got, want = compiled(*args), function(*args)
        for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, want))):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
            assert np.asarray(one).dtype == np.asarray(other).dtype
    assert compiled._loops.serving


def test_kinds_of_elements():
    def built(x):
        found = []
        for k in range(len(x)):
            found.append(np.array([1j * k, x[k]]).dtype.itemsize + np.array([[k + 1j, 2], [3, 4j]]).shape[1])
        return found

    agrees(built, (np.arange(3.0),))


@pytest.mark.parametrize("char", ["f4", "F", "f8", "D", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize(
    "text", ["v * z", "z * v", "v + z", "z - v", "v / z", "np.add(v, z)", "x * z + v", "x[:2] - z"]
)
def test_beside_numbers_of_numpys(text, char):
    function = function_of(
        "def f(x):\n    found = []\n    for k in range(len(x)):\n        v = x[k]\n"
        "        z = complex(k + 1, 0.5 - k)\n"
        f"        found.append({text})\n    return found\n"
    )
    x = np.arange(6).astype(char)
    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        for _ in range(2):
            for got, want in zip(compiled(x), function(x)):
                assert type(got) is type(want) and np.asarray(got).dtype == np.asarray(want).dtype
                np.testing.assert_allclose(got, want, rtol=1e-15 if np.asarray(want).dtype == complex else 5e-7)
