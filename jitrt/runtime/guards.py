"""Rows of the native guard: what the arguments of a call, and what a function reads from outside, have to be."""

from __future__ import annotations

import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import is_writeable
from ..config import debug
from ..kernels import entry as native
from ..kernels import guard, results
from ..values.attributes import is_plain_class
from ..values.constants import constant_key
from ..values.frozen import is_frozen, original
from ..values.functions import MISSING
from ..values.keys import STATIC_TYPES, is_foreign
from ..values.kinds import (
    TUPLE,
    Path,
    Tree,
)
from ..values.trees import leaf_count
from ..values.versions import version_address, version_of, version_offset
from .dispatch import Words, words
from .kindrows import KIND_ROWS
from .namespaces import words_of
from .objects import (
    Unguarded,
    address_of,
    dtype_word,
    fields,
)

# A value that a function reads from outside: what it was, and the dict or class and the key, or the cell and None, that
# hold it.
Captured = tuple[Any, Any, Any]

_MOST_OF_A_KIND = 64  # containers of one type, each of which is compared with those before


def can_guard_objects() -> bool:
    """Whether native code can take objects apart on this build of Python."""
    return fields() is not None and version_offset() is not None and not debug()


class TakenApart(NamedTuple):
    """A call, taken apart as `kinds.flatten_call` does it, before it has changed anything: once for all that ask.

    Parameters
    ----------
    structure : Tree
    leaves : list
        Arrays, numbers, and values that are compared.
    state : sequence of Captured
        Where the lists, dicts and objects are that the function names.
    args, kwargs
        The arguments.
    """

    structure: Tree
    leaves: list[Any]
    state: Sequence[Captured] = ()
    args: tuple = ()
    kwargs: Any = MappingProxyType({})

    def without_numbers_outside(self) -> TakenApart:
        """The same without what the function names, unless arrays are in it, which may become larger."""
        given = sum(map(leaf_count, (*self.positional, *self.named)))
        if any(isinstance(leaf, np.ndarray) for leaf in self.leaves[given:]):
            return self
        arguments = self.structure[2][:2]
        return self._replace(structure=(TUPLE, None, (*arguments, (TUPLE, None, ()))), state=())

    @property
    def positional(self) -> tuple[Tree, ...]:
        """The structures of positional arguments."""
        return self.structure[2][0][2]

    @property
    def keywords(self) -> tuple[str, ...]:
        """The names of keyword arguments."""
        return self.structure[2][1][1]

    @property
    def named(self) -> tuple[Tree, ...]:
        """The structures of keyword arguments."""
        return self.structure[2][1][2]

    @property
    def outside(self) -> tuple[Tree, ...]:
        """The structures of what the function names."""
        return self.structure[2][2][2]


