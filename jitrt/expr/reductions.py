"""Rows of the reductions, with the definitions that NumPy's own sources give them.

The primitive folds (`reduce_add` …) are what kernels compute; `sum`, `mean`, `nanvar` … are compounds of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from . import build as b
from .node import Constant, Node
from .optable import NUMPY_FUNCTIONS, Kind, NotCovered, Op, numpy_function, row
from .types import ArrayType, canonical

_NO_VALUE = np._NoValue  # NumPy's own mark of an argument that was not given


def _fold(ufunc: np.ufunc, identity: Callable[[np.dtype], Any]) -> Op:
    def compute(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)

    op = row(Op(f"reduce_{ufunc.__name__}", Kind.REDUCTION, numpy=compute, ufunc=ufunc, associative=True))
    FOLD_IDENTITY[op] = identity
    return op


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind in "fc":
        return dtype.type(-np.inf if dtype.kind == "f" else complex(-np.inf, -np.inf))
    return np.False_ if dtype.kind == "b" else dtype.type(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind in "fc":
        return dtype.type(np.inf if dtype.kind == "f" else complex(np.inf, np.inf))
    return np.True_ if dtype.kind == "b" else dtype.type(np.iinfo(dtype).max)


# The neutral element by which a fold or a scan starts; a sum starts from 0.0: that of negative zeros is a positive one.
FOLD_IDENTITY: dict[Op, Callable[[np.dtype], Any]] = {}

REDUCE_ADD = _fold(np.add, lambda t: t.type(0))
REDUCE_MULTIPLY = _fold(np.multiply, lambda t: t.type(1))
REDUCE_MAXIMUM = _fold(np.maximum, _lowest)
REDUCE_MINIMUM = _fold(np.minimum, _highest)
# The neutral element of fmax and fmin is nan, which they ignore; integers have no nan.
REDUCE_FMAX = _fold(np.fmax, lambda t: t.type(np.nan) if t.kind in "fc" else _lowest(t))
REDUCE_FMIN = _fold(np.fmin, lambda t: t.type(np.nan) if t.kind in "fc" else _highest(t))
REDUCE_OR = _fold(np.logical_or, lambda t: np.False_)
REDUCE_AND = _fold(np.logical_and, lambda t: np.True_)


def reduce(op: Op, x: Node, axes: tuple[int, ...], keepdims: bool = False) -> Node:
    """Fold `x` over `axes` (sorted, non-negative) with `op`; over no axes, every element is folded into the start."""
    if axes:
        shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        result = Node(op, (x,), b.params(axes=axes), ArrayType(x.dtype, shape))
        return _keep_dims(result, axes) if keepdims else result
    assert op.ufunc is not None
    if op.ufunc.identity is None:
        return x
    return b.elementwise(op.ufunc, b.constant(x.dtype.type(op.ufunc.identity)), x)


def _reduced_shape(x: Node, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    return tuple(n for a, n in enumerate(x.shape) if a not in axes)


@lru_cache(maxsize=64)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _compute(function: Callable[..., Any], x: np.ndarray, *mask: np.ndarray, **arguments: Any) -> Any:
    """Run NumPy's `function`; a second operand is its ``where`` mask."""
    if mask:
        arguments["where"] = mask[0]
    return function(x, **arguments)


