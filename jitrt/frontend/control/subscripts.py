"""Subscripts of arrays in staged functions: elements, views, masks and arrays of indices, read and assigned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.frozen import frozen, replaced
from ...ir.integers import Poly
from ...ir.loops import Fold
from . import arrays as a
from . import complexnumbers
from .arrays import ONE, ZERO
from .recorder import Recorder
from .scalars import from_register, index_of, poly_of
from .values import BOOL, INT, Array, Complex, NotStaged, View, dtype_of, is_number


@frozen(eq=False)
class Axis:
    """What a subscript does with an axis of the array, or with none (``np.newaxis``).

    Parameters
    ----------
    extent : Poly
        Of the axis of the result.
    start, step : int or Poly
        The index in the array is ``start + step * index``.
    source : int
        The axis of the array; -1 for a new one.
    kept : bool
        Whether the result has an axis for it.
    """

    extent: Poly
    start: Poly
    step: int | Poly
    source: int
    kept: bool = True


def wrapped(r: Recorder, index: Poly, extent: Poly, checked: bool = False) -> Poly:
    """An index as it counts from the beginning; the procedure stops where there is no such element.

    If it is `checked` there is one.
    """
    if r.trusts:
        return index
    if r.facts.is_at_least(index):
        r.require(extent - 1 - index)
        return index
    if r.facts.is_at_least(-index, 1):
        r.require(index + extent)
        return index + extent
    name = r.integer(index)
    negative = r.machine("<", index, ZERO)
    other = r.integer(index + extent)
    found = r.compute("where", [negative, other, name], [BOOL, INT, INT], INT)
    if checked:
        r.facts.bound(found, [0], [extent - 1])
        return Poly.name(found)
    if found not in r.facts:
        r.facts.bound(found, [], [])
    r.stop(
        r.compute(
            "logical_or",
            [r.machine("<", Poly.name(found), ZERO), r.machine(">=", Poly.name(found), extent)],
            [BOOL, BOOL],
            BOOL,
        )
    )
    r.facts.bound(found, [0], [extent - 1])
    return Poly.name(found)


def _bound(r: Recorder, value: Poly, extent: Poly) -> Poly:
    """Where a slice begins or ends, by Python's rules for steps that are positive."""
    r.choose(value)
    if r.facts.is_at_least(value):
        return r.minimum(value, extent)
    if r.facts.is_at_least(-value, 1):
        return r.maximum(value + extent, ZERO)
    return r.minimum(r.maximum(_counted(r, value, extent), ZERO), extent)


def _counted(r: Recorder, value: Poly, extent: Poly) -> Poly:
    """A bound of a slice as it counts from the beginning, which may be far outside."""
    negative = r.machine("<", value, ZERO)
    names = [r.integer(value + extent), r.integer(value)]
    counted = r.compute("where", [negative, *names], [BOOL, INT, INT], INT)
    if counted not in r.facts:
        low, high = r.facts.interval(value)
        r.facts.bound(counted, [min(low, 0)], [max(high, r.facts.interval(extent)[1])])
    return Poly.name(counted)


def sliced(r: Recorder, item: slice, extent: Poly, source: int) -> Axis:
    """What a slice of an axis is."""
    step = 1 if item.step is None else _step(r, item.step)
    if step == 0:
        raise NotStaged("a slice of step zero")
    if isinstance(step, Poly) or step > 0:
        first, last = (None if bound is None else index_of(r, bound) for bound in (item.start, item.stop))
        start = ZERO if first is None else _bound(r, first, extent)
        stop = extent if last is None else _bound(r, last, extent)
        length = r.maximum(stop - start, ZERO)
        if step == 1:
            is_one = first is not None and last is not None and last - first == ONE and r.facts.is_at_least(first)
            if is_one and length.constant is None:  # ``k:k + 1``, which is broadcast as such, unless it is empty
                r.require_equal(length, ONE)
                length = ONE
            return Axis(length, start, 1, source)
        by = step if isinstance(step, Poly) else Poly.number(step)
        count = Poly.name(r.machine("udiv", length + by - 1, by, [0], [length]))
        return Axis(count, start, step, source)
    start, stop = _downwards(r, item, extent)
    r.choose(start, stop)
    return Axis(r.in_steps(r.maximum(start - stop, ZERO), -step), start, step, source)


