"""Arrays of staged functions: computed element by element where they are needed, or kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from ...ir.loops import Fold
from ...ir.ops.folds import FOLD_IDENTITY, FOLDS
from ...ir.ops.optable import OPS
from . import forced
from .arithmetic import in_range, rounded
from .recorder import Recorder, place
from .scalars import dtypes_of, from_register, poly_of, register_of
from .values import BOOL, INT, ROLLED, Array, NotStaged, Scalar, View, dtype_of, integer, is_number, is_static

Shape = tuple[Poly, ...]
Indices = tuple[Poly, ...]
ZERO, ONE = Poly.number(0), Poly.number(1)
_MOST_FACTORS = 8  # of a power of integers
_MOST_PARTS = 16  # of a loop whose elements are read from several places, one after the other


def in_memory(r: Recorder, view: View, dtype: np.dtype, shape: Shape, c_order: bool = True) -> Array:
    """The array that lies there."""
    return Array(dtype, shape, lambda indices: r.load(view, dtype, indices), view.origins, view, c_order)


def store(r: Recorder, array: Array, indices: Indices, value: str) -> None:
    """``array[indices] = value`` for an array in memory and a register of its dtype."""
    r.store(array.memory, array.dtype, indices, value)


def contiguous_strides(shape: Shape, dtype: np.dtype) -> tuple[Poly, ...]:
    """Strides in C order."""
    strides: list[Poly] = []
    step = Poly.number(dtype.itemsize)
    for extent in reversed(shape):
        strides.insert(0, step)
        step = step * extent
    return tuple(strides)


def broadcast(r: Recorder, shapes: Sequence[Shape]) -> Shape:
    """The shape of what is computed from arrays of these shapes.

    Extents that are not known to be equal are compared when the procedure runs; it stops where they differ.
    """
    ndim = max(map(len, shapes), default=0)
    result = []
    for axis in range(-ndim, 0):
        extents = [s[axis] for s in shapes if len(s) >= -axis]
        others = [e for e in extents if e != ONE]
        for e in others[1:]:
            if e.constant is not None and others[0].constant is not None and e != others[0]:
                raise NotStaged("shapes that do not fit")
            r.require_equal(e, others[0])
        result.append(others[0] if others else ONE)
    return tuple(result)


def require_fit(r: Recorder, shape: Shape, value: Array) -> None:
    """Stop where an array is no value for a place of this shape: it is broadcast to that, and that to nothing."""
    if value.ndim > len(shape):
        raise NotStaged("a value of more axes than its place")
    for mine, its in zip(reversed(shape), reversed(value.shape)):
        if its != ONE:
            r.require_equal(mine, its)


def element_of(r: Recorder, value: Any, dtype: np.dtype, indices: Indices) -> str:
    """The element of an array, or a number, that meets the given indices by broadcasting, converted to `dtype`."""
    if not isinstance(value, Array):
        return register_of(r, value, dtype)
    own = indices[len(indices) - value.ndim :]
    own = tuple(ZERO if extent == ONE else index for extent, index in zip(value.shape, own))
    return r.cast(value.element(own), value.dtype, dtype)


def elementwise(r: Recorder, name: str, values: Sequence[Any], operands: Sequence[np.dtype], dtype: np.dtype) -> Array:
    """An operation of the op table on arrays and numbers, element by element."""
    arrays = [v for v in values if isinstance(v, Array)]
    shape = broadcast(r, [a.shape for a in arrays])
    values = [_operand(r, v, d, shape) for v, d in zip(values, operands)]

    def element(indices: Indices) -> str:
        names = [v if isinstance(v, str) else element_of(r, v, d, indices) for v, d in zip(values, operands)]
        return r.compute(name, names, operands, dtype)

    reads = frozenset[str]().union(*(a.reads for a in arrays))
    orders = {(a.turned or a.order) if a.ndim == len(shape) else () for a in arrays}
    order = orders.pop() if len(orders) == 1 else ()
    made = Array(dtype, shape, element, reads, None, all(a.c_order for a in arrays), order=order)
    return forced.watched(r, name, tuple(operands), made, nest)


def _operand(r: Recorder, value: Any, dtype: np.dtype, shape: Shape) -> Array | str:
    """A number in a register; in memory what would be computed again for every element of another axis."""
    if not isinstance(value, Array):
        return register_of(r, value, dtype)
    is_spread = any(e == ONE for e, whole in zip(value.shape[::-1], shape[::-1]) if whole != ONE)
    return materialise(r, value) if is_spread or value.ndim < len(shape) else value


def call_ufunc(r: Recorder, ufunc: np.ufunc, values: Sequence[Any]) -> Array:
    """A ufunc on operands one of which is an array."""
    name = ufunc.__name__
    if name not in OPS or ufunc.nout != 1 or ufunc.signature is not None:
        raise NotStaged(f"numpy.{name}")
    *operands, dtype = dtypes_of(ufunc, values)
    if name == "power" and not isinstance(values[1], (Array, Scalar)) and dtype.kind in "fc":
        simple = {2: "square", 0.5: "sqrt", 1: "positive", -1: "reciprocal"}.get(values[1])
        if simple is not None:
            return elementwise(r, simple, values[:1], operands[:1], dtype)
    if name == "power" and dtype.kind in "iu" and type(values[1]) is int and 1 <= values[1] <= _MOST_FACTORS:
        return _power(r, values[0], values[1], dtype)
    return elementwise(r, name, values, operands, dtype)


def _power(r: Recorder, base: Array, exponent: int, dtype: np.dtype) -> Array:
    """Products of integers, which wrap as NumPy's powers do."""

    def element(indices: Indices) -> str:
        factor = made = element_of(r, base, dtype, indices)
        for _ in range(exponent - 1):
            made = r.compute("multiply", [made, factor], dtype)
        return made

    return Array(dtype, base.shape, element, base.reads, None, base.c_order)


