"""Exceptions and warnings that users and other stages see."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_thread = threading.local()


class JitrtError(Exception):
    """An internal error: some stage of the compiler could not do its work.

    Users see it only under ``JITRT_STRICT=1``; otherwise the plain function runs instead, the log says so
    (``JITRT_LOG=trace``), and so does `JitFunction.explain`. It is always worth a report.
    """


class MemoryFault(JitrtError):
    """A kernel has read or written memory that it must not touch, as ``JITRT_DEBUG=1`` has found."""


class HalfDone(Exception):
    """A call has failed when it had begun to change its arguments, so the plain function must not run on them.

    Parameters
    ----------
    failure : Exception
        What went wrong: memory that was not to be had, or an internal error. It reaches the user.
    """

    def __init__(self, failure: Exception):
        super().__init__(str(failure))
        self.failure = failure


class JitrtPerformanceWarning(UserWarning):
    """A function gains nothing from being compiled, and why.

    It is given where ``jit(on_plain=...)`` or a filter names it, since the plain function answers all the same: a
    filter that turns all warnings into errors does not concern it.

    Examples
    --------
    A text is part of a program, so that each one is traced, but not when many have been:

    >>> import warnings
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def scaled(x, scale):
    ...     return x * float(scale) + 1
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", jitrt.JitrtPerformanceWarning)
    ...     for n in range(200):
    ...         _ = scaled(np.arange(500.0), str(n))
    >>> print(caught[0].message)
    scaled runs as plain NumPy: 65 calls had arguments of new shapes or values, and few came again

    A number is an input like any other, once it has changed:

    >>> for n in range(200):
    ...     _ = scaled(np.arange(500.0), n)
    >>> scaled.explain(np.arange(500.0), 7).plain_reason
    ''
    """


class ControlException(BaseException):
    """What ends a trace, raised through the user's code.

    Not an `Exception`, so that an ``except Exception`` in the traced function does not swallow it. A bare ``except``
    and ``return`` behind ``finally`` do: the trace asks `latest_control` whether there was any.
    """

    def __init__(self, *args: object):
        super().__init__(*args)
        if getattr(_thread, "watched", False):
            _thread.latest = self


def watch_control(on: bool) -> None:
    """Note control exceptions of this thread from now on, or no longer; what has been noted is dealt with."""
    _thread.watched, _thread.latest = on, None


@contextlib.contextmanager
def control_apart() -> Iterator[None]:
    """A context whose control exceptions concern nobody outside of it, such as a trace that is under way."""
    before = getattr(_thread, "watched", False), latest_control()
    watch_control(False)
    try:
        yield
    finally:
        _thread.watched, _thread.latest = before


def latest_control() -> ControlException | None:
    """The last control exception that was noted."""
    return getattr(_thread, "latest", None)


class Untraceable(ControlException):
    """The function does something that a trace cannot follow, so it has to run as plain NumPy.

    Parameters
    ----------
    reason : str
        What the function did.
    line : str
        Where in the user's code, as ``file:line``; empty if unknown.

    Attributes
    ----------
    operations : int
        How much had been recorded, where that was in vain.
    """

    def __init__(self, reason: str, line: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.operations = 0

    def __str__(self) -> str:
        return f"{self.reason} ({self.line})" if self.line else self.reason


class LoopsWanted(Untraceable):
    """The function has an operation that NumPy would execute, and that loops over elements are better at.

    Parameters
    ----------
    reason, line : str
        As for all that is `Untraceable`.
    is_unrolled : bool
        Whether instead its loops, or those of functions that it calls, are recorded iteration by iteration,
    varies : bool
        and in each call a different number of them, so that other calls would need other traces.
    """

    def __init__(self, reason: str, line: str = "", is_unrolled: bool = False, varies: bool = False):
        super().__init__(reason, line)
        self.is_unrolled, self.varies = is_unrolled, varies


class Interrupted(ControlException):
    """A signal handler has raised `error`, which ends the trace, and the call with it."""

    def __init__(self, error: BaseException):
        super().__init__(error)
        self.error = error


def is_passing(error: BaseException) -> bool:
    """Whether the reason of a failure is outside of what runs, so that it may not be there at another time."""
    return isinstance(error, (MemoryError, OSError, RecursionError))


class NotWorthwhile(Exception):
    """The plain function is expected to be faster."""
