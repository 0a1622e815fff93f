"""Loops over generators of the user's, and what draws from them: as Python runs them, value by value."""

import sys

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

X = np.random.default_rng(0).normal(size=30)
LONG = np.random.default_rng(1).normal(size=90)

GENERATORS = """
scale = 2.0

def pairs_of(x, gap):
    '''Pairs of neighbours.'''
    for i in range(len(x)):
        for j in range(i + 1, min(i + gap, len(x))):
            yield i, j, x[i] * x[j]

def chunks(x, size=4):
    for i in range(0, len(x), size):
        yield x[i:i + size]

def until(x, low):
    if len(x) == 0:
        return
    yield x[0]
    for v in x[1:]:
        if v < low:
            return
        yield v

def scaled(x):
    for v in x:
        yield v * scale
"""
# Bodies of functions of an array `x` and an integer `n`, and whether they are compiled.
BODIES = {
    "continue, break and else": (
        """
    s, count = 0.0, 0
    for i, j, v in pairs_of(x, n):
        if v < -1.5:
            continue
        if v > 4:
            break
        s += v * i - j
        count += 1
    else:
        count += 1000
    for i, j, v in pairs_of(x, 2):
        for k, m, w in pairs_of(x[:4], 3):
            s += v * w * k
    return s, count""",
        True,
    ),
    "without an end": (
        """
    def powers(base):
        a = 1
        while True:
            yield a
            a = a * base
    out, total = [], 0
    for v in powers(n + 2):
        if v > 10000:
            break
        out.append(v)
    for k, v in enumerate(powers(2), 1):
        if k == 10:
            break
        total += k * v
    return out, total""",
        True,
    ),
    "several yields": (
        """
    def both(a, sign=-1):
        yield from a
        yield 0.5
        for v in a:
            yield sign * v
    s = 0.0
    for v in both(x):
        row = np.full(3, v)
        s = s * 0.9 + row.sum()
    return s, [v for v in both(x[:2])], sum(both(x))""",
        sys.version_info < (3, 12),  # since then sums of Python's floats are more accurate, and NumPy's are not
    ),
    "rows": (
        """
    out, k = [], 0
    for c in chunks(x, n):
        out.append(c.max() * x[k])
        k += 1
    return np.array(out), sum(c[0] for c in chunks(x)), max(c.min() for c in chunks(x, size=2))""",
        True,
    ),
    "returns": (
        """
    s = 0.0
    for v in until(x, -1.5):
        s += v
    for v in until(x[:0], 0.0):
        s += 100
    for v in until(x, -9.0):
        if v > 2:
            return v, s
        s += 1
    return s, len(list(until(x, -1.0)))""",
        True,
    ),
    "two ways through a grid": (
        """
    def grid(rows, columns):
        for i in range(rows):
            if i % 2:
                for j in range(columns):
                    yield i, j
            else:
                for j in range(columns - 1, -1, -1):
                    yield i, j
    out, k = np.zeros((len(x), n)), 0
    for i, j in grid(len(x), n):
        out[i, j] = k
        k += 1
        if k > 40:
            break
    return out""",
        True,
    ),
    "what it reads changes meanwhile": (
        """
    factor, out = 1.0, np.zeros(len(x))
    def running():
        s = 0.0
        for k in range(len(x)):
            s += x[k] * factor
            yield k, s
    for k, s in running():
        factor = factor * 0.9
        x[k] = out[k] = s
        if k + 1 < len(x):
            x[k + 1] += 1.0
    return out, factor""",
        True,
    ),
    "generator expressions": (
        """
    s = 0.0
    for v in (a * 2 for a in x if a > 0):
        s = s * 0.5 + v
    for k, (i, v) in enumerate((i, v) for i, v in enumerate(x) if i % 2):
        s += i * v - k
    a = 7.0
    return s, a""",
        True,
    ),
    "next": (
        """
    first = next((i for i, v in enumerate(x) if v > 1.0), None)
    low = next((v for v in x if v < -1.0), -1.0)
    for k in range(n):
        low += next(j for j in range(100) if j * j > k)
    if first is None:
        return low
    return low + first""",
        True,
    ),
    "a name that means something else here": (
        """
    scale, s = 3.0, 0.0
    for v in scaled(x):
        s += v * scale
    return s""",
        False,
    ),
    "one that is kept": (
        """
    g, s = until(x, -9.0), 0.0
    for v in g:
        s += v
    for v in g:
        s += 100
    return s""",
        False,
    ),
    "one that catches": (
        """
    def tried():
        for v in x:
            try:
                yield v
            finally:
                x[0] += 1
    s = 0.0
    for v in tried():
        s += v
        if s > 3:
            break
    return s""",
        False,
    ),
    "it is made and not used": (
        """
    def gen():
        x[0] = 5.0
        yield 1
    gen()
    s = 0.0
    for v in x:
        s += v
    return s""",
        False,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_agrees_with_python(name):
    body, compiled = BODIES[name]
    f = function_of(f"{GENERATORS}\ndef f(x, n):{body}\n")
    calls = [(X, 3), (LONG, 5), (X * 0.1, 3), (np.abs(X), 4), (LONG.astype(np.float32), 2), (X[:5], 3), (X, 3)]
    agrees(f, *calls, compiled=compiled)


def test_exceptions_come_where_python_raises_them():
    source = """
def roots(x):
    for v in x:
        yield math.sqrt(v)

def f(x, out):
    for k, v in enumerate(roots(x)):
        out[k] = v
    return out
"""
    positive = np.abs(X)
    agrees(function_of(source), *((x, np.zeros(n)) for x, n in ((positive, 30), (X, 30), (positive, 9), (X * X, 30))))
