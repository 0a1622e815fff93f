"""Values that nothing can change, and functions of Python's and NumPy's: whoever has one may use it in a trace."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import pathlib
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from .functions import is_jitted

SIMPLE = (int, float, complex, str, bytes, bool, type(None), range, slice, type(...), np.generic, np.dtype)
# Of which there is one object each, or whose equals are not told apart.
_ALONE = (np.finfo, np.iinfo, inspect.Signature, types.GenericAlias, types.UnionType)
# Classes whose objects nothing can change; where these are equal, their texts tell them apart.
_TOLD_BY_TEXTS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "datetime": "date datetime time timedelta timezone", "zoneinfo": "ZoneInfo", "decimal": "Decimal",
        "fractions": "Fraction", "re": "Pattern",
        pathlib.Path.__module__: "PurePosixPath PosixPath PureWindowsPath WindowsPath",
    }.items()
    for name in names.split()
)  # fmt: skip
_OPERATORS = frozenset(f"__{name}__" for name in "call len getitem contains iter eq hash bool float int index".split())
_HAS_DEFAULT_FACTORY = getattr(dataclasses, "_HAS_DEFAULT_FACTORY", None)  # a default of the `__init__` of dataclasses


class Identity:
    """The key of a value that is equal to itself alone, and that lives as long as its key."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"at 0x{id(self.value):x}"


def is_constant(value: Any) -> bool:
    """Whether `value` is data that nothing can change.

    Examples
    --------
    >>> is_constant((1.5, "a")), is_constant([1.5]), is_constant(pathlib.Path("here"))
    (True, False, True)
    """
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_constant, value))
    if isinstance(value, enum.Enum):
        return _is_plain_member(value)
    return isinstance(value, SIMPLE) or _is_alone(value) or _is_told_by_text(value) or value is _HAS_DEFAULT_FACTORY


def _is_told_by_text(value: Any) -> bool:
    return f"{type(value).__module__}.{type(value).__qualname__}" in _TOLD_BY_TEXTS


def _is_alone(value: Any) -> bool:
    return isinstance(value, _ALONE) or type(value).__module__ == "typing"


def _is_plain_member(value: enum.Enum) -> bool:
    """Whether all that a member of an enumeration has is constant, and Python's operators are not the user's."""
    held = (part for name, part in vars(value).items() if name != "__objclass__")
    return all(map(is_constant, held)) and not _users_among(type(value), _OPERATORS)


def constant_key(value: Any) -> Hashable | None:
    """What tells a constant, a module or a function of Python's or NumPy's from all others; None for other values.

    Examples
    --------
    >>> constant_key(pathlib.Path("a")) == constant_key(pathlib.Path("a"))
    True
    >>> constant_key(frozenset({1})) == constant_key(frozenset({True})), constant_key([1]) is None
    (False, True)
    """
    kind = type(value)
    if _is_told_by_text(value):
        return kind, value, repr(value)
    if kind is frozenset:
        keys = [(type(part), repr(part)) for part in value]  # in the order in which it is gone through
        return (kind, *keys) if is_constant(value) else None
    if isinstance(value, enum.Enum):
        return (kind, Identity(value)) if is_constant(value) else None
    is_alone = isinstance(value, types.ModuleType) or _is_alone(value) or is_made_function(value)
    return (kind, Identity(value)) if is_alone else None


def is_made_function(value: Any) -> bool:
    """Whether `value` is a function that is no code of Python's alone.

    It is one of a module in C, one of NumPy's that dispatches, or what numba or `jit` has made of another one.

    Examples
    --------
    >>> is_made_function(len), is_made_function(np.mean), is_made_function([].append), is_made_function(lambda: 0)
    (True, True, False, False)
    """
    kind = type(value)
    if issubclass(kind, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType)
    if is_jitted(value):
        return type(value.__jitrt_function__) is types.FunctionType
    return issubclass(kind, type(np.sum)) or kind.__module__.startswith("numba.")


def users_members(value: Any) -> frozenset[str]:
    """Names of what a member of an enumeration does by code of the user's."""
    kind = type(value)
    return (
        _users_among(kind, frozenset().union(*map(vars, kind.__mro__))) if isinstance(value, enum.Enum) else frozenset()
    )


_USERS = (types.FunctionType, property, classmethod, staticmethod, functools.cached_property)


def _users_among(kind: type, names: frozenset[str]) -> frozenset[str]:
    """Those of these names under which a class or one of its bases has code of the user's."""
    members = ((name, vars(c)[name]) for c in kind.__mro__ for name in names & vars(c).keys())
    return frozenset(name for name, member in members if type(member) in _USERS and _is_users(member))


def _is_users(member: Any) -> bool:
    function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
    return getattr(function, "__module__", None) not in ("enum", "builtins")
