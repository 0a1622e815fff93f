"""Elements and parts of tracers by index: views, choices by masks, and what arrays of integers gather."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import build as b
from ...ir.ops.indexing import choose_by_arrays
from ...ir.ops.movement import getitem
from ...ir.ops.optable import Kind, NotCovered
from ..forms import check_order
from ..rolling.loopnumber import LoopNumber
from .assignment import mask_of, static_index
from .choices import Choice, chosen, harmless
from .operators import is_tracer

if TYPE_CHECKING:
    from .tracer import Tracer


def item_of(array: Tracer, index: Any) -> Tracer:
    """``array[index]``."""
    numbered = _numbered_element(array, index)
    if numbered is not None:
        return numbered
    element = _is_element(array, index)
    index = static_index(index, wanted=not element)
    if not element and array._is_array():
        index = _of_view(index)
    mask = mask_of(array, index)
    form = array._form()
    if mask is not None:
        check_order(form)
        return chosen(
            array._new(b.where(mask[1], array._node, harmless(array.dtype))),
            Choice(array._node, mask[1], mask[0]),
        )
    try:
        items = index if isinstance(index, tuple) else (index,)
        if any(is_tracer(i) or isinstance(i, (np.ndarray, list)) for i in items):
            node = choose_by_arrays(array._node, tuple(i._node if is_tracer(i) else i for i in items))
            array._trace.orders.note_indexed(node)
            array._trace.effects.operation(node)
        else:
            node = getitem(array._node, index)
    except NotCovered:
        return array._trace.calls.host_call(operator.getitem, "indexing", (array, index), {})
    if node.op.kind is not Kind.VIEW:
        if node.shape:
            check_order(form)
        return array._new(node, scalar=node.shape == ())
    scalar = node.shape == () and Ellipsis not in [i for i in items if not isinstance(i, (slice, np.ndarray))]
    if scalar:
        return array._new(node, scalar)
    if array._scalar:  # the view is of an array that NumPy makes of it
        array = array._new(array._node)
    return array._view(node)


def _numbered_element(array: Tracer, index: Any) -> Tracer | None:
    """An element whose index is the number of an iteration along one axis, and integers along the others."""
    items = index if type(index) is tuple else (index,)
    axes = [axis for axis, item in enumerate(items) if type(item) is LoopNumber]
    if len(axes) != 1 or len(items) != array.ndim or not array._is_array():
        return None
    number = items[axes[0]]
    if any(type(item) is not int for item in items if item is not number):
        return None
    line = array._node
    if array.ndim > 1:
        line = getitem(line, tuple([slice(None) if item is number else item for item in items]))
    return array._new(number.element_of(line), scalar=True)


def _is_element(array: Tracer, index: Any) -> bool:
    """Whether an index is an integer for each axis: no view, whatever the integers are."""
    items = index if type(index) is tuple else (index,)
    integers = (type(i) is int or (is_tracer(i) and i.dtype.kind == "i" and not i.shape) for i in items)
    return array._is_array() and len(items) == array.ndim and all(integers)


def _of_view(index: Any) -> Any:
    """`index` with integer scalars as Python integers where it gives a view: which one, only their values tell."""
    items = index if type(index) is tuple else (index,)
    if any(isinstance(i, (np.ndarray, list)) or (is_tracer(i) and i._is_array()) for i in items):
        return index
    items = tuple(operator.index(i) if is_tracer(i) and i.dtype.kind in "iu" else i for i in items)
    return items if type(index) is tuple else items[0]
