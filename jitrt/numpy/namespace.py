"""NumPy's modules over lazy arrays: functions that give NumPy's arrays give lazy ones here."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from . import direct
from .array import ndarray
from .calls import call_function, has_no_others, lazy, real

_HandedOn = type(np.sum)


def over_lazy_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of NumPy's functions, with lazy arrays in place of large ones among its results.

    NumPy hands those among its arguments to them (NEP 18), which takes some time: where nobody else has a say, they are
    asked at once. Small arrays are NumPy's own, with which it is faster alone.
    """
    is_handed_on = type(function) is _HandedOn

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_handed_on and args and has_no_others(args, kwargs):
            made = call_function(function, args, kwargs)
            if type(made) is ndarray:
                return made
        else:
            made = function(*args, **kwargs)
        if type(made) is np.ndarray and made.size < policy.SMALL_ARRAY and not direct.keeps_small:
            return made
        return lazy(made, scalars=False, small=False)

    return wrapper


def of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a function that has to have NumPy's arrays, and hands none to others."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return lazy(function(*real(args), **real(kwargs)), scalars=False, small=False)

    return wrapper


def over_other_things(function: Callable[..., Any], of_lazy: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a function that makes arrays of other things; `of_lazy` makes them of lazy ones."""

    @functools.wraps(of_lazy)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is ndarray:
            return of_lazy(*args, **kwargs)
        return lazy(function(*args, **kwargs), scalars=False, small=False)

    return wrapper


class Indexed:
    """``r_``, ``c_``, ``mgrid`` and the like: what is made by an index."""

    __slots__ = ("_made",)

    def __init__(self, made: Any):
        self._made = made

    def __getitem__(self, index: Any) -> Any:
        return lazy(self._made[real(index)], small=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def contents(module: types.ModuleType, convert: Callable[..., Any] = over_lazy_arrays) -> dict[str, Any]:
    """What a module of NumPy's has, for lazy arrays.

    Ufuncs are NumPy's own, which know lazy arrays, and so is what is no function.
    """
    found: dict[str, Any] = {}
    for name in dir(module):
        if name.startswith("__"):
            continue
        value = getattr(module, name)
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType) or type(value) is _HandedOn:
            value = convert(value)
        elif any(value is made for made in _INDEXED):
            value = Indexed(value)
        found[name] = value
    return found


_INDEXED = tuple(getattr(np, name) for name in ("r_", "c_", "mgrid", "ogrid"))