def cast(r: Recorder, array: Array, dtype: np.dtype) -> Array:
    """The array converted to `dtype`."""
    if array.dtype == dtype:
        return array
    if dtype.kind not in "biufc" or (array.dtype.kind == "c" and dtype.kind != "c"):
        raise NotStaged(f"a conversion to {dtype}")
    return elementwise(r, "cast", [array], [array.dtype], dtype)


class _Splits(Exception):
    """Elements are read from elsewhere from a turn of the innermost loop on, which becomes two loops there."""

    def __init__(self, turn: Poly):
        super().__init__(str(turn))
        self.turn = turn


def nest(r: Recorder, shape: Shape, body: Callable[[Indices], None], indices: Indices = ()) -> None:
    """Loops over all indices of a shape, the last axis innermost."""
    if not shape:
        body(indices)
    elif shape[0] == ONE:
        nest(r, shape[1:], body, (*indices, ZERO))
    elif any(extent != ONE for extent in shape[1:]):
        with r.loop(ZERO, shape[0]) as index:
            nest(r, shape[1:], body, (*indices, index))
    else:
        _turns(r, ZERO, shape[0], shape[0], lambda index: nest(r, shape[1:], body, (*indices, index)))


def _turns(
    r: Recorder, start: Poly, stop: Poly, extent: Poly, body: Callable[[Poly], None], parts: int = _MOST_PARTS
) -> None:
    """An innermost loop, or a part of it; where what its elements are read from changes, one behind the other."""
    if not parts:
        raise NotStaged("an axis that is rolled many times")
    loads, around = len(r.loads), r.innermost
    try:
        with r.attempt() as take_back, r.loop(start, stop, part_of=extent) as index:
            r.innermost = index
            body(index)
        return
    except _Splits as split:
        take_back()
        del r.loads[loads:]
        turn = split.turn
    finally:
        r.innermost = around
    _turns(r, start, r.minimum(turn, stop), extent, body, parts - 1)
    _turns(r, r.maximum(turn, start), stop, extent, body, parts - 1)


def rolled(r: Recorder, array: Array, by: Poly, axis: int) -> Array:
    """The array from index `by` of an axis on, which is less than its extent, and then from its beginning.

    Loops along that axis, when it is innermost, become two, neither of which has to choose in each turn.
    """
    extent = array.shape[axis]

    def element(indices: Indices) -> str:
        at = indices[axis] + by
        ahead = at - extent
        if r.facts.is_at_least(ahead):
            at = ahead
        elif not r.facts.is_at_least(-ahead, 1):
            if r.innermost is not None and r.innermost.terms[0] in ahead.terms:
                raise _Splits(r.innermost - ahead)
            at = at - extent * Poly.name(r.cast(r.machine(">=", at, extent), BOOL, INT))
        return array.element((*indices[:axis], at, *indices[axis + 1 :]))

    return Array(array.dtype, array.shape, element, array.reads | {ROLLED}, None, array.c_order)


