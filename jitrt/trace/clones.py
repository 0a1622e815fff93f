"""Copies of functions that find other objects where they read from outside.

Nothing is patched: the function itself, its module and other threads see what they saw before.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .context import current
from .creation import stand_in
from .loopsites import only_called
from .purity import MISSING, contents, is_numpy
from .rolling import traced_range


class _ModuleView(types.ModuleType):
    """A module whose functions and arrays are replaced as they are read."""

    def __init__(self, module: types.ModuleType, replaced: Callable[[Any], Any]):
        super().__init__(module.__name__)
        self._module, self._replaced = module, replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced(getattr(self._module, name))


def with_tracers(function: Callable[..., Any], tracers: dict[int, Any]) -> Callable[..., Any]:
    """A copy of `function` that finds tracers in place of captured arrays and what NumPy creates.

    The functions that it calls are copied, too.

    Parameters
    ----------
    function : callable
    tracers : dict of int to Tracer
        By the identity of the captured array.
    """
    copies: dict[int, types.FunctionType] = {}
    namespaces: dict[int, tuple[dict[str, Any], set[str]]] = {}
    views: dict[int, _ModuleView] = {}

    def replaced(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return tracers.get(id(value), value)
        if isinstance(value, types.ModuleType) and not is_numpy_module(value):
            if id(value) not in views:
                views[id(value)] = _ModuleView(value, replaced)
            return views[id(value)]
        inner = getattr(value, "__jitrt_function__", value)
        if isinstance(inner, types.FunctionType) and not is_numpy(inner):
            return copy(inner)
        if isinstance(value, functools.partial):
            keywords = {k: replaced(v) for k, v in value.keywords.items()}
            return functools.partial(replaced(value.func), *map(replaced, value.args), **keywords)
        return stand_in(value)

    def imported(*args: Any, **kwargs: Any) -> Any:
        """What an import statement inside a copy finds."""
        return replaced(__import__(*args, **kwargs))

    def copy(f: types.FunctionType) -> types.FunctionType:
        if id(f) in copies:
            return copies[id(f)]
        if id(f.__globals__) not in namespaces:
            own = {"__builtins__": vars(builtins) | {"__import__": imported}}
            namespaces[id(f.__globals__)] = f.__globals__ | own, set()
        namespace, done = namespaces[id(f.__globals__)]
        closure = tuple(types.CellType() for _ in f.__closure__ or ())
        copies[id(f)] = made = types.FunctionType(f.__code__, namespace, f.__name__, None, closure)
        for name in _global_names(f.__code__) - done:
            done.add(name)
            if name in namespace:
                namespace[name] = replaced(namespace[name])
        if "type" in f.__code__.co_names and (state := current()) is not None:
            state.symbolic = False  # it would tell symbols from integers
        if "range" in f.__code__.co_names and "range" not in f.__globals__:
            # Code that does something else with it than call it may compare it by identity.
            calls = only_called(f.__code__, "range")
            namespace["range"] = traced_range if calls and namespace.get("range") is not range else range
        for cell, original in zip(closure, f.__closure__ or ()):
            if (value := contents(original)) is not MISSING:
                cell.cell_contents = replaced(value)
        made.__defaults__ = tuple(map(replaced, f.__defaults__)) if f.__defaults__ else None
        made.__kwdefaults__ = {k: replaced(v) for k, v in (f.__kwdefaults__ or {}).items()} or None
        return made

    result = replaced(function)
    assert callable(result)
    return result


def is_numpy_module(module: types.ModuleType) -> bool:
    return module.__name__ == "numpy" or module.__name__.startswith("numpy.")


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names
