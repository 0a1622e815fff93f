"""Lists that staged functions make and append to: a count, and columns of memory.

    frames.append((t, u.copy()))    →    if count >= room: columns twice as long, and their elements moved
                                         store t and u behind the elements of their columns
                                         count = count + 1

Elements are of one kind: numbers, arrays of one shape, tuples of these. Each number, and each array, has a column. What
a list holds is a copy. So that nobody sees that, arrays that a list refers to, and those that it gives, must not be
written: `LISTED` is one of the origins of their memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from . import arrays as a
from . import references
from .arrays import ZERO
from .columns import (
    LEAST_ROOM,
    Column,
    column_array,
    grow,
    listed,
    require_extents,
    settle_extents,
    write_columns,
)
from .kinds import Held, Kind, Number, Parts, Reference, Rows, Same, assembled, is_covered, join, pool_key
from .listkinds import array_dtype, dtypes_of_leaf, is_of_objects, joined, kind_of_element, leaves_of, values_of
from .recorder import MOST_EXTENT, Recorder
from .runtimelists import Appended, Given, GrownList, RowOf, RunTimeList
from .subscripts import rows_of, sliced, wrapped
from .values import BOOL, INT, Array, Composite, ListChanges, NotStaged, Referenced
from .variables import number_dtypes, number_of, number_registers


def length(r: Recorder, values: RunTimeList) -> Poly:
    """The number of elements."""
    if isinstance(values, Referenced):
        return references.length(r, values)
    if isinstance(values, Appended):
        raise NotStaged("a look at a list among the arguments that is appended to, or holds what lists in loops do not")
    if isinstance(values, Given):
        return values.count
    return r.extent(values.columns[0].extents[0] if isinstance(values, RowOf) else values.count)


def _check_order(r: Recorder, values: RunTimeList) -> None:
    """Raise `NotStaged` for a list of objects that are found by their index."""
    if isinstance(values, GrownList) and values.is_changing(r):
        raise NotStaged("a list of changing objects that shrinks or is copied")


def clear(r: Recorder, values: GrownList | Referenced) -> None:
    """``values.clear()``."""
    _check_order(r, values)
    _set_length(r, values, ZERO)


def _set_length(r: Recorder, values: GrownList | Referenced, count: Poly) -> None:
    if isinstance(values, Referenced):
        references.set_length(r, values, count)
    else:
        r.put(values.count, r.integer(count), INT)


def _columns(r: Recorder, values: GrownList | Referenced) -> Sequence[Column]:
    return references.pool_of(r, values.kind).columns if isinstance(values, Referenced) else values.columns


def _first(r: Recorder, values: GrownList | Referenced) -> Poly:
    """Where in the columns the first element is."""
    return references.start(r, values) if isinstance(values, Referenced) else ZERO


def append(r: Recorder, values: GrownList | Referenced, value: Any) -> None:
    """``values.append(value)``."""
    if isinstance(values, Referenced):
        references.accept(r, values, kind_of_element(value))
        references.append(r, values, _registers(r, values.kind, value))
        return
    if values in r.iterated:
        raise NotStaged("a list that grows while a loop runs over it")
    values.accept(r, value)
    assert values.kind is not None
    registers = _registers(r, values.kind, value)
    count = r.extent(values.count)
    settle_extents(r, values.columns, registers, lambda: count, values.room)
    room = Poly.name(r.get(values.room, INT, chooses=False))
    with r.when(r.machine(">=", count, room)):
        _grow(r, values)
    write_columns(r, values.columns, count, registers)
    r.put(values.count, r.integer(count + 1), INT)


def extend(r: Recorder, values: GrownList | Referenced, others: RunTimeList | Array) -> None:
    """``values.extend(others)`` for another list, or an array of one axis."""
    if values is others:
        raise NotStaged("a list that is extended by itself")
    if isinstance(values, Referenced) and isinstance(others, Referenced):
        same = references.is_same(r, values, others)
        if isinstance(same, str):
            r.stop(same)
        if pool_key(values.kind) == pool_key(others.kind):
            references.extend(r, values, others)
            return
    count = others.shape[0] if isinstance(others, Array) else length(r, others)
    with r.loop(ZERO, count, varying=True) as k:
        append(r, values, rows_of(r, others, k) if isinstance(others, Array) else element(r, others, k))
    if isinstance(others, GrownList) and isinstance(values, GrownList):
        values.is_shared = others.is_shared = True


def _registers(r: Recorder, kind: Kind, value: Any) -> list[str | Array]:
    """For each column what it gets."""
    made: list[str | Array] = []
    for v, leaf in zip(values_of(value, kind), leaves_of(kind)):
        if isinstance(leaf, Number):
            made.extend(number_registers(r, leaf, v))
        elif isinstance(leaf, Rows):
            made.extend(column_array(r, c, length(r, v)) for c in v.columns)
        elif isinstance(leaf, Reference):
            made.append(r.integer(v.handle))
        else:
            made.append(v)
    return made


def _grow(r: Recorder, values: GrownList) -> None:
    """Make columns twice as long, and move their elements."""
    key = values, tuple(values.columns)
    if key not in r.shared:
        r.shared[key] = r.routine(lambda: _grow_columns(r, values), is_rare=True)
    r.shared[key]()


def _grow_columns(r: Recorder, values: GrownList) -> None:
    count = r.extent(values.count)
    room = count * 2 + LEAST_ROOM
    grow(r, values.columns, count, room)
    r.put(values.room, r.integer(room), INT)


def element(r: Recorder, values: RunTimeList, at: Poly) -> Any:
    """The element at an index in range."""
    if isinstance(values, RowOf):
        return number_of(r, values.kind, [column_array(r, c, a.ONE).element((values.at, at)) for c in values.columns])
    if isinstance(values, Given):
        return values.element(at)
    if isinstance(values, Referenced):
        return made_of(r, None, values.kind, _columns(r, values), _first(r, values) + at)
    if values.kind is None:  # it is appended to further below
        values.guess(r)
    kind = values.kind
    assert kind is not None
    if isinstance(kind, Parts) and is_of_objects(kind):
        names = () if values.is_changing(r) else kind.keys
        parts = {name: attribute(r, values, at, name) for name in names}
        return Composite(kind.make, parts, places=kind.places, depth=r.depth, of=(values, at))
    return made_of(r, values, kind, values.columns, at)


def attribute(r: Recorder, values: GrownList, at: Poly, name: str) -> Any:
    """An attribute of an element of a list of objects."""
    kind, columns = _columns_of(values, name)
    return made_of(r, values, kind, columns, at)


def set_attribute(r: Recorder, values: GrownList, at: Poly, name: str, value: Any) -> None:
    """Assign an attribute of an element of a list of objects."""
    kind, columns = _columns_of(values, name)
    found = kind_of_element(value)
    if not is_covered(found, kind):
        objects = values.kind
        assert isinstance(objects, Parts)
        whole = joined(kind, found)
        r.lists[values.place] = objects.of(whole if n == name else k for n, k in zip(objects.keys, objects.kinds))
        raise ListChanges("an attribute of objects in a list that holds values of different kinds")
    registers = _registers(r, kind, value)
    require_extents(r, columns, registers)
    write_columns(r, columns, at, registers)


def _columns_of(values: GrownList, name: str) -> tuple[Kind, list[Column]]:
    """The kind of an attribute of the objects in a list, and its columns."""
    assert isinstance(values.kind, Parts)
    columns = iter(values.columns)
    for key, kind in zip(values.kind.keys, values.kind.kinds):
        its = [next(columns) for leaf in leaves_of(kind) for _ in dtypes_of_leaf(leaf)]
        if key == name:
            return kind, its
    raise NotStaged(f"{values.kind.make.__name__} has no {name!r}")


def made_of(r: Recorder, values: GrownList | None, kind: Kind, its_columns: Sequence[Column], at: Poly) -> Any:
    """A value of a kind, from its columns."""
    columns = iter(its_columns)

    def register() -> str:
        """The number in the next column."""
        return column_array(r, next(columns), a.ONE).element((at,))

    def made(kind: Kind) -> Any:
        if isinstance(kind, Parts):
            return assembled(kind, list(map(made, kind.kinds)))
        if isinstance(kind, Number):
            return number_of(r, kind, [register() for _ in number_dtypes(kind)])
        if isinstance(kind, Rows):
            return RowOf(r, values, at, kind.kind, [next(columns) for _ in number_dtypes(kind.kind)])
        if isinstance(kind, Reference):
            return Referenced(kind.kind, kind.places, r.bounded(register(), 0, MOST_EXTENT))
        if isinstance(kind, Held):
            rows = column_array(r, next(columns), a.ONE)
            row = Array(rows.dtype, rows.shape[1:], lambda i: rows.element((at, *i)), rows.reads)
            return listed(r, a.materialise(r, row))
        assert isinstance(kind, Same)
        return kind.value

    return made(kind)


def read(r: Recorder, values: RunTimeList, index: Poly) -> Any:
    """``values[index]``."""
    return element(r, values, wrapped(r, index, length(r, values)))


def new(r: Recorder, place: Hashable) -> GrownList | Referenced:
    """A new list."""
    return references.new(r, place) if references.is_reference(r, place) else GrownList(r, place)


def part(r: Recorder, values: RunTimeList, item: slice, place: Hashable) -> GrownList | Referenced:
    """``values[item]``: a new list."""
    _check_order(r, values)
    axis = sliced(r, item, length(r, values), 0)
    made = new(r, place)
    with r.loop(ZERO, axis.extent, varying=True) as k:
        append(r, made, element(r, values, axis.start + k * axis.step))
    if isinstance(made, GrownList):
        made.is_shared = True
    return made


def write(r: Recorder, values: RunTimeList, index: Poly, value: Any) -> None:
    """``values[index] = value``."""
    _check_order(r, values)
    if isinstance(values, Given):
        raise NotStaged("a change of a list that is an argument")
    if isinstance(values, RowOf):
        _write_into_row(r, values, index, value)
        return
    if isinstance(values, Referenced):
        references.accept(r, values, kind_of_element(value))
    else:
        values.accept(r, value)
    assert values.kind is not None
    columns, registers = _columns(r, values), _registers(r, values.kind, value)
    at = wrapped(r, index, length(r, values))
    require_extents(r, columns, registers)
    write_columns(r, columns, _first(r, values) + at, registers)


def _write_into_row(r: Recorder, row: RowOf, index: Poly, value: Any) -> None:
    if row.values is None:
        raise NotStaged("a change of a list that is an argument")
    kind = kind_of_element(value)
    rows = row.values.kind
    assert isinstance(rows, Rows)
    if not is_covered(kind, row.kind):
        if not isinstance(kind, Number):
            references.need("a list of values of different kinds", row)
        r.lists[rows.place] = made = join(row.kind, kind)
        assert isinstance(made, Number)
        r.lists[row.values.place] = Rows(made, rows.place)
        raise ListChanges("a list of values of different kinds")
    at = row.at, wrapped(r, index, length(r, row))
    for column, register in zip(row.columns, number_registers(r, row.kind, value)):
        a.store(r, column_array(r, column, a.ONE), at, register)


def pop(r: Recorder, values: GrownList | Referenced) -> Any:
    """``values.pop()``."""
    _check_order(r, values)
    if isinstance(values, GrownList) and values in r.iterated:
        raise NotStaged("a list that shrinks while a loop runs over it")
    count = length(r, values)
    r.require(count - 1)
    made = element(r, values, count - 1)
    if isinstance(values, GrownList) and isinstance(made, RowOf):
        references.need("a list that a list has held", made)
    _set_length(r, values, count - 1)
    return made


def pop_first(r: Recorder, values: GrownList | Referenced) -> Any:
    """``values.pop(0)``: what stands behind moves to the front."""
    _check_order(r, values)
    if values in r.iterated:
        raise NotStaged("a list that shrinks while a loop runs over it")
    first, columns = _first(r, values), _columns(r, values)
    if values.kind is None or any(c.extents for c in columns):
        raise NotStaged("an array or a list at the front of a list")
    count = length(r, values)
    r.require(count - 1)
    made = element(r, values, ZERO)
    with r.loop(ZERO, count - 1, varying=True) as k:
        for column in columns:
            array = column_array(r, column, count)
            a.store(r, array, (first + k,), array.element((first + k + 1,)))
    _set_length(r, values, count - 1)
    return made


def as_array(r: Recorder, values: RunTimeList) -> Array:
    """What `np.array` makes of a list, which may lie in its memory."""
    count = length(r, values)
    if isinstance(values, RowOf):
        return _numbers(r, values.kind, values.columns, count, values.at)
    if isinstance(values, Given):
        return values.array()
    if isinstance(values, GrownList) and values.kind is None:
        values.guess(r)
    assert values.kind is not None
    return array_of(r, values.kind, _columns(r, values), count, _first(r, values))


def array_of(r: Recorder, kind: Kind, its_columns: Sequence[Column], count: Poly, start: Poly = ZERO) -> Array:
    """What NumPy makes of `count` elements in columns, from one of them on."""
    dtype = array_dtype(kind)
    leaves = list(leaves_of(kind))
    if not isinstance(kind, Number) or dtype != np.dtype(float):
        r.require(count - 1)  # an empty array is one of floats, without further axes
    if isinstance(kind, Held):
        return _part_of_column(r, its_columns[0], count, start)
    if isinstance(kind, Rows):
        return _numbers(r, kind.kind, its_columns, count)
    columns, arrays = iter(its_columns), []
    for leaf in leaves:
        assert isinstance(leaf, Number)
        arrays.append(_numbers(r, leaf, [next(columns) for _ in number_dtypes(leaf)], count, None, start))
    if not isinstance(kind, Parts):
        return arrays[0]
    made = a.fresh(r, dtype, (count, Poly.number(len(arrays))))
    with r.loop(ZERO, count) as k:
        for j, array in enumerate(arrays):
            a.store(r, made, (k, Poly.number(j)), a.element_of(r, array, dtype, (k,)))
    return made


def _numbers(
    r: Recorder, kind: Number, columns: Sequence[Column], count: Poly, row: Poly | None = None, start: Poly = ZERO
) -> Array:
    """An array of the numbers of columns, from one on, or of one of their rows."""
    if kind.strings:
        raise NotStaged("an array of strings")
    wide = kind.dtype in (np.dtype(float), INT)
    if (kind.python is None or kind.unsettled) and not wide:
        raise NotStaged("an array of numbers that are Python's or NumPy's")
    if kind.unsettled:  # all of them may be of the other kind
        flags = _rows(r, columns[-1], count, row, start)
        some = a.fold_all(r, "logical_or", BOOL, flags.shape, flags.element)
        r.stop(r.compute("logical_not", [some], BOOL))
    return a.cast(r, _rows(r, columns[0], count, row, start), kind.dtype)


def _part_of_column(r: Recorder, column: Column, count: Poly, start: Poly) -> Array:
    whole = column_array(r, column, count)
    view = replaced(whole.memory, offset=start * whole.memory.strides[0])
    return a.in_memory(r, view, whole.dtype, whole.shape, whole.c_order)


def _rows(r: Recorder, column: Column, count: Poly, row: Poly | None, start: Poly) -> Array:
    if row is None:
        return _part_of_column(r, column, count, start)
    return rows_of(r, column_array(r, column, a.ONE), row)