def _declare(
    function: Callable[..., Any],
    lower: Callable[[Node], Node],
    method: str | None = None,
    identity: bool = True,
) -> None:
    """Add the row of a reduction; NumPy's arguments become parameters of a node of that name.

    `identity` says that an empty selection has a value.
    """
    name = {"amax": "max", "amin": "min"}.get(function.__name__, function.__name__)
    row(Op(name, Kind.COMPOUND, numpy=partial(_compute, function), lower=lower))

    @numpy_function(function, method=method)
    def bind(*args: Any, **kwargs: Any) -> Node:
        given = _signature(function).bind(*args, **kwargs).arguments
        given = {k: v for k, v in given.items() if v is not _NO_VALUE}
        a = given.pop("a")
        if not isinstance(a, Node) or a.dtype.kind not in "biufc" or given.pop("out", None) is not None:
            raise NotCovered(f"{name} of such operands")
        a = b.cast(a, a.dtype)
        axis = given.pop("axis", None)
        if not a.type.ndim and axis not in (None, ()):
            raise NotCovered(f"{name} of a scalar along an axis")  # some of NumPy's functions let 0 and -1 pass
        axes = b.normalize_axes(axis, a.type.ndim)
        keepdims = bool(given.pop("keepdims", False))
        operands: tuple[Node, ...] = (a,)
        mask = given.pop("where", True)
        if mask is not True:
            mask = mask if isinstance(mask, Node) else b.constant(np.asarray(mask))
            if mask.dtype.kind != "b" or ("initial" not in given and not identity):
                raise NotCovered(f"{name} with such a where=")
            operands = (a, b.broadcast_to(mask, a.shape))
        elif not identity and "initial" not in given and any(a.shape[k] == 0 for k in axes):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if given.get("dtype", 0) is None:
            del given["dtype"]
        for key, value in given.items():
            if key == "dtype":
                given[key] = canonical(np.dtype(value))
            elif key in ("initial", "ddof") and isinstance(value, (int, float, complex, np.generic)):
                if _is_negative_zero(value):
                    raise NotCovered(f"{name} from -0.0")  # the folds start from 0.0, which absorbs it
                given[key] = Constant(value)
            else:
                raise NotCovered(f"{name} with {key}={value!r}")
        probe = {k: given[k] for k in ("dtype",) if k in given}
        with np.errstate(all="ignore"):
            dtype = b.probe_dtype(function, a.type, **probe)
        if dtype.kind not in "biufc":
            raise NotCovered(f"{name} with a result of {dtype}")
        shape = _reduced_shape(a, axes, keepdims)
        return b.compound(name, operands, ArrayType(dtype, shape), axis=axes, keepdims=keepdims, **given)


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
            initial = b.constant(np.asarray(n["initial"].value).astype(result.dtype)[()])
            assert op.ufunc is not None
            result = b.elementwise(op.ufunc, result, initial)
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
    if x.dtype.kind not in "fc":
        return x
    return b.where(b.elementwise(np.isnan, x), b.constant(x.dtype.type(replacement)), x)


def _zero(dtype: np.dtype) -> Any:
    return dtype.type(0)


_declare(np.sum, _fold_lowering(REDUCE_ADD, _as_dtype, _zero), "sum")
_declare(np.prod, _fold_lowering(REDUCE_MULTIPLY, _as_dtype), "prod")
_declare(np.max, _fold_lowering(REDUCE_MAXIMUM, _as_dtype), "max", identity=False)
_declare(np.min, _fold_lowering(REDUCE_MINIMUM, _as_dtype), "min", identity=False)
_declare(np.any, _fold_lowering(REDUCE_OR, _nonzero), "any")
_declare(np.all, _fold_lowering(REDUCE_AND, _nonzero), "all")
_declare(np.count_nonzero, _fold_lowering(REDUCE_ADD, _nonzero))
_declare(np.nansum, _fold_lowering(REDUCE_ADD, _without_nan(0.0), _zero))
_declare(np.nanprod, _fold_lowering(REDUCE_MULTIPLY, _without_nan(1.0)))
_declare(np.nanmax, _fold_lowering(REDUCE_FMAX, _as_dtype), identity=False)
_declare(np.nanmin, _fold_lowering(REDUCE_FMIN, _as_dtype), identity=False)


def _declare_reduce(ufunc: np.ufunc, function: Callable[..., Any]) -> None:
    """``ufunc.reduce``, which `function` calls, but for another default axis."""

    @numpy_function(ufunc.reduce)
    def bind(array: Any, axis: Any = 0, **kwargs: Any) -> Node:
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


_declare(np.ptp, _lower_ptp, identity=False)


def _count(n: Node, selected: Node | None, keepdims: bool) -> Node:
    """How many elements each result is made of, as NumPy counts them: an ``intp``."""
    if selected is None:
        return b.constant(np.intp(math.prod(n.args[0].shape[a] for a in n["axis"])))
    return reduce(REDUCE_ADD, b.cast(selected, np.dtype(np.intp)), n["axis"], keepdims)


