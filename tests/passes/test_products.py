"""Contractions of small operands are folds; where last places decide, they are NumPy's to the bit."""

import numpy as np
import pytest
from covering import few

import jitrt

RNG = np.random.default_rng(5)
P = RNG.random((40, 3))
PIXELS = RNG.integers(0, 255, (30, 20, 3)).astype(np.uint8)
WEIGHTS = np.array([0.299, 0.587, 0.114])
A, B = RNG.random((9, 4, 4)), RNG.random((9, 4, 4))

FOLDS = [
    (lambda p, w: p @ w * 2, P, WEIGHTS),
    (lambda p, w: np.einsum("ij,ij->i", p, p) + w[0], P, WEIGHTS),
    (lambda a, b: np.linalg.norm(a @ b, axis=(1, 2)), A, B),
    (lambda a, b: np.tensordot(a, b, axes=([1, 2], [1, 2])), A[:3], B[:2]),
    (lambda p, w: np.isnan(p @ w), P, WEIGHTS),
    (lambda p, w: np.maximum(p @ w, 0) + np.exp(p.T.dot(p)).sum(), P, WEIGHTS),
]
DECISIVE = [
    (lambda x, w: (x @ w).astype(np.uint8), PIXELS, WEIGHTS),
    (lambda x, w: np.floor(x @ w * 3), PIXELS, WEIGHTS),
    (lambda p, w: np.where(p @ w == p.dot(w), 1, 2), P, WEIGHTS),
    (lambda p, w: np.argmax(p @ w), P, WEIGHTS),
    (lambda a, b: np.einsum("nij,njk->nik", a, b) > 1, A, B),
]


@pytest.mark.parametrize(("function", "x", "y"), FOLDS)
def test_small_contractions_are_folds(function, x, y):
    fast = jitrt.jit(function)
    for _ in range(2):
        np.testing.assert_allclose(fast(x, y), function(x, y), rtol=1e-13)
    assert not fast.explain(x, y).traced.host_calls and "NumPy executes nothing" in fast.explain(x, y).text()


@pytest.mark.parametrize(("function", "x", "y"), DECISIVE)
def test_where_last_places_decide_numpy_computes(function, x, y):
    fast = jitrt.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(fast(x, y), function(x, y))
    assert "NumPy executes nothing" not in fast.explain(x, y).text()


@pytest.mark.parametrize("dtype", few([np.int8, np.float32, np.int32, np.uint64], 2))
def test_random_contractions(dtype):
    letters = "ijkl"
    extents = dict(zip(letters, (3, 1, 5, 2)))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        terms = ["".join(rng.permutation(list(letters))[: rng.integers(1, 4)]) for _ in range(rng.integers(1, 4))]
        known = sorted(set("".join(terms)))
        right = "".join(rng.permutation(known)[: rng.integers(0, len(known) + 1)])
        subscripts = ",".join(terms) + "->" + right
        arrays = [rng.integers(-5, 6, [extents[c] for c in t]).astype(dtype) for t in terms]
        fast = jitrt.jit(lambda *x, s=subscripts: np.einsum(s, *x) + 1)
        got, want = fast(*arrays), np.einsum(subscripts, *arrays) + 1
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want, err_msg=subscripts)
