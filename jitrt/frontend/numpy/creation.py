"""NumPy's creation functions as a traced function sees them: what they make are tracers, which can be written."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...base.arrays import is_writeable
from ...base.dtypes import is_twin
from ...errors import Untraceable
from ...ir import build as b
from ...ir.extents import is_extent
from ...ir.ops.operands import extents
from ...ir.ops.optable import MUTATING, NotCovered
from ...values.masked import Masked
from ..context import current
from ..forms import check
from ..python.userline import user_line
from ..state import Trace
from ..storage import fit
from .assignment import converting_for, list_node
from .numbers import fits_scalar, stored
from .operands import plain_shape
from .order import letter
from .sequences import sequence
from .silence import check_parts, watched
from .tracer import Tracer

_NUMERIC = "biufcmM"
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__")
_NO_MEMORY = (int, float, complex, str, bytes, range, type(None), np.generic, np.ndarray)
_FILLS: dict[Callable[..., Any], Any] = {np.zeros: 0, np.empty: 0, np.ones: 1, np.full: None}
_CONVERSIONS: frozenset[Callable[..., Any]] = frozenset(
    {np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray}
)
_ORDERS = {np.ascontiguousarray: "C", np.asfortranarray: "F"}
# Functions that make arrays of plain arguments alone. Their results are literals of the graph.
_LITERALS = [
    getattr(np, name)
    for name in """arange linspace logspace geomspace eye identity tri indices meshgrid diag diagflat vander tril triu
    bartlett blackman hamming hanning kaiser concatenate stack vstack hstack copy zeros_like ones_like
    empty_like full_like reshape outer repeat tile where cumsum roll flip sort""".split()
]
_OF_ARRAYS = frozenset({np.split, np.hsplit, np.vsplit, np.dsplit})  # which ask for attributes, and refuse lists
_SEVERAL_ARRAYS = frozenset("arrays tup operands args xi condlist choices keys sample dates begindates".split())
_KEPT_LITERALS, _KEPT_BYTES = 128, 1 << 16


def is_traced(value: Any) -> bool:
    """Whether a value is traced, or a list or tuple holds one that is."""
    if type(value) is Tracer:
        return True
    return type(value) in (list, tuple) and any(map(is_traced, value))


def _elements(state: Trace, value: Any, dtype: np.dtype) -> Any:
    """`value` with the NumPy scalars in nested lists as elements of `dtype`, which each of them becomes by itself."""
    if type(value) in (list, tuple):
        return [_elements(state, part, dtype) for part in value]
    if type(value) is not Tracer or dtype.kind not in "iuf":
        return value
    is_number = value.dtype.kind == "f" and dtype.kind != "f" if value._is_weak() else value._scalar
    if not is_number:
        return value
    if not fits_scalar(state, value._node, dtype):
        raise Untraceable(f"makes an array of {dtype} of a {value.dtype} that may not fit", user_line())
    return value.astype(dtype)


def _filled(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``zeros(shape, dtype)`` and the like."""
    names = ("shape", "fill_value", "dtype", "order") if function is np.full else ("shape", "dtype", "order")
    given = dict(zip(names, args)) | kwargs
    if len(given) < len(args) + len(kwargs):
        return function(*args, **kwargs)  # which has too many of them
    shape, dtype = given.pop("shape"), given.pop("dtype", None)
    fill = given.pop("fill_value", _FILLS[function])
    order, device = given.pop("order", None), given.pop("device", None)
    if given or order not in (None, "C", "F") or device not in (None, "cpu"):
        return function(*args, **kwargs)
    if dtype is not None and (made := np.dtype(dtype)).names is not None and made.kind != "V":
        raise Untraceable(f"makes an array of {made}", user_line())  # numbers with fields
    try:
        shape = _checked(extents(plain_shape(shape)))
    except NotCovered:  # an error, which NumPy describes
        return function(*args, **kwargs)
    if is_traced(fill):
        filling = fill._node if type(fill) is Tracer else list_node(state, fill)
        target = filling.dtype if dtype is None else np.dtype(dtype)
        if not _has_kernels(target):
            raise Untraceable(f"fills an array of {target}", user_line())
        node = b.cast(stored(state, filling, target), target)
        check_parts(state, (node,))
        state.effects.operation(node)
    elif np.ndim(fill):
        return literal(state, function(*args, **kwargs))
    else:
        if function is not np.full:
            fill = np.ones((), dtype)[()] if fill else np.zeros((), dtype)[()]
        watching = watched(state, "full") if np.iscomplexobj(fill) else contextlib.nullcontext()
        with watching, converting_for(shape):
            element = np.full((), int(fill) if is_extent(fill) else fill, dtype)
        if element.shape or not _has_kernels(element.dtype):  # a dtype may have a shape
            return function(*args, **kwargs)
        node = b.constant(element[()])
    filled = state.filled(node, shape) if not node.shape and shape else state.fresh(fit(node, node.dtype, shape))
    made = Tracer(filled, state)
    return made.copy("F") if order == "F" else made