def _divide(total: Node, count: Node) -> Node:
    """``true_divide(total, count, casting="unsafe")`` into the dtype of `total`."""
    return b.cast(b.elementwise(np.divide, total, count), total.dtype)


def _moment_dtype(n: Node) -> np.dtype:
    """dtype in which NumPy accumulates a mean or a variance of the operand."""
    x = n.args[0]
    if x.dtype == np.float16 and not n.op.name.startswith("nan"):
        return n.kwargs.get("dtype", np.dtype(np.float32))
    return n.kwargs.get("dtype", x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64))


def _lower_mean(n: Node) -> Node:
    x, selected = n.args[0], n.args[1] if len(n.args) == 2 else None
    x = b.cast(x, _moment_dtype(n))
    if selected is not None:
        x = b.where(selected, x, b.constant(x.dtype.type(0)))
    mean = b.cast(_divide(reduce(REDUCE_ADD, x, n["axis"]), _count(n, selected, keepdims=False)), n.dtype)
    return _keep_dims(mean, n["axis"]) if n["keepdims"] else mean


def _variance(n: Node, selected: Node | None, in_place: bool = False) -> Node:
    """The two-pass algorithm of NumPy's ``_var`` over the elements that are `selected`.

    A given dtype is that of the sums; deviations are from the operand itself, and with `in_place` of its dtype.
    """
    x, moment = n.args[0], _moment_dtype(n)
    total = reduce(REDUCE_ADD, _select(selected, b.cast(x, moment)), n["axis"])
    mean = _divide(total, _count(n, selected, keepdims=False))
    deviation = b.elementwise(np.subtract, x, _keep_dims(mean, n["axis"]))
    if in_place:
        deviation = b.cast(deviation, x.dtype)
    if deviation.dtype.kind == "c":
        conjugate = b.elementwise(np.conjugate, deviation)
        square = b.real(b.elementwise(np.multiply, deviation, conjugate))
    else:
        square = b.elementwise(np.multiply, deviation, deviation)
    if "dtype" in n.kwargs or moment.kind != "c":
        square = b.cast(square, moment)
    total = reduce(REDUCE_ADD, _select(selected, square), n["axis"], n["keepdims"])
    ddof = n["ddof"].value if "ddof" in n.kwargs else 0
    count = _count(n, selected, n["keepdims"])
    freedom = b.elementwise(np.subtract, count, b.constant(ddof))
    return _divide(total, b.elementwise(np.maximum, freedom, b.constant(0)))


def _keep_dims(x: Node, axes: tuple[int, ...]) -> Node:
    return b.view("expand_dims", x, axis=axes) if axes else x


def _select(selected: Node | None, x: Node) -> Node:
    return x if selected is None else b.where(selected, x, b.constant(x.dtype.type(0)))


def _lower_var(n: Node) -> Node:
    selected = n.args[1] if len(n.args) == 2 else None
    return b.cast(_variance(n, selected), n.dtype)


def _lower_std(n: Node) -> Node:
    return b.elementwise(np.sqrt, _lower_var(n))


def _not_nan(n: Node) -> Node | None:
    x = n.args[0]
    return b.elementwise(np.logical_not, b.elementwise(np.isnan, x)) if x.dtype.kind in "fc" else None


def _selected_not_nan(n: Node) -> Node | None:
    present = _not_nan(n)
    if len(n.args) == 1 or present is None:
        return n.args[1] if len(n.args) == 2 else present
    return b.elementwise(np.logical_and, present, n.args[1])


def _lower_nanmean(n: Node) -> Node:
    selected = _selected_not_nan(n)
    x = _select(selected, b.cast(n.args[0], _moment_dtype(n)))
    total = reduce(REDUCE_ADD, x, n["axis"], n["keepdims"])
    return b.cast(_divide(total, _count(n, selected, n["keepdims"])), n.dtype)


def _lower_nanvar(n: Node) -> Node:
    selected = _selected_not_nan(n)
    variance = b.cast(_variance(n, selected, in_place=n.args[0].dtype.kind in "fc"), n.dtype)
    if selected is None:
        return variance
    ddof = b.constant(n["ddof"].value if "ddof" in n.kwargs else 0)
    enough = b.elementwise(np.greater, _count(n, selected, n["keepdims"]), ddof)
    return b.where(enough, variance, b.constant(n.dtype.type(np.nan)))


