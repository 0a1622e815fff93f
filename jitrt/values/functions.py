"""Functions that a call is given, which are taken apart as objects are: what they have closed over may be others in
the next call, and it may be changed.

A function that its module knows by its name stays as it is, since code may compare it with that name.
"""

from __future__ import annotations

import functools
import gc
import inspect
import types
from collections.abc import Sequence
from typing import Any

from .attributes import has_plain_attributes

MISSING = object()
PART = object()
"""In place of what a function has closed over that is an argument as others are."""


class Code:
    """What functions have in common that differ in what they have closed over, and in the values of defaults."""

    __slots__ = ("_key", "defaults", "function_code", "keywords", "name", "namespace")

    def __init__(self, function: types.FunctionType):
        self.function_code, self.namespace, self.name = function.__code__, function.__globals__, function.__name__
        self.defaults, self.keywords = len(function.__defaults__ or ()), tuple(function.__kwdefaults__ or ())
        self._key = self.function_code, id(self.namespace), self.name, self.defaults, self.keywords

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def make(self, namespace: dict[str, Any]) -> types.FunctionType:
        """A function of this code with empty cells."""
        cells = tuple(types.CellType() for _ in self.function_code.co_freevars)
        return types.FunctionType(self.function_code, namespace, self.name, None, cells)

    def fill(self, function: types.FunctionType, parts: Sequence[Any]) -> None:
        """Give a function that `make` has made what `parts_of` found in another one."""
        cells, first = function.__closure__ or (), len(function.__closure__ or ())
        for cell, part in zip(cells, parts):
            if part is not MISSING:
                cell.cell_contents = part
        function.__defaults__ = tuple(parts[first : first + self.defaults]) or None
        function.__kwdefaults__ = dict(zip(self.keywords, parts[first + self.defaults :])) or None


def parts_of(function: Any) -> list[Any]:
    """What a function has closed over, and the values of its defaults and keywords.

    Of a method it is its object, of a partial function what that calls with which arguments, of a proxy the dict that
    it shows.
    """
    if isinstance(function, types.MethodType):
        return [function.__self__]
    if isinstance(function, functools.partial):
        return [function.func, function.args, function.keywords]
    if isinstance(function, types.MappingProxyType):
        return gc.get_referents(function)
    cells = [contents(cell) for cell in function.__closure__ or ()]
    return [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def cells_of(function: types.FunctionType) -> dict[str, types.CellType]:
    """The cells of the variables of the scopes around a function."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or ()))


def contents(cell: types.CellType) -> Any:
    """What a cell holds; `MISSING` if that is nothing."""
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return MISSING


def underlying(value: Any) -> Any:
    """The Python function that calls of a jit function run, or of one by `numba.cfunc`; other values as they are."""
    if is_callback(value):
        return value.__wrapped__
    return value.__jitrt_function__ if is_jitted(value) else value


def is_jitted(value: Any) -> bool:
    """Whether a value stands for a Python function: its class says so, as decorators copy what an object has."""
    return hasattr(type(value), "__jitrt_function__")


def is_callback(value: Any) -> bool:
    """Whether a value is a function by `numba.cfunc`: it is compiled for callers in C alone."""
    return type(value).__module__ == "numba.core.ccallback"


def is_numpy(value: Any) -> bool:
    """Whether `value` comes from NumPy, or is one of the loops that stand in for it here."""
    module = getattr(value, "__module__", None) or ""
    return module in ("numpy", "jitrt.loops") or module.startswith("numpy.")


def users_method(kind: type, name: str) -> types.FunctionType | None:
    """What a class, or a base of it, has under the name of a special method, if that is code of the user's.

    Examples
    --------
    >>> users_method(functools.cached_property, "__get__"), users_method(float, "__add__")
    (None, None)
    """
    found = inspect.getattr_static(kind, name, None)
    is_code = isinstance(found, types.FunctionType)
    return found if is_code and (found.__module__ or "").partition(".")[0] not in _LIBRARIES else None


_LIBRARIES = frozenset({"functools", "jitrt", "numba", "numpy"})


def is_taken_apart(value: Any) -> bool:
    """Whether a value is a function that is its code and what that has closed over."""
    return type(value) is types.FunctionType and not (is_named(value) or vars(value).keys() - {"__wrapped__"})


def is_own_method(value: types.MethodType) -> bool:
    """Whether a bound method is what the object, or the class, has under its name.

    Examples
    --------
    >>> class Model:
    ...     def rate(self): ...
    >>> is_own_method(Model().rate)
    True
    """
    owner, name = value.__self__, getattr(value.__func__, "__name__", "")
    if isinstance(owner, type):
        return getattr(getattr(owner, name, None), "__func__", None) is value.__func__
    found = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
    return found is value.__func__ and name not in getattr(owner, "__dict__", ())


def is_named(function: types.FunctionType) -> bool:
    """Whether code may know a function by its name."""
    return is_numpy(function) or function.__globals__.get(function.__name__) is function


def stays(part: Any) -> bool:
    """Whether a part of a function is one that code uses by its name, and no argument as others are."""
    if isinstance(part, (type, types.FunctionType, types.MethodType)):
        return is_numpy(part)
    return (
        part is MISSING
        or isinstance(part, types.ModuleType)
        or (callable(part) and not (type(part) is functools.partial or has_plain_attributes(type(part))))
    )
