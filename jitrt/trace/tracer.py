"""Tracers: stand-ins for arrays and scalars that record NumPy operations as nodes.

NumPy hands every call on a tracer to it (`__array_ufunc__`, NEP 13; `__array_function__`, NEP 18). What cannot be
recorded raises `Untraceable`, and the plain function runs instead.
"""

from __future__ import annotations

import itertools
import operator
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..expr import build as b
from ..expr.contractions import Call, call, call_result
from ..expr.interpret import evaluate
from ..expr.movement import getitem
from ..expr.node import Node, type_of
from ..expr.optable import METHODS, NUMPY_FUNCTIONS, Kind, NotCovered
from ..expr.types import ArrayType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NUMPY = os.path.dirname(os.path.abspath(np.__file__))
_LONGEST_ITERATION = 1000  # an iteration over more rows is an element loop, which tracing would unroll
# Functions that write into an argument; a trace sees values, not memory.
_MUTATING = frozenset(
    "copyto put place putmask fill_diagonal put_along_axis shuffle at apply_over_axes save savez savetxt".split()
)


class Trace:
    """The state of one trace: the values of the inputs, and what had to be left to NumPy.

    Parameters
    ----------
    values : dict of Node to value
        Actual inputs of this call. Calls that only NumPy can make are evaluated on them, to learn their types.
    """

    def __init__(self, values: dict[Node, Any]):
        self.values = values
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
        with np.errstate(all="ignore"):
            return evaluate((node,), self.values)[0]

    def host_call(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record that NumPy makes a call, and return its result as tracers.

        Raises
        ------
        Untraceable
            If the call writes into an argument or gives something else than arrays and numbers.
        """
        if name in _MUTATING or kwargs.get("out") is not None:
            raise Untraceable(f"{name} writes into an array", user_line())
        operands: list[Node] = []
        template = _with_placeholders((args, kwargs), operands, self)

        def arrange(values: list[Any]) -> tuple[tuple, dict]:
            return _with_values(template, values)

        node = call(Call(function, arrange, name, user_line()), tuple(operands))
        result = self.value_of(node)
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


def user_line() -> str:
    """``file:line`` of the innermost frame that is neither jitrt's nor NumPy's."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith((_PACKAGE, _NUMPY)):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


_storage_ids = itertools.count()


class Tracer:
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
    @property
    def __class__(self) -> type:  # type: ignore[override]
        if self._node.type.weak:
            return complex if self._node.dtype.kind == "c" else float
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
        return _wrap(result, self._trace, _source(args, kwargs))

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
        return np.transpose(self)  # type: ignore[call-overload]

    @property
    def mT(self) -> Tracer:
        return np.matrix_transpose(self)  # type: ignore[call-overload]

    @property
    def real(self) -> Tracer:
        return np.real(self)  # type: ignore[call-overload]

    @property
    def imag(self) -> Tracer:
        return np.imag(self)  # type: ignore[call-overload]

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

    # Methods whose arguments differ from those of the function.
    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Tracer:
        wanted = shape[0] if len(shape) == 1 else shape
        return np.reshape(self, wanted, order=order)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> Tracer:
        if not axes or axes == (None,):
            return np.transpose(self)  # type: ignore[call-overload]
        return np.transpose(self, axes[0] if isinstance(axes[0], (tuple, list)) else axes)  # type: ignore[call-overload]

    def ravel(self, order: str = "C") -> Tracer:
        return np.ravel(self, order)  # type: ignore[call-overload]

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
        return Tracer(self._node, self._trace, self._scalar)

    def conj(self) -> Tracer:
        return np.conjugate(self)  # type: ignore[call-overload]

    conjugate = conj

    def round(self, decimals: int = 0, out: Any = None) -> Tracer:
        return np.round(self, decimals, out)  # type: ignore[call-overload]

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
        return Tracer(node, self._trace, scalar, None if scalar else self._storage)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise Untraceable("assigns to elements of an array", user_line())

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _binary(np.power, operator.pow, self, other)

    def __round__(self, ndigits: int | None = None) -> Any:
        raise Untraceable("round() of a value that is being traced", user_line())


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


def _source(args: tuple, kwargs: dict[str, Any]) -> Tracer | None:
    """The array that a view made by such a call would look at: the first operand."""
    first = args[0] if args else next(iter(kwargs.values()), None)
    return first if isinstance(first, Tracer) else None


def _wrap(result: Any, trace: Trace, source: Tracer | None = None) -> Any:
    """Tracers for the nodes in the result of a function of the op table."""
    if isinstance(result, (list, tuple)):
        return type(result)(_wrap(r, trace, source) for r in result)
    if source is not None and result is source._node:
        return source if not source._node.type.weak else Tracer(b.cast(result, result.dtype), trace)
    base = result
    while base.op.kind is Kind.VIEW and (source is None or base is not source._node):
        base = base.args[0]
    if source is not None and base is source._node and base is not result:
        return Tracer(result, trace, source._scalar and not result.shape, source._storage)
    return Tracer(result, trace, scalar=result.shape == () and not result.op.view_like)


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


# Python evaluates these on two floats exactly as float64 kernels do; division, powers and comparisons differ.
_EXACT_ON_FLOATS = frozenset({np.add, np.subtract, np.multiply})


def _binary(ufunc: np.ufunc, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """``x <op> y`` where one of them is a tracer."""
    tracer = x if isinstance(x, Tracer) else y
    trace = tracer._trace
    weak = [v._node.type.weak if isinstance(v, Tracer) else type(v) in (int, float, complex, bool) for v in (x, y)]
    if all(weak):
        nodes = [v._node if isinstance(v, Tracer) else trace.lift(v) for v in (x, y)]
        if ufunc in _EXACT_ON_FLOATS and all(n.dtype.kind == "f" for n in nodes):
            node = Node(b.elementwise_op(ufunc), tuple(nodes), (), ArrayType(np.dtype(np.float64), (), weak=True))
            return Tracer(node, trace)
        return trace.host_call(python, python.__name__, (x, y), {})
    if isinstance(x, (Tracer, np.ndarray, np.generic, int, float, complex)) and isinstance(
        y, (Tracer, np.ndarray, np.generic, int, float, complex)
    ):
        return ufunc(x, y)
    return NotImplemented


def _install_operators() -> None:
    binary = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
        "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    }  # fmt: skip
    comparisons = {
        "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal
    }  # fmt: skip
    unary = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

    def forward(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda self, other: _binary(ufunc, python, self, other)

    def reverse(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda self, other: _binary(ufunc, python, other, self)

    def single(ufunc: np.ufunc) -> Callable[[Any], Any]:
        def apply(self: Tracer) -> Any:
            result = ufunc(self)
            if self._node.type.weak:
                node = result._node
                weak = Node(node.op, node.args, (), ArrayType(node.dtype, (), weak=True))
                return Tracer(weak, self._trace)
            return result

        return apply

    def in_place(name: str) -> Callable[[Any, Any], Any]:
        def apply(self: Tracer, other: Any) -> Any:
            if self._scalar or self._node.type.weak:
                return NotImplemented  # scalars are immutable: Python falls back to the operator itself
            raise Untraceable(f"updates an array in place ({name})", user_line())

        return apply

    def looked_at(what: str) -> Callable[..., Any]:
        def refuse(self: Tracer, *args: Any) -> Any:
            raise Untraceable(f"the value of an array or scalar is looked at ({what})", user_line())

        return refuse

    for name, ufunc in binary.items():
        python = getattr(operator, name if name not in ("and", "or") else f"{name}_")
        if name != "pow":
            setattr(Tracer, f"__{name}__", forward(ufunc, python))
        setattr(Tracer, f"__r{name}__", reverse(ufunc, python))
        setattr(Tracer, f"__i{name}__", in_place(f"{name}="))
    for name, ufunc in comparisons.items():
        setattr(Tracer, f"__{name}__", forward(ufunc, getattr(operator, name)))
    for name, ufunc in unary.items():
        setattr(Tracer, f"__{name}__", single(ufunc))
    for name in ("bool", "int", "float", "complex", "index", "str", "repr", "format", "contains", "reversed", "reduce"):
        setattr(Tracer, f"__{name}__", looked_at(name))
    for name in ("copy", "deepcopy"):
        setattr(Tracer, f"__{name}__", lambda self, *memo: self.copy())
    Tracer.__divmod__ = lambda self, other: (self // other, self % other)
    Tracer.__rdivmod__ = lambda self, other: (other // self, other % self)


_install_operators()
