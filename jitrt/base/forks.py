"""Forks: locks that are held while the process forks, so that a child finds free what no thread of it would give back.

A fork takes them in the order in which threads do that hold several, or a thread that has the second of two would wait
for the fork, and the fork for it.
"""

from __future__ import annotations

import os
from typing import Any

_ORDER = ("tiers", "kernels", "known", "cache", "numba", "llvm", "queue")
_locks: dict[str, Any] = {}
_taken: list[Any] = []


def hold(name: str, lock: Any) -> None:
    """Hold a re-entrant lock during forks, in its place among those of `_ORDER`."""
    assert name in _ORDER
    _locks[name] = lock


def _before() -> None:
    for name in _ORDER:
        if name in _locks:
            _locks[name].__enter__()
            _taken.append(_locks[name])


def _after() -> None:
    taken = _taken.copy()
    _taken.clear()  # before another thread's fork gets the first of them
    for lock in reversed(taken):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