class GuardRows:
    """Rows that describe the arguments of a call, and values that the function reads from outside.

    Parameters
    ----------
    places : dict of int to int
        For leaves of the arguments that are inputs, the place of the input.
    slots : dict of int to int
        For places of numbers, the address that they are copied to.
    unused : int
        A place for what is no input.
    describe : callable, optional
        What a leaf has to be, given the leaf and its place.
    any_shape : collection of int
        Places of arrays whose shapes and strides do not matter: formulas look at them.
    arguments : pair, optional
        The positional arguments and those with names, if fields of arrays of records in them may be inputs: their
        places get the arrays, and `offsets` tells the bytes from there to the fields.
    """

    def __init__(
        self,
        places: dict[int, int],
        slots: dict[int, int],
        unused: int,
        describe: Callable[[Any, Any], dict[str, int]] | None = None,
        any_shape: Collection[int] = (),
        arguments: tuple[tuple, Any] | None = None,
    ):
        self.describe = describe  # none of its own methods, which would keep it, and arrays, alive
        self.places, self.slots, self.unused, self.any_shape = places, slots, unused, any_shape
        self.arguments = arguments
        self.offsets: dict[int, int] = {}  # by place
        self.rows: list[dict[str, int]] = []
        self.leaves: list[Any] = []  # so far
        self.arrays: dict[int, np.ndarray] = {}  # by place
        self.kept: list[Any] = []
        self._last_place = unused
        self.at_path: dict[Path, int] = {}  # rows of lists, dicts, objects and the dicts of their attributes
        self.numbered: list[int | None] = []  # rows of what `Again` can refer to
        self._alike: dict[int, list[int]] = {}  # numbers of these rows by the type of their values
        self._classes: dict[type, int] = {}  # with their versions
        self._words: dict[tuple[int, int], None] = {}  # words that have to stay the same, in order

    def table(self, positional: int, keywords: Sequence[str], others: dict[str, Any]) -> Words:
        """The table of calls with so many positional arguments, and with keyword arguments of these names."""
        self.kept += keywords
        rows = [row.get(name, 0) for row in self.rows for name in guard.ROW]
        values = {
            "positional": positional,
            "keywords": len(keywords),
            "names": address_of([id(name) for name in keywords], self.kept),
            "rows": len(self.rows),
            "row_table": address_of(rows, self.kept),
            "fixed": len(self._words),
            "fixed_rows": address_of([word for pair in self._words for word in pair], self.kept),
        }
        table = words(values | others, native.TABLE, self.kept)
        table.places = self._last_place + 1
        table.classes, table.fixed = self._classes, tuple(self._words)
        return table

    def add_call(self, call: TakenApart) -> None:
        """Rows of the arguments, and of the lists, dicts and objects that the function names."""
        leaves = iter(call.leaves)
        count = len(call.positional)
        self.add_arguments(call.positional, leaves)
        self.numbered.append(None)  # the dict of keyword arguments
        for k, (name, structure) in enumerate(zip(call.keywords, call.named), count):
            self.add(structure, leaves, {"source": guard.ARGUMENT, "key": k}, (1, name))
        if len(call.outside) != len(call.state):
            raise Unguarded
        for k, (structure, (_, container, key)) in enumerate(zip(call.outside, call.state)):
            self.add(structure, leaves, self.outside(container, key), (2, k))

    def add_arguments(self, structures: Sequence[Tree], leaves: Iterator[Any]) -> None:
        """Rows of positional arguments."""
        for k, structure in enumerate(structures):
            self.add(structure, leaves, {"source": guard.ARGUMENT, "key": k}, (0, k))

    def add_kinds(self, arguments: Sequence[Any]) -> None:
        """Rows of arguments of which nothing matters but their classes, and dtypes of arrays but for their units."""
        for k, value in enumerate(arguments):
            is_array = type(value) is np.ndarray
            row = self.typed(type(value)) if not is_array else self._of_dtype(value.dtype, dtype_word(value.dtype))
            self.rows.append(row | {"source": guard.ARGUMENT, "key": k})

    def add_places(self, count: int) -> int:
        """The first of `count` further places."""
        first = self._last_place + 1
        self._last_place += count
        return first

    def row_at(self, path: Path) -> int:
        """The number of the row whose value is the list, dict or object at a path, or the dict of its attributes."""
        if path not in self.at_path:  # another path leads there, too
            raise Unguarded
        return self.at_path[path]

    def add(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of a value that native code finds as `found` says."""
        if structure is None:
            leaf = next(leaves)
            place = self.places.get(len(self.leaves))
            self.leaves.append(leaf)
            row = (self.describe or self.description)(leaf, place)
            row.update(found)
            self.rows.append(row)
            return
        KIND_ROWS[structure[0]](self, structure, leaves, found, path)

    def layout(self, value: np.ndarray) -> dict[str, int]:
        """What is compared of the layout of an array."""
        return {
            "ndim": value.ndim, "shape": address_of(value.shape, self.kept),
            "strides": address_of(value.strides, self.kept), "flags": value.flags.num & guard.FLAGS,
        }  # fmt: skip

    def how_stored(self, row: int) -> int:
        """How what is stored gets into the value of a row: as an item, or as an attribute."""
        cls = self.rows[row]["object"]
        if cls == id(OrderedDict):
            raise Unguarded  # which has the order of its keys beside the dict
        return results.SET if cls in (id(dict), id(defaultdict), id(Counter)) else results.ATTRIBUTE

    def add_numbered(self, row: dict[str, int], path: Path) -> int:
        """Add the row of a list, dict or object, which is none of those before."""
        self.at_path[path] = here = self.append(row)
        self.numbered.append(here)
        alike = self._alike.setdefault(row["object"], [])
        if len(alike) > _MOST_OF_A_KIND:
            raise Unguarded
        if alike:
            row["other"] = alike[-1] + 1
        alike.append(here)
        return here

    def append(self, row: dict[str, int]) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def typed(self, kind: type) -> dict[str, int]:
        self.kept.append(kind)
        return {"kind": guard.TYPED, "object": id(kind), "place": self.unused}

    def container(self, kind: type, size: int) -> dict[str, int]:
        return self.typed(kind) | {"kind": guard.CONTAINER, "ndim": size}

    def version(self, kind: type) -> dict[str, int]:
        """What lets native code see that a class, and what it inherits, is what it was."""
        version, where = self._classes.get(kind) or version_of(kind), version_address(kind)
        if not version or where is None:
            raise Unguarded
        self._classes[kind] = version
        return {"version_at": where, "version": version}

    def outside(self, container: Any, key: Any) -> dict[str, int]:
        """How native code finds what a dict, a class or a cell holds."""
        if isinstance(container, type):
            if not any(container in known.__mro__ for known in self._classes):  # whose versions tell enough
                self.rows.append(self.identical(container) | self._fixed(container) | self.version(container))
            return self._fixed(vars(container).get(key))
        if type(container) is tuple:  # of defaults, which does not change
            return self._fixed(container[key])
        if not isinstance(container, (dict, types.CellType)) or isinstance(key, int):
            raise Unguarded
        self.kept += (container, key)
        return {"source": guard.IN_CELL if key is None else guard.LOOKED_UP, "base": id(container), "key": id(key)}

    def add_outside(self, outside: Sequence[tuple[int | None, Captured]]) -> None:
        """Rows of values from outside, each given with its place as an input, or None."""
        for place, (value, container, key) in outside:
            if isinstance(container, tuple) and place is None:
                continue  # a default: tuples do not change
            fixed = words_of(container, key, value) if place is None and not isinstance(container, type) else None
            if fixed is not None:
                self._words |= dict.fromkeys(fixed)
                self.kept += (container, key, value)
                continue
            if value is MISSING or isinstance(container, types.FunctionType):
                continue  # this build of Python keeps them where native code does not see them
            found = self.outside(container, key)
            if isinstance(container, type) and place is None:
                continue  # the version of the class is enough
            row = self.identical(value) if place is None else self.description(value, place)
            row.update(found)
            self.rows.append(row)

    def _fixed(self, value: Any) -> dict[str, int]:
        self.kept.append(value)
        return {"source": guard.FIXED, "base": id(value)}

    def apart(self, written: Sequence[int]) -> list[int]:
        """Rows of pairs of arrays that must not overlap where those at the places `written` are written."""
        apart: list[int] = []
        for place in written:
            array = self.arrays[place]
            if place in self.offsets:
                raise Unguarded
            for other_place, other in self.arrays.items():
                if other_place == place or (other_place in written and other_place < place):
                    continue
                if np.may_share_memory(array, other):
                    raise Unguarded
                low, high = _extent(other)
                offset = self.offsets.get(other_place, 0)
                apart += (place, *_extent(array), other_place, low + offset, high + offset)
        return apart

    def description(self, value: Any, place: int | None) -> dict[str, int]:
        """What a value like `value` has to be."""
        kind = type(value)
        where = self.unused if place is None else place
        if place is None and is_foreign(value):
            if kind is np.memmap:
                raise Unguarded
            return self._of_dtype(value.dtype, _word_of(value.dtype)) if kind is np.ndarray else self.typed(kind)
        if place is None and kind is np.ndarray and not is_writeable(value) and is_frozen(value):
            return self.identical(original(value))
        if (kind is np.ndarray or kind is np.memmap) and where not in self.slots:
            self.kept.append(value.dtype)
            row = self.layout(value) | {
                "kind": guard.ARRAY, "object": id(kind), "descr": id(value.dtype), "place": where,
                "dtype": _word_of(value.dtype),
            }  # fmt: skip
            if place is not None:
                self.arrays[place] = value
            if place in self.any_shape:
                row |= {"shape": 0, "strides": 0, "flags": value.flags.num & guard.LAYOUT}
            return row
        if kind in (float, complex) or isinstance(value, np.number | np.bool_):
            if where not in self.slots:
                return {"kind": guard.TYPED, "object": id(kind), "place": where}
            size = -(-np.asarray(value).nbytes // 8)
            slot = self.slots[where]
            return {"kind": guard.NUMBER, "object": id(kind), "place": where, "slot": slot, "words": size}
        if kind is int and place is not None:
            if where not in self.slots:
                return {"kind": guard.TYPED, "object": id(kind), "place": where}
            return {"kind": guard.INTEGER, "object": id(kind), "place": where, "slot": self.slots[where]}
        if kind is int and -(1 << 63) <= value < 1 << 63:
            return {"kind": guard.INTEGER, "object": id(kind), "place": where, "ndim": value}
        if place is None and isinstance(value, type) and is_plain_class(value):
            return self.identical(value) | self.version(value)
        if place is None and kind is str:
            return self.identical(value) | {"kind": guard.EQUAL}
        is_static = kind in STATIC_TYPES or isinstance(value, (np.dtype, type, np.ufunc, types.FunctionType))
        if place is None and (is_static or constant_key(value) is not None):
            return self.identical(value)
        raise Unguarded

    def _of_dtype(self, dtype: np.dtype, word: int) -> dict[str, int]:
        """What an array of that dtype is, whatever its shape, or with a `word` of one that has it."""
        row = {"kind": guard.ARRAY, "object": id(np.ndarray), "ndim": -1, "place": self.unused}
        if word:
            return row | {"dtype": word}
        self.kept.append(dtype)
        return row | {"descr": id(dtype)}

    def identical(self, value: Any) -> dict[str, int]:
        self.kept.append(value)
        return {"kind": guard.IDENTICAL, "object": id(value), "place": self.unused}


def _word_of(dtype: np.dtype) -> int:
    """What tells dtypes of numbers apart; 0 for others, which have to be the same object."""
    return dtype_word(dtype) if dtype.kind in "biufc" else 0


def _extent(array: np.ndarray) -> tuple[int, int]:
    """Where the elements of an array begin and end, in bytes from its first one."""
    if not array.size:
        return 0, 0
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + array.itemsize
