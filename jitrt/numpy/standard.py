"""What the Python array API standard asks for and NumPy's functions of the same name do not take."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calls import lazy


def sort(a: Any, axis: Any = -1, *args: Any, descending: bool = False, stable: Any = None, **options: Any) -> Any:
    """`numpy.sort`, also in descending order.

    Parameters
    ----------
    a : array_like
    axis, stable, **options : optional
        As for NumPy's function.
    descending : bool
        Whether the largest elements come first.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import jitrt.numpy as np
    >>> np.sort(np.asarray([1, 3, 2]), descending=True)
    array([3, 2, 1])
    """
    found = np.sort(a, axis, *args, stable=stable, **options)
    return lazy(np.flip(found, axis) if descending else found, small=False)


def argsort(a: Any, axis: int = -1, *args: Any, descending: bool = False, stable: Any = None, **options: Any) -> Any:
    """`numpy.argsort`, also in descending order: of equal elements, the first one comes first.

    Parameters and result as for `sort`.

    Examples
    --------
    >>> import jitrt.numpy as np
    >>> np.argsort(np.asarray([1, 3, 3]), descending=True)
    array([1, 2, 0])
    """
    if not descending:
        return lazy(np.argsort(a, axis, *args, stable=stable, **options), small=False)
    last = np.shape(a)[axis] - 1
    return lazy(last - np.flip(np.argsort(np.flip(a, axis), axis, stable=True), axis), small=False)


def fftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """`numpy.fft.fftfreq`, of any dtype.

    Examples
    --------
    >>> import jitrt.numpy as np
    >>> np.fft.fftfreq(2, dtype=np.float32)
    array([ 0. , -0.5], dtype=float32)
    """
    return lazy(np.fft.fftfreq(n, d, device).astype(dtype or np.float64, copy=False), small=False)


def rfftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """`numpy.fft.rfftfreq`, of any dtype.

    Examples
    --------
    >>> import jitrt.numpy as np
    >>> np.fft.rfftfreq(2, dtype=np.float32)
    array([0. , 0.5], dtype=float32)
    """
    return lazy(np.fft.rfftfreq(n, d, device).astype(dtype or np.float64, copy=False), small=False)


def unique_values(x: Any, /) -> Any:
    """`numpy.unique_values`, whose order is unspecified, in ascending order: code for other namespaces needs it.

    Examples
    --------
    >>> import jitrt.numpy as np
    >>> np.unique_values(np.asarray([3, 1, 3]))
    array([1, 3])
    """
    return lazy(np.unique(x, equal_nan=False), small=False)
