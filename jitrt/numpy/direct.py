"""Native code for elements and small parts of lazy arrays that loops look into; see `kernels.elements`."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..kernels.elements import ELEMENTS
from ..runtime import threads
from ..runtime.objects import address, fields, method, slot_offsets
from .memory import Memory

_log = logging.getLogger("jitrt.trace")
_words = np.zeros(len(ELEMENTS), np.int64)
_class: Any = None
_functions: tuple[Any, ...] = ()
_pending: dict[Any, Any] = {}
_is_installed = False
keeps_small = bool(os.environ.get("SCIPY_ARRAY_API"))
"""Whether small arrays are lazy, and not NumPy's: SciPy refuses arrays of two namespaces if it looks at them."""


def set_class(lazy: type, pending: dict[Any, Any], made: Callable[[np.ndarray], Any]) -> None:
    """Say what class lazy arrays are of, what is not empty while something is pending, and what makes a lazy array."""
    global _class, _functions, _pending
    _class, _pending = lazy, pending
    _functions = vars(lazy)["__getitem__"], vars(lazy)["__setitem__"], made


def keep_small_lazy() -> None:
    """Let small arrays be lazy ones for good: programs for the array API standard want one namespace."""
    global keeps_small
    keeps_small = True
    renew()


def renew() -> None:
    """Tell native code which parts are small."""
    _words[ELEMENTS.index("small")] = 0 if keeps_small else policy.SMALL_ARRAY


def install() -> None:
    """Let native code serve elements and parts from now on, if this takes no compiling."""
    global _is_installed
    if _is_installed or fields() is None or not threads.driver_is_cached():
        return
    _is_installed = True
    try:
        _install()
    except Exception as error:
        _log.debug("Python code serves elements of lazy arrays (%s: %s)", type(error).__name__, error)


def _install() -> None:
    own, memory = slot_offsets(_class), slot_offsets(Memory)
    if own is None or memory is None:
        return
    kinds = {
        "array": np.ndarray, "tuple": tuple, "list": list, "int": int, "int64": np.int64, "slice": slice,
        "ellipsis": type(...), "none type": type(None),
    }  # fmt: skip
    values = {
        "memory": own["_held"], "part": own["_part"], "true": id(True), "none": id(None), "pending": id(_pending),
        "get": id(_functions[0]), "set": id(_functions[1]), "gathered": id(_functions[2]),
    }  # fmt: skip
    values |= {name: memory[name] for name in ("direct", "value", "views")}
    for name, value in {**values, **{name: id(kind) for name, kind in kinds.items()}}.items():
        _words[ELEMENTS.index(name)] = value
    names = ("jitrt_elements", "jitrt_get_item", "jitrt_set_item")
    tell, get, set_ = map(threads.native_address, names)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(tell)(address(_words))
    _class.__getitem__, _class.__setitem__ = method(_class, "__getitem__", get), method(_class, "__setitem__", set_)


renew()
