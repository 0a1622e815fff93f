"""Arguments of NumPy's functions that are tracers: the nodes that stand for them, and what tells their types."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import build as b
from ...ir.node import Node
from ...values.kinds import mapped
from .numbers import is_symbol, stored
from .operators import is_tracer

if TYPE_CHECKING:
    from ..state import Trace
    from .tracer import Tracer


def nodes_of(value: Any, trace: Trace) -> Any:
    """`value` with its tracers replaced by their nodes, and arrays by captures or literals."""

    def node_of(leaf: Any) -> Any:
        if is_tracer(leaf):
            if _is_integer(leaf):
                trace.want_integers(leaf._node)
            return leaf._node
        return trace.lift(leaf) if type(leaf) is np.ndarray else leaf

    return mapped(value, node_of)


def with_elements(args: tuple, kwargs: dict[str, Any], trace: Trace) -> tuple[tuple, dict[str, Any]]:
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
    return is_tracer(value) and value._is_weak() and is_symbol(value._node)


def phantoms(value: Any) -> Any:
    """`value` with its tracers replaced by what NumPy can ask for types and shapes."""

    def phantom(leaf: Any) -> Any:
        if not is_tracer(leaf):
            return leaf
        node = leaf._node
        if node.type.weak:
            return node.dtype.type(0).item()
        made = b.phantom(leaf.shape, leaf.dtype)
        return made[()] if leaf._scalar else made

    return mapped(value, phantom)


def with_value(value: Any, wanted: Node) -> Any:
    """`value` with integers in place of the tracers that stand for `wanted`, which are looked at."""
    return mapped(value, lambda v: _looked_at(v) if is_tracer(v) and v._node is wanted else v)


def plain_shape(shape: Any) -> Any:
    """A shape with integers in place of tracers, which are looked at."""
    return mapped(shape, lambda v: _looked_at(v) if is_tracer(v) else v)


def _looked_at(value: Tracer) -> Any:
    """The integers of an array; those that have been looked at once are known from then on."""
    shapes, node = value._trace.shapes, value._node
    if node not in shapes:
        shapes[node] = tuple(value.tolist()) if value.ndim else operator.index(value)
    return shapes[node]


def operands_of(args: tuple, kwargs: dict[str, Any]) -> dict[Node, Tracer]:
    """The arrays that views made by such a call may look at."""
    return {v._node: v for v in reversed((*args, *kwargs.values())) if is_tracer(v)}