def _has_kernels(dtype: np.dtype) -> bool:
    if is_twin(dtype):
        raise Untraceable(f"makes an array of {dtype.type.__name__}", user_line())
    return dtype.kind in _NUMERIC and dtype.isnative and dtype.names is None  # integers may have fields, too


def _checked(shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def _converted(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``asarray`` and the like."""
    given = dict(zip(("object", "dtype"), args)) | kwargs
    value = given.pop("object", given.pop("a", None))
    dtype, copy = given.pop("dtype", None), given.pop("copy", function is np.array or None)
    at_least = given.pop("ndmin", int(function in _ORDERS))
    order = letter(given.pop("order", None), _ORDERS.get(function, "K"))
    keeps_class = given.pop("subok", function is np.asanyarray)
    if isinstance(copy, np._CopyMode):
        copy = {np._CopyMode.ALWAYS: True, np._CopyMode.NEVER: False}.get(copy)
    elif copy is not None:
        copy = bool(copy)
    is_twice = len(args) > 1 and "dtype" in kwargs
    if len(args) > 2 or is_twice or given:
        return function(*args, **kwargs)
    if isinstance(value, Masked):
        if keeps_class:
            raise Untraceable("converts a masked array", user_line())
        value = value._data
    if isinstance(value, np.ndarray) and type(value) is not Tracer:
        return function(*args, **kwargs) if not copy else literal(state, function(*args, **kwargs))
    if not is_traced(value):
        if _lends_memory(value):
            raise Untraceable(f"makes an array of the memory of a {type(value).__name__}", user_line())
        return literal(state, function(*args, **kwargs))
    if dtype is not None and (
        (made := np.dtype(dtype)).names is not None
        or is_twin(made)
        or (made.kind not in "biufcmM" and (made.hasobject or type(value) is not Tracer or value._scalar))
    ):  # tuples may be records, integers texts, and scalars texts that are cut off where those of arrays raise
        raise Untraceable(f"makes an array of {made}", user_line())
    array = array_of(state, value if dtype is None else _elements(state, value, np.dtype(dtype)))
    if array is value and value._form() is not None:
        value = array = value if keeps_class else value._as_array()
        if dtype is not None or copy:
            check(value._form(), function.__name__)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if np.dtype(dtype).kind != "f":  # of integers, that may not fit
            state.want_integers(array._node)
        array = array.astype(dtype, "K" if order == "A" else order)
    elif (copy and array is value) or not (order in ("A", "K") or array._is_in_order(order)):
        array = array.copy(order)
    if copy is False and array is not value:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    missing = (1,) * (at_least - array.ndim)
    if not missing:
        return array
    if array.ndim > 1 and array.flags.fnc:  # new axes lie inside of the others
        turned = array.transpose()
        return turned.reshape(turned.shape + missing).transpose()
    return array.reshape(missing + array.shape)


def _lends_memory(value: Any) -> bool:
    """Whether arrays made of `value`, or of what is in it, may be its own memory, which others write to."""
    if type(value) in (list, tuple):
        return any(map(_lends_memory, value))
    if isinstance(value, _NO_MEMORY):
        return False
    try:
        memoryview(value)
    except TypeError:
        return any(hasattr(value, name) for name in _PROTOCOLS)
    return True


def array_of(state: Trace, value: Any) -> Tracer:
    """``np.asarray(value)`` of tracers, numbers, and lists of them."""
    if type(value) is Tracer and value._is_array():
        return value
    node = state.in_order(list_node(state, value), None)
    return Tracer(node if node.shape else b.view("broadcast_to", node, shape=()), state)


def literal(state: Trace, value: Any) -> Any:
    """Arrays that depend on no argument, as tracers."""
    if type(value) is np.ndarray and min(value.strides, default=0) < 0:
        turned = tuple(slice(None, None, -1 if step < 0 else 1) for step in value.strides)
        return literal(state, value[turned])[turned]
    if type(value) is np.ndarray and value.dtype.names is not None and value.dtype.kind != "V":
        raise Untraceable(f"makes an array of {value.dtype}", user_line())
    is_of_numbers = type(value) is np.ndarray and _has_kernels(value.dtype)
    if is_of_numbers and (value.ndim or value.dtype.kind == "c"):  # which says where imaginary parts are discarded
        node = b.constant(np.ascontiguousarray(value).reshape(value.shape))
        if not value.flags.c_contiguous:
            node = state.copy(node)  # another one with these elements may be in C's order
            state.orders.note(node, value.strides)
        return Tracer(node, state)
    if type(value) in (list, tuple):
        return type(value)(literal(state, v) for v in value)
    return value.copy() if type(value) is np.ndarray and not value.ndim else value  # which may be written to


def _literal_call(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    if is_traced(args) or is_traced(list(kwargs.values())):
        return array_call(state, function, tuple(map(_timed, args)), {k: _timed(v) for k, v in kwargs.items()})
    made = sequence(function, args, kwargs) if state.is_general else None
    if made is not None:
        return Tracer(state.fresh(made), state)
    is_kept = True
    with watched(state, function.__name__):
        try:
            result = _kept_call(function, args, tuple(sorted(kwargs.items())), _types(args, kwargs))
        except (_NotKept, TypeError):
            is_kept, result = False, function(*args, **kwargs)
    made = literal(state, result)
    if type(made) is Tracer and made is not result and not (is_kept or is_writeable(result)):
        made.flags.writeable = False
    return made


def array_call(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A function of an array, which may be a list of arrays: NumPy finds no tracer in there."""
    if args and type(args[0]) in (list, tuple) and is_traced(args[0]) and _takes_array(function):
        if not _may_copy(function, args, kwargs):
            raise Untraceable(f"np.{function.__name__} of a list that is not to be copied", user_line())
        args = array_of(state, args[0]), *args[1:]
    if is_traced(args) or is_traced(list(kwargs.values())):
        return function(*args, **kwargs)
    with watched(state, function.__name__):
        return function(*args, **kwargs)


@lru_cache(maxsize=256)
def _takes_array(function: Callable[..., Any]) -> bool:
    """Whether what a function is given first is one array, by the name of its parameter."""
    if function in _OF_ARRAYS:
        return False
    try:
        parameters = inspect.signature(function).parameters
        return next(iter(parameters), "") not in _SEVERAL_ARRAYS and function.__name__ not in MUTATING
    except ValueError:
        return False


def _may_copy(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call lets NumPy copy, which it has to do to make an array of a list."""
    try:
        return bool(inspect.signature(function).bind(*args, **kwargs).arguments.get("copy", True))
    except (TypeError, ValueError):  # which the call itself raises
        return True


def _timed(value: Any) -> Any:
    """A date or a time span as itself, whose class NumPy's functions look at; any other value as it is."""
    if type(value) is not Tracer or value.shape or value.dtype.kind not in "mM":
        return value
    return value._value("a date or a time span is asked for", lambda time: time)


class _NotKept(Exception):
    """A result that is too large to be kept, or that is not to be written to even by the function."""


def _types(args: tuple, kwargs: dict[str, Any]) -> tuple:
    """What tells arguments apart that are equal: 1 and 1.0 and True, and zeros of both signs."""
    given = (*args, *(kwargs[k] for k in sorted(kwargs)))
    return tuple((type(v), repr(v) if isinstance(v, (float, complex, np.inexact)) and v == 0 else "") for v in given)


@lru_cache(maxsize=_KEPT_LITERALS)
def _kept_call(function: Callable[..., Any], args: tuple, kwargs: tuple, types: tuple) -> Any:
    """The result of a creation function, one object for equal arguments, so that equal traces give equal graphs."""
    result = function(*args, **dict(kwargs))
    if type(result) is not np.ndarray or result.nbytes > _KEPT_BYTES or not is_writeable(result):
        raise _NotKept
    result.flags.writeable = False
    return result


def _from_function(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``np.fromfunction(f, shape, dtype=float)``."""
    f, shape, *rest = args
    kwargs = dict(kwargs)
    dtype = kwargs.pop("dtype", rest[0] if rest else float)
    kwargs.pop("like", None)
    return f(*literal(state, list(np.indices(shape, dtype=dtype))), **kwargs)


class Grid:
    """``np.mgrid`` and ``np.ogrid``."""

    def __init__(self, grid: Any):
        self._grid = grid

    def __getitem__(self, key: Any) -> Any:
        state = current()
        return self._grid[key] if state is None else literal(state, self._grid[key])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)


class Concatenator:
    """``np.r_`` and ``np.c_``."""

    def __init__(self, concatenator: Any):
        self._concatenator = concatenator

    def __getitem__(self, key: Any) -> Any:
        state = current()
        items = key if type(key) is tuple else (key,)
        if state is None or not is_traced(items) or any(type(item) is str for item in items):
            return self._concatenator[key]
        parts = [self._part(state, item) for item in items]
        dtype = np.result_type(*map(_promoted, parts))
        arrays = [_converted(state, np.array, (part, dtype), {"ndmin": self.ndmin, "copy": None}) for part in parts]
        return np.concatenate(tuple(arrays), axis=self.axis)

    def _part(self, state: Trace, item: Any) -> Any:
        """An array, or a column where arrays of two axes are made; a number as it is."""
        if type(item) is slice:
            start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
            several = isinstance(step, (complex, np.complexfloating))
            item = np.linspace(start, item.stop, int(abs(step))) if several else np.arange(start, item.stop, step)
        elif type(item) in np.ScalarType or (type(item) is Tracer and not item._is_array()):
            return item
        array = _converted(state, np.array, (item,), {"copy": None})
        return array[:, None] if array.ndim == 1 < self.ndmin else array

    def __getattr__(self, name: str) -> Any:
        return getattr(self._concatenator, name)


def _promoted(part: Any) -> Any:
    """What tells `np.result_type` of an array or a number."""
    if type(part) is Tracer and part._is_weak():
        return part.dtype.type().item()
    return part.dtype if isinstance(part, (np.ndarray, np.generic)) else part


CALLS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.fromfunction: _from_function,
    **dict.fromkeys(_FILLS, _filled),
    **dict.fromkeys(_CONVERSIONS, _converted),
    **dict.fromkeys(_LITERALS, _literal_call),
}
"""What calls of creation functions do during a trace; see `StandIn`."""
