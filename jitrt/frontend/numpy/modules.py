"""What a traced function finds in place of NumPy, of Python's modules of mathematics, and of their functions.

`stand_in` is what the copies made by `clones` find. Outside of a trace, and in other threads, it does what the object
itself does.
"""

from __future__ import annotations

import cmath
import functools
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...base.once import once
from ...errors import Untraceable
from ...values.functions import is_numpy
from ..context import current
from ..python.classes import asked
from ..python.elsewhere import Vectorized, refusing
from ..python.purevalues import why_impure
from ..python.userline import user_line
from ..state import Trace
from . import draws, maskedfunctions
from .creation import CALLS, Concatenator, Grid, array_call, array_of, is_traced
from .numbers import library_call
from .operands import phantoms
from .pythonsums import accurate_sum
from .scopes import CaughtWarnings, ErrorState, filter_warnings
from .standin import ModuleStandIn, StandIn
from .tracer import Tracer


def _ufunc_call(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A ufunc, or a method of one, each of whose operands may be a list of arrays."""
    count = getattr(function, "nin", 1 + (function.__name__ == "outer"))
    if len(args) > count and function in (np.maximum, np.minimum):  # NumPy warns before it asks the operands
        raise Untraceable(f"np.{function.__name__} with a third positional argument, of which NumPy warns", user_line())
    arrays = [array_of(state, a) if type(a) in (list, tuple) and is_traced(a) else a for a in args[:count]]
    return function(*arrays, *args[count:], **kwargs)


def _required(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``np.require(a, dtype, requirements)``."""
    if any(map(is_traced, (*args, *kwargs.values()))):
        raise Untraceable("calls np.require, which asks how an array lies in memory", user_line())
    return function(*args, **kwargs)


def _error_state(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``np.geterr()``: one call may have another error state than the next."""
    raise Untraceable("asks for the error state", user_line())


def _broadcast(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    return _Broadcast(function(*phantoms(args))) if is_traced(args) else function(*args, **kwargs)


class _Broadcast:
    """``np.broadcast`` of traced arrays, of which the shape is known, and no element."""

    def __init__(self, made: Any):
        self.shape, self.ndim, self.nd, self.size, self.numiter = (
            made.shape,
            made.ndim,
            made.nd,
            made.size,
            made.numiter,
        )

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"np.broadcast(…).{name} of arrays that are being traced", user_line())

    def __iter__(self) -> Any:
        raise Untraceable("iterates over arrays that are broadcast", user_line())


def _in_traces(kind: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """What makes objects of one kind, and of another one during a trace."""
    return lambda *args, **kwargs: (kind if current() is None else traced)(*args, **kwargs)


@once
def _calls() -> dict[int, Callable[..., Any]]:
    """What calls of functions do during a trace, by the identity of the functions; see `StandIn`."""
    found: dict[int, Callable[..., Any]] = {id(function): make for function, make in CALLS.items()}
    found |= {id(np.require): _required, id(np.geterr): _error_state, id(np.broadcast): _broadcast}
    found |= {id(np.shares_memory): _shares, id(np.may_share_memory): _shares}
    numeric = [f for library in (math, cmath) for f in vars(library).values() if type(f) is types.BuiltinFunctionType]
    several: list[tuple[Callable[..., Any], Iterable[Any]]] = [
        (draws.made, draws.MAKERS),
        (_number_call, numeric),
        (filter_warnings, (warnings.simplefilter, warnings.filterwarnings)),
    ]
    for make, functions in several:
        found |= dict.fromkeys(map(id, functions), make)
    found |= {id(f): functools.partial(_draw, name) for name, f in vars(np.random).items() if _draws(f)}
    if sys.version_info >= (3, 12):
        found |= {id(sum): _python_sum, id(math.sumprod): _sum_of_products}
    for kind, make in ((type(np.max), array_call), (np.ufunc, _ufunc_call)):
        for module in (np, np.linalg, np.fft):
            found = dict.fromkeys([id(f) for f in vars(module).values() if type(f) is kind], make) | found
    return found


@once
def _stand_ins() -> dict[int, Any]:
    """What is seen in place of NumPy's objects, by their identity: others than functions, and functions so far."""
    found: dict[int, Any] = {id(grid): Grid(grid) for grid in (np.mgrid, np.ogrid)}
    found |= {id(concatenator): Concatenator(concatenator) for concatenator in (np.r_, np.c_)}
    found[id(np.vectorize)] = _in_traces(np.vectorize, Vectorized)
    found[id(np.nditer)] = _in_traces(np.nditer, _iterated)
    found[id(np.errstate)] = _in_traces(np.errstate, ErrorState)
    found[id(warnings.catch_warnings)] = _in_traces(warnings.catch_warnings, CaughtWarnings)
    if hasattr(np, "row_stack"):  # which NumPy 2 warns of, and no dispatcher knows
        found[id(np.row_stack)] = refusing("np.row_stack, of which NumPy warns")  # noqa: NPY201
    for module in (np.random, np.random.mtrand, np.linalg, np.fft, np, math, cmath):
        found[id(module)] = ModuleStandIn(module, _member)
    return found


def _iterated(arrays: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.nditer`` goes through memory, which the values of what is traced do not lie in."""
    if any(type(a) is Tracer for a in (arrays if isinstance(arrays, (list, tuple)) else (arrays,))):
        raise Untraceable("np.nditer of values that are being traced", user_line())
    return np.nditer(arrays, *args, **kwargs)


def _shares(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Whether two arrays have common memory: of parts of one array that is not there yet, their places tell."""
    x, y = (*args, None, None)[:2]
    are_parts = all(type(a) is Tracer and a._is_array() for a in (x, y)) and x._storage() is y._storage()
    probes = x._storage().probes(x._node, y._node) if are_parts else None
    if probes is None and (type(x) is Tracer or type(y) is Tracer):
        raise Untraceable(f"np.{function.__name__} of what is being traced", user_line())
    if probes is None:
        return function(*args, **kwargs)
    return function(*probes, *args[2:], **kwargs)


@once
def classes_of_generators() -> dict[type, Any]:
    """What stands for classes of generators of random numbers, which code may compare with those of its own."""
    return {kind: _member(kind.__name__, kind) for kind in (np.random.Generator, np.random.RandomState)}


def _member(name: str, value: Any) -> Any:
    """What code finds under a name of a module."""
    if value is draws.GLOBAL:
        return draws.of_object(value)
    found = stand_in(value)
    return _harmless(name, value) if found is value else found


def _harmless(name: str, value: Any) -> Any:
    """What code finds under a name of a module: where it has the module in a variable, it may look up any of them."""
    is_class = isinstance(value, type)
    has_effects = is_numpy(value) and (not is_class or value.__module__.startswith("numpy.random"))
    reason = why_impure(value, name) if has_effects else None
    if reason is None:
        return value
    return asked(value, reason) if is_class else refusing(reason)


def _draws(function: Any) -> bool:
    """Whether a function draws from NumPy's own generator."""
    return getattr(function, "__self__", None) is draws.GLOBAL


def _draw(name: str, state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A function that draws from NumPy's own generator."""
    return getattr(draws.of_object(draws.GLOBAL), name)(*args, **kwargs)


def _python_sum(_: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``sum`` as Python adds numbers since version 3.12."""
    is_error = len(args) + len(kwargs) > 2 or not args or isinstance((args[1:] or (0,))[0], (str, bytes, bytearray))
    return function(*args, **kwargs) if is_error else accurate_sum(*args, **kwargs)


def _sum_of_products(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``math.sumprod``, which is accurate for Python's own floats alone."""
    given = tuple(v if type(v) is Tracer else list(v) for v in args)
    is_known = not any(type(v) is Tracer or any(type(part) is Tracer for part in v) for v in given)
    return function(*given) if is_known else state.calls.host_call(function, function.__name__, given, kwargs)


def _number_call(state: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A function of Python numbers."""
    numbers = [v for v in args if type(v) is Tracer]
    if not numbers or any(v.shape for v in numbers):
        return function(*args, **kwargs)
    nodes = [_python_float(state, v) for v in args]
    made = None if None in nodes or kwargs else library_call(state, function, *nodes)
    if made is not None:
        return Tracer(made, state)
    return state.calls.host_call(function, function.__name__, args, kwargs)


def _python_float(state: Trace, value: Any) -> Any:
    """The node of a number that Python's functions take as a float of the same value; None if it is none."""
    if type(value) is not Tracer:
        return state.lift(float(value)) if type(value) in (int, float) else None
    if value._is_weak():
        return value._node if value.dtype.kind in "fi" else None
    return value.item()._node if value.dtype in (np.float64, np.float32) else None


def renew(module: types.ModuleType, name: str, value: Any) -> None:
    """Let traced functions find `value` in a module of NumPy's or Python's, where somebody may have replaced it."""
    known = _stand_ins()
    if id(module) in known:
        vars(known[id(module)])[name] = _member(name, value)


def renew_all(module: types.ModuleType) -> None:
    """Let traced functions find in a module what is there now: their code does not tell what they take from it."""
    for name, value in list(vars(module).items()):
        renew(module, name, value)


def stand_in(value: Any) -> Any:
    """What a traced function finds in place of `value`: another object for NumPy and its creation functions."""
    known = _stand_ins()
    found = known.get(id(value))
    if found is not None:
        return found
    make = _calls().get(id(value))
    if make is None:
        return maskedfunctions.stand_in(value)
    return known.setdefault(id(value), StandIn(value, make))
