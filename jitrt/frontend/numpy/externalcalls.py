"""Calls of functions that NumPy does not own: steps of the program, between operations that are compiled.

    y = linalg.solve(a + 1, b)      →  t0 = add x0 1; t1 = call[solve] t0 x1; t2 = result[()] t1
    detrend(y, overwrite_data=True) →  t3 = call[detrend] t2; the result, and what the copy of y holds afterwards
    huber(x, 1.0)                   →  t4 = huber.0 x0 1.0, with the types of numba's loop, and of numba's ufunc
    clipped(x[0])                   →  t5 = clipped.1 t4: what `numba.njit` gives is a number of Python's

What a call gives is learnt by making it once during the trace, on copies of the arrays. Functions that numba compiles
for numbers are elementwise operations; the trace assumes that they do not raise: the plain function does.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LoopsWanted, Untraceable
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.folds import REDUCE_OR, reduce
from ...ir.ops.optable import NotCovered, Op
from ...ir.ops.ufuncs import CAST, loop_dtypes
from ...ir.types import ArrayType
from ...policy import NATIVE_BYTES
from ...values.kinds import flatten
from ..context import wants_loops
from ..python.externals import aliased, written
from ..python.numbas import inlined, is_numbas, is_of_numbers, is_vectorized, know_loop, may_be_native
from ..python.operations import operation_of, stands_for
from ..python.userline import user_line
from .aliases import arrays_of
from .assignment import assign
from .creation import literal
from .operators import is_tracer
from .tracer import Tracer
from .ufunccalls import elementwise

if TYPE_CHECKING:
    from ..state import Trace


# The numbers of Python's that numba makes of results; unsigned ones of 64 bits may be longer than kernels know.
_KINDS = {bool: "?", int: "bhilqBHI", float: "fd", complex: "FD"}
_RETURNED = {char: np.dtype(kind) for kind, chars in _KINDS.items() for char in chars}


def external_call(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of a call of such a function, as tracers.

    Raises
    ------
    Untraceable
        If it gives something else than arrays and numbers, or writes into what is not known to be written.
    """
    if is_numbas(function) and (made := call_on_numbers(state, function, args, kwargs)) is not None:
        return made
    if is_numbas(function) and wants_loops() and may_be_native(function) and _are_short(args):
        raise LoopsWanted(f"{function.__name__} is called by its address", user_line())
    own = operation_of(function)
    is_ready = not kwargs and any(map(is_tracer, args))
    if own is not None and is_ready and len(args) == own.nin and stands_for(own, function, _types(state, args)):
        node = elementwise(own, args, state)  # type: ignore[arg-type]
        return Tracer(node, state, scalar=not node.shape)
    leaves: list[Any] = []
    flatten((args, kwargs), leaves)
    name = getattr(function, "__name__", type(function).__name__)
    if name == "function":  # of wrappers by f2py
        name = (function.__doc__ or name).partition("(")[0].rpartition(" ")[2]
    targets = [v for v in written(function, args, kwargs) if _is_target(v, name)]
    if not targets and not any(is_tracer(v) or isinstance(v, types.FunctionType) for v in leaves):
        return _checked(literal(state, function(*args, **kwargs)), name)
    for target in targets:
        if sum(v._storage() is target._storage() for v in arrays_of(leaves)) > 1:
            raise Untraceable(f"{name} writes into memory that another argument shares", user_line())
        target._storage().check_writable(target._region())
        if not (target._is_contiguous() or target.transpose()._is_contiguous()):
            raise Untraceable(f"{name} writes into a part of an array", user_line())
    called = _on_copies(function, args, kwargs, targets) if targets else function
    made = state.calls.external_call(called, name, args, kwargs)
    result, contents = made if targets else (made, ())
    for target, content in zip(targets, contents):
        assign(target, content)
        for array in arrays_of(result):  # which NumPy may have in the same memory
            state.aliases.pair(array, target, copied=True)
    for operand in aliased(function, args, kwargs):
        for array in arrays_of(result) if is_tracer(operand) else ():
            state.aliases.pair(array, operand, copied=True)
    return result


def _are_short(args: Sequence[Any]) -> bool:
    """Whether what Python takes for a call counts beside the work: procedures copy what numba's functions give."""
    return sum(v._node.type.nbytes for v in args if is_tracer(v)) <= NATIVE_BYTES


def _types(state: Trace, values: tuple) -> list[Any]:
    """What `ufunc.resolve_dtypes` takes for operands; None for what is no array and no number."""
    known = (np.ndarray, np.generic, int, float, complex)
    nodes = [v._node if is_tracer(v) else state.lift(v) if isinstance(v, known) else None for v in values]
    return [None if n is None else n.type.promotion_key for n in nodes]


def _is_target(value: Any, name: str) -> bool:
    if is_tracer(value):
        return value._is_array()
    if isinstance(value, (np.ndarray, list, tuple)):
        raise Untraceable(f"{name} writes into an array", user_line())
    return False


def _checked(value: Any, name: str) -> Any:
    """A result that depends on no argument."""
    leaves: list[Any] = []
    flatten(value, leaves)
    if all(is_tracer(v) or isinstance(v, (int, float, complex, str, type(None), np.generic)) for v in leaves):
        return value
    raise Untraceable(f"{name} gives what is neither an array nor a number", user_line())


def _on_copies(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], targets: Sequence[Tracer]
) -> Callable[..., Any]:
    """A function that leaves the `targets` among the arguments as they are, and gives what they were to hold, too."""
    places = [next((k for k, v in enumerate(args) if v is t), None) for t in targets]
    names = [next((k for k, v in kwargs.items() if v is t), "") for t in targets]

    def on_copies(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        copies = []
        for place, name in zip(places, names):
            copied = np.array(kwargs[name] if place is None else given[place], order="K")
            copies.append(copied)
            if place is None:
                kwargs[name] = copied
            else:
                given[place] = copied
        result = function(*given, **kwargs)
        parts: list[Any] = []
        flatten(result, parts)
        arrays = [p for p in parts if isinstance(p, np.ndarray)]
        return result, tuple([c.copy("K") if any(np.may_share_memory(c, a) for a in arrays) else c for c in copies])

    return on_copies


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
        nodes = [state.node_of(v) for v in args]
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
    nodes = [state.node_of(v) for v in args]
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
