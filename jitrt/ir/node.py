"""Nodes of an expression graph: immutable and interned, so that structure is identity."""

from __future__ import annotations

import struct
import weakref
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.frozen import Remembering, frozen, remembered, replaced
from .rounding import EXACT, Rounding
from .types import PYTHON_SCALARS, ArrayType, canonical

if TYPE_CHECKING:
    from .ops.optable import Op

Params = tuple[tuple[str, Hashable], ...]

_references: dict[tuple, _Reference] = {}
# References to nodes that are gone. They are only noted: Python code in the callback of a weak reference would swallow
# an interrupt.
_dead: deque[_Reference] = deque()


QUIET = "quiet"  # the parameter of operations that do not report some exceptions


class _Reference(weakref.ref):
    """A weak reference to a node that knows under which key the node is found."""

    __slots__ = ("key",)

    key: tuple


class Node:
    """One operation applied to argument nodes.

    Two nodes with equal operation, arguments, parameters and type are one object, so a common
    subexpression is found by identity and a graph is compared in constant time.
    """

    __slots__ = ("__weakref__", "_raises", "args", "op", "params", "type")

    op: Op
    args: tuple[Node, ...]
    params: Params
    type: ArrayType
    _raises: bool

    def __new__(cls, op: Op, args: tuple[Node, ...], params: Params, type: ArrayType) -> Node:
        key = op, args, params, type.dtype, type.shape, type.weak  # the hash of an `ArrayType` takes longer than these
        reference = _references.get(key)
        node = None if reference is None else reference()
        if node is not None:
            return node
        made = object.__new__(cls)
        _set_op(made, op)
        _set_args(made, args)
        _set_params(made, params)
        _set_type(made, type)
        own = _Reference(made, _dead.append)
        own.key = key
        if _dead:
            forget_dead()
        # No lock: a signal handler or a finaliser may make nodes, too, and `setdefault` is atomic.
        while (node := _references.setdefault(key, own)()) is None:
            _remove_dead_weakref(_references, key)  # unless another thread has stored a new one meanwhile
        return node

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Node is immutable")

    def with_args(self, args: tuple[Node, ...]) -> Node:
        """The same operation of other operands."""
        return self if args == self.args else Node(self.op, args, self.params, self.type)

    def __getitem__(self, name: str) -> Any:
        """The parameter called `name`."""
        for key, value in self.params:
            if key == name:
                return value
        raise KeyError(name)

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def __numpy_dtype__(self) -> np.dtype:
        """What NumPy (2.4 and later) asks for where it is given as a dtype: of a scalar, not of an array."""
        if self.shape:
            raise TypeError("Cannot construct a dtype from an array")
        return self.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def kwargs(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self.params)

    @property
    def numpy_kwargs(self) -> dict[str, Any]:
        """The parameters as NumPy takes them: literals by value, and not whether exceptions are reported."""
        return {k: v.value if isinstance(v, Constant) else v for k, v in self.params if k != QUIET}

    @property
    def quiet(self) -> frozenset[str]:
        """The floating-point exceptions that it may raise and does not report (`ops.quiet`)."""
        return frozenset(self.kwargs.get(QUIET, ())) if self.params else frozenset()

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.type}>"


_bytes_of_float = struct.Struct("=d").pack
_set_op, _set_args, _set_params, _set_type = (
    vars(Node)[name].__set__ for name in ("op", "args", "params", "type")
)  # a Node refuses assignments


def forget_dead() -> None:
    """Forget the nodes that are gone, and with them the last ones that only they have used."""
    while _dead:
        with suppress(IndexError):  # another thread does the same
            _remove_dead_weakref(_references, _dead.pop().key)


class Constant:
    """A literal: an array or a Python scalar whose value is part of the graph.

    Small values compare by their bytes, so equal literals are one node (and ``0.0`` is not ``-0.0``);
    large arrays compare by identity.
    """

    __slots__ = ("_hash", "_number", "key", "value")

    _COMPARED_BY_BYTES = 1024

    def __init__(self, value: Any):
        self.value = value
        if type(value) is float:  # what most literals are
            self.key: tuple = ("float", _bytes_of_float(value))
            self._hash = hash(self.key)
            return
        data = np.asarray(value)
        if data.nbytes <= self._COMPARED_BY_BYTES and not data.dtype.hasobject:
            self.key = (type(value).__name__, data.dtype.str, data.shape, data.tobytes())
        else:
            self.key = ("object", id(value))
        self._hash = hash(self.key)

    @property
    def number(self) -> np.generic | None:
        """The only element; None where there are none or several, and for integers of more than 64 bits."""
        try:
            return self._number
        except AttributeError:
            found = self.value
            if not isinstance(found, np.generic):
                array = np.asarray(found)
                found = array.reshape(())[()] if array.size == 1 else None
            self._number: np.generic | None = found if isinstance(found, np.generic) else None
            return self._number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        data = np.asarray(self.value)
        if data.ndim == 0 and data.dtype.kind in "mM":
            return repr(str(data))
        return repr(data[()].item() if data.ndim == 0 and data.dtype.kind in "biufc" else data.tolist()[:4])


