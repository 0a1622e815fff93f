"""Rows of the reductions: `sum`, `nanprod` … are compounds, lowered to primitive folds, and `argmax` to searches."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .. import build as b
from ..node import Constant, Node
from ..types import ArrayType
from .folds import (
    EXTREME,
    FOLD_IDENTITY,
    REDUCE_ADD,
    REDUCE_AND,
    REDUCE_FMAX,
    REDUCE_FMIN,
    REDUCE_MAXIMUM,
    REDUCE_MINIMUM,
    REDUCE_MULTIPLY,
    REDUCE_OR,
    SEARCHES,
    keep_dims,
    reduce,
)
from .operands import array_node, strong_node
from .optable import NUMPY_FUNCTIONS, ContiguousWanted, Kind, NotCovered, Op, numpy_function, row

_NO_VALUE = np._NoValue  # NumPy's own mark of an argument that was not given


def reduced_shape(x: Node, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape of what is left of `x` when `axes` are folded."""
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    return tuple(n for a, n in enumerate(x.shape) if a not in axes)


@lru_cache(maxsize=64)
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Signature, tuple[str, ...], int, int]:
    """The signature of `function`, the names of its parameters, and how many can, and must, be given by position."""
    signature = inspect.signature(function)
    positional = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    needed = sum(p.default is p.empty for p in signature.parameters.values())
    return signature, tuple(signature.parameters), len(positional), needed


