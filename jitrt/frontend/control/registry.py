"""The table of NumPy's functions and of methods of arrays in staged functions, and what its rows have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.dtypes import is_twin
from ...ir.integers import Poly
from . import arrays as a
from . import complexnumbers, lists, subscripts
from .arithmetic import apply
from .recorder import MOST_EXTENT, Recorder
from .runtimelists import RunTimeList
from .scalars import dtypes_of, from_register, poly_of, register_of
from .values import BOOL, Array, Complex, NotStaged, dtype_of, is_number, is_python_number, is_static

Handler = Callable[..., Any]
FUNCTIONS: dict[Any, Handler] = {}
METHODS: dict[str, Handler] = {}


def function(*functions: Any, method: str = "") -> Callable[[Handler], Handler]:
    """Declare what NumPy's `functions`, and the method of that name, are in staged functions."""

    def declare(handler: Handler) -> Handler:
        for known in functions:
            FUNCTIONS[known] = handler
        if method:
            METHODS[method] = handler
        return handler

    return declare


def ufunc(r: Recorder, called: np.ufunc, args: list[Any]) -> Any:
    """A ufunc of arrays and numbers."""
    if called is np.absolute and len(args) == 1 and isinstance(args[0], Complex):
        return complexnumbers.magnitude(r, args[0])
    args = [as_array(r, v) if isinstance(v, (list, tuple, RunTimeList)) else v for v in args]
    args = [complexnumbers.as_numpys(r, v, *(w for w in args if w is not v)) for v in args]
    if len(args) != called.nin:
        raise NotStaged(f"arguments of {called.__name__}")
    if any(isinstance(v, Array) for v in args):
        return scalar_if_0d(r, a.call_ufunc(r, called, args))
    if all(map(is_static, args)):
        raise NotStaged("a call on known numbers")
    if not all(map(is_number, args)):
        raise NotStaged(f"arguments of {called.__name__}")
    if called is np.power and dtypes_of(called, args)[-1].kind == "f":
        return _power(r, *args)
    return apply(r, called, args)


def _power(r: Recorder, x: Any, y: Any) -> Any:
    """``np.power(x, y)`` of numbers, which is the root where `y` is 0.5, as their operator's power is not."""
    dtype = dtypes_of(np.power, [x, y])[-1]
    if is_static(y) and y == 0.5:
        return from_register(r, r.compute("sqrt", [register_of(r, x, dtype)], dtype), dtype)
    if is_static(y):
        return apply(r, np.power, [x, y])
    base, exponent = (register_of(r, v, dtype) for v in (x, y))
    one, half = (r.literal(value, dtype) for value in (1.0, 0.5))
    is_half = r.compute("equal", [exponent, half], dtype, BOOL)

    def chosen(then: str, otherwise: str) -> str:
        return r.compute("where", [is_half, then, otherwise], [BOOL, dtype, dtype], dtype)

    root = r.compute("sqrt", [chosen(base, one)], dtype)
    power = apply(r, np.power, [from_register(r, chosen(one, base), dtype), from_register(r, exponent, dtype)])
    return from_register(r, chosen(root, register_of(r, power, dtype)), dtype)


def scalar_if_0d(r: Recorder, value: Any) -> Any:
    """NumPy gives a scalar where an operation gives an array without axes."""
    if isinstance(value, Array) and value.ndim == 0:
        return from_register(r, value.element(()), value.dtype)
    return value


def as_array(r: Recorder, value: Any, dtype: np.dtype | None = None) -> Array:
    """An array of what `np.asarray` takes; numbers, and those of lists, become of `dtype`, into which they must fit."""
    if isinstance(value, Array):
        return value
    if isinstance(value, RunTimeList):
        return lists.as_array(r, value)
    if is_number(value):
        made_of = dtype_of(value) if dtype is None else dtype
        name = _element(r, value, made_of)
        return Array(made_of, (), lambda indices: name, frozenset())
    if isinstance(value, (list, tuple)) and value:
        parts = [as_array(r, v, dtype) if isinstance(v, (list, tuple)) else v for v in value]
        if all(is_number(v) or isinstance(v, Complex) for v in parts):
            dtypes = [np.dtype(complex) if isinstance(v, Complex) else dtype_of(v) for v in parts]
            dtype = np.result_type(*dtypes) if dtype is None else dtype
            made = a.fresh(r, dtype, (Poly.number(len(parts)),))
            for k, v in enumerate(parts):
                if isinstance(v, Complex):
                    complexnumbers.store(r, made, (Poly.number(k),), v)
                else:
                    a.store(r, made, (Poly.number(k),), _element(r, v, dtype))
            return made
        return stack(r, parts)
    raise NotStaged("an array of this")


def _element(r: Recorder, value: Any, dtype: np.dtype) -> str:
    """A number as an element of an array: Python's floats become the integers that `int` makes of them."""
    is_cut = dtype.kind in "iu" and dtype_of(value).kind == "f" and is_python_number(value) is not False
    return a.converted(r, value, dtype) if is_cut else register_of(r, value, dtype)


def shape_of(r: Recorder, value: Any) -> tuple[Poly, ...]:
    """A shape, given as a number or several."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    shape = []
    for part in parts:
        if not is_number(part) or dtype_of(part).kind not in "iu":
            raise NotStaged("an extent that is no integer")
        extent = poly_of(r, part)
        r.require(extent)
        require_allocatable(r, extent)
        shape.append(extent)
    return tuple(shape)


def require_allocatable(r: Recorder, extent: Poly) -> None:
    """Stop where there cannot be an array of that extent."""
    if r.facts.interval(extent)[1] > MOST_EXTENT:
        r.require((1 << 40) - extent)


def known_dtype(value: Any) -> np.dtype:
    """A dtype that is an argument."""
    if not is_static(value):
        raise NotStaged("a dtype that is no constant")  # NumPy takes the attribute `dtype` of others
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise NotStaged("a dtype") from None
    if dtype.kind not in "biufc" or not dtype.isnative or dtype.char in "egG" or is_twin(dtype):
        raise NotStaged(f"arrays of {dtype}")
    return dtype


def stack(r: Recorder, parts: list[Any]) -> Array:
    """Arrays of one shape as rows of a new one."""
    parts = [as_array(r, p) for p in parts]
    dtype = np.result_type(*(p.dtype for p in parts))
    shape = parts[0].shape
    for p in parts[1:]:
        if p.ndim != len(shape):
            raise NotStaged("shapes that do not fit")
        r.require_alike(p.shape, shape)
    made = a.fresh(r, dtype, (Poly.number(len(parts)), *shape))
    for k, p in enumerate(parts):
        a.assign(
            r, subscripts.rows_of(r, made, Poly.number(k)), p if p.ndim else from_register(r, p.element(()), p.dtype)
        )
    return made
