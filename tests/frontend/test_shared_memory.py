"""Which arguments lie in the memory of which, against their bytes counted one by one."""

import itertools

import numpy as np
import pytest

from jitrt.errors import Untraceable
from jitrt.values.memory import copies_of, overlap, sharing


def views(rng, count):
    """Views of one vector, some of them one object, with strides of both signs."""
    base = np.arange(40.0)
    found = []
    for _ in range(count):
        start, end, step = rng.integers(0, 20), rng.integers(15, 41), rng.choice([-3, -2, -1, 1, 2, 3])
        view = base[start:end][::step]
        if view.size >= 6 and rng.random() < 0.3:
            view = view[: view.size // 2 * 2].reshape(2, -1)
        again = found and rng.random() < 0.3
        found.append(found[rng.integers(len(found))] if again else view if rng.random() < 0.8 else view.copy())
    return found


def bytes_of(array):
    first = array.__array_interface__["data"][0]
    grid = itertools.product(*map(range, array.shape))
    starts = [first + sum(i * s for i, s in zip(index, array.strides)) for index in grid]
    return {start + k for start in starts for k in range(array.itemsize)}


def test_what_a_trace_has_to_know():
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(1500):
        inputs = [*views(rng, int(rng.integers(2, 5))), 2.0]
        rng.shuffle(inputs)
        arrays = [k for k, value in enumerate(inputs) if isinstance(value, np.ndarray)]
        written = sorted(rng.choice(arrays, int(rng.integers(0, len(arrays) + 1)), replace=False).tolist())
        common = [
            (k, j)
            for k in written
            for j in arrays
            if j != k and not bytes_of(inputs[k]).isdisjoint(bytes_of(inputs[j]))
        ]
        in_part = any(inputs[k] is not inputs[j] for k, j in common)
        kinds.add((bool(common), in_part))
        if in_part:
            with pytest.raises(Untraceable, match="overlap"):
                sharing(inputs, written)
        elif not common:
            assert sharing(inputs, written) is None
        else:
            known = {j for pair in common for j in pair}
            first = [
                next(j for j, other in enumerate(inputs) if other is value) if k in known else k
                for k, value in enumerate(inputs)
            ]
            assert sharing(inputs, written) == tuple(first)
    assert len(kinds) == 3


def test_copies_overlap_as_the_arrays_do():
    rng = np.random.default_rng(1)
    for _ in range(300):
        arrays = views(rng, 4)
        copies = copies_of(arrays)
        for one, other in itertools.combinations(range(4), 2):
            shared = bytes_of(arrays[one]).isdisjoint(bytes_of(arrays[other]))
            assert bytes_of(copies[one]).isdisjoint(bytes_of(copies[other])) == shared
            assert (copies[one] is copies[other]) == (arrays[one] is arrays[other])
        for array, copied in zip(arrays, copies):
            assert copied.strides == array.strides and not np.shares_memory(copied, array)
            np.testing.assert_array_equal(copied, array)
        for copied in copies:
            copied[...] = -1.0
        assert not any((a == -1.0).any() for a in arrays)


def test_any_overlap():
    x = np.arange(6.0)
    assert not overlap([x, x.copy(), x.copy()]) and not overlap([]) and not overlap([x])
    assert overlap([x.copy(), x, x[::-1]]) and overlap([x, x.copy(), x[5:]])
