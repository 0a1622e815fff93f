"""Assignments to tracers: by index, to all elements, and to the `out` of a call."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from functools import lru_cache, partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core._exceptions import _UFuncOutputCastingError

from ...errors import Untraceable
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.movement import encode_index
from ...ir.ops.operands import PROMOTIONS_KEEP, array_node
from ...ir.ops.optable import CONTIGUOUS_OUT, INPUT, NotCovered
from ..forms import check
from ..python.userline import user_line
from ..storage import fit
from .numbers import fits_scalar, is_symbol, stored
from .operators import is_tracer
from .silence import check_parts

if TYPE_CHECKING:
    from ..state import Trace
    from .tracer import Tracer

_ASSEMBLIES = frozenset({np.concatenate, np.stack})


@contextlib.contextmanager
def noting_refusals(*targets: Any) -> Iterator[None]:
    """What writes into `targets`: where NumPy refuses that, the trace knows."""
    try:
        yield
    except Exception:
        for array in targets:
            if is_tracer(array) and array._is_array():
                array._trace.aliases.refuse(array)
        raise


def _refusable(write: Callable[..., Any], target: int) -> Callable[..., Any]:
    """The same as `write`, which writes into its argument number `target`."""

    @wraps(write)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with noting_refusals(args[target]):
            return write(*args, **kwargs)

    return wrapper


def assign(target: Tracer, value: Any) -> None:
    """``target[...] = value``."""
    if value is target or (is_tracer(value) and _is_same_memory(value, target)):
        if target._storage().content.op is INPUT:  # NumPy asks whether it may write
            _write(target, target._trace.copy(target._node))
        return  # the second half of ``x[i] += v``
    _check_order(value, target)
    node = _value_node(value, target)
    _check_cast(node, target.dtype)
    _write(target, fit(node, target.dtype, target.shape))


def _check_order(value: Any, target: Tracer) -> None:
    """Leave to the plain function the copies in which NumPy reads what it has just written: ``x[::2] = x[:4]``."""
    cell = target._cell
    if cell is None or not is_tracer(value) or value._cell is not cell:
        return
    if cell.is_copied_in_order(value._node, target._node):
        raise Untraceable("copies a part of an array to another one that overlaps it, in other steps", user_line())


def _is_same_memory(value: Tracer, target: Tracer) -> bool:
    return value._cell is not None and value._cell is target._cell and value._node is target._node


def _write(target: Tracer, value: Node) -> None:
    """Store a value that has the shape and dtype of `target`."""
    region = target._region()
    cell, state = target._storage(), target._trace
    state.effects.write(cell)
    state.effects.operation(value)
    state.aliases.check_write(cell)
    if not region:
        value = state.fresh(value)
        if state.orders.strides(value) != state.orders.normal(target._node, cell.strides):
            value = state.copy(value)  # the same elements in the memory order of the array
            state.orders.note(value, cell.strides)
    cell.write(region, value)


def _value_node(value: Any, target: Tracer) -> Node:
    """What is assigned, as a node; a number in the dtype of the target."""
    if is_tracer(value):
        if value._scalar and not fits_scalar(target._trace, value._node, target.dtype):
            raise Untraceable(f"stores a {value.dtype} that may not fit into an array of {target.dtype}", user_line())
        return stored(target._trace, value._node, target.dtype)
    if isinstance(value, np.complexfloating) and target.dtype.kind in "biuf":
        raise Untraceable("stores a complex number as a real one, of which NumPy warns", user_line())
    if isinstance(value, (bool, int, float, complex, np.generic)) and not isinstance(value, np.flexible):
        element = np.empty((), target.dtype)
        is_cast = isinstance(value, (np.floating, np.datetime64)) and target.dtype.kind in "iu"
        try:
            with np.errstate(all="raise" if is_cast else "ignore"):  # each call has to tell NumPy's error state
                element[()] = value  # raises what NumPy raises for a number that does not fit
        except (ArithmeticError, TypeError, ValueError):
            if is_cast:  # a single one, that is: several are cast, of which NumPy may warn
                raise Untraceable("stores a number that may not fit into an integer", user_line()) from None
            raise
        is_finite = isinstance(value, int) or np.isfinite(value)
        is_too_large = target.dtype.kind in "fc" and np.isinf(element) and is_finite
        if (isinstance(value, float) and target.dtype.kind in "fc") or is_too_large:
            return target._trace.lift(np.asarray(value).astype(complex if np.iscomplexobj(value) else float).item())
        return b.constant(element[()])
    return list_for(value, target) if isinstance(value, (list, tuple)) else target._trace.lift(value)


def list_for(value: Any, target: Tracer) -> Node:
    """The array that NumPy makes of a list which it assigns to elements of `target`."""
    return list_node(target._trace, _fitting(value, target) if target.dtype.kind in "iu" else value)


def _fitting(value: Any, target: Tracer) -> Any:
    """A list for an array of integers, whose numbers become elements one by one: none may be too large."""
    if type(value) in (list, tuple):
        return [_fitting(part, target) for part in value]
    is_number = not value.shape if is_tracer(value) else isinstance(value, (bool, int, float, complex, np.generic))
    return _value_node(value, target) if is_number else value


def list_node(state: Trace, value: Any) -> Node:
    """The array that NumPy makes of tracers, numbers, and nested lists of them."""

    def node(part: Any) -> Any:
        if type(part) in (list, tuple):
            return type(part)(map(node, part))
        return part._node if is_tracer(part) else state.lift(part) if type(part) is np.ndarray else part

    try:
        return array_node(node(value))
    except NotCovered as reason:
        raise Untraceable(str(reason), user_line()) from None


def _holds_tracer(value: Any) -> bool:
    return is_tracer(value) or (type(value) in (list, tuple) and any(map(_holds_tracer, value)))


def _check_cast(value: Node, dtype: np.dtype) -> None:
    """Leave to the plain function the casts of an assignment that warn or that look at values."""
    if value.dtype == dtype or (value.dtype.kind in "biuf" and dtype.kind in "biufc" and not value.type.weak):
        return
    if value.dtype.kind == "c" and dtype.kind == "c":
        return
    if value.type.weak and np.can_cast(value.dtype, dtype, "same_kind"):
        return
    raise Untraceable(f"assigns {value.dtype} to elements of an array of {dtype}", user_line())


@partial(_refusable, target=0)
def assign_item(array: Tracer, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    index = static_index(index)
    mask = mask_of(array, index)
    if mask is not None and _assign_masked(array, *mask, value):
        return
    inner = _inner_mask(array, index) if mask is None else None
    if inner is not None and _assign_number(array, inner, value):
        return
    try:
        encoded = encode_index(index)
    except NotCovered:
        mutate(array, operator.setitem, "assignment to elements", (array, index, value), {})
        return
    if len(encoded) == array.ndim and all(type(i) is int for i in encoded) and np.ndim(value):
        raise Untraceable("assigns an array to one element", user_line())  # with one element NumPy warns, or refuses it
    slices = [i for i in encoded if i is not Ellipsis]
    whole = len(slices) <= array.ndim and all(i == (None, None, None) for i in slices)  # NumPy refuses more
    assign(array if whole else array._view(b.view("getitem", array._node, index=encoded)), value)


def static_index(index: Any, wanted: bool = True) -> Any:
    """`index` with the integers that depend on no argument as Python integers.

    If they are `wanted`, those that depend on arguments end the trace.
    """
    if isinstance(index, tuple) and type(index) is tuple:
        return tuple(static_index(i, wanted) for i in index)
    if is_tracer(index) and index.dtype.kind in "iu" and not index.shape and index._known():
        return operator.index(index)
    if wanted and is_tracer(index) and index._is_weak() and is_symbol(index._node):
        index._trace.want_integers(index._node)
    if type(index) is slice:
        return slice(*(static_index(v, wanted) for v in (index.start, index.stop, index.step)))
    return index


def mask_of(array: Tracer, index: Any) -> tuple[Node, Node] | None:
    """A boolean index of the array, or of its first axes; as it is, and in a shape that broadcasts with the array."""
    if type(index) is tuple and len(index) == 1:
        (index,) = index
    if not (is_tracer(index) or isinstance(index, np.ndarray)) or index.dtype != np.bool_ or not index.ndim:
        return None
    node = array._trace.node_of(index)
    if node.shape != array.shape[: node.type.ndim] or not array._is_array():
        return None  # an error, which NumPy describes
    return node, b.view("reshape", node, shape=node.shape + (1,) * (array.ndim - node.type.ndim))


def _inner_mask(array: Tracer, index: Any) -> Node | None:
    """A boolean index among full slices, in a shape that broadcasts with the array: ``array[:, mask]``."""
    if type(index) is not tuple or not array._is_array():
        return None
    masks = [i for i in index if (is_tracer(i) or isinstance(i, np.ndarray)) and i.dtype == np.bool_ and i.ndim]
    others = [i for i in index if type(i) is not slice and i is not Ellipsis]
    if len(masks) != 1 or others != masks or any(type(i) is slice and i != slice(None) for i in index):
        return None
    (mask,), place = masks, next(k for k, i in enumerate(index) if i is masks[0])
    first = place if Ellipsis not in index[:place] else array.ndim - mask.ndim - (len(index) - place - 1)
    node = array._trace.node_of(mask)
    if first < 0 or array.shape[first : first + mask.ndim] != node.shape or len(index) + mask.ndim - 1 > array.ndim:
        return None  # an error, which NumPy describes
    return b.view("reshape", node, shape=node.shape + (1,) * (array.ndim - first - mask.ndim))


def _assign_masked(array: Tracer, mask: Node, condition: Node, value: Any) -> bool:
    """Assign by a selection where the value does not depend on how many elements are chosen; False elsewhere."""
    choice = value._choice if is_tracer(value) else None
    if choice is not None and choice.mask is mask and choice.array.shape == array.shape:
        _check_cast(choice.array, array.dtype)
        _write(array, b.where(condition, b.cast(choice.array, array.dtype), array._node))
        return True
    return _assign_number(array, condition, value)


def _assign_number(array: Tracer, condition: Node, value: Any) -> bool:
    """Assign a single number where the condition holds; False if it may be several."""
    if (is_tracer(value) and value._choice is not None) or isinstance(value, (list, tuple)) or np.shape(value):
        return False
    node = _value_node(value, array)
    _check_cast(node, array.dtype)
    _write(array, b.where(condition, fit(node, array.dtype, array.shape), array._node))
    return True


@partial(_refusable, target=0)
def mutate(target: Any, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> None:
    """Record that NumPy makes a call which writes into `target`: it is made on a copy, the new content of the array."""
    if not is_tracer(target) or not target._is_array():
        raise Untraceable(f"{name} writes into an array", user_line())
    target._storage().check_writable(target._region())
    node = target._trace.calls.mutating_call(function, name, target._node, args, kwargs)
    _write(target, node)


@partial(_refusable, target=0)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``numpy.copyto``."""
    if not is_tracer(dst) or not dst._is_array():
        raise Untraceable("copyto writes into an array", user_line())
    _check_order(src, dst)
    if casting == "no" and dst._trace.has_forms:
        check(src._form() if is_tracer(src) else None, "copyto")
        check(dst._form(), "copyto")
    node = _copied(src, dst, casting)
    _check_cast(node, dst.dtype)
    fitted = fit(node, dst.dtype, dst.shape)
    if where is not True:
        condition = where._node if is_tracer(where) else dst._trace.lift(np.asarray(where))
        if condition.dtype != np.bool_:
            raise Untraceable("copyto where an array that is not boolean", user_line())
        fitted = b.where(b.broadcast_to(condition, dst.shape), fitted, dst._node)
    _write(dst, fitted)


