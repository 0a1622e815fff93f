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
_is_paused = False


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
    global _is_paused
    with _lock:
        begins = not _is_paused and gc.isenabled()
        if begins:
            gc.disable()
            _is_paused = True
    try:
        yield
    finally:
        if begins:
            _resume()


def _resume() -> None:
    global _is_paused
    with _lock:
        if _is_paused:
            gc.enable()
            _is_paused = False


def _after_fork() -> None:
    """The child does not have the thread that would end the pause."""
    global _lock
    _lock = threading.Lock()
    _resume()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
