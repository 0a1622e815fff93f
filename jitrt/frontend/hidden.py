"""Symbols hidden in objects that nothing takes apart: in a result or a recorded call they would outlive the trace."""

from __future__ import annotations

import gc
import types
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..ir.node import Node
from ..values.masked import Masked
from .numpy.operators import Operators
from .python.userline import user_line

_MOST_OBJECTS = 10_000
_HOLD_NOTHING = (
    int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype, type, types.ModuleType, np.ufunc,
    types.CodeType, np.random.Generator, np.random.RandomState,
)  # fmt: skip


def check_no_symbol(value: Any, what: str) -> None:
    """Let the plain function run if `value`, `what` for the reader, leads to a symbol.

    Raises
    ------
    Untraceable
        If it does, or is so large that nobody knows.
    """
    pending, seen = [value], {id(value)}
    for part in pending:  # which grows
        if issubclass(type(part), (Operators, Node, Masked)) or len(pending) > _MOST_OBJECTS:
            raise Untraceable(f"{what} ({type(value).__name__}) holds a value that is being traced", user_line())
        for inner in () if issubclass(type(part), _HOLD_NOTHING) else _parts(part):
            if id(inner) not in seen:
                seen.add(id(inner))
                pending.append(inner)


def _parts(value: Any) -> list[Any]:
    if issubclass(type(value), np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else []
    if type(value) is types.FunctionType:  # without the names of its module
        return [*(value.__closure__ or ()), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    return gc.get_referents(value)
