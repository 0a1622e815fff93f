"""NumPy's functions on tracers: those of the op table as nodes, others as calls (`__array_function__`, NEP 18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import build as b
from ...ir.node import Node, NotNumeric
from ...ir.ops.optable import METADATA, MUTATING, ContiguousWanted, Kind, NotCovered, ValueWanted
from ...ir.ops.rows import BY_VALUE_FUNCTIONS, CONTIGUOUS_FUNCTIONS, NUMPY_FUNCTIONS, VIEW_FUNCTIONS
from ...ir.ops.ufuncs import WHERE
from ...ir.ops.updates import region_between
from ...ir.types import contiguous_strides
from ..forms import Form, check
from .assignment import copyto, mutate, take_out, write_out
from .choices import FOLDS, fold, is_choice
from .operands import nodes_of, operands_of, phantoms, plain_shape, with_elements, with_value
from .operators import is_tracer
from .order import by_stride, kept_order, letter
from .silence import silent

if TYPE_CHECKING:
    from ..state import Trace
    from .tracer import Tracer

LIKE_FUNCTIONS = {np.zeros_like: "K", np.ones_like: "K", np.empty_like: "K", np.full_like: "K", np.pad: "A"}
"""What they make is like a copy of their first argument in this memory order."""
_OF_SCALARS = frozenset({np.dot, np.linalg.multi_dot})  # which give no array without axes
_ATTRIBUTES = frozenset({np.real, np.imag})  # which they ask numbers of Python's for
_READ_IN_ORDER = frozenset({np.ravel, np.reshape})
_RESHAPED = frozenset({np.roll, np.tile})  # which give views of what they make: of nothing, these have other strides
# What gives ordinary arrays even of those that are mapped from a file or byte-swapped, and what gives views of them.
_ORDINARY_RESULTS = frozenset({
    np.all, np.any, np.clip, np.column_stack, np.concatenate, np.count_nonzero, np.cumprod, np.cumsum, np.dstack,
    np.hstack, np.max, np.mean, np.min, np.nanmax, np.nanmean, np.nanmin, np.nansum, np.outer, np.prod, np.ptp,
    np.stack, np.std, np.sum, np.var, np.vstack, np.where,
})  # fmt: skip
_OF_COPIES = frozenset({np.nancumsum, np.nancumprod})  # without nan, whose order is not a broadcast array's
_SAME_MEMORY = frozenset({
    np.expand_dims, np.moveaxis, np.ravel, np.reshape, np.squeeze, np.swapaxes, np.transpose,
})  # fmt: skip


def call_function(array: Tracer, func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``func(*args, **kwargs)``, where `array` is one of the arrays."""
    trace = array._trace
    if is_tracer(kwargs.get("dtype")):
        kwargs = kwargs | {"dtype": np.dtype(kwargs["dtype"])}
    if func is np.size:  # of whose arguments the axes are values
        return np.size(*phantoms(args[:1]), *plain_shape(args[1:]), **plain_shape(kwargs))
    if func in METADATA:
        return func(*phantoms(args), **phantoms(kwargs))
    if func is np.copyto:
        return copyto(*args, **kwargs)
    if func in _ATTRIBUTES and is_tracer(args[0]) and args[0]._is_weak():
        return getattr(args[0], func.__name__)
    if func.__name__ in MUTATING and args:
        return mutate(args[0], func, func.__name__, args, kwargs)
    if func in FOLDS and len(args) == 1 and kwargs.keys() <= {"axis", "ddof"} and is_choice(args[0]):
        folded = fold(func, array, args[0]._choice, **kwargs)
        if folded is not None:
            return folded
    out, args, kwargs = take_out(func, args, kwargs)
    if out is not None:
        written = write_out(func.__name__, out, func(*args, **kwargs))
        return written if written.ndim or not _gives_scalar(func, args) else written[()]
    form = form_in((args, kwargs)) if trace.has_forms else None
    if form is not None and func not in _ORDINARY_RESULTS | _SAME_MEMORY:
        check(form, func.__name__)
    build = NUMPY_FUNCTIONS.get(func)
    if build is None:
        return _left_to_numpy(trace, func, args, kwargs)
    try:
        if func in _READ_IN_ORDER:
            args, kwargs = _in_known_order(func, *args, **kwargs)
        if func in BY_VALUE_FUNCTIONS:
            args, kwargs = with_elements(args, kwargs, trace)
        result = build(*nodes_of(args, trace), **nodes_of(kwargs, trace))
    except ValueWanted as wanted:
        return call_function(array, func, *with_value((args, kwargs), wanted.node))
    except ContiguousWanted as wanted:
        if not (is_tracer(args[0]) and args[0]._is_contiguous()):
            return _left_to_numpy(trace, func, args, kwargs)
        result = wanted.node
    except (NotCovered, NotNumeric):
        return _left_to_numpy(trace, func, args, kwargs)
    result = silent(trace, result) if isinstance(result, Node) else result
    viewed = operands_of(args, kwargs) if func in VIEW_FUNCTIONS else None
    made = wrap(result, array, viewed, func in CONTIGUOUS_FUNCTIONS)
    if form is not None and func in _SAME_MEMORY and made._storage() is not array._storage():
        check(form, func.__name__)
    if func in _RESHAPED and result.op.name == "reshape" and result.type.size == 0:
        return made._new(trace.fresh(result.args[0]))._seen_as(region_between(result, result.args[0]))
    if func is np.where:
        return _in_order_of_choices(made, *args)
    if func is np.roll and is_tracer(args[0]) and (args[2] if len(args) > 2 else kwargs.get("axis")) is not None:
        return trace.like(made._node, args[0], "K")
    if func in _OF_COPIES and made.ndim > 1 and is_tracer(args[0]) and made.ndim == args[0].ndim:
        return trace.like(made._node, args[0], "K") if args[0].dtype.kind in "fc" else made
    by_blas = func is np.dot and made.dtype.char in "fdFD"  # also a product with a number
    if (by_blas or func is np.select) and made.ndim > 1 and made._node.op.kind is Kind.ELEMENTWISE:
        return made._new(trace.in_order(made._node, None))
    if func in LIKE_FUNCTIONS and is_tracer(args[0]):
        order = letter(kwargs.get("order"), LIKE_FUNCTIONS[func])
        if made.ndim != args[0].ndim and order in ("A", "K"):
            is_turned = args[0].transpose()._is_contiguous() and not args[0]._is_contiguous()
            order = "F" if order == "A" and is_turned else "C"
        return trace.like(made._node, args[0], order)
    return made


