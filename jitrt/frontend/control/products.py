"""Products, inverses and solutions of small matrices in staged functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from ...ir.loops import POINTER
from ...kernels import external
from . import arrays as a
from .arrays import ONE, ZERO, Indices
from .creation import eye
from .recorder import Recorder
from .registry import as_array, function
from .scalars import loop_dtypes
from .values import BOOL, FLOAT, INT, Array, NotStaged, View, integer, is_number
from .written import MOST_INLINE


@function(np.outer)
def _outer(r: Recorder, x: Any, y: Any) -> Array:
    x, y = as_array(r, x), as_array(r, y)
    if x.ndim != 1 or y.ndim != 1:
        raise NotStaged("an outer product of matrices")
    return a.call_ufunc(r, np.multiply, [a.with_axes(r, x, (1,)), a.with_axes(r, y, (0,))])


@function(np.dot, np.matmul, method="dot")
def product(r: Recorder, x: Any, y: Any) -> Any:
    """``x @ y`` of vectors and matrices: of small ones a loop, of large ones BLAS's, where this process has it."""
    if is_number(x) or is_number(y):
        raise NotStaged("a product with a number")
    x, y = as_array(r, x), as_array(r, y)
    if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2):
        raise NotStaged("a product of arrays of three axes")
    *operands, dtype = loop_dtypes(np.multiply, (x.dtype, y.dtype))
    if dtype.kind not in "fiuc":
        raise NotStaged(f"a product of arrays of {dtype}")
    if dtype.kind == "c" and x.ndim + y.ndim > 2:  # as NumPy does for BLAS
        x, y = (a.cast(r, m, dtype) if m.dtype != dtype else m for m in (x, y))
    x, y = a.materialise(r, x), a.materialise(r, y)
    r.require_equal(x.shape[-1], y.shape[0])
    if x.ndim == y.ndim == 1:
        return a.fold(r, "add", a.elementwise(r, "multiply", [x, y], operands, dtype), (0,), False, dtype)
    r.has_products = True
    made = a.fresh(r, dtype, (*x.shape[:-1], *y.shape[1:]))
    letter = {"F": "c", "D": "z"}.get(dtype.char, dtype.char)
    symbol = external.symbol(f"blas.cblas_{letter}{'gemv' if made.ndim == 1 else 'gemm'}")
    call = None if symbol is None or {x.dtype, y.dtype} != {dtype} else _call_of_blas(r, x, y, made)
    if call is None:
        _by_loops(r, x, y, made)
        return made
    work = math.prod((*x.shape, *y.shape[1:]), start=ONE)
    is_small = r.machine("<=", work, Poly.number(_SMALL[dtype.kind][made.ndim == 2]))
    with r.block() as small:
        r.suppose(is_small, True)
        _by_loops(r, x, y, made)
    with r.block() as large:
        args = call()
        types = [POINTER if isinstance(v, View) else dtype if isinstance(v, float) else INT for v in args]
        r.external(symbol, [_register(r, v, dtype) for v in args], types, INT)
    r.choice(is_small, small, large)
    return made


# Multiplications of a matrix with a vector, and with a matrix, that no call is worth.
_SMALL = {"f": (1 << 14, 1 << 12), "c": (1 << 5, 1 << 5)}
_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112  # CBLAS's constants


def _register(r: Recorder, value: View | float | Poly | int, dtype: np.dtype) -> str:
    if isinstance(value, View):
        return r.address(value)
    return r.literal(value, dtype) if isinstance(value, float) else r.integer(ZERO + value)


def _by_loops(r: Recorder, x: Array, y: Array, made: Array) -> None:
    """The product, along memory where that is possible."""
    dtype = made.dtype

    def part(at: Indices, to: Indices) -> str:
        names = [r.cast(m.element(i), m.dtype, dtype) for m, i in ((x, at), (y, to))]
        return r.compute("multiply", names, dtype)

    if y.ndim == 1 and x.memory.strides[0].constant != dtype.itemsize:

        def row(at: Indices) -> str:
            return a.fold_all(r, "add", dtype, y.shape, lambda k: part((*at, *k), k))

        a.assign(r, made, Array(dtype, made.shape, row, frozenset()))
        return
    a.assign(r, made, dtype.type(0))

    def body(indices: Indices) -> None:
        k = indices[-2] if made.ndim == 2 else indices[0]
        i, j = indices[: x.ndim - 1] if y.ndim == 2 else indices[1:], indices[-1:] if y.ndim == 2 else ()
        at = (*i, *j)
        total = r.compute("add", [made.element(at), part((*i, k), (k, *j))], dtype)
        a.store(r, made, at, total)

    outer = x.shape if y.ndim == 2 else (x.shape[1], x.shape[0])
    a.nest(r, (*outer, *y.shape[1:]), body)


