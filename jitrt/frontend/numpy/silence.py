"""Warnings of NumPy's Python code, as of a mean of nothing: a trace assumes that there are none.

Where they are not silent and the assumption fails the plain function runs, and NumPy itself warns, once.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Untraceable
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.assumptions import guarded
from ...ir.ops.folds import REDUCE_OR, reduce
from ...ir.ops.ufuncs import CAST
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


def watched(trace: Trace, name: str) -> contextlib.AbstractContextManager[None]:
    """A context for a call that NumPy makes to learn types: where its Python code would warn the trace ends."""
    return contextlib.nullcontext() if trace.phases.scope.silences_numpy else ended_by_warnings(name)


_SHOWING = warnings._showwarnmsg.__code__  # type: ignore[attr-defined]


@contextlib.contextmanager
def ended_by_warnings(name: str) -> Iterator[None]:
    """A context in which code raises `Warns` where it would warn.

    Nothing that other threads see is changed. Of code in C the warnings are found that no filter silences. Where the
    thread is profiled none is found.
    """

    def look(frame: Any, event: str, arg: Any) -> None:
        is_shown = event == "call" and frame.f_code is _SHOWING  # as C has it, in the name of the last line of Python
        if is_shown or (event == "c_call" and arg is warnings.warn):
            raise Warns(f"NumPy warns in {name}", user_line())

    if sys.getprofile() is not None:
        yield
        return
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """A context for a run of a function that is only a trial, which ends where a trace would not have gone on."""
    kinds = {name: "call" if how == "raise" else "ignore" for name, how in np.geterr().items()}
    with np.errstate(**kinds, call=_end_trace), ended_by_warnings("a trial"):  # type: ignore[arg-type]
        yield
