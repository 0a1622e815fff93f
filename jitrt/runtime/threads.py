"""Threads: how many, and the native driver that starts them."""

from __future__ import annotations

import ctypes
import itertools
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

_log = logging.getLogger("jitrt.codegen")
_SEARCHED_WORDS = 16  # of an object's memory, in which its fields are looked for


class _State:
    """The number of threads; a forked child has one, since OpenMP's threads do not survive a fork."""

    limit = threads_from_environment()
    forked = False


def num_threads() -> int:
    """How many threads kernels may use."""
    return 1 if _State.forked else _State.limit


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
    _State.limit = int(n)


def _after_fork() -> None:
    _State.forked = True


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
    ctypes.CFUNCTYPE(None, ctypes.c_int)(layer.launch_threads)(_State.limit)
    return layer.parallel_for


@lru_cache(maxsize=1)
def driver() -> tuple[Callable[[int, int], None], Any]:
    """``jitrt_run(block, objects)`` as a callable that releases the GIL, and the library that holds it."""
    with global_compiler_lock:
        library = context().codegen().create_library(f"jitrt.driver.{next(_numbers)}")
        module = library.create_ir_module(library.name)
        emit_driver(module)
        library.add_ir_module(module)
        library.finalize()
        address = library.get_pointer_to_function("jitrt_run")
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(address)
    return run, library


_numbers = itertools.count()


@lru_cache(maxsize=1)
def object_offsets() -> tuple[int, int]:
    """Offsets in bytes of a tuple's first item, and of an array's data address, found by looking for known values."""
    probe = np.empty(3)
    pair = (probe, None)
    return _find(pair, id(probe)), _find(probe, probe.__array_interface__["data"][0])


def _find(value: object, word: int) -> int:
    words = (ctypes.c_int64 * _SEARCHED_WORDS).from_address(id(value))
    size = min(_SEARCHED_WORDS, type(value).__basicsize__ // 8 + 2)
    for k in range(2, size):
        if words[k] == word:
            return 8 * k
    raise RuntimeError("the layout of Python objects is not known here")