def _call_of_blas(r: Recorder, x: Array, y: Array, made: Array) -> Callable[[], list[Any]] | None:
    """The arguments of BLAS's function; None where it cannot work on the matrices as they lie in memory."""
    places: list[Any] = [_leading(r, m) for m in (x, y)]
    if None in places:
        return None

    def call() -> list[Any]:
        (turned, step, first), (its_turned, its_step, second) = places
        one, zero = _one_and_zero(r, made.dtype)
        if made.ndim == 2:
            flags = [_TRANSPOSED if t else _AS_IT_IS for t in (turned, its_turned)]
            sizes = [x.shape[0], y.shape[1], x.shape[1]]
            rest = [one, first, step, second, its_step, zero, made.memory, made.shape[1]]
            return [_ROW_MAJOR, *flags, *sizes, *rest]
        matrix, turns = (x, turned) if x.ndim == 2 else (y, not its_turned)
        in_memory, across = ((first, step), (second, its_step))[:: 1 if x.ndim == 2 else -1]
        rows, columns = matrix.shape[:: -1 if turns == (x.ndim == 2) else 1]
        return [
            _ROW_MAJOR, _TRANSPOSED if turns else _AS_IT_IS, rows, columns,
            one, *in_memory, *across, zero, made.view, 1,
        ]  # fmt: skip

    return call


def _one_and_zero(r: Recorder, dtype: np.dtype) -> tuple[View | float, View | float]:
    """The factors of BLAS's functions, which take complex numbers by their addresses."""
    if dtype.kind != "c":
        return 1.0, 0.0
    held = a.fresh(r, dtype, (Poly.number(2),))
    for k, value in enumerate((1, 0)):
        a.store(r, held, (Poly.number(k),), r.literal(value, dtype))
    return held.memory, replaced(held.memory, offset=held.memory.offset + dtype.itemsize)


def _leading(r: Recorder, m: Array) -> tuple[bool, Poly, View] | None:
    """Whether a matrix lies in memory by columns, and the distance of its rows or columns; of a vector, of elements."""
    view, size = m.memory, m.dtype.itemsize
    for axis in range(m.ndim):
        step, others = view.strides[axis], view.strides[:axis] + view.strides[axis + 1 :]
        across = math.prod(m.shape[:axis] + m.shape[axis + 1 :], start=Poly.number(size))
        is_whole = all(c % size == 0 for _, c in step.terms)
        if is_whole and all(s.constant == size for s in others) and r.facts.is_at_least(step - across):
            return axis == 1, Poly.of([(n, c // size) for n, c in step.terms]), view
    return None


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

    def size(indices: tuple[Poly, ...]) -> str:
        return r.compute("absolute", [left.element(indices)], dtype)

    with r.loop(ZERO, n, varying=True) as k:
        pivot = k + a.search(r, "greater", (n - k,), dtype, lambda i: size((k + i, k)))
        r.facts.natural.append(n - 1 - pivot)
        r.stop(r.compute("equal", [left.element((pivot, k)), r.literal(0, dtype)], dtype, BOOL))
        for m in (left, right):
            with r.loop(ZERO, m.shape[1]) as j:
                upper, lower = m.element((k, j)), m.element((pivot, j))
                a.store(r, m, (k, j), lower)
                a.store(r, m, (pivot, j), upper)
        scale = r.compute("divide", [r.literal(1, dtype), left.element((k, k))], dtype)
        for m in (left, right):
            with r.loop(ZERO, m.shape[1]) as j:
                a.store(r, m, (k, j), r.compute("multiply", [m.element((k, j)), scale], dtype))
        with r.loop(ZERO, n) as i, r.when(r.machine("!=", i, k)):
            factor = left.element((i, k))
            for m in (left, right):
                with r.loop(ZERO, m.shape[1]) as j:
                    part = r.compute("multiply", [factor, m.element((k, j))], dtype)
                    rest = r.compute("subtract", [m.element((i, j)), part], dtype)
                    a.store(r, m, (i, j), rest)
    # Of nan and infinities LAPACK makes what depends on the order of its operations.
    with r.loop(ZERO, n) as i, r.loop(ZERO, right.shape[1]) as j:
        finite = r.compute("isfinite", [right.element((i, j))], dtype, BOOL)
        r.stop(r.compute("logical_not", [finite], BOOL))
