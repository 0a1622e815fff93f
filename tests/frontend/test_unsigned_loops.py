"""Unsigned integers of 64 bits in loops: hashes, random numbers and sets of bits, with NumPy's warnings."""

import copy
import warnings

import numpy as np
import pytest

import jitrt

U = np.uint64
rng = np.random.default_rng(1)


def bits_set(x):
    c = 0
    for i in range(len(x)):
        w = x[i]
        while w:
            w &= w - U(1)
            c += 1
    return c


def hashed(x):
    h = U(14695981039346656037)
    with np.errstate(over="ignore"):
        for i in range(len(x)):
            h = (h ^ x[i]) * U(1099511628211)
    return h


def xorshift(seed, n):
    s = seed
    out = np.empty(n, np.uint64)
    for i in range(n):
        s ^= s << U(13)
        s ^= s >> U(7)
        s ^= s << U(17)
        out[i] = s
    return out, s


def split_mix(seed, n):
    out = np.empty(n)
    s = seed
    with np.errstate(over="ignore"):
        for i in range(n):
            s += U(0x9E3779B97F4A7C15)
            z = s
            z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
            z ^= z >> U(31)
            out[i] = (z >> U(11)) * (1.0 / 9007199254740992.0)
    return out


def modular(x, m):
    t = U(1)
    for k in range(len(x)):
        t = (t * (x[k] % m) + U(7)) % m
        if t > m // U(2):
            t -= U(1)
    return t, int(t), float(t), t == x[0], t < 5, t >= 2**63, t > -1


def compared(x, y):
    a = 0
    for i in range(len(x)):
        if x[i] > y[i]:
            a += 1
        if x[i] == 3:
            a += 10
        if x[i] >= 2**63:
            a += 100
        if x[i] < -1:
            a += 1000
        if not x[i]:
            a += 5
    return a


def largest(x):
    b = U(0)
    k = -1
    for i in range(len(x)):
        if x[i] > b:
            b = x[i]
            k = i
    return b, k, max(b, U(5)), min(b, U(5))


def gathered(x, p):
    s = 0.0
    for i in range(len(p)):
        s += x[p[i]]
    return s


def inverted(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = ~x[i] | U(1) << U(63)
    return out


def bit_counts(x):
    c = np.zeros(64, int)
    for i in range(len(x)):
        for b in range(64):
            if (x[i] >> U(b)) & U(1):
                c[b] += 1
    return c


def converted(x):
    a = 0
    f = 0.0
    u = U(0)
    for i in range(len(x)):
        f += np.float64(x[i])
        u = U(i) + (x[i] >> U(60))
        a += np.int64(u)
        f += x[i] * 0.5 + x[i] / U(3)
    return a, f, u


def products(x, y):
    s = U(0)
    for i in range(len(x)):
        s += (x[i] >> U(34)) * (y[i] >> U(34))
    return s


def overflowing(x):
    s = U(0)
    for i in range(len(x)):
        s += x[i]
    return s


def underflowing(x):
    s = U(2**63)
    for i in range(len(x)):
        s -= x[i] >> U(8)
    return s


def unsigned(n):
    return rng.integers(0, 2**64, n, dtype=np.uint64)


CASES = {
    bits_set: lambda n: (unsigned(n),),
    hashed: lambda n: (unsigned(n),),
    xorshift: lambda n: (U(88172645463325252), n),
    split_mix: lambda n: (U(n), n),
    modular: lambda n: (unsigned(n), U(1000003)),
    compared: lambda n: (unsigned(n), unsigned(n)),
    largest: lambda n: (unsigned(n),),
    gathered: lambda n: (rng.random(9), rng.integers(0, 9, n).astype(np.uint64)),
    inverted: lambda n: (unsigned(n),),
    bit_counts: lambda n: (unsigned(n),),
    converted: lambda n: (unsigned(n),),
    products: lambda n: (unsigned(n), unsigned(n)),
    overflowing: lambda n: (unsigned(n),),
    underflowing: lambda n: (unsigned(n),),
}


def warned(function, args):
    """The result of a call, and what NumPy has warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [str(w.message) for w in found]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_unsigned_integers_of_64_bits(function):
    fast = jitrt.jit(function)
    for n in (3, 50, 51, 7, 200, 200):
        args = CASES[function](n)
        want, got = warned(function, args), warned(fast, copy.deepcopy(args))
        assert want[1] == got[1]
        wanted, gotten = (v if isinstance(v, tuple) else (v,) for v in (want[0], got[0]))
        assert len(wanted) == len(gotten)
        for a, b in zip(wanted, gotten):
            assert type(a) is type(b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", [bits_set, hashed, xorshift, split_mix, modular], ids=lambda f: f.__name__)
def test_they_are_compiled_as_loops(function):
    fast = jitrt.jit(function)
    for n in (50, 60, 70, 2000):
        fast(*CASES[function](n))
    lines = str(fast.explain(*CASES[function](2000)))
    assert "compiled as a loop" in lines and "in Python" not in lines


@pytest.mark.parametrize("x", [2**64 - 1, 2**63, 2**63 - 1, 1, 0])
@pytest.mark.parametrize("y", [2**64 - 1, 2**32 + 1, 3, 1, 0])
def test_sums_and_products_of_numbers_that_vary(x, y):
    def function(a, b):
        for k in range(len(a)):
            a[k] = a[k] * b[k]
            b[k] = a[k] + b[k]
            a[k] = b[k] - a[k]
        return a, b

    fast = jitrt.jit(function)
    for _ in range(3):
        args = np.full(40, x, np.uint64), np.full(40, y, np.uint64)
        want, got = warned(function, copy.deepcopy(args)), warned(fast, copy.deepcopy(args))
        assert want[1] == got[1]
        np.testing.assert_array_equal(want[0], got[0])
