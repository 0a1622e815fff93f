"""What procedures give back, as the objects that their functions return."""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..frontend.control.listresults import (
    ColumnOf,
    ElementKind,
    Elements,
    Handles,
    Instance,
    Known,
    Listed,
    PartOf,
    Pool,
    Possibly,
    ReferencedList,
    Several,
)
from ..frontend.control.results import Argument, ComplexNumber, First, Made, Number, Result, Turned
from ..ir.loops import Procedure

_BOOL = np.dtype(bool)
_INT = np.dtype(np.int64)
Lists = dict[tuple[str, int], list[Any]]  # those that are held by reference: by the rows of their pool and their handle
_MOST_BETWEEN = 8  # elements that are made in vain for one that is needed


def _made(kind: Several, parts: Sequence[Any]) -> Any:
    if kind.make is complex:
        return complex(*parts)
    return dict(zip(kind.keys, parts)) if kind.make is dict else kind.make(parts)


class Results:
    """The results of one procedure.

    Parameters
    ----------
    procedure : Procedure
    data : int
        Where an array keeps the address of its elements, in bytes.
    """

    def __init__(self, procedure: Procedure, data: int):
        self.places = {name: k for k, (name, _) in enumerate(procedure.results)}
        self._data = data

    def value(self, kind: Result, results: Any, given: tuple, lists: Lists | None = None) -> Any:
        """What the function returns, of what the procedure gives; `lists` are those that have been made for it."""
        lists = {} if lists is None else lists
        if isinstance(kind, Several):
            parts = [self.value(k, results, given, lists) for k in kind.parts]
            return _made(kind, parts)
        if isinstance(kind, Instance):
            return kind.kind.made(kind.what, [self.value(k, results, given, lists) for k in kind.parts])
        if isinstance(kind, Possibly):
            return None if results[self.places[kind.flag]] else self.value(kind.value, results, given, lists)
        if isinstance(kind, Listed):
            return self.elements(kind.elements, results, results[self.places[kind.count]], lists)
        if isinstance(kind, ReferencedList):
            return self._lists(kind.pool, results, [results[self.places[kind.handle]]], lists)[0]
        if isinstance(kind, ComplexNumber):
            return complex(*(self.value(k, results, given) for k in (kind.real, kind.imag)))
        if isinstance(kind, (First, Turned)):
            return part_of(kind)(self.value(kind.made, results, given))
        if isinstance(kind, ColumnOf):
            rows = lists.setdefault((kind.made.address, -1), [])
            rows += [] if rows else [self.value(kind.made, results, given)]
            return part_of(kind)(rows[0])
        if isinstance(kind, PartOf):
            index = [self._item(item, results) for item in kind.index]
            return self.value(kind.whole, results, given, lists)[(*index, ...)]
        if isinstance(kind, Number):
            word = results[self.places[kind.variable]]
            python = results[self.places[kind.flag]] if kind.python is None else kind.python
            if kind.strings:
                return kind.strings[word]
            if kind.dtype.kind in "biu" and kind.dtype != np.uint64:
                return ({"b": bool}.get(kind.dtype.kind, int) if python else kind.dtype.type)(word)
            value = np.frombuffer(word.to_bytes(8, "little", signed=True), kind.dtype, 1)[0]  # of its first bytes
            return float(value) if python else value
        if isinstance(kind, Made):
            return self.memory(results, kind.address, [results[self.places[e]] for e in kind.extents], kind.dtype)
        return given[kind.number] if isinstance(kind, Argument) else kind.value

    def _item(self, item: Any, results: Any) -> Any:
        """What a subscript has for an axis."""
        if isinstance(item, str):
            return results[self.places[item]]
        if not isinstance(item, tuple):
            return item
        start, extent, step = (results[self.places[name]] for name in item)
        stop = start + step * extent
        return slice(start, None if stop < 0 else stop, step) if extent else slice(0, 0, step)

    def _lists(self, pool: Pool, results: Any, handles: list[int], lists: Lists) -> list[list[Any]]:
        """The lists that handles stand for: for each handle the same list each time."""
        missing = [h for h in {*handles} if (pool.rows, h) not in lists]
        if missing:
            low = min(missing)
            rows = self._read(results, pool.rows, 3 * (max(missing) - low + 1), _INT, 3 * low).reshape(-1, 3)
            starts, counts, _ = rows[np.array(missing) - low].T
            first, end = int(starts.min()), int((starts + counts).max())
            if _are_numbers(pool.elements) and end - first <= _MOST_BETWEEN * (counts.sum() + len(missing)):
                known = self.elements(pool.elements, results, end - first, lists, first)
                for h, start, count in zip(missing, (starts - first).tolist(), counts.tolist()):
                    lists[pool.rows, h] = known[start : start + count]
            else:
                for h, start, count in zip(missing, starts.tolist(), counts.tolist()):
                    lists[pool.rows, h] = self.elements(pool.elements, results, count, lists, start)
        return [lists[pool.rows, h] for h in handles]

    def elements(self, kind: ElementKind, results: Any, count: int, lists: Lists, first: int = 0) -> list[Any]:
        """The elements of a list, or a part of each: so many, from one in memory on."""
        if isinstance(kind, Instance):
            parts = [self.elements(k, results, count, lists, first) for k in kind.parts]
            return [kind.kind.made(kind.what, values) for values in (zip(*parts) if parts else [()] * count)]
        if isinstance(kind, Several):
            parts = [self.elements(k, results, count, lists, first) for k in kind.parts]
            return [_made(kind, values) for values in (zip(*parts) if parts else [()] * count)]
        if isinstance(kind, Known):
            return [kind.value] * count
        if not count:
            return []
        if isinstance(kind, Handles):
            return self._lists(
                kind.pool, results, self._read(results, kind.address, count, _INT, first).tolist(), lists
            )
        shape = tuple([results[self.places[extent]] for extent in kind.extents])
        size = math.prod(shape, start=int(count))
        values = self._read(results, kind.address, size, kind.stored, first)
        if kind.stored != kind.dtype:
            values = values.astype(kind.dtype)
        if kind.extents and not kind.is_row:
            return [row.copy() for row in values.reshape(count, *shape)]
        made: list[Any] = values.tolist() if kind.python else list(values)
        if kind.flags:
            is_python = self._read(results, kind.flags, size, _BOOL, first)
            made = [value.item() if own else value for value, own in zip(made, is_python)]
        if kind.settled:
            is_settled = self._read(results, kind.settled, size, _BOOL, first)
            made = [value if known else int(value) for value, known in zip(made, is_settled)]
        if kind.strings:
            made = [kind.strings[k] for k in made]
        if kind.is_row:
            width = shape[0]
            return [made[k * width : (k + 1) * width] for k in range(count)]
        return made

    def _read(self, results: Any, address: str, size: int, dtype: np.dtype, first: int) -> np.ndarray:
        """Elements at an address, from one on, in an array that is not to be written."""
        if not size:
            return np.empty(0, dtype)
        place = int(results[self.places[address]]) + first * dtype.itemsize
        return np.frombuffer(ctypes.string_at(place, size * dtype.itemsize), dtype)

    def memory(self, results: Any, address: str, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """A copy of what lies at an address."""
        made = np.empty(shape, dtype)
        if made.size:
            place = ctypes.c_int64.from_address(id(made) + self._data).value
            ctypes.memmove(place, results[self.places[address]], made.nbytes)
        return made


def part_of(kind: First | Turned | ColumnOf) -> Callable[[np.ndarray], Any]:
    """What makes a result of a new array, in C: an element, a view with axes in another order, a column."""
    if isinstance(kind, Turned):
        return operator.methodcaller("transpose", kind.axes)
    return operator.itemgetter(0 if isinstance(kind, First) else (slice(None), kind.number))


def is_all_columns(kind: Several) -> bool:
    """Whether a tuple holds the columns of one new array, in their order: a tuple of its transpose."""
    first = kind.parts[0] if kind.make is tuple and len(kind.parts) > 1 else None
    return isinstance(first, ColumnOf) and kind.parts == tuple(
        ColumnOf(first.made, k, first.of) for k in range(first.of)
    )


def _are_numbers(kind: ElementKind) -> bool:
    """Whether elements are numbers of one kind, or tuples of them: whatever memory holds is one, too."""
    if isinstance(kind, Several):
        return all(map(_are_numbers, kind.parts))
    return isinstance(kind, Elements) and not (kind.strings or kind.flags or kind.settled)
