"""Arguments of NumPy's functions that are tracers: the nodes that stand for them, and what tells their types."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import build as b
from ...ir.node import Node
from .numbers import is_symbol, stored
from .operators import is_tracer

if TYPE_CHECKING:
    from ..state import Trace
    from .tracer import Tracer


def nodes_of(value: Any, trace: Trace) -> Any:
    """`value` with its tracers replaced by their nodes, and arrays by captures or literals."""
    if is_tracer(value):
        if _is_integer(value):
            trace.want_integers(value._node)
        return value._node
    if type(value) in (tuple, list):
        return type(value)(nodes_of(v, trace) for v in value)
    if type(value) is dict:
        return {k: nodes_of(v, trace) for k, v in value.items()}
    return trace.lift(value) if type(value) is np.ndarray else value


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
    if is_tracer(value):
        if value._node.type.weak:
            return value._node.dtype.type(0).item()
        return b.phantom(value.shape, value.dtype)
    if type(value) in (tuple, list):
        return type(value)(map(phantoms, value))
    return {k: phantoms(v) for k, v in value.items()} if type(value) is dict else value


def with_value(value: Any, wanted: Node) -> Any:
    """`value` with integers in place of the tracers that stand for `wanted`, which are looked at."""
    if is_tracer(value):
        return _looked_at(value) if value._node is wanted else value
    if type(value) in (tuple, list):
        return type(value)(with_value(v, wanted) for v in value)
    return {k: with_value(v, wanted) for k, v in value.items()} if type(value) is dict else value


def plain_shape(shape: Any) -> Any:
    """A shape with integers in place of tracers, which are looked at."""
    if type(shape) in (tuple, list):
        return type(shape)(map(plain_shape, shape))
    return _looked_at(shape) if is_tracer(shape) else shape


def _looked_at(value: Tracer) -> Any:
    """The integers of an array; those that have been looked at once are known from then on."""
    shapes, node = value._trace.shapes, value._node
    if node not in shapes:
        shapes[node] = tuple(value.tolist()) if value.ndim else operator.index(value)
    return shapes[node]


def operands_of(args: tuple, kwargs: dict[str, Any]) -> dict[Node, Tracer]:
    """The arrays that views made by such a call may look at."""
    return {v._node: v for v in reversed((*args, *kwargs.values())) if is_tracer(v)}
