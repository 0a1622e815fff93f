"""Memory of results: arrays that own it, large ones from blocks that earlier results have freed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base.once import once
from ..config import kept_bytes
from ..kernels import allocator
from . import threads
from .objects import address, api, has_gil

LARGE = 1 << 18  # bytes; smaller arrays come from memory that the C library itself keeps


class _Allocator(ctypes.Structure):
    """``PyDataMemAllocator`` of NumPy's C API."""

    _fields_ = [
        ("context", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")),
    ]


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler`` of NumPy's C API, version 1."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("allocator", _Allocator),
    ]


_context = np.zeros(allocator.CONTEXT_WORDS, np.int64)


@once
def handler() -> Any:
    """The capsule of the memory handler. It is never freed, since arrays outlive everything that could own it."""
    _context[allocator.LIMIT] = kept_bytes()
    _context[allocator.SMALLEST] = LARGE
    functions = [threads.native_address(name) for name in allocator.FUNCTIONS]
    made = _Handler(b"jitrt", 1, _Allocator(address(_context), *functions))
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for kept in (made, _context):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return capsule(ctypes.addressof(made), _CAPSULE_NAME, None)


_CAPSULE_NAME = b"mem_handler"


def keep_at_most(nbytes: int) -> None:
    """Keep no more memory of freed results than that for further ones."""
    handler()
    _context[allocator.LIMIT] = min(int(_context[allocator.LIMIT]), nbytes)


def most_kept() -> int:
    """How many bytes of freed results are kept at most."""
    handler()
    return int(_context[allocator.LIMIT])


@once
def _set_handler() -> Callable[[Any], Any]:
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(api()["PyDataMem_SetHandler"])


def empty(shape: tuple[int, ...], dtype: np.dtype, nbytes: int, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """``numpy.empty(shape, dtype)``, from kept memory if it is large; with axes in the order of `strides`."""
    if nbytes < LARGE or not has_gil():
        return _empty(shape, dtype, strides)
    ordinary = _set_handler()(handler())
    try:
        return _empty(shape, dtype, strides)
    finally:
        _set_handler()(ordinary)


def _empty(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None) -> np.ndarray:
    if strides is None:
        return np.empty(shape, dtype)
    return np.empty_like(as_strided(np.empty(1, dtype), shape, strides), order="K")


def clear_caches() -> None:
    """Give back to the system the memory of freed results that is kept for further ones.

    Up to ``JITRT_KEEP_BYTES`` (256 MiB by default) are kept.
    """
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(threads.native_address("jitrt_release"))(address(_context))