def _step(r: Recorder, value: Any) -> int | Poly:
    """A step: a number, or one of run time that is known to be positive or stops the procedure."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    step = index_of(r, value)
    r.require(step - 1)
    r.require((1 << 31) - step)
    return step


def _downwards(r: Recorder, item: slice, extent: Poly) -> tuple[Poly, Poly]:
    """Where a slice of negative step begins, and where it has ended, which is -1 at the earliest."""
    start = extent - 1 if item.start is None else _from_behind(r, item.start, extent)
    stop = Poly.number(-1) if item.stop is None else _from_behind(r, item.stop, extent)
    return start, stop


def _from_behind(r: Recorder, bound: Any, extent: Poly) -> Poly:
    """A bound of a slice of negative step, from -1 to the last element."""
    value = index_of(r, bound)
    if r.facts.is_at_least(value):
        return r.minimum(value, extent - 1)
    if r.facts.is_at_least(-value, 1):
        return r.maximum(value + extent, Poly.number(-1))
    return r.minimum(r.maximum(_counted(r, value, extent), Poly.number(-1)), extent - 1)


def items_of(index: Any) -> list[Any]:
    """The parts of a subscript."""
    return list(index) if isinstance(index, tuple) else [index]


def _is_advanced(item: Any) -> bool:
    return (isinstance(item, (Array, list)) or (isinstance(item, np.ndarray) and item.ndim > 0)) or (
        is_number(item) and dtype_of(item) == BOOL
    )


def _is_mask_of_parts(items: Sequence[Any]) -> bool:
    """Whether a subscript is a mask of the first axis, and what is basic: ``a[mask, k]`` is ``a[:, k][mask]``."""
    if len(items) < 2:
        return False
    mask, *rest = items
    is_mask = isinstance(mask, Array) and mask.dtype == BOOL and mask.ndim == 1
    return is_mask and all(isinstance(i, slice) or (is_number(i) and dtype_of(i).kind in "iu") for i in rest)


def axes_of(r: Recorder, array: Array, items: Sequence[Any], written: bool = False) -> list[Axis]:
    """What a subscript of integers, slices, ``np.newaxis`` and an ellipsis does."""
    if sum(item is not None and item is not Ellipsis for item in items) > array.ndim:
        raise NotStaged("more indices than axes")
    if not any(item is Ellipsis for item in items):
        items = [*items, Ellipsis]
    taken = sum(item is not None and item is not Ellipsis for item in items)
    axes: list[Axis] = []
    k = 0
    for item in items:
        if item is None:
            axes.append(Axis(ONE, ZERO, 1, -1))
        elif item is Ellipsis:
            for _ in range(array.ndim - taken):
                axes.append(Axis(array.shape[k], ZERO, 1, k))
                k += 1
            taken = array.ndim
        elif isinstance(item, slice):
            axes.append(sliced(r, item, array.shape[k], k))
            k += 1
        elif is_number(item):
            if array.ndim > 1 or written:
                r.choose(index_of(r, item))
            axes.append(Axis(ONE, wrapped(r, index_of(r, item), array.shape[k]), 1, k, False))
            k += 1
        else:
            raise NotStaged("a subscript of this kind")
    return axes


def read(r: Recorder, array: Array, index: Any) -> Any:
    """``array[index]``: a number, a view, or a copy."""
    items = items_of(index)
    if _is_mask_of_parts(items):
        return _gather(r, read(r, array, (slice(None), *items[1:])), items[:1])
    if any(map(_is_advanced, items)):
        return _gather(r, array, items)
    axes = axes_of(r, array, items)
    if all(not axis.kept for axis in axes) and len(items) == array.ndim:
        return from_register(r, array.element(tuple(axis.start for axis in axes)), array.dtype)
    return view_of(r, array, axes)


def view_of(r: Recorder, array: Array, axes: Sequence[Axis]) -> Array:
    """The part of an array that `axes` say."""
    shape = tuple(axis.extent for axis in axes if axis.kept)
    kept = [axis for axis in axes if axis.kept]
    steps = [axis.step for axis in kept]
    c_order = array.c_order and (
        all(isinstance(s, Poly) or s > 0 for s in steps) or sum(axis.extent != ONE for axis in kept) <= 1
    )
    if (v := array.view) is not None:
        offset = v.offset
        for axis in axes:
            if axis.source >= 0:
                offset = offset + axis.start * v.strides[axis.source]
        strides = tuple(v.strides[axis.source] * axis.step if axis.source >= 0 else ZERO for axis in kept)
        whole = (
            v.whole
            and len(kept) == array.ndim
            and all(
                axis.source == k and axis.start == ZERO and axis.step == 1 and axis.extent == array.shape[k]
                for k, axis in enumerate(kept)
            )
        )
        made = a.in_memory(r, View(v.base, offset, strides, v.origins, whole), array.dtype, shape, c_order)
        return replaced(made, cut=(array, tuple(axes)))

    def element(indices: tuple[Poly, ...]) -> str:
        rest = iter(indices)
        at: dict[int, Poly] = {}
        for axis in axes:
            here = next(rest) if axis.kept else ZERO
            if axis.source >= 0:
                at[axis.source] = axis.start + here * axis.step
        return array.element(tuple(at[k] for k in range(array.ndim)))

    is_part = array.is_part or not _is_one_piece(array, axes)
    return Array(array.dtype, shape, element, array.reads, None, c_order, is_part=is_part)


def _is_one_piece(array: Array, axes: Sequence[Axis]) -> bool:
    """Whether what `axes` say of an array in C order lies there without gaps, in the same order."""
    own = [axis for axis in axes if axis.source >= 0]
    while own and own[-1].kept and own[-1].extent == array.shape[own[-1].source] and own[-1].step == 1:
        own.pop()
    if own and own[-1].step == 1:
        own.pop()
    return all(axis.extent == ONE for axis in own)


def as_indices(r: Recorder, item: Any) -> Array:
    """An array of indices or truth values, of what stands in a subscript."""
    if isinstance(item, Array):
        if item.dtype.kind not in "biu":
            raise NotStaged("an index that is no integer")
        return item
    if isinstance(item, np.ndarray):
        item = item.tolist()
    if isinstance(item, list) and item and all(is_number(v) and dtype_of(v).kind in "iu" for v in item):
        made = a.fresh(r, INT, (Poly.number(len(item)),))
        for k, v in enumerate(item):
            a.store(r, made, (Poly.number(k),), r.integer(poly_of(r, v)))
        return made
    raise NotStaged("a subscript of this kind")


def _gather(r: Recorder, array: Array, items: list[Any]) -> Array:
    """Elements at places that an array says: the first item is that array, the others are slices of everything."""
    if any(not (isinstance(i, slice) and i == slice(None)) and i is not Ellipsis for i in items[1:]):
        return _gather_pairs(r, array, items)
    index = as_indices(r, items[0])
    if index.dtype == BOOL:
        return compress(r, array, index)
    rest = array.shape[1:]
    index = a.materialise(r, index)
    if index.dtype.kind not in "iu":
        raise NotStaged("an index that is no integer")

    check_indices(r, index, array.shape[0])

    def element(indices: tuple[Poly, ...]) -> str:
        at = from_register(r, index.element(indices[: index.ndim]), index.dtype)
        return array.element((wrapped(r, at.poly, array.shape[0], True), *indices[index.ndim :]))

    return Array(array.dtype, (*index.shape, *rest), element, array.reads | index.reads, None)


def _gather_pairs(r: Recorder, array: Array, items: list[Any]) -> Array:
    """``array[rows, columns]``."""
    shape, place, reads = _pairs(r, array, items)
    return Array(array.dtype, shape, lambda indices: array.element(place(indices)), array.reads | reads, None)


def _pairs(
    r: Recorder, array: Array, items: list[Any]
) -> tuple[a.Shape, Callable[[a.Indices], a.Indices], frozenset[str]]:
    """The shape of ``array[rows, columns]``, where in `array` each element lies, and what is read to tell that.

    There is one element for each pair; numbers stand beside every index.
    """
    if len(items) != array.ndim or any(isinstance(i, slice) or i is None or i is Ellipsis for i in items):
        raise NotStaged("arrays of indices among slices")
    places = [i if is_number(i) and dtype_of(i) != BOOL else a.materialise(r, as_indices(r, i)) for i in items]
    arrays = [p for p in places if isinstance(p, Array)]
    if any(p.dtype.kind not in "iu" for p in arrays):
        raise NotStaged("a mask beside other indices")

    def place(indices: a.Indices) -> a.Indices:
        at = []
        for index, extent in zip(places, array.shape):
            if isinstance(index, Array):
                index = from_register(r, a.element_of(r, index, index.dtype, indices), index.dtype)
            at.append(wrapped(r, index_of(r, index), extent))
        return tuple(at)

    return a.broadcast(r, [p.shape for p in arrays]), place, frozenset[str]().union(*(p.reads for p in arrays))


def compress(r: Recorder, array: Array, mask: Array) -> Array:
    """``array[mask]``, in memory: its first extent is the number of true values."""
    r.choose_by_values()
    r.require_alike(array.shape, mask.shape)
    if mask.ndim > array.ndim:
        raise NotStaged("a mask of more axes than the array")
    rest = array.shape[mask.ndim :]
    made = a.fresh(r, array.dtype, (mask.size + 1, *rest))
    position = r.variable()
    r.put(position, r.integer(ZERO), INT)

    def body(indices: tuple[Poly, ...]) -> None:
        truth = mask.element(indices)
        if not rest:  # without a branch: the place behind the last one gets what is not chosen
            here = r.bounded(r.get(position, INT), 0, mask.size)
            a.store(r, made, (here,), array.element(indices))
            r.put(position, r.integer(here + Poly.name(r.cast(truth, BOOL, INT))), INT)
            return
        with r.when(truth):
            place = r.bounded(r.get(position, INT), 0, mask.size - 1)
            a.nest(r, rest, lambda i: a.store(r, made, (place, *i), array.element((*indices, *i))))
            r.put(position, r.integer(place + 1), INT)

    if array.view is None:  # what is not chosen may raise, too
        a.nest(r, mask.shape, body)
    else:
        where_true(r, mask, body)
    count = r.bounded(r.get(position, INT), 0, mask.size)
    return a.in_memory(r, replaced(made.memory, whole=False), array.dtype, (count, *rest))


def where_true(r: Recorder, mask: Array, body: Callable[[tuple[Poly, ...]], None]) -> None:
    """Loops over a mask that may leave out what is false: eight elements of a row at once, where it lies in memory."""
    view, (*rows, extent) = mask.view, mask.shape
    if rows or view is None or view.strides != (ONE,):
        a.nest(r, mask.shape, body)
        return
    words = Poly.name(r.machine("udiv", extent, Poly.number(8), [0], [extent]))
    with r.loop(ZERO, words) as word:
        is_some = r.machine("!=", Poly.name(r.load_word(view, 8 * word)), ZERO)
        with r.when(is_some), r.loop(8 * word, 8 * word + 8) as index:
            body((index,))
    with r.loop(8 * words, extent) as index:
        body((index,))


def assign(r: Recorder, array: Array, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    if array.view is None:
        raise NotStaged("an assignment to what is no variable")
    items = items_of(index)
    if _is_mask_of_parts(items):
        _scatter(r, read(r, array, (slice(None), *items[1:])), items[:1], value)
        return
    if any(map(_is_advanced, items)):
        _scatter(r, array, items, value)
        return
    axes = axes_of(r, array, items, written=True)
    if isinstance(value, (list, tuple)):
        _assign_numbers(r, view_of(r, array, axes), value)
        return
    if all(not axis.kept for axis in axes) and len(items) == array.ndim:
        if isinstance(value, Array):
            if value.ndim:
                raise NotStaged("an array as an element")
            value = from_register(r, value.element(()), value.dtype)
        if isinstance(value, Complex):
            complexnumbers.store(r, array, tuple(axis.start for axis in axes), value)
            return
        name = a.converted(r, value, array.dtype)
        r.store(array.view, array.dtype, tuple(axis.start for axis in axes), name)
        return
    a.assign(r, view_of(r, array, axes), value)


def _assign_numbers(r: Recorder, row: Array, values: Sequence[Any]) -> None:
    """``row[:] = (x, y, …)``: NumPy converts each number by itself to what the row holds."""
    if row.ndim != 1 or row.dtype.kind == "c" or not all(map(is_number, values)):
        raise NotStaged("an assignment of a list")
    if len(values) == 1:
        a.assign(r, row, values[0])
        return
    r.require_equal(row.shape[0], Poly.number(len(values)))
    names = [a.converted(r, v, row.dtype) for v in values]
    for k, name in enumerate(names):
        a.store(r, row, (Poly.number(k),), name)


def _scatter(r: Recorder, array: Array, items: list[Any], value: Any) -> None:
    r.choose_by_values()
    origins = array.memory.origins
    if isinstance(value, Array):
        value = a.materialise(r, value, always=bool(value.reads & origins))
    if len(items) > 1:
        _scatter_pairs(r, array, items, value)
        return
    index = as_indices(r, items[0])
    if index.dtype == BOOL:
        _scatter_mask(r, array, a.materialise(r, index), value)
        return
    index = a.materialise(r, index, always=bool(index.reads & origins))
    rest = array.shape[1:]
    whole = (*index.shape, *rest)
    if isinstance(value, Array):
        a.require_fit(r, whole, value)
    check_indices(r, index, array.shape[0])

    def body(indices: tuple[Poly, ...]) -> None:
        at = from_register(r, index.element(indices[: index.ndim]), index.dtype)
        name = a.assigned(r, value, array.dtype, indices)
        a.store(r, array, (wrapped(r, at.poly, array.shape[0], True), *indices[index.ndim :]), name)

    a.nest(r, whole, body)


def check_indices(r: Recorder, index: Array, extent: Poly) -> None:
    """Stop before anything is read or written if an index is out of range."""
    if index.ndim == 1:
        folds = [Fold(r.name(), op, index.dtype) for op in ("minimum", "maximum")]
        with r.loop(ZERO, index.shape[0], 1, folds) as k:
            for fold in folds:
                r.update(fold.name, index.element((k,)))
        names = [fold.name for fold in folds]
    else:
        names = [a.fold_all(r, op, index.dtype, index.shape, index.element) for op in ("minimum", "maximum")]
    lowest, highest = (from_register(r, name, index.dtype).poly for name in names)
    r.stop(r.machine("<", lowest, -extent))
    r.stop(r.machine(">=", highest, extent))


def _scatter_pairs(r: Recorder, array: Array, items: list[Any], value: Any) -> None:
    shape, place, _ = _pairs(r, array, items)
    if isinstance(value, Array):
        a.require_fit(r, shape, value)
    a.nest(r, shape, lambda indices: a.store(r, array, place(indices), a.assigned(r, value, array.dtype, indices)))


def _scatter_mask(r: Recorder, array: Array, mask: Array, value: Any) -> None:
    r.require_alike(array.shape, mask.shape)
    rest = array.shape[mask.ndim :]
    position = ""
    if isinstance(value, Array) and value.ndim > len(rest):
        if value.ndim != len(rest) + 1:
            raise NotStaged("a value of more axes than its place")
        r.require_equal(Poly.name(a.count_true(r, mask)), value.shape[0])
        position = r.variable()
        r.put(position, r.integer(ZERO), INT)

    def body(indices: tuple[Poly, ...]) -> None:
        with r.when(mask.element(indices)):
            first: tuple[Poly, ...] = ()
            if position:
                first = (r.bounded(r.get(position, INT), 0, value.shape[0] - 1),)

            def inner(i: tuple[Poly, ...]) -> None:
                a.store(r, array, (*indices, *i), a.assigned(r, value, array.dtype, (*first, *i)))

            a.nest(r, rest, inner)
            if position:
                r.put(position, r.integer(first[0] + 1), INT)

    if isinstance(value, Array) and not position and value.ndim == 0:
        value = from_register(r, value.element(()), value.dtype)
    if not isinstance(value, Array):
        a.converted(r, value, array.dtype)
    a.nest(r, mask.shape, body)


def rows_of(r: Recorder, array: Array, index: Poly) -> Any:
    """``array[index]`` for an index in range."""
    if array.ndim == 1:
        return from_register(r, array.element((index,)), array.dtype)
    r.choose(index)
    axes = [Axis(ONE, index, 1, 0, False), *(Axis(e, ZERO, 1, k) for k, e in enumerate(array.shape) if k)]
    return view_of(r, array, axes)
