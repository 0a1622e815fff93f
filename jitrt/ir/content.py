"""What a graph consists of, as text that is the same in every process: by it the disk cache finds programs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .aliasing import may_alias
from .extents import Extent, formula, is_extent
from .node import Constant, Graph, Node
from .ops.contractions import Call
from .ops.optable import Op
from .ops.ufuncs import NUMPY_UFUNCS
from .types import ArrayType

_MOST_CONSTANT_BYTES = 1 << 20


class NotPortable(Exception):
    """The graph contains something that means nothing in another process, a function of the user's for example."""


def content(graph: Graph) -> str:
    """A hash of all that `graph` says.

    Raises
    ------
    NotPortable
        If it cannot be said in another process, or has large constants.

    Examples
    --------
    >>> from jitrt.ir.build import elementwise, input_node
    >>> def doubled(shape):
    ...     x = input_node(0, ArrayType(np.dtype(np.float64), shape))
    ...     return Graph((x,), (elementwise(np.add, x, x),))
    >>> content(doubled((2,))) == content(doubled((2,))), content(doubled((2,))) == content(doubled((3,)))
    (True, False)
    """
    lines: list[str] = []
    _Writer(lines, [_MOST_CONSTANT_BYTES]).graph(graph)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class _Writer:
    """Lines for the nodes of a graph: arguments by their numbers, and in full what else a node has."""

    def __init__(self, lines: list[str], budget: list[int]):
        self.lines, self.budget = lines, budget
        self.numbers: dict[Node, int] = {}
        self.operations: dict[Op, str] = {}
        self.types: dict[int, str] = {}  # by identity: types are parts of nodes, and few

    def graph(self, graph: Graph) -> None:
        for node in (*graph.inputs, *graph.nodes()):
            self.number(node)
        inputs, outputs = ([self.numbers[n] for n in nodes] for nodes in (graph.inputs, graph.outputs))
        self.lines.append(f"in {inputs} out {outputs} strides {self.value(graph.strides)} {graph.rounding}")

    def number(self, node: Node) -> int:
        number = self.numbers.get(node)
        if number is None:
            op, type_ = node.op, node.type
            operation = self.operations.get(op) or self.operation(op)
            args = [self.number(a) for a in node.args]
            params = ",".join([f"{name}={self.value(value)}" for name, value in node.params]) if node.params else ""
            number = self.numbers[node] = len(self.numbers)
            self.lines.append(f"{operation} {args} {self.types.get(id(type_)) or self.type(type_)} {params}")
        return number

    def operation(self, op: Op) -> str:
        if not op.is_everywhere and not (op.ufunc is not None and op.ufunc in NUMPY_UFUNCS):
            raise NotPortable(f"the operation {op.name}")
        text = self.operations[op] = f"{op.library}.{op.name}"
        return text

    def type(self, type_: ArrayType) -> str:
        shape = type_.shape if not any(map(is_extent, type_.shape)) else tuple(map(formula, type_.shape))
        text = self.types[id(type_)] = f"{type_.dtype.str}{shape}{'*' if type_.weak else ''}"
        return text

    def value(self, value: Any) -> str:
        """A parameter; types stand in front of values, as ``1``, ``True`` and ``1.0`` mean different things."""
        kind = type(value)
        if kind is Constant:
            return self.constant(value)
        if value is None or kind in (bool, int, str, bytes, type(...)):
            return f"{kind.__name__} {value!r}"
        if kind is Extent:
            return f"extent {formula(value)}"
        if kind is float:
            return value.hex()
        if kind is complex:
            return f"{value.real.hex()}+{value.imag.hex()}j"
        if kind is tuple:
            return f"({';'.join(map(self.value, value))})"
        if kind is frozenset:
            return f"{{{';'.join(sorted(map(self.value, value)))}}}"
        if kind is slice:
            return f"slice{self.value((value.start, value.stop, value.step))}"
        if kind is Node:
            return f"node {self.number(value)}"
        if kind is ArrayType:
            return self.type(value)
        if isinstance(value, np.dtype):
            return f"dtype {value.str}"
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return f"{kind.__name__} {value.dtype.str} {value.tobytes().hex()}"
        if isinstance(value, np.ufunc) and value in NUMPY_UFUNCS:
            return f"ufunc {value.__name__}"
        if isinstance(value, type) and issubclass(value, (np.generic, bool, int, float, complex)):
            return f"type {value.__name__}"
        if kind is Call:  # it is made as this trace made it; programs depend on what follows alone
            return f"call {may_alias(value)} {value.is_effect}"
        if kind is Graph:
            inner = _Writer([], self.budget)
            inner.graph(value)
            return f"[{'|'.join(inner.lines)}]"
        if str(kind.__module__).startswith(f"{__package__}.") and hasattr(kind, "__match_args__"):
            return f"{kind.__name__}{self.value(tuple(getattr(value, name) for name in kind.__match_args__))}"
        raise NotPortable(f"a parameter of type {kind.__qualname__}")

    def constant(self, constant: Constant) -> str:
        if type(constant.value) is float:
            self.budget[0] -= 8
            return f"float {constant.key[1].hex()}"
        data = np.asarray(constant.value)
        self.budget[0] -= data.nbytes
        if self.budget[0] < 0 or data.dtype.hasobject:
            raise NotPortable("large constants")
        digest = data.tobytes().hex() if data.nbytes <= 64 else hashlib.sha256(data.tobytes()).hexdigest()
        order = "" if data.flags.c_contiguous else f"{data.strides}"
        return f"{type(constant.value).__name__} {data.dtype.str}{data.shape}{order} {digest}"
