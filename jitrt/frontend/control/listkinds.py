"""What the elements of lists of run time are, and the columns that they take."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np

from .kinds import Held, Kind, NoneOr, Number, Parts, Reference, Rows, Same, displays_of, join, kind_of, parts_of
from .values import INT, Array, Chosen, Composite, NotStaged, Referenced, RunTime
from .variables import number_dtypes

Leaf = Number | Held | Rows | Reference


def kind_of_element(value: Any) -> Kind:
    """The kind of an element: of an array only dtype and number of axes."""
    if isinstance(value, (tuple, list)):
        make = list if isinstance(value, list) else tuple
        return Parts(make, tuple(map(kind_of_element, value)), displays=displays_of(value))
    if isinstance(value, Composite) and value.is_value:
        return kind_of(value).of(map(kind_of_element, value.parts.values()))  # type: ignore[union-attr]
    if isinstance(value, Array):
        if not value.c_order or value.column_of is not None or value.is_part:
            raise NotStaged("a list of arrays whose memory order is not known")
        return Held(value.dtype, value.ndim, frozenset(), True, None, True, None)
    if isinstance(value, RunTime) and not isinstance(value, (Chosen, Referenced)):
        return Rows(*value.numbers())
    kind = kind_of(value)
    if isinstance(kind, Same) and not (value is None or isinstance(value, (str, enum.Enum))):
        raise NotStaged("a list of objects")
    return kind


def joined(x: Kind, y: Kind) -> Kind:
    """What holds elements of both kinds.

    Raises
    ------
    NotStaged
        If nothing does, or if some of them would be None.
    """
    made = join(x, y)
    if _may_be_none(made):
        raise NotStaged("a list some of whose values are None")
    return made


def _may_be_none(kind: Kind) -> bool:
    return isinstance(kind, NoneOr) or (isinstance(kind, Parts) and any(map(_may_be_none, kind.kinds)))


def holds_lists(kind: Kind | None) -> bool:
    """Whether such elements are lists of known length, or hold some."""
    return isinstance(kind, Parts) and (kind.make is list or any(map(holds_lists, kind.kinds)))


def is_of_objects(kind: Kind | None) -> bool:
    """Whether such elements are objects of the user's classes, and no tuples."""
    return isinstance(kind, Parts) and bool(kind.places) and not issubclass(kind.make, tuple)


def leaves_of(kind: Kind) -> Iterator[Leaf]:
    """The kinds of the numbers and arrays that an element consists of."""
    if isinstance(kind, Parts):
        for part in kind.kinds:
            yield from leaves_of(part)
    elif isinstance(kind, Leaf):
        yield kind


def values_of(value: Any, kind: Kind) -> Iterator[Any]:
    """The numbers and arrays of an element."""
    if isinstance(kind, Parts):
        for v, part in zip(parts_of(value), kind.kinds):
            yield from values_of(v, part)
    elif isinstance(kind, Leaf):
        yield value


def dtypes_of_leaf(leaf: Leaf) -> list[np.dtype]:
    """The dtypes of the columns of a leaf."""
    if isinstance(leaf, Held):
        return [leaf.dtype]
    if isinstance(leaf, Reference):
        return [INT]
    return number_dtypes(leaf.kind if isinstance(leaf, Rows) else leaf)


def axes_of_leaf(leaf: Leaf) -> int:
    """The number of axes of the elements of its columns."""
    return leaf.ndim if isinstance(leaf, Held) else int(isinstance(leaf, Rows))


def array_dtype(kind: Any) -> np.dtype:
    """The dtype of the array that NumPy makes of a list of such elements.

    Raises
    ------
    NotStaged
        If that is an array of objects.
    """
    sample = _sample(kind)
    dtype = None if sample is None else np.array([sample]).dtype
    if dtype is None or dtype.kind not in "biufc":
        raise NotStaged("an array of objects")
    return dtype


def _sample(kind: Kind) -> Any:
    if isinstance(kind, Number) and kind.strings:
        return None
    if isinstance(kind, Number):
        return kind.dtype.type(0) if not kind.python else kind.dtype.type(0).item()
    if isinstance(kind, Rows):
        return _sample(kind.kind)
    if isinstance(kind, Held):
        return np.zeros((1,) * kind.ndim, kind.dtype)
    if is_of_objects(kind):
        return None
    if isinstance(kind, Parts) and all(isinstance(k, Number) and not k.strings for k in kind.kinds):
        return [_sample(k) for k in kind.kinds]
    return None
