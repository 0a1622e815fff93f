"""Memory of constants, and wide ones: as many buffers as constants that a graph reaches, and one rounding."""

import time
import tracemalloc
import weakref

import numpy as np
import pytest

import jitrt
from jitrt.ir import build as b
from jitrt.ir.node import Graph, forget_dead
from jitrt.ir.rounding import Rounding
from jitrt.ir.types import ArrayType
from jitrt.passes.constants import fold_constants

SINGLE = np.dtype(np.float32)
_UNARY = [np.negative, np.sqrt, np.absolute, np.square, np.exp, np.log1p]
_BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.divide]


def folded(nodes, is_wide=False):
    """The constants that `nodes` are folded to, where an input reads them."""
    x = b.input_node(0, ArrayType(SINGLE, ()))
    outputs = tuple(b.elementwise(np.add, x, n) for n in nodes)
    graph = fold_constants(Graph((x,), outputs, rounding=Rounding(wide_constants=is_wide)))
    return [n.args[1] for n in graph.outputs]


def value_of(node):
    return node["value"].value


@pytest.mark.parametrize("rows", [4, 30_000])
@pytest.mark.parametrize("seed", range(30))
def test_random_wide_chains_are_within_one_unit_of_doubles(seed, rows):
    rng = np.random.default_rng(seed)
    shapes = ((rows, 5), (5,), (rows, 1), (1, 5), ())
    arrays = [np.asarray(rng.uniform(0.5, 2, shape).astype(SINGLE)) for shape in shapes]
    node, wide, narrow = b.constant(arrays[0]), arrays[0].astype(np.float64), arrays[0]
    for _ in range(10):
        other = arrays[rng.integers(len(arrays))]
        function = (_BINARY + _UNARY)[rng.integers(len(_BINARY) + len(_UNARY))]
        operands = (other,) if function.nin == 2 else ()
        try:
            with np.errstate(all="raise"):
                made = function(narrow, *operands), function(wide, *(v.astype(np.float64) for v in operands))
                made[1].astype(SINGLE)
        except FloatingPointError:
            continue
        narrow, wide = made
        node = b.elementwise(function, node, *map(b.constant, operands))
    for is_wide, wanted, units in [(True, wide.astype(SINGLE), 1), (False, narrow, 0)]:
        (found,) = folded([node], is_wide)
        assert value_of(found).dtype == SINGLE
        np.testing.assert_array_max_ulp(value_of(found), wanted, units)


def test_wide_constants_that_underflow_where_they_are_rounded():
    small = jitrt.frozen(np.full((40, 50), 1e-20, SINGLE))

    def cubed(x):
        return x * (small * small * small)

    x = np.ones((40, 50), SINGLE)
    np.testing.assert_array_equal(jitrt.jit(cubed, wide_constants=True)(x), cubed(x))


def test_as_many_buffers_are_left_as_constants_and_none_at_the_end():
    inputs = [np.full((500, 100), k + 1.0, SINGLE) for k in range(6)]
    nbytes, gone = inputs[0].nbytes, [weakref.ref(v) for v in inputs]
    tracemalloc.start()
    nodes = []
    for value in inputs:
        node = b.constant(value)
        for _ in range(4):
            node = b.elementwise(np.sqrt, b.elementwise(np.add, node, b.constant(SINGLE.type(2))))
        nodes.append(node)
    before = tracemalloc.get_traced_memory()[0]
    made = folded(nodes)
    forget_dead()
    held = tracemalloc.get_traced_memory()[0] - before
    assert 6 * nbytes <= held < 6.5 * nbytes
    results = [weakref.ref(value_of(n)) for n in made]
    del inputs, value, node, nodes, made
    forget_dead()
    tracemalloc.stop()
    assert [r() for r in gone + results] == [None] * 12


def test_what_is_seen_another_way_lies_in_the_same_memory():
    value = np.arange(60_000, dtype=SINGLE).reshape(200, 300)
    rows = b.view("getitem", b.constant(value), index=((50, 150, 1), (0, 300, 1)))
    for node in (rows, b.view("reshape", rows, shape=(300, 100)), b.view("expand_dims", rows, axis=(0,))):
        (found,) = folded([node])
        assert np.shares_memory(value_of(found), value)


def test_views_take_the_same_time_for_arrays_of_any_size():
    def seconds(side):
        value = np.zeros((side, side), SINGLE)
        best = 1.0
        for _turn in range(5):
            node = b.constant(value)
            start = time.perf_counter()
            for _k in range(100):
                node = b.view("reshape", b.view("transpose", node, axes=(1, 0)), shape=(1, side, side))
                node = b.view("reshape", node, shape=(side, side))
            best = min(best, time.perf_counter() - start)
            del node
        return best

    assert seconds(4000) < 10 * seconds(4)
