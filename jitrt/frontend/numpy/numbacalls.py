"""Calls of functions that numba compiles for numbers, as elementwise operations.

    huber(x, 1.0)    →  t0 = huber.0 x0 1.0, with the types of numba's loop, and of numba's ufunc
    clipped(x[0])    →  t1 = clipped.1 t0: what `numba.njit` gives is a number of Python's

Where such a function may raise, the trace assumes that it does not: the plain function raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.folds import REDUCE_OR, reduce
from ...ir.ops.optable import NotCovered, Op
from ...ir.ops.ufuncs import CAST, loop_dtypes
from ...ir.types import ArrayType
from ..python.numbas import inlined, is_of_numbers, is_vectorized, know_loop
from .operators import is_tracer
from .tracer import Tracer
from .ufunccalls import elementwise

if TYPE_CHECKING:
    from ..state import Trace

# The numbers of Python's that numba makes of results; unsigned ones of 64 bits may be longer than kernels know.
_KINDS = {bool: "?", int: "bhilqBHI", float: "fd", complex: "FD"}
_RETURNED = {char: np.dtype(kind) for kind, chars in _KINDS.items() for char in chars}


def call_on_numbers(state: Trace, function: Any, args: tuple, kwargs: dict[str, Any]) -> Tracer | None:
    """The result of a call of a function of numba's; None if it is no elementwise operation."""
    if kwargs or not any(map(is_tracer, args)) or state.has_forms:
        return None
    if is_vectorized(function):
        return _vectorized(state, function, args) if len(args) == function.nin else None
    return _of_scalars(state, function, args) if is_of_numbers(function, len(args)) else None


def _vectorized(state: Trace, function: Any, args: tuple) -> Tracer | None:
    if not all(is_tracer(v) or isinstance(v, (np.ndarray, np.generic, int, float, complex)) for v in args):
        return None
    found = inlined(function)
    try:
        nodes = [v._node if is_tracer(v) else state.lift(v) for v in args]
        if not know_loop(function, [n.dtype.type(1).item() if n.type.weak else np.empty(0, n.dtype) for n in nodes]):
            return None
        dtypes = loop_dtypes(function.ufunc, tuple(n.type for n in nodes))
        compiled = found.compiled(dtypes[:-1])
        if compiled is None or (*compiled.operands, compiled.dtype) != dtypes:
            return None
        node = elementwise(function.ufunc, args, state)
    except (NotCovered, TypeError):
        return None
    typed = [b.broadcast_to(b.cast(n, t), node.shape) for n, t in zip(nodes, dtypes)]
    if compiled.raises and not _holds(state, found.fails, typed):
        return None
    return Tracer(node, state, scalar=not node.shape)


def _holds(state: Trace, fails: Op, nodes: list[Node]) -> bool:
    """Let the trace hold for calls in which a function does not raise."""
    found = Node(fails, tuple(nodes), (), ArrayType(np.dtype(bool), nodes[0].shape))
    some = reduce(REDUCE_OR, found, tuple(range(found.type.ndim))) if found.shape else found
    return not state.loops.changes(*nodes) and state.assume(b.elementwise(np.logical_not, some))


def _of_scalars(state: Trace, function: Any, args: tuple) -> Tracer | None:
    if any(v._is_array() if is_tracer(v) else not isinstance(v, (np.generic, int, float, complex)) for v in args):
        return None
    nodes = [v._node if is_tracer(v) else state.lift(v) for v in args]
    found = inlined(function)
    compiled = found.compiled(tuple(n.dtype for n in nodes))
    result = None if compiled is None else _RETURNED.get(compiled.dtype.char)
    if compiled is None or result is None or not all(map(np.can_cast, (n.dtype for n in nodes), compiled.operands)):
        return None
    typed = [n if n.dtype == t else b.cast(n, t) for n, t in zip(nodes, compiled.operands)]
    if compiled.raises and not _holds(state, found.fails, typed):
        return None
    if compiled.dtype == result:
        return Tracer(Node(found.value, tuple(typed), (), ArrayType(result, (), weak=True)), state)
    made = Node(found.value, tuple(typed), (), ArrayType(compiled.dtype, ()))
    return Tracer(Node(CAST, (made,), b.params(dtype=result), ArrayType(result, (), weak=True)), state)
