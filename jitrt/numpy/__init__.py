"""NumPy's namespace over lazy arrays: one import changed, and no decorator.

>>> import jitrt.numpy as np
>>> x = np.linspace(0.0, 1.0, 1001)
>>> y = np.sqrt(x * x + 1) - x  # is recorded
>>> float(y.sum().round(3))  # is computed, in one loop
647.864

Operations are recorded, with the dtypes and shapes that they have, until somebody looks at a value: then all that it
needs is computed by one program, which is found again when the same operations come again. What the graph has no node
for NumPy computes at once. Everything that NumPy's namespace has is here, and so is the array API standard's.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from . import fft, linalg, random
from .array import ndarray
from .calls import eager as _eager
from .calls import lazy as _lazy
from .namespace import contents as _contents
from .standard import argsort, sort, unique_values

_OWN = {"fft", "linalg", "random", "ndarray", "argsort", "sort", "unique_values"}
_made = _contents(_numpy)
globals().update({name: value for name, value in _made.items() if name not in _OWN})
__all__ = [name for name in _numpy.__all__ if name in globals()]  # noqa: PLE0605


def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None) -> Any:
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
    if type(a) is ndarray and order is None and not a._scalar and (dtype is None or _numpy.dtype(dtype) == a.dtype):
        if device not in (None, "cpu"):
            raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
        return a.copy(order="K") if copy else a
    return _of_one(_numpy.asarray, a, {"dtype": dtype, "order": order, "device": device, "copy": copy})


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None) -> Any:
    """The same as `asarray`, but for subclasses of NumPy's arrays, which stay what they are."""
    if type(a) is ndarray:
        return asarray(a, dtype, order, device=device, copy=copy)
    return _of_one(_numpy.asanyarray, a, {"dtype": dtype, "order": order, "device": device, "copy": copy})


def array(object: Any, dtype: Any = None, *, copy: Any = True, **options: Any) -> Any:
    """A new lazy array (`numpy.array`)."""
    if type(object) is ndarray and not options and not object._scalar and (dtype is None or _numpy.dtype(dtype) == object.dtype):
        return asarray(object, copy=copy)
    return _of_one(_numpy.array, object, {"dtype": dtype, "copy": copy, **options})


def _of_one(function: Any, value: Any, options: dict[str, Any]) -> Any:
    made = _eager(function, (value,), {k: v for k, v in options.items() if v is not None or k == "copy"})
    return _lazy(made)


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})