def fresh(r: Recorder, dtype: np.dtype, shape: Shape) -> Array:
    """An array in memory of its own, whose elements are not set."""
    r.choose(*shape)
    for extent in shape:
        r.require(extent)
    strides = contiguous_strides(shape, dtype)
    nbytes = strides[0] * shape[0] if shape else Poly.number(dtype.itemsize)
    if r.facts.interval(nbytes)[1] >= 1 << 48:
        r.require((1 << 40) - nbytes)
    site = r.site(r.next_place())
    origin = f"m{site}"
    base = r.memory(site, nbytes, r.live(origin))
    return in_memory(r, View(base, ZERO, strides, frozenset({origin}), True), dtype, shape)


def in_place(r: Recorder, value: Scalar) -> Array:
    """An array of its own that holds one number."""
    return filled(r, value.dtype, (ONE,), value)


def part(r: Recorder, value: Array | Scalar, name: str) -> Array:
    """The ``real`` or ``imag`` parts of complex numbers, which share their memory."""
    array = materialise(r, value) if isinstance(value, Array) else in_place(r, value)
    view, half = array.memory, np.dtype(f"f{value.dtype.itemsize // 2}")
    place_ = view.offset + half.itemsize * (name == "imag")
    return in_memory(r, View(view.base, place_, view.strides, view.origins), half, array.shape, array.c_order)


def as_shape(r: Recorder, array: Array, shape: Shape) -> Array:
    """A new array of which it is known elsewhere that it has this shape; the procedure stops if it has not."""
    r.require_alike(array.shape, shape)
    view = replaced(array.memory, strides=contiguous_strides(shape, array.dtype), is_given=False)
    return in_memory(r, view, array.dtype, shape, array.c_order)


def filled(r: Recorder, dtype: np.dtype, shape: Shape, value: Any) -> Array:
    """An array all of whose elements are a number."""
    made = fresh(r, dtype, shape)
    name = register_of(r, value, dtype)
    nest(r, shape, lambda indices: store(r, made, indices, name))
    return made


def materialise(r: Recorder, array: Array, always: bool = False) -> Array:
    """The array in memory; with `always` in memory of its own."""
    if array.view is not None and not always:
        return array
    if array.order:
        back = [array.order.index(k) for k in range(array.ndim)]
        lying = materialise(r, replaced(transpose(r, array, back), order=()), always)
        made = transpose(r, replaced(lying, c_order=False), array.order)
        return replaced(made, order=array.order)
    made = fresh(r, array.dtype, array.shape)
    nest(r, array.shape, lambda indices: store(r, made, indices, array.element(indices)))
    return replaced(made, c_order=array.c_order, is_part=array.is_part)


def assign(r: Recorder, target: Array, value: Any) -> None:
    """``target[...] = value``; where the value is read from what is written, as if it had been computed before."""
    if is_number(value):
        name = converted(r, value, target.dtype)
        nest(r, target.shape, lambda indices: store(r, target, indices, name))
        return
    if not isinstance(value, Array):
        raise NotStaged("an assignment of what is neither a number nor an array")
    while value.ndim > target.ndim and value.shape[0] == ONE:
        value = _without_first_axis(value)
    require_fit(r, target.shape, value)
    source = cast(r, value, target.dtype)
    if not source.reads & target.memory.origins:
        _copy(r, target, source)
        return
    with r.attempt() as take_back:
        before = r.loads
        r.loads = []
        stores = _copy(r, target, source)
        loads, r.loads = r.loads, before + r.loads
        if all(_is_safe(r, target, stores, load, offset) for load, offset in loads):
            return
        take_back()
    if value.view is not None and value.ndim == target.ndim == 1 and not _is_copied_first(value.view, target.memory):
        raise NotStaged("a copy to elements that may overlap in other steps, where NumPy reads what it has written")
    _copy(r, target, materialise(r, source, always=True))


def _is_copied_first(source: View, target: View) -> bool:
    """Whether NumPy reads all elements of one axis first: where both lie alike, or the other way round."""
    ((its,), (mine,)) = source.strides, target.strides
    return its in (mine, -mine)


def update(r: Recorder, target: Array, made: Any) -> None:
    """Store what a ufunc has computed, which NumPy converts within its kind."""
    if not np.can_cast(dtype_of(made), target.dtype, "same_kind"):
        raise NotStaged("a conversion that NumPy refuses")
    if isinstance(made, Array) and made.ndim > target.ndim:
        raise NotStaged("a value of more axes than its place")
    assign(r, target, made)


def _without_first_axis(array: Array) -> Array:
    return Array(array.dtype, array.shape[1:], lambda indices: array.element((ZERO, *indices)), array.reads)


