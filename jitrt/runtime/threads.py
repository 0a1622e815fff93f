"""Threads: how many, and the native driver that starts them."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba.core.compiler_lock import global_compiler_lock

from ..codegen.context import context
from ..config import threads_from_environment
from ..kernels.driver import emit_driver
from ..kernels.entry import emit_entry
from .objects import address, api, fields, tuple_and_array_offsets

_log = logging.getLogger("jitrt.codegen")


# The number of threads, in memory that native code reads at every call.
_allowed = np.array([threads_from_environment()], np.int64)


def num_threads() -> int:
    """How many threads kernels may use."""
    return int(_allowed[0])


def num_threads_address() -> int:
    """Where native code reads the number of threads."""
    return address(_allowed)


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
    """
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, not {n}")
    if not _forked:
        _allowed[0] = n


_forked: list[bool] = []


def _after_fork() -> None:
    # OpenMP's threads do not survive a fork, and starting them again in the child hangs.
    _forked.append(True)
    _allowed[0] = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@lru_cache(maxsize=1)
def parallel_for() -> int:
    """Address of the function that runs pieces of work on threads; 0 if there is none."""
    try:
        from numba.np.ufunc import omppool as layer  # safe to enter from several Python threads at once
    except ImportError:
        _log.info("numba's OpenMP layer does not load, so kernels run on one thread")
        return 0
    ctypes.CFUNCTYPE(None, ctypes.c_int)(layer.launch_threads)(num_threads())
    return layer.parallel_for


@lru_cache(maxsize=1)
def _native() -> tuple[Any, int, int]:
    """The library of the driver and the entry, and their addresses; 0 where there is no entry."""
    with global_compiler_lock:
        library = context().codegen().create_library("jitrt.driver")
        module = library.create_ir_module(library.name)
        run = emit_driver(module)
        offsets = fields()
        if offsets is not None:
            emit_entry(module, run, api(), offsets, tuple_and_array_offsets()[0])
        library.add_ir_module(module)
        library.finalize()
        entry = library.get_pointer_to_function("jitrt_entry")
        return library, library.get_pointer_to_function("jitrt_run"), entry


@lru_cache(maxsize=1)
def driver() -> Callable[[int, int], None]:
    """``jitrt_run(block, objects)`` as a callable that releases the GIL."""
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(_native()[1])


def entry_address() -> int:
    """Address of ``jitrt_entry``."""
    return _native()[2]
