"""Sorting in staged functions, by the routines of C that NumPy's own sorts call for a run of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.integers import Poly
from ...ir.loops import POINTER
from ...kernels.external import orders
from . import arrays as a
from .arrays import ONE, ZERO
from .recorder import Recorder
from .registry import as_array, function
from .reshaping import in_c_order
from .subscripts import rows_of
from .values import INT, Array, NotStaged
from .written_order import is_long


def _ordered(r: Recorder, routine: str, runs: Array, *others: Array) -> None:
    """Call a routine for each row of `runs`, and the same rows of others.

    Not for rows of fewer than two elements, as NumPy does: a radix sort reads the first.
    """
    symbol = f"{routine}.{runs.dtype.char}"
    if not orders(symbol):
        raise NotStaged(f"sorting of {runs.dtype}")
    nothing = r.integer(ZERO)
    is_some = r.machine("<", ONE, runs.shape[1])
    with r.when(is_some), r.loop(ZERO, runs.shape[0], varying=True) as k:
        views = [rows_of(r, array, k).view for array in (runs, *others)]
        pointers = [r.address(view) for view in views]
        types = [POINTER] * len(pointers)
        r.external(f"order.{symbol}", (*pointers, r.integer(runs.shape[1]), nothing), (*types, INT, INT), INT)


def _runs(r: Recorder, array: Any, axis: Any) -> tuple[Array, Array]:
    """A copy of the array, and this copy as rows along its last axis."""
    array = as_array(r, array)
    if axis is None:
        array = in_c_order(r, array, (array.size,))
    elif axis not in (-1, array.ndim - 1) or not (array.c_order or array.ndim == 1):
        raise NotStaged("sorting along another axis")
    if not array.ndim:
        raise NotStaged("sorting of a number")
    made = a.materialise(r, array, always=True)
    return made, _as_rows(r, made)


def _as_rows(r: Recorder, made: Array) -> Array:
    count = ONE
    for extent in made.shape[:-1]:
        count = count * extent
    return in_c_order(r, made, (count, made.shape[-1]))


@function(np.sort)
def _sort(r: Recorder, array: Any, axis: Any = -1, kind: Any = None) -> Array:
    if kind not in (None, "quicksort", "stable"):
        raise NotStaged("this kind of sort")
    made, rows = _runs(r, array, axis)
    _ordered(r, "stable" if kind == "stable" else "sort", rows)
    return made


@function(np.argsort, method="argsort")
def _argsort(r: Recorder, array: Any, axis: Any = -1, kind: Any = None) -> Array:
    if kind not in (None, "quicksort", "stable"):
        raise NotStaged("this kind of sort")
    made, rows = _runs(r, array, axis)
    return _places(r, made, rows, "argstable" if kind == "stable" else "argsort")


def _places(r: Recorder, made: Array, rows: Array, routine: str) -> Array:
    places = _counting(r, made.shape)
    _ordered(r, routine, rows, _as_rows(r, places))
    return places


def _counting(r: Recorder, shape: tuple[Poly, ...]) -> Array:
    """Along the last axis 0, 1, 2 …"""
    return a.materialise(r, Array(INT, shape, lambda indices: r.integer(indices[-1]), frozenset()), always=True)


@function(np.lexsort)
def _lexsort(r: Recorder, keys: Any, axis: Any = -1) -> Array:
    """Stable sorts by one key after the other, of which the last counts most."""
    if not isinstance(keys, Sequence) or not keys or axis not in (-1, 0):
        raise NotStaged("keys in another form")
    arrays = [a.materialise(r, as_array(r, key), always=True) for key in keys]
    if any(key.ndim != 1 for key in arrays):
        raise NotStaged("keys of several axes")
    places = _counting(r, arrays[0].shape)
    for key in arrays:
        r.require_equal(key.shape[0], arrays[0].shape[0])
        _ordered(r, "argstable", _as_rows(r, key), _as_rows(r, places))
    return places


@function(is_long)
def _is_long(r: Recorder) -> bool:
    r.asked_for_long = True
    return r.is_long
