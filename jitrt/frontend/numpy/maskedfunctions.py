"""What a traced function finds in place of ``numpy.ma``, its functions and its class."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.once import once
from ...values.masked import Masked
from ..context import current
from ..python.classes import StandInForClass
from .masked import MaskedTracer
from .maskedoperations import (
    binary,
    construct,
    domained,
    getdata,
    getmaskarray,
    masked_invalid,
    masked_where,
    nomask,
    power,
    refuse,
    settled,
    unary,
    where,
)  # fmt: skip
from .operators import is_tracer
from .standin import ModuleStandIn, StandIn

if TYPE_CHECKING:
    from ..state import Trace

_METHODS = frozenset(
    "all anom anomalies any argmax argmin compressed copy count cumprod cumsum diagonal max mean min prod product "
    "ravel repeat reshape std sum swapaxes transpose var".split()
)
_AS_GIVEN = frozenset({"reshape", "transpose"})  # of other arrays no masked ones
_SYNONYMS = {"anomalies": "anom", "product": "prod"}
_COMPARING = {
    "masked_greater": np.greater, "masked_greater_equal": np.greater_equal, "masked_less": np.less,
    "masked_less_equal": np.less_equal, "masked_not_equal": np.not_equal,
}  # fmt: skip
_ABOUT_TYPES = frozenset(
    "isMaskedArray isMA isarray default_fill_value maximum_fill_value minimum_fill_value common_fill_value".split()
)


def is_loaded() -> bool:
    """Whether NumPy has imported ``numpy.ma``, which it does when somebody asks for it."""
    return "numpy.ma" in sys.modules


def stand_in(value: Any) -> Any:
    """What a traced function finds in place of an object of ``numpy.ma``; others are themselves."""
    name = _names().get(id(value)) if is_loaded() else None
    return value if name is None else _stand_in(name)


def classes() -> dict[type, type]:
    """What stands for the class of masked arrays."""
    return {np.ma.MaskedArray: stand_in(np.ma.MaskedArray)} if is_loaded() else {}


def _holds_symbol(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_holds_symbol, value))
    return is_tracer(value) or type(value) is MaskedTracer


class _Function(StandIn):
    """A function of ``numpy.ma``, of which nothing but calls is known."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        return StandIn(found, _refused) if callable(found) and not isinstance(found, type) else found


