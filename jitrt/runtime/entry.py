"""Native entries: calls of a specialisation without Python between the arguments and the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import entry as native
from . import threads
from .objects import address, builtin, fields
from .program import Frame, Program, work

MISS = object()  # what an entry returns for a call that is not its own
# Work of this many additions, some microseconds, is worth letting other Python threads run meanwhile.
_RELEASING_WORK = 100_000


def always_miss(*args: Any) -> Any:
    """The entry of a function that has no specialisation yet."""
    return MISS


def make_entry(
    program: Program, leaves: Sequence[Any], arguments: Sequence[int], scalars: Sequence[bool], several: bool
) -> Callable[..., Any] | None:
    """A builtin that runs `program` on positional arguments like `leaves`; None if such a call needs Python.

    Parameters
    ----------
    program : Program
    leaves : sequence
        Arguments for which the program was made: arrays, floats, and values that are compared by identity.
    arguments : sequence of int
        For each input of the program the number of its leaf.
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
    for k, leaf in enumerate(leaves):
        place = places.get(k, len(frame.places))
        if type(leaf) is np.ndarray and place not in slots:
            shape, strides = _words(leaf.shape, kept), _words(leaf.strides, kept)
            kept.append(leaf.dtype)
            rows += (native.ARRAY, id(np.ndarray), id(leaf.dtype), leaf.ndim, shape, strides, place, 0)
        elif type(leaf) is float:
            rows += (native.FLOAT, id(float), 0, 0, 0, 0, place, slots[place])
        elif leaf is None or type(leaf) in (bool, int, str):
            kept.append(leaf)
            rows += (native.IDENTICAL, id(leaf), 0, 0, 0, 0, place, 0)
        else:
            return None
    results: list[int] = []
    for (place, shape, dtype), scalar in zip(frame.fresh, scalars):
        kept.append(dtype)
        results += (id(dtype), len(shape), _words(shape, kept), scalar, place)
    release = sum(work(s.call) for s in program.kernel_steps()) >= _RELEASING_WORK
    table = np.array(
        [
            len(leaves), _words(rows, kept), len(scalars), _words(results, kept), len(frame.places) + 1,
            frame.actions[0], id(MISS), 0, release, several,
        ],
        np.int64,
    ).view(_Table)  # fmt: skip
    table.kept = kept
    return builtin(threads.entry_address(), table)


class _Table(np.ndarray):
    """Words that native code reads, and the Python objects whose addresses are among them."""

    kept: list[Any]


def _words(values: Sequence[int], kept: list[Any]) -> int:
    """The address of `values` as 64-bit words, which `kept` keeps alive."""
    array = np.array(values, np.int64)
    kept.append(array)
    return address(array)
