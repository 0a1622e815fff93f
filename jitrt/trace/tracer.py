"""Tracers: stand-ins for arrays and scalars that record NumPy operations as nodes.

NumPy hands every call on a tracer to it (`__array_ufunc__`, NEP 13; `__array_function__`, NEP 18). What cannot be
recorded raises `Untraceable`, and the plain function runs instead.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..expr import build as b
from ..expr.contractions import Call, call, call_result
from ..expr.interpret import evaluate
from ..expr.movement import getitem
from ..expr.node import Node, topological_order, type_of
from ..expr.optable import MUTATING, Kind, NotCovered
from ..expr.rows import METHODS, NUMPY_FUNCTIONS, VIEW_FUNCTIONS
from .operators import Operators
from .userline import user_line

_LONGEST_ITERATION = 1000  # an iteration over more rows is an element loop, which tracing would unroll


class Trace:
    """The state of one trace: the values of the inputs, and what had to be left to NumPy.

    Parameters
    ----------
    values : dict of Node to value
        Actual inputs of this call. Calls that only NumPy can make are evaluated on them, to learn their types.
    """

    def __init__(self, values: dict[Node, Any]):
        self.values = values
        self.first_values: dict[Node, Node] = {}
        """For each parameter of a loop that is being recorded, what it is in the first iteration."""
        self.in_condition = False
        """Whether a comparison of Python numbers is only asked whether it holds."""
        self.host_calls: list[tuple[str, str]] = []

    def lift(self, value: Any) -> Node:
        """The node of a value that is not a tracer.

        Raises
        ------
        Untraceable
            If it is nothing that a graph can hold.
        """
        if isinstance(value, Node):
            return value
        if type(value) is np.ndarray and value.dtype.kind in "biufcmM" and value.dtype.isnative:
            # A snapshot: the function may write into its own array later.
            return b.constant(value.copy())
        if type(value) in (bool, int, float, complex) or isinstance(value, np.generic):
            try:
                return b.constant(value)
            except OverflowError:
                raise Untraceable(f"the integer {value}", user_line()) from None
        raise Untraceable(f"an operand of type {type(value).__name__}", user_line())

    def value_of(self, node: Node) -> Any:
        """What `node` is for the inputs of this call."""
        for source in topological_order((node,)) if self.first_values else ():
            if source in self.first_values and source not in self.values:
                self.values[source] = self.value_of(self.first_values[source])
        with np.errstate(all="ignore"):
            return evaluate((node,), self.values)[0]

    def host_call(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record that NumPy makes a call, and return its result as tracers.

        Raises
        ------
        Untraceable
            If the call writes into an argument or gives something else than arrays and numbers.
        """
        if name.rpartition(".")[2] in MUTATING or kwargs.get("out") is not None:
            raise Untraceable(f"{name} writes into an array", user_line())
        operands: list[Node] = []
        template = _with_placeholders((args, kwargs), operands, self)

        def arrange(values: list[Any]) -> tuple[tuple, dict]:
            return _with_values(template, values)

        node = call(Call(function, arrange, name, user_line()), tuple(operands))
        try:
            result = self.value_of(node)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise Untraceable(f"{name} writes into an array", user_line()) from None
        self.host_calls.append((name, node["call"].line))
        return self._wrap_result(node, result, ())

    def _wrap_result(self, node: Node, value: Any, path: tuple) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [self._wrap_result(node, v, (*path, k)) for k, v in enumerate(value)]
            if hasattr(value, "_fields"):
                return type(value)(*parts)
            return type(value)(parts)
        if value is None or isinstance(value, (bool, int, str, np.dtype)):
            raise Untraceable(f"{node['call'].name} gives a Python value", node["call"].line)
        try:
            type_ = type_of(value)
        except TypeError:
            type_ = None
        if type_ is None or type_.dtype.kind not in "biufcmM" or isinstance(value, np.ma.MaskedArray):
            raise Untraceable(f"{node['call'].name} gives {type(value).__name__}", node["call"].line)
        result = call_result(node, path, type_)
        self.values[result] = value
        return Tracer(result, self, scalar=isinstance(value, np.generic))


