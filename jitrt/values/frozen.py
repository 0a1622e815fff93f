"""Arrays that never change: where a function captures one, its elements are part of the program."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..base.arrays import is_writeable

_known: dict[int, weakref.ref[np.ndarray]] = {}
_arguments: dict[int, weakref.ref[np.ndarray]] = {}  # what stands for arrays, by the identity of these


def frozen(array: Any) -> np.ndarray:
    """A read-only array whose elements never change, so that jitted functions compute with it when they are compiled.

    A function that reads it from outside, as a global variable for example, takes its elements as constants: what
    depends on nothing else is computed once, and bit for bit as NumPy computes it.

    Parameters
    ----------
    array : array-like
        Its memory is shared, and must not be written any more.

    Returns
    -------
    numpy.ndarray
        Cannot be made writeable. Views of it are frozen, too.

    Raises
    ------
    TypeError
        If its elements are Python objects.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> weights = jitrt.frozen(np.array([1.0, 2.0, 4.0]))
    >>> @jitrt.jit
    ... def scaled(x):
    ...     return x * (weights / weights.sum())
    >>> scaled(np.ones(3))
    array([0.14285714, 0.28571429, 0.57142857])
    >>> print(scaled.explain(np.ones(3)).compiled.stages[-1][1])
    { lambda x0:f8[3] .
      t0:f8[3] = multiply x0 [0.14285714285714285, 0.2857142857142857, 0.5714285714285714]
      in (t0) }
    """
    given = np.asarray(array)
    if is_frozen(given):
        return given
    if given.dtype.hasobject:
        raise TypeError("an array of Python objects cannot be frozen: these may change")
    made = np.asarray(_Held(given))
    _note(_known, id(made), made)
    return made


class _Held:
    """What owns the memory of a frozen array: NumPy makes no array writeable that lies in it."""

    def __init__(self, array: np.ndarray):
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], True)
        self.__array_interface__ = interface


class _HeldArgument(_Held):
    """The same for an array that was given as an argument, which its caller may write, and promises not to."""


def frozen_argument(array: Any) -> Any:
    """A frozen array of the elements of an argument: the same one for the same array, as long as anybody has it.

    What is no array of numbers is returned as it is.
    """
    if type(array) is not np.ndarray or is_frozen(array) or array.dtype.hasobject:
        return array
    key = id(array)
    reference = _arguments.get(key)
    found = None if reference is None else reference()
    if found is None:
        found = np.asarray(_HeldArgument(array))
        _note(_known, id(found), found)
        _note(_arguments, key, found)
    return found


def original(array: np.ndarray) -> np.ndarray:
    """The argument for which `frozen_argument` has made `array`; itself if it did not."""
    return array.base._array if type(array.base) is _HeldArgument else array


def _note(table: dict[int, weakref.ref[np.ndarray]], key: int, array: np.ndarray) -> None:
    """Keep an array in a table until it dies."""
    table[key] = weakref.ref(array, lambda _: table.pop(key, None) and None)


def is_frozen(array: np.ndarray) -> bool:
    """Whether an array, or one that it is a view of, was made by `frozen`."""
    found: Any = array
    while isinstance(found, np.ndarray):
        reference = _known.get(id(found))
        if reference is not None and reference() is found:
            return not is_writeable(array)
        found = found.base
    return False
