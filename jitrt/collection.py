"""Python's garbage collector, paused while graphs are compiled.

A compile makes tens of thousands of objects and hardly any cycles that become garbage. The collector counts what is
made, and in the middle of a compile goes through every object of the process several times, which takes up to 0.1 s.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0  # of all threads
_was_enabled = False


@contextmanager
def paused() -> Iterator[None]:
    """Let the collector rest until the last thread has left such a block; then it is as it was before.

    Examples
    --------
    >>> import gc
    >>> with paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    global _pauses, _was_enabled
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _was_enabled:
                gc.enable()


def _after_fork() -> None:
    """The child does not have the threads that would end their pauses."""
    global _lock, _pauses
    _lock = threading.Lock()
    if _pauses and _was_enabled:
        gc.enable()
    _pauses = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
