"""Functions as arguments of calls that NumPy makes: they find values where they found tracers while being traced.

`np.apply_along_axis` and its kind call a function of the user's at every run of the program. What that function has
closed over, or reads from its module, are operands of the call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import Untraceable
from ...values.functions import MISSING, contents
from ..python.bytecode import assigns_nonlocals, names_in
from ..python.userline import user_line
from .standin import StandIn
from .tracer import Tracer

# What such a function may close over: it cannot change it.
_READ = (
    Tracer, np.ndarray, np.generic, np.dtype, np.ufunc, int, float, complex, str, bytes, type(None), slice, range, type,
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, StandIn,
)  # fmt: skip


class FunctionTemplate:
    """A function with placeholders in place of the tracers that it reaches.

    Parameters
    ----------
    function : function
    replaced : callable
        From what the function reaches to what takes its place, which is the same object where nothing has to.
    """

    __slots__ = ("_cells", "_function", "_globals")

    def __init__(self, function: types.FunctionType, replaced: Callable[[Any], Any]):
        self._function = function
        if assigns_nonlocals(function.__code__):
            raise Untraceable(f"NumPy calls {function.__name__}, which assigns a nonlocal variable", user_line())
        cells = [contents(cell) for cell in function.__closure__ or ()]
        for value in cells:
            if not (value is MISSING or isinstance(value, _READ)):
                reason = f"NumPy calls {function.__name__}, which reaches a value of type {type(value).__name__}"
                raise Untraceable(reason, user_line())
        self._cells = [None if v is MISSING else (v, replaced(v)) for v in cells]
        self._globals = {}
        for name in names_in(function.__code__):
            value = function.__globals__.get(name)
            if type(value) is Tracer or isinstance(value, types.FunctionType):
                made = replaced(value)
                if made is not value:
                    self._globals[name] = made

    @property
    def is_needed(self) -> bool:
        """Whether anything is replaced."""
        return bool(self._globals) or any(c is not None and c[0] is not c[1] for c in self._cells)

    def filled(self, fill: Callable[[Any], Any]) -> types.FunctionType:
        """The function with values in place of the placeholders."""
        f = self._function
        namespace = f.__globals__ | {name: fill(v) for name, v in self._globals.items()}
        cells = tuple(types.CellType() if c is None else types.CellType(fill(c[1])) for c in self._cells)
        made = types.FunctionType(f.__code__, namespace, f.__name__, f.__defaults__, cells)
        made.__kwdefaults__ = f.__kwdefaults__
        return made
