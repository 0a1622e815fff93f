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


def wants_unrolled(seen: bool) -> bool:
    """Whether a trace of this thread ends where it would unroll loops.

    Parameters
    ----------
    seen : bool
        Whether what has been recorded is known to be of a loop, and not only taken to be.
    """
    return getattr(_local, "wants_unrolled", False) or (seen and getattr(_local, "wants_loops_of_calls", False))


def offer_loops(line: str, seen: bool, varies: bool = False) -> None:
    """Let a procedure serve the call of the whole function, where `wants_unrolled` says so.

    `varies` says that a loop has another number of iterations in each call.

    Raises
    ------
    LoopsWanted
        If it does.
    """
    if wants_unrolled(seen) or (varies and getattr(_local, "wants_varying", False)):
        raise LoopsWanted("its loops are recorded iteration by iteration", line, is_unrolled=True, varies=varies)


@contextmanager
def wanting_loops(
    wanted: bool, unrolled: bool = False, of_calls: bool = False, varying: bool = False
) -> Iterator[None]:
    """Let traces of this thread end with `LoopsWanted`, if that is `wanted`, where loops over elements are better.

    Parameters
    ----------
    wanted : bool
    unrolled : bool
        Whether they do so, too, where the function's loops would be recorded iteration by iteration.
    of_calls : bool
        The same of loops of functions that it calls.
    varying : bool
        Whether they do so, `wanted` or not, where the number of iterations is another one in each call.
    """
    _local.wants_loops, _local.wants_unrolled = wanted, wanted and unrolled
    _local.wants_loops_of_calls, _local.wants_varying = wanted and of_calls, varying
    try:
        yield
    finally:
        _local.wants_loops = _local.wants_unrolled = _local.wants_loops_of_calls = _local.wants_varying = False


@contextmanager
def tracing(state: Trace | None) -> Iterator[None]:
    """Let `state` be the trace of this thread."""
    before = current()
    _local.trace = state
    try:
        yield
    finally:
        _local.trace = before
