"""Machine code that is made later: by a thread, which ends when nothing is left to do, or by who needs it first.

A thread of this module compiles what nobody waits for, while the interpreter's lock is free most of the time. Only one
thread compiles at a time. A process that ends makes what is waiting, if that takes no longer than a moment, so that
later processes find it in the disk cache; a forked child makes what it needs itself.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, sleep

from ..base import collection, forks
from ..base.atwork import at_work

_log = logging.getLogger("jitrt.codegen")
_LONGEST_END = 1.0  # seconds after which a process that ends begins nothing any more
_TURN = 0.001  # seconds between two things, in which a thread that waits for the lock gets it
compiling = threading.RLock()
"""Held while machine code is made or looked up, and from the end of the main thread on."""
_queueing = threading.RLock()
forks.hold("kernels", compiling)
forks.hold("queue", _queueing)
_queue: deque[Task] = deque()
_has_thread = False


class Task:
    """Something that is made once.

    Parameters
    ----------
    make : callable
        What fails is tried again when it is needed.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], None]):
        self._make: Callable[[], None] | None = make

    def finish(self) -> None:
        """Make it, or wait for the thread that does."""
        if self._make is not None:
            with compiling, at_work():
                if self._make is not None:
                    with collection.paused():
                        self._make()
                    self._make = None

    def begin(self) -> None:
        """Have a thread make it."""
        global _has_thread
        with _queueing, at_work():
            _queue.append(self)
            if not _has_thread:
                with suppress(RuntimeError):  # there can be no more threads: who needs it makes it
                    _thread.start_new_thread(_serve, ())
                    _has_thread = True


def _next() -> Task | None:
    global _has_thread
    with _queueing:
        if _queue:
            return _queue.popleft()
        _has_thread = False
        return None


def _serve() -> None:
    while (task := _next()) is not None:
        try:
            task.finish()
        except Exception:  # who needs it will see
            _log.debug("not compiled in the background", exc_info=True)
        sleep(_TURN)


def _after_fork() -> None:
    """The child has no thread."""
    global _has_thread
    _has_thread = False


def _end() -> None:
    last = monotonic() + _LONGEST_END
    while monotonic() < last and (task := _next()) is not None:
        try:
            task.finish()
        except Exception:
            _log.debug("not compiled at the end", exc_info=True)
    _queue.clear()
    compiling.acquire()  # LLVM must not be left in the middle of something


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_end)
