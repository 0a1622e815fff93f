"""Pickling of jit functions: by their names, and those of the main module in a way that other processes can read.

pickle writes a function by its name. cloudpickle, which joblib and dask use, writes functions of the main module by
value, because the main module of a worker is another one. Neither takes a jit function for a function. So one of the
main module hands over a plain function, its *stand-in*, whose qualified name leads from the jit function to itself,
``price.__jitrt_stand_in__``: pickle finds it there, and cloudpickle writes it as it writes functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

_FIRST_WITH_PATHS = 4  # protocol of pickle that writes qualified names with dots as they are


def reduced(
    made: Any, function: Callable[..., Any], options: tuple[Any, ...], protocol: int
) -> str | tuple[Callable[..., Any], tuple]:
    """What ``made.__reduce_ex__(protocol)`` gives.

    Parameters
    ----------
    made : jit function
    function : callable
        The plain function.
    options : tuple
        Its further arguments.
    protocol : int
        Of pickle.
    """
    name = made.__qualname__
    if _named(made.__module__, name) is not made:
        return type(made), (function, *options)
    if made.__module__ != "__main__" or protocol < _FIRST_WITH_PATHS or not isinstance(function, FunctionType):
        return name
    return _restored, (type(made), made.__module__, name, made.__jitrt_stand_in__, *options)


def stand_in(function: Any, name: str) -> FunctionType:
    """A copy of `function` with the qualified name under which a jit function called `name` has it."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, function.__annotations__
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    copy.__dict__.update(function.__dict__)
    copy.__qualname__ = f"{name}.__jitrt_stand_in__"
    return copy


def _named(module: str, name: str) -> Any:
    """What a qualified name leads to; None if that is nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _restored(make: Callable[..., Any], module: str, name: str, function: FunctionType, *options: Any) -> Any:
    """The jit function of that name if `function` is its stand-in, else one that is made of `function`."""
    found = _named(module, name)
    if getattr(found, "__jitrt_stand_in__", None) is function:
        return found
    function.__qualname__ = name
    return make(function, *options)
