"""Masked arrays in a trace: their operations as ``numpy.ma`` writes them, on arrays of data and of masks.

``numpy.ma`` looks at the elements of masks: a mask of nothing but False is ``nomask`` after some operations, and a fold
of nothing is ``masked``. A trace records a mask that may be ``nomask`` as one that *shrinks*, which is settled when the
result is made, and assumes that folds are not masked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Untraceable
from ...ir import build as b
from ...ir.ops.assumptions import guarded
from ...values.masked import Masked
from ..context import current
from ..python.userline import user_line
from .operators import is_tracer
from .silence import Warns

if TYPE_CHECKING:
    from ..state import Trace

nomask = np.False_
OPTIONAL = np._NoValue


def state() -> Trace:
    """The trace of this thread."""
    found = current()
    if found is None:
        raise Untraceable("a masked array outlives its trace")
    return found


def refuse(what: str) -> Any:
    raise Untraceable(f"{what} of a masked array", user_line())


def numpy() -> Any:
    """What a traced function finds in place of NumPy."""
    return state().namespace()


def silenced(*exceptions: str) -> AbstractContextManager[None]:
    """A context in which floating-point exceptions are ignored."""
    return state().phases.quiet(*exceptions)


def getdata(a: Any) -> Any:
    """The data of a masked array; of others an array, also of numbers."""
    if isinstance(a, Masked):
        return a._data
    if isinstance(a, np.ndarray) and not is_tracer(a) and type(a) is not np.ndarray:
        refuse(f"{type(a).__name__} as an operand")
    return numpy().array(a, copy=None)


def mask_of(a: Any) -> tuple[Any, bool]:
    """The mask of a value, ``nomask`` if it has none, and whether it shrinks."""
    return (a._mask, a._shrinks) if isinstance(a, Masked) else (nomask, False)


def getmaskarray(a: Any) -> Any:
    """The mask of a value, an array also where it has none."""
    mask = mask_of(a)[0]
    return state().zeros(np.shape(getdata(a)), np.dtype(bool)) if mask is nomask else mask


def either(a: Any, c: Any, shrinks: bool = False) -> tuple[Any, bool]:
    """What is masked in one of two values, and whether that mask shrinks, as it does if both do, or has to."""
    (x, x_shrinks), (y, y_shrinks) = mask_of(a), mask_of(c)
    if x is nomask is y:
        return nomask, False
    shrinks = shrinks or ((x_shrinks or x is nomask) and (y_shrinks or y is nomask))
    return np.logical_or(getmaskarray(a), getmaskarray(c)), shrinks


def unmasked(result: Any, mask: Any) -> Any:
    """`result`, a number, of which it is assumed that it is not masked: otherwise it would be ``np.ma.masked``."""
    if mask is nomask or not is_tracer(mask):
        return refuse("a masked element") if mask else result
    trace = state()
    holds = b.elementwise(np.logical_not, mask._node)
    if trace.is_known(holds):
        return result if trace.value_of(holds) else refuse("a masked element")
    if trace.loops and is_tracer(result):
        return result._new(guarded(result._node, holds), result._scalar)
    if trace.is_general:
        trace.memory["assumed", holds] = True  # calls where it fails run plain, and this may be one of them
    if not trace.assume(holds):
        raise Warns("a fold of masked elements is masked", user_line())
    return result


def made(data: Any, mask: Any = nomask, like: Any = None, shrinks: bool = False) -> Any:
    """A masked array, with what it takes over from others."""
    if not data.ndim:
        refuse("one element")  # whose mask may be a scalar, and nomask then
    result = Masked.in_traces(data, mask)
    result._shrinks = shrinks and mask is not nomask
    if isinstance(like, Masked):
        result._fill_value, result._hardmask, result._sharedmask = like._fill_value, like._hardmask, like._sharedmask
    return result


def checked_fill(value: Any, dtype: np.dtype) -> Any:
    """A fill value for arrays of a dtype: a new array without axes."""
    if is_tracer(value):
        if value.shape:
            refuse("a fill value with axes")
        return numpy().array(value, copy=None).astype(dtype)
    return numpy().full((), np.ma.core._check_fill_value(value, dtype)[()])  # type: ignore[attr-defined]


def copied(data: Any, source: Any, where: Any, casting: str = "unsafe") -> Any:
    """``np.copyto(data, source, casting, where)`` for new data, where that does not fail."""
    dtype = source.dtype
    if not np.can_cast(dtype, data.dtype, casting):  # type: ignore[arg-type]
        return data
    if dtype.kind == "c" != data.dtype.kind:
        refuse("complex data under a mask")  # NumPy warns of what is discarded
    np.copyto(data, source.astype(data.dtype, copy=False), where=where)
    return data


# Operations of ``numpy.ma``.


def unary(f: Any, domain: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """``_MaskedUnaryOperation.__call__``."""
    d, (mask, shrinks) = getdata(a), mask_of(a)
    with silenced("divide", "invalid"):
        result = f(d, *args, **kwargs)
        if domain is not None:
            m = np.logical_or(~np.isfinite(result), domain(d))
            mask, shrinks = (m if mask is nomask else np.logical_or(m, mask)), False
    if not result.ndim:
        return unmasked(result, mask)
    if mask is not nomask:
        result = copied(result, d, mask, "same_kind")
    return made(result, mask, a, shrinks)


def binary(f: Any, a: Any, c: Any) -> Any:
    """``_MaskedBinaryOperation.__call__``."""
    da, dc = getdata(a), getdata(c)
    with silenced("divide", "invalid"):
        result = f(da, dc)
    mask, shrinks = either(a, c)
    if not result.ndim:
        return unmasked(result, mask)
    if mask is not nomask:
        result = copied(result, da, mask)
    return made(result, mask, a if isinstance(a, Masked) else c, shrinks)


def unsafe_divisor(a: Any, c: Any) -> Any:
    """``_DomainSafeDivide()``: where a quotient may not be finite."""
    with silenced("divide", "over", "under", "invalid"):
        return np.absolute(a) * np.finfo(float).tiny >= np.absolute(c)


def domained(f: Any, a: Any, c: Any) -> Any:
    """``_DomainedBinaryOperation.__call__``."""
    da, dc = getdata(a), getdata(c)
    with silenced("divide", "invalid"):
        result = f(da, dc)
    m = ~np.isfinite(result)
    for mask in (mask_of(a)[0], mask_of(c)[0], unsafe_divisor(da, dc)):
        m = m if mask is nomask else np.logical_or(m, mask)
    if not m.ndim:
        return unmasked(result, m)
    result[m] = 0
    kept = np.multiply(m, da)
    if np.can_cast(kept.dtype, result.dtype, "safe"):
        result += kept
    return made(result, m, a if isinstance(a, Masked) else c)


def power(a: Any, c: Any, third: Any = None) -> Any:
    """``np.ma.power``."""
    if third is not None:
        refuse("a power with three arguments")
    fa, fc = getdata(a), getdata(c)
    mask, _ = either(a, c)
    with silenced("divide", "invalid"):
        result = np.power(fa, fc)
        result = np.where(mask, fa, result)
    invalid = ~np.isfinite(result)
    shrunk = invalid if mask is nomask else np.logical_or(mask, invalid)
    if not result.ndim:
        return unmasked(result[()], shrunk)
    found = made(result, shrunk, a, True)
    fill = found._fill_value
    with silenced("over", "invalid"):
        fill = checked_fill(None, result.dtype) if fill is None else fill.astype(result.dtype)
    np.copyto(result, fill, where=invalid)
    return found


def compare(self: Any, other: Any, f: Callable[[Any, Any], Any]) -> Any:
    """``MaskedArray._comparison``."""
    mask, _ = either(self, other)
    result = f(self._data, getdata(other))
    if not result.ndim:
        return unmasked(result, mask)
    if mask is not nomask:
        if f in (np.equal, np.not_equal):
            result = np.where(mask, f(getmaskarray(self), mask_of(other)[0]), result)
        if mask.shape != result.shape:
            mask = np.broadcast_to(mask, result.shape).copy()
    found = made(result, mask, self, True)
    if found._fill_value is not None:
        found._fill_value = checked_fill(found._fill_value, np.dtype(bool))
    return found


def ufunc_of_masked(ufunc: np.ufunc, inputs: tuple) -> Any:
    """A ufunc of NumPy's that gets a masked array: ``MaskedArray.__array_wrap__`` masks its result."""
    if ufunc.nout != 1 or ufunc.signature is not None:
        refuse(ufunc.__name__)
    arrays = [i for i in inputs if isinstance(i, Masked)]
    first = arrays[0]
    result = ufunc(*[i._data if isinstance(i, Masked) else i for i in inputs])
    if len(inputs) == 1:
        mask, shrinks = getmaskarray(settled(first)), False
    else:
        mask, shrinks = reduce(lambda x, y: x if x is y else np.logical_or(x, y), map(getmaskarray, inputs)), True
    domain = np.ma.core.ufunc_domain.get(ufunc)  # type: ignore[attr-defined]
    if domain is not None:
        with silenced("divide", "invalid"):
            outside = _outside(ufunc, domain, inputs)
        fill = np.ma.core.ufunc_fills[ufunc]  # type: ignore[attr-defined]
        filled = result if result.ndim else numpy().array(result)
        np.copyto(filled, fill[-1] if isinstance(fill, tuple) else fill, where=outside)
        result = filled if result.ndim else filled[()]
        is_lent = any(isinstance(i, Masked) and mask is i._mask for i in inputs)
        if not is_lent or decided(np.any(outside)):
            mask = np.logical_or(mask, outside)
    if not np.ndim(result):
        return unmasked(result, mask)
    found = made(result, mask, first, shrinks)
    found._sharedmask = False
    return found


