"""NumPy's error state (`numpy.errstate`): which floating-point exceptions are asked for, and what is then done."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from ..base.once import once
from ..kernels import entry
from ..kernels.floatflags import DIVIDE, INVALID, OVER, UNDER
from . import threads
from .objects import builtin, fields

NUMBERS = {"divide": DIVIDE, "over": OVER, "under": UNDER, "invalid": INVALID}

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


_silent = contextlib.nullcontext()


def noting(watched: int) -> contextlib.AbstractContextManager[Any]:
    """A context for calls that NumPy makes inside of a program: instead of warning they raise `FloatingPointRaised`."""
    return np.errstate(**_calls(watched), call=_raise) if watched else _silent


@functools.cache
def _calls(watched: int) -> dict[str, Any]:
    return {name: "call" for name, number in NUMBERS.items() if watched & number}


def raising() -> contextlib.AbstractContextManager[Any]:
    """A context in which what is not ignored raises `FloatingPointError`."""
    watched = errors()
    return np.errstate(**dict.fromkeys(_calls(watched), "raise")) if watched else _silent  # type: ignore[arg-type]


def _raise(kind: str, flag: int) -> None:
    raise FloatingPointRaised(kind)


class Patience:
    """When to try kernels again after they have raised exceptions: the more calls in a row did, the later.

    Each such call pays for the kernels and for the plain function. Native tables count in the same way.
    """

    def __init__(self) -> None:
        self.raised = 0
        self.skipped = 0

    def is_over(self) -> bool:
        """Whether this call should run plain at once."""
        self.skipped -= 1
        return self.skipped >= 0

    def note(self, raised: bool) -> None:
        """Whether a call has raised an exception."""
        self.raised = min(self.raised + 1, entry.LONGEST_SKIP) if raised else 0
        self.skipped = (1 << self.raised) - 2 if raised else 0
