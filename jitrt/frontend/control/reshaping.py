"""Arrays of another shape in staged functions: views where NumPy gives views, and copies where it copies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from . import arrays as a
from .arrays import ONE, Shape
from .recorder import Recorder
from .registry import as_array, function
from .scalars import poly_of
from .values import BOOL, LISTED, Array, NotStaged, Scalar, View

_UNKNOWN = "a reshape of what is not contiguous"


@function(np.ravel, method="ravel")
def _ravel(r: Recorder, array: Any) -> Array:
    """A view of contiguous memory; of other memory a copy, also where one stride would do."""
    array = as_array(r, array)
    if array.view is not None and array.is_part:  # which may be all of the array that is not there
        raise NotStaged(_UNKNOWN)
    if array.view is None or not _has_gaps(array):
        return _dense(r, array, (array.size,))
    _check_layout(array)
    axes, size = _axes(array), Poly.number(array.dtype.itemsize)
    extent, step = axes[-1]
    if step != size:
        r.require(extent - 2)
        _require_different(r, step, size)
    else:
        _require_gap(r, axes)
    return flattened(r, array)


@function(method="flatten")
def _flatten(r: Recorder, array: Array) -> Array:
    return flattened(r, array)


@function(method="reshape")
def _reshape_method(r: Recorder, array: Array, *shape: Any) -> Array:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if any(isinstance(v, (bool, np.bool)) or (isinstance(v, Scalar) and v.dtype == BOOL) for v in given):
        raise NotStaged("a truth value as an extent")
    extents = [poly_of(r, v) for v in given]
    open_ = [k for k, e in enumerate(extents) if e == Poly.number(-1)]
    if len(open_) > 1:
        raise NotStaged("a shape with several open extents")
    if len(open_) == len(extents) == 1:
        return _reshaped(r, array, (array.size,))
    size = math.prod((e for k, e in enumerate(extents) if k not in open_), start=Poly.number(1))
    for k in open_:
        r.require(size - 1)
        rest = r.machine("udiv", array.size, size, [0], [array.size])
        extents[k] = Poly.name(rest)
        size = size * extents[k]
    r.require_equal(size, array.size)
    return _reshaped(r, array, tuple(extents))


@function(np.reshape)
def _reshape_function(r: Recorder, array: Array, shape: Any) -> Array:
    return _reshape_method(r, array, *(shape if isinstance(shape, (tuple, list)) else (shape,)))


def _reshaped(r: Recorder, array: Array, shape: Shape) -> Array:
    """``array.reshape(shape)``, of which the size is known to fit."""
    if array.view is None or not (array.is_part or _has_gaps(array)):
        return _dense(r, array, shape)
    _check_layout(array)
    strides, view = _strides_of_view(r, array, shape), array.memory
    if strides is None:
        return _dense(r, _copied(r, array), shape)
    made = View(view.base, view.offset, strides, view.origins)
    return replaced(a.in_memory(r, made, array.dtype, shape, array.c_order), is_part=array.is_part)


def _strides_of_view(r: Recorder, array: Array, shape: Shape) -> tuple[Poly, ...] | None:
    """The strides that NumPy gives a view of another shape; None where it copies.

    Axes are compared in groups of equal size, of which those of a view lie in memory as one axis would
    (``_attempt_nocopy_reshape`` of NumPy).

    Raises
    ------
    NotStaged
        If that depends on extents that are not known.
    """
    axes = _axes(array)
    strides: list[Poly] = []
    copied: list[tuple[Poly, Poly]] = []
    is_known = True
    for own, new in _groups(r, [n for n, _ in axes], shape):
        group = axes[own]
        if any(step != its * n for (_, step), (n, its) in itertools.pairwise(group)):
            is_flat = sum(extent != ONE for extent in shape[new]) == 1
            copied = group if is_flat and not copied else copied
            is_known = is_known and is_flat
        step, of_group = group[-1][1] if group else Poly.number(array.dtype.itemsize), []
        for extent in reversed(shape[new]):
            of_group.append(step)
            step = step * extent
        strides += reversed(of_group)
    if copied:
        _require_gap(r, copied)
        return None
    if not is_known:
        raise NotStaged(_UNKNOWN)
    return tuple(strides)


def _groups(r: Recorder, own: Sequence[Poly], new: Sequence[Poly]) -> list[tuple[slice, slice]]:
    """Parts of two shapes that are known to have the same number of elements."""
    ends = [(0, 0)]
    for i in range(1, len(own)):
        found = (j for j in range(ends[-1][1], len(new) + 1) if _are_equal(r, own, i, new, j))
        if (j := next(found, None)) is not None:
            ends.append((i, j))
    ends.append((len(own), len(new)))
    return [(slice(i, k), slice(j, m)) for (i, j), (k, m) in itertools.pairwise(ends)]


def _are_equal(r: Recorder, own: Sequence[Poly], i: int, new: Sequence[Poly], j: int) -> bool:
    """Whether as many elements are in front of these places of two shapes, or behind them."""
    pairs = (own[:i], new[:j]), (own[i:], new[j:])
    return any(r.are_equal(math.prod(x, start=ONE), math.prod(y, start=ONE)) for x, y in pairs)


def _axes(array: Array) -> list[tuple[Poly, Poly]]:
    """Extents and strides of the axes that may have several elements."""
    return [(n, step) for n, step in zip(array.shape, array.memory.strides) if n != ONE]


def _has_gaps(array: Array) -> bool:
    """Whether an array in memory is not known to be contiguous."""
    axes = [*_axes(array), (ONE, Poly.number(array.dtype.itemsize))]
    return any(step != its * n for (_, step), (n, its) in itertools.pairwise(axes))


def _check_layout(array: Array) -> None:
    """Raise `NotStaged` for an array that NumPy may have in memory in another way than it lies here."""
    is_given = all(origin.startswith("x") for origin in array.memory.origins - {LISTED})
    is_known = not array.is_part or array.ndim == 1
    if not is_known or not (array.c_order or array.turned or array.order or is_given):
        raise NotStaged(_UNKNOWN)


def _require_gap(r: Recorder, axes: Sequence[tuple[Poly, Poly]]) -> None:
    """Stop unless two neighbours among axes do not lie in memory as one would."""
    for (n, step), (m, its) in itertools.pairwise(axes):
        if step != its * m:
            r.require(n - 2)
            r.require(m - 2)
            _require_different(r, step, its * m)
            return


def _require_different(r: Recorder, x: Poly, y: Poly) -> None:
    if not (r.facts.is_at_least(x - y - 1) or r.facts.is_at_least(y - x - 1)):
        r.stop(r.machine("==", x, y))


def _copied(r: Recorder, array: Array) -> Array:
    """A new array in C order."""
    made = a.fresh(r, array.dtype, array.shape)
    a.nest(r, array.shape, lambda indices: a.store(r, made, indices, array.element(indices)))
    return made


def _dense(r: Recorder, array: Array, shape: Shape) -> Array:
    """An array that is contiguous, or still to be computed, with another shape."""
    known = array
    if array.view is None:
        array = a.materialise(r, array) if array.c_order and not array.order else _copied(r, array)
    view, c_order = array.memory, known.c_order or len(shape) == 1
    made = View(view.base, view.offset, a.contiguous_strides(shape, array.dtype), view.origins)
    return replaced(a.in_memory(r, made, array.dtype, shape, c_order), is_part=known.is_part)


def in_c_order(r: Recorder, array: Array, shape: Shape) -> Array:
    """The elements in C order, with another shape, to be read and not to be written: a view or a copy."""
    if array.ndim == len(shape) == 1:
        return array
    if array.view is not None and _has_gaps(array):
        array = _copied(r, array)
    return _dense(r, array, shape)


def flattened(r: Recorder, array: Array) -> Array:
    """A copy with one axis, in C order."""
    return _dense(r, _copied(r, array), (array.size,))


def contiguous(r: Recorder, array: Array) -> Array:
    """An array that is contiguous, or the procedure stops.

    Raises
    ------
    NotStaged
        If it is a part of an array, which seldom is.
    """
    view, wanted = array.view, a.contiguous_strides(array.shape, array.dtype)
    if view is not None and view.strides != wanted:
        if not view.whole:
            raise NotStaged("an array that may be contiguous")
        r.require_alike(view.strides, wanted)
    return array


def flat(r: Recorder, array: Array) -> Array:
    """``array.flat``, as a view that must not be written."""
    if array.view is None:
        raise NotStaged("the attribute flat of what is no variable")
    made = in_c_order(r, array if array.ndim == 1 else contiguous(r, array), (array.size,))
    view = replaced(made.memory, origins=made.memory.origins | {LISTED})
    return a.in_memory(r, view, made.dtype, made.shape)
