"""What NumPy's functions are given: arrays, which may be lists of nodes, and integers that are no elements of any."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType, canonical
from .optable import NotCovered

PROMOTIONS_KEEP = ("safe", "same_kind", "unsafe")  # these rules for casts
_MOST_PARTS = 256  # of an array that is made of a list, each of which is a store of its own


def array_node(value: Any) -> Node:
    """What ``np.asarray`` makes of nodes, arrays, numbers, and nested lists of them.

    ``[x0, 2]``  →  ``assemble (expand_dims x0) [2.0]``

    Raises
    ------
    NotCovered
        If its elements are of no kind that a graph has, or NumPy has to say what is wrong with a list.
    """
    if isinstance(value, Node):
        return b.cast(value, value.dtype)
    if not _holds_node(value):
        return _literal(value)
    # NumPy promotes the elements of a list one after the other, which `np.result_type` does not.
    try:
        dtype = canonical(reduce(np.promote_types, _dtypes(value)))
    except TypeError as error:  # NumPy makes objects of dates among numbers
        raise NotCovered(str(error)) from None
    return _stacked(value, dtype)


def check_casting(casting: str) -> None:
    """Leave to NumPy the rules for casts that not every promotion keeps, and those that there are not.

    NumPy's ``ufunc.resolve_dtypes`` ends the process by such a rule and a number of Python's.
    """
    if casting not in PROMOTIONS_KEEP:
        raise NotCovered(f"casting={casting!r}")


def strong_node(value: Any) -> Node:
    """An operand that has to be an array, and depends on a node; a Python number becomes one."""
    if not _holds_node(value):
        raise NotCovered("an operand that is not an array")
    return array_node(value)


def _holds_node(value: Any) -> bool:
    return isinstance(value, Node) or (type(value) in (list, tuple) and any(map(_holds_node, value)))


def _literal(value: Any) -> Node:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise NotCovered(str(error)) from None
    if array.dtype.kind not in "biufcmM" or not array.dtype.isnative:
        raise NotCovered(f"an operand of {array.dtype}")
    return b.constant(array)


def _dtypes(value: Any) -> Iterator[np.dtype]:
    """The dtypes of the elements of a nested list, in order."""
    if not _holds_node(value) or isinstance(value, Node):
        yield array_node(value).dtype
        return
    for part in value:
        yield from _dtypes(part)


def _stacked(value: Any, dtype: np.dtype) -> Node:
    if not _holds_node(value) or isinstance(value, Node):
        return b.cast(array_node(value), dtype)
    if len(value) > _MOST_PARTS:
        raise NotCovered(f"an array of {len(value)} values")
    parts = [_stacked(part, dtype) for part in value]
    shape = parts[0].shape
    if any(part.shape != shape for part in parts):
        raise NotCovered("a list of arrays of several shapes")
    starts = tuple((k, *(0 for _ in shape)) for k in range(len(parts)))
    rows, shape = tuple(b.view("expand_dims", part, axis=(0,)) for part in parts), (len(parts), *shape)
    return b.compound("assemble", rows, ArrayType(dtype, shape), shape=shape, starts=starts)


def extents(shape: Any) -> tuple[int, ...]:
    """A shape, which may be one integer or an array of integers, as a tuple."""
    if isinstance(shape, (np.ndarray, Node)) and shape.shape:
        shape = known(shape)
    return tuple(map(b.integer, shape)) if isinstance(shape, (tuple, list)) else (b.integer(shape),)


def known(value: Any) -> Any:
    """A parameter that is no operand, as NumPy takes it: literals by value.

    Raises
    ------
    ValueWanted
        If it depends on values that are not known before they are looked at.
    """
    if isinstance(value, Node):
        return b.known_value(value).tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if type(value) in (tuple, list):
        return type(value)(map(known, value))
    return value
