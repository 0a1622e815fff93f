"""What staged functions ask about their values: of which class they are, what they have, whether they can be called."""

from __future__ import annotations

import ast
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .containers import PYTHONS
from .lists import RunTimeList
from .outside import is_function
from .registry import known_dtype
from .strings import Text
from .values import Array, Chosen, Complex, Composite, NotStaged, Scalar, Unread, is_static

if TYPE_CHECKING:
    from .calls import Calls

_PYTHONS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_BUILT_IN = frozenset({np.ndarray, list, tuple, dict, str, bool, int, float, complex, type(None), type})


def _classes_of(value: Any) -> set[type]:
    """The classes one of which a value will have.

    Raises
    ------
    NotStaged
        If that is not known.
    """
    if isinstance(value, Array):
        return {np.ndarray}
    if isinstance(value, Scalar):
        kinds = {True: _PYTHONS[value.dtype.kind], False: value.dtype.type}
        return {kinds[value.python]} if value.python is not None else set(kinds.values())
    if isinstance(value, Complex):
        return {complex}
    if isinstance(value, (list, RunTimeList)):
        return {list}
    if isinstance(value, Text):
        return {str}
    if isinstance(value, (tuple, dict, set)):
        return {next(t for t in (dict, set, type(value)) if isinstance(value, t))}
    if isinstance(value, (Composite, Unread)):
        return {PYTHONS.get(value.kind, value.kind)}
    if isinstance(value, Chosen):
        return set(map(type, value.strings))
    if is_static(value):
        return {type(value)}
    raise NotStaged("the class of a value")


def _agreed(value: Any, asked: Callable[[type], Any]) -> Any:
    """What is asked of the class of a value, if the answer is the same for all that it may have."""
    answers = {asked(kind) for kind in _classes_of(value)}
    if len(answers) > 1:
        raise NotStaged("a class that depends on how often a loop runs")
    return answers.pop()


def _is_scalar(kind: type) -> bool:
    return issubclass(kind, (np.generic, numbers.Number)) or kind in np.ScalarType


def _has(kind: type, name: str) -> bool:
    if kind not in _BUILT_IN and not issubclass(kind, np.generic):
        raise NotStaged("what an object has")
    return any(name in vars(c) for c in kind.__mro__)


def _type(where: Calls, e: ast.Call, *values: Any) -> type:
    if len(values) != 1:
        raise NotStaged("a class that is made")
    return _agreed(values[0], lambda kind: kind)


ASKING: dict[Any, Callable[..., Any]] = {
    type: _type,
    isinstance: lambda where, e, value, kinds: _agreed(value, lambda kind: issubclass(kind, kinds)),
    issubclass: lambda where, e, kind, kinds: issubclass(kind, kinds),
    hasattr: lambda where, e, value, name: _agreed(value, lambda kind: _has(kind, name)),
    np.finfo: lambda where, e, kind: np.finfo(known_dtype(kind)),
    np.iinfo: lambda where, e, kind: np.iinfo(known_dtype(kind)),
    np.isscalar: lambda where, e, value: _agreed(value, _is_scalar),
    callable: lambda where, e, value: is_function(value) or _agreed(value, lambda kind: _has(kind, "__call__")),
}
