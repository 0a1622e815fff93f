"""Parts of memory that lazy arrays show: a tree of views, each of which is found again by the call that makes it.

A loop makes the same views of arrays of the same type in every turn. Which these are, and whether NumPy copies instead,
depends on dtype, shape and strides only, so one look into a table tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ..frontend.storage import Cell
from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.movement import base_of
from ..ir.ops.rows import CONTIGUOUS_FUNCTIONS
from ..ir.ops.updates import Region, is_read_only, region_between, through
from ..ir.types import ArrayType
from ..passes.views import merge_reshapes, merge_slices, merge_transposes

_SHARE = 4
_MOST_ROOTS, _MOST_CHILDREN = 256, 1024
_MERGING = {"transpose": merge_transposes, "reshape": merge_reshapes, "getitem": merge_slices}


class Part:
    """What a chain of views shows of arrays of one type.

    Parameters
    ----------
    whole : ArrayType
        Dtype and shape of all of the memory.
    strides : tuple of int, optional
        Of the memory; None for those of a C-contiguous array.
    region : tuple
        The views; none of them for all of the memory.
    """

    __slots__ = ("children", "is_little", "is_read_only", "region", "size", "strides", "type", "whole")

    def __init__(self, whole: ArrayType, strides: tuple[int, ...] | None, region: Region = ()):
        self.whole = whole
        self.strides = strides
        self.region = region
        self.type = region[-1][2] if region else whole
        self.size = self.type.size
        self.is_little = self.size * _SHARE < whole.size
        """Whether a new value of the whole memory costs more than writing this part."""
        self.is_read_only = is_read_only(region)
        self.children: dict[Hashable, Any] = {}
        """What views of this part show, by what they are made of."""

    def cell(self) -> Cell:
        """The memory, as a trace has it."""
        return Cell(b.input_node(0, self.whole), self.strides)

    def seen(self, whole: Node) -> Node:
        """The part of the content of a memory."""
        return through(whole, self.region)


def is_copied_first(target: Part, source: Part) -> bool:
    """Whether NumPy copies a part of a memory before it assigns it to another part of the same memory."""
    key = "copied", source
    found = target.children.get(key, _unknown)
    if found is _unknown:
        cell = target.cell()
        found = cell.is_copied_in_order(source.seen(cell.content), target.seen(cell.content))
        _note(target, key, found)
    return bool(found)


class Itself:
    """What a function gives that returns its argument."""


_unknown = object()
_roots: dict[Hashable, Part] = {}


def root(type_: ArrayType, strides: tuple[int, ...] | None) -> Part:
    """All of a memory of this type."""
    key = type_.dtype, type_.shape, strides
    found = _roots.get(key)
    if found is None:
        if len(_roots) >= _MOST_ROOTS:
            _roots.clear()
        found = _roots[key] = Part(ArrayType(type_.dtype, type_.shape), strides)
    return found


def at(part: Part, encoded: tuple[Any, ...]) -> Part | None:
    """What a basic index of a part shows; None for an element.

    Raises
    ------
    IndexError
        If NumPy raises one.
    """
    found = part.children.get(encoded, _unknown)
    if found is _unknown:
        cell = part.cell()
        view = b.view("getitem", part.seen(cell.content), index=encoded)
        is_element = view.shape == () and Ellipsis not in encoded
        found = _note(part, encoded, None if is_element else _made(part, cell, view))
    return found


def of_function(part: Part, build: Callable[..., Any], func: Callable[..., Any], args: tuple, kwargs: Any) -> Any:
    """What the views show that a row of the op table makes of a part: one `Part` or several, or `Itself`.

    None where NumPy copies. For errors see the row.
    """
    cell = part.cell()
    own = part.seen(cell.content)
    made = build(own, *args, **kwargs)
    nodes = list(made) if isinstance(made, (list, tuple)) else [made]
    for node in nodes:
        if base_of(node) is not cell.content or cell.is_copied(node, func in CONTIGUOUS_FUNCTIONS):
            return None
    parts = [Itself if node is own else _made(part, cell, node) for node in nodes]
    return type(made)(parts) if isinstance(made, (list, tuple)) else parts[0]


def known_of_function(part: Part, key: Hashable, *call: Any) -> Any:
    """The same, by a key for all arguments of the call."""
    found = part.children.get(key, _unknown)
    return _note(part, key, of_function(part, *call)) if found is _unknown else found


def _note(part: Part, key: Hashable, found: Any) -> Any:
    if len(part.children) >= _MOST_CHILDREN:
        part.children.clear()
    part.children[key] = found
    return found


def _made(part: Part, cell: Cell, view: Node) -> Part:
    """The part that `view`, a chain of views of the content of `cell`, shows: by one view in place of two if it can.

    A loop that cuts a row off, or turns the axes over, would make longer and longer chains.
    """
    if part.region:
        while view is not cell.content and (merged := _merged(cell, view)) is not None:
            view = merged
    whole, region = root(part.whole, part.strides), region_between(view, cell.content)
    if not region:
        return whole
    key = "seen", region
    found: Part | None = whole.children.get(key)
    return _note(whole, key, Part(part.whole, part.strides, region)) if found is None else found


def _merged(cell: Cell, view: Node) -> Node | None:
    merge = _MERGING.get(view.op.name)
    merged = None if merge is None else merge.apply(view)
    if merged is None or merged is view or cell.strides_of(merged) != cell.strides_of(view):
        return None
    return merged


def encoded(index: Any) -> tuple[Any, ...] | None:
    """An index of integers, slices of Python's, None and ``...`` as nodes have it; None for any other one."""
    kind = type(index)
    if kind is int:
        return (index,)
    items: list[Any] = []
    for item in index if kind is tuple else (index,):
        if type(item) is slice:
            start, stop, step = bounds = item.start, item.stop, item.step
            if not (type(start) in _BOUNDS and type(stop) in _BOUNDS and type(step) in _BOUNDS):
                return None
            items.append(bounds)
        elif type(item) is int or type(item) is np.int64:
            items.append(int(item))
        elif item is None or item is Ellipsis:
            items.append(item)
        else:
            return None
    return tuple(items)


_BOUNDS = frozenset({int, type(None)})
