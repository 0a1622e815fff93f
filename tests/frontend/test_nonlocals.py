"""Variables that functions inside of a function assign, and what bodies of loops change around themselves."""

import numpy as np
import pytest

import jitrt


def counted_steps(x):
    calls = 0

    def rate(t, y):
        nonlocal calls
        calls += 1
        return -y * t

    y = x
    for k in range(4):
        y = y + 0.1 * rate(k * 0.1, y)
    return y, calls


def added(x):
    total, n = 0.0, 0

    def add(v):
        nonlocal total, n
        total, n = total + v, n + 1

    for _ in range(200):
        add(x * 0.01)
    return total, n


def until(x):
    steps = 0

    def halved(v):
        nonlocal steps
        steps += 1
        return v * 0.5

    while x.max() > 0.01:
        x = halved(x)
    return x, steps


def two_scopes(x):
    a = 0

    def middle():
        b = 0

        def inner():
            nonlocal a, b
            a += 1
            b += 2

        inner(), inner()
        return b

    return x * middle(), a


def generated(x):
    n = 0

    def parts():
        nonlocal n
        for k in range(3):
            n += 1
            yield x * k

    return sum(parts()), n


def looked_for(x):
    best, where = -1.0, -1

    def see(k, v):
        nonlocal best, where
        if v > best:
            best, where = v, k

    for k in range(len(x)):
        see(k, x[k])
    return best, where


def deleted(x):
    n = 1

    def forget():
        nonlocal n
        del n

    forget()
    try:
        return x, n
    except NameError:
        return x * 2, 0


COMPILED = [counted_steps, added, until, two_scopes, generated, deleted]


def by_numpy(x):
    n = 0

    def doubled(v):
        nonlocal n
        n += 1
        return v * 2

    return np.vectorize(doubled)(x[:5]), n


def body_assigns(x):
    n = 0

    def body(k, v):
        nonlocal n
        n += 1
        return v * 0.5

    return jitrt.fori_loop(0, 5, body, x), n


def body_changes_a_list(x):
    n = [0]

    def body(k, v):
        n[0] += 1
        return v * 0.5

    return jitrt.fori_loop(0, 5, body, x), n[0]


def scanned(x):
    seen = []

    def body(s, v):
        seen.append(v.sum())
        return s + v.sum(), s

    return jitrt.scan(body, 0.0, x.reshape(5, -1))[0], len(seen)


def condition_counts(x):
    n = [0]

    def holds(v):
        n[0] += 1
        return v.max() > 0.01

    return jitrt.while_loop(holds, lambda v: v * 0.5, x), n[0]


def chosen(x):
    d = {"n": 0}

    def then(v):
        d["n"] += 1
        return v * 2

    def otherwise(v):
        d["n"] += 10
        return v * 3

    return jitrt.cond(x.sum() > 60, then, otherwise, x), d["n"]


def scanned_plainly(x):
    seen = []

    def body(s, v):
        seen.append(1)
        return ((s[0] + 1, v) if type(s) is tuple else (v * 1, v.sum())), v

    return jitrt.scan(body, x[:5], x.reshape(-1, 5))[0][0], len(seen)


OTHERS = [scanned_plainly, looked_for, by_numpy, body_assigns, body_changes_a_list, scanned, condition_counts, chosen]


@pytest.mark.parametrize("size", [30, 5000])
@pytest.mark.parametrize("function", COMPILED + OTHERS)
def test_like_python(function, size):
    fast = jitrt.jit(function)
    for call in range(4):
        x = np.linspace(0.1, 1 + call, size)
        (got, n), (want, m) = fast(x), function(x)
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert n == m and type(n) is type(m)
    assert function not in COMPILED or fast.plain_reason == ""
