"""Native entries: calls of a specialisation without Python between the arguments and the kernels."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import entry as native
from . import threads
from .objects import address, builtin, fields
from .program import Program
from .results import LARGE, handler
from .steps import total_work

# A value that a function reads from outside: what it was, and the dict and key, or the cell and None, that hold it.
Captured = tuple[Any, Any, Any]

MISS = object()  # what an entry returns for a call that is not its own
# Work of this many additions, some microseconds, is worth letting other Python threads run meanwhile.
_RELEASING_WORK = 100_000


def always_miss(*args: Any) -> Any:
    """The entry of a function that has no specialisation yet."""
    return MISS


def make_entry(
    program: Program,
    leaves: Sequence[Any],
    arguments: Sequence[int],
    captured: Sequence[Captured],
    watched: Sequence[Captured],
    scalars: Sequence[bool],
    several: bool,
) -> Callable[..., Any] | None:
    """A builtin that runs `program` on positional arguments like `leaves`; None if such a call needs Python.

    Parameters
    ----------
    program : Program
    leaves : sequence
        Arguments for which the program was made: arrays, floats, and values that are compared by identity.
    arguments : sequence of int
        For each input of the program that is an argument the number of its leaf.
    captured : sequence of Captured
        The inputs after those: arrays that the function reads from outside.
    watched : sequence of Captured
        Further values from outside, which have to be the same objects.
    scalars : sequence of bool
        For each output, whether a NumPy scalar is wanted.
    several : bool
        Whether the outputs are returned as a tuple.
    """
    if fields() is None or not scalars or len(program.graph.outputs) != len(scalars):
        return None
    frame = program.new_frame()
    if len(frame.blocks) != 1 or len(frame.actions) != 1 or len(frame.fresh) != len(scalars):
        return None
    kept: list[Any] = [frame, program]  # what the words below point to
    places = {leaf: place for place, leaf in enumerate(arguments)}
    slots = {place: address(view) for place, view in frame.scalars}
    outside = [*enumerate(captured, len(arguments)), *((None, w) for w in watched)]
    rows = _guard([(places.get(k), leaf) for k, leaf in enumerate(leaves)], outside, slots, len(frame.places), kept)
    if rows is None:
        return None
    results: list[int] = []
    for (place, kind), scalar in zip(frame.fresh, scalars):
        kept.append(kind.dtype)
        large = kind.nbytes >= LARGE
        results += (id(kind.dtype), kind.ndim, _words(kind.shape, kept), scalar, place, large)
    words = {
        "positional": len(leaves),
        "arguments": len(leaves) + len(outside),
        "argument_rows": _words(rows, kept),
        "results": len(scalars),
        "result_rows": _words(results, kept),
        "places": len(frame.places) + 1,
        "block": frame.actions[0],
        "release": total_work(program.steps) >= _RELEASING_WORK,
        "tuple": several,
        "handler": id(handler()),
    }
    return _builtin(words, kept)


def make_plain_entry(
    function: Callable[..., Any], leaves: Sequence[Any], watched: Sequence[Captured]
) -> Callable[..., Any] | None:
    """A builtin that calls `function` if the arguments are like `leaves`; None if Python has to look at them.

    Parameters
    ----------
    function : callable
        The plain function.
    leaves : sequence
        Arguments for which it was found that the plain function should run.
    watched : sequence of Captured
        Values from outside, which have to be the same objects.
    """
    if fields() is None:
        return None
    kept: list[Any] = [function]
    rows = _guard([(None, leaf) for leaf in leaves], [(None, w) for w in watched], {}, 0, kept)
    if rows is None:
        return None
    words = {
        "positional": len(leaves),
        "arguments": len(leaves) + len(watched),
        "argument_rows": _words(rows, kept),
        "places": 1,
        "plain": id(function),
    }
    return _builtin(words, kept)


def _builtin(words: dict[str, Any], kept: list[Any]) -> Callable[..., Any]:
    """The entry with a table of these words; the others are 0."""
    table = np.array([words.get(name, 0) for name in native.TABLE], np.int64).view(_Table)
    table[native.TABLE.index("miss")] = id(MISS)
    table.kept = kept
    return builtin(threads.native_address("jitrt_entry"), table)


def _guard(
    leaves: Sequence[tuple[int | None, Any]],
    outside: Sequence[tuple[int | None, Captured]],
    slots: dict[int, int],
    unused: int,
    kept: list[Any],
) -> list[int] | None:
    """Rows that describe arguments and values from outside, each given with its place as an input, or None."""
    rows: list[int] = []
    for place, leaf in leaves:
        row = _row(leaf, unused if place is None else place, slots, kept)
        if row is None:
            return None
        rows += (*row, 0, 0)
    for place, (value, container, key) in outside:
        row = _identical(value, unused, kept) if place is None else _row(value, place, slots, kept)
        if row is None or not isinstance(container, (dict, types.CellType)) or isinstance(key, int):
            return None
        kept += (container, key)
        rows += (*row, id(container), 0 if key is None else id(key))
    return rows


def _row(value: Any, place: int, slots: dict[int, int], kept: list[Any]) -> tuple[int, ...] | None:
    """The words that describe a value like `value`; None if Python has to look at it."""
    if type(value) is np.ndarray and place not in slots:
        shape, strides = _words(value.shape, kept), _words(value.strides, kept)
        kept.append(value.dtype)
        return native.ARRAY, id(np.ndarray), id(value.dtype), value.ndim, shape, strides, place, 0
    if type(value) is float:
        if place not in slots:
            return native.TYPED, id(float), 0, 0, 0, 0, place, 0
        return native.FLOAT, id(float), 0, 0, 0, 0, place, slots[place]
    if value is None or type(value) in (bool, int, str):
        return _identical(value, place, kept)
    return None


def _identical(value: Any, place: int, kept: list[Any]) -> tuple[int, ...]:
    kept.append(value)
    return native.IDENTICAL, id(value), 0, 0, 0, 0, place, 0


class _Table(np.ndarray):
    """Words that native code reads, and the Python objects whose addresses are among them."""

    kept: list[Any]


def _words(values: Sequence[int], kept: list[Any]) -> int:
    """The address of `values` as 64-bit words, which `kept` keeps alive."""
    array = np.array(values, np.int64)
    kept.append(array)
    return address(array)
