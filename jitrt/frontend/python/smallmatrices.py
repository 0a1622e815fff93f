"""Linear algebra of small matrices as operations on all matrices of a stack, which kernels fuse.

LAPACK is called for each matrix of a stack, and for one of three rows the call takes longer than what it computes.
These are traced in place of NumPy's functions, and do what OpenBLAS does of so few rows, in the same order and with
products that are added with one rounding where the processor can: most results have NumPy's bits. (Golub and Van Loan,
Matrix Computations, algorithms 3.1.1, 3.4.1 and 4.2.1.) Where a matrix is singular, or a result not finite, NumPy
decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.ops.fused import fused_multiply_add
from ...ir.ops.optable import NotCovered
from ..numpy.functions import call_function
from ..numpy.operators import is_tracer

MOST_ROWS = 4  # of more, the operations on single elements take long to compile, and OpenBLAS works by blocks
_ODD_BLOCKS = 3  # rows of which OpenBLAS's kernels for several right sides take two together, and one
_SLOGDET = type(np.linalg.slogdet(np.eye(1)))  # a named tuple


class _Fused:
    """The operation on tracers; an object, since functions that a source names are traced through."""

    def __call__(self, *args: Any) -> Any:
        return call_function(next(filter(is_tracer, args)), fused_multiply_add, args, {})


_fused = _Fused()


def inv(a: Any) -> Any:
    a, dtype = _double(a)
    rows = _entries(a)
    zero = np.zeros_like(rows[0][0])
    sides = [[zero + x for x in row] for row in np.eye(len(rows))]
    _factorise(rows, sides)
    _substitute(rows, sides)
    made = np.stack([x for row in sides for x in row], axis=-1).reshape(a.shape)
    _check(*_pivots(rows), made)
    return made.astype(dtype, copy=False)


def solve(a: Any, b: Any) -> Any:
    a, dtype = _double(a, b)
    b, _ = _double(b, is_square=False)
    is_vector = b.ndim == 1  # of more axes the last two are those of matrices
    if b.shape[-1 if is_vector else -2] != a.shape[-1]:
        raise NotCovered("equations that do not fit")
    rows = _entries(a) if is_vector else _entries(a[..., None], 3)
    sides = [[b[i] if is_vector else b[..., i, :]] for i, _ in enumerate(rows)]
    _factorise(rows, sides)
    if is_vector or b.shape[-1] == 1:
        _substitute_vector(rows, sides)
    else:
        _substitute(rows, sides)
    made = np.stack([x for (x,) in sides], axis=-1 if is_vector else -2)
    made = np.ascontiguousarray(made)  # as NumPy's is, of any operands
    _check(*_pivots(rows), made)
    return made.astype(dtype, copy=False)


def det(a: Any) -> Any:
    """As NumPy's C code has it: of the logarithms of the pivots."""
    a, dtype = _double(a)
    sign, logarithm, is_regular = _logarithm(_entries(a))
    made = np.where(is_regular, sign * np.exp(logarithm), 0.0)
    _check(made)
    return made.astype(dtype, copy=False)[()]


def slogdet(a: Any) -> Any:
    a, dtype = _double(a)
    sign, logarithm, is_regular = _logarithm(_entries(a))
    _check(logarithm, is_regular)
    return _SLOGDET(sign.astype(dtype, copy=False)[()], logarithm.astype(dtype, copy=False)[()])


def cholesky(a: Any, /, *, upper: Any = False) -> Any:
    a, dtype = _double(a)
    if upper:
        raise NotCovered("the upper factor")
    rows = _entries(a)
    factor = [[np.zeros_like(x) for x in row] for row in rows]
    for j, _ in enumerate(rows):
        square = _less(rows[j][j], factor[j][:j], factor[j][:j])
        _check(square, square > 0)
        factor[j][j] = np.sqrt(square)
        for i in range(j + 1, len(rows)):
            factor[i][j] = _less(rows[i][j], factor[i][:j], factor[j][:j]) * (1.0 / factor[j][j])
    made = np.stack([x for row in factor for x in row], axis=-1).reshape(a.shape)
    _check(made)
    return made.astype(dtype, copy=False)


def _double(a: Any, other: Any = None, is_square: bool = True) -> tuple[Any, Any]:
    """`a` in double precision, with which all is computed, and the dtype of the result with it and `other`."""
    a = np.asarray(a)
    if is_square and (a.ndim < 2 or a.shape[-1] != a.shape[-2] or not 0 < a.shape[-1] <= MOST_ROWS):
        raise NotCovered("other matrices")
    operands = [a] if other is None else [a, np.asarray(other)]
    for x in operands:
        if x.dtype.char not in "fd" and x.dtype.kind not in "iu":
            raise NotCovered("elements of another type")
    dtype = np.result_type(*[x.dtype if x.dtype.char == "f" else np.float64 for x in operands])
    return a.astype(np.float64, copy=False), dtype


