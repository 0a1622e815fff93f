"""Lists that grow from call to call, of which a call says nothing but where they are."""

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


NOT_GROWING = Growing()
