"""Rows of the native guard for each kind of values that are taken apart: what they are, and where their parts are."""

from __future__ import annotations

import ctypes
import functools
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..kernels import guard
from ..values.functions import MISSING
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
    Kind,
    Parts,
    Path,
    Tree,
    at,
)
from ..values.masked import fixed_attributes, names_of
from .namespaces import function_fields
from .objects import (
    Unguarded,
    address,
    address_of,
    factory_offsets,
    fields,
    method_offsets,
    order_offset,
    partial_offsets,
    proxy_offsets,
    slot_offsets,
)

if TYPE_CHECKING:
    from .guards import GuardRows

Found = dict[str, int]  # how native code finds a value
_T = TypeVar("_T")


def _known(offsets: _T | None) -> _T:
    """Offsets that native code goes by, which may not be where they are expected."""
    if offsets is None:
        raise Unguarded
    return offsets


def _again(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    """The row of what stands elsewhere, too."""
    earlier = rows.numbered[structure[1]]
    assert earlier is not None
    same = {"kind": guard.AGAIN, "object": rows.rows[earlier]["object"], "ndim": earlier, "place": rows.unused}
    rows.append(found | same)


def _object(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    """Rows of an object of the user's and of its attributes."""
    (cls, names), parts = structure[1:]
    here = rows.add_numbered(found | rows.typed(cls) | rows.version(cls), path)
    if not cls.__dictoffset__:
        _slots(rows, structure, leaves, here, path)
        return
    attributes = {"source": guard.OWN_DICT, "base": here} | rows.container(dict, len(names))
    _dict(rows, names, parts, leaves, attributes, (*path, Attributes), True)


def _same(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    """The row of a constant."""
    rows.append(rows.identical(structure[1].value) | found)


def _unread(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    """The row of what the function does not look at."""
    rows.append(found | rows.typed(structure[1]))


def _growing(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    """The row of a list that is appended to."""
    rows.add_numbered(found | rows.typed(list), path)


def _plain_dict(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    keys, parts = structure[1:]
    _dict(rows, keys, parts, leaves, found | rows.container(dict, len(keys)), path, False)


def _proxy(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    _held(rows, structure, leaves, found, path, types.MappingProxyType, proxy_offsets())


def _partial(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    here = _held(rows, structure, leaves, found, path, functools.partial, partial_offsets())
    rows.append(rows.container(dict, 0) | {"source": guard.OWN_DICT, "base": here})


def _sequence(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: Found, path: Path) -> None:
    """Rows of a list, a tuple or a named tuple, and of its elements."""
    kind, what, parts = structure
    cls = list if kind is LIST else tuple if kind is TUPLE else what
    row = found | rows.container(cls, len(parts))
    if kind is NAMED:
        if cls.__dictoffset__:
            raise Unguarded  # rows do not tell whether there are attributes
        row |= rows.version(cls)
    source = guard.IN_LIST if kind is LIST else guard.IN_TUPLE
    here = rows.add_numbered(row, path) if kind is LIST else rows.append(row)
    for k, part in enumerate(parts):
        rows.add(part, leaves, {"source": source, "base": here, "key": k}, (*path, k))


def _method(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
    """Rows of a bound method: its class, its function, and its object."""
    if rows.arguments is None or path[0] > 1:
        raise Unguarded
    here = rows.append(found | rows.typed(types.MethodType))
    function, owner = _known(method_offsets())
    method = at(rows.arguments, path)
    rows.append(rows.identical(method.__func__) | {"source": guard.IN_SLOT, "base": here, "key": function})
    rows.add(structure[2][0], leaves, {"source": guard.IN_SLOT, "base": here, "key": owner}, (*path, Parts, 0))


def _mapping(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
    """Rows of a dict of a class of `collections`, which is gone through in the order of the dict below."""
    (cls, factory, keys), parts = structure[1:]
    row = found | rows.container(cls, len(keys))
    if cls is OrderedDict:
        row |= {"mask": _known(order_offset()), "low": len(keys)}
    _dict(rows, keys, parts, leaves, row, path, False)
    here = rows.at_path[path]
    if cls is not defaultdict:
        rows.append(rows.container(dict, 0) | {"source": guard.OWN_DICT, "base": here})
    else:
        source = guard.EMPTY_SLOT if factory is None else guard.IN_SLOT
        made = {"source": source, "base": here, "key": _known(factory_offsets())[0]}
        rows.append(rows.identical(factory) | made)


def _held(
    rows: GuardRows,
    structure: Tree,
    leaves: Iterator[Any],
    found: dict[str, int],
    path: Path,
    cls: type,
    places: tuple[int, ...] | None,
) -> int:
    """Rows of a value of a class that has its parts at these places; the number of its own."""
    here = rows.append(found | rows.typed(cls))
    for k, (part, place) in enumerate(zip(structure[2], _known(places))):
        held = {"source": guard.IN_SLOT, "base": here, "key": place}
        rows.add(part, leaves, held, (*path, Parts, k))
    return here


def _function(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
    """Rows of a function that is taken apart: its code, module and name, what is in its cells, and its defaults."""
    code, parts = structure[1:]
    places, layout = _known(function_fields()), _known(fields())
    here = rows.add_numbered(found | rows.typed(types.FunctionType), path)

    def slot(name: str) -> dict[str, int]:
        return {"source": guard.IN_SLOT, "base": here, "key": places[name]}

    def several(name: str, kind: type, size: int) -> int:
        """The row of what holds so many parts."""
        if size:
            return rows.append(rows.container(kind, size) | slot(name))
        return rows.append(rows.identical(None) | slot(name) | {"source": guard.EMPTY_SLOT})

    rows.append(rows.identical(code.function_code) | slot("__code__"))
    rows.append(rows.identical(code.namespace) | slot("__globals__"))
    rows.append(rows.identical(code.name) | slot("__name__") | {"kind": guard.EQUAL})
    rows.append(rows.container(dict, 0) | {"source": guard.OWN_DICT, "base": here})
    cells, count = len(code.function_code.co_freevars), len(parts) - len(code.keywords)
    numbered = [((*path, Parts, k), part) for k, part in enumerate(parts)]
    of_cells = several("__closure__", tuple, cells)
    for k, (inner, part) in enumerate(numbered[:cells]):
        cell = rows.append(rows.typed(types.CellType) | {"source": guard.IN_TUPLE, "base": of_cells, "key": k})
        held = {"source": guard.IN_SLOT, "base": cell, "key": layout["cell"]}
        if part is not None and part[0] is SAME and part[1].value is MISSING:
            rows.append(rows.identical(None) | held | {"source": guard.EMPTY_SLOT})
        else:
            rows.add(part, leaves, held, inner)
    of_defaults = several("__defaults__", tuple, code.defaults)
    for k, (inner, part) in enumerate(numbered[cells:count]):
        rows.add(part, leaves, {"source": guard.IN_TUPLE, "base": of_defaults, "key": k}, inner)
    of_keywords = several("__kwdefaults__", dict, len(code.keywords))
    for keyword, (inner, part) in zip(code.keywords, numbered[count:]):
        rows.add(part, leaves, _item(rows, of_keywords, keyword), inner)


def add_code(rows: GuardRows, base: int, function: types.FunctionType) -> None:
    """Rows of what a function does that has closed over nothing; `base` is the row whose value it is."""
    places = _known(function_fields())
    for name in ("__code__", "__globals__", "__defaults__", "__kwdefaults__", "__closure__"):
        value = getattr(function, name)
        source = guard.EMPTY_SLOT if value is None else guard.IN_SLOT
        rows.append(rows.identical(value) | {"source": source, "base": base, "key": places[name]})


def _records(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
    """Rows of an array of records and of its fields, which are no objects: their rows find the array again."""
    (dtype, cls), _ = structure[1:]
    if rows.arguments is None or path[0] > 1:
        raise Unguarded
    value = at(rows.arguments, path)
    rows.kept.append(dtype)
    row = {"kind": guard.ARRAY, "object": id(cls), "descr": id(value.dtype), "place": rows.unused}
    here = rows.add_numbered(found | row | rows.layout(value), path)
    mask, has_axes, any_shape, is_fixed = 0, False, rows.describe is not None, False
    for offset, part in _fields_of(structure):
        if part is not None:
            rows.numbered.append(None)
            continue
        leaf = next(leaves)
        place = rows.places.get(len(rows.leaves), rows.unused)
        rows.leaves.append(leaf)
        has_axes = has_axes or leaf.ndim > value.ndim
        if place in rows.any_shape:  # formulas look at the shape of the array itself
            any_shape = True
            if has_axes:
                raise Unguarded
        elif rows.describe is None and place != rows.unused:
            is_fixed = True  # the program is for fields of this shape
        row = found | {"kind": guard.AGAIN, "object": id(cls), "ndim": here, "place": rows.unused}
        if rows.describe is not None:
            row |= _recorded(rows, rows.describe(leaf, place), leaf, offset, value.ndim)
        elif place != rows.unused:
            row["place"] = place
            rows.offsets[place], rows.arrays[place] = offset, leaf
            mask |= leaf.dtype.alignment - 1 if leaf.flags.aligned else 0
        rows.append(row)
    rows.rows[here] |= {"mask": mask, "low": value.__array_interface__["data"][0] & mask}
    if any_shape and not (has_axes or is_fixed):  # for code that takes fields of any shape, wherever they are
        rows.rows[here] |= {"shape": 0, "strides": 0, "flags": value.flags.num & guard.LAYOUT}


def _masked(rows: GuardRows, structure: Tree, leaves: Iterator[Any], found: dict[str, int], path: Path) -> None:
    """Rows of a masked array, which is the data itself, and has the rest in the dict of its attributes."""
    if rows.describe is not None:
        raise Unguarded
    what, parts = structure[1:]
    leaf = next(leaves)
    row = rows.description(leaf, rows.places.get(len(rows.leaves)))
    rows.leaves.append(leaf)
    rows.kept.append(np.ma.MaskedArray)
    here = rows.add_numbered(row | found | {"object": id(np.ma.MaskedArray)}, path)
    attributes = {"source": guard.OWN_DICT, "base": here} | rows.container(dict, len(what.names))
    of_dict = rows.at_path[(*path, Attributes)] = rows.append(attributes)
    trees = dict(zip(names_of(what), parts))
    fixed = fixed_attributes(what)
    for name in what.names:
        item = _item(rows, of_dict, name)
        if name in trees:
            rows.add(trees[name], leaves, item, (*path, Attributes, name))
        elif name in fixed:
            rows.append(rows.identical(fixed[name]) | item)
        else:
            rows.append(rows.container(dict, 0) | item)


def _recorded(rows: GuardRows, row: dict[str, int], leaf: np.ndarray, offset: int, axes: int) -> dict[str, int]:
    """What writes down where a field is, for code that `row` gives an array: it gets what looks like one."""
    if not row.get("slot"):
        return {}
    layout = _known(fields())
    looks = np.zeros(max(layout[name] for name in ("data", "shape", "strides")) // 8 + 1, np.int64)
    looks[layout["shape"] // 8] = address_of(leaf.shape, rows.kept)
    looks[layout["strides"] // 8] = address_of(leaf.strides, rows.kept)
    rows.kept.append(looks)
    ctypes.c_int64.from_address(row["slot"]).value = address(looks)
    whole = leaf.ndim == axes  # then it has the extents and strides of the records
    return {"kind": guard.FIELD, "low": offset, "slot": address(looks) + layout["data"], "words": int(whole)}


def _dict(
    rows: GuardRows,
    keys: Sequence[Any],
    parts: Sequence[Tree],
    leaves: Iterator[Any],
    row: dict[str, int],
    path: Path,
    of_attributes: bool,
) -> None:
    """Rows of a dict with its items, which may be that of the attributes of an object."""
    here = rows.append(row) if of_attributes else rows.add_numbered(row, path)
    rows.at_path[path] = here
    for key, part in zip(keys, parts):
        rows.add(part, leaves, _item(rows, here, key), (*path, key))


def _item(rows: GuardRows, base: int, key: Any) -> Found:
    """How native code finds the next item of the dict that is the value of row `base`."""
    rows.kept.append(key)
    found = {"source": guard.NEXT_IN_DICT, "base": base, "key": id(key)}
    return found | {"key_type": id(str)} if type(key) is str else found


def _slots(rows: GuardRows, structure: Tree, leaves: Iterator[Any], here: int, path: Path) -> None:
    """Rows of the slots of the object that was the value of row `here`."""
    (cls, names), inner = structure[1:]
    offsets = _known(slot_offsets(cls))
    rows.at_path[(*path, Attributes)] = here
    parts = dict(zip(names, inner))
    rows.kept += parts
    for name in parts.keys() ^ offsets.keys():
        empty = {"source": guard.EMPTY_SLOT, "base": here, "key": offsets[name]}
        rows.append(rows.identical(None) | empty)
    for name, part in parts.items():
        found = {"source": guard.IN_SLOT, "base": here, "key": offsets[name]}
        rows.add(part, leaves, found, (*path, Attributes, name))


def _fields_of(structure: Tree, offset: int = 0) -> Iterator[tuple[int, Tree]]:
    """The fields of an array of records, in order, and those of records in it behind these: where, and their trees."""
    (dtype, _), parts = structure[1:]
    for name, part in zip(dtype.names, parts):
        here = offset + dtype.fields[name][1]
        yield here, part
        if part is not None:
            yield from _fields_of(part, here)


KIND_ROWS: dict[Kind, Callable[[GuardRows, Tree, Iterator[Any], Found, Path], Any]] = {
    AGAIN: _again, OBJECT: _object, RECORDS: _records, MASKED: _masked, FUNCTION: _function, SAME: _same,
    UNREAD: _unread, METHOD: _method, MAPPING: _mapping, PROXY: _proxy, PARTIAL: _partial, GROWING: _growing,
    DICT: _plain_dict, LIST: _sequence, TUPLE: _sequence, NAMED: _sequence,
}  # fmt: skip
