"""Products of matrices and vectors in staged loops: of small ones loops, of large ones BLAS's, in any layout."""

import itertools

import numpy as np
import pytest
from jitrt.kernels import external

import jitrt

SHAPES = [
    ((5, 7), (7,)), ((200, 300), (300,)), ((300,), (300, 200)), ((4,), (4, 6)), ((40, 30), (30, 50)),
    ((3, 4), (4, 2)), ((1, 90), (90, 60)), ((200, 1), (1, 200)), ((20000, 1), (1,)), ((1,), (1, 20000)),
]  # fmt: skip


def _repeated(a, b, n):
    total = 0.0
    for i in range(n):
        c = a @ b
        total += c.sum() * i
    return c, total


def _laid_out(m, how):
    """The array in C order, in the order of Fortran, and as part of a larger one."""
    if how == 0:
        return m
    if how == 1:
        return np.asfortranarray(m)
    big = np.zeros([2 * n + 3 for n in m.shape], m.dtype)
    part = big[tuple(slice(1, 2 * n + 1, 2) if k + 1 < m.ndim else slice(2, n + 2) for k, n in enumerate(m.shape))]
    part[...] = m
    return part


def agree_in_all_layouts(left, right):
    for layouts in itertools.product(range(3), repeat=2):
        a, b = (_laid_out(m, k) for m, k in zip((left, right), layouts))
        f = jitrt.jit(_repeated)
        want, total = _repeated(a, b, 3)
        for _ in range(2):
            made, its = f(a, b, 3)
            assert made.dtype == want.dtype
            np.testing.assert_allclose(made, want, rtol=1e-5)
            np.testing.assert_allclose(its, total, rtol=1e-5)
        assert f._loops.serving


@pytest.mark.wide
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_products_of_any_size_and_layout(one, other, dtype):
    rng = np.random.default_rng(0)
    agree_in_all_layouts(*((9 * rng.random(s)).astype(dtype) for s in (one, other)))


@pytest.mark.wide
@pytest.mark.parametrize("chars", ["DD", "FF", "dD", "Dd", "fD", "Fd", "iD"])
@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_products_of_complex_numbers(one, other, chars):
    """BLAS takes their factors by address, and matrices of floats as complex ones."""
    rng = np.random.default_rng(0)
    numbers = (9 * rng.random(s) + (1j * rng.random(s) if c in "DF" else 0) for s, c in zip((one, other), chars))
    agree_in_all_layouts(*(m.astype(c) for m, c in zip(numbers, chars)))


def _evolved(u, psi, n):
    energies, overlap = np.empty(n), 0j
    for i in range(n):
        psi = u @ psi
        psi = psi / np.linalg.norm(psi)
        energies[i] = np.vdot(psi, u @ psi).real
        overlap += np.vdot(psi[::2], psi[1::2]) + np.dot(psi, psi.conj())
    return psi, energies, overlap


@pytest.mark.parametrize("count", [2, 4, 30])
def test_states_that_evolve(count):
    rng = np.random.default_rng(count)
    u, psi = (rng.random(s) + 1j * rng.random(s) for s in ((count, count), (count,)))
    f = jitrt.jit(_evolved)
    for _ in range(2):
        for got, want in zip(f(u, psi, 9), _evolved(u, psi, 9)):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert f._loops.serving


def _parts(a, x, n):
    for k in range(n):
        x = a.T @ (a @ x)
        x = x / np.sqrt(x @ x)
        low = a[k:, 1:] @ x[1:]
    gram = a.T @ a
    return x, low, gram @ a.T[:, :3], a[1:, 2:] @ a.T[2:, 1:]


@pytest.mark.parametrize("n", [4, 20, 200])
def test_products_of_parts_and_transposes(n):
    rng = np.random.default_rng(n)
    a, x = rng.random((n, n + 3)), rng.random(n + 3)
    f = jitrt.jit(_parts)
    for made, want in zip(f(a, x, 4), _parts(a, x, 4)):
        np.testing.assert_allclose(made, want)
    assert f._loops.serving


@pytest.mark.parametrize("n", [4, 300])
def test_products_of_what_is_not_finite_warn_as_numpy_does(n):
    def step(a, x, k):
        for _ in range(k):
            x = a @ x
            x = x / 2
        return x

    a, x = np.full((n, n), np.inf), np.ones(n)
    x[0] = 0
    f = jitrt.jit(step)
    for function in (step, f, f):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in matmul"):
            assert np.isnan(function(a, x, 2)).all()


@pytest.mark.skipif(external.symbol("blas.cblas_dgemm") is None, reason="NumPy has another BLAS")
def test_large_products_are_calls_of_blas():
    """Counted in calls: a matrix of 300 x 300 is multiplied by BLAS, one of 30 x 30 by a loop."""
    a, x = np.random.default_rng(0).random((300, 300)), np.ones(300)
    f = jitrt.jit(_parts)
    f(a[:, :297].copy(), x[:297], 2)
    source = f._loops.source((a[:, :297].copy(), x[:297], 2))
    assert source.count("call blas.cblas_dgemv") >= 2
    assert source.count("call blas.cblas_dgemm") >= 2
