"""Elements and parts of lazy arrays by index, read and assigned."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import policy
from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.movement import encode_index
from . import direct
from .calls import FAILURES, NUMBERS, eager, is_lazy, lazy, real, small_part, store
from .memory import Memory
from .parts import Part, at, encoded, is_copied_first
from .pending import PENDING, NotLazy

if TYPE_CHECKING:
    from .array import ndarray


def _plain_index(index: Any) -> Any:
    """An index with Python integers in place of lazy ones."""
    if type(index) is tuple:
        return tuple(map(_plain_index, index))
    if type(index) is slice:
        return slice(*map(_plain_index, (index.start, index.stop, index.step)))
    if is_lazy(index) and not index.ndim and index.dtype.kind in "iu":
        return operator.index(index)
    return index


_POSITIONS = frozenset({int, np.int64})
_FEW_LOOKS = 4
"""Elements and small parts of an array that are looked for with care: who asks for more is in a loop."""
BASIC = _POSITIONS | {slice, type(None), type(Ellipsis)}
PLAIN = NUMBERS | {np.ndarray}


def _positions(index: Any) -> int:
    """How many axes an index goes along if it has integers only; 0 for any other."""
    if type(index) is not tuple:
        return int(type(index) in _POSITIONS)
    for k in index:
        if type(k) is not int and type(k) is not np.int64:
            return 0
    return len(index)


def _note_look(memory: Memory) -> None:
    memory.looks += 1
    if PENDING.values:
        PENDING.look()
    if memory.looks > _FEW_LOOKS and not memory.direct:
        memory.direct = True
        direct.install()


def _known_part(array: ndarray, index: Any, positions: int) -> Any:
    """An element or a small part of an array that is known; None if it has to be a lazy view."""
    memory, part = array._memory, array._part
    _note_look(memory)
    value = PENDING.read(memory, part)
    if memory.direct and part is not None and part not in memory.views:
        memory.note_view(part, value)
    if positions >= value.ndim:
        return value[index]
    if not memory.direct:
        return None
    found = value[index]
    if found.size < policy.SMALL_ARRAY and not PENDING.reads(found):
        return small_part(found)
    return lazy(found, is_shared=True) if PENDING.is_vain(found.size) else None


def _part(array: ndarray) -> Part:
    return array._part or PENDING.root(array._memory)


def get_item(array: ndarray, index: Any) -> Any:
    """``array[index]``: a view of the same memory, an element, or what NumPy chooses."""
    if not array._scalar:
        with PENDING.lock:
            basic = encoded(index)
            if basic is None:
                index = _plain_index(index)
            elif array._memory.node is None:
                found = _known_part(array, index, _positions(index))
                if found is not None:
                    return found
            try:
                part = at(_part(array), encode_index(index) if basic is None else basic)
            except FAILURES:
                pass
            else:
                return array._read()[index] if part is None else array._view(part)
    elif type(index) is tuple and not index:
        return array  # an array, as the standard says, and not NumPy's scalar
    value = array._read()[real(index)]
    return lazy(value, scalars=isinstance(value, np.ndarray))


def set_item(array: ndarray, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    memory, basic = array._memory, encoded(index)
    if not PENDING.values and memory.node is None and not array._scalar and basic is not None:
        known = PENDING.read(memory, array._part)
        given = value._read() if is_lazy(value) and value._memory.node is None else value
        if type(known) is np.ndarray and (type(given) in PLAIN or isinstance(given, np.generic)):
            _note_look(memory)
            known[index] = given  # nothing is pending that could read it
            return
    with PENDING.lock:
        if array._scalar:
            if not (index is Ellipsis or (isinstance(index, tuple) and not index) or is_lazy(index)):
                raise TypeError(f"'{array.dtype}' object does not support item assignment")
            array._held, array._scalar = Memory(np.array(array._read())), False  # the standard's arrays are writable
        elif memory.node is None and type(value) in NUMBERS and _positions(index):
            is_read = bool(PENDING.values) and (not PENDING.is_private(memory) or bool(memory.inputs))
            known = PENDING.read(memory, array._part)
            if is_read:
                PENDING.written(known)
            _note_look(memory)
            known[index] = value
            return
        try:
            _assign(array, basic, index if basic is not None else _plain_index(index), value)
        except FAILURES:
            eager(operator.setitem, (array, index, value), {}, (array,))


def _assign(array: ndarray, basic: tuple[Any, ...] | None, index: Any, value: Any) -> None:
    """Record an assignment to elements; `basic` is the index as nodes have it, unless it is another one."""
    memory, source = array._memory, value._held if is_lazy(value) else None
    mask = is_lazy(index) and index.dtype.kind == "b" and index.ndim > 0
    parts = [memory, source, index._held if mask else None]
    if not any(m is not None and m.node is not None for m in parts):
        raise NotLazy  # it costs less to write at once
    if mask:
        store(memory, array._part, _masked(array, index, value))
        return
    part = at(_part(array), encode_index(index) if basic is None else basic)
    if part is None:
        raise NotLazy  # an element
    if source is memory:
        given = _part(value)
        if given.region == part.region:
            if memory.is_writable(part):
                return  # the second half of ``x[i] += v``
            raise NotLazy
        if is_copied_first(part, given):
            raise NotLazy
    PENDING.begin()
    store(memory, part, PENDING.fitted(_element_or_array(value, part.type.dtype), part))


def _masked(array: ndarray, mask: ndarray, value: Any) -> Node:
    """The value of an array of which a boolean array chooses elements that become one number."""
    part, chooses = _part(array), mask.shape
    if chooses != part.type.shape[: len(chooses)] or (type(value) not in NUMBERS and np.ndim(value)):
        raise NotLazy
    PENDING.begin()
    condition, given, own = mask._node(), _element_or_array(value, part.type.dtype), array._node()
    key = "masked", condition, given, own
    made = PENDING.memo.get(key)
    if made is None:
        chosen = b.view("reshape", condition, shape=chooses + (1,) * (part.type.ndim - len(chooses)))
        made = PENDING.memo[key] = b.where(chosen, PENDING.fitted(given, part), own)
    return made


def _element_or_array(value: Any, dtype: np.dtype) -> Node:
    """The node of what is assigned to elements of a dtype."""
    if is_lazy(value) or type(value) is np.ndarray:
        node: Node = value._node() if is_lazy(value) else PENDING.of_copy(value)
        is_widened = node.dtype.kind in "biuf" and dtype.kind in "fc"
        is_wrapped = node.dtype.kind in "biu" and dtype.kind in "biu" and node.shape
        if node.dtype != dtype and not (is_widened or is_wrapped):
            raise NotLazy  # a cast that may warn or fail
        return node
    if isinstance(value, (bool, int, float, complex, np.generic)):
        element = np.empty((), dtype)
        element[()] = value  # raises what NumPy raises for a number that does not fit
        return PENDING.scalar(element[()], dtype.char, weak=False)
    raise NotLazy
