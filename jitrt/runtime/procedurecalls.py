"""Tables by which native code calls procedures: what the arguments have to be, and what is made of the results."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import debug
from ..frontend.control.complexnumbers import COMPLEX
from ..frontend.control.listresults import ColumnOf, Instance, Known, PartOf, Possibly, Several, pools_in
from ..frontend.control.outside import ArraysOf, element_types
from ..frontend.control.results import WAY, Argument, First, Made, Number, Result, Stored, Turned
from ..kernels import guard
from ..kernels import procedure as returned
from ..kernels import results as made
from ..kernels.procedure import FIRST_ARGUMENT
from ..values.keys import GENERATORS
from ..values.kinds import DICT, OBJECT, Attributes, Path, Tree
from .dispatch import Words
from .guards import GuardRows
from .kindrows import add_code
from .objects import Unguarded, address_of, dtype_word, fields
from .procedureresults import is_all_columns, part_of
from .sources import native_record

if TYPE_CHECKING:
    from .procedurework import Work
    from .stagedfunction import StagedFunction


def procedure_table(
    loop: StagedFunction, args: tuple, trees: Sequence[Tree], leaves: Sequence[Any], count: int, work: Work
) -> Words | None:
    """The table by which native code runs a procedure; None if Python has to prepare its calls.

    Parameters
    ----------
    loop : StagedFunction
    args : tuple
        The arguments that it is made for.
    trees, leaves : sequence
        The same, as `take_apart` gives them.
    count : int
        How many of them are given; the others have been set by default.
    work : Work
        What its calls work with.
    """
    if fields() is None or debug() or len(loop.draws) > 1 or loop.staged.steps:
        return None
    staged, known = loop.staged, dict(loop.staged.known)
    integers: list[int] = []
    places = iter(range(FIRST_ARGUMENT, len(work.words)))
    lists: set[int] = set()
    generator = 0
    leaf_rows: dict[int, int] = {}
    functions: list[tuple[int, FunctionType]] = []

    def describe(leaf: Any, number: int) -> dict[str, int]:
        if number in known:
            value = known[number]
            if type(value) is FunctionType and value.__closure__ is None:  # another one that does the same will do
                functions.append((len(guarded.rows), value))
                return {"kind": guard.TYPED, "object": id(FunctionType)}
            return _same(value)
        if number in staged.listed and number not in staged.unread:
            raise Unguarded
        if number in staged.unread:
            row = {"kind": guard.TYPED, "object": id(type(leaf))}
            if number in staged.listed:
                row["other"] = max(leaf_rows.values(), default=-1) + 1
                leaf_rows[number] = len(guarded.rows)
            return row
        place = next(places)
        slot = work.addresses[0] + 8 * place
        if type(leaf) is int:
            integers.append(slot)
        if type(leaf) is list and (type_ := element_types(leaf)) in (int, float):
            memory, extent = work.list_at(place)
            lists.add(number)
            kinds = {"object": id(list), "descr": id(type_), "words": int(type_ is float)}
            return kinds | {"kind": guard.NUMBERS, "slot": memory, "shape": extent}
        if type(leaf) is list and isinstance(element_types(leaf), ArraysOf):
            if loop.written:  # which may share memory with them
                raise Unguarded
            memory, extent = work.list_at(place)
            lists.add(number)
            return _typed(leaf[0], memory, guarded.kept) | {
                "kind": guard.ARRAYS, "object": id(list), "low": id(np.ndarray), "shape": extent,
            }  # fmt: skip
        if type(leaf) in COMPLEX:
            return {"object": id(type(leaf)), "slot": work.complex_at(place, leaf), "kind": guard.NUMBER, "words": 2}
        return drawn(leaf, place) if type(leaf) in GENERATORS else _typed(leaf, slot, guarded.kept)

    def drawn(source: Any, place: int) -> dict[str, int]:
        nonlocal generator
        generator = native_record(source, guarded.kept)
        if not (generator and work.put(place, source)):
            raise Unguarded
        return {"kind": guard.IDENTICAL, "object": id(source)}

    guarded = GuardRows({k: k for k in range(len(leaves))}, {}, 0, describe, arguments=(args, {}))
    try:
        rest = iter(leaves)
        guarded.add_arguments(trees[:count], rest)
        for k in range(count, len(args)):  # which `__defaults__` holds: the same objects, whose contents may change
            number = len(guarded.leaves)
            if trees[k] is not None or isinstance(args[k], (list, np.ndarray)):
                guarded.add(trees[k], rest, guarded.outside(args, k), (0, k))
                continue
            guarded.leaves.append(next(rest))
            if number not in known and number not in staged.unread and not work.put(next(places), args[k]):
                return None
        for base, function in functions:
            add_code(guarded, base, function)
        guarded.add_outside([(None, (c.value, c.container, c.key)) for c in staged.captured])
        for capture in staged.arrays:
            value, place = capture.read(), next(places)
            is_source = type(value) in GENERATORS
            row = drawn(value, place) if is_source else _typed(value, work.addresses[0] + 8 * place, guarded.kept)
            guarded.rows.append(guarded.outside(capture.container, capture.key) | row)
        rows = _ReturnedRows(loop, work, guarded.kept, lists)
        rows.add(staged.returns)
        stored = [
            row
            for way, stores in enumerate(staged.stores)
            for row in rows.stored(way, stores, trees, guarded, leaf_rows)
        ]
    except Unguarded:
        return None
    guarded.kept.append(work)
    return guarded.table(
        count,
        (),
        {
            "held": len(guarded.rows),
            "procedure": loop.address,
            "argument_words": work.addresses[0],
            "workspace": work.addresses[1],
            "result_words": work.addresses[2],
            "integers": len(integers),
            "integer_rows": address_of(integers, guarded.kept),
            "way_at": loop.places[WAY],
            "generator": generator,
            "stores": len(stored),
            "store_rows": address_of([word for row in stored for word in row], guarded.kept),
            "ways": address_of([word for row in rows.rows for word in row], guarded.kept),
        },
    )


def _typed(value: Any, slot: int, kept: list[Any]) -> dict[str, int]:
    """What an argument like `value` has to be, of any shape and value."""
    kind = type(value)
    row = {"object": id(kind), "slot": slot}
    if kind is np.ndarray:
        kept.append(value.dtype)
        dtype = {"descr": id(value.dtype), "dtype": dtype_word(value.dtype)}
        layout = {"ndim": value.ndim, "flags": value.flags.num & guard.LAYOUT}
        return row | dtype | layout | {"kind": guard.ARRAY}
    if kind is int:
        return row | {"kind": guard.INTEGER}
    if kind in (float, np.float64, np.float32):
        return row | {"kind": guard.NUMBER, "words": 1}
    raise Unguarded


def _same(value: Any) -> dict[str, int]:
    """What an argument has to be of which a procedure knows the value."""
    if type(value) is str:
        return {"kind": guard.EQUAL, "object": id(value)}
    if value is None or isinstance(value, (bool, np.bool, ModuleType, enum.Enum)) or callable(value):
        return {"kind": guard.IDENTICAL, "object": id(value)}
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return {"kind": guard.INTEGER, "object": id(int), "ndim": value}
    raise Unguarded


_SEVERAL: dict[type, int] = {tuple: returned.TUPLE, list: returned.LIST, dict: returned.DICT}
_PYTHON_NUMBERS = {"f8": returned.FLOAT, "i8": returned.INTEGER, "b1": returned.BOOLEAN}


class _ReturnedRows:
    """Rows of what a procedure returns."""

    def __init__(self, loop: StagedFunction, work: Work, kept: list[Any], lists: set[int]):
        self.rows: list[Sequence[int]] = []
        self._loop, self._work, self._kept, self._lists = loop, work, kept, lists

    def add(self, kinds: Sequence[Result]) -> int:
        """The number of the first of the rows of `kinds`, which follow each other."""
        first = len(self.rows)
        self.rows += [()] * len(kinds)
        for k, kind in enumerate(kinds, first):
            self.rows[k] = self._row(kind)
        return first

    def stored(
        self,
        way: int,
        stores: Sequence[Stored],
        trees: Sequence[Tree],
        guarded: GuardRows,
        leaf_rows: Mapping[int, int],
    ) -> Iterator[tuple[int, ...]]:
        """Rows of what is stored where the function returns at that place; `leaf_rows` are those of leaves."""
        for s in stores:
            row = guarded.row_at(_path_in(trees, s.path)) if s.appends is None else leaf_rows[s.appends]
            how = made.EXTEND if s.appends is not None else guarded.how_stored(row)
            self._kept.append(s.name)
            yield way, self._loop.places[s.flag], how, row, id(s.name), self.add([s.value]), 0

    def _row(self, kind: Result) -> tuple[int, ...]:
        """What makes an object of the words that a procedure gives."""
        places = self._loop.places
        if isinstance(kind, Known):
            self._kept.append(kind.value)
            return returned.OBJECT, id(kind.value), 0, 0, 0, 0, 0
        if isinstance(kind, Argument):
            if kind.number in self._lists:
                raise Unguarded  # its word is not its address
            names = [p.name for p in self._loop.staged.procedure.parameters]
            return returned.GIVEN, FIRST_ARGUMENT + names.index(f"x{kind.number}"), 0, 0, 0, 0, 0
        if isinstance(kind, Several) and is_all_columns(kind):
            return returned.APPLIED, self.add((Turned(kind.parts[0].made, (1, 0)),)), id(tuple), 0, 0, 0, 0
        if isinstance(kind, (First, Turned, ColumnOf)):
            part = part_of(kind)
            self._kept.append(part)
            return returned.APPLIED, self.add((kind.made,)), id(part), 0, 0, 0, 0
        if isinstance(kind, Several) and not _shares_lists(kind):
            keys = 0
            if kind.make is dict:
                self._kept += kind.keys
                keys = address_of([id(key) for key in kind.keys], self._kept)
            return _SEVERAL[kind.make], self.add(kind.parts), keys, len(kind.parts), 0, 0, 0
        if isinstance(kind, Made):
            self._kept.append(kind.dtype)
            return returned.ARRAY, places[kind.address], id(kind.dtype), len(kind.extents), kind.dtype.itemsize, 0, 0
        of_python = _PYTHON_NUMBERS.get(kind.dtype.str[1:]) if isinstance(kind, Number) else None
        if not isinstance(kind, Number) or kind.strings or (kind.python is not False and of_python is None):
            if isinstance(kind, (PartOf, Possibly, Instance, Several)) and _names_arguments(kind):
                raise Unguarded
            made = functools.partial(self._made, kind)
            self._kept.append(made)
            return returned.CALLED, id(made), 0, 0, 0, 0, 0
        if kind.python:
            return of_python or 0, places[kind.variable], 0, 0, 0, 0, 0
        self._kept.append(kind.dtype)
        flag = places[kind.flag] + 1 if kind.python is None else 0
        return returned.SCALAR, places[kind.variable], id(kind.dtype), 0, kind.dtype.itemsize, flag, of_python or 0

    def _made(self, kind: Result, *args: Any) -> Any:
        """A list of run time, or another object for which there are no rows."""
        return self._loop.results.value(kind, self._work.results, ())


def _shares_lists(result: Several) -> bool:
    """Whether a list, or an array with columns, may be in several parts of a result."""
    pools = [pool for part in result.parts for pool in {*pools_in(part)}]
    return len(pools) > len(set(pools))


def _names_arguments(kind: Result) -> bool:
    """Whether a result is an argument, or may hold one."""
    if isinstance(kind, Possibly):
        return isinstance(kind.value, Several) or _names_arguments(kind.value)
    if isinstance(kind, PartOf):
        return _names_arguments(kind.whole)
    parts = kind.parts if isinstance(kind, (Several, Instance)) else ()
    return isinstance(kind, Argument) or any(map(_names_arguments, parts))


def _path_in(trees: Sequence[Tree], path: tuple[Any, ...]) -> Path:
    """The path of the rows of a guard that leads to what holds others in arguments."""
    number, *steps = path
    found: Path = (0, number)
    tree = trees[number]
    for step in steps:
        if tree is None or tree[0] not in (OBJECT, DICT):
            raise Unguarded
        kind, what, parts = tree
        found += (Attributes, step) if kind is OBJECT else (step,)
        tree = parts[(what[1] if kind is OBJECT else what).index(step)]
    return found
