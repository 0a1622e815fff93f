"""Arrays that are written with what gathers, scans and transposes read from them: all of it is read first."""

import numpy as np
import pytest
from compare import assert_same
from texts import function_of

import jitrt

rng = np.random.default_rng(3)


def permuted(x, i):
    x[:] = x[i]
    return x.sum()


def added_to_its_elements(x, i):
    x += x[i]
    return x[::-1]


def shifted(x, i):
    x[1:] = x[i[1:]] + x[:-1]
    return x.copy()


def scanned_backwards(x, i):
    x[...] = np.cumsum(x)[::-1]
    return x


def running_maximum(x, i):
    x[:] = x[::-1] + np.maximum.accumulate(x)
    x *= x[i]
    return x


def reversed_rows(x, i):
    y = x.reshape(50, -1)
    y[...] = y[::-1]
    return x


def zeroed(x, i):
    x[i] = 0
    return x * 2


def chosen_twice(x, i):
    t = x[i]
    t[::2] = x[1::2]
    x[:] = t
    return np.argmax(t), x


def symmetric(x, i):
    m = x[:2500].reshape(50, 50)
    m += m.T
    return m.argmax(0)


def periodic(x, i):
    x[:] = np.roll(x, 1) + np.roll(x, -1)
    return x


def scanned_across(x, i):
    m = x[:2500].reshape(50, 50)
    m[...] = np.cumsum(m.T, axis=1)
    m[:, 1:] = m[:, :-1]
    return m


def chained(x, i):
    for _ in range(3):
        x = x[i] + 1
    return x


FUNCTIONS = (
    permuted,
    added_to_its_elements,
    shifted,
    scanned_backwards,
    running_maximum,
    reversed_rows,
    zeroed,
    chosen_twice,
    symmetric,
    periodic,
    scanned_across,
    chained,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_all_of_it_is_read_first(function):
    x, i = rng.normal(size=2500), rng.integers(-2500, 2500, 2500)
    compiled = jitrt.jit(function)
    for _ in range(2):
        theirs, ours = x.copy(), x.copy()
        want, got = function(theirs, i), compiled(ours, i)
        assert_same(got, want, ulp=8)
        assert_same(ours, theirs, ulp=8)


SLICES = ("::2", "1::2", ":4", "4:", "::-1", "1:5", "::3", "-1:3:-1", "2:6", ":1", "3:4", "7:0:-2", "0:7:2")
VIEWS = ("a", "m[1]", "m[:, 1]", "m[2, ::2]", "m.T[3]", "m[:, -1]", "m[::-1, 2]", "a[3:12]", "a[::2]", "m.ravel()")


def statements():
    for to in SLICES:
        for of in SLICES:
            yield f"a[{to}] = a[{of}]", 8
    for to in VIEWS:
        for of in VIEWS:
            yield f"{to}[:4] = {of}[-4:]", 16
            yield f"np.copyto({to}[:2], {of}[1:3])", 16
            yield f"{to}[:3] += {of}[:3]", 16


@pytest.mark.wide
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_part_is_copied_to_another_one(part, in_loop):
    """NumPy copies vectors of other steps of one sign where they lie, so that it reads what it has written."""
    for text, size in list(statements())[part::4]:
        if in_loop:
            text = f"for k in range(2):\n        {text}\n        a[k] += 1.0"
        source = f"def f(a):\n    m = a.reshape(-1, 4)\n    {text}\n    return a.sum()\n"
        plain = function_of(source)
        compiled = jitrt.jit(plain)
        for _ in range(2):
            seen = []
            for f in (plain, compiled):
                a = np.arange(float(size))
                try:
                    f(a)
                except ValueError as error:
                    seen.append((a.tolist(), type(error)))
                else:
                    seen.append(a.tolist())
            assert seen[0] == seen[1], text
