"""Elements that masks and arrays of indices choose in staged functions: found, counted, computed, assigned to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from ...ir.ops.optable import OPS
from . import arrays as a
from . import subscripts
from .recorder import Recorder
from .registry import as_array, function
from .reshaping import in_c_order
from .scalars import dtypes_of, from_register, register_of
from .values import BOOL, INT, Array, NotStaged, dtype_of, is_number, is_static


def _mask(r: Recorder, array: Any) -> Array:
    return a.materialise(r, a.cast(r, as_array(r, array), BOOL))


def _places(r: Recorder, mask: Array) -> list[Array]:
    """For each axis the indices of the true elements: as in NumPy, columns of an array that has a row for each."""
    made = a.fresh(r, INT, (mask.size + 1, Poly.number(mask.ndim)))
    position = r.variable()
    r.put(position, r.integer(a.ZERO), INT)

    def body(indices: tuple[Poly, ...]) -> None:  # without a branch: the last row gets what is not chosen
        here = r.bounded(r.get(position, INT), 0, mask.size)
        for k, index in enumerate(indices):
            a.store(r, made, (here, Poly.number(k)), r.integer(index))
        r.put(position, r.integer(here + Poly.name(r.cast(mask.element(indices), BOOL, INT))), INT)

    r.choose_by_values()
    a.nest(r, mask.shape, body)
    count = r.bounded(r.get(position, INT), 0, mask.size)
    rows = a.in_memory(r, replaced(made.memory, whole=False), INT, (count, made.shape[1]))
    columns = [subscripts.view_of(r, rows, subscripts.axes_of(r, rows, [slice(None), k])) for k in range(mask.ndim)]
    return [replaced(column, column_of=(rows, k, mask.ndim)) for k, column in enumerate(columns)]


@function(np.nonzero, method="nonzero")
def nonzero(r: Recorder, array: Any) -> tuple[Array, ...]:
    """The indices of the elements that are not zero."""
    array = as_array(r, array)
    if not array.ndim:
        raise NotStaged("the indices of a number")
    return tuple(_places(r, _mask(r, array)))


@function(np.flatnonzero)
def _flatnonzero(r: Recorder, array: Any) -> Array:
    array = as_array(r, array)
    (found,) = _places(r, _mask(r, in_c_order(r, array, (array.size,))))
    return found


@function(np.argwhere)
def _argwhere(r: Recorder, array: Any) -> Array:
    array = as_array(r, array)
    if not array.ndim:
        raise NotStaged("the indices of a number")
    rows = [a.with_axes(r, row, (0,)) for row in _places(r, _mask(r, array))]
    made = a.fresh(r, INT, (Poly.number(array.ndim), rows[0].shape[1]))
    for k, row in enumerate(rows):
        axes = subscripts.axes_of(r, made, [slice(k, k + 1), slice(None)])
        a.assign(r, subscripts.view_of(r, made, axes), Array(INT, (a.ONE, made.shape[1]), row.element, row.reads))
    return a.transpose(r, made, (1, 0))


@function(method="compress")
def _compress_method(r: Recorder, array: Array, condition: Any, axis: Any = None) -> Array:
    return _compress(r, condition, array, axis)


@function(np.compress)
def _compress(r: Recorder, condition: Any, array: Any, axis: Any = None) -> Array:
    mask, array = as_array(r, condition), as_array(r, array)
    if mask.ndim != 1 or array.ndim != 1 or axis not in (None, 0):
        raise NotStaged("a compression along an axis")
    return subscripts.compress(r, array, _mask(r, mask))


@function(np.extract)
def _extract(r: Recorder, condition: Any, array: Any) -> Array:
    mask, array = as_array(r, condition), as_array(r, array)
    if mask.ndim != array.ndim:
        raise NotStaged("a condition of another shape")
    return subscripts.compress(r, array, _mask(r, mask))


@function(np.take, method="take")
def _take(r: Recorder, array: Any, indices: Any, axis: Any = None) -> Any:
    array = as_array(r, array)
    indices = as_array(r, indices) if isinstance(indices, (tuple, list)) and indices else indices
    array = in_c_order(r, array, (array.size,)) if axis is None and array.ndim > 1 else array
    if array.ndim != 1 or axis not in (None, 0) or not isinstance(indices, Array) or indices.dtype.kind not in "iu":
        raise NotStaged("elements along an axis")
    return subscripts.read(r, array, indices)


def _repeated(r: Recorder, values: Any, dtype: np.dtype, length: Poly) -> Any:
    """`values`, one behind the other, again and again; the procedure stops if there are none."""
    if is_number(values):
        return values
    values = a.materialise(r, as_array(r, values), always=True)
    if values.dtype != dtype or values.ndim != 1:
        raise NotStaged("values of another type or shape")
    extent = values.shape[0]
    r.require(extent - 1)

    def element(indices: tuple[Poly, ...]) -> str:
        place = r.machine("urem", indices[0], extent, [0], [extent - 1])
        return values.element((Poly.name(place),))

    same = r.machine(">=", extent, length)
    first = Array(dtype, (length,), element, values.reads)
    made = a.fresh(r, dtype, (length,))
    with r.block() as then:  # which is all of them, as a rule
        r.suppose(same, True)
        a.assign(r, made, Array(dtype, (length,), lambda i: values.element(i), values.reads))
    with r.block() as otherwise:
        a.assign(r, made, first)
    r.choice(same, then, otherwise)
    return made


def _target(array: Any) -> Array:
    if not isinstance(array, Array) or array.view is None or array.ndim != 1:
        raise NotStaged("an assignment to an array of several axes")
    return array


def _require_same_type(target: Array, values: Any) -> None:
    if is_number(values) and dtypes_of(np.add, [target, values])[-1] != target.dtype:
        raise NotStaged("a value of another type")


@function(np.put, method="put")
def _put(r: Recorder, array: Any, indices: Any, values: Any) -> None:
    target = _target(array)
    indices = a.materialise(r, as_array(r, indices))
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise NotStaged("indices of several axes")
    subscripts.assign(r, target, indices, _repeated(r, values, target.dtype, indices.shape[0]))


@function(np.putmask)
def _putmask(r: Recorder, array: Any, mask: Any, values: Any) -> None:
    target, mask = _target(array), _mask(r, mask)
    if mask.ndim != 1:
        raise NotStaged("a mask of several axes")
    r.require_equal(target.shape[0], mask.shape[0])
    values = _repeated(r, values, target.dtype, target.shape[0])
    _require_same_type(target, values)
    chosen = a.elementwise(r, "where", [mask, values, target], [BOOL, target.dtype, target.dtype], target.dtype)
    a.assign(r, target, chosen)


@function(np.place)
def _place(r: Recorder, array: Any, mask: Any, values: Any) -> None:
    if is_number(values) and isinstance(array, Array):
        mask = _mask(r, mask)
        if mask.ndim != array.ndim:
            raise NotStaged("a mask of another shape")
        _require_same_type(array, values)
        subscripts.assign(r, array, mask, values)
        return
    target, mask = _target(array), _mask(r, mask)
    if mask.ndim != 1:
        raise NotStaged("a mask of several axes")
    r.require_equal(target.shape[0], mask.shape[0])
    count = r.bounded(a.count_true(r, mask), 0, mask.shape[0])
    subscripts.assign(r, target, mask, _repeated(r, values, target.dtype, count))


def at(r: Recorder, called: np.ufunc, array: Any, index: Any, value: Any = None) -> None:
    """``ufunc.at``: one operation after the other, also where an element is chosen several times."""
    target = _target(array)
    places = subscripts.as_indices(r, index) if not is_number(index) else None
    if places is None or places.dtype.kind not in "iu" or places.ndim != 1 or called.nin != (1 if value is None else 2):
        raise NotStaged("indices of this kind")
    origins, dtype = target.memory.origins, target.dtype
    operands: list[Any] = [target] if value is None else [target, value]
    if value is not None:
        if is_static(value):
            value = operands[1] = np.asarray(value)[()]
        if not is_number(value):
            value = as_array(r, value)
            value = operands[1] = a.materialise(r, value, always=bool(value.reads & origins))
            a.require_fit(r, places.shape, value)
        elif not is_static(value) and value.python is not False:
            raise NotStaged("a number of Python's")
    dtypes = dtypes_of(called, operands)
    if any(d != dtype for d in dtypes) or (value is not None and dtype_of(value) != dtype):
        raise NotStaged("values of another type")
    places = a.materialise(r, places, always=bool(places.reads & origins))
    subscripts.check_indices(r, places, target.shape[0])
    r.choose_by_values()

    def body(indices: tuple[Poly, ...]) -> None:
        place = from_register(r, places.element(indices), places.dtype).poly
        k = (subscripts.wrapped(r, place, target.shape[0], True),)
        names = [target.element(k)]
        if value is not None:
            names.append(a.element_of(r, value, dtype, indices))
        a.store(r, target, k, r.compute(called.__name__, names, dtype))

    a.nest(r, places.shape, body)


def masked(r: Recorder, function: np.ufunc, values: list[Any], out: Any, where: Any) -> Array:
    """``function(*values, out=out, where=where)``: nothing is computed, and nothing raised, where the mask is false."""
    name = function.__name__
    if name not in OPS or function is np.power or function.nout != 1 or len(values) != function.nin:
        raise NotStaged(f"numpy.{name} under a mask")
    if not isinstance(out, Array) or out.view is None or not out.ndim:
        raise NotStaged("a mask without an output")
    mask = as_array(r, where)
    values = [as_array(r, v) if isinstance(v, (list, tuple)) else v for v in values]
    if mask.dtype != BOOL or not all(isinstance(v, Array) or is_number(v) for v in values):
        raise NotStaged(f"arguments of {name}")
    *operands, dtype = dtypes_of(function, values)
    arrays = [mask, *(v for v in values if isinstance(v, Array))]
    if not np.can_cast(dtype, out.dtype, "same_kind") or any(v.ndim > out.ndim for v in arrays):
        raise NotStaged("an output that does not fit")
    r.require_alike(out.shape, a.broadcast(r, [out.shape, *(v.shape for v in arrays)]))
    view, target = out.view, out.dtype
    chosen, *given = [
        a.materialise(r, v, always=bool(v.reads & view.origins)) if isinstance(v, Array) else register_of(r, v, d)
        for v, d in zip((mask, *values), (BOOL, *operands))
    ]

    def body(indices: a.Indices) -> None:
        with r.when(a.element_of(r, chosen, BOOL, indices)):
            names = [a.element_of(r, v, d, indices) if isinstance(v, Array) else v for v, d in zip(given, operands)]
            r.store(view, target, indices, r.cast(r.compute(name, names, operands, dtype), dtype, target))

    a.nest(r, out.shape, body)
    return out
