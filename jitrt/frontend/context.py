"""The trace that runs in this thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .state import Trace

_local = threading.local()


def current() -> Trace | None:
    """The trace of this thread; None outside of traces, and in calls that NumPy makes during one."""
    return getattr(_local, "trace", None)


def wants_loops() -> bool:
    """Whether a trace of this thread ends where loops over elements would be better."""
    return getattr(_local, "wants_loops", False)


@contextmanager
def wanting_loops(wanted: bool) -> Iterator[None]:
    """Let traces of this thread end with `LoopsWanted`, if that is `wanted`, where loops over elements are better."""
    _local.wants_loops = wanted
    try:
        yield
    finally:
        _local.wants_loops = False


@contextmanager
def tracing(state: Trace | None) -> Iterator[None]:
    """Let `state` be the trace of this thread."""
    before = current()
    _local.trace = state
    try:
        yield
    finally:
        _local.trace = before
