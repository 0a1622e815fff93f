"""Python's integers of which a mask keeps the lowest bits: they may get longer than a word on the way."""

import numpy as np
import pytest

import jitrt

MASK = 0xFFFFFFFF


def congruential(seed, n):
    x, out = seed, np.empty(n)
    for k in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        out[k] = (x >> 20) / (1 << 43)
    return out, x


def murmur(data, seed):
    h = seed
    for k in data:
        k = (int(k) * 0xCC9E2D51) & MASK
        k = ((k << 15) | (k >> 17)) & MASK
        h ^= (k * 0x1B873593) & MASK
        h = (((h << 13) | (h >> 19)) * 5 + 0xE6546B64) & MASK
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) % 2**32
    return h ^ (h >> 16)


def golden(n):
    total, k = 0, 1
    while k < n:
        total += (k * 0x9E3779B97F4A7C15 - k * k * k * 0xFEDCBA9876543210) & 0xFFFF
        k += 1
    return total


def signs(x, y):
    total = 0
    for a in x:
        for b in y:
            total += (int(a) * int(b) - int(b)) % 65536 + ((int(a) - int(b)) * int(a) ^ int(b)) % 4096
    return total


def of_numpy(x, y):
    out = np.empty(len(x), x.dtype)
    for k in range(len(x)):
        out[k] = (x[k] * y[k] + 3) & 0xFF
    return out


def other_masks(x, m):
    total = 0.0
    for k in range(len(x)):
        total += ((k * 7 + 3) & -4) + ((k * 5) % 12) + ((k + 1) & m) + (k * m & True)
    return total


rng = np.random.default_rng(3)
FUNCTIONS = {
    "congruential": (congruential, lambda n: (n * 7919, n)),
    "murmur": (murmur, lambda n: (rng.integers(0, 2**32, n), n)),
    "golden": (golden, lambda n: (n,)),
    "signs": (signs, lambda n: (rng.integers(-(2**62), 2**62, n), rng.integers(-(2**62), 2**62, n))),
    "of numpy": (of_numpy, lambda n: (rng.integers(-99, 99, n), rng.integers(-99, 99, n))),
    "other masks": (other_masks, lambda n: (np.ones(n), n % 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lowest_bits(name):
    function, make = FUNCTIONS[name]
    fast = jitrt.jit(function)
    for n in (3, 40, 41, 200, 7):
        args = make(n)
        want, got = function(*args), fast(*args)
        assert type(want) is type(got)
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (want, got)), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["congruential", "murmur", "golden", "signs"])
def test_they_are_compiled_as_loops(name):
    function, make = FUNCTIONS[name]
    fast = jitrt.jit(function)
    for _ in range(4):
        fast(*make(300))
    assert "compiled as a loop" in str(fast.explain(*make(300))) and not fast.plain_reason
