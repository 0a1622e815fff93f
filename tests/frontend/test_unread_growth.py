"""What nothing reads costs no more than its own operations, and a trace that cannot pay stops while it is recorded."""

import numpy as np

import jitrt
from jitrt.frontend import effects
from jitrt.ir import build as b
from jitrt.ir.types import ArrayType


def visited(monkeypatch, count):
    """How many nodes are gone through for the sake of `count` divisions that nothing reads."""
    seen = 0

    def counted(nodes):
        nonlocal seen
        nodes = list(nodes)
        seen += len(nodes)
        return {}

    monkeypatch.setattr(effects, "used_results", counted)
    x = b.input_node(0, ArrayType(np.dtype(float), (4,)))
    nodes = [b.elementwise(np.divide, b.constant(float(k)), x) for k in range(1, count + 1)]
    assert len(effects.forced_of(nodes, (), ())) == count
    return seen


def test_unread_operations_are_gone_through_once(monkeypatch):
    few, many = visited(monkeypatch, 50), visited(monkeypatch, 500)
    assert many < 11 * few


def test_a_trace_that_cannot_pay_ends_while_it_is_recorded(monkeypatch, without_procedures):
    def turned(x, n):
        for k in range(n):
            x = np.sqrt(x + x[k % 3] * k)
        return x

    monkeypatch.setattr(effects, "_MOST_EFFECTS", 300)
    fast = jitrt.jit(lambda x, n: turned(x, n))
    x = np.linspace(1, 2, 8)
    np.testing.assert_array_equal(fast(x, 500), turned(x, 500))
    assert "unrolled to more than 300 operations" in fast.plain_reason
