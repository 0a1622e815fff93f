"""Steps that NumPy executes, as bytes that are read together with the graph that they belong to.

Of their operands only what they are made from matters: arrays of the call and of the frame are leaves here, whatever
computes them. Python calls are numbered as in the traced graph, so a program from the disk makes those of this trace.
"""

from __future__ import annotations

import io
import itertools
import pickle
from typing import Any

import numpy as np

from ..base.frozen import replaced
from ..ir import build as b
from ..ir.extents import Extent, Sizes, is_extent
from ..ir.node import Constant, Graph, Node
from ..ir.ops.contractions import Call
from ..ir.ops.optable import CONSTANT, OPS, Op
from . import portable
from .hosts import Hosts

_MOST_CONSTANT_BYTES = 1 << 14
_NUMBERS = (bool, int, float, complex, np.generic)


class NotPlain(Exception):
    """Something that other processes cannot read."""


def calls_of(graph: Graph) -> list[Call]:
    """The Python calls of a graph, in the order of its nodes."""
    return [node["call"] for node in graph.nodes() if node.op.name == "call"]


def encode_hosts(hosts: Hosts, graph: Graph) -> bytes:
    """The steps of a program that computes `graph`.

    Raises
    ------
    NotPlain
        If they depend on what only this process has.
    """
    computed = {node for step in hosts.steps for node in (step.node, *step.results)}
    stored = hosts.places.keys() | hosts.slots.keys() | hosts.hosted.keys()
    leaves = {node for node in stored - computed if node.op is not CONSTANT}
    needed: set[Node] = set()
    stack = [*computed, *(node for node in hosts.outputs if node is not None)]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack += () if node in leaves else node.args
    places, slots, hosted = (
        {node: where for node, where in its.items() if node in needed}
        for its in (hosts.places, hosts.slots, hosts.hosted)
    )
    made = io.BytesIO()
    _Writer(made, leaves, calls_of(graph)).dump(replaced(hosts, places=places, slots=slots, hosted=hosted))
    return made.getvalue()


def decode_hosts(data: bytes, graph: Graph, sizes: Sizes | None = None) -> Hosts:
    """The steps that were encoded together with a graph of the same content, and extents that depend on `sizes`."""
    return portable.loads(data, _Reader, calls_of(graph), sizes)


class _Writer(pickle.Pickler):
    """Names what a process has of its own: operations, calls of the trace, and extents."""

    def __init__(self, file: io.BytesIO, leaves: set[Node], calls: list[Call]):
        super().__init__(file, 5)
        self._leaves, self._numbers = leaves, itertools.count()
        self._calls = {id(call): k for k, call in enumerate(calls)}

    def persistent_id(self, value: Any) -> Any:
        if type(value) is Call and id(value) in self._calls:
            return "call", self._calls[id(value)]
        if type(value) is Op and OPS.get(value.name) is value:
            return "operation", value.name
        return ("extent", value.poly) if is_extent(value) else None

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Node:
            leaf = b.input_node(next(self._numbers), value.type) if value in self._leaves else value
            return Node, (leaf.op, leaf.args, leaf.params, leaf.type)
        if type(value) is Constant:
            data = np.asarray(value.value)
            is_plain = type(value.value) is np.ndarray or isinstance(value.value, _NUMBERS)
            if not is_plain or data.dtype.hasobject or data.nbytes > _MOST_CONSTANT_BYTES:
                raise NotPlain("a large constant, or one of objects")
            return Constant, (value.value,)
        if not (portable.is_readable(value) or portable.is_readable(type(value))):
            raise NotPlain(type(value).__qualname__)
        return NotImplemented


class _Reader(portable.Reader):
    """Gives what was named, with the calls of this trace, and its sizes."""

    def __init__(self, file: io.BytesIO, calls: list[Call], sizes: Sizes | None):
        super().__init__(file)
        self._calls, self._sizes = calls, sizes

    def persistent_load(self, named: tuple[str, Any]) -> Any:
        kind, found = named
        if kind == "call":
            return self._calls[found]
        if kind == "operation":
            return OPS[found]
        assert self._sizes is not None
        return Extent(found, self._sizes.value(found), self._sizes)