def assigned(r: Recorder, value: Any, dtype: np.dtype, indices: Indices) -> str:
    """What an assignment of an array, or a number, puts at these indices, which meet others by broadcasting."""
    return element_of(r, value, dtype, indices) if isinstance(value, Array) else converted(r, value, dtype)


def converted(r: Recorder, value: Any, dtype: np.dtype) -> str:
    """A number as an assignment converts it.

    Raises
    ------
    NotStaged
        If it is none, as a list.
    """
    if not is_number(value):
        raise NotStaged(f"an assignment of {type(value).__name__}")
    source = dtype_of(value)
    if source.kind == "c" and dtype.kind != "c":
        raise NotStaged("a complex number in a real array")
    if source.kind == "f" and dtype.kind in "iu":
        value = rounded(r, value, "trunc")
    if source.kind in "fiu" and dtype.kind in ("iu" if source.kind == "f" else "i") and not is_static(value):
        value = integer(in_range(r, poly_of(r, value), np.iinfo(dtype)))  # NumPy's numbers wrap in unsigned ones alone
    return register_of(r, value, dtype)


def _copy(r: Recorder, target: Array, source: Array) -> Poly:
    """Loops that assign; the offset of what is written, in terms of their indices."""
    offsets = []

    def body(indices: Indices) -> None:
        offsets.append(place(target.memory, indices))
        store(r, target, indices, element_of(r, source, target.dtype, indices))

    nest(r, target.shape, body)
    return offsets[0]


def _is_safe(r: Recorder, target: Array, stores: Poly, load: View, offset: Poly) -> bool:
    """Whether what is loaded in a loop over `target` is what it was before the loop."""
    view = target.memory
    if not load.origins & view.origins:
        return True
    if load.base != view.base:
        return False
    ahead = offset - stores
    if not ahead.terms:
        return True
    looped = [k for k, extent in enumerate(target.shape) if extent != ONE]
    if not looped:
        return True
    span = Poly.number(target.dtype.itemsize)
    for k in looped:
        stride = view.strides[k]
        if not r.facts.is_at_least(stride):
            return False
        span = span + (target.shape[k] - 1) * stride
    if not any(name in stores.names() for name in ahead.names()) or set(ahead.names()) <= set(view.offset.names()):
        apart = r.facts.is_at_least(ahead - span) or r.facts.is_at_least(-ahead - span)
        return apart or (len(looped) == 1 and r.facts.is_at_least(ahead))
    # A single element, read in each turn.
    rest = offset - view.offset
    return r.facts.is_at_least(rest - span) or r.facts.is_at_least(-rest - target.dtype.itemsize)


# -- folds


def fold_all(r: Recorder, op: str, dtype: np.dtype, shape: Shape, element: Callable[[Indices], str]) -> str:
    """The fold of all elements."""

    def level(shape: Shape, indices: Indices) -> str:
        while shape and shape[0] == ONE:
            shape, indices = shape[1:], (*indices, ZERO)
        if not shape:
            return element(indices)
        fold = Fold(r.name(), op, dtype)
        with r.loop(ZERO, shape[0], 1, [fold]) as index:
            r.update(fold.name, level(shape[1:], (*indices, index)))
        return fold.name

    return level(shape, ())


def count_true(r: Recorder, mask: Array) -> str:
    """The number of true elements."""
    return fold_all(r, "add", INT, mask.shape, lambda i: r.cast(mask.element(i), BOOL, INT))


def fold(r: Recorder, op: str, array: Array, axes: tuple[int, ...], keepdims: bool, dtype: np.dtype) -> Scalar | Array:
    """The fold of an array along axes, in `dtype`."""
    if ROLLED in array.reads:
        array = materialise(r, array)
    if len(axes) == array.ndim:
        name = fold_all(r, op, dtype, array.shape, lambda i: r.cast(array.element(i), array.dtype, dtype))
        name = _from_zero(r, op, dtype, array.shape, name)
        made = from_register(r, name, dtype)
        return made if not keepdims else _spread(r, made, (ONE,) * array.ndim)
    kept = [k for k in range(array.ndim) if k not in axes]
    if array.ndim - 1 in kept:
        result = _fold_rows(r, op, array, axes, dtype)
    else:
        result = _fold_inner(r, op, array, axes, dtype)
    return with_axes(r, result, axes) if keepdims else result


def _from_zero(r: Recorder, op: str, dtype: np.dtype, shape: Shape, name: str) -> str:
    """The sum of one element of this shape: NumPy adds it to zero, so that it is not -0.0."""
    if op != "add" or dtype.kind not in "fc" or any(extent != ONE for extent in shape):
        return name
    return r.compute("add", [name, r.literal(0, dtype)], dtype)