def _gives_scalar(function: Callable[..., Any], args: tuple) -> bool:
    """Whether NumPy gives the number, and not the array without axes that it has written it to.

    Methods of scalars do, which functions of their names call.
    """
    of_scalar = bool(args) and is_tracer(args[0]) and args[0]._scalar and hasattr(np.generic, function.__name__)
    return function in _OF_SCALARS or of_scalar


def _in_order_of_choices(made: Tracer, *operands: Any) -> Tracer:
    """What `numpy.where` gives in the memory order of all its operands, where the chosen one is the only one left."""
    orders, node = made._trace.orders, made._node
    if node.type.ndim < 2 or node.op is not WHERE or node.args[0].shape:
        return made
    known = [(v._strides() or contiguous_strides(v.shape, v.dtype.itemsize), v.shape) for v in operands if is_tracer(v)]
    known += [(v.strides, v.shape) for v in map(np.asanyarray, (v for v in operands if not is_tracer(v)))]
    strides = orders.normal(node, kept_order(node, [(s, shape) for s, shape in known if shape]))
    if strides == orders.of_result(node):
        return made
    made = made._new(made._trace.in_order(node, strides))
    made._own(strides)
    return made


def _left_to_numpy(trace: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call of a function that has no row: by its source, or as a step that NumPy executes."""
    made = trace.through(trace, function, args, kwargs)
    return trace.calls.host_call(function, function.__name__, args, kwargs) if made is None else made[0]


def form_in(value: Any) -> Form | None:
    """The form of an array in the arguments of a call that is not ordinary."""
    if is_tracer(value):
        return value._form()
    parts = value.values() if type(value) is dict else value if type(value) in (tuple, list) else ()
    return next((form for part in parts if (form := form_in(part)) is not None), None)


def _in_known_order(function: Callable[..., Any], a: Any, *args: Any, **kwargs: Any) -> tuple[tuple, dict[str, Any]]:
    """The arguments of `ravel` or `reshape` with the order of the elements in memory as one that depends on no array.

    ``ravel(a, "K")``  →  ``ravel(a.transpose(axes), "C")``, the axes by their strides
    """
    place = 0 if function is np.ravel else 1
    order = args[place] if len(args) > place else kwargs.get("order", "C")
    if order == "K" and function is np.reshape:
        raise NotCovered("reshape in the order of memory")
    if order not in ("A", "K") or not is_tracer(a) or not a._is_array():
        return (a, *args), kwargs
    strides = a._strides() or ()
    known = "C"
    if not a._is_contiguous() and a.transpose()._is_contiguous():
        known = "F"
    elif order == "K" and not a._is_contiguous():
        if 0 in strides and min(strides) < 0:
            return (a, *args), kwargs
        a = a.transpose(by_stride(kept_order(a._node, [(strides, a.shape)]) if 0 in strides else strides))
    if len(args) > place:
        return (a, *args[:place], known, *args[place + 1 :]), kwargs
    return (a, *args), kwargs | {"order": known}


def wrap(result: Any, like: Tracer, viewed: dict[Node, Tracer] | None = None, contiguous: bool = False) -> Any:
    """Tracers, in the trace of `like`, for the nodes in the result of a function of the op table.

    With `viewed`, they share the memory of those operands that they are views of; without, they are fresh arrays.
    `contiguous` says that NumPy copies what would not be C-contiguous.
    """
    if isinstance(result, (list, tuple)):
        return type(result)(wrap(r, like, viewed, contiguous) for r in result)
    trace = like._trace
    trace.phases.check(result)
    trace.effects.operation(result)
    base = result
    while viewed and base.op.kind is Kind.VIEW and base not in viewed:
        base = base.args[0]
    source = viewed.get(base) if viewed else None
    if result.op.read_only and viewed is not None and (source is None or source._scalar):
        # NumPy makes an array of what is given, and nobody can write through the view of it.
        return like._new(trace.fresh(base))._seen_as(region_between(result, base))
    if source is None:
        return like._new(trace.fresh(result), scalar=result.shape == () and not result.op.view_like)
    if base is result:
        return source if not result.type.weak else like._new(b.cast(result, result.dtype))
    if source._scalar:  # scalars have no memory that anyone could see
        return like._new(trace.fresh(result), scalar=not result.shape)
    if source._storage().is_copied(result, contiguous):
        copied = result
        while copied.op.name == "transpose":  # a view of what a reshape has copied
            copied = copied.args[0]
        return like._new(trace.fresh(copied))._seen_as(region_between(result, copied))
    return source._view(result)
