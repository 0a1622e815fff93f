"""Ufuncs on tracers: elementwise operations as nodes, their methods and options (`__array_ufunc__`, NEP 13)."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import replaced
from ...errors import Untraceable
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.operands import check_casting
from ...ir.ops.optable import OUT_BY_NAME, SPECIAL, NotCovered
from ...ir.ops.rows import NUMPY_FUNCTIONS
from ...ir.ops.ufuncs import loop_dtypes, of_scalars
from ..python.bytecode import decoded
from ..python.userline import calling_frame, user_line
from ..segments import Watch
from .assignment import check_out_dtype, mutate, noting_refusals, write_ufunc_out
from .choices import chosen, common_choice, is_choice
from .functions import wrap
from .numbers import is_symbol, operands
from .operands import nodes_of
from .operators import is_tracer
from .silence import check_parts

if TYPE_CHECKING:
    from ..state import Trace
    from .tracer import Tracer

# Of `where` without `out`, and of `out` by its position.
_WARNS = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
_LOGICAL = frozenset({np.logical_and, np.logical_or, np.logical_xor})  # which take Python's integers for int64
_INT = np.iinfo(np.int64)


def call_ufunc(array: Tracer, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """The ufunc, or a method of it, where `array` is one of the arrays."""
    if method == "__call__" and not kwargs:
        return _without_out(ufunc, _result(array, ufunc, method, inputs, kwargs))
    if method == "at":
        return mutate(inputs[0], ufunc.at, f"{ufunc.__name__}.at", inputs, kwargs)
    outs = kwargs.pop("out", ())
    if method == "__call__" and outs and ufunc in OUT_BY_NAME and _WARNS and not _names_out():
        raise Untraceable(f"{ufunc.__name__} warns of an out that is not named", user_line())
    where = kwargs.pop("where", True) if method == "__call__" else True
    if getattr(where, "dtype", np.bool_) != np.bool_:
        raise Untraceable(f"{ufunc.__name__} where an array that is not boolean", user_line())
    casting = kwargs.get("casting", "same_kind")
    with noting_refusals(*outs):
        try:
            result = _result(array, ufunc, method, inputs, kwargs)
        except ValueError:  # NumPy looks at shapes after dtypes
            if method == "__call__" and outs and is_tracer(outs[0]) and ufunc.nout == 1 and ufunc.signature is None:
                types = tuple([replaced(n.type, shape=()) for n in nodes_of(inputs, array._trace)])
                check_out_dtype(ufunc, loop_dtypes(ufunc, types)[-1], outs[0], 0, casting)
            raise
    results = result if isinstance(result, tuple) else (result,)
    if where is not True and all(o is None for o in outs):  # what is not computed has no particular value
        if _WARNS and not _names_out():
            raise Untraceable(f"{ufunc.__name__} warns of where without out", user_line())
        outs = tuple(array._trace.zeros(np.broadcast_shapes(r.shape, np.shape(where)), r.dtype) for r in results)
    if all(o is None for o in outs):
        return _without_out(ufunc, result)
    if method != "__call__" and [(r.shape, r.dtype) for r in results] != [(o.shape, o.dtype) for o in outs]:
        # NumPy adds no axes to an array that is given, and computes in its dtype.
        raise Untraceable(f"{ufunc.__name__}.{method} into an array of another shape or dtype", user_line())
    whole = next(o.shape for o in outs if o is not None)
    written = [
        (r if r.shape == whole else np.broadcast_to(r, whole).copy())
        if o is None
        else write_ufunc_out(ufunc, o, r, k, casting, where)
        for k, (r, o) in enumerate(zip(results, outs))
    ]
    return tuple(written) if isinstance(result, tuple) else written[0]


def _without_out(ufunc: np.ufunc, result: Any) -> Any:
    """`result`, which is a scalar, unless ``out=...`` asks for an array: NumPy tells of that no more than of None."""
    results = result if isinstance(result, tuple) else (result,)
    if any(is_tracer(r) and r._scalar for r in results) and _names_out():
        raise Untraceable(f"{ufunc.__name__} with an out that may be ...", user_line())
    return result


def _result(array: Tracer, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of a ufunc that writes to no argument."""
    choice = common_choice(inputs) if method == "__call__" and ufunc.signature is None and not kwargs else None
    if choice is not None:
        whole = [array._new(i._choice.array) if is_choice(i) else i for i in inputs]
        return chosen(_result(array, ufunc, method, tuple(whole), kwargs), choice)
    if method != "__call__":
        return _method(array, getattr(ufunc, method), f"{ufunc.__name__}.{method}", inputs, kwargs)
    if ufunc is np.divmod and not kwargs:
        return np.floor_divide(*inputs), np.remainder(*inputs)
    try:
        if kwargs:
            inputs = _in_loop(ufunc, inputs, **kwargs)
        if ufunc is np.matmul:
            return wrap(NUMPY_FUNCTIONS[ufunc](*nodes_of(inputs, array._trace)), array)
        node = elementwise(ufunc, inputs, array._trace)
        check_parts(array._trace, node.args)
        return array._new(node, not node.shape)
    except NotCovered:
        return array._trace.calls.host_call(ufunc, ufunc.__name__, inputs, kwargs)


