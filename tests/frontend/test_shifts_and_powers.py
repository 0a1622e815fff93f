"""Integers shifted by, and raised to, numbers of run time: bit sets, alternating signs, powers of two as bounds."""

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage

# Bodies of functions of an array `x`, an array of integers `u`, and a number `n`, and the numbers to call them with.
BODIES = {
    "ones at places": ([20, 61, 64, 0], """
        t = 0
        for k in range(n):
            t += (1 << k) if x[k] > 0.5 else -(3 << k)
        return t"""),
    "subsets": ([9, 0, 4], """
        t = 0
        for m in range(1 << n):
            c = 0
            for j in range(n):
                if m >> j & 1:
                    c += j
            t ^= c << (m % 5)
        return t"""),
    "signs and powers": ([20, 62], """
        t = 0.0
        for k in range(n):
            t += (-1) ** k / (2 * k + 1) + x[k] * 10 ** (k % 7) + 3**k % 7
        return t"""),
    "powers as bounds": ([6], """
        r = np.zeros((n, n))
        for i in range(n):
            s = 0.0
            for k in range(1, 2**i, 2):
                s += x[k % 5]
            r[i, 0] = s / 4**i
        return r"""),
    "a shortest tour": ([6, 2], """
        best = np.full((1 << n, n), np.inf)
        best[1, 0] = 0
        for m in range(1 << n):
            for j in range(n):
                if not m & (1 << j):
                    continue
                for k in range(n):
                    if m & (1 << k):
                        continue
                    length = best[m, j] + abs(x[j] - x[k])
                    if length < best[m | (1 << k), k]:
                        best[m | (1 << k), k] = length
        return best[(1 << n) - 1].min()"""),
    "Python's and NumPy's integers": ([40, 70], """
        t = 0
        for k in range(n):
            t += int(u[k]) >> k
            t ^= (u[k] >> (k % 3)) & 7
            t += int(u[k]) << (k % 4)
        return t"""),
    "negative exponents are floats": ([5, 30, 70], """
        t = 0
        for k in range(n):
            t += 2 ** int(u[k])
        return t"""),
    "powers of what is read": ([40, 70], """
        t = 0
        for k in range(n):
            t = (t + int(u[k]) ** (k % 4)) & 0xFFFF
        return t"""),
    "negative counts": ([5, 30, 70], """
        t = 0
        for k in range(n):
            t = (t + 1) << int(u[k])
        return t"""),
    "NumPy's exponents": ([5, 30], """
        t = 0
        for k in range(n):
            t += (-1) ** u[k] + 2 ** (u[k] & 15)
        return t"""),
}  # fmt: skip


def outcome(function, args):
    try:
        made = function(*args)
        return (made.dtype, made.tolist()) if isinstance(made, np.ndarray) else repr(made)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("low", [0, -3])
def test_as_python(name, low):
    numbers, body = BODIES[name]
    function = function_of(f"def f(x, u, n):{body}\n")
    rng = np.random.default_rng(1)
    x, u = rng.random(80), rng.integers(low, 40, 80)
    stage(function, (x, u, numbers[0]), True)  # which raises where it is not staged
    fast = jitrt.jit(function)
    for n in numbers * 2:
        assert outcome(fast, (x, u, n)) == outcome(function, (x, u, n))
