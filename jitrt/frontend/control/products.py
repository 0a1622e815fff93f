"""Products, inverses and solutions of small matrices in staged functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.integers import Poly
from . import arrays as a
from .arrays import ZERO
from .creation import eye
from .recorder import Recorder
from .registry import as_array, function
from .values import BOOL, FLOAT, Array, NotStaged, integer, is_number
from .written import MOST_INLINE


@function(np.outer)
def _outer(r: Recorder, x: Any, y: Any) -> Array:
    x, y = as_array(r, x), as_array(r, y)
    if x.ndim != 1 or y.ndim != 1:
        raise NotStaged("an outer product of matrices")
    return a.call_ufunc(r, np.multiply, [a.with_axes(r, x, (1,)), a.with_axes(r, y, (0,))])


@function(np.dot, np.matmul, method="dot")
def product(r: Recorder, x: Any, y: Any) -> Any:
    """``x @ y``."""
    if is_number(x) or is_number(y):
        raise NotStaged("a product with a number")
    return a.product(r, as_array(r, x), as_array(r, y))


@function(np.linalg.inv)
def _inverse(r: Recorder, matrix: Any) -> Array:
    """Gauss and Jordan's elimination with partial pivoting."""
    matrix = as_array(r, matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise NotStaged("an inverse of this")
    r.require_equal(*matrix.shape)
    n = matrix.shape[0]
    r.require(MOST_INLINE - n)
    dtype = matrix.dtype if matrix.dtype.kind == "f" else FLOAT
    left = a.materialise(r, a.cast(r, matrix, dtype), always=True)
    right = a.materialise(r, eye(r, integer(n), dtype=dtype))
    eliminate(r, left, right)
    return right


@function(np.linalg.solve)
def _solve(r: Recorder, matrix: Any, value: Any) -> Array:
    """As `_inverse`, with the right side in place of the identity."""
    matrix, value = as_array(r, matrix), as_array(r, value)
    if matrix.ndim != 2 or value.ndim not in (1, 2) or {matrix.dtype, value.dtype} != {FLOAT}:
        raise NotStaged("a solution of this")
    r.require_equal(*matrix.shape)
    r.require_equal(matrix.shape[0], value.shape[0])
    r.require(MOST_INLINE - matrix.shape[0])
    left, right = (a.materialise(r, m, always=True) for m in (matrix, value))
    eliminate(r, left, right if right.ndim == 2 else a.with_axes(r, right, (1,)))
    return right


def eliminate(r: Recorder, left: Array, right: Array) -> None:
    """Turn `left` into the identity, and `right` into the solution, both in place (partial pivoting)."""
    n, dtype = left.shape[0], left.dtype
    assert left.view is not None and right.view is not None

    def size(indices: tuple[Poly, ...]) -> str:
        return r.compute("absolute", [left.element(indices)], [dtype], dtype)

    with r.loop(ZERO, n, varying=True) as k:
        pivot = k + a.search(r, "greater", (n - k,), dtype, lambda i: size((k + i, k)))
        r.facts.natural.append(n - 1 - pivot)
        r.stop(r.compute("equal", [left.element((pivot, k)), r.literal(0, dtype)], [dtype] * 2, BOOL))
        for m in (left, right):
            view = m.view
            assert view is not None
            with r.loop(ZERO, m.shape[1]) as j:
                upper, lower = m.element((k, j)), m.element((pivot, j))
                r.store(view, dtype, (k, j), lower)
                r.store(view, dtype, (pivot, j), upper)
        scale = r.compute("divide", [r.literal(1, dtype), left.element((k, k))], [dtype] * 2, dtype)
        for m in (left, right):
            view = m.view
            assert view is not None
            with r.loop(ZERO, m.shape[1]) as j:
                r.store(view, dtype, (k, j), r.compute("multiply", [m.element((k, j)), scale], [dtype] * 2, dtype))
        with r.loop(ZERO, n) as i:
            with r.block() as then:
                factor = left.element((i, k))
                for m in (left, right):
                    view = m.view
                    assert view is not None
                    with r.loop(ZERO, m.shape[1]) as j:
                        part = r.compute("multiply", [factor, m.element((k, j))], [dtype] * 2, dtype)
                        rest = r.compute("subtract", [m.element((i, j)), part], [dtype] * 2, dtype)
                        r.store(view, dtype, (i, j), rest)
            r.choice(r.machine("!=", i, k), then, ())
    # Of nan and infinities LAPACK makes what depends on the order of its operations.
    with r.loop(ZERO, n) as i, r.loop(ZERO, right.shape[1]) as j:
        finite = r.compute("isfinite", [right.element((i, j))], [dtype], BOOL)
        r.stop(r.compute("logical_not", [finite], [BOOL], BOOL))
