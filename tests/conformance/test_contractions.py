"""matmul, dot, einsum, tensordot and outer against NumPy, alone and between elementwise operations."""

import numpy as np
import pytest
from compare import check, together
from operands import ordinary

import jitrt
from jitrt.ir.ops.ufuncs import NUMPY_UFUNCS

CASES = {
    "matmul": lambda a, b, v, t: (a @ b, np.matmul(b, a), a @ v, v @ b, v @ v, t @ b, a @ t.swapaxes(1, 2), t @ v),
    "dot": lambda a, b, v, t: (a.dot(b), np.dot(v, v), np.dot(t, v), np.dot(a, 2), np.dot(t, b), np.dot(v[0], v[1])),
    "outer": lambda a, b, v, t: (np.outer(v, v), np.outer(a, v)),
    "tensordot": lambda a, b, v, t: (
        np.tensordot(a, b, 1),
        np.tensordot(t, a, axes=([1, 2], [0, 1])),
        np.tensordot(a, b, axes=0),
        np.tensordot(t, v, axes=(2, 0)),
        np.tensordot(a, a),
    ),
    "einsum": lambda a, b, v, t: (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("ij,jk", a, b),
        np.einsum("kij->j", t),
        np.einsum("ij->ji", a),
        np.einsum("i,i", v, v),
        np.einsum("i,j,kij->k", v[:3], v, t, optimize=True),
        np.einsum("ij", a[:, :3]),
        np.einsum("ii->i", b[:3]),
        np.einsum("...j,j", t, v),
        np.einsum("kij,ij->k", t, a[:1]),
    ),
    "between": lambda a, b, v, t: (
        (a + 1) @ (b * 2) - 1,
        np.dot(a * a, v + 1).sum(),
        (a[::-1] @ b.copy()).T * 2,
        (a.T @ a)[1:],
    ),
}


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", "?ilfdFDe")
def test_contractions(char):
    a, b = ordinary(char, 12).reshape(3, 4), ordinary(char, 12, 1).reshape(4, 3)
    v, t = ordinary(char, 4, 2), ordinary(char, 24, 3).reshape(2, 3, 4)
    eps = np.finfo(char).eps if char in "fdFDe" else 0
    tolerance = {"relative": 8 * eps, "ulp": 8 * bool(eps), "zeros": False}
    cases = dict(CASES) if char != "?" else {k: f for k, f in CASES.items() if k not in ("between", "dot")}
    check(together(cases), a, b, v, t, **tolerance)
    check(together(cases), np.asfortranarray(a), b[::-1, ::-1], v[::-1], t, **tolerance)


def test_empty_contractions():
    a, b, v, t = np.ones((3, 0)), np.ones((0, 3)), np.ones(0), np.ones((2, 3, 0))
    check(
        lambda a, b, v, t: (a @ b, b @ a, v @ v, t @ b, np.dot(a, v), np.einsum("ij->i", a), np.outer(v, v)), a, b, v, t
    )


def test_mixed_dtypes():
    a, b = ordinary("i", 12).reshape(3, 4), ordinary("f", 12).reshape(4, 3)
    check(lambda a, b: (a @ b, np.dot(a, b), np.einsum("ij,jk", a, b), np.outer(a, b)), a, b, ulp=8, relative=1e-14)


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", "?lfD")
def test_outer_of_ufuncs(char):
    a, v = np.abs(ordinary(char, 6)).astype(char).reshape(2, 3), ordinary("d", 4)
    ufuncs = [u for u in NUMPY_UFUNCS if u.nin == 2 and supported(u, v, a)]
    assert len(ufuncs) > 10
    cases = {
        u.__name__: lambda a, v, u=u: (u.outer(a, v), u.outer(v[::-1], a[:, 1]), u.outer(a[0, 0], v)) for u in ufuncs
    }
    check(together(cases), a, v, ulp=4, zeros=False)


def supported(ufunc, v, a):
    try:
        return bool(ufunc.resolve_dtypes((a.dtype, v.dtype, None))) and bool(
            ufunc.resolve_dtypes((v.dtype, a.dtype, None))
        )
    except TypeError:
        return False


def test_outer_of_python_numbers():
    """They are arrays for this method, and so not weak."""
    check(lambda x, s: (np.add.outer(x, 2.0), np.multiply.outer(x, s)), ordinary("f", 5), 0.5)


@pytest.mark.parametrize(
    ("count", "rows", "is_computed", "is_a_loop"),
    [(1500, 3, False, True), (1500, 8, False, False), (20, 5, False, True), (20, 8, True, True), (20, 12, True, False)],
)
def test_stacks_that_blas_multiplies(count, rows, is_computed, is_a_loop):
    """Of many products of more than four rows BLAS has the better code: loops took up to three times as long."""
    a = np.ones((count, rows, rows))
    function = (lambda a: a @ (a * 2)) if is_computed else (lambda a: a @ a)
    explanation = jitrt.jit(function).explain(a)
    assert (not explanation.plain_reason and not explanation.host_calls) == is_a_loop
