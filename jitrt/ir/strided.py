"""Views as arithmetic: the shape, strides and first element that NumPy's view operations give.

NumPy itself is asked where all extents are numbers. Here they may depend on variables (`extents`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..base.frozen import frozen
from .extents import is_extent

Shape = tuple[Any, ...]


@frozen
class Strided:
    """Elements in memory: element ``i`` is at ``offset + sum(i * strides)``."""

    shape: Shape
    strides: Shape
    offset: Any = 0


def depends(*shapes: Sequence[Any]) -> bool:
    """Whether extents, or strides, depend on variables."""
    return any(is_extent(n) for shape in shapes for n in shape)


def same_shape(x: Shape, y: Shape) -> bool:
    """Whether two shapes are equal; extents of shapes of different lengths, which are not, are not compared.

    Examples
    --------
    >>> same_shape((3, 1), (3,)), same_shape((3,), (3,))
    (False, True)
    """
    return len(x) == len(y) and x == y


def positions(start: Any, stop: Any, step: Any, extent: Any) -> tuple[Any, Any, Any]:
    """First index, step and number of elements of a slice of an axis.

    Examples
    --------
    >>> positions(1, -1, None, 10), positions(None, None, -3, 10), positions(7, 3, None, 10)
    ((1, 1, 8), (9, -3, 4), (7, 1, 0))
    """
    step = 1 if step is None else step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if is_extent(extent) and not depends((start, stop, step)):
        return extent.remembered((start, stop, step), lambda: _positions(start, stop, step, extent))
    return _positions(start, stop, step, extent)


def _positions(start: Any, stop: Any, step: Any, extent: Any) -> tuple[Any, Any, Any]:
    low, high = (0, extent) if step > 0 else (-1, extent - 1)

    def bound(value: Any, default: Any) -> Any:
        if value is None:
            return default
        if value < 0:
            value = value + extent
            return low if value < low else value
        return high if value > high else value

    first = bound(start, low if step > 0 else high)
    last = bound(stop, high if step > 0 else low)
    if step > 0:
        return (first, step, 0 if last <= first else (last - first + step - 1) // step)
    return (first, step, 0 if first <= last else (first - last - step - 1) // -step)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of all of `shapes` together.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    ndim = max(map(len, shapes))
    found: list[Any] = [1] * ndim
    for shape in shapes:
        for k, extent in enumerate(shape, ndim - len(shape)):
            if found[k] == 1:
                found[k] = extent
            elif extent != 1 and extent != found[k]:
                raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
    return tuple(found)


def view(name: str, x: Strided, arguments: dict[str, Any], shape: Shape | None = None) -> Strided | None:
    """What the view operation `name` makes of `x`; None if NumPy would copy it.

    Parameters
    ----------
    name : str
    x : Strided
    arguments : dict
        The parameters of the node.
    shape : tuple, optional
        That of the result, of which a reshape needs no -1.

    Raises
    ------
    KeyError
        If it is none of `VIEWS`.
    """
    if name == "reshape":
        return _reshape(x, arguments["shape"] if shape is None else shape)
    return VIEWS[name](x, **arguments)


def _getitem(x: Strided, index: tuple[Any, ...]) -> Strided:
    used = sum(i is not None and i is not Ellipsis for i in index)
    if used > len(x.shape):
        raise IndexError(f"too many indices for array: array is {len(x.shape)}-dimensional, but {used} were indexed")
    if Ellipsis not in [i for i in index if i is None or i is Ellipsis]:
        index = (*index, Ellipsis)
    k, offset = 0, x.offset
    shape: list[Any] = []
    strides: list[Any] = []
    for item in index:
        if item is None:
            shape.append(1)
            strides.append(0)
        elif item is Ellipsis:
            rest = len(x.shape) - used
            shape += x.shape[k : k + rest]
            strides += x.strides[k : k + rest]
            k += rest
        elif isinstance(item, tuple):
            start, stop, step = item
            first, step, count = positions(start, stop, step, x.shape[k])
            if count == 0:
                first, step = 0, 1
            offset = offset + first * x.strides[k]
            shape.append(count)
            strides.append(x.strides[k] * step)
            k += 1
        else:
            extent = x.shape[k]
            if not (item < extent and item >= -extent):
                raise IndexError(f"index {item} is out of bounds for axis {k} with size {extent}")
            offset = offset + (item if item >= 0 else item + extent) * x.strides[k]
            k += 1
    return Strided(tuple(shape), tuple(strides), offset)


def _transpose(x: Strided, axes: tuple[int, ...]) -> Strided:
    return Strided(tuple(x.shape[k] for k in axes), tuple(x.strides[k] for k in axes), x.offset)


def _broadcast_to(x: Strided, shape: Shape) -> Strided:
    new = len(shape) - len(x.shape)
    strides = tuple(0 if n == 1 else s for n, s in zip(x.shape, x.strides))
    return Strided(tuple(shape), (0,) * new + strides, x.offset)


def _expand_dims(x: Strided, axis: tuple[int, ...]) -> Strided:
    ndim = len(x.shape) + len(axis)
    new = {k % ndim for k in axis}
    if len(new) != len(axis) or not all(-ndim <= k < ndim for k in axis):
        raise ValueError("axes of an expansion")
    shape, strides = iter(x.shape), iter(x.strides)
    return Strided(
        tuple(1 if k in new else next(shape) for k in range(ndim)),
        tuple(0 if k in new else next(strides) for k in range(ndim)),
        x.offset,
    )


def _squeeze(x: Strided, axis: tuple[int, ...]) -> Strided:
    if any(x.shape[k] != 1 for k in axis):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    kept = [k for k in range(len(x.shape)) if k not in axis]
    return Strided(tuple(x.shape[k] for k in kept), tuple(x.strides[k] for k in kept), x.offset)


def _sliding_window_view(x: Strided, window_shape: Shape, axis: tuple[int, ...]) -> Strided:
    left = list(x.shape)
    for k, n in zip(axis, window_shape):  # an axis may be given twice
        left[k] = left[k] - n + 1
    return Strided((*left, *window_shape), (*x.strides, *(x.strides[k] for k in axis)), x.offset)


def _reshape(x: Strided, shape: Shape) -> Strided | None:
    """NumPy's rule for a reshape without a copy: axes that become others have to be one run of memory each."""
    old = [(n, s) for n, s in zip(x.shape, x.strides) if n != 1]
    if any(n == 0 for n, _ in old):
        return Strided(shape, (0,) * len(shape), x.offset)
    strides: list[Any] = []
    k = 0
    new = list(shape)
    place = 0
    while place < len(new) and k < len(old):
        first, start = place, k
        wanted, size = new[place], old[k][0]
        while wanted != size:
            if wanted < size:
                place += 1
                wanted = wanted * new[place]
            else:
                k += 1
                size = size * old[k][0]
        for (_, outer), (n, inner) in zip(old[start:k], old[start + 1 : k + 1]):
            if outer != n * inner:
                return None
        step, own = old[k][1], []
        for n in reversed(new[first : place + 1]):
            own.append(step)
            step = step * n
        strides += reversed(own)
        place, k = place + 1, k + 1
    rest = strides[-1] if strides else 1
    strides += [rest] * (len(new) - len(strides))
    return Strided(shape, tuple(strides), x.offset)


RETYPED = frozenset({"real", "imag", "bitcast"})
"""Views of another type in the places of the elements, or inside of these: shape and strides stay."""

VIEWS: dict[str, Callable[..., Strided | None]] = {
    "reshape": _reshape,
    "getitem": _getitem,
    "transpose": _transpose,
    "broadcast_to": _broadcast_to,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "sliding_window_view": _sliding_window_view,
}


def size(shape: Shape) -> Any:
    """Number of elements."""
    return math.prod(shape)
