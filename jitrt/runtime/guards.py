"""Rows of the native guard: what the arguments of a call, and what a function reads from outside, have to be."""

from __future__ import annotations

import ctypes
import functools
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..config import debug
from ..kernels import entry as native
from ..kernels import guard, results
from ..values.attributes import is_plain_class
from ..values.constants import constant_key
from ..values.frozen import is_frozen, original
from ..values.functions import MISSING
from ..values.keys import STATIC_TYPES, is_foreign
from ..values.kinds import (
    AGAIN,
    DICT,
    FUNCTION,
    GROWING,
    LIST,
    MAPPING,
    MASKED,
    METHOD,
    NAMED,
    OBJECT,
    PARTIAL,
    PROXY,
    RECORDS,
    SAME,
    TUPLE,
    UNREAD,
    Attributes,
    Parts,
    Path,
    Tree,
    at,
)
from ..values.masked import fixed_attributes, names_of
from ..values.trees import leaf_count
from ..values.versions import version_address, version_of, version_offset
from .dispatch import Words, words
from .namespaces import function_fields, words_of
from .objects import (
    address,
    dtype_word,
    factory_offsets,
    fields,
    method_offsets,
    order_offset,
    partial_offsets,
    proxy_offsets,
    slot_offsets,
)

# A value that a function reads from outside: what it was, and the dict or class and the key, or the cell and None, that
# hold it.
Captured = tuple[Any, Any, Any]

_MOST_OF_A_KIND = 64  # containers of one type, each of which is compared with those before


def can_guard_objects() -> bool:
    """Whether native code can take objects apart on this build of Python."""
    return fields() is not None and version_offset() is not None and not debug()


