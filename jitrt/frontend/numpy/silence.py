"""Warnings of NumPy's Python code, as of a mean of nothing: a trace assumes that there are none.

Where they are not silent and the assumption fails the plain function runs, and NumPy itself warns, once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core import _methods

from ...base.once import once
from ...base.warningfilters import in_this_thread
from ...errors import JitrtPerformanceWarning, Untraceable
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.assumptions import guarded
from ...ir.ops.folds import REDUCE_OR, reduce
from ...ir.ops.ufuncs import CAST
from ..context import current
from ..python.userline import user_line

if TYPE_CHECKING:
    from ..state import Trace


class Warns(Untraceable):
    """NumPy warns in this call; in others it may not."""


def silent(trace: Trace, result: Node) -> Node:
    """`result`, of which it is assumed that NumPy's Python code does not warn.

    Raises
    ------
    Warns
        If it does in this call.
    """
    check_parts(trace, (result, *result.args))
    warns = result.op.warns(result) if result.op.warns is not None else None
    if warns is None or trace.phases.scope.silences_numpy:
        return result
    every = tuple(range(warns.type.ndim))
    is_silent = b.elementwise(np.logical_not, reduce(REDUCE_OR, warns, every) if every else warns)
    if trace.loops and not trace.is_known(is_silent):
        return guarded(result, is_silent)
    if not trace.assume(is_silent):
        raise Warns(f"NumPy warns in {result.op.name}", user_line())
    return result


def check_parts(trace: Trace, nodes: Iterable[Node]) -> None:
    """Go on if no complex number becomes a real one among `nodes`: NumPy warns that it discards imaginary parts.

    Raises
    ------
    Warns
    """
    if any(map(_discards, nodes)) and not trace.phases.scope.silences_numpy:
        raise Warns("imaginary parts are discarded, of which NumPy warns", user_line())


def _discards(node: Node) -> bool:
    if node.dtype.kind not in "iuf" or not (node.op is CAST or "dtype" in node.kwargs):
        return False
    return any(a.dtype.kind == "c" for a in node.args)


def errors_end_trace() -> np.errstate:
    """A context in which floating-point exceptions end a trace: those of what NumPy computes without any argument.

    They would be reported in this call alone. Underflow, which NumPy ignores if not told otherwise, is left out.
    """
    return np.errstate(divide="call", over="call", invalid="call", call=_end_trace)


def _end_trace(kind: str, _: int) -> None:
    raise Warns(f"NumPy reports {kind}", user_line())


@once
def let_warnings_end_traces() -> None:
    """Let what is told of while a function is traced end the trace: ``np.float64(1j)`` would warn in this call alone.

    Code in C asks for this function of `warnings`, and in other threads, and outside of traces, gets what it was.
    """
    show = warnings._showwarnmsg  # type: ignore[attr-defined]

    def show_or_end(message: Any) -> None:
        if current() is not None and not issubclass(message.category, JitrtPerformanceWarning):
            raise Warns(f"warns: {message.message}", user_line())
        show(message)

    warnings._showwarnmsg = show_or_end  # type: ignore[attr-defined]


def watched(trace: Trace, name: str) -> contextlib.AbstractContextManager[None]:
    """A context for a call that NumPy makes to learn types: where its Python code would warn the trace ends."""
    return contextlib.nullcontext() if trace.phases.scope.silences_numpy else ended_by_warnings(name)


_WARNING = ("warnings", "warn", "_warn")
_METHODS = vars(_methods)  # of arrays, that are code of Python's


@contextlib.contextmanager
def ended_by_warnings(name: str) -> Iterator[None]:
    """A context in which code raises `Warns` where it would warn.

    Nothing that other threads see is changed. Warnings that have been shown, and are not shown again, are none.
    """
    try:
        with in_this_thread("error") as place:
            yield
    except Warning:
        raise Warns(f"NumPy warns in {name}", user_line()) from None
    if place.has_warned:  # and something has caught that
        raise Warns(f"NumPy warns in {name}", user_line())


@functools.lru_cache(maxsize=256)
def may_warn(function: Any) -> bool:
    """Whether a function, or one that it names, is code of Python's that names `warnings`; if in doubt, it may warn.

    Code in C tells of floating-point exceptions alone. What is not NumPy's is not looked through.

    Examples
    --------
    >>> may_warn(np.einsum), may_warn(np.sin), may_warn(np.nanmean), may_warn(np.median)
    (False, False, True, True)
    """
    return _names_warnings(function, set())


def _names_warnings(function: Any, seen: set[types.CodeType]) -> bool:
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType) or function.__code__ in seen:
        return False
    if (function.__module__ or "").partition(".")[0] != "numpy":
        return True
    seen.add(function.__code__)
    names = {*_names_in(function.__code__)}
    if not names.isdisjoint(_WARNING):
        return True
    found = [function.__globals__.get(n) for n in names]
    modules = [vars(v) for v in found if isinstance(v, types.ModuleType)]
    called = [*found, *(space.get(n) for space in modules for n in names), *(_METHODS.get(f"_{n}") for n in names)]
    return any(_names_warnings(f, seen) for f in called if callable(f) and not isinstance(f, type))


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _names_in(value)


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """A context for a run of a function that is only a trial, which ends where a trace would not have gone on."""
    kinds = {name: "call" if how == "raise" else "ignore" for name, how in np.geterr().items()}
    with np.errstate(**kinds, call=_end_trace), ended_by_warnings("a trial"):  # type: ignore[arg-type]
        yield
