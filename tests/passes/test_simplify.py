"""Simplification: what each rule does, and where it must not apply."""

import numpy as np
import pytest

from jitrt.ir import build as b
from jitrt.ir.interpret import interpret
from jitrt.ir.node import Graph
from jitrt.ir.types import ArrayType
from jitrt.passes.prepare import prepare

SPECIAL = {
    "f": np.array([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 5e-324]),
    "i": np.array([0, 1, -1, 7, -(2**62), 2**62, 3, -3]),
}


def prepared(kind, function):
    """Names of the operations that are left, after checking that the values are the same bits."""
    x = b.input_node(0, ArrayType(SPECIAL[kind].dtype, SPECIAL[kind].shape))
    graph = Graph((x,), (function(x),))
    *_, (_, result) = prepare(graph)
    (want,), (got,) = (interpret(g, [SPECIAL[kind]]) for g in (graph, result))
    got = np.asarray(got)
    assert got.dtype == want.dtype
    assert np.array_equal(np.isnan(got), np.isnan(want))
    keep = ~np.isnan(want)
    assert got[keep].tobytes() == want[keep].tobytes()
    return [n.op.name for n in result.nodes() if n.op.name not in ("input", "constant", "broadcast_to")]


def binary(ufunc, value, swap=False):
    def apply(x):
        c = b.constant(value)
        return b.elementwise(ufunc, c, x) if swap else b.elementwise(ufunc, x, c)

    return apply


@pytest.mark.parametrize(
    ("kind", "function", "left"),
    [
        ("f", binary(np.multiply, 1), []),
        ("f", binary(np.multiply, 1.0, swap=True), []),
        ("f", binary(np.multiply, 0.0), ["multiply"]),
        ("f", binary(np.add, 0.0), ["add"]),
        ("f", binary(np.add, -0.0), []),
        ("i", binary(np.add, 0), []),
        ("f", binary(np.subtract, 0.0), []),
        ("f", binary(np.subtract, -0.0), ["subtract"]),
        ("f", binary(np.divide, 4.0), ["multiply"]),
        ("f", binary(np.divide, 1.0), []),
        ("f", binary(np.divide, 3.0), ["divide"]),
        ("f", binary(np.divide, 1e-320), ["divide"]),
        ("f", binary(np.power, 2), ["multiply"]),
        ("f", binary(np.power, 1), []),
        ("f", binary(np.power, -1), ["divide"]),
        ("f", binary(np.power, 2.5), ["power"]),
        ("i", binary(np.power, 3), ["multiply", "multiply"]),
        ("i", binary(np.power, 2), ["multiply"]),
        ("f", lambda x: b.elementwise(np.negative, b.elementwise(np.negative, x)), []),
        ("f", lambda x: b.elementwise(np.conjugate, b.elementwise(np.positive, x)), []),
        ("f", lambda x: b.elementwise(np.add, x, b.elementwise(np.sqrt, b.constant(2.0))), ["add"]),
        ("f", lambda x: b.where(b.constant(True), x, b.elementwise(np.negative, x)), []),
    ],
)
def test_rule(kind, function, left):
    assert prepared(kind, function) == left


def test_large_constants_fold():
    """Constants that are compared by identity, made anew by every application of a rule."""
    numbers = b.constant(np.arange(400.0).reshape(50, 8))
    left = prepared("f", lambda x: b.elementwise(np.add, x, b.elementwise(np.sqrt, numbers)))
    assert left == ["add"]
