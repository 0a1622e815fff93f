"""Tracers: stand-ins for arrays and scalars that record NumPy operations as nodes.

NumPy hands every call on a tracer to it (`__array_ufunc__`, NEP 13; `__array_function__`, NEP 18). What cannot be
recorded raises `Untraceable`, and the plain function runs instead.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Untraceable
from ..expr import build as b
from ..expr.indexing import choose_by_arrays
from ..expr.movement import getitem
from ..expr.node import Node
from ..expr.optable import METADATA, MUTATING, Kind, NotCovered
from ..expr.rows import BY_VALUE_FUNCTIONS, CONTIGUOUS_FUNCTIONS, METHODS, NUMPY_FUNCTIONS, VIEW_FUNCTIONS
from ..expr.types import ArrayType
from ..expr.ufuncs import COPY
from ..expr.updates import Region, region_between, through
from ..frozen import frozen
from .assignment import (
    assign,
    assign_item,
    copyto,
    list_node,
    mask_of,
    mutate,
    static_index,
    take_out,
    write_out,
    write_ufunc_out,
)
from .loopnumber import LoopNumber
from .numbers import is_symbol, operands, stored
from .operators import Operators
from .order import by_stride
from .storage import Cell
from .userline import user_line

if TYPE_CHECKING:
    from .state import Trace

_LONGEST_ITERATION = 1000  # an iteration over more rows is an element loop, which tracing would unroll


_LIKE_FUNCTIONS = {np.zeros_like: "K", np.ones_like: "K", np.empty_like: "K", np.full_like: "K", np.pad: "A"}
"""What they make is like a copy of their first argument in this memory order."""


@frozen(eq=False)
class Choice:
    """Elements of `array` chosen by the boolean array `mask`, not yet gathered.

    `condition` is the mask in a shape that broadcasts with the array.
    """

    array: Node
    condition: Node
    mask: Node

    @property
    def ndim(self) -> int:
        return self.array.type.ndim - self.mask.type.ndim + 1


class Tracer(Operators):
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

    __slots__ = ("__weakref__", "_born", "_cell", "_choice", "_content", "_current", "_is_given", "_scalar", "_trace")

    def __init__(self, node: Node, trace: Trace, scalar: bool = False, cell: Cell | None = None):
        self._born = Cell.made()
        self._current = node
        self._trace = trace
        self._scalar = scalar
        self._cell = cell
        self._content = node if cell is None else cell.content
        self._choice: Choice | None = None
        self._is_given = False
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

    def _gather(self, choice: Choice) -> None:
        """Let NumPy choose the elements, since more than their values is asked for."""
        mask = Tracer(choice.mask, self._trace)
        chosen = self._trace.call_and_look(operator.getitem, "indexing", (Tracer(choice.array, self._trace), mask), {})
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
        return Tracer(node, self._trace, cell=self._storage())

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
        return self._node.dtype.type if self._scalar else np.ndarray

    def __hash__(self) -> int:
        if self._is_array():
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return self._value("hash", hash)

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
            made = trace.memory[ufunc, given] = b.elementwise(ufunc, *given)
        if trace.phases.have_begun:
            trace.phases.check(made)
        return Tracer(made, trace, not made.type.shape)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            return self._ufunc(ufunc, method, inputs, kwargs)
        if method == "at":
            return mutate(inputs[0], ufunc.at, f"{ufunc.__name__}.at", inputs, kwargs)
        outs = kwargs.pop("out", ())
        where = kwargs.pop("where", True) if method == "__call__" else True
        result = self._ufunc(ufunc, method, inputs, kwargs)
        results = result if isinstance(result, tuple) else (result,)
        if where is not True and all(o is None for o in outs):  # what is not computed has no particular value
            outs = tuple(self._trace.zeros(np.broadcast_shapes(r.shape, np.shape(where)), r.dtype) for r in results)
        if all(o is None for o in outs):
            return result
        casting = kwargs.get("casting", "same_kind")
        written = [
            r if o is None else write_ufunc_out(ufunc, o, r, k, casting, where)
            for k, (r, o) in enumerate(zip(results, outs))
        ]
        return tuple(written) if isinstance(result, tuple) else written[0]

    def _ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a ufunc that writes to no argument."""
        elementwise = method == "__call__" and ufunc.signature is None and not kwargs
        choice = common_choice(inputs) if elementwise else None
        if choice is not None:
            whole = [Tracer(i._choice.array, self._trace) if _is_choice(i) else i for i in inputs]
            return _chosen(self._ufunc(ufunc, method, tuple(whole), kwargs), choice)
        if method != "__call__":
            return self._ufunc_method(getattr(ufunc, method), f"{ufunc.__name__}.{method}", inputs, kwargs)
        if ufunc is np.divmod and not kwargs:
            return np.floor_divide(*inputs), np.remainder(*inputs)
        try:
            if kwargs:
                raise NotCovered(f"{ufunc.__name__} with {', '.join(kwargs)}")
            if ufunc is np.matmul:
                return _wrap(NUMPY_FUNCTIONS[ufunc](*_nodes(inputs, self._trace)), self._trace)
            return Tracer(*_elementwise(ufunc, inputs, self._trace))
        except NotCovered:
            return self._trace.host_call(ufunc, ufunc.__name__, inputs, kwargs)

    def _ufunc_method(self, method: Callable[..., Any], name: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
        """``ufunc.reduce``, ``ufunc.accumulate`` …: those with a row, and others as calls."""
        try:
            if method not in NUMPY_FUNCTIONS:
                raise NotCovered(f"{name} has no row")
            build = NUMPY_FUNCTIONS[method]
            return _wrap(build(*_nodes(inputs, self._trace), **_nodes(kwargs, self._trace)), self._trace)
        except NotCovered:
            return self._trace.host_call(method, name, inputs, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not all(t is Tracer or t is np.ndarray for t in types):
            return NotImplemented
        if func in METADATA:
            return func(*_phantoms(args), **_phantoms(kwargs))
        if func is np.copyto:
            return copyto(*args, **kwargs)
        if func.__name__ in MUTATING and args:
            return mutate(args[0], func, func.__name__, args, kwargs)
        if func in _FOLDS_OF_CHOICES and len(args) == 1 and not kwargs and args[0]._choice is not None:
            choice = args[0]._choice
            if choice.ndim == 1:
                return func(Tracer(choice.array, self._trace), where=Tracer(choice.mask, self._trace))
        out, args, kwargs = take_out(func, args, kwargs)
        if out is not None:
            return write_out(func.__name__, out, func(*args, **kwargs))
        if func in _READ_IN_ORDER:
            args, kwargs = _in_known_order(func, *args, **kwargs)
        build = NUMPY_FUNCTIONS.get(func)
        if build is None:
            return self._trace.host_call(func, func.__name__, args, kwargs)
        try:
            if func in BY_VALUE_FUNCTIONS:
                args, kwargs = _with_elements(args, kwargs, self._trace)
            result = build(*_nodes(args, self._trace), **_nodes(kwargs, self._trace))
        except NotCovered:
            return self._trace.host_call(func, func.__name__, args, kwargs)
        viewed = _operands(args, kwargs) if func in VIEW_FUNCTIONS else None
        made = _wrap(result, self._trace, viewed, func in CONTIGUOUS_FUNCTIONS)
        if func in _LIKE_FUNCTIONS and isinstance(args[0], Tracer):
            order = kwargs.get("order", _LIKE_FUNCTIONS[func])
            return self._trace.like(made._node, args[0], order if made.ndim == args[0].ndim or order == "F" else "C")
        return made

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        made = self._value("an array is made of it", lambda value: np.array(value, dtype))
        if dtype is None or made.dtype == self.dtype:  # NumPy hands out the array itself
            self._trace.aliases.hand_out(made)
        return made

    def _value(self, why: str, convert: Callable[[Any], Any]) -> Any:
        """What `convert` makes of the value: of an array, a NumPy scalar or a Python number."""
        array = self._is_array() and not self.shape
        return self._trace.look(self._node, why, (lambda value: convert(np.asarray(value))) if array else convert)

    def _known(self) -> bool:
        """Whether the value depends on no argument."""
        return self._trace.is_known(self._node)

    # Attributes of ndarray.
    @property
    def shape(self) -> tuple[int, ...]:
        return self._node.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._check_array("shape")
        if self._is_given:
            raise Untraceable("sets the shape of an argument", user_line())
        reshaped = self.reshape(shape)
        if reshaped._storage() is not self._storage():
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._current = reshaped._node

    @property
    def dtype(self) -> np.dtype:
        return self._node.dtype if self._choice is None else self._choice.array.dtype

    @property
    def ndim(self) -> int:
        return self._node.type.ndim if self._choice is None else self._choice.ndim

    @property
    def size(self) -> int:
        return self._node.type.size

    @property
    def itemsize(self) -> int:
        return self._node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._node.type.nbytes

    @property
    def T(self) -> Tracer:
        return self._apply(np.transpose)

    @property
    def mT(self) -> Tracer:
        return self._apply(np.matrix_transpose)

    @property
    def real(self) -> Tracer:
        return self._apply(np.real)

    @real.setter
    def real(self, value: Any) -> None:
        self._check_array("real")
        assign(self.real, value)

    @property
    def imag(self) -> Tracer:
        return self._apply(np.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._check_array("imag")
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        assign(self.imag, value)

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value

    def _check_array(self, name: str) -> None:
        if not self._is_array():
            raise AttributeError(f"attribute {name!r} of {self.__class__.__name__!r} objects is not writable")

    def __getattr__(self, name: str) -> Any:
        if self._is_weak():
            return getattr(self._value(name, _itself), name)
        function = METHODS.get(name)
        if function is not None:
            return lambda *args, **kwargs: function(self, *args, **kwargs)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute {name!r}")
        if name in _UNTRACEABLE_ATTRIBUTES or not callable(getattr(np.ndarray, name)):
            raise Untraceable(f".{name} of a value that is being traced", user_line())
        method = getattr(np.ndarray, name)
        return lambda *args, **kwargs: self._trace.host_call(method, name, (self, *args), kwargs)

    def _apply(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``function(self, …)``: NumPy hands it back to `__array_function__`."""
        return function(self, *args, **kwargs)

    # Methods whose arguments differ from those of the function.
    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Tracer:
        wanted = shape[0] if len(shape) == 1 else shape
        return self._apply(np.reshape, wanted, order=order)

    def transpose(self, *axes: Any) -> Tracer:
        if not axes or axes == (None,):
            return self._apply(np.transpose)
        return self._apply(np.transpose, axes[0] if isinstance(axes[0], (tuple, list)) else axes)

    def ravel(self, order: str = "C") -> Tracer:
        return self._apply(np.ravel, order)

    def flatten(self, order: str = "C") -> Tracer:
        return self.ravel(order).copy()

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Tracer:
        target = np.dtype(dtype)
        if target.kind not in "biufc" or self.dtype.kind not in "biufc":
            given = {"order": order, "casting": casting, "copy": copy}
            return self._trace.host_call(np.ndarray.astype, "astype", (self, target), given)
        if not np.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast array data from {self.dtype} to {target} according to the rule {casting!r}")
        if not copy and target == self.dtype and (order == "K" or self._is_in_order(order)):
            return self
        node = b.cast(self._node, target)
        return self._trace.like(node, self, order) if self.ndim > 1 else Tracer(node, self._trace, self._scalar)

    def _is_in_order(self, order: str) -> bool:
        """Whether NumPy makes no copy for this memory order."""
        if order == "F":
            return self.transpose()._is_contiguous()
        return self._is_contiguous() or (order == "A" and self.transpose()._is_contiguous())

    def copy(self, order: str = "C") -> Tracer:
        node = self._trace.fresh(self._node)
        return self._trace.like(node, self, order) if self.ndim > 1 else Tracer(node, self._trace, self._scalar)

    def conj(self) -> Tracer:
        if self.dtype.kind != "c":
            return self  # as NumPy's method does; the function gives a copy
        return self._apply(np.conjugate)

    conjugate = conj

    def __copy__(self) -> Tracer:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self.copy()

    def round(self, decimals: int = 0, out: Any = None) -> Tracer:
        return self._apply(np.round, decimals, out)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        if self.ndim == 1 and self._known():
            return iter(self._value("a loop", np.asarray))
        if self.shape[0] > _LONGEST_ITERATION:
            raise Untraceable("a loop over many elements", user_line())
        return (self[k] for k in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Tracer:
        if type(index) is LoopNumber and self._is_array() and self.ndim == 1:
            return Tracer(index.element_of(self._node), self._trace, scalar=True)
        element = self._is_element(index)
        index = static_index(index, wanted=not element)
        if not element and self._is_array():
            index = _of_view(index)
        mask = mask_of(self, index)
        if mask is not None:
            return _chosen(
                Tracer(b.where(mask[1], self._node, _harmless(self.dtype)), self._trace),
                Choice(self._node, mask[1], mask[0]),
            )
        try:
            items = index if isinstance(index, tuple) else (index,)
            if any(isinstance(i, (Tracer, np.ndarray, list)) for i in items):
                node = choose_by_arrays(self._node, tuple(i._node if isinstance(i, Tracer) else i for i in items))
                self._trace.orders.note_indexed(node)
            else:
                node = getitem(self._node, index)
        except NotCovered:
            return self._trace.host_call(operator.getitem, "indexing", (self, index), {})
        if node.op.kind is not Kind.VIEW:
            return Tracer(node, self._trace, scalar=node.shape == ())
        scalar = node.shape == () and Ellipsis not in [i for i in items if not isinstance(i, (slice, np.ndarray))]
        if scalar or self._scalar:
            return Tracer(node, self._trace, scalar)
        return self._view(node)

    def _is_element(self, index: Any) -> bool:
        """Whether an index is an integer for each axis: no view, whatever the integers are."""
        items = index if type(index) is tuple else (index,)
        integers = (type(i) is int or (type(i) is Tracer and i.dtype.kind == "i" and not i.shape) for i in items)
        return self._is_array() and len(items) == self.ndim and all(integers)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self._is_array():
            raise TypeError(f"{self.__class__.__name__!r} object does not support item assignment")
        assign_item(self, index, value)

    def item(self, *index: Any) -> Any:
        """The element as a Python number; a float is not looked at, an integer or a boolean is."""
        if index:
            return self.flat[index[0]].item() if len(index) == 1 else self[index].item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        kind = {"f": np.float64, "c": np.complex128}.get(self.dtype.kind)
        if kind is None or self.dtype.itemsize > np.dtype(kind).itemsize:
            return self._value("item", lambda value: value.item())
        number = b.cast(b.view("reshape", self._node, shape=()), np.dtype(kind))
        weak = ArrayType(number.dtype, (), weak=True)
        return Tracer(Node(COPY, (number,), b.params(number=self._trace.next_copy()), weak), self._trace)

    def tolist(self) -> Any:
        return self._value("tolist", lambda value: value.tolist())

    # Methods that write.
    def fill(self, value: Any) -> None:
        assign(self, value)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        mutate(self, np.ndarray.sort, "sort", (self, *args), kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> None:
        mutate(self, np.ndarray.partition, "partition", (self, *args), kwargs)

    def put(self, *args: Any, **kwargs: Any) -> None:
        mutate(self, np.ndarray.put, "put", (self, *args), kwargs)


class Flat:
    """``x.flat``: the elements of an array in C order, for indexing."""

    __slots__ = ("_array",)

    def __init__(self, array: Tracer):
        self._array = array

    def _elements(self) -> Tracer:
        """All elements as one axis, through which the array is written whatever its strides."""
        array = self._array
        return array._view(b.view("reshape", array._node, shape=(-1,)))

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Tracer]:
        return iter(self._elements().copy())

    def __getitem__(self, index: Any) -> Tracer:
        found = self._elements()[index]
        return found if found._scalar else found.copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        elements = self._elements()
        if isinstance(value, (list, tuple)):
            value = Tracer(list_node(self._array._trace, value), self._array._trace)
        if np.ndim(value):  # its elements are repeated, or cut off
            places = np.resize(np.arange(np.size(value)), np.arange(len(self))[index].shape)
            value = value.reshape(-1)[places]
        assign_item(elements, index, value)


_READ_IN_ORDER = frozenset({np.ravel, np.reshape})


def _in_known_order(function: Callable[..., Any], a: Any, *args: Any, **kwargs: Any) -> tuple[tuple, dict[str, Any]]:
    """The arguments of `ravel` or `reshape` with the order of the elements in memory as one that depends on no array.

    ``ravel(a, "K")``  →  ``ravel(a.transpose(axes), "C")``, the axes by their strides
    """
    place = 0 if function is np.ravel else 1
    order = args[place] if len(args) > place else kwargs.get("order", "C")
    if order not in ("A", "K") or not isinstance(a, Tracer) or not a._is_array():
        return (a, *args), kwargs
    strides = a._strides() or ()
    known = "C"
    if not a._is_contiguous() and a.transpose()._is_contiguous():
        known = "F"
    elif order == "K" and 0 not in strides and not a._is_contiguous():
        a = a.transpose(by_stride(strides))
    elif order == "K" and 0 in strides:
        return (a, *args), kwargs
    if len(args) > place:
        return (a, *args[:place], known, *args[place + 1 :]), kwargs
    return (a, *args), kwargs | {"order": known}


# Folds that a choice of elements takes part in where it is.
_FOLDS_OF_CHOICES = frozenset({np.sum, np.prod, np.any, np.all})


def _of_view(index: Any) -> Any:
    """`index` with integer scalars as Python integers where it gives a view: which one, only their values tell."""
    items = index if type(index) is tuple else (index,)
    if any(isinstance(i, (np.ndarray, list)) or (type(i) is Tracer and i._is_array()) for i in items):
        return index
    items = tuple(operator.index(i) if type(i) is Tracer and i.dtype.kind in "iu" else i for i in items)
    return items if type(index) is tuple else items[0]


def _itself(value: Any) -> Any:
    return value


def _is_choice(value: Any) -> bool:
    return type(value) is Tracer and value._choice is not None


def common_choice(inputs: tuple) -> Choice | None:
    """The mask by which all of `inputs` that are no numbers are chosen from arrays of one shape."""
    choices = [i._choice for i in inputs if type(i) is Tracer and i._choice is not None]
    if not choices:
        return None
    same = all(c.mask is choices[0].mask and c.array.shape == choices[0].array.shape for c in choices)
    others = (i for i in inputs if not _is_choice(i))
    return choices[0] if same and all(isinstance(i, _NUMBERS) or _is_scalar(i) for i in others) else None


_NUMBERS = (bool, int, float, complex, np.generic)


def _is_scalar(value: Any) -> bool:
    return type(value) is Tracer and value._choice is None and not value.shape


def _chosen(array: Tracer, choice: Choice) -> Tracer:
    """The elements of `array` that the mask of `choice` chooses."""
    array._choice = Choice(array._node, choice.condition, choice.mask)
    return array


def _harmless(dtype: np.dtype) -> Node:
    """What stands in the places of elements that are not chosen: few functions have no value there."""
    return b.constant(dtype.type(1) if dtype.kind in "biufc" else np.zeros((), dtype)[()])


_UNTRACEABLE_ATTRIBUTES = frozenset(
    """tobytes itemset resize setflags setfield view data strides base ctypes
    flags byteswap dump dumps tofile getfield __array_interface__ __array_struct__ real imag""".split()
)


def _nodes(value: Any, trace: Trace) -> Any:
    """`value` with its tracers replaced by their nodes, and arrays by captures or literals."""
    if isinstance(value, Tracer):
        if _is_integer(value):
            trace.want_integers(value._node)
        return value._node
    if type(value) in (tuple, list):
        return type(value)(_nodes(v, trace) for v in value)
    if type(value) is dict:
        return {k: _nodes(v, trace) for k, v in value.items()}
    return trace.lift(value) if type(value) is np.ndarray else value


def _with_elements(args: tuple, kwargs: dict[str, Any], trace: Trace) -> tuple[tuple, dict[str, Any]]:
    """The arguments with nodes in place of Python integers, as elements of arrays like the others."""
    given = (*args, *kwargs.values())
    if not any(map(_is_integer, given)):
        return args, kwargs
    dtypes = {v.dtype for v in given if isinstance(v, (np.ndarray, np.generic)) and not _is_integer(v)}
    target = np.result_type(*dtypes) if dtypes else np.dtype(np.int64)
    for dtype in dtypes:
        for value in filter(_is_integer, given):
            stored(trace, value._node, dtype)
    found = [stored(trace, v._node, target) if _is_integer(v) else v for v in given]
    return tuple(found[: len(args)]), dict(zip(kwargs, found[len(args) :]))


def _is_integer(value: Any) -> bool:
    """Whether `value` stands for a Python integer."""
    return type(value) is Tracer and value._is_weak() and is_symbol(value._node)


def _phantoms(value: Any) -> Any:
    """`value` with its tracers replaced by what NumPy can ask for types and shapes."""
    if isinstance(value, Tracer):
        if value._node.type.weak:
            return value._node.dtype.type(0).item()
        return b.phantom(value.shape, value.dtype)
    if type(value) in (tuple, list):
        return type(value)(map(_phantoms, value))
    return {k: _phantoms(v) for k, v in value.items()} if type(value) is dict else value


def _operands(args: tuple, kwargs: dict[str, Any]) -> dict[Node, Tracer]:
    """The arrays that views made by such a call may look at."""
    return {v._node: v for v in reversed((*args, *kwargs.values())) if isinstance(v, Tracer)}


def _wrap(result: Any, trace: Trace, viewed: dict[Node, Tracer] | None = None, contiguous: bool = False) -> Any:
    """Tracers for the nodes in the result of a function of the op table.

    With `viewed`, they share the memory of those operands that they are views of; without, they are fresh arrays.
    `contiguous` says that NumPy copies what would not be C-contiguous.
    """
    if isinstance(result, (list, tuple)):
        return type(result)(_wrap(r, trace, viewed, contiguous) for r in result)
    trace.phases.check(result)
    base = result
    while viewed and base.op.kind is Kind.VIEW and base not in viewed:
        base = base.args[0]
    source = viewed.get(base) if viewed else None
    if source is None:
        return Tracer(trace.fresh(result), trace, scalar=result.shape == () and not result.op.view_like)
    if base is result:
        return source if not result.type.weak else Tracer(b.cast(result, result.dtype), trace)
    if source._scalar:  # scalars have no memory that anyone could see
        return Tracer(trace.fresh(result), trace, scalar=not result.shape)
    if source._storage().is_copied(result, contiguous):
        copied = result
        while copied.op.name == "transpose":  # a view of what a reshape has copied
            copied = copied.args[0]
        return Tracer(trace.fresh(copied), trace)._seen_as(region_between(result, copied))
    return source._view(result)


def _elementwise(ufunc: np.ufunc, inputs: tuple, trace: Trace) -> tuple[Node, Trace, bool]:
    given = tuple([i._node if type(i) is Tracer else trace.lift(i) for i in inputs])
    node = trace.memory.get((ufunc, given))
    if node is None:
        nodes = operands(trace, ufunc, given)
        if nodes is None:
            raise NotCovered(f"{ufunc.__name__} with an integer that does not fit")
        for n in nodes:
            if n.type.weak and n.op.name == "constant" and n.type.dtype.kind == "i":
                _check_python_int(ufunc, n, nodes)
        node = b.elementwise(ufunc, *nodes)
        if not any(map(is_symbol, given)):  # of which something may be assumed
            trace.memory[ufunc, given] = node
    if trace.phases.have_begun:
        trace.phases.check(node)
    return node, trace, not node.shape


def _check_python_int(ufunc: np.ufunc, literal: Node, nodes: tuple[Node, ...]) -> None:
    """Leave to NumPy a Python integer that the dtype of the loop cannot hold: comparisons accept it, others raise."""
    value = literal["value"].value
    for node in nodes:
        if node.dtype.kind in "iu" and not node.type.weak:
            info = np.iinfo(node.dtype)
            if not info.min <= value <= info.max:
                raise NotCovered(f"{ufunc.__name__} with {value}")