def _outside(ufunc: np.ufunc, domain: Any, inputs: tuple) -> Any:
    """Where operands are outside of the domain of a ufunc; what is masked is where functions have one operand."""
    if len(inputs) == 2:
        return unsafe_divisor(*[numpy().asarray(i._data if isinstance(i, Masked) else i) for i in inputs])
    (x,) = inputs
    outside = domain(x._data)
    return outside if x._mask is nomask else np.logical_or(outside, x._mask)


def decided(condition: Any) -> bool:
    """What a condition is in this call, which others have to meet, too."""
    trace, node = state(), condition._node
    if trace.loops.changes(node):
        refuse("a mask that differs from turn to turn, and is looked at,")
    return trace.assume(node) or not trace.assume(b.elementwise(np.logical_not, node))


def settled(a: Any) -> Any:
    """A masked array whose mask does not shrink any more."""
    if isinstance(a, Masked) and a._shrinks:
        if not np.any(a._mask):
            a._mask = nomask
        a._shrinks = False
    return a


def construct(
    data: Any = None, mask: Any = nomask, dtype: Any = None, copy: Any = False, subok: bool = True, ndmin: int = 0,
    fill_value: Any = None, keep_mask: bool = True, hard_mask: Any = None, shrink: bool = True, order: Any = None,
) -> Any:  # fmt: skip
    """``MaskedArray.__new__``."""
    if order is not None or ndmin or not (subok and shrink) or type(hard_mask) not in (bool, type(None)):
        refuse("a construction with options")
    if isinstance(data, (list, tuple)) and any(isinstance(part, (Masked, list, tuple)) for part in data):
        refuse("a construction from several")
    own, before = mask_of(settled(data))[0], getdata(data)
    array = _new_array(data if before is None else before, dtype, copy)
    is_same = array is before
    if is_same:
        array = array[...]
    if own is not nomask:
        own = own[...] if is_same else copied_as(own, array)
    found = made(array, own)
    if mask is nomask:
        if not keep_mask:
            found._mask = nomask
            found._sharedmask = isinstance(data, Masked) and data._sharedmask
        elif not isinstance(data, (list, tuple)):
            found._sharedmask = not copy
            found._mask = own.copy() if copy and own is not nomask else own
    else:
        if mask is None or mask is False or mask is True:
            mask = numpy().full(array.shape, bool(mask))
        else:
            mask = _new_array(getdata(mask) if isinstance(mask, Masked) else mask, bool, copy)
        if mask.shape != array.shape or not mask._is_array():
            refuse("a mask of another shape")
        is_first = own is nomask or not keep_mask
        found._mask = mask if is_first else np.logical_or(mask, own)
        found._sharedmask = is_first and not copy
    if fill_value is None and isinstance(data, Masked):
        fill_value = data._fill_value
    if fill_value is not None:
        found._fill_value = checked_fill(fill_value, array.dtype)
    found._hardmask = hard_mask if hard_mask is not None else isinstance(data, Masked) and data._hardmask
    return found


