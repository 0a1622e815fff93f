"""Lazy arrays of what there is already."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import ndarray
from .calls import eager, lazy


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """A lazy array with the elements of `a`, in the same memory if `a` is one of NumPy's arrays.

    Parameters
    ----------
    a : array_like
    dtype, order, device, copy, like : optional
        As for `numpy.asarray`.

    Returns
    -------
    ndarray
        `a` itself if it is a lazy array and nothing else is asked for.

    Examples
    --------
    >>> import numpy
    >>> import jitrt
    >>> given = numpy.zeros(2)
    >>> x = jitrt.asarray(given)
    >>> given[0] = 1.0
    >>> x
    array([1., 0.])
    """
    if type(a) is ndarray and order is None and not a._scalar and (dtype is None or np.dtype(dtype) == a.dtype):
        if device not in (None, "cpu"):
            raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
        return a.copy(order="K") if copy else a
    return _of_one(np.asarray, a, {"dtype": dtype, "order": order, "device": device, "copy": copy})


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """The same as `asarray`, but for subclasses of NumPy's arrays, which stay what they are."""
    if type(a) is ndarray:
        return asarray(a, dtype, order, device=device, copy=copy)
    return _of_one(np.asanyarray, a, {"dtype": dtype, "order": order, "device": device, "copy": copy})


def array(object: Any, dtype: Any = None, *, copy: Any = True, **options: Any) -> Any:
    """A new lazy array (`numpy.array`)."""
    if (
        type(object) is ndarray
        and not options
        and not object._scalar
        and (dtype is None or np.dtype(dtype) == object.dtype)
    ):
        return asarray(object, copy=copy)
    return _of_one(np.array, object, {"dtype": dtype, "copy": copy, **options})


def _of_one(function: Any, value: Any, options: dict[str, Any]) -> Any:
    made = eager(function, (value,), {k: v for k, v in options.items() if v is not None or k == "copy"})
    return lazy(made)
