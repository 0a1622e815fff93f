"""Steps that NumPy executes, as JSON that is read together with the graph that they belong to.

Of their operands only what they are made from matters: arrays of the call and of the frame are leaves here, whatever
computes them. Python calls are numbered as in the traced graph, so a program from the disk makes those of this trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..ir import build as b
from ..ir.extents import Extent, Sizes, is_extent
from ..ir.integers import Poly
from ..ir.node import Constant, Graph, Node
from ..ir.ops.contractions import Call
from ..ir.ops.optable import CONSTANT, OPS
from ..ir.types import ArrayType
from .hosts import Hosts, HostStep, Room

_MOST_CONSTANT_BYTES = 1 << 14


class NotPlain(Exception):
    """Something that JSON cannot say here."""


def calls_of(graph: Graph) -> list[Call]:
    """The Python calls of a graph, in the order of its nodes."""
    return [node["call"] for node in graph.nodes() if node.op.name == "call"]


def encode_hosts(hosts: Hosts, graph: Graph) -> Any:
    """The steps of a program that computes `graph`.

    Raises
    ------
    NotPlain
        If they depend on what only this process has.
    """
    return _Encoder(hosts, graph).all()


def decode_hosts(found: Any, graph: Graph, sizes: Sizes | None = None) -> Hosts:
    """The steps that were encoded together with a graph of the same content, and extents that depend on `sizes`."""
    decoded = _Decoder(calls_of(graph), sizes)
    nodes: list[Node] = []
    for number, (op, args, params, (dtype, shape, weak)) in enumerate(found["nodes"]):
        type_ = ArrayType(np.dtype(dtype), decoded.all(shape), weak)
        if op is None:
            nodes.append(b.input_node(number, type_))
        else:
            given = tuple((name, decoded(value)) for name, value in params)
            nodes.append(Node(OPS[op], tuple(nodes[k] for k in args), given, type_))

    def room(offset: Any, dtype: str, shape: list[Any]) -> Room:
        return Room(decoded(offset), np.dtype(dtype), decoded.all(shape))

    return Hosts(
        tuple(HostStep(nodes[k], tuple(nodes[r] for r in results)) for k, results in found["steps"]),
        {nodes[k]: place for k, place in found["places"]},
        {nodes[k]: room(*where) for k, where in found["slots"]},
        {nodes[k]: (place, room(*where)) for k, place, where in found["hosted"]},
        tuple(None if k is None else nodes[k] for k in found["outputs"]),
        tuple(order and decoded.all(order) for order in found["orders"]),
    )


class _Encoder:
    """Numbers of nodes, and what is written for each."""

    def __init__(self, hosts: Hosts, graph: Graph):
        self.hosts = hosts
        self.calls = {id(call): k for k, call in enumerate(calls_of(graph))}
        self.computed = {node for step in hosts.steps for node in (step.node, *step.results)}
        self.numbers: dict[Node, int] = {}
        self.nodes: list[Any] = []

    def all(self) -> Any:
        hosts = self.hosts
        steps = [[self.number(s.node), [self.number(r) for r in s.results]] for s in hosts.steps]
        return {
            "steps": steps,
            "nodes": self.nodes,
            "places": [[k, hosts.places[n]] for n, k in self.numbers.items() if n in hosts.places],
            "slots": [[k, self.room(hosts.slots[n])] for n, k in self.numbers.items() if n in hosts.slots],
            "hosted": [
                [k, hosts.hosted[n][0], self.room(hosts.hosted[n][1])]
                for n, k in self.numbers.items()
                if n in hosts.hosted
            ],
            "orders": [order and self.values(order) for order in hosts.orders],
            "outputs": [None if n is None else self.number(n) for n in hosts.outputs],
        }

    def number(self, node: Node) -> int:
        if node not in self.numbers:
            hosts = self.hosts
            stored = node in hosts.places or node in hosts.slots or node in hosts.hosted
            op, args, params = None, [], []
            if node.op is CONSTANT or node in self.computed or not stored:
                if OPS.get(node.op.name) is not node.op:
                    raise NotPlain(node.op.name)
                op, args = node.op.name, [self.number(a) for a in node.args]
                params = [[name, self.value(value)] for name, value in node.params]
            self.numbers[node] = len(self.nodes)
            self.nodes.append([op, args, params, [node.dtype.str, self.values(node.shape), node.type.weak]])
        return self.numbers[node]

    def room(self, room: Room) -> list[Any]:
        return [self.value(room.offset), room.dtype.str, self.values(room.shape)]

    def values(self, values: Iterable[Any]) -> list[Any]:
        return [self.value(v) for v in values]

    def value(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if is_extent(value):
            return {"extent": value.poly.terms}
        if kind is float:
            return {"float": value.hex()}
        if kind is tuple:
            return {"tuple": self.values(value)}
        if kind is slice:
            return {"slice": self.values((value.start, value.stop, value.step))}
        if value is ...:
            return {"ellipsis": 0}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if kind is Constant:
            return {"constant": _array(value.value)}
        if kind is Call and id(value) in self.calls:
            return {"call": self.calls[id(value)]}
        if isinstance(value, np.generic):
            return {"scalar": _array(value)}
        raise NotPlain(kind.__qualname__)


def _array(value: Any) -> list[Any]:
    """An array or a number, by the name of its type and its bytes."""
    data = np.asarray(value)
    kind = type(value)
    if kind not in (np.ndarray, bool, int, float, complex) and not isinstance(value, np.generic):
        raise NotPlain(kind.__qualname__)
    if data.dtype.hasobject or data.nbytes > _MOST_CONSTANT_BYTES:
        raise NotPlain("a large array")
    form = "array" if kind is np.ndarray else "python" if kind in (bool, int, float, complex) else "numpy"
    return [form, data.dtype.str, data.shape, data.tobytes().hex()]


@frozen(eq=False)
class _Decoder:
    """Gives what was encoded, with the calls of this trace, and its sizes."""

    calls: list[Call]
    sizes: Sizes | None

    def all(self, values: list[Any]) -> tuple[Any, ...]:
        return tuple([self(v) for v in values])

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((kind, found),) = value.items()
        if kind == "extent":
            poly = Poly.from_lists(found)
            assert self.sizes is not None
            return Extent(poly, self.sizes.value(poly), self.sizes)
        if kind == "float":
            return float.fromhex(found)
        if kind == "tuple":
            return self.all(found)
        if kind == "slice":
            return slice(*self.all(found))
        if kind == "ellipsis":
            return ...
        if kind == "dtype":
            return np.dtype(found)
        if kind == "call":
            return self.calls[found]
        form, dtype, shape, data = found
        array = np.frombuffer(bytes.fromhex(data), np.dtype(dtype)).reshape(shape).copy()
        made = array if form == "array" else array[()] if form == "numpy" else array.item()
        return Constant(made) if kind == "constant" else made
