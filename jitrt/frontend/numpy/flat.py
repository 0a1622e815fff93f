"""``x.flat``: the elements of an array in C order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Untraceable
from ...ir import build as b
from ..python.userline import user_line
from .assignment import assign_item, list_for

if TYPE_CHECKING:
    from .tracer import Tracer


class Flat:
    """``x.flat``: the elements of an array in C order, for indexing, and an iterator over them."""

    __slots__ = ("base", "index")

    def __init__(self, array: Any):
        self.base = array
        self.index = 0
        """Of the next element; as in NumPy, what is indexed begins again."""

    def _elements(self) -> Tracer:
        """All elements as one axis, through which the array is written whatever its strides."""
        array = self.base
        return array._view(b.view("reshape", array._node, shape=(-1,)))

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        elements = self._elements()
        if not self.index:
            iter(elements)  # refuses where there are many
        if self.index == len(self):
            raise StopIteration
        self.index += 1
        return elements[self.index - 1]

    def copy(self) -> Tracer:
        return self._elements().copy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._elements().__array__(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Untraceable(f".flat.{name} of a value that is being traced", user_line())

    def _check(self, index: Any) -> None:
        self.index = 0
        if type(index) is int and not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of bounds for size {len(self)}")

    def __getitem__(self, index: Any) -> Tracer:
        self._check(index)
        found = self._elements()[index]
        return found if found._scalar else found.copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index)
        if not self.base._is_array():  # they are those of a copy
            return
        elements = self._elements()
        if type(index) is int and (isinstance(value, (list, tuple)) or np.ndim(value)):
            raise Untraceable("assigns an array to one element", user_line())
        if isinstance(value, (list, tuple)):
            value = self.base._new(list_for(value, self.base))
        if not np.size(value):  # nothing is assigned, if that may be
            index, value = slice(0, 0), 0
        if np.ndim(value):  # its elements are repeated, or cut off
            places = np.resize(np.arange(np.size(value)), np.arange(len(self))[index].shape)
            value = value.reshape(-1)[places]
        assign_item(elements, index, value)


def _of_elements(compare: Callable[[Any, Any], Any]) -> Callable[[Flat, Any], Any]:
    return lambda self, other: compare(self.copy(), other.copy() if type(other) is Flat else other)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Flat, f"__{_name}__", _of_elements(getattr(operator, _name)))