@contextlib.contextmanager
def converting_for(shape: tuple[int, ...]) -> Iterator[None]:
    """What fills an array of this shape is converted: NumPy converts nothing, not even a text, for no elements."""
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        if 0 not in shape:
            raise
        raise Untraceable("fills an array that has no elements with what it could not hold", user_line()) from error


def _copied(src: Any, dst: Tracer, casting: Any) -> Node:
    """What `copyto` copies, as a node.

    Raises
    ------
    TypeError, OverflowError
        As NumPy, if the rule `casting` does not allow it.
    """
    if not (is_tracer(src) or isinstance(src, np.ndarray) or _holds_tracer(src)):
        if dst.dtype.kind != "c" and np.iscomplexobj(src):
            raise Untraceable("copies complex numbers to real ones", user_line())
        probe = np.empty(np.shape(src), dst.dtype)
        is_kept = dst.dtype.kind not in "fc"  # what others warn of is for each call to tell
        try:
            with np.errstate(all="raise" if is_kept else "ignore"), converting_for(dst.shape):
                np.copyto(probe, src, casting=casting)
        except FloatingPointError:
            raise Untraceable("copies a number that may not fit into an integer", user_line()) from None
        return b.constant(probe[()]) if is_kept else _value_node(src, dst)
    node = _value_node(src, dst)
    source: Any = node.dtype
    if node.type.weak:  # fits wherever it decides nothing (NEP 50)
        source = np.result_type(dst.dtype, node.dtype.type(0).item())
        casting = "no" if casting != "unsafe" else casting
    if not np.can_cast(source, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {source!r} to {dst.dtype!r} according to the rule {casting!r}")
    return node


@partial(_refusable, target=1)
def write_ufunc_out(ufunc: np.ufunc, out: Any, result: Any, number: int, casting: Any, where: Any) -> Any:
    """Store the result `number` of a ufunc in `out`.

    Raises
    ------
    TypeError, ValueError
        As NumPy, if the dtype or the shape does not fit.
    """
    if not is_tracer(out) or not out._is_array():
        raise Untraceable(f"{ufunc.__name__} writes into an array", user_line())
    check_out_dtype(ufunc, result.dtype, out, number, casting)
    if (
        out._choice is not None
        and result._choice is not None
        and out._choice.mask is result._choice.mask
        and where is True
    ):
        out._choice = type(out._choice)(
            b.cast(result._choice.array, out.dtype), out._choice.condition, out._choice.mask
        )
        return out
    shape = out.shape
    if result.shape != shape and (shape := np.broadcast_shapes(result.shape, shape)) != out.shape:
        own, whole = (str(s).replace(" ", "") for s in (out.shape, shape))
        raise ValueError(f"non-broadcastable output operand with shape {own} doesn't match the broadcast shape {whole}")
    out._storage().check_writable(out._region(), "output array is read-only")
    fitted = fit(result._node, out.dtype, out.shape)
    check_parts(out._trace, (fitted, *fitted.args))
    if where is not True:
        condition = where._node if is_tracer(where) else out._trace.lift(np.asarray(where))
        fitted = b.where(b.broadcast_to(condition, out.shape), fitted, out._node)
    _write(out, fitted)
    return out


def check_out_dtype(ufunc: np.ufunc, dtype: np.dtype, out: Any, number: int, casting: Any) -> None:
    """Raise NumPy's error if `out` cannot hold the result `number` of a ufunc, which has that dtype."""
    if dtype != out.dtype and not np.can_cast(dtype, out.dtype, casting):
        raise _UFuncOutputCastingError(ufunc, casting, dtype, out.dtype, number)


def write_out(name: str, out: Any, result: Any) -> Any:
    """Store the result of a NumPy function that is no ufunc in `out`."""
    fits = is_tracer(out) and is_tracer(result) and out.dtype == result.dtype and out.shape == result.shape
    if not fits or not out._is_array() or (name in CONTIGUOUS_OUT and not out._is_contiguous()):
        raise Untraceable(f"{name} writes into an array", user_line())
    _write(out, result._node)
    return out


def take_out(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> tuple[Any, tuple, dict[str, Any]]:
    """The `out` argument of a call, and the arguments without it."""
    if "out" in kwargs:
        is_loose = kwargs.get("dtype") is None and kwargs.get("casting", "safe") in PROMOTIONS_KEEP
        if function in _ASSEMBLIES and not is_loose:
            return None, args, kwargs  # NumPy refuses both at once, and perhaps the cast
        kwargs = dict(kwargs)
        return kwargs.pop("out"), args, kwargs
    place = place_of_out(function)
    if place is None or len(args) <= place:
        return None, args, kwargs
    return args[place], (*args[:place], None, *args[place + 1 :]), kwargs


@lru_cache(maxsize=1024)
def place_of_out(function: Callable[..., Any]) -> int | None:
    """Which of its arguments in a row is the `out` of a function; None if none is."""
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    places = [k for k, p in enumerate(parameters) if p.name == "out" and p.kind is p.POSITIONAL_OR_KEYWORD]
    return places[0] if places else None