def _in_loop(
    ufunc: np.ufunc, inputs: tuple, dtype: Any = None, casting: Any = "same_kind", subok: bool = True, **others: Any
) -> tuple:
    """The operands as those options of a ufunc convert them that choose its loop.

    Raises
    ------
    NotCovered
        If there are other options, or NumPy has no such loop.
    """
    if others or ufunc.nout != 1 or ufunc.signature is not None:
        raise NotCovered(f"{ufunc.__name__} with {', '.join(others)}")
    if dtype is None and casting == "same_kind":
        return inputs
    check_casting(casting)
    asked = None if dtype is None else np.dtype(dtype)
    kinds = [type(i) if type(i) in (int, float, complex) else i.dtype for i in map(_typed, inputs)]
    try:
        loop = ufunc.resolve_dtypes((*kinds, None), signature=(*(None for _ in kinds), asked), casting=casting)
    except TypeError:
        raise NotCovered(f"{ufunc.__name__} with dtype or casting") from None
    if asked is None:
        return inputs
    if any(is_tracer(i) and i.dtype != d and 0 in (i._strides() or ()) for i, d in zip(inputs, loop)):
        raise NotCovered(f"{ufunc.__name__} of a broadcast array that is converted")  # a copy has another order
    return tuple([i.astype(d, copy=False) if is_tracer(i) else np.asarray(i).astype(d) for i, d in zip(inputs, loop)])


def _typed(value: Any) -> Any:
    """A value that tells its dtype, or a number of Python's of the same type."""
    if is_tracer(value):
        return value._node.dtype.type().item() if value._is_weak() else value
    return value if type(value) in (int, float, complex) else np.asarray(value)


def _method(array: Tracer, method: Callable[..., Any], name: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """``ufunc.reduce``, ``ufunc.accumulate`` …: those with a row, and others as calls."""
    try:
        if method not in NUMPY_FUNCTIONS:
            raise NotCovered(f"{name} has no row")
        result = NUMPY_FUNCTIONS[method](*nodes_of(inputs, array._trace), **nodes_of(kwargs, array._trace))
        check_parts(array._trace, (result, *result.args))
        return wrap(result, array)
    except NotCovered:
        return array._trace.calls.host_call(method, name, inputs, kwargs)


def elementwise(ufunc: np.ufunc, inputs: tuple, trace: Trace) -> Node:
    """The node of an elementwise operation on tracers, arrays and numbers.

    Raises
    ------
    NotCovered
        If it has no row, or an integer does not fit the dtype of its loop.
    """
    given = tuple([i._node if is_tracer(i) else trace.lift(i) for i in inputs])
    node = trace.memory.get((ufunc, given))
    if node is None:
        nodes = operands(trace, ufunc, given)
        if nodes is None:
            raise NotCovered(f"{ufunc.__name__} with an integer that does not fit")
        for n in nodes:
            if n.type.weak and n.op.name == "constant" and n.type.dtype.kind == "i":
                _check_python_int(ufunc, n, nodes)
        node = b.elementwise(ufunc, *nodes)
        if ufunc is np.square and node.dtype.kind == "c" and not node.shape:  # it has the bits of the operator
            node = of_scalars(node)
        if not any(map(is_symbol, given)):  # of which something may be assumed
            trace.memory[ufunc, given] = node
    if node.op.library == SPECIAL and not _is_silent(node, trace):
        raise NotCovered(f"{ufunc.__name__}, whose errors are not ignored")
    if trace.phases.have_begun:
        node = trace.phases.recorded(node)
    trace.effects.operation(node)
    return node


def _is_silent(node: Node, trace: Trace) -> bool:
    """Let the trace hold for calls in which SciPy's error state ignores what its special functions find wrong."""
    assert node.op.ufunc is not None
    if loop_dtypes(node.op.ufunc, tuple(a.type for a in node.args))[0].char not in node.op.numpys_bits:
        return True
    if not any(isinstance(made.guard, Watch) and made.why == _ERRORS for made in trace.breaks.made):
        if not trace.breaks.are_possible or trace.loops.first_values:
            return False
        trace.watch(_are_ignored, _ERRORS)
    return _are_ignored()


_ERRORS = "SciPy's error state"


def _are_ignored() -> bool:
    """Whether SciPy ignores what its special functions find wrong; by default it does, but where memory lacks."""
    state = sys.modules["scipy.special"].geterr()
    return all(v == "ignore" for k, v in state.items() if k != "memory")


def _check_python_int(ufunc: np.ufunc, literal: Node, nodes: tuple[Node, ...]) -> None:
    """Leave to NumPy a Python integer that the dtype of the loop cannot hold: comparisons accept it, others raise."""
    value = literal["value"].value
    if ufunc in _LOGICAL and not _INT.min <= value <= _INT.max:  # beside arrays of any dtype
        raise NotCovered(f"{ufunc.__name__} with {value}")
    for node in nodes:
        if node.dtype.kind in "iu" and not node.type.weak:
            info = np.iinfo(node.dtype)
            if not info.min <= value <= info.max:
                raise NotCovered(f"{ufunc.__name__} with {value}")


def _names_out() -> bool:
    """Whether the call that the traced code is making has an ``out``: NumPy does not hand on one that is None."""
    frame = calling_frame()
    if frame is None:
        return False
    names = _keywords(frame.f_code).get(frame.f_lasti, ())
    if names is not None:
        return "out" in names
    dicts = (value for value in frame.f_locals.values() if type(value) is dict)
    return any("out" in value for value in (*dicts, frame.f_code.co_consts))


@lru_cache(maxsize=256)
def _keywords(code: types.CodeType) -> dict[int, tuple[str, ...] | None]:
    """The names of the arguments of calls, by where the calls stand; None if a dict has them."""
    found: dict[int, tuple[str, ...] | None] = {}
    for before, call in itertools.pairwise(decoded(code)):
        if call.opname == "CALL_FUNCTION_EX":
            found[call.offset] = None
        elif before.opname == "KW_NAMES" or call.opname == "CALL_KW":  # the former until Python 3.12
            found[call.offset] = before.argval
    return found
