"""Warnings of NumPy's Python code, as of a mean of nothing: a trace assumes that there are none.

Where they are not silent and the assumption fails the plain function runs, and NumPy itself warns, once.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Untraceable
from ..expr import build as b
from ..expr.assumptions import guarded
from ..expr.folds import REDUCE_OR, reduce
from ..expr.node import Node
from .userline import user_line

if TYPE_CHECKING:
    from .state import Trace


class Warns(Untraceable):
    """NumPy warns in this call; in others it may not."""


def silent(trace: Trace, result: Node) -> Node:
    """`result`, of which it is assumed that NumPy's Python code does not warn.

    Raises
    ------
    Warns
        If it does in this call.
    """
    warns = result.op.warns(result) if result.op.warns is not None else None
    if warns is None or trace.phases.scope.silences_numpy:
        return result
    every = tuple(range(warns.type.ndim))
    is_silent = b.elementwise(np.logical_not, reduce(REDUCE_OR, warns, every) if every else warns)
    if trace.is_in_a_loop() and not trace.is_known(is_silent):
        return guarded(result, is_silent)
    if not trace.assume(is_silent):
        raise Warns(f"NumPy warns in {result.op.name}", user_line())
    return result


def errors_end_trace() -> np.errstate:
    """A context in which floating-point exceptions end a trace: those of what NumPy computes without any argument.

    They would be reported in this call alone. Underflow, which NumPy ignores if not told otherwise, is left out.
    """
    return np.errstate(divide="call", over="call", invalid="call", call=_end_trace)


def _end_trace(kind: str, _: int) -> None:
    raise Warns(f"NumPy reports {kind} of values that depend on no argument", user_line())


@contextlib.contextmanager
def watched(trace: Trace, name: str) -> Iterator[None]:
    """A context for a call that NumPy makes to learn types: where its Python code would warn the trace ends.

    It ends in front of the warning, and nothing that other threads see is changed. What writes warnings in C is not
    found, and nothing where the thread is profiled.
    """
    if sys.getprofile() is not None or trace.phases.scope.silences_numpy:
        yield
        return

    def look(frame: Any, event: str, arg: Any) -> None:
        if event == "c_call" and arg is warnings.warn:
            raise Warns(f"NumPy warns in {name}", user_line())

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
