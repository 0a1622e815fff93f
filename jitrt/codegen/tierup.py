"""Two tiers: procedures begin with a baseline version, and an optimised one takes its place where it pays.

LLVM takes a tenth of the time for code that it does not optimise. The first call of a procedure gets such a version,
behind a trampoline: an entry that runs what a word in memory points to. When loops of the procedure have taken many
turns, the baseline version asks for the optimised one. Neither a caller nor a loop has the interpreter's lock then, so
it releases a lock of CPython's that a thread of this module waits for. When the optimised version is there, the
trampoline leads to it; a call that is still in the baseline version leaves it, takes back what it wrote, and begins
again in the other one, so that a single long call loses no more than the compile took.

Both versions give the same bits: LLVM may change the order of no operations where that makes a difference.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import logging
import os
import threading
from collections.abc import Callable

from ..base import forks
from ..base.atwork import at_work
from ..kernels.tiers import PROCESS, TRAMPOLINE

_log = logging.getLogger("jitrt.codegen")
_ASKED, _CODE, _PROCESS = map(TRAMPOLINE.index, ("asked", "code", "process"))
_PENDING, _LOCK, _RELEASE = map(PROCESS.index, ("pending", "lock", "release"))

_process = (ctypes.c_int64 * len(PROCESS))()
_optimising = threading.RLock()  # held while an optimised version is made, and from the end of the main thread on
forks.hold("tiers", _optimising)
_has_thread = False


class _Baseline:
    """A procedure that runs in its baseline version."""

    def __init__(self, words: int, optimise: Callable[[], int]):
        self.optimise = optimise
        self.words = (ctypes.c_int64 * len(TRAMPOLINE)).from_address(words)
        self.words[_PROCESS] = ctypes.addressof(_process)


_baselines: dict[int, _Baseline] = {}  # by the addresses of their trampolines


def begin(trampoline: int, words: int, optimise: Callable[[], int]) -> None:
    """Take note of a procedure that runs in its baseline version.

    Parameters
    ----------
    trampoline, words : int
        The addresses of its entry, and of the words `kernels.tiers.TRAMPOLINE`.
    optimise : callable
        Makes the optimised version, and gives the address of its entry.
    """
    _baselines[trampoline] = _Baseline(words, optimise)
    _start_thread()


def is_baseline(trampoline: int) -> bool:
    """Whether the procedure with that entry runs in its baseline version."""
    return trampoline in _baselines


def optimise(trampoline: int) -> None:
    """Make the optimised version of the procedure with that entry, if it has none."""
    with _optimising, at_work():
        found = _baselines.get(trampoline)
        if found is not None:
            try:
                found.words[_CODE] = found.optimise()
            finally:
                del _baselines[trampoline]


def _start_thread() -> None:
    global _has_thread
    if _has_thread:
        return
    allocate, acquire = ctypes.pythonapi.PyThread_allocate_lock, ctypes.pythonapi.PyThread_acquire_lock
    allocate.restype, acquire.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]
    lock = allocate()
    acquire(lock, 1)
    _process[_PENDING], _process[_LOCK] = 0, lock
    _process[_RELEASE] = ctypes.cast(ctypes.pythonapi.PyThread_release_lock, ctypes.c_void_p).value or 0
    wait = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", ctypes.pythonapi))
    _has_thread = True
    _thread.start_new_thread(_serve, (wait, lock))


def _serve(wait: Callable[[int, int], int], lock: int) -> None:
    """What the thread runs, as long as the process does."""
    while True:
        wait(lock, 1)
        _process[_PENDING] = 0
        for trampoline, baseline in list(_baselines.items()):
            if baseline.words[_ASKED]:
                try:
                    optimise(trampoline)
                except Exception:
                    if threading.main_thread().is_alive():  # else modules may not be imported any more
                        _log.warning("compiled loops stay as they are: they cannot be optimised", exc_info=True)


def _after_fork() -> None:
    """The child has no thread, and nobody there has been asked."""
    global _has_thread
    _has_thread = False
    for baseline in _baselines.values():
        baseline.words[_ASKED] = 0
    if _baselines:
        _start_thread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_optimising.acquire)  # LLVM must not be left in the middle of something
