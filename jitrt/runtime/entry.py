"""Native entries: calls of a specialisation without Python between the arguments and the kernels."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import entry as native
from . import threads
from .objects import address, builtin, fields
from .program import Frame, Program, work

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
    frame = Frame(program, program.limit)
    if len(frame.blocks) != 1 or len(frame.actions) != 1 or len(frame.fresh) != len(scalars):
        return None
    kept: list[Any] = [frame, program]  # what the words below point to
    rows: list[int] = []
    places = {leaf: place for place, leaf in enumerate(arguments)}
    slots = {place: address(view) for place, view in frame.scalars}
    unused = len(frame.places)
    for k, leaf in enumerate(leaves):
        row = _row(leaf, places.get(k, unused), slots, kept)
        if row is None:
            return None
        rows += (*row, 0, 0)
    for place, source in [*enumerate(captured, len(arguments)), *((unused, w) for w in watched)]:
        value, container, key = source
        row = _row(value, place, slots, kept) if place != unused else _identical(value, place, kept)
        if row is None or not isinstance(container, (dict, types.CellType)) or isinstance(key, int):
            return None
        kept += (container, key)
        rows += (*row, id(container), 0 if key is None else id(key))
    results: list[int] = []
    for (place, shape, dtype), scalar in zip(frame.fresh, scalars):
        kept.append(dtype)
        results += (id(dtype), len(shape), _words(shape, kept), scalar, place)
    release = sum(work(s.call) for s in program.kernel_steps()) >= _RELEASING_WORK
    table = np.array(
        [
            len(leaves), len(leaves) + len(captured) + len(watched), _words(rows, kept),
            len(scalars), _words(results, kept), len(frame.places) + 1,
            frame.actions[0], id(MISS), 0, release, several,
        ],
        np.int64,
    ).view(_Table)  # fmt: skip
    table.kept = kept
    return builtin(threads.entry_address(), table)


def _row(value: Any, place: int, slots: dict[int, int], kept: list[Any]) -> tuple[int, ...] | None:
    """The words that describe a value like `value`; None if Python has to look at it."""
    if type(value) is np.ndarray and place not in slots:
        shape, strides = _words(value.shape, kept), _words(value.strides, kept)
        kept.append(value.dtype)
        return native.ARRAY, id(np.ndarray), id(value.dtype), value.ndim, shape, strides, place, 0
    if type(value) is float:
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
