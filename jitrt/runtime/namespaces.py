"""Where functions, cells and dicts keep what they hold: native code sees by a word of memory that it is the same.

As in `objects`, places are found by looking for known values.
"""

from __future__ import annotations

import ctypes
import types
from typing import Any

import numpy as np

from ..base.once import once
from ..values.functions import MISSING
from .objects import fields, offsets_of

Fixed = list[tuple[int, int]]

_DICT_WORDS = dict.__basicsize__ // 8
_TABLE_WORDS = 4  # in front of the keys
_POINTERS = 1 << 16  # numbers below are no addresses


def _words(place: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(place))


_FUNCTION_FIELDS = (
    "__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__", "__module__", "__name__",
    "__qualname__",
)  # fmt: skip


@once
def function_fields() -> dict[str, int] | None:
    """Offsets in bytes of what a function keeps under some names; None if these are not where they are expected."""
    held = object()

    def probe(x: Any = MISSING, *, y: Any = MISSING) -> Any:
        return x, y, held

    places = offsets_of(probe, [getattr(probe, name) for name in _FUNCTION_FIELDS])
    return None if places is None else dict(zip(_FUNCTION_FIELDS, places))


@once
def _used_field() -> int | None:
    """The offset in bytes, in the table of a dict, of how many places have been taken, also by keys that are gone."""
    places = _dict_fields()
    if places is None:
        return None
    names = dict.fromkeys("abcd")
    table = _words(id(names) + places[1], 1)[0]
    words = [_words(table, _TABLE_WORDS)]
    for change in (lambda: names.pop("a"), lambda: names.update(e=0), lambda: names.update(b=0)):
        change()
        words.append(_words(table, _TABLE_WORDS))
    found = [k for k, (old, *new) in enumerate(zip(*words)) if new == [old, old + 1, old + 1]]
    return 8 * found[0] if len(found) == 1 and _words(id(names) + places[1], 1) == [table] else None


@once
def _dict_fields() -> tuple[int, int] | None:
    """Offsets in bytes of the number of items of a dict, and of the pointer to its keys.

    Dicts without keys share them.
    """
    empty: list[dict[Any, Any]] = [{}, {}]
    one, other = (_words(id(probe), _DICT_WORDS) for probe in empty)
    keys = [k for k in range(2, _DICT_WORDS) if one[k] == other[k] and one[k] > _POINTERS]
    counted: dict[int, None] = dict.fromkeys(range(77))
    sizes = [k for k, word in enumerate(_words(id(counted), _DICT_WORDS)) if word == len(counted)]
    return (8 * sizes[0], 8 * keys[0]) if len(keys) == 1 and len(sizes) == 1 else None


def words_of(container: Any, key: Any, value: Any) -> Fixed | None:
    """Addresses of words that stay the same while a function, a cell or a dict holds `value`; None if there are none.

    Parameters
    ----------
    container : function, cell, dict or list
    key : object
        The name of an attribute of the function; None for a cell; the number of an element of the list.
    value : object
        `MISSING` if the dict does not have the key: then tell its size, and the places that have been taken. Of a list
        its length tells.

    Examples
    --------
    >>> names = {"a": 1.5, "b": 2.5}
    >>> fixed = words_of(names, "b", names["b"])
    >>> names["a"] = 3.5
    >>> fixed == words_of(names, "b", names["b"])
    True
    >>> names["b"] = 4.5
    >>> fixed == words_of(names, "b", names["b"])
    False
    """
    known = fields()
    if known is None:
        return None
    if isinstance(container, types.FunctionType):
        offsets = function_fields()
        return None if offsets is None else [(id(container) + offsets[key], 0 if value is None else id(value))]
    if isinstance(container, types.CellType):
        return [(id(container) + known["cell"], id(value))]
    if type(container) is list:
        return _words_of_list(container, key, value)
    places, used = _dict_fields(), _used_field()
    if type(container) is not dict or places is None or used is None:
        return None
    size, keys = (id(container) + place for place in places)
    table = ctypes.c_int64.from_address(keys).value
    if value is MISSING:  # a key takes a new place in the table, or a new table
        return [(size, len(container)), (keys, table), (table + used, _words(table + used, 1)[0])]
    place = _place(table, container.__sizeof__() - dict.__basicsize__, id(key), id(value))
    return None if place is None else [(keys, table), (place, id(value))]


def _words_of_list(container: list[Any], number: int, value: Any) -> Fixed | None:
    size = _list_field()
    if size is None:
        return None
    length, elements = _words(id(container) + size, 2)
    words = [(id(container) + size, length)]
    if value is not MISSING:
        words += [(id(container) + size + 8, elements), (elements + 8 * number, id(value))]
    return words


@once
def _list_field() -> int | None:
    """The offset in bytes of the length of a list, which the pointer to its elements follows."""
    mark = object()
    probe = [mark] * 78
    probe.pop()
    words = _words(id(probe), list.__basicsize__ // 8)
    found = [k for k, word in enumerate(words[:-1]) if word == len(probe) and words[k + 1] > _POINTERS]
    return 8 * found[0] if len(found) == 1 and _words(words[found[0] + 1], 1) == [id(mark)] else None


_MOST_PLACES = 4096
_places: dict[tuple[int, int], int] = {}  # of values by the addresses of tables and keys: where they were, in bytes


def _place(table: int, size: int, key: int, value: int) -> int | None:
    """The address, in a table of `size` bytes, of the value that follows a key; None if it does not."""
    known = _places.get((table, key), size)
    if known + 16 <= size and _words(table + known, 2) == [key, value]:
        return table + known + 8
    memory = ctypes.string_at(table, size - size % 8)
    for k in np.flatnonzero(np.frombuffer(memory, np.int64)[:-1] == key).tolist():
        if _words(table + 8 * k, 2) == [key, value]:
            if len(_places) >= _MOST_PLACES:
                _places.clear()
            _places[table, key] = 8 * k
            return table + 8 * k + 8
    return None
