"""Of what a call says nothing but where it is: lists that grow from call to call, and attributes that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..base.frozen import frozen
from ..errors import Untraceable
from .functions import Code


class Appended:
    """Stands for a list that grows, during a trace."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Any] = []

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Any) -> None:
        self.items.extend(values)

    def __getattr__(self, name: str) -> Any:
        raise Untraceable("reads a list that it otherwise appends to")

    def __len__(self) -> int:
        return self.__getattr__("__len__")

    def __eq__(self, other: object) -> bool:
        return self.__getattr__("__eq__")

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")

    def __getitem__(self, index: Any) -> Any:
        return self.__getattr__("__getitem__")


class Unread:
    """Stands for an attribute of an object which no name in the code leads to, during a trace."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise Untraceable("comes to an attribute that it does not name, of a type that is not compiled")

    def __eq__(self, other: object) -> bool:
        return self.__getattr__("__eq__")

    def __bool__(self) -> bool:
        return self.__getattr__("__bool__")

    def __repr__(self) -> str:
        return self.__getattr__("__repr__")

    __hash__ = object.__hash__


@frozen
class Growing:
    """The lists with which a function does nothing, or that it only appends to: what they hold is no part of a call.

    Parameters
    ----------
    attributes : frozenset of str
        Attributes of objects that hold lists that it appends to.
    positions : frozenset of int
        Positional arguments that are such lists.
    state : frozenset of int
        Those among the lists, dicts and objects that the code names.
    """

    attributes: frozenset[str] = frozenset()
    positions: frozenset[int] = frozenset()
    state: frozenset[int] = frozenset()
    read: frozenset[str] | None = None
    """Attributes of objects that it does anything else with, if they are known."""

    callbacks: Mapping[Code, frozenset[int]] = MappingProxyType({})
    """Which parts of functions that are arguments are such lists."""

    def has(self, attribute: str) -> bool:
        """Whether a list that objects have as this attribute is one of these."""
        return attribute in self.attributes or (self.read is not None and attribute not in self.read)

    def is_unread(self, attribute: str) -> bool:
        """Whether the function does nothing with this attribute of objects."""
        return self.read is not None and attribute not in self.read and attribute not in self.attributes


NOT_GROWING = Growing()
