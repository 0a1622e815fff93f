"""Views, shapes and rearrangements of arrays in staged functions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...ir.integers import Poly
from . import arrays as a
from . import subscripts
from .arrays import ZERO
from .recorder import Recorder
from .registry import FUNCTIONS, as_array, function, shape_of, ufunc
from .reshaping import in_c_order
from .runtimelists import RunTimeList
from .scalars import dtypes_of, poly_of, static_integer
from .values import BOOL, LISTED, Array, NotStaged, dtype_of, integer, is_number, is_python_number
from .written_maps import spread

_MOST_PLACES = 22  # of which powers of ten are exact


@function(np.transpose, method="transpose")
def _transpose(r: Recorder, array: Array, *axes: Any) -> Array:
    order = list(axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes) or range(array.ndim)[::-1]
    numbers = [static_integer(k) for k in order]
    if sorted(k + array.ndim * (k < 0) for k in numbers) != list(range(array.ndim)):
        raise NotStaged("axes that do not exist, or not all of them")
    return a.transpose(r, array, [k % array.ndim for k in numbers])


@function(np.swapaxes, method="swapaxes")
def _swapaxes(r: Recorder, array: Any, axis1: Any, axis2: Any) -> Array:
    array = as_array(r, array)
    order, (one, other) = list(range(array.ndim)), (_axis(array.ndim, v) for v in (axis1, axis2))
    order[one], order[other] = other, one
    return a.transpose(r, array, order)


@function(np.moveaxis)
def _moveaxis(r: Recorder, array: Any, source: Any, destination: Any) -> Array:
    array = as_array(r, array)
    first, last = (_axis(array.ndim, v) for v in (source, destination))
    order = [k for k in range(array.ndim) if k != first]
    order.insert(last, first)
    return a.transpose(r, array, order)


@function(np.diagonal, method="diagonal")
def _diagonal(r: Recorder, array: Array) -> Array:
    """A view that must not be written; the array may be."""
    if array.ndim != 2:
        raise NotStaged("a diagonal of this")
    array = a.materialise(r, array)
    view = array.memory
    strides, origins = (view.strides[0] + view.strides[1],), view.origins | {LISTED}
    shape = (r.minimum(*array.shape),)
    return a.in_memory(r, subscripts.View(view.base, view.offset, strides, origins), array.dtype, shape)


@function(np.broadcast_to)
def _broadcast_to(r: Recorder, value: Any, shape: Any) -> Array:
    """A view that must not be written."""
    array, extents = a.materialise(r, as_array(r, value)), shape_of(r, shape)
    if array.ndim > len(extents):
        raise NotStaged("a shape with fewer axes")
    strides = [ZERO] * len(extents)
    for k in range(1, array.ndim + 1):
        if array.shape[-k] != a.ONE:
            r.require_equal(array.shape[-k], extents[-k])
            strides[-k] = array.memory.strides[-k]
    view = subscripts.View(array.memory.base, array.memory.offset, tuple(strides), array.memory.origins | {LISTED})
    return a.in_memory(r, view, array.dtype, extents)


@function(np.squeeze, method="squeeze")
def _squeeze(r: Recorder, array: Array, axis: Any = None) -> Array:
    if axis is None:
        axes = [k for k, extent in enumerate(array.shape) if extent == a.ONE]
        for k in set(range(array.ndim)).difference(axes):
            r.require(array.shape[k] - 2)
        if not axes and array.ndim:
            return array
    else:
        axes = [_axis(array.ndim, k) for k in (axis if isinstance(axis, tuple) else (axis,))]
        for k in axes:
            r.require_equal(array.shape[k], a.ONE)
    if len(axes) == array.ndim:
        raise NotStaged("an array of one number")
    return subscripts.read(r, array, tuple(0 if k in axes else slice(None) for k in range(array.ndim)))


@function(method="conj")
@function(method="conjugate")
def _conjugate(r: Recorder, array: Array) -> Array:
    """The array itself, if it is of no complex numbers."""
    return ufunc(r, np.conjugate, [array]) if array.dtype.kind == "c" else array


@function(np.real)
def _real(r: Recorder, array: Array) -> Array:
    return a.part(r, array, "real") if array.dtype.kind == "c" else array


@function(np.expand_dims)
def _expand_dims(r: Recorder, array: Array, axis: Any) -> Array:
    return a.with_axes(r, array, [_axis(array.ndim + 1, axis)])


@function(np.round, np.around, method="round")
def _round(r: Recorder, array: Any, decimals: Any = 0) -> Any:
    """As NumPy does: by a product, the nearest integer and a quotient."""
    value, places = array if is_number(array) else as_array(r, array), static_integer(decimals)
    is_numpys = isinstance(value, Array) or is_python_number(value) is False
    if not is_numpys or dtype_of(value).kind != "f" or abs(places) > _MOST_PLACES:
        raise NotStaged("rounding of what are no floats of NumPy's")
    if not places:
        return ufunc(r, np.rint, [value])
    scale = float(10 ** abs(places))
    before, behind = (np.multiply, np.divide) if places > 0 else (np.divide, np.multiply)
    return ufunc(r, behind, [ufunc(r, np.rint, [ufunc(r, before, [value, scale])]), scale])


def _axis(ndim: int, axis: Any) -> int:
    """An axis by its number from the front."""
    k = static_integer(axis)
    if not -ndim <= k < ndim:
        raise NotStaged("an axis that does not exist")
    return k % ndim


@function(np.roll)
def _roll(r: Recorder, array: Array, shift: Any, axis: Any = None) -> Array:
    if axis is None and array.ndim > 1:
        return in_c_order(r, _roll(r, in_c_order(r, array, (array.size,)), shift), array.shape)
    k = _axis(array.ndim, 0 if axis is None else axis)
    extent, by = array.shape[k], -poly_of(r, shift)
    r.require(extent - 1)
    r.facts.natural.append(extent - 1)
    if r.facts.is_at_least(by + extent) and r.facts.is_at_least(-by, 1):
        by = by + extent
    elif not (r.facts.is_at_least(by) and r.facts.is_at_least(extent - by, 1)):
        by = Poly.name(r.machine("mod", by, extent, [0], [extent - 1]))
    return a.rolled(r, array, by, k)


@function(np.concatenate)
def _concatenate(r: Recorder, parts: Any, axis: Any = 0) -> Array:
    if isinstance(parts, RunTimeList):
        return _joined_rows(r, as_array(r, parts), axis)
    if not isinstance(parts, (tuple, list)):
        raise NotStaged("arrays in an array")
    arrays = [as_array(r, p) for p in parts]
    ndim = arrays[0].ndim
    k = _axis(ndim, axis)
    if any(p.ndim != ndim for p in arrays):
        raise NotStaged("shapes that do not fit")
    total = ZERO
    for p in arrays:
        total = total + p.shape[k]
        for m in range(ndim):
            if m != k:
                r.require_equal(p.shape[m], arrays[0].shape[m])
    dtype = np.result_type(*(p.dtype for p in arrays))
    made = a.fresh(r, dtype, (*arrays[0].shape[:k], total, *arrays[0].shape[k + 1 :]))
    start = ZERO
    for p in arrays:
        axes = [subscripts.Axis(e, start if m == k else ZERO, 1, m) for m, e in enumerate(p.shape)]
        a.assign(r, subscripts.view_of(r, made, axes), p)
        start = start + p.shape[k]
    return made


@function(np.append)
def _append(r: Recorder, arr: Any, values: Any, axis: Any = None) -> Array:
    if any(is_number(p) and is_python_number(p) is None for p in (arr, values)):
        raise NotStaged("a number that may be Python's")
    parts = [as_array(r, [p] if is_number(p) else p) for p in (arr, values)]
    if axis is not None:
        return _concatenate(r, parts, axis)
    return _concatenate(r, [p if p.ndim == 1 else in_c_order(r, p, (p.size,)) for p in parts])


def joined(r: Recorder, parts: tuple[Any, ...], are_columns: bool) -> Array:
    """``np.r_[parts]`` or ``np.c_[parts]`` of numbers and arrays with one axis."""
    if any(isinstance(p, (slice, str)) for p in parts):
        raise NotStaged("a range that is joined to others")
    arrays = [as_array(r, [p] if is_number(p) else p) for p in parts]
    if any(p.ndim != 1 for p in arrays):
        raise NotStaged("arrays of several axes that are joined")
    weak = [is_number(p) and is_python_number(p) is not False for p in parts]
    if any(is_number(p) and is_python_number(p) is None for p in parts):
        raise NotStaged("a number that may be Python's")
    dtype = np.result_type(*(p.dtype.type(0).item() if w else p.dtype for w, p in zip(weak, arrays)))
    arrays = [a.cast(r, p, dtype) for p in arrays]
    return _columns(r, arrays) if are_columns else _concatenate(r, arrays)


@function(np.column_stack)
def _columns(r: Recorder, parts: Any) -> Array:
    arrays = [as_array(r, p) for p in parts] if isinstance(parts, (tuple, list)) else []
    if not arrays or any(p.ndim != 1 for p in arrays):
        raise NotStaged("columns of several axes")
    made = a.fresh(r, np.result_type(*(p.dtype for p in arrays)), (arrays[0].shape[0], Poly.number(len(arrays))))
    for k, p in enumerate(arrays):
        r.require_equal(p.shape[0], made.shape[0])
        a.assign(r, subscripts.read(r, made, (slice(None), k)), p)
    return made


def _bounds(places: Any) -> list[Any]:
    if not isinstance(places, (tuple, list)):
        raise NotStaged("as many parts as values decide on")
    return [None, *places, None]


@function(np.split)
def _split(r: Recorder, array: Array, indices_or_sections: Any, axis: Any = 0) -> list[Array]:
    if not is_number(indices_or_sections):
        return _parts(r, array, _bounds(indices_or_sections), _axis(array.ndim, axis))
    count, extent = static_integer(indices_or_sections), array.shape[_axis(array.ndim, axis)]
    if count < 1:
        raise NotStaged("no sections")
    r.require_equal(count * Poly.name(r.machine("udiv", extent, Poly.number(count), [0], [extent])), extent)
    return _array_split(r, array, count, axis)


@function(np.array_split)
def _array_split(r: Recorder, array: Array, indices_or_sections: Any, axis: Any = 0) -> list[Array]:
    k = _axis(array.ndim, axis)
    if not is_number(indices_or_sections):
        return _parts(r, array, _bounds(indices_or_sections), k)
    count, extent = static_integer(indices_or_sections), array.shape[k]
    if count < 1:
        raise NotStaged("no sections")
    each = Poly.name(r.machine("udiv", extent, Poly.number(count), [0], [extent]))
    longer = extent - count * each  # so many have one element more, the first ones
    bounds = [integer(n * each + r.minimum(Poly.number(n), longer)) for n in range(count + 1)]
    return _parts(r, array, bounds, k)


@function(np.hsplit)
def _hsplit(r: Recorder, array: Array, indices_or_sections: Any) -> list[Array]:
    return _split(r, array, indices_or_sections, min(array.ndim - 1, 1))


@function(np.vsplit)
def _vsplit(r: Recorder, array: Array, indices_or_sections: Any) -> list[Array]:
    if array.ndim < 2:
        raise NotStaged("rows of what has none")
    return _split(r, array, indices_or_sections)


def _parts(r: Recorder, array: Array, bounds: list[Any], axis: int) -> list[Array]:
    """Views of an array between neighbouring bounds along an axis."""
    array = a.materialise(r, array)
    whole = [slice(None)] * axis
    return [subscripts.read(r, array, (*whole, slice(*pair))) for pair in itertools.pairwise(bounds)]


def _joined_rows(r: Recorder, rows: Array, axis: Any) -> Array:
    """Arrays of one shape, given as rows of one, behind each other along their first axis."""
    if rows.ndim < 2 or static_integer(axis) != 0:
        raise NotStaged("a list of arrays that are joined along another axis")
    return a.materialise(r, in_c_order(r, rows, (rows.shape[0] * rows.shape[1], *rows.shape[2:])), always=True)


@function(np.stack)
def _stack(r: Recorder, parts: Any, axis: Any = 0) -> Array:
    if not isinstance(parts, (tuple, list, RunTimeList)):
        raise NotStaged("arrays in an array")
    made, axis = as_array(r, parts), static_integer(axis)
    if axis and -made.ndim <= axis < made.ndim:
        at = axis % made.ndim
        shape = (*made.shape[1 : at + 1], made.shape[0], *made.shape[at + 1 :])
        turned = Array(made.dtype, shape, lambda i: made.element((i[at], *i[:at], *i[at + 1 :])), made.reads)
        return a.materialise(r, turned, always=True)
    if axis != 0:
        raise NotStaged("arrays stacked along another axis")
    return a.materialise(r, made, always=isinstance(parts, RunTimeList))


@function(np.vstack)
def _vstack(r: Recorder, parts: Any) -> Array:
    if not isinstance(parts, (tuple, list, RunTimeList)):
        raise NotStaged("arrays in an array")
    made = as_array(r, parts) if isinstance(parts, RunTimeList) else [as_array(r, p) for p in parts]
    if isinstance(made, Array):
        return _stack(r, parts) if made.ndim == 2 else _joined_rows(r, made, 0)
    if all(p.ndim == 1 for p in made):
        return as_array(r, made)
    return _concatenate(r, [in_c_order(r, p, (a.ONE, p.shape[0])) if p.ndim == 1 else p for p in made])


@function(np.hstack)
def _hstack(r: Recorder, parts: Any) -> Array:
    made = as_array(r, parts) if isinstance(parts, RunTimeList) else [as_array(r, p) for p in parts]
    if isinstance(made, Array):
        if made.ndim != 2:
            raise NotStaged("arrays beside each other")
        return _joined_rows(r, made, 0)
    if len({p.ndim == 1 for p in made}) > 1:
        raise NotStaged("arrays beside each other")
    return _concatenate(r, made, 0 if made[0].ndim == 1 else 1)


@function(np.where)
def _where(r: Recorder, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return FUNCTIONS[np.nonzero](r, condition)
    values = [v if is_number(v) else as_array(r, v) for v in (x, y)]
    dtype = dtypes_of(np.add, values)[-1] if any(dtype_of(v) != BOOL for v in values) else BOOL
    condition = as_array(r, condition)
    if condition.dtype != BOOL:
        raise NotStaged("a condition that is no truth value")
    return a.elementwise(r, "where", [condition, *values], [BOOL, dtype, dtype], dtype)


@function(np.clip)
def _clip_function(
    r: Recorder, array: Any, a_min: Any = ..., a_max: Any = ..., min: Any = None, max: Any = None
) -> Any:
    if (a_min is ...) != (a_max is ...):
        raise NotStaged("clip with one bound by position")
    return _clip(r, array, min, max) if a_min is ... else _clip(r, array, a_min, a_max)


@function(method="clip")
def _clip(r: Recorder, array: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if a_min is not None else min), (a_max if a_max is not None else max)
    if low is None and high is None:
        raise NotStaged("clip without bounds")
    has_both = low is not None and high is not None
    for limit, bound in ((np.maximum, low), (np.minimum, high)):
        if bound is not None:  # of equal numbers the second one is taken
            array = ufunc(r, limit, [bound, array] if has_both and is_number(bound) else [array, bound])
    return array


@function(np.shape)
def _shape(r: Recorder, array: Any) -> Any:
    return tuple(integer(e) for e in as_array(r, array).shape)


@function(np.ndim)
def _ndim(r: Recorder, value: Any) -> int:
    return as_array(r, value).ndim if isinstance(value, (Array, tuple, list, RunTimeList)) else 0


@function(np.size)
def _size(r: Recorder, array: Any) -> Any:
    return integer(as_array(r, array).size)


@function(spread)
def _spread(r: Recorder, x: Any, *others: Any) -> Array:
    shape = a.broadcast(r, [v.shape for v in (x, *others) if isinstance(v, Array)])
    dtype = dtype_of(x)
    return Array(
        dtype, shape, lambda at: a.element_of(r, x, dtype, at), x.reads if isinstance(x, Array) else frozenset()
    )
