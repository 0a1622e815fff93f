"""What native code asks about the memory of arguments: extents of arrays, and which of them must lie apart."""

import itertools

import numpy as np
import pytest
from entry_calls import needs_native_calls

from jitrt.runtime.guards import GuardRows, TakenApart, _extent
from jitrt.runtime.objects import Unguarded
from jitrt.values.growing import Growing
from jitrt.values.kinds import flatten_call

strided = np.lib.stride_tricks.as_strided


def test_extents_hold_every_byte():
    rng = np.random.default_rng(0)
    memory = np.zeros(400)
    for _ in range(1000):
        ndim = int(rng.integers(0, 4))
        shape = tuple(rng.integers(0, 4, ndim).tolist())
        strides = tuple(rng.choice([-64, -24, -8, 0, 8, 16, 40], ndim).tolist())
        dtype = rng.choice(["f8", "f4", "c16", "i1"])
        array = np.ndarray(shape, dtype, memory, 1600, strides)
        starts = [sum(i * s for i, s in zip(k, strides)) for k in itertools.product(*map(range, shape))]
        want = (min(starts), max(starts) + array.itemsize) if starts else (0, 0)
        assert _extent(array) == want


def rows(*arrays):
    leaves = []
    call = TakenApart(flatten_call(arrays, {}, (), leaves, Growing()), leaves)
    made = GuardRows({k: k for k in range(len(arrays))}, {}, len(arrays))
    made.add_call(call)
    return made


@needs_native_calls
def test_pairs_that_must_lie_apart():
    x, y, z = np.zeros(4), np.zeros((2, 3))[:, ::-1], np.zeros(5, "f4")
    extents = {0: (0, 32), 1: (-16, 32), 2: (0, 20)}
    made = rows(x, y, z)
    for written, pairs in ([], []), ([1], [(1, 0), (1, 2)]), ([2, 0], [(2, 0), (2, 1), (0, 1)]):
        got = np.reshape(made.apart(written), (-1, 6)).tolist()
        want = {frozenset(pair) for pair in pairs}
        assert {frozenset((p, q)) for p, _, _, q, _, _ in got} == want and len(got) == len(want)
        for p, low, high, q, other_low, other_high in got:
            assert (low, high) == extents[p] and (other_low, other_high) == extents[q]


@needs_native_calls
def test_what_overlaps_has_no_table():
    x = np.zeros(6)
    rows(x[:3], x[3:], x[::-1]).apart([])
    rows(x[:3], x[3:]).apart([0, 1])
    for arrays, written in (((x, x), [1]), ((x[:4], x[3:]), [0]), ((x[3:], x[:3], x[1:2]), [1])):
        with pytest.raises(Unguarded):
            rows(*arrays).apart(written)