def _new_array(value: Any, dtype: Any, copy: Any) -> Any:
    """``np.array(value, dtype, copy=copy or None)``, which is an array of this trace."""
    found = numpy().array(value, dtype=dtype, copy=bool(copy) or None)
    if isinstance(found, np.ndarray) and not is_tracer(found) and not found.ndim:
        found = numpy().full((), found)
    return found if is_tracer(found) and found.dtype.kind in "biufc" else refuse("a construction from what is no array")


def copied_as(mask: Any, array: Any) -> Any:
    """A copy of a mask, in the order that the memory of an array has."""
    flags = array.flags
    return mask.copy("C" if flags.c_contiguous else "F" if flags.f_contiguous else "K")


def masked_where(condition: Any, a: Any, copy: Any = True) -> Any:
    """``np.ma.masked_where``."""
    condition = condition.filled(True) if isinstance(condition, Masked) else condition
    condition = _new_array(condition, bool, False)
    if not condition.ndim:
        refuse("a condition of one element")
    if isinstance(a, Masked) and not copy:
        refuse("masked_where without a copy")
    data = _new_array(getdata(a), None, copy)
    if condition.shape != data.shape:
        refuse("a condition of another shape")
    own, shrinks = mask_of(a)
    if own is not nomask:
        condition = np.logical_or(condition, own)
    mask = state().zeros(data.shape, np.dtype(bool)) if own is nomask else copied_as(own, data)
    mask[...] = condition
    found = made(data if data is not getdata(a) else data[...], mask, a, shrinks or own is nomask)
    if found._fill_value is not None:
        found._fill_value = checked_fill(found._fill_value, data.dtype)
    return found


def masked_invalid(a: Any, copy: Any = True) -> Any:
    """``np.ma.masked_invalid``."""
    a = a if isinstance(a, Masked) else _new_array(a, None, False)
    found = masked_where(~np.isfinite(a), a, copy)
    found._shrinks = False
    return found


def where(condition: Any, x: Any = OPTIONAL, y: Any = OPTIONAL) -> Any:
    """``np.ma.where``."""
    if x is OPTIONAL or y is OPTIONAL:
        refuse("where with one argument")
    filled = condition.filled(False) if isinstance(condition, Masked) else getdata(condition)
    data = np.where(filled, getdata(x), getdata(y))
    mask = np.where(filled, getmaskarray(x), getmaskarray(y))
    mask = np.where(getmaskarray(condition), True, mask)
    found = construct(data, mask)
    found._shrinks = True
    return found