def _lower_nanstd(n: Node) -> Node:
    return b.elementwise(np.sqrt, _lower_nanvar(n))


_declare(np.mean, _lower_mean, "mean")
_declare(np.var, _lower_var, "var")
_declare(np.std, _lower_std, "std")
_declare(np.nanmean, _lower_nanmean)
_declare(np.nanvar, _lower_nanvar)
_declare(np.nanstd, _lower_nanstd)


def _arg_fold(extreme: Op) -> Op:
    """The row of a search: where along the last axis the extreme stands first."""
    find = np.argmax if extreme is REDUCE_MAXIMUM else np.argmin

    def compute(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return find(x, axis=axes[0])

    op = row(Op(f"arg_{extreme.name}", Kind.REDUCTION, numpy=compute, ufunc=extreme.ufunc))
    EXTREME[op] = extreme
    return op


EXTREME: dict[Op, Op] = {}  # of a search: the fold that gives the value which it finds
_SEARCHES = {np.argmax: _arg_fold(REDUCE_MAXIMUM), np.argmin: _arg_fold(REDUCE_MINIMUM)}


def _lower_arg(function: Callable[..., Any], n: Node) -> Node:
    """A search along the last axis, or the least of the places along another at which the extreme stands.

    A nan is the extreme, and stands where the element is nan, too.
    """
    (x,) = n.args
    axis, keepdims = n["axis"], n["keepdims"]
    search = _SEARCHES[function]
    if axis is None:
        x, axis, kept = b.view("reshape", x, shape=(-1,)), 0, tuple(range(x.type.ndim))
    else:
        kept = (axis,)
    shape = _reduced_shape(x, (axis,), False)
    if x.shape[axis] == 1:
        result = b.broadcast_to(b.constant(np.intp(0)), shape)
    elif axis == x.type.ndim - 1 or x.dtype.char not in "?bBhHiIlLqQfd":
        result = Node(search, (x,), b.params(axes=(axis,)), ArrayType(np.dtype(np.intp), shape))
    else:
        extreme = reduce(EXTREME[search], x, (axis,), keepdims=True)
        found = b.elementwise(np.equal, x, extreme)
        if x.dtype.kind == "f":
            nan = b.elementwise(np.logical_and, b.elementwise(np.isnan, x), b.elementwise(np.isnan, extreme))
            found = b.elementwise(np.logical_or, found, nan)
        along = np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.type.ndim - 1 - axis))
        places = b.broadcast_to(b.constant(along), x.shape)
        result = reduce(REDUCE_MINIMUM, b.where(found, places, b.constant(np.intp(x.shape[axis]))), (axis,))
    return _keep_dims(result, kept) if keepdims else result


def _declare_index(function: Callable[..., Any], method: str | None = None, compiled: bool = False) -> None:
    """Add the row of a function that gives the index of an extreme; NumPy executes those that have to raise."""
    name = function.__name__
    if compiled:
        row(Op(name, Kind.COMPOUND, numpy=function, lower=partial(_lower_arg, function), order="C"))
    else:
        row(Op(name, Kind.HOST, numpy=function, order="C"))

    @numpy_function(function, method=method)
    def bind(*args: Any, **kwargs: Any) -> Node:
        given = {k: v for k, v in _signature(function).bind(*args, **kwargs).arguments.items() if v is not _NO_VALUE}
        a, axis, keepdims = given.pop("a"), given.pop("axis", None), bool(given.pop("keepdims", False))
        if not isinstance(a, Node) or any(v is not None for v in given.values()) or not a.type.ndim or not a.type.size:
            raise NotCovered(f"{name} of such operands")
        a = b.cast(a, a.dtype)
        axes = b.normalize_axes(axis, a.type.ndim)
        type_ = ArrayType(b.probe_dtype(function, a.type), _reduced_shape(a, axes, keepdims))
        return b.compound(name, (a,), type_, axis=axis if axis is None else axes[0], keepdims=keepdims)


_declare_index(np.argmin, "argmin", compiled=True)
_declare_index(np.argmax, "argmax", compiled=True)
_declare_index(np.nanargmin)
_declare_index(np.nanargmax)
