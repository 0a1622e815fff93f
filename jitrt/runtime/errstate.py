"""NumPy's error state (`numpy.errstate`): which floating-point exceptions are asked for, and what is then done."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from ..base.once import once
from ..kernels import entry
from ..kernels.floatflags import NUMBERS
from . import threads
from .objects import builtin, fields

UNCOMPUTED = entry.UNCOMPUTED_BIT


class FloatingPointRaised(Exception):
    """Kernels raised a floating-point exception that the error state does not ignore: the plain function decides."""


class Uncomputed(FloatingPointRaised):
    """Operations that a program leaves out may raise an exception that the error state does not ignore."""


class OutOfBounds(FloatingPointRaised, IndexError):
    """An index is out of bounds: the plain function says which one, at the user's line."""


@once
def error_state() -> Any:
    """The context variable that holds NumPy's error state, or None if it is not where native code looks for it."""
    variable = getattr(umath, "_extobj_contextvar", None)
    if variable is None:
        return None
    seen = []
    for state in ({"all": "ignore"}, {"all": "raise"}, {"divide": "warn"}, {"over": "call"}, {"invalid": "print"}):
        with np.errstate(**({"all": "ignore"} | state)):  # type: ignore[arg-type]
            seen.append(_mask(variable.get()))
    return variable if seen == [0, 0o2222, 0o0001, 0o0030, 0o4000] else None


def _mask(capsule: Any) -> int | None:
    """The integer that NumPy's capsule points to."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        return ctypes.c_int.from_address(get_pointer(capsule, b"numpy.ufunc.extobj")).value
    except (ValueError, TypeError):
        return None


def errors() -> int:
    """The floating-point exceptions that are not ignored now, as a sum of their numbers."""
    return _reader()()


@once
def _reader() -> Callable[[], int]:
    if error_state() is None or fields() is None:
        return _errors_in_python
    state = np.zeros(len(entry.STATE), np.int64)
    state[entry.STATE.index("error_state")] = id(error_state())
    return builtin("jitrt_errors", threads.native_address("jitrt_errors"), state)


def _errors_in_python() -> int:
    state = np.geterr()
    return sum(number for name, number in NUMBERS.items() if state[name] != "ignore")  # type: ignore[literal-required]


class Noting:
    """For calls that NumPy makes inside of a program: instead of warning they raise `FloatingPointRaised`.

    The error state for that is made once: `numpy.errstate` would take longer than a small program.
    """

    __slots__ = ("_before", "_state", "_variable", "_watched")

    def __init__(self) -> None:
        self._variable = error_state()
        self._before = self._state = None
        self._watched = 0

    def begin(self, watched: int) -> Any:
        """Note the exceptions `watched` from now on; what `end` takes."""
        variable = self._variable
        if variable is None:
            state = _with_errors(watched, "call")
            state.__enter__()
            return state
        before = variable.get()
        if before is not self._before or watched != self._watched:
            with _with_errors(watched, "call"):
                self._state = variable.get()
            self._before, self._watched = before, watched
        return variable.set(self._state)

    def end(self, token: Any) -> None:
        """Go back to what was before."""
        if self._variable is None:
            token.__exit__(None, None, None)
        else:
            self._variable.reset(token)


def _with_errors(watched: int, how: str) -> np.errstate:
    """The error state in which these exceptions are met in that way."""
    kinds = {name: how for name, number in NUMBERS.items() if watched & number}
    return np.errstate(**kinds, **({"call": _raise} if how == "call" else {}))  # type: ignore[arg-type]


def raising() -> contextlib.AbstractContextManager[Any]:
    """A context in which what is not ignored raises `FloatingPointError`."""
    watched = errors()
    return _with_errors(watched, "raise") if watched else contextlib.nullcontext()


def _raise(kind: str, flag: int) -> None:
    raise FloatingPointRaised(kind)
