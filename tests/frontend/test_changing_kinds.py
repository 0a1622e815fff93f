"""Variables of loops that hold other kinds of values later on: None, integers, then floats, arrays, complex numbers."""

import copy
import inspect
import itertools

import numpy as np
import pytest
from texts import function_of

import jitrt


def best(x):
    b = None
    at = None
    for i in range(len(x)):
        if b is None or x[i] < b:
            b = x[i]
            at = i
    return b, at


def bestopt(x, c):
    b = None
    for v in x:
        if v > c and (b is None or v > b):
            b = v
    return b


def rows(m):
    s = 0
    for i in range(len(m)):
        s = s + m[i] * (i + 1)
    return s


def prev(m):
    p = None
    out = np.zeros(len(m))
    for k in range(len(m)):
        row = m[k, : k + 1]
        if p is not None:
            out[k] = p[0] * 2 + len(p)
        p = row
    return out


def cplx(z):
    s = 0
    for v in z:
        s += v * 2
    return s


def cplx0(z):
    s = 0.0
    for k in range(len(z)):
        s = s + z[k]
    return s


def f32(x):
    s = 0
    for v in x:
        s = s + v * v
    return s


def halve(n):
    x = n
    for _ in range(5):
        x = x * 0.5
    return x


def branches(x):
    t = 0
    for v in x:
        if v > 0:
            y = 1
        else:
            y = 0.5
        t += y
    return t


def bestarr(x, m):
    keep = None
    e = None
    for i in range(len(m)):
        s = 0.0
        for j in range(m.shape[1]):
            s += (m[i, j] - x[j]) ** 2
        if e is None or s < e:
            e = s
            keep = m[i].copy()
    return keep, e


def wh(x):
    s = 0
    k = 0
    while k < len(x):
        s = s + x[k : k + 2] * k if k + 2 <= len(x) else s
        k += 1
    return s


def tup(x):
    best = None
    for i in range(len(x)):
        for j in range(i):
            d = abs(x[i] - x[j])
            if best is None or d < best[0]:
                best = (d, i, j)
    return best


def parts(z):
    t = 0.0
    for k in range(len(z)):
        t += z[k].real * 2 + z[k].imag
        z.imag[k] = t
    r = z.real
    for k in range(len(z)):
        r[k] += k
    return t, z[0], z.imag[1]


def shown(value):
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    return (value.dtype, value.tolist()) if isinstance(value, np.ndarray) else (type(value), repr(value))


def outcome(function, args):
    args = copy.deepcopy(args)
    try:
        return shown(function(*args)), shown(args)
    except Exception as error:
        return type(error), shown(args)


RNG = np.random.default_rng(0)
X, M = RNG.normal(size=9), RNG.normal(size=(5, 4))
Z = X + 1j
CASES = [
    (best, [(X,), (X[:0],), (X.astype("f4"),)]),
    (bestopt, [(X, 0.1), (X, 9.0)]),
    (rows, [(M,), (M[:0],), (M[:1],)]),
    (prev, [(M,), (RNG.normal(size=(4, 6)),)]),
    (cplx, [(Z,), (Z[:0],)]),
    (cplx0, [(Z.astype("F"),), (Z,)]),
    (f32, [(X.astype("f4"),), (X[:0].astype("f4"),)]),
    (halve, [(3,), (3.5,)]),
    (branches, [(X,), (X * 0,)]),
    (bestarr, [(X[:4], M), (X[:4], M[:0])]),
    (tup, [(X,), (X[:1],)]),
    (parts, [(Z,), (Z.astype("F"),)]),
]


@pytest.mark.parametrize(("function", "calls"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_kinds_change(function, calls):
    compiled = jitrt.jit(function)
    for args in calls * 2:
        assert outcome(compiled, args) == outcome(function, args)
    assert jitrt.jit(function).explain(*copy.deepcopy(calls[0])).loop


STARTS = ["0", "0.0", "None", "s"]
STEPS = [
    "t = {v} if t is None else t + {v}", "t = t * {v}", "t += {v}", "t = {v}", "t = {v} if k % 2 else t",
    "t = 1 if k % 2 else 0.5; u = t * {v}", "t = max(t, {v})", "t = t - {v} if t is not None and t < 3 else {v}",
]  # fmt: skip
VALUES = ["x[k]", "k", "m[k]"]


@pytest.mark.wide
@pytest.mark.parametrize(("start", "step"), list(itertools.product(STARTS, STEPS)))
def test_starts_and_steps(start, step):
    for v in VALUES:
        lines = ["def f(x, m, s, n):", f"    t, u = {start}, 0", "    for k in range(n):"]
        text = "\n".join([*lines, f"        {step.format(v=v)}", "    return t, u", ""])
        plain = function_of(text)
        compiled = jitrt.jit(plain)
        for dtype, s, n in itertools.product((np.float64, np.float32), (2, 0.5), (3, 0, 1)):
            args = X.astype(dtype), M.astype(dtype), s, n
            assert outcome(compiled, args) == outcome(plain, args), text


def sums(x, z, n):
    out = np.zeros(n)
    made = []
    for m in range(n):
        t = sum(x[k] for k in range(1, len(x)) if m >= k)
        u = sum(z[k] for k in range(len(z)) if m > k + 1)
        out[m] = t - u
        out[m] /= 2
        made.append(EXPRESSION)  # noqa: F821
    return made, out


@pytest.mark.wide(times=2)
@pytest.mark.parametrize(
    "expression",
    "t | t + 2 | 2 - t | t * 3 | t * -1 * 0 | t / 2 | 3 / (t + 1) | 1 / t | t - u | u + t | t * u | t / (u + 1) | "
    "t * u * 0.5 | t - u < 1 | (t - u) * 2 - u".split(" | "),
)
@pytest.mark.parametrize(
    "kinds", [(float, float), (list, float), (float, list), (list, list), ("f4", float), (int, float)]
)
def test_sums_that_may_be_of_nothing(expression, kinds):
    """They are Python's zero then, an integer, whatever the others are."""
    values = [X[:4].tolist() if kind is list else (X[:4] * 3).astype(kind) for kind in kinds]
    plain = function_of(inspect.getsource(sums).replace("EXPRESSION", expression), "sums")
    compiled = jitrt.jit(plain)
    for n in (6, 1, 3, 9):
        assert outcome(compiled, (*values, n)) == outcome(plain, (*values, n))