class _Placeholder:
    """Where in a recorded call an operand goes."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


def _with_placeholders(value: Any, operands: list[Node], trace: Trace) -> Any:
    if isinstance(value, Tracer):
        operands.append(value._node)
        return _Placeholder(len(operands) - 1)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(_with_placeholders(v, operands, trace) for v in value)
    if type(value) is dict:
        return {k: _with_placeholders(v, operands, trace) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        operands.append(trace.lift(value))
        return _Placeholder(len(operands) - 1)
    return value


def _with_values(template: Any, values: list[Any]) -> Any:
    if isinstance(template, _Placeholder):
        return values[template.index]
    if type(template) in (tuple, list):
        return type(template)(_with_values(v, values) for v in template)
    if type(template) is dict:
        return {k: _with_values(v, values) for k, v in template.items()}
    return template


_storage_ids = itertools.count()


class Tracer(Operators):
    """A symbol for an array, a NumPy scalar or a Python number.

    Parameters
    ----------
    node : Node
        What it stands for.
    trace : Trace
        The trace that it belongs to.
    scalar : bool
        Whether NumPy would have a scalar here and not an array.
    storage : int, optional
        Names the memory that it views; tracers with one storage share memory. A new one by default.
    """

    __slots__ = ("_node", "_scalar", "_storage", "_trace")

    def __init__(self, node: Node, trace: Trace, scalar: bool = False, storage: int | None = None):
        self._node = node
        self._trace = trace
        self._scalar = scalar
        self._storage = next(_storage_ids) if storage is None else storage

    # What NumPy code asks of the class of a value.
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        if self._node.type.weak:
            return {"c": complex, "i": int}.get(self._node.dtype.kind, float)
        return self._node.dtype.type if self._scalar else np.ndarray

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.pop("out", None) is not None:
            raise Untraceable(f"{ufunc.__name__} writes into an array", user_line())
        if method != "__call__":
            return self._trace.host_call(getattr(ufunc, method), f"{ufunc.__name__}.{method}", inputs, kwargs)
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

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not all(t is Tracer or t is np.ndarray for t in types):
            return NotImplemented
        build = NUMPY_FUNCTIONS.get(func)
        if build is None:
            return self._trace.host_call(func, func.__name__, args, kwargs)
        try:
            result = build(*_nodes(args, self._trace), **_nodes(kwargs, self._trace))
        except NotCovered:
            return self._trace.host_call(func, func.__name__, args, kwargs)
        return _wrap(result, self._trace, _operands(args, kwargs) if func in VIEW_FUNCTIONS else None)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise Untraceable("an array is made of a value that is being traced", user_line())

    # Attributes of ndarray.
    @property
    def shape(self) -> tuple[int, ...]:
        return self._node.shape

    @property
    def dtype(self) -> np.dtype:
        return self._node.dtype

    @property
    def ndim(self) -> int:
        return self._node.type.ndim

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

    @property
    def imag(self) -> Tracer:
        return self._apply(np.imag)

    def __getattr__(self, name: str) -> Any:
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
        if target.kind not in "biufc" or self.dtype.kind not in "biufc" or order not in "KC":
            return self._trace.host_call(np.ndarray.astype, "astype", (self, target), {"casting": casting})
        if not np.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast array data from {self.dtype} to {target} according to the rule {casting!r}")
        if not copy and target == self.dtype:
            return self
        return Tracer(b.cast(self._node, target), self._trace, self._scalar)

    def copy(self, order: str = "C") -> Tracer:
        return Tracer(_fresh(self._node), self._trace, self._scalar)

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
        if self.shape[0] > _LONGEST_ITERATION:
            raise Untraceable("a loop over many elements", user_line())
        return (self[k] for k in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Tracer:
        try:
            if isinstance(index, tuple) and any(isinstance(i, (Tracer, np.ndarray, list)) for i in index):
                raise NotCovered("an index of several arrays")
            node = getitem(self._node, index._node if isinstance(index, Tracer) else index)
        except NotCovered:
            return self._trace.host_call(operator.getitem, "indexing", (self, index), {})
        if node.op.kind is not Kind.VIEW:
            return Tracer(node, self._trace, scalar=node.shape == ())
        items = index if isinstance(index, tuple) else (index,)
        scalar = node.shape == () and Ellipsis not in [i for i in items if not isinstance(i, (slice, np.ndarray))]
        return Tracer(node, self._trace, scalar, None if scalar or self._scalar else self._storage)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise Untraceable("assigns to elements of an array", user_line())


_UNTRACEABLE_ATTRIBUTES = frozenset(
    """item tolist tobytes fill sort partition put itemset resize setflags setfield view data strides base ctypes flat
    flags byteswap dump dumps tofile getfield __array_interface__ __array_struct__ real imag""".split()
)


def _nodes(value: Any, trace: Trace) -> Any:
    """`value` with its tracers replaced by their nodes, and arrays by captures or literals."""
    if isinstance(value, Tracer):
        return value._node
    if type(value) in (tuple, list):
        return type(value)(_nodes(v, trace) for v in value)
    if type(value) is dict:
        return {k: _nodes(v, trace) for k, v in value.items()}
    return trace.lift(value) if type(value) is np.ndarray else value


def _operands(args: tuple, kwargs: dict[str, Any]) -> dict[Node, Tracer]:
    """The arrays that views made by such a call may look at."""
    return {v._node: v for v in reversed((*args, *kwargs.values())) if isinstance(v, Tracer)}


def _wrap(result: Any, trace: Trace, viewed: dict[Node, Tracer] | None = None) -> Any:
    """Tracers for the nodes in the result of a function of the op table.

    With `viewed`, they share the memory of those operands that they are views of; without, they are fresh arrays.
    """
    if isinstance(result, (list, tuple)):
        return type(result)(_wrap(r, trace, viewed) for r in result)
    base = result
    while viewed and base.op.kind is Kind.VIEW and base not in viewed:
        base = base.args[0]
    source = viewed.get(base) if viewed else None
    if source is None:
        return Tracer(_fresh(result), trace, scalar=result.shape == () and not result.op.view_like)
    if base is result:
        return source if not result.type.weak else Tracer(b.cast(result, result.dtype), trace)
    if source._scalar:  # scalars have no memory that anyone could see
        return Tracer(_fresh(result), trace, scalar=not result.shape)
    return Tracer(result, trace, storage=source._storage)


def _fresh(node: Node) -> Node:
    """A node with the value of `node` that is no view of anything but a literal."""
    base = node
    while base.op.kind is Kind.VIEW:
        base = base.args[0]
    return node if base is node or base.op.name == "constant" else b.copy(node)


def _elementwise(ufunc: np.ufunc, inputs: tuple, trace: Trace) -> tuple[Node, Trace, bool]:
    nodes = tuple(i._node if isinstance(i, Tracer) else trace.lift(i) for i in inputs)
    for node in nodes:
        if node.type.weak and node.op.name == "constant" and node.dtype.kind == "i":
            _check_python_int(ufunc, node, nodes)
    node = b.elementwise(ufunc, *nodes)
    return node, trace, node.shape == ()


def _check_python_int(ufunc: np.ufunc, literal: Node, nodes: tuple[Node, ...]) -> None:
    """Leave to NumPy a Python integer that the dtype of the loop cannot hold: comparisons accept it, others raise."""
    value = literal["value"].value
    for node in nodes:
        if node.dtype.kind in "iu" and not node.type.weak:
            info = np.iinfo(node.dtype)
            if not info.min <= value <= info.max:
                raise NotCovered(f"{ufunc.__name__} with {value}")
