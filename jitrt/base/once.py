"""Values that a process makes once, when they are first asked for, however many threads ask at the same time."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .atwork import at_work

T = TypeVar("T")


class once(Generic[T]):
    """Decorator of a function without arguments: it runs at the first call, and later calls give the same value.

    ``functools.lru_cache`` runs the function once a thread if several threads come at the same time.

    Examples
    --------
    >>> @once
    ... def table():
    ...     print("made")
    ...     return [1, 2]
    >>> table() is table()
    made
    True
    """

    def __init__(self, function: Callable[[], T]):
        functools.update_wrapper(self, function)
        self._function = function
        self._values: list[T] = []
        self._lock = threading.RLock()
        _all.append(self)

    def __call__(self) -> T:
        if not self._values:
            with self._lock, at_work():
                if not self._values:
                    self._values.append(self._function())
        return self._values[0]

    @property
    def is_made(self) -> bool:
        """Whether there is a value."""
        return bool(self._values)

    def renew_lock(self) -> None:
        """After a fork: a thread that the child does not have may have held the lock."""
        self._lock = threading.RLock()


_all: list[once[Any]] = []


def _after_fork() -> None:
    for value in _all:
        value.renew_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
