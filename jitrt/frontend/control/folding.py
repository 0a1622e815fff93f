"""Sums, means, extremes and their places in staged functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.integers import Poly
from . import arrays as a
from .arrays import ZERO
from .recorder import Recorder
from .registry import FUNCTIONS, METHODS, Handler, as_array, function, known_dtype, ufunc
from .reshaping import in_c_order
from .scalars import from_register, register_of, static_integer
from .values import BOOL, FLOAT, INT, Array, NotStaged, Scalar, integer, is_static


def _axes(array: Array, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(array.ndim))
    given = axis if type(axis) is tuple else [axis]
    axes = tuple(sorted(static_integer(k) for k in given))
    if any(not -array.ndim <= k < array.ndim for k in axes):
        raise NotStaged("an axis that does not exist")
    found = {k % array.ndim for k in axes}
    if len(found) < len(axes):
        raise NotStaged("the same axis twice")
    return tuple(sorted(found))


def _are_kept(keepdims: Any) -> bool:
    if not isinstance(keepdims, (bool, int)):
        raise NotStaged("keepdims that is no truth value")
    return bool(keepdims)


def _folding(op: str, dtype_for: Callable[[np.dtype], np.dtype], needs_elements: bool) -> Handler:
    def reduce(r: Recorder, array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        array = as_array(r, array)
        made = dtype_for(array.dtype) if dtype is None else known_dtype(dtype)
        axes = _axes(array, axis)
        if needs_elements:
            for k in axes:
                r.require(array.shape[k] - 1)
        if made.kind == "c" and op != "add":
            raise NotStaged("an extreme of complex numbers")
        return a.fold(r, op, array, axes, _are_kept(keepdims), made)

    return reduce


def _sum_dtype(dtype: np.dtype) -> np.dtype:
    return np.add.reduce(np.zeros(0, dtype)).dtype


REDUCED: dict[np.ufunc, Any] = {}
"""The functions that `reduce` of ufuncs is, but for another default axis."""

for _names, _op, _dtype_for, _needs in (
    ("sum", "add", _sum_dtype, False), ("prod", "multiply", _sum_dtype, False),
    ("max amax", "maximum", lambda d: d, True), ("min amin", "minimum", lambda d: d, True),
    ("any", "logical_or", lambda d: BOOL, False), ("all", "logical_and", lambda d: BOOL, False),
):  # fmt: skip
    for _name in _names.split():
        FUNCTIONS[getattr(np, _name)] = METHODS[_name] = _folding(_op, _dtype_for, _needs)
        REDUCED[getattr(np, _op)] = getattr(np, _name)


_COUNTS_ARE_PYTHONS = type(np.count_nonzero(np.zeros(1))) is int  # before NumPy 2.4


@function(np.count_nonzero)
def _count_nonzero(r: Recorder, array: Any) -> Any:
    truths = a.cast(r, as_array(r, array), BOOL)
    return integer(r.bounded(a.count_true(r, truths), 0, truths.size), INT, _COUNTS_ARE_PYTHONS)


def _count(array: Array, axes: tuple[int, ...]) -> Poly:
    count = Poly.number(1)
    for k in axes:
        count = count * array.shape[k]
    return count


@function(np.mean, method="mean")
def _mean(r: Recorder, array: Any, axis: Any = None, keepdims: bool = False) -> Any:
    array = as_array(r, array)
    axes = _axes(array, axis)
    count = _count(array, axes)
    r.require(count - 1)
    dtype = array.dtype if array.dtype.kind in "fc" else FLOAT
    total = a.fold(r, "add", array, axes, _are_kept(keepdims), dtype)
    return _divided(r, total, count, dtype)


def _divided(r: Recorder, total: Any, count: Poly, dtype: np.dtype) -> Any:
    by = r.cast(r.integer(count), INT, dtype)
    if isinstance(total, Scalar):
        return Scalar(dtype, False, r.compute("divide", [register_of(r, total, dtype), by], dtype))
    return a.elementwise(r, "divide", [total, Scalar(dtype, False, by)], [dtype] * 2, dtype)


def _variance(
    r: Recorder, array: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False, root: bool = False
) -> Any:
    array = as_array(r, array)
    if array.dtype.kind == "c":
        raise NotStaged("a variance of complex numbers")
    axes = _axes(array, axis)
    dtype = array.dtype if array.dtype.kind == "f" else FLOAT
    count = _count(array, axes)
    degrees = count - static_integer(ddof)
    r.require(degrees - 1)
    r.require(count - 1)
    array = a.materialise(r, array)
    centre = _divided(r, a.fold(r, "add", array, axes, True, dtype), count, dtype)
    if len(axes) == array.ndim and isinstance(centre, Array):
        centre = from_register(r, centre.element((ZERO,) * array.ndim), dtype)
    elif isinstance(centre, Array):
        centre = a.materialise(r, centre)
    apart = a.elementwise(r, "subtract", [array, centre], [dtype] * 2, dtype)

    def squared(indices: tuple[Poly, ...]) -> str:
        name = apart.element(indices)
        return r.compute("multiply", [name, name], dtype)

    squares = Array(dtype, apart.shape, squared, apart.reads)
    made = _divided(r, a.fold(r, "add", squares, axes, _are_kept(keepdims), dtype), degrees, dtype)
    return ufunc(r, np.sqrt, [made]) if root else made


@function(np.var, method="var")
def _var(r: Recorder, array: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    return _variance(r, array, axis, ddof, keepdims)


@function(np.std, method="std")
def _std(r: Recorder, array: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    return _variance(r, array, axis, ddof, keepdims, root=True)


def _searching(op: str) -> Handler:
    def search(r: Recorder, array: Any, axis: Any = None) -> Any:
        array = as_array(r, array)
        if array.dtype == BOOL:
            array = a.cast(r, array, np.dtype(np.int8))
        array = a.materialise(r, array)
        if array.dtype.kind not in "iuf":
            raise NotStaged("the place of an extreme")
        if type(axis) is tuple:
            raise NotStaged("the place of an extreme along several axes")
        axes = _axes(array, axis)
        if axis is None or array.ndim == 1:
            flat = in_c_order(r, array, (array.size,))
            found = a.search(r, op, flat.shape, flat.dtype, lambda i: flat.element((i,)))
            return integer(found, INT, False)
        (k,) = axes
        r.require(array.shape[k] - 1)  # also where there are no rows
        shape = (*array.shape[:k], *array.shape[k + 1 :])

        def element(indices: tuple[Poly, ...]) -> str:
            at = lambda i: array.element((*indices[:k], i, *indices[k:]))  # noqa: E731
            return r.integer(a.search(r, op, (array.shape[k],), array.dtype, at))

        return a.materialise(r, Array(INT, shape, element, array.reads))

    return search


for _name, _op in (("argmax", "greater"), ("argmin", "less")):
    FUNCTIONS[getattr(np, _name)] = METHODS[_name] = _searching(_op)


# For each order of a norm of vectors the ufunc of each element, and the fold.
_NORMS: dict[Any, tuple[np.ufunc, str]] = {
    None: (np.multiply, "add"), 2: (np.multiply, "add"), 1: (np.absolute, "add"),
    np.inf: (np.absolute, "maximum"), -np.inf: (np.absolute, "minimum"),
}  # fmt: skip


@function(np.linalg.norm)
def _norm(r: Recorder, array: Array, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    array = a.materialise(r, as_array(r, array))
    if array.dtype.kind not in "fiuc":
        raise NotStaged(f"a norm of {array.dtype}")
    axes = _axes(array, axis)
    if ord in ("fro", "f") and len(axes) == 2:
        ord = None
    if not (ord is None or is_static(ord)) or ord not in _NORMS or (ord is not None and len(axes) != 1):
        raise NotStaged("a norm of that order")
    if len(axes) > 2 and axis is not None:
        raise NotStaged("a norm along more than two axes")
    flat = a.materialise(r, a.cast(r, array, FLOAT)) if array.dtype.kind in "iu" else array
    of_element, fold = _NORMS[ord]
    if fold != "add":
        r.require(flat.shape[axes[0]] - 1)
    if flat.dtype.kind == "c" and of_element is np.multiply:
        parts = [a.part(r, flat, name) for name in ("real", "imag")]
        elements = a.call_ufunc(r, np.add, [a.call_ufunc(r, np.multiply, [part] * 2) for part in parts])
    else:
        elements = a.call_ufunc(r, of_element, [flat] * of_element.nin)
    made = a.fold(r, fold, elements, axes, _are_kept(keepdims), elements.dtype)
    return ufunc(r, np.sqrt, [made]) if of_element is np.multiply else made
