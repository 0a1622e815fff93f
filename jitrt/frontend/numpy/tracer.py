"""Tracers: stand-ins for arrays and scalars that record NumPy operations as nodes.

NumPy hands every call on a tracer to it (`__array_ufunc__`, NEP 13; `__array_function__`, NEP 18). What cannot be
recorded raises `Untraceable`, and the plain function runs instead.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Untraceable
from ...ir import build as b
from ...ir.extents import Size
from ...ir.node import Node
from ...ir.ops.indexing import choose_by_arrays
from ...ir.ops.movement import getitem
from ...ir.ops.optable import Kind, NotCovered
from ...ir.ops.updates import Region, region_between, through
from ...values.masked import Masked
from ..forms import Form, check, check_order
from ..python.userline import user_line
from ..rolling.loopnumber import LoopNumber
from ..storage import Cell
from .arraymethods import ArrayMethods
from .assignment import assign_item, mask_of, static_index
from .choices import Choice, chosen, harmless
from .functions import call_function
from .numbers import fits_scalar
from .operators import is_tracer, product, type_name
from .ufunccalls import call_ufunc
from .wording import in_numpys_words

if TYPE_CHECKING:
    from ..state import Trace

# What computes with extents as with other integers: they become elements of the dtype of the array.
_WITH_SIZES = frozenset({np.add, np.subtract, np.multiply, np.divide})
_SHOWING = frozenset({"repr", "an array is made of it"})  # conversions that show the class or the dtype


def _hash(value: Any) -> int | None:
    """The hash of a number; None for nan, whose hash goes by the identity of the object."""
    return None if value != value else hash(value)


class Tracer(ArrayMethods):
    """A symbol for an array, a NumPy scalar or a Python number.

    Parameters
    ----------
    node : Node
        What it stands for now; for an array, a chain of views of the content of its cell.
    trace : Trace
        The trace that it belongs to.
    scalar : bool
        Whether NumPy would have a scalar here and not an array.
    cell : Cell, optional
        The memory that it views; tracers with one cell share memory. A new one by default.
    """

    __slots__ = (
        "__weakref__", "_born", "_cell", "_choice", "_content", "_current", "_is_base", "_is_given", "_scalar",
        "_trace",
    )  # fmt: skip

    def __init__(self, node: Node, trace: Trace, scalar: bool = False, cell: Cell | None = None):
        self._born = Cell.made()
        self._current = node
        self._trace = trace
        self._scalar = scalar
        self._cell = cell
        self._content = node if cell is None else cell.content
        self._choice: Choice | None = None
        self._is_given = self._is_base = False
        trace._tracers.append(weakref.ref(self))
        if trace.phases.have_begun:
            trace.phases.mark(node)

    @property
    def _node(self) -> Node:
        """The value now; it changes when something is assigned to the memory."""
        cell = self._cell
        if cell is not None and cell.content is not self._content:
            self._current = through(cell.content, region_between(self._current, self._content))
            self._content = cell.content
        elif self._choice is not None:
            self._gather(self._choice)
        return self._current

    def _gather_now(self) -> None:
        """Let NumPy choose the elements, if they have been chosen by a mask and not yet gathered."""
        if self._choice is not None:
            self._gather(self._choice)

    def _gather(self, choice: Choice) -> None:
        """Let NumPy choose the elements, since more than their values is asked for."""
        mask = Tracer(choice.mask, self._trace)
        chosen = self._trace.calls.call_and_look(
            operator.getitem, "indexing", (Tracer(choice.array, self._trace), mask), {}
        )
        self._choice = None
        self._current = self._content = chosen._node

    def _contents(self) -> tuple[Node, ...]:
        """What the value is made of."""
        if self._choice is not None:
            return self._choice.array, self._choice.mask
        return (self._current if self._cell is None else self._cell.content,)

    def _storage(self) -> Cell:
        """The cell of an array, made when it is first asked for."""
        if self._cell is None:
            node = self._node
            self._cell = Cell(node, self._trace.orders.of_result(node), number=self._born)
        return self._cell

    def _become(self, node: Node) -> None:
        """Be another chain of views of the same memory."""
        self._current = node

    def _own(self, strides: tuple[int, ...] | None) -> None:
        """Be the only view of memory with these strides."""
        self._cell = Cell(self._node, strides, number=self._born)
        self._content = self._node

    def _strides(self) -> tuple[int, ...] | None:
        """The strides that NumPy would have here; None if a reshape on the way copies."""
        return self._storage().strides_of(self._node)

    def _is_contiguous(self) -> bool:
        """Whether NumPy would have a C-contiguous array here."""
        return self._storage().is_contiguous(self._node)

    def _region(self) -> Region:
        """The views that lead from the memory to this array."""
        return region_between(self._node, self._content)

    def _seen_as(self, region: Region) -> Tracer:
        """This array seen through views."""
        return self._view(through(self._node, region)) if region else self

    def _view(self, node: Node) -> Tracer:
        """The array that `node`, a chain of views of this one's node, stands for."""
        seen = Tracer(node, self._trace, cell=self._storage())
        seen._is_base = self._is_base
        return seen

    def _is_weak(self) -> bool:
        return self._choice is None and self._node.type.weak

    def _is_array(self) -> bool:
        return self._choice is not None or (not self._scalar and not self._node.type.weak)

    # What NumPy code asks of the class of a value.
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        if self._choice is not None:
            return np.ndarray
        if self._node.type.weak:
            return {"c": complex, "b": bool, "i": int}.get(self._node.dtype.kind, float)
        if self._scalar:
            return self._node.dtype.type
        form = self._form()
        return np.ndarray if form is None else form.kind

    def _form(self) -> Form | None:
        """How NumPy's array differs from an ordinary one."""
        if self._cell is None or self._cell.form is None or self._scalar:
            return None
        form = self._cell.form
        return Form(np.ndarray, form.swapped, form.unaligned) if self._is_base else form

    def _as_array(self) -> Tracer:
        """The same memory as an array of NumPy's own class."""
        form = self._form()
        if form is None or form.kind is np.ndarray:
            return self
        seen = self._view(self._node)
        seen._is_base = True
        return seen

    def __hash__(self) -> int:
        if self._is_array():
            raise TypeError("unhashable type: 'numpy.ndarray'")
        found = self._value("hash", _hash)
        if found is None:  # in a dict it is found by its identity
            raise Untraceable("the hash of nan", user_line())
        return found

    __array_priority__ = 1000.0

    def _of_two(self, ufunc: np.ufunc, x: Any, y: Any) -> Tracer | None:
        if self._choice is not None:
            return None
        node = self._current if self._cell is None else self._node
        other = y if x is self else x
        kind = type(other)
        if node.type.weak:
            return None
        if kind is float or (kind is int and node.type.dtype.kind in "fc"):
            second = self._trace.lift(other)
        elif kind is Size and ufunc in _WITH_SIZES and node.type.dtype.char in "fdFD":
            second = b.extent(other)
        elif kind is Tracer and other._choice is None:
            second = other._current if other._cell is None else other._node
            if second.type.weak and second.type.dtype.kind not in "fc":
                return None
        else:
            return None
        trace = self._trace
        given = (node, second) if x is self else (second, node)
        made = trace.memory.get((ufunc, given))
        if made is None:
            try:
                made = trace.memory[ufunc, given] = b.elementwise(ufunc, *given)
            except ValueError as error:
                raise in_numpys_words(error, ufunc, (x, y), {})  # noqa: B904 - it may be itself
        if ufunc is np.multiply and made.type.dtype.kind == "c":
            made = product(made, self, other)
        if trace.phases.have_begun:
            made = trace.phases.recorded(made)
        trace.effects.operation(made)
        return Tracer(made, trace, not made.type.shape)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, Masked) for value in inputs):
            return NotImplemented
        try:
            return call_ufunc(self, ufunc, method, inputs, dict(kwargs))
        except Exception as error:
            raise in_numpys_words(error, getattr(ufunc, method), inputs, kwargs)  # noqa: B904 - it may be itself

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not all(t is Tracer or t is np.ndarray for t in types):
            return NotImplemented
        try:
            return call_function(self, func, args, kwargs)
        except Exception as error:
            raise in_numpys_words(error, func, args, kwargs)  # noqa: B904 - it may be itself

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if not self._node.shape and self._node.dtype.char in "gG":  # NumPy puts them into an array by way of a float
            raise Untraceable("makes an array of long doubles", user_line())
        fits = dtype is None or not self._is_weak() or fits_scalar(self._trace, self._node, np.dtype(dtype))
        if dtype is not None and self.dtype.kind in "iufc" and np.dtype(dtype) != self.dtype and fits:
            return self.astype(dtype).__array__(None, copy)  # an operation of the graph: it may overflow
        made = self._value("an array is made of it", lambda value: np.array(value, dtype))
        if dtype is None or made.dtype == self.dtype:  # NumPy hands out the array itself
            self._trace.aliases.hand_out(made)
        return made

    def _value(self, why: str, convert: Callable[[Any], Any]) -> Any:
        """What `convert` makes of the value: of an array, a NumPy scalar or a Python number."""
        if why in _SHOWING:
            check(self._form(), why)
        array = self._is_array() and not self.shape
        return self._trace.look(self._node, why, (lambda value: convert(np.asarray(value))) if array else convert)

    def _known(self) -> bool:
        """Whether the value depends on no argument."""
        return self._trace.is_known(self._node)

    def __getitem__(self, index: Any) -> Tracer:
        if self._is_weak():
            raise TypeError(f"{self.__class__.__name__!r} object is not subscriptable")
        index = index._data if isinstance(index, Masked) else index
        if not self._scalar:
            return item_of(self, index)
        try:
            return item_of(self, index)
        except IndexError:  # as NumPy's scalars say whatever is wrong
            raise IndexError("invalid index to scalar variable.") from None

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self._is_array():
            raise TypeError(f"{type_name(self)!r} object does not support item assignment")
        assign_item(self, index, value)


# By which name Python's own exceptions call it: "'numpy.ndarray' object is not callable".
Tracer.__name__ = "numpy.ndarray"


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