def given_arguments(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call of NumPy's `function` by the names of its parameters.

    Raises
    ------
    TypeError
        If it has no such parameters.
    """
    signature, names, most, needed = _parameters(function)
    arguments = dict(zip(names, args)) | kwargs
    if len(arguments) == len(args) + len(kwargs) and needed <= len(args) <= most and arguments.keys() <= set(names):
        return {name: arguments[name] for name in names if arguments.get(name, _NO_VALUE) is not _NO_VALUE}
    arguments = signature.bind(*args, **kwargs).arguments
    return {k: v for k, v in arguments.items() if v is not _NO_VALUE}


def _compute(function: Callable[..., Any], x: np.ndarray, *others: np.ndarray, **arguments: Any) -> Any:
    """Run NumPy's `function`; further operands are its ``where`` mask and, if `arguments` say so, the ``mean``."""
    if "mean" in arguments:
        *others, arguments["mean"] = others  # type: ignore[assignment]
    if others:
        arguments["where"] = others[0]
    return function(x, **arguments)


def declare(
    function: Callable[..., Any],
    lower: Callable[[Node], Node],
    method: str | None = None,
    identity: bool = True,
    without: str = "",
    rounds: bool = False,
    warns: Callable[[Node], Node | None] | None = None,
) -> None:
    """Add the row of a reduction; NumPy's arguments become parameters of a node of that name.

    `identity` says that an empty selection has a value; `without` are characters of dtypes that are left to NumPy.
    `rounds` says that a result of half precision is rounded after each inner loop of NumPy's iterator, as it is
    wherever that is given as ``dtype``: along the last axes of a C-contiguous operand that is one loop for each result,
    otherwise there are as many as memory has rows.
    """
    name = {"amax": "max", "amin": "min"}.get(function.__name__, function.__name__)
    row(Op(name, Kind.COMPOUND, numpy=partial(_compute, function), lower=lower, warns=warns))

    @numpy_function(function, method=method)
    def bind(*args: Any, **kwargs: Any) -> Node:
        given = given_arguments(function, args, kwargs)
        a = given.pop("a")
        a, axis = array_node(a), given.pop("axis", None)
        if a.dtype.kind not in "biufc" or a.dtype.char in without or given.pop("out", None) is not None:
            raise NotCovered(f"{name} of such operands")
        if not a.type.ndim and axis not in (None, ()):
            raise NotCovered(f"{name} of a scalar along an axis")  # some of NumPy's functions let 0 and -1 pass
        axes = b.normalize_axes(axis, a.type.ndim)
        keepdims = given.pop("keepdims", False)
        if type(keepdims) not in (bool, int):
            raise NotCovered(f"{name} with keepdims={keepdims!r}")
        keepdims = bool(keepdims)
        operands: tuple[Node, ...] = (a,)
        mask = given.pop("where", True)
        if mask is not True:
            mask = array_node(mask)
            if mask.dtype.kind != "b" or ("initial" not in given and not identity):
                raise NotCovered(f"{name} with such a where=")
            operands = (a, b.broadcast_to(mask, a.shape))
        elif not identity and "initial" not in given and any(a.shape[k] == 0 for k in axes):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if given.get("dtype", 0) is None:
            del given["dtype"]
        if "mean" in given:
            mean, wanted = given["mean"], a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
            known = isinstance(mean, Node) and mean.type == ArrayType(wanted, reduced_shape(a, axes, True))
            if not known or "dtype" in given:
                raise NotCovered(f"{name} with such a mean=")
            operands, given["mean"] = (*operands, mean), True
        for key, value in given.items():
            if key == "dtype":
                given[key] = b.given_dtype(value)
                if function in (np.nanvar, np.nanstd) and given[key].kind == "c" != a.dtype.kind:
                    raise NotCovered(f"{name} of complex numbers, of which parts are discarded")
                if warns is not None and given[key].kind in "biu":
                    raise NotCovered(f"{name} in integers")  # of arrays and of scalars NumPy makes different dtypes
            elif key in ("initial", "ddof") and isinstance(value, (int, float, complex, np.generic)):
                if _is_negative_zero(value):
                    raise NotCovered(f"{name} from -0.0")  # the folds start from 0.0, which absorbs it
                given[key] = Constant(value)
            elif key != "mean":
                raise NotCovered(f"{name} with {key}={value!r}")
        probe = {k: given[k] for k in ("dtype",) if k in given}
        with np.errstate(all="ignore"):
            dtype = b.probe_dtype(function, a.type, **probe)
        if dtype.kind not in "biufc":
            raise NotCovered(f"{name} with a result of {dtype}")
        is_rounded = dtype == np.float16 and (rounds or "dtype" in given)
        are_last = bool(axes) and axes == tuple(range(a.type.ndim))[-len(axes) :]
        if is_rounded and not (are_last and len(operands) == 1 and a.dtype == dtype):
            raise NotCovered(f"{name} that is rounded to half precision after each row")
        if "initial" in given:
            given["initial"] = Constant(_element(given["initial"].value, dtype))
        shape = reduced_shape(a, axes, keepdims)
        made = b.compound(name, operands, ArrayType(dtype, shape), axis=axes, keepdims=keepdims, **given)
        if is_rounded and a.type.ndim > 1:
            raise ContiguousWanted(made)
        return made


def _element(value: Any, dtype: np.dtype) -> Any:
    """A number as an element of `dtype`.

    Raises
    ------
    NotCovered
        If it is out of range, of which NumPy tells in every call.
    """
    element = np.empty((), dtype)
    try:
        with np.errstate(all="raise"):
            element[()] = value
    except (TypeError, OverflowError, FloatingPointError) as error:
        raise NotCovered(str(error)) from None
    return element[()]


def _is_negative_zero(value: Any) -> bool:
    return any(part == 0 and math.copysign(1.0, part) < 0 for part in (value.real, value.imag))


def _fold_lowering(
    op: Op, operand: Callable[[Node, np.dtype], Node], masked: Callable[[np.dtype], Any] | None = None
) -> Callable[[Node], Node]:
    """Lowering to one fold of ``operand(x, dtype)``; `masked` replaces what ``where`` leaves out."""

    def lower(n: Node) -> Node:
        accumulator = n.kwargs.get("dtype", n.dtype)
        x = operand(n.args[0], accumulator)
        if len(n.args) == 2:
            neutral = b.constant((masked or FOLD_IDENTITY[op])(x.dtype))
            x = b.where(n.args[1], x, neutral)
        result = reduce(op, x, n["axis"], n["keepdims"])
        if "initial" in n.kwargs:
            assert op.ufunc is not None
            result = b.elementwise(op.ufunc, result, b.constant(n["initial"].value))
        return result

    return lower


def _as_dtype(x: Node, dtype: np.dtype) -> Node:
    return b.cast(x, dtype)


def _nonzero(x: Node, dtype: np.dtype) -> Node:
    return b.cast(b.cast(x, np.dtype(bool)), dtype)


def _without_nan(replacement: float) -> Callable[[Node, np.dtype], Node]:
    def operand(x: Node, dtype: np.dtype) -> Node:
        return b.cast(replace_nan(x, replacement), dtype)

    return operand


def replace_nan(x: Node, replacement: float) -> Node:
    """`x` with another number in place of nan."""
    if x.dtype.kind not in "fc":
        return x
    return b.where(b.elementwise(np.isnan, x), b.constant(x.dtype.type(replacement)), x)


def _zero(dtype: np.dtype) -> Any:
    return dtype.type(0)


declare(np.sum, _fold_lowering(REDUCE_ADD, _as_dtype, _zero), "sum", rounds=True)
declare(np.prod, _fold_lowering(REDUCE_MULTIPLY, _as_dtype), "prod", rounds=True)
declare(np.max, _fold_lowering(REDUCE_MAXIMUM, _as_dtype), "max", identity=False)
declare(np.min, _fold_lowering(REDUCE_MINIMUM, _as_dtype), "min", identity=False)
NUMPY_FUNCTIONS.update({np.amax: NUMPY_FUNCTIONS[np.max], np.amin: NUMPY_FUNCTIONS[np.min]})
declare(np.any, _fold_lowering(REDUCE_OR, _nonzero), "any")
declare(np.all, _fold_lowering(REDUCE_AND, _nonzero), "all")
declare(np.count_nonzero, _fold_lowering(REDUCE_ADD, _nonzero))
declare(np.nansum, _fold_lowering(REDUCE_ADD, _without_nan(0.0), _zero), rounds=True)
declare(np.nanprod, _fold_lowering(REDUCE_MULTIPLY, _without_nan(1.0)), rounds=True)

# What NumPy does in one pass over an array.
ONE_PASS = frozenset({np.sum, np.prod, np.max, np.min, np.amax, np.amin, np.any, np.all, np.mean})


def _warns_of_nan(lower: Callable[[Node], Node]) -> Callable[[Node], Node | None]:
    """As NumPy's ``nanmax`` does: nothing but nan is left where all is nan."""
    return lambda n: b.elementwise(np.isnan, lower(n)) if n.dtype.kind in "fc" else None


_lower_nanmax, _lower_nanmin = (_fold_lowering(fold, _as_dtype) for fold in (REDUCE_FMAX, REDUCE_FMIN))
declare(np.nanmax, _lower_nanmax, identity=False, warns=_warns_of_nan(_lower_nanmax))
declare(np.nanmin, _lower_nanmin, identity=False, warns=_warns_of_nan(_lower_nanmin))


def _declare_reduce(ufunc: np.ufunc, function: Callable[..., Any]) -> None:
    """``ufunc.reduce``, which `function` calls, but for another default axis."""

    @numpy_function(ufunc.reduce)
    def bind(array: Any, axis: Any = 0, dtype: Any = None, **kwargs: Any) -> Node:
        if not kwargs.keys() <= set(_parameters(function)[1]):
            raise NotCovered(f"{ufunc.__name__}.reduce with {', '.join(kwargs)}")
        if dtype is None:
            return NUMPY_FUNCTIONS[function](array, axis=axis, **kwargs)
        if function in (np.sum, np.prod):
            return NUMPY_FUNCTIONS[function](array, axis=axis, dtype=dtype, **kwargs)
        of_its_own = array_node(array).dtype if function in (np.max, np.min) else np.dtype(bool)
        if np.dtype(dtype) != of_its_own:
            raise NotCovered("a fold in another dtype")
        return NUMPY_FUNCTIONS[function](array, axis=axis, **kwargs)


for _ufunc, _function in (
    (np.add, np.sum),
    (np.multiply, np.prod),
    (np.maximum, np.max),
    (np.minimum, np.min),
    (np.logical_or, np.any),
    (np.logical_and, np.all),
):
    _declare_reduce(_ufunc, _function)


def _lower_ptp(n: Node) -> Node:
    (x,) = n.args
    high, low = (reduce(op, x, n["axis"], n["keepdims"]) for op in (REDUCE_MAXIMUM, REDUCE_MINIMUM))
    return b.elementwise(np.subtract, high, low)


declare(np.ptp, _lower_ptp, identity=False)


FEWEST_COLUMNS = 8  # NumPy copies columns to rows, and compares several elements at once


def _lower_arg(function: Callable[..., Any], n: Node) -> Node:
    """A search along the last axis, or the least of the places along another at which the extreme stands.

    A nan is the extreme: where it is a number, no element is nan.
    """
    (x,) = n.args
    axis, keepdims = n["axis"], n["keepdims"]
    search = SEARCHES[function]
    if axis is None:
        x, axis, kept = b.view("reshape", x, shape=(-1,)), 0, tuple(range(x.type.ndim))
    else:
        kept = (axis,)
    shape = reduced_shape(x, (axis,), False)
    if x.shape[axis] == 1:
        result = b.broadcast_to(b.constant(np.intp(0)), shape)
    elif axis == x.type.ndim - 1 or x.dtype.char not in "?bBhHiIlLqQfd":
        result = Node(search, (x,), b.params(axes=(axis,)), ArrayType(np.dtype(np.intp), shape))
    else:
        extreme = reduce(EXTREME[search], x, (axis,), keepdims=True)
        found = b.elementwise(np.equal, x, extreme)
        if x.dtype.kind == "f":
            found = b.elementwise(np.logical_or, found, b.elementwise(np.isnan, x))
        along = b.view("reshape", b.positions(x.shape[axis]), shape=(x.shape[axis], *(1,) * (x.type.ndim - 1 - axis)))
        places = b.broadcast_to(along, x.shape)
        result = reduce(REDUCE_MINIMUM, b.where(found, places, b.count(x.shape[axis])), (axis,))
    return keep_dims(result, kept) if keepdims else result


def _declare_index(function: Callable[..., Any], method: str | None = None, compiled: bool = False) -> None:
    """Add the row of a function that gives the index of an extreme; NumPy executes those that have to raise."""
    name = function.__name__
    if compiled:
        row(Op(name, Kind.COMPOUND, numpy=function, lower=partial(_lower_arg, function), order="C"))
    else:
        row(Op(name, Kind.HOST, numpy=function, order="C"))

    @numpy_function(function, method=method)
    def bind(*args: Any, **kwargs: Any) -> Node:
        given = given_arguments(function, args, kwargs)
        a, axis, keepdims = given.pop("a"), given.pop("axis", None), bool(given.pop("keepdims", False))
        a = strong_node(a)
        if any(v is not None for v in given.values()) or not a.type.size or not a.type.ndim:
            raise NotCovered(f"{name} of such operands")
        axes = b.normalize_axes(axis if axis is None else b.integer(axis), a.type.ndim)
        if compiled and axis is not None and 1 < math.prod(a.shape[axes[0] + 1 :]) < FEWEST_COLUMNS < a.shape[axes[0]]:
            raise NotCovered(f"{name} of few columns")
        type_ = ArrayType(b.probe_dtype(function, a.type), reduced_shape(a, axes, keepdims))
        return b.compound(name, (a,), type_, axis=axis if axis is None else axes[0], keepdims=keepdims)


_declare_index(np.argmin, "argmin", compiled=True)
_declare_index(np.argmax, "argmax", compiled=True)
_declare_index(np.nanargmin)
_declare_index(np.nanargmax)
