"""Tables of the native entry: what the arguments of a call have to be, and what it runs."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..config import debug
from ..frozen import frozen
from ..kernels import entry as native
from ..kernels import guard
from .dispatch import Words, words
from .objects import address, fields
from .program import Program
from .results import LARGE, handler, is_fortran

# A value that a function reads from outside: what it was, and the dict and key, or the cell and None, that hold it.
Captured = tuple[Any, Any, Any]

# Work of this many additions, some microseconds, is worth letting other Python threads run meanwhile.
_RELEASING_WORK = 100_000


@frozen
class Returned:
    """A result: output number `index` as an array or a number, input number `index`, or a Python object.

    Parameters
    ----------
    source : str
        ``"array"``, ``"input"`` or ``"value"``.
    scalar, weak : bool
        Whether it is a NumPy scalar or a Python number, not an array.
    """

    source: str
    index: int
    scalar: bool
    value: Any
    weak: bool = False


_PYTHON_NUMBERS = {
    np.dtype(np.float64): native.FLOAT,
    np.dtype(np.int64): native.INTEGER,
    np.dtype(np.bool_): native.BOOLEAN,
}


class _Unguarded(Exception):
    """Native code cannot check a value like this one."""


def make_table(
    function: Callable[..., Any],
    program: Program,
    args: tuple,
    kwargs: dict[str, Any],
    arguments: Sequence[int],
    captured: Sequence[Captured],
    watched: Sequence[Captured],
    written: Sequence[tuple[int, int]],
    results: Sequence[Returned],
    several: bool,
) -> Words | None:
    """The table by which native code runs `program` for calls like this one; None if such calls need Python.

    Parameters
    ----------
    function : callable
        The plain function, which serves calls that raise floating-point exceptions.
    program : Program
    args, kwargs
        The arguments of a call: arrays, numbers, values that are compared by identity, and containers of these.
    arguments : sequence of int
        For each input of the program that is an argument the number of its leaf among those of `args` and `kwargs`.
    captured : sequence of Captured
        The inputs after those: arrays that the function reads from outside.
    watched : sequence of Captured
        Further values from outside, which have to be the same objects.
    written : sequence of (int, int)
        Inputs that are written, and the number of the output that each of them has to hold afterwards.
    results : sequence of Returned
    several : bool
        Whether the results are returned as a tuple.
    """
    if fields() is None or debug() or not (several or len(results) == 1):
        return None
    image = program.image
    fresh = {place for place, _, _ in image.fresh}
    dtypes = {place: kind.dtype for place, kind, _ in image.fresh}
    outputs = image.outputs
    made = {outputs[r.index] for r in results if r.source == "array"} | {outputs[o] for _, o in written}
    if not (image.actions and image.is_native) or not made <= fresh:
        return None
    frame = program.take_frame()
    try:
        guarded = _Rows(
            {leaf: place for place, leaf in enumerate(arguments)},
            {place: address(view) for place, view in frame.scalars},
            image.places,
        )
        guarded.add_call(args, kwargs)
        guarded.add_outside([*enumerate(captured, len(arguments)), *((None, w) for w in watched)])
        apart = guarded.require_writable([number for number, _ in written])
        kept = guarded.kept
        kept += [frame, program, function]
        output_rows: list[int] = []
        for place, kind, strides in {row[0]: row for row in image.fresh}.values():
            kept.append(kind.dtype)
            if strides is not None and not is_fortran(kind.shape, strides, kind.dtype.itemsize):
                raise _Unguarded
            shape = _words(kind.shape, kept)
            output_rows += (id(kind.dtype), kind.ndim, shape, place, kind.nbytes >= LARGE, strides is not None)
        result_rows: list[int] = []
        for result in results:
            if result.source == "array":
                dtype = dtypes[outputs[result.index]]
                if result.weak and dtype not in _PYTHON_NUMBERS:
                    raise _Unguarded
                kind = _PYTHON_NUMBERS[dtype] if result.weak else native.SCALAR if result.scalar else native.ARRAY
                result_rows += (kind, outputs[result.index])
            elif result.source == "input":
                result_rows += (native.ARRAY, result.index)
            else:
                kept.append(result.value)
                result_rows += (native.OBJECT, id(result.value))
        return guarded.table(
            len(args),
            kwargs,
            {
                "apart": len(apart) // len(native.APART),
                "apart_rows": _words(apart, kept),
                "outputs": len(fresh),
                "output_rows": _words(output_rows, kept),
                "written": len(written),
                "written_rows": _words([place for i, o in written for place in (i, outputs[o])], kept),
                "results": len(results),
                "result_rows": _words(result_rows, kept),
                "blocks": len(frame.blocks),
                "block_table": _words([address(block) for block in frame.blocks], kept),
                "release": image.work >= _RELEASING_WORK,
                "tuple": several,
                "handler": id(handler()),
                "watched": image.may_raise,
                "function": id(function),
            },
        )
    except _Unguarded:
        program.give_back(frame)
        return None


def make_plain_table(
    function: Callable[..., Any],
    args: tuple,
    kwargs: dict[str, Any],
    watched: Sequence[Captured],
    captured: Sequence[Captured],
) -> Words | None:
    """The table by which native code calls `function` with arguments like these; None if Python has to look at them.

    Parameters
    ----------
    function : callable
        The plain function, or another one in Python that serves such calls.
    args, kwargs
        Arguments for which it was found that `function` should run.
    watched : sequence of Captured
        Values from outside, which have to be the same objects.
    captured : sequence of Captured
        Arrays from outside, which have to have the same types, shapes and strides.
    """
    if fields() is None:
        return None
    guarded = _Rows({}, {}, 0)
    try:
        guarded.add_call(args, kwargs)
        guarded.add_outside([*((None, w) for w in watched), *((guarded.unused, c) for c in captured)])
    except _Unguarded:
        return None
    guarded.kept.append(function)
    return guarded.table(len(args), kwargs, {"plain": id(function)})


class _Rows:
    """Rows that describe the arguments of a call, and values that the function reads from outside.

    Parameters
    ----------
    places : dict of int to int
        For leaves of the arguments that are inputs, the place of the input.
    slots : dict of int to int
        For places of numbers, the address that they are copied to.
    unused : int
        A place for what is no input.
    """

    def __init__(self, places: dict[int, int], slots: dict[int, int], unused: int):
        self.places, self.slots, self.unused = places, slots, unused
        self.rows: list[dict[str, int]] = []
        self.leaves = 0
        self.arrays: dict[int, tuple[np.ndarray, dict[str, int]]] = {}  # by place, with their rows
        self.kept: list[Any] = []

    def table(self, positional: int, kwargs: dict[str, Any], others: dict[str, Any]) -> Words:
        """The table of a call with that many positional arguments."""
        self.kept += kwargs
        rows = [row.get(name, 0) for row in self.rows for name in guard.ROW]
        values = {
            "positional": positional,
            "keywords": len(kwargs),
            "names": _words([id(name) for name in kwargs], self.kept),
            "rows": len(self.rows),
            "row_table": _words(rows, self.kept),
        }
        table = words(values | others, native.TABLE, self.kept)
        table.places = self.unused + 1
        return table

    def add_call(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Rows of the arguments, in the order in which `flatten` finds their leaves."""
        for number, value in enumerate((*args, *kwargs.values())):
            self._add(value, {"source": guard.ARGUMENT, "key": number})

    def _add(self, value: Any, found: dict[str, int]) -> None:
        if isinstance(value, (tuple, list, dict)):
            self._add_container(value, found)
            return
        place = self.places.get(self.leaves)
        self.leaves += 1
        description = self._description(value, place)
        description |= found
        self.rows.append(description)

    def _add_container(self, value: Any, found: dict[str, int]) -> None:
        kind = type(value)
        if kind not in (tuple, list, dict) and not (isinstance(value, tuple) and hasattr(value, "_fields")):
            raise _Unguarded
        here = len(self.rows)
        description = {"kind": guard.CONTAINER, "object": id(kind), "ndim": len(value), "place": self.unused}
        self.rows.append(found | description)
        self.kept.append(kind)
        for item, place in _items(value):
            if place["source"] == guard.NEXT_IN_DICT:
                self.kept.append(next(k for k in value if id(k) == place["key"]))
            self._add(item, place | {"base": here})

    def add_outside(self, outside: Sequence[tuple[int | None, Captured]]) -> None:
        """Rows of values from outside, each given with its place as an input, or None."""
        for place, (value, container, key) in outside:
            if isinstance(container, tuple) and place is None:
                continue  # a default: tuples do not change
            if not isinstance(container, (dict, types.CellType)) or isinstance(key, int):
                raise _Unguarded
            self.kept += (container, key)
            description = self._identical(value) if place is None else self._description(value, place)
            source = guard.IN_CELL if key is None else guard.LOOKED_UP
            description |= {"source": source, "base": id(container), "key": id(key)}
            self.rows.append(description)

    def require_writable(self, written: Sequence[int]) -> list[int]:
        """Let the arrays at these places be writable; gives rows of pairs of arrays that then must not overlap."""
        apart: list[int] = []
        for place in written:
            array, row = self.arrays[place]
            row["flags"] |= guard.WRITEABLE
            for other_place, (other, _) in self.arrays.items():
                if other_place == place or (other_place in written and other_place < place):
                    continue
                if np.may_share_memory(array, other):
                    raise _Unguarded
                apart += (place, *_extent(array), other_place, *_extent(other))
        return apart

    def _description(self, value: Any, place: int | None) -> dict[str, int]:
        """What a value like `value` has to be."""
        kind = type(value)
        where = self.unused if place is None else place
        if kind is np.ndarray and where not in self.slots:
            self.kept.append(value.dtype)
            row = {
                "kind": guard.ARRAY, "object": id(kind), "descr": id(value.dtype), "ndim": value.ndim, "place": where,
                "shape": _words(value.shape, self.kept), "strides": _words(value.strides, self.kept),
                "flags": guard.ALIGNED,
            }  # fmt: skip
            if place is not None:
                self.arrays[place] = value, row
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
        if place is None and (value is None or kind in (bool, int, str)):
            return self._identical(value)
        raise _Unguarded

    def _identical(self, value: Any) -> dict[str, int]:
        self.kept.append(value)
        return {"kind": guard.IDENTICAL, "object": id(value), "place": self.unused}


def _extent(array: np.ndarray) -> tuple[int, int]:
    """Where the elements of an array begin and end, in bytes from its first one."""
    if not array.size:
        return 0, 0
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + array.itemsize


def _items(value: Any) -> Iterator[tuple[Any, dict[str, int]]]:
    """Items of a container, and how native code finds them."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield item, {"source": guard.NEXT_IN_DICT, "key": id(key)}
    else:
        source = guard.IN_LIST if isinstance(value, list) else guard.IN_TUPLE
        for number, item in enumerate(value):
            yield item, {"source": source, "key": number}


def _words(values: Sequence[int], kept: list[Any]) -> int:
    """The address of `values` as 64-bit words, which `kept` keeps alive."""
    array = np.array(values, np.int64)
    kept.append(array)
    return address(array)
