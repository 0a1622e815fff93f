"""Searches in sorted arrays, which are loops without branches."""

import numpy as np
import pytest

import jitrt


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_arrays_of_any_length(dtype, side):
    """The search halves a power of two, and begins with what is left of the length; elements are equal, too."""
    many = jitrt.jit(lambda e, x: np.searchsorted(e, x, side=side))
    one = jitrt.jit(lambda e, x: [np.searchsorted(e, x[k], side=side) for k in range(3)])
    rng = np.random.default_rng(5)
    for n in range(71):
        e = np.sort((rng.random(n) * n / 2).astype(dtype))
        x = (rng.random(67) * (n / 2 + 2)).astype(dtype)
        near = np.sort(np.concatenate([x, x[:40], e[:20]]))  # blocks of neighbours, and a block that is not full
        for values in (x, e, near, near[::-1].copy(), x[:1], x[:0], np.full(130, x[0])):
            np.testing.assert_array_equal(many(e, values), np.searchsorted(e, values, side=side))
        assert [int(k) for k in one(e, x)] == np.searchsorted(e, x[:3], side=side).tolist()
    assert many.explain(e, x).loop


def test_no_branches():
    """LLVM makes branches of what is chosen in a search, which are taken at random: places are shifted."""
    text = jitrt.jit(lambda e, x: np.searchsorted(e, x)).explain(np.arange(9.0), np.arange(90.0)).loop
    assert "where" not in text and text.count("shl") > 2