def _entries(a: Any, axes: int = 2) -> list[list[Any]]:
    """The elements of the matrices, which the first two of the last `axes` axes number."""
    rest = (slice(None),) * (axes - 2)
    return [[a[(..., i, j, *rest)] for j in range(a.shape[-axes])] for i in range(a.shape[-axes])]


def _factorise(rows: list[list[Any]], sides: list[list[Any]], instead_of_zero: Any = None) -> Any:
    """Turn matrices into their triangular factors, column by column, with partial pivoting; the permutation's sign.

    Right sides are permuted, too. A pivot of zero divides as `instead_of_zero`, if that is given.
    """
    count, sign = len(rows), np.asarray(1.0)
    for j in range(count):
        for i in range(1, count):
            above = min(i, j)
            rows[i][j] = _less(rows[i][j], rows[i][:above], [row[j] for row in rows[:above]])
        largest, is_larger = np.abs(rows[j][j]), []
        for i in range(j + 1, count):
            is_larger.append(np.abs(rows[i][j]) > largest)
            largest = np.where(is_larger[-1], np.abs(rows[i][j]), largest)
        is_taken: Any = np.False_
        for i in range(count - 1, j, -1):  # the last one that is larger than all before it
            is_chosen = is_larger[i - j - 1] & ~is_taken
            is_taken = is_taken | is_chosen
            for row, other in ((rows[j], rows[i]), (sides[j], sides[i])):
                for k, (x, y) in enumerate(zip(row, other)):
                    row[k], other[k] = np.where(is_chosen, y, x), np.where(is_chosen, x, y)
        sign = np.where(is_taken, -sign, sign)
        pivot = rows[j][j]
        scale = 1.0 / (pivot if instead_of_zero is None else np.where(pivot == 0, instead_of_zero, pivot))
        for i in range(j + 1, count):
            rows[i][j] = rows[i][j] * scale
    return sign


def _logarithm(rows: list[list[Any]]) -> tuple[Any, Any, Any]:
    """The sign of the determinant, the logarithm of its size, and whether it is not zero."""
    sign = _factorise(rows, [[] for _ in rows], instead_of_zero=1.0)
    is_regular, logarithm = np.asarray(True), np.asarray(0.0)
    for pivot in _pivots(rows):
        is_regular = is_regular & (pivot != 0)
        sign = sign * np.sign(pivot)
        logarithm = logarithm + np.log(np.where(is_regular, np.abs(pivot), 1.0))
    _check(*_pivots(rows))
    return sign, logarithm, is_regular


def _substitute(rows: list[list[Any]], sides: list[list[Any]]) -> None:
    """Solve for several right sides at once, as BLAS's ``trsm``, in place."""
    count = len(rows)
    for c in range(len(sides[0])):
        x = [side[c] for side in sides]
        for i in range(1, count):
            if count == _ODD_BLOCKS and i == count - 1:
                x[i] = _less(x[i], rows[i][:i], x[:i])
            else:
                for k in range(i):
                    x[i] = _fused(-x[k], rows[i][k], x[i])
        for i in range(count - 1, -1, -1):
            x[i] = x[i] * (1.0 / rows[i][i])
            for k in range(i):
                if count == _ODD_BLOCKS and i == count - 1:
                    x[k] = x[k] - rows[k][i] * x[i]
                else:
                    x[k] = _fused(-x[i], rows[k][i], x[k])
        for side, value in zip(sides, x):
            side[c] = value


def _substitute_vector(rows: list[list[Any]], sides: list[list[Any]]) -> None:
    """Solve for one right side, as BLAS's ``trsv``, in place."""
    count = len(rows)
    for i in range(1, count):
        for k in range(i):
            sides[i][0] = _fused(-sides[k][0], rows[i][k], sides[i][0])
    for i in range(count - 1, -1, -1):
        sides[i][0] = sides[i][0] / rows[i][i]
        for k in range(i):
            sides[k][0] = _fused(-sides[i][0], rows[k][i], sides[k][0])


def _less(x: Any, factors: list[Any], others: list[Any]) -> Any:
    """`x` without a sum of products, as BLAS's ``dot`` adds them."""
    if not factors:
        return x
    total = factors[0] * others[0]
    for factor, other in zip(factors[1:], others[1:]):
        total = _fused(factor, other, total)
    return x - total


def _pivots(rows: list[list[Any]]) -> list[Any]:
    return [row[k] for k, row in enumerate(rows)]


def _check(*values: Any) -> None:
    """Leave it to NumPy where elements are not finite, or not true: of these LAPACK reports nothing, or errors.

    With pivots and results that are finite nothing has overflowed, nor been divided by zero, on the way.
    """
    for x in values:
        if not np.all(x if x.dtype == np.bool_ else np.isfinite(x)):
            raise NotCovered("a matrix that is singular")


SMALL: dict[Callable[..., Any], Callable[..., Any]] = {
    np.linalg.cholesky: cholesky,
    np.linalg.det: det,
    np.linalg.inv: inv,
    np.linalg.slogdet: slogdet,
    np.linalg.solve: solve,
}
