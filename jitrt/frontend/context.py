"""The trace that runs in this thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import LoopsWanted

if TYPE_CHECKING:
    from .state import Trace

_local = threading.local()


def current() -> Trace | None:
    """The trace of this thread; None outside of traces, and in calls that NumPy makes during one."""
    return getattr(_local, "trace", None)


def wants_loops() -> bool:
    """Whether a trace of this thread ends where loops over elements would be better."""
    return getattr(_local, "wants_loops", False)


def offer_loops_of_calls(line: str) -> None:
    """Let a procedure serve the call of the whole function, if traces end for loops of functions that it calls.

    Raises
    ------
    LoopsWanted
        If they do.
    """
    if getattr(_local, "wants_loops_of_calls", False):
        wanted = LoopsWanted("a function that it calls has loops", line)
        wanted.is_called = True
        raise wanted


@contextmanager
def wanting_loops(wanted: bool, of_calls: bool = False) -> Iterator[None]:
    """Let traces of this thread end with `LoopsWanted`, if that is `wanted`, where loops over elements are better.

    With `of_calls` they do where loops of functions that it calls would be unrolled.
    """
    _local.wants_loops, _local.wants_loops_of_calls = wanted, wanted and of_calls
    try:
        yield
    finally:
        _local.wants_loops = _local.wants_loops_of_calls = False


@contextmanager
def tracing(state: Trace | None) -> Iterator[None]:
    """Let `state` be the trace of this thread."""
    before = current()
    _local.trace = state
    try:
        yield
    finally:
        _local.trace = before
