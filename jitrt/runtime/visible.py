"""Calls that profilers see: a frame of Python with the function's name around each call of native code."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .dispatch import NativeCallable, install, serve_by

_native: list[Any] = []  # the call that frames stand around, while they do


def show_in_profilers(shows: bool = True) -> None:
    """Let cProfile, py-spy and other profilers see calls of compiled functions, as ``name (jit)``, or no more.

    Parameters
    ----------
    shows : bool

    Notes
    -----
    A call then takes some tenths of a microsecond more. ``JITRT_PROFILERS=1`` is the same from the beginning of a
    process. Native code has no lines: `JitFunction.profile` says which kernel takes how long, and ``JITRT_PERF=1``
    tells Linux' ``perf`` the names of kernels.

    Examples
    --------
    >>> import cProfile, pstats
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def halved(x):
    ...     return x / 2
    >>> jitrt.show_in_profilers()
    >>> with cProfile.Profile() as profile:
    ...     for _ in range(10):
    ...         y = halved(np.ones(1000))
    >>> [calls for (_, _, name), (calls, *_) in pstats.Stats(profile).stats.items() if name == "halved (jit)"]
    [10]
    >>> jitrt.show_in_profilers(False)
    """
    if shows and not _native:
        install()
        _native.append(NativeCallable.__call__)
        serve_by(_call, directly=False)
    elif _native and not shows:
        serve_by(_native.pop(), directly=True)


def _call(self: NativeCallable, /, *args: Any, **kwargs: Any) -> Any:
    frame = self.__dict__.get("_frame")
    if frame is None:
        frame = self.__dict__["_frame"] = _frame_of(self)
    return frame(self, args, kwargs)


def _frame_of(function: NativeCallable) -> Callable[..., Any]:
    """What calls native code in a frame at the function's place, with a name that tells it from the plain function."""
    native = _native[0]

    def frame(self: NativeCallable, args: tuple, kwargs: dict[str, Any]) -> Any:
        return native(self, *args, **kwargs)

    name = f"{getattr(function, '__name__', type(function).__name__)} (jit)"
    code = frame.__code__.replace(co_name=name, co_qualname=name)
    own = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    if own is not None:
        code = code.replace(co_filename=own.co_filename, co_firstlineno=own.co_firstlineno)
    return types.FunctionType(code, globals(), name, None, frame.__closure__)
