"""Arrays that staged functions make: of numbers, and of other arrays, as copies and with other types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.integers import Poly
from . import arrays as a
from . import scalars, subscripts
from .arithmetic import as_float, binary, rounded
from .arrays import ONE, ZERO
from .recorder import Recorder
from .registry import FUNCTIONS, Handler, as_array, function, known_dtype, require_allocatable, shape_of
from .reshaping import contiguous
from .runtimelists import RunTimeList
from .scalars import poly_of, register_of, static_integer
from .values import BOOL, FLOAT, INT, Array, NotStaged, dtype_of, is_number, is_python_number, is_static


def _creation(value: Any) -> Handler:
    def create(r: Recorder, shape: Any, dtype: Any = None, order: str = "C") -> Array:
        if order != "C":
            raise NotStaged("a memory order")
        made = FLOAT if dtype is None else known_dtype(dtype)
        return (
            a.fresh(r, made, shape_of(r, shape))
            if value is None
            else a.filled(r, made, shape_of(r, shape), made.type(value))
        )

    return create


def _like(value: Any) -> Handler:
    def create(r: Recorder, like: Any, dtype: Any = None, shape: Any = None) -> Array:
        like = as_array(r, like)
        if not like.c_order or shape is not None:
            raise NotStaged("an array like one whose memory order is not known")
        made = like.dtype if dtype is None else known_dtype(dtype)
        return a.fresh(r, made, like.shape) if value is None else a.filled(r, made, like.shape, made.type(value))

    return create


for _name, _value in (("empty", None), ("zeros", 0), ("ones", 1)):
    FUNCTIONS[getattr(np, _name)] = _creation(_value)
    FUNCTIONS[getattr(np, _name + "_like")] = _like(_value)


def _check_filling(value: Any) -> None:
    """Raise `NotStaged` for what fills no array here: some integers beyond int64 have no truth value for NumPy."""
    if not is_number(value) or (type(value) is int and not -(1 << 63) <= value < 1 << 63):
        raise NotStaged("an array filled with this")


@function(np.full)
def _full(r: Recorder, shape: Any, fill_value: Any, dtype: Any = None) -> Array:
    _check_filling(fill_value)
    made = dtype_of(fill_value) if dtype is None else known_dtype(dtype)
    return a.filled(r, made, shape_of(r, shape), fill_value)


@function(np.full_like)
def _full_like(r: Recorder, like: Any, fill_value: Any, dtype: Any = None) -> Array:
    _check_filling(fill_value)
    made = _like(None)(r, like, dtype)
    a.assign(r, made, fill_value)
    return made


@function(np.eye)
def eye(r: Recorder, N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Array:
    rows, columns = shape_of(r, (N, N if M is None else M))
    made = known_dtype(dtype)

    def element(indices: tuple[Poly, ...]) -> str:
        i, j = indices
        return r.cast(r.machine("==", i + static_integer(k), j), BOOL, made)

    return Array(made, (rows, columns), element, frozenset())


@function(np.identity)
def _identity(r: Recorder, n: Any, dtype: Any = float) -> Array:
    return eye(r, n, dtype=dtype)


@function(np.arange)
def _arange(r: Recorder, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    if stop is None:
        start, stop = 0, start
    if not all(map(is_number, (start, stop, step))):
        raise NotStaged("arguments of arange")
    if all(dtype_of(v).kind in "iu" for v in (start, stop, step)):
        first, last, by = poly_of(r, start), poly_of(r, stop), static_integer(step)
        made = INT if dtype is None else known_dtype(dtype)
        if by == 0 or made.kind not in "if":
            raise NotStaged("arguments of arange")
        length = r.in_steps(r.maximum((last - first) if by > 0 else (first - last), ZERO), abs(by))
        require_allocatable(r, length)
        return Array(made, (length,), lambda i: r.cast(r.integer(first + i[0] * by), INT, made), frozenset())
    if (
        dtype is not None
        or dtype_of(start).itemsize < 8
        or not all(dtype_of(v).kind in "iuf" for v in (start, stop, step))
    ):
        raise NotStaged("arguments of arange")
    # As NumPy has it: ceil((stop - start) / step) elements start + i * delta, where delta is rounded first.
    low, high, by_float = (as_float(r, v) for v in (start, stop, step))
    if not is_static(by_float) or by_float == 0:
        raise NotStaged("a step that is not known")
    quotient = binary(r, "divide", binary(r, "subtract", high, low), by_float)
    if is_static(quotient):
        length = Poly.number(max(int(np.ceil(quotient)), 0))
    else:
        length = r.maximum(poly_of(r, rounded(r, quotient, "ceil")), ZERO)
    require_allocatable(r, length)
    delta = binary(r, "subtract", binary(r, "add", low, by_float), low)
    names = [register_of(r, v, FLOAT) for v in (low, delta)]

    def element(indices: tuple[Poly, ...]) -> str:
        index = r.cast(r.integer(indices[0]), INT, FLOAT)
        step_made = r.compute("multiply", [index, names[1]], FLOAT)
        return r.compute("add", [names[0], step_made], FLOAT)

    return Array(FLOAT, (length,), element, frozenset())


def grid(r: Recorder, slices: Sequence[slice], is_open: bool) -> Any:
    """``np.mgrid[slices]`` or ``np.ogrid[slices]`` of Python's integers; None where it is one of other numbers."""
    bounds = [(0 if s.start is None else s.start, s.stop) for s in slices]
    if not all(is_number(v) and dtype_of(v) == INT and is_python_number(v) for pair in bounds for v in pair):
        return None
    if any(s.step not in (None, 1) for s in slices):
        return None
    starts = [poly_of(r, start) for start, _ in bounds]
    shape = tuple(poly_of(r, stop) - start for start, (_, stop) in zip(starts, bounds))
    for extent in shape:
        r.require(extent)
        require_allocatable(r, extent)
    if is_open:
        return tuple(_along(r, k, start, shape) for k, start in enumerate(starts))

    def element(indices: tuple[Poly, ...]) -> str:
        number, *at = indices
        made = r.integer(starts[-1] + at[-1])
        for k in reversed(range(len(at) - 1)):
            here = r.machine("==", number, Poly.number(k))
            made = r.compute("where", [here, r.integer(starts[k] + at[k]), made], [BOOL, INT, INT], INT)
        return made

    return Array(INT, (Poly.number(len(shape)), *shape), element, frozenset())