def _fold_inner(r: Recorder, op: str, array: Array, axes: tuple[int, ...], dtype: np.dtype) -> Array:
    """A fold whose last axis is folded: one element of the result after the other."""
    kept = [k for k in range(array.ndim) if k not in axes]

    def element(indices: Indices) -> str:
        def inner(folded: Indices) -> str:
            at = dict(zip((*kept, *axes), (*indices, *folded)))
            return r.cast(array.element(tuple(at[k] for k in range(array.ndim))), array.dtype, dtype)

        folded = tuple(array.shape[k] for k in axes)
        return _from_zero(r, op, dtype, folded, fold_all(r, op, dtype, folded, inner))

    shape = tuple(array.shape[k] for k in kept)
    return materialise(r, Array(dtype, shape, element, array.reads))


def _fold_rows(r: Recorder, op: str, array: Array, axes: tuple[int, ...], dtype: np.dtype) -> Array:
    """A fold whose last axis stays: the elements of rows are folded into those of the result."""
    kept = [k for k in range(array.ndim) if k not in axes]
    shape = tuple(array.shape[k] for k in kept)
    made = fresh(r, dtype, shape)
    start = r.literal(FOLD_IDENTITY[FOLDS[op]](dtype), dtype)
    nest(r, shape, lambda indices: store(r, made, indices, start))

    def body(indices: Indices) -> None:
        at = tuple(indices[k] for k in kept)
        value = r.cast(array.element(indices), array.dtype, dtype)
        total = r.compute(op, [made.element(at), value], dtype)
        store(r, made, at, total)

    nest(r, array.shape, body)
    return made


def _spread(r: Recorder, value: Scalar, shape: Shape) -> Array:
    name = register_of(r, value, value.dtype)
    return Array(value.dtype, shape, lambda indices: name, frozenset())


def with_axes(r: Recorder, array: Array, axes: Sequence[int]) -> Array:
    """The array with axes of one element at these positions of the result."""
    ndim = array.ndim + len(axes)
    kept = [k for k in range(ndim) if k not in axes]
    shape = [ONE] * ndim
    for k, extent in zip(kept, array.shape):
        shape[k] = extent
    if array.view is not None:
        strides = [ZERO] * ndim
        for k, stride in zip(kept, array.view.strides):
            strides[k] = stride
        v = array.view
        return in_memory(r, View(v.base, v.offset, tuple(strides), v.origins), array.dtype, tuple(shape), array.c_order)
    made = Array(array.dtype, tuple(shape), lambda i: array.element(tuple(i[k] for k in kept)), array.reads)
    return replaced(made, c_order=array.c_order, is_part=array.is_part)


def transpose(r: Recorder, array: Array, order: Sequence[int]) -> Array:
    """The array with its axes in another order."""
    shape = tuple(array.shape[k] for k in order)
    c_order = array.c_order and list(order) == sorted(order)
    if (v := array.view) is not None:
        strides = tuple(v.strides[k] for k in order)
        made = in_memory(r, View(v.base, v.offset, strides, v.origins), array.dtype, shape, c_order)
        if not (array.c_order or array.turned):
            return made
        turned = tuple((array.turned or range(array.ndim))[k] for k in order)
        return replaced(made, c_order=turned == tuple(range(array.ndim)), turned=turned)
    inverse = [list(order).index(k) for k in range(len(order))]
    return Array(array.dtype, shape, lambda i: array.element(tuple(i[k] for k in inverse)), array.reads, None, c_order)


def search(r: Recorder, op: str, shape: Shape, dtype: np.dtype, element: Callable[[Poly], str]) -> Poly:
    """The place of the first extreme along one axis, a nan being more extreme than any number."""
    (extent,) = shape
    r.require(extent - 1)
    best, found = r.variable(), r.variable()
    r.put(best, element(ZERO), dtype)
    r.put(found, r.integer(ZERO), INT)
    with r.loop(ONE, extent) as index:
        value, top = element(index), r.get(best, dtype)
        wins = r.compute(op, [value, top], dtype, BOOL)
        if dtype.kind == "f":
            nan = r.compute("isnan", [value], dtype, BOOL)
            number = r.compute("logical_not", [r.compute("isnan", [top], dtype, BOOL)], BOOL)
            wins = r.compute("logical_or", [wins, r.compute("logical_and", [nan, number], BOOL)], BOOL)
        with r.when(wins):
            r.put(best, value, dtype)
            r.put(found, r.integer(index), INT)
    return r.bounded(r.get(found, INT), 0, extent - 1)
