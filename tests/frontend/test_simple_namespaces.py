"""`types.SimpleNamespace`: an object that is its attributes, as those of the user's classes."""

from types import SimpleNamespace

import numpy as np
import pytest

import jitrt

LONG = np.linspace(0, 2, 3000)


def read(x, p):
    return x * p.a + p.b.sum()


def counted(x, p):
    p.n += 1
    p.last = x.sum()
    return x * p.n


def grown(x, p):
    p.history.append(x.sum())
    return x + 1


def in_place(x, p):
    p.b[:] = p.b * 2 + x[0]
    return p.b.sum()


def replaced(x, p):
    if hasattr(p, "kept"):
        del p.kept
    p.kept = x * 1
    return x


def nested(x, p):
    return p.inner.w * x + p.inner.d["k"]


def compared(x, p):
    return x if p == SimpleNamespace(a=1) else -x


def made(x, p):
    q = SimpleNamespace(mean=x.mean(), y=x * p.a)
    q.more = q.mean + 1
    return q


def stepped(x, p):
    s, out = SimpleNamespace(v=0.0, n=0), np.zeros(len(x))
    for k in range(len(x)):
        s.v += (x[k] - s.v) * p.a
        if s.v > 0.5:
            s.v, p.n = 0.0, p.n + 1
        out[k] = s.v
    return out, p.n


def best(x, p):
    found = SimpleNamespace(index=0, value=x[0])
    for k in range(len(x)):
        if x[k] > found.value:
            found = SimpleNamespace(index=k, value=x[k])
    return found


def equal_ones(x, p):
    count = 0
    for k in range(min(len(x), 9)):
        count += SimpleNamespace(a=k % 3) == SimpleNamespace(a=1)
    return count


def truths(x, p):
    return sum(1 for k in range(len(x)) if SimpleNamespace())


FUNCTIONS = [read, counted, grown, in_place, replaced, nested, compared, made, stepped, best, equal_ones, truths]


def new():
    inner = SimpleNamespace(w=3.0, d={"k": 1.5})
    return SimpleNamespace(a=0.2, b=np.arange(5.0), n=0, history=[], inner=inner)


def check_same(got, want):
    assert type(got) is type(want)
    if isinstance(want, SimpleNamespace):
        assert list(vars(got)) == list(vars(want))
        check_same(list(vars(got).values()), list(vars(want).values()))
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            check_same(g, w)
    elif isinstance(want, dict):
        assert got.keys() == want.keys()
        check_same(list(got.values()), list(want.values()))
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("size", [5, 3000])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_like_python(function, size):
    fast, mine, plain = jitrt.jit(function), new(), new()
    for call in range(5):
        x = np.linspace(0, 1 + call, size)
        check_same(fast(x, mine), function(x, plain))
        check_same(mine, plain)
    assert fast.plain_reason in ("", "such calls are too short for compiled code")


@pytest.mark.parametrize("function", [stepped, best, truths])
def test_loops_are_compiled(function):
    fast = jitrt.jit(function)
    fast(LONG, new())
    assert "# compiled as a loop" in str(fast.explain(LONG, new()))
