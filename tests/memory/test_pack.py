"""Packing: no overlap of what lives at the same time, and little waste."""

import random

import numpy as np
import pytest

import jitrt
from jitrt.memory import plan_offsets


def lower_bound(buffers):
    return max((sum(s for s, lo, hi in buffers if lo <= t < hi) for _, t, _ in buffers), default=0)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_overlaps(seed):
    r = random.Random(seed)
    buffers = []
    for _ in range(r.randrange(1, 60)):
        first = r.randrange(50)
        buffers.append((64 * r.randrange(1, 40), first, first + r.randrange(1, 12)))
    offsets, total = plan_offsets(buffers)
    for i, (size, first, end) in enumerate(buffers):
        assert offsets[i] >= 0 and offsets[i] + size <= total
        for j in range(i):
            other, lo, hi = buffers[j]
            if first < hi and lo < end:
                assert offsets[i] >= offsets[j] + other or offsets[j] >= offsets[i] + size
    assert lower_bound(buffers) <= total <= 1.5 * lower_bound(buffers)


def test_nothing_to_pack():
    assert plan_offsets([]) == ([], 0)


def test_slots_are_reused():
    def chain(x):
        for _ in range(6):
            x = np.cumsum(x * 2.0)[::-1] + 1.0
        return x

    layout = jitrt.jit(chain).explain(np.ones(1000)).compiled.program.layout
    assert layout.nbytes < layout.unshared_nbytes
