"""Dicts and what is like them, in the standard library: what tells them apart beside the values in them."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

# Classes that `defaultdict` may make missing values with.
_FACTORIES: tuple[Any, ...] = (None, bool, int, float, complex, str, tuple, list, dict, set, OrderedDict, Counter)


class Keys(tuple[Any, ...]):
    """Keys of a dict that are not all strings: ``{1: x}``, ``{True: x}`` and ``{1.0: x}`` are told apart."""

    __slots__ = ()

    @staticmethod
    def of(value: dict) -> tuple[Any, ...]:
        """The keys of a dict."""
        return tuple(value) if all(type(key) is str for key in value) else Keys(value)

    def __eq__(self, other: object) -> bool:
        if tuple.__eq__(self, other) is not True:
            return False
        return all(map(operator.is_, self, cast(tuple, other))) or _kinds(self) == _kinds(other)

    __hash__ = tuple.__hash__


def _kinds(value: Any) -> Any:
    """What tells equal keys apart."""
    if isinstance(value, (tuple, frozenset)):
        return (type(value), *map(_kinds, value))
    return type(value), repr(value) if isinstance(value, (float, complex)) else None


class Mapping(NamedTuple):
    """What a dict of a class of `collections` is beside its values."""

    cls: type
    factory: Any
    keys: tuple[Any, ...]

    @staticmethod
    def of(value: Any) -> Mapping:
        """That of such a dict."""
        return Mapping(type(value), getattr(value, "default_factory", None), Keys.of(value))

    def begun(self) -> Any:
        """A dict of the class without values."""
        return defaultdict(self.factory) if self.cls is defaultdict else self.cls()


def is_mapping(value: Any) -> bool:
    """Whether a value is a dict of a class of `collections` that has nothing but its items.

    Examples
    --------
    >>> is_mapping(OrderedDict(a=1)), is_mapping(defaultdict(list)), is_mapping({})
    (True, True, False)
    """
    cls = type(value)
    if cls is defaultdict:
        return any(value.default_factory is factory for factory in _FACTORIES)
    return (cls is OrderedDict or cls is Counter) and not vars(value)


def put(place: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    """Assign to items; `Counter.update` would add to them."""
    for key, value in zip(keys, values):
        place[key] = value
    return place
