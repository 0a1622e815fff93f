"""``x.flat`` is an iterator with a place, and `np.nditer` goes through memory: not in C order from the start."""

import numpy as np
import pytest

import jitrt


def of_iterator(a):
    flat = a.flat
    first, index = next(flat), flat.index
    return first, index, [float(v) for v in flat], list(flat), a * 2


def interrupted(a):
    flat, total = a.flat, 0.0
    for v in flat:
        total += v
        if total > 2:
            break
    return total, [float(v) for v in flat], a * 2


def twice(flat):
    total = 0.0
    for v in flat:
        total += v
    return total + sum(flat)


def begun_again(a):
    flat = a.flat
    first = next(flat), next(flat)
    third = flat[2]
    return first, third, next(flat)


def asked(a):
    return a.flat.base is a, len(a.flat), a.flat.copy(), a.flat == a.ravel(), a.flat > 2, np.asarray(a.flat), a * 2


def written(a):
    for k, v in enumerate(a.flat):
        a.flat[-1 - k] = v + 1
    return a * 2


def read_and_written(a):
    with np.nditer(a, op_flags=["readwrite"]) as places:
        for k, place in enumerate(places):
            place[...] = k
    return a * 2


def by_indices(a):
    places, found = np.nditer(a, flags=["multi_index"]), []
    while not places.finished:
        found.append((places.multi_index, float(places[0])))
        places.iternext()
    return found


def damped(a):
    total = 0.0
    for v in np.nditer(a):
        total = total * 0.5 + v
    return total


FUNCTIONS = {
    "iterator": of_iterator,
    "interrupted": interrupted,
    "argument": lambda a: twice(a.flat) + a,
    "pairs": lambda a: (sum(zip(a.flat, a.flat, strict=True), ()), a * 2),
    "begun again": begun_again,
    "asked": asked,
    "written": written,
    "nditer": lambda a: [float(v) for v in np.nditer(a)],
    "nditer of a sum": lambda a: [float(v) for v in np.nditer((a + 1)[::-1])],
    "nditer of two": lambda a: [(float(x), float(y)) for x, y in np.nditer([a, a.T.copy().T])],
    "read and written": read_and_written,
    "by indices": by_indices,
    "damped": damped,
}
ARRAYS = {
    "C": lambda: np.arange(6.0).reshape(2, 3),
    "Fortran": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "reversed": lambda: np.arange(12.0).reshape(3, 4)[::-1, ::2],
    "vector": lambda: np.arange(5.0)[::-1],
    "larger": lambda: np.arange(60.0).reshape(3, 4, 5).transpose(1, 2, 0)[:, ::-1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_and_place_of_iterators(name):
    function = FUNCTIONS[name]
    fast = jitrt.jit(function)
    for _ in range(3):
        for make in ARRAYS.values():
            a, b = make(), make()
            assert repr(function(a)) == repr(fast(b))
            np.testing.assert_array_equal(a, b)


MASKED = {
    "sum": lambda a, m: np.sum(a, axis=-1, where=m),
    "maximum": lambda a, m: np.max(a, axis=0, where=m, initial=0),
    "mean": lambda a, m: np.mean(a, axis=1, where=m),
    "any": lambda a, m: np.any(a > 1, axis=1, where=m),
}


@pytest.mark.parametrize("name", MASKED)
def test_order_of_folds_of_what_a_mask_leaves(name):
    fast, a = jitrt.jit(MASKED[name]), np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    for order in ("C", "K", "F"):
        for x in (a, np.ascontiguousarray(a), np.asfortranarray(a), a[::-1]):
            mask = np.copy(x > -1, order=order)
            want, got = MASKED[name](x, mask), fast(x, mask)
            np.testing.assert_array_equal(want, got)
            assert want.strides == got.strides
