"""Traces that do not pay: what NumPy computes at once for a look at a value is not compiled for them."""

import numpy as np
import pytest

import jitrt
from jitrt.call.generalprograms import GeneralPrograms
from jitrt.call.segments import Programs


@pytest.fixture
def graphs(monkeypatch):
    """A list that grows with every graph that is compiled."""
    found = []
    for programs in (Programs, GeneralPrograms):

        def compiling(self, graph, *args, plain=programs.compile, **kwargs):
            found.append(graph)
            return plain(self, graph, *args, **kwargs)

        monkeypatch.setattr(programs, "compile", compiling)
    return found


def looks_often(a):
    """Computes little between the values that it looks at."""
    total = 0.0
    for k in range(4):
        if float((a * k).sum()) >= 0.0:
            total += float(a[k] + 1.0)
    return total


def test_nothing_is_compiled_where_only_looks_remain(monkeypatch, graphs, without_procedures):
    monkeypatch.setenv("JITRT_STRICT", "0")
    fast = jitrt.jit(looks_often)
    a = np.linspace(0.0, 1.0, 300)
    for _ in range(4):
        assert fast(a) == pytest.approx(looks_often(a), rel=1e-14)
    assert "between the values that it looks at" in fast.explain(a).plain_reason
    assert not graphs


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "every other": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}


def keeps_what_it_looked_at(a):
    b = a.T * 2.0
    c = b + np.exp(-a.T)
    n = np.count_nonzero(b > 1.0)
    if n > 3 and bool((c > 0.5).any()):
        return b, c.sum(axis=0), c.max(), b.T
    return b - 1.0, c, n, a


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("shape", [(5, 7), (1, 9), (70, 60)])
def test_what_is_looked_at_lies_in_memory_as_numpys(graphs, layout, kind, shape):
    base = (np.arange(np.prod(shape)) % 13 - 4).reshape(shape) / 3
    a = LAYOUTS[layout](base.astype(kind))
    fast = jitrt.jit(keeps_what_it_looked_at)
    for value in (a, a * 0, a):
        for got, want in zip(fast(value), keeps_what_it_looked_at(value), strict=True):
            assert type(got) is type(want)
            np.testing.assert_allclose(got, want, rtol=1e-5)
            assert np.asarray(got).dtype == np.asarray(want).dtype
            assert np.asarray(got).strides == np.asarray(want).strides
    assert graphs
