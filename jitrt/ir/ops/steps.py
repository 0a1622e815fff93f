"""What NumPy gives that executes a call as a step: the shapes of its results, for operands of any extents.

A rule says what shapes a function gives. Everything else about a result, as its dtype and the order of its axes in
memory, NumPy tells by what it makes of small arrays.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...base.frozen import frozen
from .. import build as b
from ..extents import is_extent
from ..types import ArrayType
from .optable import NotCovered

Shape = tuple[Any, ...]
SMALL = 2
"""The most elements along an axis of what NumPy is asked with."""


@frozen(eq=False)
class Rule:
    """What shapes a function gives.

    Parameters
    ----------
    shapes : callable
        From the arguments, with an `ArrayType` for each array, to the shapes of all arrays in the result.
    small : dict of str to object
        Arguments in place of those of the call where NumPy is asked with small arrays.
    """

    shapes: Callable[..., Sequence[Shape]]
    small: Mapping[str, Any]

    def ask(self, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """What `function` gives for small arguments."""
        if self.small:
            given = inspect.signature(function).bind(*args, **kwargs)
            given.arguments.update(self.small)
            args, kwargs = given.args, given.kwargs
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)


RULES: dict[Callable[..., Any], Rule] = {}


def small_array(type_: ArrayType, strides: Sequence[int] | None, most: int = SMALL) -> Any:
    """An array with axes in the order of `strides`, of two elements or `most` along each, or a number.

    Matrices are identities, which have inverses and roots, and vectors are sorted.

    Examples
    --------
    >>> small_array(ArrayType(np.dtype(np.float64), (7, 1, 9)), None).shape
    (2, 1, 2)
    """
    if type_.weak:
        return type_.dtype.type(1).item()
    shape = [most if is_extent(n) else min(n, most) for n in type_.shape]
    axes = range(len(shape)) if strides is None else sorted(range(len(shape)), key=lambda k: -abs(strides[k]))
    made = np.empty([shape[k] for k in axes], type_.dtype).transpose(np.argsort(list(axes)))
    values: Any = np.eye(shape[-2], shape[-1]) if len(shape) > 1 else np.arange(1, 1 + math.prod(shape)).reshape(shape)
    made[...] = values.astype(np.int64).astype(type_.dtype)
    return made


def _rule(*functions: Callable[..., Any], **small: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def declare(shapes: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            RULES[function] = Rule(shapes, small)
        return shapes

    return declare


def _axis(axis: Any, ndim: int) -> int:
    return b.normalize_axes(b.integer(axis), ndim)[0]


def _replaced(shape: Shape, axis: int, extent: Any) -> Shape:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _array(value: Any) -> ArrayType:
    """The type of an argument that NumPy makes an array of."""
    if isinstance(value, ArrayType):
        return value
    if is_extent(value):
        return ArrayType(np.dtype(np.int64), (), weak=True)
    array = np.asarray(value)
    if array.dtype == object:
        raise NotCovered("an argument that is no array")
    return ArrayType(array.dtype, array.shape)


# Sorting and selection.


@_rule(np.sort, np.argsort)
def _sorted(a: Any, axis: Any = -1, *args: Any, **kwargs: Any) -> list[Shape]:
    a = _array(a)
    if axis is None:
        return [(a.size,)]
    _axis(axis, a.ndim)
    return [a.shape]


@_rule(np.lexsort)
def _lexsorted(keys: Any, axis: Any = -1) -> list[Shape]:
    return [_array(keys[0]).shape if isinstance(keys, (list, tuple)) else keys.shape[1:]]


_rule(np.partition, np.argpartition, kth=0)(lambda a, kth, axis=-1, *args, **kwargs: _sorted(a, axis))
_rule(np.sort_complex)(lambda a: [_array(a).shape])
_rule(np.searchsorted)(lambda a, v, side="left", sorter=None: [_array(v).shape])


# Order statistics.


@_rule(np.median, np.nanmedian)
def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> list:
    return _quantile(a, 0.5, axis, keepdims=keepdims)


@_rule(np.percentile, np.quantile, np.nanpercentile, np.nanquantile)
def _quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    **kwargs: Any,
) -> list[Shape]:
    a = _array(a)
    axes = b.normalize_axes(axis, a.ndim)
    kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
    rest = kept if keepdims else tuple(n for k, n in enumerate(a.shape) if k not in axes)
    return [(*_array(q).shape, *rest)]


@_rule(np.histogram)
def _histogram(a: Any, bins: Any = 10, *args: Any, **kwargs: Any) -> list[Shape]:
    if isinstance(bins, str):
        raise NotCovered("bins that depend on values")
    n = _array(bins).shape[0] - 1 if _array(bins).ndim else b.integer(bins)
    return [(n,), (n + 1,)]


# Transforms.


def _transformed(half: str, a: Any, n: Any = None, axis: Any = -1, norm: Any = None, **kwargs: Any) -> list[Shape]:
    """`half` says whether the spectrum of real numbers, of which half is stored, is given or taken."""
    a = _array(a)
    axis = _axis(axis, a.ndim)
    return [_replaced(a.shape, axis, _length(half, a.shape[axis], n))]


def _length(half: str, own: Any, n: Any) -> Any:
    if half == "taken":
        return 2 * (own - 1) if n is None else b.integer(n)
    length = own if n is None else b.integer(n)
    return length // 2 + 1 if half == "given" else length


def _transformed_axes(
    half: str, default: Any, a: Any, s: Any = None, axes: Any = None, norm: Any = None, **kwargs: Any
) -> list[Shape]:
    a = _array(a)
    axes = default if axes is None else axes
    if axes is None:
        axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
    places = [_axis(k, a.ndim) for k in axes]
    lengths = [None] * len(places) if s is None else list(s)
    shape = a.shape
    for k, (axis, n) in enumerate(zip(places, lengths)):
        is_last = k == len(places) - 1
        shape = _replaced(shape, axis, _length(half if is_last else "", shape[axis], None if n == -1 else n))
    return [shape]


_rule(np.fft.fft, np.fft.ifft)(partial(_transformed, ""))
_rule(np.fft.rfft, np.fft.ihfft)(partial(_transformed, "given"))
_rule(np.fft.irfft, np.fft.hfft)(partial(_transformed, "taken"))
_rule(np.fft.fft2, np.fft.ifft2)(partial(_transformed_axes, "", (-2, -1)))
_rule(np.fft.fftn, np.fft.ifftn)(partial(_transformed_axes, "", None))
_rule(np.fft.rfft2)(partial(_transformed_axes, "given", (-2, -1)))
_rule(np.fft.rfftn)(partial(_transformed_axes, "given", None))
_rule(np.fft.irfft2)(partial(_transformed_axes, "taken", (-2, -1)))
_rule(np.fft.irfftn)(partial(_transformed_axes, "taken", None))


@_rule(np.convolve)
def _convolved(a: Any, v: Any, mode: Any = "full") -> list[Shape]:
    n, m = (_array(x).size for x in (a, v))
    n, m = (m, n) if m > n else (n, m)
    lengths = {"full": n + m - 1, "same": n, "valid": n - m + 1}
    if mode not in lengths:
        raise NotCovered("another mode")
    return [(lengths[mode],)]


_rule(np.correlate)(lambda a, v, mode="valid": _convolved(a, v, mode))
_rule(np.interp)(lambda x, *args, **kwargs: [_array(x).shape])


# Linear algebra, each on a stack of matrices.


_rule(np.linalg.inv, np.linalg.cholesky)(lambda a, **kwargs: [_array(a).shape])
_rule(np.linalg.det)(lambda a: [_array(a).shape[:-2]])
_rule(np.linalg.slogdet)(lambda a: 2 * [_array(a).shape[:-2]])
_rule(np.linalg.eigvalsh)(lambda a, *args: [_array(a).shape[:-1]])
_rule(np.linalg.eigh)(lambda a, *args: [_array(a).shape[:-1], _array(a).shape])


@_rule(np.linalg.solve)
def _solved(a: Any, b: Any) -> list[Shape]:
    a, b = _array(a), _array(b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise NotCovered("stacks of equations")
    return [b.shape]


@_rule(np.linalg.qr)
def _factors(a: Any, mode: Any = "reduced") -> list[Shape]:
    if mode != "reduced":
        raise NotCovered("another mode")
    *stack, m, n = _array(a).shape
    k = min(m, n)
    return [(*stack, m, k), (*stack, k, n)]


@_rule(np.linalg.svd)
def _singular(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> list[Shape]:
    *stack, m, n = _array(a).shape
    k = min(m, n)
    if not compute_uv:
        return [(*stack, k)]
    return [(*stack, m, m if full_matrices else k), (*stack, k), (*stack, n if full_matrices else k, n)]


# Random numbers.


def drawn(method: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> list[Shape]:
    """The shape of what a method of a random generator gives."""
    name = method.__name__
    if name in ("rand", "randn"):
        return [tuple(map(b.integer, args))]
    try:
        given = inspect.signature(method).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        raise NotCovered("other arguments") from None
    if name in ("permutation", "permuted"):
        x = given["x"]
        return [x.shape] if isinstance(x, ArrayType) else [(b.integer(x),)]
    size = given.pop("size", None)
    if size is not None:
        return [tuple(map(b.integer, size)) if isinstance(size, (tuple, list)) else (b.integer(size),)]
    if name == "choice":
        raise NotCovered("a single choice")
    return [b.joint_shape([(), *(v.shape for v in given.values() if isinstance(v, ArrayType))])]