class Unguarded(Exception):
    """Native code cannot check a value like this one."""


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
        self._describe = describe  # none of its own methods, which would keep it, and arrays, alive
        self.places, self.slots, self.unused, self.any_shape = places, slots, unused, any_shape
        self._arguments = arguments
        self.offsets: dict[int, int] = {}  # by place
        self.rows: list[dict[str, int]] = []
        self.leaves: list[Any] = []  # so far
        self.arrays: dict[int, np.ndarray] = {}  # by place
        self.kept: list[Any] = []
        self._last_place = unused
        self._at: dict[Path, int] = {}  # rows of lists, dicts, objects and the dicts of their attributes
        self._numbered: list[int | None] = []  # rows of what `Again` can refer to
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
        self._numbered.append(None)  # the dict of keyword arguments
        for k, (name, structure) in enumerate(zip(call.keywords, call.named), count):
            self._add(structure, leaves, {"source": guard.ARGUMENT, "key": k}, (1, name))
        if len(call.outside) != len(call.state):
            raise Unguarded
        for k, (structure, (_, container, key)) in enumerate(zip(call.outside, call.state)):
            self._add(structure, leaves, self.outside(container, key), (2, k))

    def add_arguments(self, structures: Sequence[Tree], leaves: Iterator[Any]) -> None:
        """Rows of positional arguments."""
        for k, structure in enumerate(structures):
            self._add(structure, leaves, {"source": guard.ARGUMENT, "key": k}, (0, k))

    def add_kinds(self, arguments: Sequence[Any]) -> None:
        """Rows of arguments of which nothing matters but their classes, and the dtypes of arrays."""
        for k, value in enumerate(arguments):
            row = self._of_dtype(value.dtype) if type(value) is np.ndarray else self._typed(type(value))
            self.rows.append(row | {"source": guard.ARGUMENT, "key": k})

    def add_places(self, count: int) -> int:
        """The first of `count` further places."""
        first = self._last_place + 1
        self._last_place += count
        return first

    def row_at(self, path: Path) -> int:
        """The number of the row whose value is the list, dict or object at a path, or the dict of its attributes."""
        if path not in self._at:  # another path leads there, too
            raise Unguarded
        return self._at[path]

    def _add(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of a value that native code finds as `found` says."""
        if structure is None:
            leaf = next(leaves)
            place = self.places.get(len(self.leaves))
            self.leaves.append(leaf)
            row = (self._describe or self._description)(leaf, place)
            row.update(found)
            self.rows.append(row)
            return
        kind, what, parts = structure
        if kind is AGAIN:
            earlier = self._numbered[what]
            assert earlier is not None
            same = {"kind": guard.AGAIN, "object": self.rows[earlier]["object"], "ndim": earlier, "place": self.unused}
            self.rows.append(found | same)
        elif kind is OBJECT:
            cls, names = what
            here = self._add_numbered(found | self._typed(cls) | self._version(cls), path)
            if not cls.__dictoffset__:
                self._add_slots(structure, leaves, here, path)
                return
            attributes = {"source": guard.OWN_DICT, "base": here} | self._container(dict, len(names))
            self._add_dict(names, parts, leaves, attributes, (*path, Attributes), True)
        elif kind is RECORDS:
            self._add_records(structure, leaves, found, path)
        elif kind is MASKED:
            self._add_masked(structure, leaves, found, path)
        elif kind is FUNCTION:
            self._add_function(structure, leaves, found, path)
        elif kind is SAME:
            self.rows.append(self._identical(what.value) | found)
        elif kind is UNREAD:
            self._append(found | self._typed(what))
        elif kind is METHOD:
            self._add_method(structure, leaves, found, path)
        elif kind is MAPPING:
            self._add_mapping(structure, leaves, found, path)
        elif kind is PROXY:
            self._add_held(structure, leaves, found, path, types.MappingProxyType, proxy_offsets())
        elif kind is PARTIAL:
            here = self._add_held(structure, leaves, found, path, functools.partial, partial_offsets())
            self.rows.append(self._container(dict, 0) | {"source": guard.OWN_DICT, "base": here})
        elif kind is GROWING:
            self._add_numbered(found | self._typed(list), path)
        elif kind is DICT:
            self._add_dict(what, parts, leaves, found | self._container(dict, len(what)), path, False)
        else:
            cls = list if kind is LIST else tuple if kind is TUPLE else what
            row = found | self._container(cls, len(parts))
            if kind is NAMED:
                if cls.__dictoffset__:
                    raise Unguarded  # rows do not tell whether there are attributes
                row |= self._version(cls)
            source = guard.IN_LIST if kind is LIST else guard.IN_TUPLE
            here = self._add_numbered(row, path) if kind is LIST else self._append(row)
            for k, part in enumerate(parts):
                self._add(part, leaves, {"source": source, "base": here, "key": k}, (*path, k))

    def _add_method(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of a bound method: its class, its function, and its object."""
        places = method_offsets()
        if self._arguments is None or path[0] > 1 or places is None:
            raise Unguarded
        here = self._append(found | self._typed(types.MethodType))
        function, owner = places
        method = at(self._arguments, path)
        self.rows.append(self._identical(method.__func__) | {"source": guard.IN_SLOT, "base": here, "key": function})
        self._add(structure[2][0], leaves, {"source": guard.IN_SLOT, "base": here, "key": owner}, (*path, Parts, 0))

    def _add_mapping(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of a dict of a class of `collections`, which is gone through in the order of the dict below."""
        (cls, factory, keys), parts = structure[1:]
        row = found | self._container(cls, len(keys))
        if cls is OrderedDict:
            offset = order_offset()
            if offset is None:
                raise Unguarded
            row |= {"mask": offset, "low": len(keys)}
        self._add_dict(keys, parts, leaves, row, path, False)
        here = self._at[path]
        if cls is not defaultdict:
            self.rows.append(self._container(dict, 0) | {"source": guard.OWN_DICT, "base": here})
        elif (places := factory_offsets()) is None:
            raise Unguarded
        else:
            made = {"source": guard.EMPTY_SLOT if factory is None else guard.IN_SLOT, "base": here, "key": places[0]}
            self.rows.append(self._identical(factory) | made)

    def _add_held(
        self,
        structure: Tree,
        leaves: Iterator[Any],
        found: dict[str, int],
        path: Path,
        cls: type,
        places: tuple[int, ...] | None,
    ) -> int:
        """Rows of a value of a class that has its parts at these places; the number of its own."""
        if places is None:
            raise Unguarded
        here = self._append(found | self._typed(cls))
        for k, (part, place) in enumerate(zip(structure[2], places)):
            held = {"source": guard.IN_SLOT, "base": here, "key": place}
            self._add(part, leaves, held, (*path, Parts, k))
        return here

    def _add_function(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of a function that is taken apart: its code, module and name, what is in its cells, and its defaults."""
        code, parts = structure[1:]
        places, layout = function_fields(), fields()
        if places is None or layout is None:
            raise Unguarded
        here = self._add_numbered(found | self._typed(types.FunctionType), path)

        def slot(name: str) -> dict[str, int]:
            return {"source": guard.IN_SLOT, "base": here, "key": places[name]}

        def several(name: str, kind: type, size: int) -> int:
            """The row of what holds so many parts."""
            if size:
                return self._append(self._container(kind, size) | slot(name))
            return self._append(self._identical(None) | slot(name) | {"source": guard.EMPTY_SLOT})

        self.rows.append(self._identical(code.function_code) | slot("__code__"))
        self.rows.append(self._identical(code.namespace) | slot("__globals__"))
        self.rows.append(self._identical(code.name) | slot("__name__") | {"kind": guard.EQUAL})
        self.rows.append(self._container(dict, 0) | {"source": guard.OWN_DICT, "base": here})
        cells, count = len(code.function_code.co_freevars), len(parts) - len(code.keywords)
        numbered = [((*path, Parts, k), part) for k, part in enumerate(parts)]
        of_cells = several("__closure__", tuple, cells)
        for k, (inner, part) in enumerate(numbered[:cells]):
            cell = self._append(self._typed(types.CellType) | {"source": guard.IN_TUPLE, "base": of_cells, "key": k})
            held = {"source": guard.IN_SLOT, "base": cell, "key": layout["cell"]}
            if part is not None and part[0] is SAME and part[1].value is MISSING:
                self.rows.append(self._identical(None) | held | {"source": guard.EMPTY_SLOT})
            else:
                self._add(part, leaves, held, inner)
        of_defaults = several("__defaults__", tuple, code.defaults)
        for k, (inner, part) in enumerate(numbered[cells:count]):
            self._add(part, leaves, {"source": guard.IN_TUPLE, "base": of_defaults, "key": k}, inner)
        of_keywords = several("__kwdefaults__", dict, len(code.keywords))
        for keyword, (inner, part) in zip(code.keywords, numbered[count:]):
            item = {"source": guard.NEXT_IN_DICT, "base": of_keywords, "key": id(keyword), "key_type": id(str)}
            self.kept.append(keyword)
            self._add(part, leaves, item, inner)

    def add_code(self, base: int, function: types.FunctionType) -> None:
        """Rows of what a function does that has closed over nothing; `base` is the row whose value it is."""
        places = function_fields()
        if places is None:
            raise Unguarded
        for name in ("__code__", "__globals__", "__defaults__", "__kwdefaults__", "__closure__"):
            value = getattr(function, name)
            source = guard.EMPTY_SLOT if value is None else guard.IN_SLOT
            self.rows.append(self._identical(value) | {"source": source, "base": base, "key": places[name]})

    def _add_records(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of an array of records and of its fields, which are no objects: their rows find the array again."""
        (dtype, cls), _ = structure[1:]
        if self._arguments is None or path[0] > 1:
            raise Unguarded
        value = at(self._arguments, path)
        self.kept.append(dtype)
        row = {"kind": guard.ARRAY, "object": id(cls), "descr": id(value.dtype), "place": self.unused}
        here = self._add_numbered(found | row | self._layout(value), path)
        mask, has_axes, any_shape = 0, False, self._describe is not None
        for offset, part in _fields_of(structure):
            if part is not None:
                self._numbered.append(None)
                continue
            leaf = next(leaves)
            place = self.places.get(len(self.leaves), self.unused)
            self.leaves.append(leaf)
            has_axes = has_axes or leaf.ndim > value.ndim
            if place in self.any_shape:  # formulas look at the shape of the array itself
                any_shape = True
                if has_axes:
                    raise Unguarded
            row = found | {"kind": guard.AGAIN, "object": id(cls), "ndim": here, "place": self.unused}
            if self._describe is not None:
                row |= self._recorded(self._describe(leaf, place), leaf, offset, value.ndim)
            elif place != self.unused:
                row["place"] = place
                self.offsets[place], self.arrays[place] = offset, leaf
                mask |= leaf.dtype.alignment - 1 if leaf.flags.aligned else 0
            self.rows.append(row)
        self.rows[here] |= {"mask": mask, "low": value.__array_interface__["data"][0] & mask}
        if any_shape and not has_axes:  # for code that takes fields of any shape, wherever they are
            self.rows[here] |= {"shape": 0, "strides": 0, "flags": value.flags.num & guard.LAYOUT}

    def _add_masked(self, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
        """Rows of a masked array, which is the data itself, and has the rest in the dict of its attributes."""
        if self._describe is not None:
            raise Unguarded
        what, parts = structure[1:]
        leaf = next(leaves)
        row = self._description(leaf, self.places.get(len(self.leaves)))
        self.leaves.append(leaf)
        self.kept.append(np.ma.MaskedArray)
        here = self._add_numbered(row | found | {"object": id(np.ma.MaskedArray)}, path)
        attributes = {"source": guard.OWN_DICT, "base": here} | self._container(dict, len(what.names))
        of_dict = self._at[(*path, Attributes)] = self._append(attributes)
        trees = dict(zip(names_of(what), parts))
        fixed = fixed_attributes(what)
        for name in what.names:
            item = {"source": guard.NEXT_IN_DICT, "base": of_dict, "key": id(name), "key_type": id(str)}
            self.kept.append(name)
            if name in trees:
                self._add(trees[name], leaves, item, (*path, Attributes, name))
            elif name in fixed:
                self.rows.append(self._identical(fixed[name]) | item)
            else:
                self.rows.append(self._container(dict, 0) | item)

    def _recorded(self, row: dict[str, int], leaf: np.ndarray, offset: int, axes: int) -> dict[str, int]:
        """What writes down where a field is, for code that `row` gives an array: it gets what looks like one."""
        if not row.get("slot"):
            return {}
        layout = fields()
        assert layout is not None
        looks = np.zeros(max(layout[name] for name in ("data", "shape", "strides")) // 8 + 1, np.int64)
        looks[layout["shape"] // 8] = address_of(leaf.shape, self.kept)
        looks[layout["strides"] // 8] = address_of(leaf.strides, self.kept)
        self.kept.append(looks)
        ctypes.c_int64.from_address(row["slot"]).value = address(looks)
        whole = leaf.ndim == axes  # then it has the extents and strides of the records
        return {"kind": guard.FIELD, "low": offset, "slot": address(looks) + layout["data"], "words": int(whole)}

    def _layout(self, value: np.ndarray) -> dict[str, int]:
        """What is compared of the layout of an array."""
        return {
            "ndim": value.ndim, "shape": address_of(value.shape, self.kept),
            "strides": address_of(value.strides, self.kept), "flags": value.flags.num & guard.FLAGS,
        }  # fmt: skip

    def _add_dict(
        self,
        keys: Sequence[Any],
        parts: Sequence[Tree],
        leaves: Iterator[Any],
        row: dict[str, int],
        path: Path,
        of_attributes: bool,
    ) -> None:
        """Rows of a dict with its items, which may be that of the attributes of an object."""
        here = self._append(row) if of_attributes else self._add_numbered(row, path)
        self._at[path] = here
        for key, part in zip(keys, parts):
            self.kept.append(key)
            found = {"source": guard.NEXT_IN_DICT, "base": here, "key": id(key), "key_type": id(str)}
            if type(key) is not str:
                del found["key_type"]
            self._add(part, leaves, found, (*path, key))

    def _add_slots(self, structure: Tree, leaves: Iterator[Any], here: int, path: Path) -> None:
        """Rows of the slots of the object that was the value of row `here`."""
        (cls, names), inner = structure[1:]
        offsets = slot_offsets(cls)
        if offsets is None:
            raise Unguarded
        self._at[(*path, Attributes)] = here
        parts = dict(zip(names, inner))
        self.kept += parts
        for name in parts.keys() ^ offsets.keys():
            empty = {"source": guard.EMPTY_SLOT, "base": here, "key": offsets[name]}
            self.rows.append(self._identical(None) | empty)
        for name, part in parts.items():
            found = {"source": guard.IN_SLOT, "base": here, "key": offsets[name]}
            self._add(part, leaves, found, (*path, Attributes, name))

    def how_stored(self, row: int) -> int:
        """How what is stored gets into the value of a row: as an item, or as an attribute."""
        cls = self.rows[row]["object"]
        if cls == id(OrderedDict):
            raise Unguarded  # which has the order of its keys beside the dict
        return results.SET if cls in (id(dict), id(defaultdict), id(Counter)) else results.ATTRIBUTE

    def _add_numbered(self, row: dict[str, int], path: Path) -> int:
        """Add the row of a list, dict or object, which is none of those before."""
        self._at[path] = here = self._append(row)
        self._numbered.append(here)
        alike = self._alike.setdefault(row["object"], [])
        if len(alike) > _MOST_OF_A_KIND:
            raise Unguarded
        if alike:
            row["other"] = alike[-1] + 1
        alike.append(here)
        return here

    def _append(self, row: dict[str, int]) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def _typed(self, kind: type) -> dict[str, int]:
        self.kept.append(kind)
        return {"kind": guard.TYPED, "object": id(kind), "place": self.unused}

    def _container(self, kind: type, size: int) -> dict[str, int]:
        return self._typed(kind) | {"kind": guard.CONTAINER, "ndim": size}

    def _version(self, kind: type) -> dict[str, int]:
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
                self.rows.append(self._identical(container) | self._fixed(container) | self._version(container))
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
            row = self._identical(value) if place is None else self._description(value, place)
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

    def _description(self, value: Any, place: int | None) -> dict[str, int]:
        """What a value like `value` has to be."""
        kind = type(value)
        where = self.unused if place is None else place
        if place is None and is_foreign(value):
            if kind is np.memmap:
                raise Unguarded
            return self._of_dtype(value.dtype) if kind is np.ndarray else self._typed(kind)
        if place is None and kind is np.ndarray and not value.flags.writeable and is_frozen(value):
            return self._identical(original(value))
        if (kind is np.ndarray or kind is np.memmap) and where not in self.slots:
            self.kept.append(value.dtype)
            row = self._layout(value) | {
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
            return self._identical(value) | self._version(value)
        if place is None and kind is str:
            return self._identical(value) | {"kind": guard.EQUAL}
        is_static = kind in STATIC_TYPES or isinstance(value, (np.dtype, type, np.ufunc, types.FunctionType))
        if place is None and (is_static or constant_key(value) is not None):
            return self._identical(value)
        raise Unguarded

    def _of_dtype(self, dtype: np.dtype) -> dict[str, int]:
        """What an array of that dtype is, whatever its shape."""
        row = {"kind": guard.ARRAY, "object": id(np.ndarray), "ndim": -1, "place": self.unused}
        if word := _word_of(dtype):
            return row | {"dtype": word}
        self.kept.append(dtype)
        return row | {"descr": id(dtype)}

    def _identical(self, value: Any) -> dict[str, int]:
        self.kept.append(value)
        return {"kind": guard.IDENTICAL, "object": id(value), "place": self.unused}


def _fields_of(structure: Tree, offset: int = 0) -> Iterator[tuple[int, Tree]]:
    """The fields of an array of records, in order, and those of records in it behind these: where, and their trees."""
    (dtype, _), parts = structure[1:]
    for name, part in zip(dtype.names, parts):
        here = offset + dtype.fields[name][1]
        yield here, part
        if part is not None:
            yield from _fields_of(part, here)


def _word_of(dtype: np.dtype) -> int:
    """What tells dtypes of numbers apart; 0 for others, which have to be the same object."""
    return dtype_word(dtype) if dtype.kind in "biufc" else 0


def _extent(array: np.ndarray) -> tuple[int, int]:
    """Where the elements of an array begin and end, in bytes from its first one."""
    if not array.size:
        return 0, 0
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + array.itemsize


def address_of(values: Sequence[int], kept: list[Any]) -> int:
    """The address of `values` as 64-bit words, which `kept` keeps alive."""
    array = np.array(values, np.int64)
    kept.append(array)
    return address(array)
