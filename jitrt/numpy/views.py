"""Views of lazy arrays: which parts of a memory they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..frontend.storage import Cell, base_of
from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.movement import encode_index
from ..ir.ops.rows import CONTIGUOUS_FUNCTIONS
from ..ir.ops.updates import Region, region_between, through
from .pending import PENDING

if TYPE_CHECKING:
    from .array import ndarray

_MOST_REGIONS = 1 << 12
_regions: dict[Any, Region | None] = {}


def strides_of(array: ndarray) -> tuple[int, ...] | None:
    """The strides of the memory of an array; None for those of a C-contiguous one."""
    memory = array._memory
    if memory.node is None:
        return memory.value.strides
    return PENDING.orders.strides(memory.node) if memory.node.type.ndim > 1 else None


def in_order_of(array: ndarray, node: Node) -> Node:
    """A node with the value of `node`, of the shape of `array`, in the memory order of a copy of the array."""
    whole = b.input_node(0, array._memory.type)
    own = Cell(whole, strides_of(array)).strides_of(through(whole, array._region))
    return PENDING.in_order(node, PENDING.orders.of_copy(node, array.type, own, "K"))


def views_of(build: Callable[..., Any], func: Callable[..., Any], array: ndarray, args: tuple, kwargs: Any) -> Any:
    """Views that a row makes of an array: parts of the same memory; None where NumPy copies."""
    whole = b.input_node(0, array._memory.type)
    own = through(whole, array._region)
    made = build(own, *args, **kwargs)
    nodes = list(made) if isinstance(made, (list, tuple)) else [made]
    cell = Cell(whole, strides_of(array))
    for node in nodes:
        if base_of(node) is not whole or cell.is_copied(node, func in CONTIGUOUS_FUNCTIONS):
            return None
    views = [array._view(region_between(node, whole)) if node is not own else array for node in nodes]
    return type(made)(views) if isinstance(made, (list, tuple)) else views[0]


def region_of(array: ndarray, index: Any) -> Region | None:
    """The part of its memory that a basic index of an array shows; None for an element."""
    encoded = encode_index(index)
    type_, region = array._memory.type, array._region
    key = type_.dtype, type_.shape, region, encoded
    if key in _regions:
        return _regions[key]
    whole = b.input_node(0, type_)
    own = through(whole, region)
    node = b.view("getitem", own, index=encoded)
    is_element = node.shape == () and Ellipsis not in encoded
    if len(_regions) >= _MOST_REGIONS:
        _regions.clear()
    _regions[key] = None if is_element else region_between(node, whole)
    return _regions[key]