def _along(r: Recorder, axis: int, start: Poly, shape: tuple[Poly, ...]) -> Array:
    """Integers from `start` on along one axis; the others have one element."""
    extents = tuple(n if k == axis else ONE for k, n in enumerate(shape))
    return Array(INT, extents, lambda at: r.integer(start + at[axis]), frozenset())


@function(np.linspace)
def _linspace(r: Recorder, start: Any, stop: Any, num: Any = 50) -> Array:
    if not all(is_number(v) and dtype_of(v).kind in "iuf" for v in (start, stop)):
        raise NotStaged("arguments of linspace")
    if any(isinstance(v, int) and not -(1 << 63) <= v < 1 << 64 for v in (start, stop)):
        raise NotStaged("integers that do not fit")
    count = poly_of(r, num)
    r.require(count - 2)
    require_allocatable(r, count)
    low, high = (register_of(r, v, FLOAT) for v in (start, stop))
    span = r.compute("subtract", [high, low], FLOAT)
    steps = r.cast(r.integer(count - 1), INT, FLOAT)
    step = r.compute("divide", [span, steps], FLOAT)
    r.stop(r.compute("equal", [step, r.literal(0.0, FLOAT)], FLOAT, BOOL))  # NumPy divides later then

    def element(indices: tuple[Poly, ...]) -> str:
        index = r.cast(r.integer(indices[0]), INT, FLOAT)
        part = r.compute("add", [r.compute("multiply", [index, step], FLOAT), low], FLOAT)
        last = r.machine("==", indices[0], count - 1)
        return r.compute("where", [last, high, part], [BOOL, FLOAT, FLOAT], FLOAT)

    return Array(FLOAT, (count,), element, frozenset())


@function(np.copy, method="copy")
def _copy(r: Recorder, array: Any, order: str = "C") -> Array:
    if order != "C":
        raise NotStaged("a memory order")
    made = a.materialise(r, as_array(r, array), always=True)
    return Array(made.dtype, made.shape, made.element, made.reads, made.view)


@function(np.ascontiguousarray)
def _ascontiguousarray(r: Recorder, value: Any, dtype: Any = None) -> Array:
    made = _asarray(r, value, dtype)
    if not made.ndim:
        raise NotStaged("an array of one number")
    return contiguous(r, made)


@function(np.asarray, np.asanyarray)
def _asarray(r: Recorder, value: Any, dtype: Any = None) -> Array:
    """An array that has this dtype is itself the result."""
    known = None if dtype is None else known_dtype(dtype)
    made = as_array(r, value, known)
    if known is not None:
        made = a.cast(r, made, known)
    return a.materialise(r, made, always=True) if isinstance(value, RunTimeList) else made


@function(np.array)
def _array(r: Recorder, value: Any, dtype: Any = None, copy: Any = True) -> Array:
    if copy is False:
        raise NotStaged("an array that is not copied")
    made = _asarray(r, value, dtype)
    return _copy(r, made) if copy and made is value else made


@function(np.atleast_1d)
def _atleast_1d(r: Recorder, value: Any) -> Array:
    return as_array(r, [value] if is_number(value) else value)


@function(np.atleast_2d)
def _atleast_2d(r: Recorder, value: Any) -> Array:
    made = as_array(r, value)
    if not made.ndim:
        raise NotStaged("an array of one number")
    return a.with_axes(r, made, [0]) if made.ndim == 1 else made


@function(np.copyto)
def _copyto(r: Recorder, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Array):
        raise NotStaged("a copy to what is no array")
    source = src if is_number(src) else as_array(r, src)
    if not _can_be_cast(source, dst.dtype, casting):
        raise NotStaged("a copy to another kind of numbers")
    if where is not True:
        source = FUNCTIONS[np.where](r, where, scalars.stored(r, source, dst.dtype), dst)
    subscripts.assign(r, dst, Ellipsis, scalars.stored(r, source, dst.dtype))


def _can_be_cast(value: Any, dtype: np.dtype, casting: Any) -> bool:
    """Whether NumPy copies a value to an array of this type. Numbers of Python's adapt to it."""
    if not is_number(value) or is_python_number(value) is False:
        return bool(np.can_cast(dtype_of(value), dtype, casting))
    return is_static(value) and bool(np.can_cast(np.min_scalar_type(value), dtype))


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


@function(method="astype")
def _astype(
    r: Recorder,
    array: Array,
    dtype: Any,
    order: Any = "K",
    casting: Any = "unsafe",
    subok: Any = True,
    copy: Any = True,
) -> Array:
    known = known_dtype(dtype)
    if casting not in _CASTINGS or not np.can_cast(array.dtype, known, casting) or type(subok) is not bool:
        raise NotStaged("a conversion that NumPy refuses")
    if order != "K" and not (order == "C" and array.c_order):
        raise NotStaged("a conversion to another memory order")
    made = a.cast(r, array, known)
    return _copy(r, made) if copy and made is array else made
