"""Threads: how many, the pool of workers, and the native driver that gives them work."""

from __future__ import annotations

import _thread
import ctypes
import operator
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import llvmlite.binding as llvm
import numpy as np

from .. import policy
from ..base.atwork import at_work
from ..base.once import once
from ..codegen import cache
from ..codegen.fingerprint import digest, fingerprint
from ..config import cache_directory, processors, threads_from_environment
from ..kernels import allocator
from ..kernels.pool import LINE, MOST_WORKERS, POOL_WORDS, PROCESS, SLEEPERS
from ..kernels.words import symbol
from .objects import address, api, builtin, fields, tuple_and_array_offsets

if TYPE_CHECKING:
    from llvmlite import ir

# What native code reads at every call.
_first = min(threads_from_environment() or processors(), MOST_WORKERS + 1)
_process = np.array([_first, 0, 0, 0, policy.SHARED_WORK], np.int64)
_THREADS, _POOL, _WANTED, _SHARE, _LEAST = map(PROCESS.index, ("threads", "pool", "wanted", "share", "least"))
_is_told = threads_from_environment() is not None  # how many threads to use
_start_lock = threading.RLock()
_pools: list[np.ndarray] = []  # never freed: workers look at their pool until the process ends
_workers = 0


def num_threads() -> int:
    """How many threads kernels may use.

    Returns
    -------
    int
        What `set_num_threads` has set. At first ``JITRT_NUM_THREADS``, else ``OMP_NUM_THREADS``, else the number of
        processors that this process may run on; but 1 in processes that `multiprocessing` has started, which are mostly
        as many as there are processors.

    See Also
    --------
    set_num_threads

    Examples
    --------
    >>> import jitrt
    >>> jitrt.num_threads() >= 1
    True
    """
    global _is_told
    if not _is_told and "multiprocessing" in sys.modules and sys.modules["multiprocessing"].parent_process():
        _process[_THREADS], _is_told = 1, True
    return int(_process[_THREADS])


def process_words() -> int:
    """The address of the words `pool.PROCESS`."""
    if fields() is not None and not _process[_SHARE]:
        _process[_SHARE] = _native()["jitrt_share_loop"]
    return address(_process)


def pool_words() -> tuple[int, int]:
    """The addresses of the words ``pool`` and ``wanted`` of `pool.PROCESS`."""
    return address(_process[_POOL:]), address(_process[_WANTED:])


def start_wanted_pool() -> bool:
    """Start the pool if native code would have used it; whether that is so."""
    if not _process[_WANTED]:
        return False
    start_pool()
    _process[_WANTED] = 0
    return True


def set_num_threads(n: int) -> None:
    """Let kernels use `n` threads from now on.

    Parameters
    ----------
    n : int
        At least 1.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    TypeError
        If `n` is no integer.

    See Also
    --------
    jit : has an option for the threads of one function.

    Notes
    -----
    Work that takes some ten microseconds runs on one thread. Results do not depend on the number of threads.

    Examples
    --------
    >>> import jitrt
    >>> before = jitrt.num_threads()
    >>> jitrt.set_num_threads(1)
    >>> jitrt.num_threads()
    1
    >>> jitrt.set_num_threads(before)
    """
    global _is_told
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, not {n}")
    if _process[_POOL]:
        _start_workers(n)
    _process[_THREADS], _is_told = min(n, MOST_WORKERS + 1), True


def start_pool() -> None:
    """Make sure that there are as many threads as kernels may use."""
    if not has_pool():
        _start_workers(num_threads())


def has_pool() -> bool:
    """Whether there are as many threads as kernels may use."""
    wanted = num_threads()
    return bool(_process[_POOL]) and _workers >= wanted - 1


def _start_workers(threads: int) -> None:
    global _workers
    with _start_lock, at_work():  # an interrupt between a start and its count would have a worker run twice
        if not _process[_POOL]:
            pool = np.zeros(POOL_WORDS, np.int64)
            allocate = ctypes.pythonapi.PyThread_allocate_lock
            acquire = ctypes.pythonapi.PyThread_acquire_lock
            allocate.restype, acquire.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]
            for k in range(MOST_WORKERS):
                lock = allocate()
                acquire(lock, 1)
                pool[SLEEPERS + k * LINE + 1] = lock
            _pools.append(pool)
            _process[_POOL] = address(pool)
        run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(_native()["jitrt_worker"])
        while _workers < min(threads - 1, MOST_WORKERS):
            # It runs no Python code: a `threading.Thread` would wait until it is at work, milliseconds if others are.
            try:
                _thread.start_new_thread(run, (int(_process[_POOL]), _workers))
            except RuntimeError:  # the system has no more: kernels run on those that there are
                break
            _workers += 1


def _after_fork() -> None:
    """The child has no workers: it starts a pool of its own when it needs one."""
    global _workers, _start_lock
    _workers, _start_lock = 0, threading.RLock()
    _process[_POOL] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@once
def _native() -> dict[str, int]:
    """Addresses of the driver, the worker and, where object layouts are known, the entry."""
    offsets = fields()
    for name, location in api().items():
        llvm.add_symbol(symbol(name), location)
    names = ["jitrt_run", "jitrt_worker", *allocator.FUNCTIONS, "jitrt_release"]
    if offsets is not None:
        names += ["jitrt_call", "jitrt_share_loop", "jitrt_hash_of", "jitrt_errors", "jitrt_formulas", "jitrt_block"]
        names += ["jitrt_elements", "jitrt_get_item", "jitrt_set_item"]
    return cache.load(_driver_text()) or _assembled(_driver_text(), names)


def _driver_text() -> str:
    """What the driver's code depends on, beside the fingerprint of the disk cache."""
    return f"driver {fields()} {tuple_and_array_offsets()}"


def driver_is_cached() -> bool:
    """Whether this process or the disk cache has the driver, so that nothing has to be compiled for it."""
    return _native.is_made or cache.has(_driver_text())


def driver_can_be_cached() -> bool:
    """Whether there is a disk cache."""
    return cache_directory() is not None


def _assembled(text: str, names: list[str]) -> dict[str, int]:
    """The native code that every process needs, which is in the disk cache from the first one on."""
    from ..codegen.compile import assemble_module
    from ..kernels import driver, elements, entry, sharedloops

    offsets = fields()

    def emit(module: ir.Module) -> None:
        run = driver.emit_driver(module)
        allocator.emit_allocator(module)
        if offsets is not None:
            entry.emit_entry(module, run, offsets, tuple_and_array_offsets()[0])
            driver.emit_block_call(module, run)
            elements.emit_elements(module, offsets)
            sharedloops.emit_share_loop(module, module.get_global("jitrt_share"))

    return assemble_module(digest(text + fingerprint()), emit, {text: names})


@once
def driver() -> Callable[[int, int, int, int], int]:
    """``jitrt_run(block, objects, watched, position)`` as a callable that releases the GIL."""
    if fields() is not None:
        return builtin("jitrt_block", _native()["jitrt_block"], None)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(_native()["jitrt_run"])


@once
def formulas() -> Callable[[int, int, int, int], bool]:
    """``jitrt_formulas(rows, count, items, registers)`` as a callable."""
    kind = ctypes.PYFUNCTYPE(ctypes.c_bool, *[ctypes.c_int64] * 4)
    return kind(_native()["jitrt_formulas"])


def native_address(name: str) -> int:
    """Address of a function of the driver's module."""
    return _native()[name]
