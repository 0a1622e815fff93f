"""Python's garbage collector, paused while graphs are compiled.

A compile makes tens of thousands of objects and hardly any cycles that become garbage. The collector counts what is
made, and in the middle of a compile goes through every object of the process several times, which takes up to 0.1 s.
At its end what it leaves is gone through alone, once: otherwise a later call would stop for it, maybe a short one.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()
_pause: object = None  # the one that began when the collector was at work


@contextmanager
def paused() -> Iterator[None]:
    """Let the collector rest, if it does not already, and be as it was before at the end of the block.

    Blocks inside, and those of other threads that begin meanwhile, do not make the pause longer: threads that compile
    all the time never keep the collector from its work.

    Examples
    --------
    >>> import gc
    >>> with paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    pause = object()
    try:
        _begin(pause)
        yield
        if _pause is pause:
            gc.collect(0)  # an older generation would count as a step towards going through all objects
    finally:
        try:
            _end(pause)
        finally:  # again, since Ctrl-C may have ended it; once it is done, that does nothing
            _end(pause)


def _begin(pause: object) -> None:
    global _pause
    with _lock:
        if _pause is None and gc.isenabled():
            _pause = pause
            gc.disable()


def _end(pause: object) -> None:
    global _pause
    with _lock:
        if pause is not None and _pause is pause:
            gc.enable()
            _pause = None


def _after_fork() -> None:
    """The child does not have the thread that would end the pause."""
    global _lock
    _lock = threading.RLock()
    _end(_pause)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