def _refused(trace: Trace, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    if _holds_symbol([*args, *kwargs.values()]):
        refuse(f"np.ma.{getattr(function, '__name__', 'function')}")
    return function(*args, **kwargs)


def _of_symbols(call: Callable[..., Any]) -> Callable[..., Any]:
    """What a stand-in does that calls another function with symbols."""

    def make(trace: Trace, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        symbolic = _holds_symbol([*args, *kwargs.values()])
        return call(*args, **kwargs) if symbolic else function(*args, **kwargs)

    return make


def _method(name: str) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        is_kept = isinstance(a, Masked) or (name in _AS_GIVEN and is_tracer(a))
        return getattr(a if is_kept else construct(a), name)(*args, **kwargs)

    return call


def _comparing(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda x, value, copy=True: masked_where(binary(ufunc, x, value), x, copy)


def _masked_equal(x: Any, value: Any, copy: Any = True) -> Any:
    found = masked_where(binary(np.equal, x, value), x, copy)
    found.fill_value = value
    return found


def _between(is_inside: bool) -> Callable[..., Any]:
    def call(x: Any, v1: Any, v2: Any, copy: Any = True) -> Any:
        low, high = (v2, v1) if v2 < v1 else (v1, v2)
        data = _filled(x)
        condition = (data >= low) & (data <= high) if is_inside else (data < low) | (data > high)
        return masked_where(condition, x, copy)

    return call


def _of_data(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, *args: function(getdata(a), *args)


def _filled(a: Any, fill_value: Any = None) -> Any:
    return a.filled(fill_value) if isinstance(a, Masked) else a if is_tracer(a) and a._is_array() else getdata(a).copy()


def _getmask(a: Any) -> Any:
    return settled(a)._mask if isinstance(a, Masked) else nomask


def _is_masked(x: Any) -> bool:
    mask = _getmask(x)
    return mask is not nomask and bool(np.any(mask))


def _extreme(compared: np.ufunc) -> Callable[..., Any]:
    def call(a: Any, c: Any = None) -> Any:
        return refuse("an extreme of one operand") if c is None else where(binary(compared, a, c), a, c)

    return call


def _array(
    data: Any, dtype: Any = None, copy: Any = False, order: Any = None, mask: Any = nomask, fill_value: Any = None,
    keep_mask: Any = True, hard_mask: Any = False, shrink: Any = True, subok: Any = True, ndmin: Any = 0,
) -> Any:  # fmt: skip
    return construct(data, mask, dtype, copy, subok, ndmin, fill_value, keep_mask, hard_mask, shrink, order)


def _asanyarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    return a if isinstance(a, Masked) and dtype is None and order is None else construct(a, dtype=dtype, order=order)


_CALLS: dict[str, Callable[..., Any]] = {
    "masked_where": masked_where, "masked_invalid": masked_invalid, "masked_equal": _masked_equal, "where": where,
    "filled": _filled, "getmask": _getmask, "getmaskarray": lambda a: getmaskarray(settled(a)), "power": power,
    "getdata": lambda a, subok=True: getdata(a) if subok and not isinstance(a, Masked) else getdata(a)[...],
    "is_masked": _is_masked, "array": _array, "asarray": construct, "asanyarray": _asanyarray,
    "masked_inside": _between(True), "masked_outside": _between(False), "round": np.round, "round_": np.round,
    "shape": _of_data(np.shape), "ndim": _of_data(np.ndim), "size": _of_data(np.size),
}  # fmt: skip


class _Class(StandInForClass):
    """The class of what stands for ``np.ma.MaskedArray``."""

    _kind = np.ma.MaskedArray

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        state = current()
        return np.ma.MaskedArray(*args, **kwargs) if state is None else construct(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ma.MaskedArray, name)


def _made(name: str, value: Any) -> Any:
    """What stands for an object of ``numpy.ma``; None if that is itself."""
    core = np.ma.core
    call: Callable[..., Any] | None = None
    if value is np.ma.MaskedArray:
        return _Class("MaskedArray", (), {"__module__": "numpy.ma", "__qualname__": "MaskedArray"})
    if isinstance(value, core._MaskedUnaryOperation):
        call = lambda a, *args, **kwargs: unary(value.f, value.domain, a, *args, **kwargs)  # noqa: E731
    elif isinstance(value, core._MaskedBinaryOperation):
        call = lambda a, c, *args: refuse("a third operand") if args else binary(value.f, a, c)  # noqa: E731
    elif isinstance(value, core._DomainedBinaryOperation):
        call = lambda a, c, *args: refuse("a third operand") if args else domained(value.f, a, c)  # noqa: E731
    elif isinstance(value, core._extrema_operation):
        call = _extreme(value.compare.f)
    elif not isinstance(value, (types.FunctionType, types.MethodType)) or name in _ABOUT_TYPES:
        return None
    elif name in _COMPARING:
        call = _comparing(_COMPARING[name])
    elif name in _METHODS:
        call = _method(_SYNONYMS.get(name, name))
    else:
        call = _CALLS.get(name)
    return _Function(value, _refused if call is None else _of_symbols(call))


@once
def _names() -> dict[int, str]:
    """Names of the objects of ``numpy.ma``, and of this itself, by their identity."""
    return {id(v): name for name, v in vars(np.ma).items() if not name.startswith("_")} | {id(np.ma): ""}


@cache
def _stand_in(name: str) -> Any:
    """What is seen in place of an object of ``numpy.ma``."""
    if not name:
        return ModuleStandIn(np.ma, lambda _, value: stand_in(value))
    value = getattr(np.ma, name)
    found = _made(name, value)
    return value if found is None else found
