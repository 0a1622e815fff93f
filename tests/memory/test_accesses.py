"""Which bytes kernels touch, against all of them counted one by one."""

import itertools

import numpy as np
import pytest
from handmade import array_input, statements, value

from jitrt.memory.accesses import (
    Access,
    accesses,
    are_one_operand,
    are_same_elements,
    copied_operand,
    have_common_bytes,
)
from jitrt.schedule.layout import Layout
from jitrt.schedule.loopnest import Gather, Load, Loop, Operand, Store, StoreNeutral

STRIDES = (-48, -24, -16, -8, -4, 0, 4, 8, 12, 16, 24, 40, 64)


def access(node, offset, strides, extents, dtype="f8", anywhere=False):
    layout = Layout(node, offset, tuple(strides))
    return Access(0, 0, node, layout, tuple(extents), np.dtype(dtype), True, False, anywhere)


def elements(found):
    """The first byte of each element, in the order of the axes."""
    grid = itertools.product(*map(range, found.extents))
    return [found.layout.offset + sum(i * s for i, s in zip(index, found.layout.strides)) for index in grid]


def touched(found):
    """Every byte of every element."""
    if found.anywhere:
        return set(range(found.node.type.nbytes))
    return {start + k for start in elements(found) for k in range(found.dtype.itemsize)}


def random_access(rng, node, ndim):
    extents = [int(n) for n in rng.integers(1, 5, ndim)]
    strides = [int(s) for s in rng.choice(STRIDES, ndim)]
    dtype = rng.choice(["f8", "f4", "c16", "i1"])
    return access(node, int(rng.integers(-40, 200)), strides, extents, dtype, rng.random() < 0.1)


def test_bytes_that_are_touched():
    rng = np.random.default_rng(0)
    node = value((25,))
    for _ in range(2000):
        found = random_access(rng, node, int(rng.integers(0, 4)))
        first, end = found.byte_range()
        seen = touched(found)
        assert (first, end) == (min(seen), max(seen) + 1)
        assert len(set(elements(found))) <= np.prod(found.touched_axes()[0])


def test_bytes_in_common():
    rng = np.random.default_rng(1)
    node, outcomes = value((25,)), set()
    for _ in range(4000):
        a, b = (random_access(rng, node, int(rng.integers(0, 4))) for _ in range(2))
        shift = int(rng.choice([0, 0, 8, -8, 60, -100, 3]))
        common = not touched(a).isdisjoint({byte + shift for byte in touched(b)})
        assert have_common_bytes(a, b, shift) == common
        outcomes.add((common, shift < 0))
    assert len(outcomes) == 4


def test_elements_that_are_the_same():
    rng = np.random.default_rng(2)
    node, count = value((25,)), 0
    for _ in range(3000):
        a = random_access(rng, node, 2)
        strides = [a.layout.strides, a.layout.strides[::-1], a.layout.strides, rng.choice(STRIDES, 2).tolist()]
        shift = int(rng.choice([0, 8]))
        offset = a.layout.offset - int(rng.choice([0, 8]))
        b = access(node, offset, strides[rng.integers(4)], a.extents, rng.choice([a.dtype, "f4"]))
        if are_same_elements(a, b, shift):
            count += 1
            assert sorted(set(elements(a))) == sorted({e + shift for e in elements(b)}) and a.dtype == b.dtype
            assert not a.anywhere
        if are_one_operand(a, b) and are_same_elements(a, b, shift):
            assert elements(a) == [e + shift for e in elements(b)]
    assert count > 300


def test_how_operands_are_used():
    y, x, z = (Operand(name, np.dtype("f8"), ("1",)) for name in ("y0", "x0", "x1"))
    body = (Loop(0, (Load(0, x), Gather(1, z, (0,)), Store(y, 0), Load(2, x)), True),)
    nodes = value((6,)), array_input((6,)), array_input((9,))
    call = statements((6,), (y, x, z), [(n, 0, (8,)) for n in nodes], body)
    found = [(a.node, a.reads, a.writes, a.anywhere) for a in accesses(4, call)]
    assert found == list(zip(nodes, (False, True, True), (True, False, False), (False, False, True)))
    assert {a.step for a in accesses(4, call)} == {4}
    assert copied_operand(call.nest, y) == x and copied_operand(call.nest, x) is None


@pytest.mark.parametrize("first", [Store, StoreNeutral])
def test_what_is_stored_twice_is_no_copy(first):
    y, x = (Operand(name, np.dtype("f8"), ("1",)) for name in ("y0", "x0"))
    start = Store(y, 0) if first is Store else StoreNeutral(y, None)
    body = (Loop(0, (Load(0, x), start, Store(y, 0)), True),)
    call = statements((6,), (y, x), [(value((6,)), 0, (8,)), (array_input((6,)), 0, (8,))], body)
    assert copied_operand(call.nest, y) is None


def test_nests_have_more_axes_than_arrays():
    """Fused assignments to single elements have an axis each, of one element, and broadcast ones lead nowhere."""
    node = value((1000,))
    even = access(node, 0, (8,) * 70 + (16, 0), (1,) * 70 + (50, 3))
    odd = access(node, 8, (800,) * 40 + (16,), (1,) * 40 + (50,))
    assert have_common_bytes(even, even)
    assert not have_common_bytes(even, odd)
    assert have_common_bytes(even, odd, shift=8)
