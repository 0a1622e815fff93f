"""Exceptions and warnings that users and other stages see."""

from __future__ import annotations


class JitrtError(Exception):
    """An internal error: some stage of the compiler could not do its work.

    Users see it only under ``JITRT_STRICT=1``; otherwise the plain function runs instead.
    """


class MemoryFault(JitrtError):
    """A kernel has read or written memory that it must not touch, as ``JITRT_DEBUG=1`` has found."""


class JitrtPerformanceWarning(UserWarning):
    """A function gains nothing from being compiled, and why."""


class Untraceable(BaseException):
    """The function does something that a trace cannot follow, so it has to run as plain NumPy.

    Not an `Exception`, so that an ``except Exception`` in the traced function does not swallow it.

    Parameters
    ----------
    reason : str
        What the function did.
    line : str
        Where in the user's code, as ``file:line``; empty if unknown.
    """

    def __init__(self, reason: str, line: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.line = line

    def __str__(self) -> str:
        return f"{self.reason} ({self.line})" if self.line else self.reason
