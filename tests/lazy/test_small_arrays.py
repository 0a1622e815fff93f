"""Small arrays are NumPy's own, large ones lazy; between them, memory is shared as with NumPy alone."""

import numpy
import pytest

import jitrt
import jitrt.numpy as np
from jitrt import policy

pytestmark = pytest.mark.parametrize("limit", [None], indirect=True)
LARGE = policy.SMALL_ARRAY
Lazy = type(jitrt.asarray([1.0]))

MAKERS = {
    "zeros": lambda np, n: np.zeros(n),
    "arange": lambda np, n: np.arange(n),
    "linspace": lambda np, n: np.linspace(0, 1, n),
    "array": lambda np, n: np.array([0.5] * n),
    "keyword": lambda np, n: np.array(object=[0.5] * n),
    "asarray": lambda np, n: np.asarray(range(n)),
    "full": lambda np, n: np.full((n, 1), 2),
    "like": lambda np, n: np.ones_like(numpy.empty(n)),
    "grid": lambda np, n: np.meshgrid(numpy.arange(n), numpy.arange(1)),
    "index": lambda np, n: np.r_[0:n],
    "class": lambda np, n: np.ndarray((n,)),
    "draws": lambda np, n: np.random.default_rng(3).normal(size=n),
    "old draws": lambda np, n: np.random.RandomState(3).rand(n) if np is numpy else np.asarray(numpy.zeros(n)),
    "sort": lambda np, n: np.sort(numpy.arange(n)),
    "fft": lambda np, n: np.fft.fftfreq(n),
    "linalg": lambda np, n: np.linalg.matrix_transpose(numpy.ones((1, n))),
    "tuple": lambda np, n: np.unique(numpy.arange(n), return_counts=True),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made(name, limit):
    for n, kind in ((3, numpy.ndarray), (LARGE, Lazy)):
        made = MAKERS[name](np, n)
        for part in made if isinstance(made, (list, tuple)) else [made]:
            assert type(part) is kind and isinstance(part, np.ndarray)


def test_conversions_share_memory(limit):
    for n in (5, LARGE):
        given = numpy.zeros(n)
        shared, copied = np.asarray(given), np.array(given)
        given[0], shared[1] = 7.0, 8.0
        assert shared[0] == 7.0 and given[1] == 8.0 and copied[0] == copied[1] == 0.0
    given = numpy.zeros(5)
    assert np.asarray(given) is given
    lazy = jitrt.asarray(given)
    assert type(lazy) is Lazy and np.asarray(lazy) is lazy and type(np.array(lazy)) is Lazy
    lazy[2] = 3.0
    assert given[2] == 3.0


@pytest.mark.parametrize("seed", range(30))
def test_large_and_small_arrays_in_any_order(seed, limit):
    """Writes through views of either, and results that were recorded before and after."""

    def program(np):
        rng = numpy.random.default_rng(seed)
        small, large = np.arange(200.0), np.arange(40_000.0).reshape(-1, 200) / 40_000
        row, column, whole = small[::2], large[:, 3], large
        seen = []
        for _ in range(12):
            k = int(rng.integers(0, 10))
            if k == 0:
                small += large[int(rng.integers(0, 20))]
            elif k == 1:
                large = large + small
            elif k == 2:
                large[int(rng.integers(0, 20))] = small
            elif k == 3:
                row *= 0.5
            elif k == 4:
                column += small[5]
            elif k == 5:
                seen.append(large * small)
            elif k == 6:
                small = np.sqrt(np.abs(whole.sum(axis=0))) + small
            elif k == 7:
                np.add(small, 1.0, out=whole[2])
            elif k == 8:
                whole -= row.mean()
            else:
                seen.append((small - large[0], float(large.max()), whole[1].copy()))
        return [small, large, row, column, whole, seen]

    def compare(got, want):
        if isinstance(want, (list, tuple)):
            for x, y in zip(got, want, strict=True):
                compare(x, y)
        else:
            numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)

    compare(program(np), program(numpy))
