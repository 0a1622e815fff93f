"""Memory with the elements of lists of run time: a column for each number, and for each array, that elements have."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ...base.frozen import frozen, replaced
from ...ir.integers import Poly
from ...ir.loops import POINTER
from . import arrays as a
from .arrays import ZERO
from .kinds import Kind
from .listkinds import axes_of_leaf, dtypes_of_leaf, leaves_of
from .recorder import Recorder
from .values import INT, LISTED, Array, View

LEAST_ROOM = 8  # elements
_MOST_BYTES = 1 << 40


@frozen
class Column:
    """Memory with the elements of a list, or with a part of each.

    Parameters
    ----------
    base, extents : str, tuple of str
        Variables with its address, and with the extents of arrays that are its elements.
    dtype : numpy.dtype
    site : int
    """

    base: str
    extents: tuple[str, ...]
    dtype: np.dtype
    site: int


def columns_of(r: Recorder, kind: Kind, key: Hashable) -> list[Column]:
    """New columns for elements of a kind; `key` tells their memory from that of others."""
    made: list[Column] = []
    for leaf in leaves_of(kind):
        for dtype in dtypes_of_leaf(leaf):
            extents = tuple(r.variable() for _ in range(axes_of_leaf(leaf)))
            made.append(Column(r.variable(), extents, dtype, r.site((key, len(made)))))
    return made


def settle_extents(
    r: Recorder, columns: Sequence[Column], parts: Sequence[str | Array], count: Callable[[], Poly], room: str = ""
) -> None:
    """The first arrays, before which `count` is zero, say which shapes elements have; the procedure stops at others.

    The variable `room`, if there is one, is zero then, too.
    """
    arrays = [(c, v) for c, v in zip(columns, parts) if isinstance(v, Array)]
    if not arrays:
        return
    with r.when(r.machine("==", count(), ZERO)):
        for column, array in arrays:
            for variable, extent in zip(column.extents, array.shape):
                r.put(variable, r.integer(extent), INT)
        if room:
            r.put(room, r.integer(ZERO), INT)
    require_extents(r, columns, parts)


def require_extents(r: Recorder, columns: Sequence[Column], parts: Sequence[str | Array]) -> None:
    """Stop where arrays have other shapes than the elements."""
    for column, array in zip(columns, parts):
        if isinstance(array, Array):
            for variable, extent in zip(column.extents, array.shape):
                r.require_equal(r.extent(variable), extent)


def grow(r: Recorder, columns: Sequence[Column], count: Poly, room: Poly) -> None:
    """Make room for so many elements, and move the first `count` ones there."""
    for column in columns:
        size = a.ONE
        for variable in column.extents:
            size = size * r.extent(variable)
        nbytes = room * size * column.dtype.itemsize
        r.require(_MOST_BYTES - nbytes)
        before = r.get(column.base, POINTER, chooses=False)
        after = r.memory(column.site, nbytes, [before])
        r.move(after, before, count * size * column.dtype.itemsize)
        r.put(column.base, after, POINTER)


def view_of(column: Column, base: str, shape: tuple[Poly, ...]) -> View:
    """A column that begins at an address, as a view."""
    return View(base, ZERO, a.contiguous_strides(shape, column.dtype), frozenset({f"m{column.site}"}))


def write_columns(r: Recorder, columns: Sequence[Column], at: Poly, parts: Sequence[str | Array]) -> None:
    """Set an element to what its columns get."""
    for column, value in zip(columns, parts):
        base = r.get(column.base, POINTER, chooses=False)
        if isinstance(value, str):
            r.store(view_of(column, base, (a.ONE,)), column.dtype, (at,), value)
            continue
        view = view_of(column, base, (a.ONE, *value.shape))

        def body(indices: a.Indices, view: View = view, value: Array = value) -> None:
            r.store(view, value.dtype, (at, *indices), value.element(indices))

        a.nest(r, value.shape, body)


def column_array(r: Recorder, column: Column, count: Poly) -> Array:
    """A column as an array."""
    shape = (count, *(r.extent(v) for v in column.extents))
    base = r.get(column.base, POINTER, chooses=False)
    return a.in_memory(r, view_of(column, base, shape), column.dtype, shape)


def listed(r: Recorder, array: Array) -> Array:
    """The array, which must not be written any more."""
    view = array.memory
    if LISTED in view.origins:
        return array
    view = replaced(view, origins=view.origins | {LISTED})
    return a.in_memory(r, view, array.dtype, array.shape, array.c_order)