@frozen
class Graph(Remembering):
    """Outputs, and the inputs they are computed from.

    Parameters
    ----------
    inputs : tuple of Node
        Every input of the graph in the order in which a program takes them, used or not.
    outputs : tuple of Node
        What the graph computes.
    strides : tuple, optional
        For each output the strides in bytes that a caller shall find; None, and for all by default, those of a
        C-contiguous array.
    rounding : Rounding, optional
        In what its results may differ from NumPy's.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    strides: tuple[tuple[int, ...] | None, ...] = ()
    rounding: Rounding = EXACT

    @remembered
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that the outputs need, arguments before users."""
        return tuple(topological_order(self.outputs))

    def with_outputs(self, outputs: Iterable[Node]) -> Graph:
        return replaced(self, outputs=tuple(outputs))

    def mapped(self, change: Callable[[Node, Node], Node]) -> Graph:
        """The graph with ``change(old, new)`` in place of each node: `new` is the old one with operands so changed."""
        made: dict[Node, Node] = {}
        for node in self.nodes():
            made[node] = change(node, node.with_args(tuple([made[a] for a in node.args])))
        return self.with_outputs(made[n] for n in self.outputs)

    def __str__(self) -> str:
        return self.text({})

    def __repr__(self) -> str:
        given, made = (" ".join(str(n.type) for n in nodes) for nodes in (self.inputs, self.outputs))
        return f"<graph of {len(self.nodes())} nodes: ({given}) -> ({made})>"

    def text(self, given: Mapping[Node, str]) -> str:
        """Each node on a line, by its name in `given` where it has one of its own."""
        names: dict[Node, str] = {}
        first = {name: node for node, name in reversed(list(given.items()))}
        own = {node: name for name, node in first.items()}
        for node in self.inputs:
            names[node] = own.get(node, f"x{node['index']}")
        lines = [f"{{ lambda {' '.join(f'{names[n]}:{n.type}' for n in self.inputs)} ."]
        for node in self.nodes():
            if node in names:
                continue
            if node.op.name == "constant":
                names[node] = repr(node["value"]) if node.type.size <= 4 else f"constant:{node.type}"
                continue
            names[node] = own.get(node, f"t{len(lines) - 1}")
            params = "".join(f" {k}={v}" for k, v in node.params if k not in ("call", "number"))
            args = " ".join(names[a] for a in node.args)
            lines.append(
                f"  {names[node]}:{node.type} = {node.op.name}{'[' + params[1:] + ']' if params else ''} {args}"
            )
        lines.append(f"  in ({', '.join(names[n] for n in self.outputs)}) }}")
        return "\n".join(lines)


def topological_order(roots: Sequence[Node], known: Container[Node] = (), ends: Container[Node] = ()) -> list[Node]:
    """Nodes reachable from `roots` by ways around those that are `known`, arguments before users, without recursion.

    It does not look behind `ends`, which are among them.

    Examples
    --------
    >>> from jitrt.ir.build import constant, elementwise
    >>> import numpy as np
    >>> x = constant(np.arange(3.0))
    >>> [n.op.name for n in topological_order([elementwise(np.exp, elementwise(np.sin, x))])]
    ['constant', 'sin', 'exp']
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, Iterator[Node]]] = []
    for root in roots:
        if root in seen or root in known:
            continue
        seen.add(root)
        stack.append((root, iter(() if root in ends else root.args)))
        while stack:
            node, pending = stack[-1]
            for arg in pending:
                if arg not in seen and arg not in known:
                    seen.add(arg)
                    if not arg.args or arg in ends:
                        order.append(arg)
                        continue
                    stack.append((arg, iter(arg.args)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


class NotNumeric(TypeError):
    """A value is neither an array nor a number: NumPy may take it for one."""


def type_of(value: Any) -> ArrayType:
    """The `ArrayType` of an array, a NumPy scalar or a Python scalar.

    Raises
    ------
    NotNumeric
        If `value` is of none of these types.
    """
    known = _TYPES_OF_PYTHON_SCALARS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, (np.ndarray, np.generic)):
        return ArrayType(canonical(value.dtype), value.shape)
    if isinstance(value, (int, float, complex)):  # of a class of its own, as members of `enum.IntEnum`
        return ArrayType(np.asarray(value).dtype, ())
    raise NotNumeric(f"{type(value).__name__} is neither an array nor a number")


_TYPES_OF_PYTHON_SCALARS = {t: ArrayType(dtype, (), weak=t is not bool) for t, dtype in PYTHON_SCALARS.items()}
