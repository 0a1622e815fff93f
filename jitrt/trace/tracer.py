"""Tracers: stand-ins for arrays and scalars that record NumPy operations as nodes.

NumPy hands every call on a tracer to it (`__array_ufunc__`, NEP 13; `__array_function__`, NEP 18). What cannot be
recorded raises `Untraceable`, and the plain function runs instead.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..expr import build as b
from ..expr.contractions import Call, call, call_result
from ..expr.indexing import choose_by_arrays
from ..expr.interpret import evaluate
from ..expr.movement import getitem
from ..expr.node import Node, topological_order, type_of
from ..expr.optable import METADATA, MUTATING, Kind, NotCovered
from ..expr.pythonnumbers import python_operation
from ..expr.rows import CONTIGUOUS_FUNCTIONS, METHODS, NUMPY_FUNCTIONS, VIEW_FUNCTIONS
from ..expr.types import ArrayType
from ..expr.ufuncs import COPY
from ..expr.updates import Region, region_between, through
from .assignment import (
    assign,
    assign_item,
    copyto,
    list_node,
    mutate,
    static_index,
    take_out,
    write_out,
    write_ufunc_out,
)
from .context import tracing
from .operators import Operators
from .order import Orders
from .segments import Cut, Execute, cut, is_recorded_in_a_loop, key_of, register_value
from .storage import Cell
from .userline import user_line

_MOST_LOOKS = 1000  # at values in one call
_MOST_SEGMENTS = 24  # of different structure in one call: each takes a compile
_LONGEST_ITERATION = 1000  # an iteration over more rows is an element loop, which tracing would unroll


class Trace:
    """The state of one trace: the values of the inputs, and what had to be left to NumPy.

    Parameters
    ----------
    inputs : sequence of Node
        The inputs of the graph.
    given : sequence
        Their values in this call. Calls that only NumPy can make are evaluated on them, to learn their types.
    execute : callable, optional
        What computes a graph; without it the function cannot look at values.
    """

    def __init__(self, inputs: Sequence[Node], given: Sequence[Any], execute: Execute | None = None):
        self.inputs = len(inputs)
        self.given = list(given)
        self.registers = {node: k for k, node in enumerate(inputs)}
        self.values = {node: _read_only(value) for node, value in zip(inputs, given)}
        self.cuts: list[Cut] = []
        self._execute = execute
        self._made: set[int] = set()
        self._tracers: list[weakref.ref[Tracer]] = []
        self.first_values: dict[Node, Node] = {}
        """For each parameter of a loop that is being recorded, what it is in the first iteration."""
        self.host_calls: list[tuple[str, str]] = []
        self.call_results: list[Node] = []
        """What calls give that NumPy makes: they are made, since they may raise, or give another shape next time."""
        self.orders = Orders({n: v.strides for n, v in zip(inputs, given) if isinstance(v, np.ndarray)})
        self.copies = 0
        self.writes: list[tuple[Cell, Node]] = []
        """Assignments to memory, with what it was before."""
        self.looks: list[Node | None] = []
        """Values that the function has looked at; None for those of which it does not matter any more."""
        self.decide: Callable[[Node], bool | None] | None = None
        """Asked for the truth of a value on which a loop depends."""
        self.ranges: dict[tuple[int, int], Any] = {}
        """Ranges of loops that are being traced, by frame and place."""
        self.rolled = 0
        """Loops that have become nodes."""
        self._known: dict[Node, bool] = {}

    def copy(self, node: Node) -> Node:
        """A copy of `node`, numbered within the trace so that the same function traced again gives the same nodes."""
        return b.copy(node, self.next_copy())

    def next_copy(self) -> int:
        """A number that no other copy in the trace has."""
        self.copies += 1
        return -self.copies

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> Tracer:
        """A new array of zeros."""
        return Tracer(b.view("broadcast_to", b.constant(dtype.type(0)), shape=shape), self)

    def fresh(self, node: Node) -> Node:
        """A node with the value of `node` that is no view of anything but a literal."""
        base = node
        while base.op.kind is Kind.VIEW:
            base = base.args[0]
        is_own = base is node and node.op.kind is not Kind.SOURCE
        return node if is_own or base.op.name == "constant" else self.copy(node)

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
        if type(value) in (list, tuple):
            return list_node(self, value)
        raise Untraceable(f"an operand of type {type(value).__name__}", user_line())

    def value_of(self, node: Node) -> Any:
        """What `node` is for the inputs of this call."""
        for source in topological_order((node,)) if self.first_values else ():
            if source in self.first_values and source not in self.values:
                self.values[source] = self.value_of(self.first_values[source])
        with np.errstate(all="ignore"), tracing(None):
            return evaluate((node,), self.values)[0]

    def is_known(self, node: Node) -> bool:
        """Whether the value of `node` depends on no input."""
        known = self._known.get(node)
        if known is None:
            for n in topological_order((node,)):
                if n not in self._known:
                    effect = n.op.name in ("input", "call") or n.op.kind is Kind.CONTROL
                    self._known[n] = not effect and all(self._known[a] for a in n.args)
            known = self._known[node]
        return known

    def look(self, node: Node, why: str, convert: Callable[[Any], Any]) -> Any:
        """What the function sees of the value of `node`.

        Raises
        ------
        Untraceable
            If the value is not to be had.
        """
        if self.is_known(node):
            self.looks.append(node)
            return convert(register_value(node, self.value_of(node)))
        if why == "bool" and self.decide is not None:
            decided = self.decide(node)
            if decided is not None:
                return decided
        if self._execute is None or (self.first_values and is_recorded_in_a_loop(node)):
            raise Untraceable(f"the value of an array or scalar is looked at ({why})", user_line())
        graph, compiled, wanted = None, None, list[Node]()
        inputs: tuple[int, ...] = ()
        forced = self.registers.get(node)
        if forced is None:
            wanted = self._needed_later(node)
            graph, inputs = cut(wanted, self.registers, [self.orders.of_result(n) for n in wanted])
            compiled, outputs = self._execute(graph, [self.given[k] for k in inputs])
            forced = len(self.given)
            for n, output in zip(wanted, outputs):
                self.registers[n] = len(self.given)
                self.given.append(register_value(n, output))
            self._check_effort(compiled)
        self.looks.append(node)
        seen = convert(self.given[forced])
        freed = self._free(node) if wanted else ()
        self.cuts.append(
            Cut(graph, compiled, inputs, tuple(wanted), forced, convert, key_of(seen), freed, why, user_line())
        )
        return seen

    def _check_effort(self, compiled: Any) -> None:
        """Stop where looks at values are so many, or so different, that computing each of them does not pay."""
        self._made.add(id(compiled))
        if len(self.cuts) >= _MOST_LOOKS or len(self._made) >= _MOST_SEGMENTS:
            raise Untraceable(f"looks at values more than {len(self.cuts)} times", user_line())

    def _live(self) -> list[Node]:
        """What the arrays and scalars that the function still holds are made of."""
        self._tracers = [ref for ref in self._tracers if ref() is not None]
        found = (ref() for ref in self._tracers)
        nodes = [t._current if t._cell is None else t._cell.content for t in found if t is not None]
        return list(dict.fromkeys(n for n in nodes if not self.is_known(n)))

    def _needed_later(self, node: Node) -> list[Node]:
        """`node`, and what the function may use afterwards."""
        live = [n for n in self._live() if n is not node and n not in self.registers]
        if self.first_values:
            live = [n for n in live if not is_recorded_in_a_loop(n)]
        calls = [n for n in self.pending_calls() if n not in live and n is not node and n not in self.registers]
        self.call_results = []
        return [node, *live, *calls]

    def pending_calls(self) -> list[Node]:
        """Results of calls that no segment has made yet, and which depend on no loop that is being recorded."""
        return [n for n in self.call_results if not is_recorded_in_a_loop(n)]

    def _free(self, node: Node) -> tuple[int, ...]:
        """Forget the registers that nothing needs any more."""
        live = set(self._live())
        freed = [(n, k) for n, k in self.registers.items() if k >= self.inputs and n not in live and n is not node]
        for n, k in freed:
            del self.registers[n]
            self.given[k] = None
        self.values = {n: _read_only(self.given[k]) for n, k in self.registers.items()}
        return tuple(k for _, k in freed)

    def host_call(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record that NumPy makes a call, and return its result as tracers.

        Raises
        ------
        Untraceable
            If the call writes into an argument or gives something else than arrays and numbers.
        """
        if name.rpartition(".")[2] in MUTATING or kwargs.get("out") is not None:
            raise Untraceable(f"{name} writes into an array", user_line())
        node = self._call_node(function, name, args, kwargs)
        try:
            result = self.value_of(node)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise Untraceable(f"{name} writes into an array", user_line()) from None
        self.host_calls.append((name, node["call"].line))
        return self._wrap_result(node, result, ())

    def python_call(self, function: Callable[[Any, Any], Any], x: Node, y: Node) -> Any:
        """``function(x, y)`` of two Python numbers."""
        value = function(self.value_of(x), self.value_of(y))
        node = python_operation(function, x, y, value)
        if node is None:
            return self.host_call(function, function.__name__, (Tracer(x, self), Tracer(y, self)), {})
        self.values.setdefault(node, value)
        return Tracer(node, self)

    def mutating_call(
        self, function: Callable[..., Any], name: str, target: Node, args: tuple, kwargs: dict[str, Any]
    ) -> Node:
        """Record a call whose first argument is `target`, into which it writes; return what that is afterwards."""

        def on_copy(array: Any, *args: Any, **kwargs: Any) -> Any:
            copied = np.array(array, order="C")
            function(copied, *args, **kwargs)
            return copied

        node = self._call_node(on_copy, name, args, kwargs)
        value = self.value_of(node)  # raises what NumPy raises, also if nothing depends on what is written
        self.host_calls.append((name, node["call"].line))
        result = call_result(node, (), target.type)
        self.call_results.append(result)
        self.values[result] = value
        return result

    def _call_node(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Node:
        operands: list[Node] = []
        template = _with_placeholders((args, kwargs), operands, self)

        def arrange(values: list[Any]) -> tuple[tuple, dict]:
            return _with_values(template, values)

        return call(Call(function, arrange, name, user_line()), tuple(operands))

    def _wrap_result(self, node: Node, value: Any, path: tuple) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [self._wrap_result(node, v, (*path, k)) for k, v in enumerate(value)]
            if hasattr(value, "_fields"):
                return type(value)(*parts)
            return type(value)(parts)
        if type(value) in (bool, int):  # what the function does next may depend on it
            number = call_result(node, path, ArrayType(type_of(value).dtype, (), weak=True))
            return self.look(number, node["call"].name, type(value))
        if type(value) in (float, complex):
            return Tracer(call_result(node, path, type_of(value)), self)
        if value is None or isinstance(value, (bool, int, str, np.dtype)):
            raise Untraceable(f"{node['call'].name} gives a Python value", node["call"].line)
        try:
            type_ = type_of(value)
        except TypeError:
            type_ = None
        if type_ is None or type_.dtype.kind not in "biufcmM" or isinstance(value, np.ma.MaskedArray):
            raise Untraceable(f"{node['call'].name} gives {type(value).__name__}", node["call"].line)
        result = call_result(node, path, type_)
        self.call_results.append(result)
        self.values[result] = value
        return Tracer(result, self, scalar=isinstance(value, np.generic))


def _read_only(value: Any) -> Any:
    """What a call that NumPy makes during the trace gets: it must not change an array a first time."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


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


LIKE_FUNCTIONS = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})
"""They keep the memory order of their first argument."""


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

    __slots__ = ("__weakref__", "_born", "_cell", "_content", "_current", "_scalar", "_trace")

    def __init__(self, node: Node, trace: Trace, scalar: bool = False, cell: Cell | None = None):
        self._born = Cell.made()
        self._current = node
        self._trace = trace
        self._scalar = scalar
        self._cell = cell
        self._content = node if cell is None else cell.content
        trace._tracers.append(weakref.ref(self))

    @property
    def _node(self) -> Node:
        """The value now; it changes when something is assigned to the memory."""
        cell = self._cell
        if cell is not None and cell.content is not self._content:
            self._current = through(cell.content, region_between(self._current, self._content))
            self._content = cell.content
        return self._current

    def _storage(self) -> Cell:
        """The cell of an array, made when it is first asked for."""
        if self._cell is None:
            self._cell = Cell(self._current, self._trace.orders.strides(self._current), number=self._born)
        return self._cell

    def _is_contiguous(self) -> bool:
        """Whether NumPy would have a C-contiguous array here."""
        return self._storage().is_contiguous(self._node)

    def _region(self) -> Region:
        """The views that lead from the memory to this array."""
        return region_between(self._node, self._content)

    def _view(self, node: Node) -> Tracer:
        """The array that `node`, a chain of views of this one's node, stands for."""
        return Tracer(node, self._trace, cell=self._storage())

    def _is_array(self) -> bool:
        return not self._scalar and not self._node.type.weak

    # What NumPy code asks of the class of a value.
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        if self._node.type.weak:
            return {"c": complex, "b": bool, "i": int}.get(self._node.dtype.kind, float)
        return self._node.dtype.type if self._scalar else np.ndarray

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
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
        out, args, kwargs = take_out(func, args, kwargs)
        if out is not None:
            return write_out(func.__name__, out, func(*args, **kwargs))
        build = NUMPY_FUNCTIONS.get(func)
        if build is None:
            return self._trace.host_call(func, func.__name__, args, kwargs)
        try:
            result = build(*_nodes(args, self._trace), **_nodes(kwargs, self._trace))
        except NotCovered:
            return self._trace.host_call(func, func.__name__, args, kwargs)
        viewed = _operands(args, kwargs) if func in VIEW_FUNCTIONS else None
        made = _wrap(result, self._trace, viewed, func in CONTIGUOUS_FUNCTIONS)
        if func in LIKE_FUNCTIONS and isinstance(args[0], Tracer) and made.shape == args[0].shape:
            made._cell = Cell(made._node, self._trace.orders.like(args[0]._node, made._node), number=made._born)
        return made

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._value("an array is made of it", lambda value: np.array(value, dtype))

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
        reshaped = self.reshape(shape)
        if reshaped._storage() is not self._storage():
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._current = reshaped._node

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
        raise Untraceable("assigns to .flat", user_line())

    def _check_array(self, name: str) -> None:
        if not self._is_array():
            raise AttributeError(f"attribute {name!r} of {self.__class__.__name__!r} objects is not writable")

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
        return Tracer(self._trace.fresh(self._node), self._trace, self._scalar)

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
        index = static_index(index)
        try:
            items = index if isinstance(index, tuple) else (index,)
            if any(isinstance(i, (Tracer, np.ndarray, list)) for i in items):
                node = choose_by_arrays(self._node, _nodes(items, self._trace))
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
        assign_item(self._elements(), index, value)


_UNTRACEABLE_ATTRIBUTES = frozenset(
    """tobytes itemset resize setflags setfield view data strides base ctypes
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
        return Tracer(trace.fresh(result), trace)
    return source._view(result)


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
