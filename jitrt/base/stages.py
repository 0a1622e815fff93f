"""The stages of a compilation: which one a thread is in, how long each has taken, and who wants to know.

with Compilation("f") as done:       # "f" is compiled, or what serves it is found
    enters("schedule")               # wherever a stage begins
done.seconds                         # {"schedule": 0.02}
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

# What each stage does; a function is either traced or staged.
STAGES = {
    "trace": "run it on symbols",
    "stage": "read its loops",
    "prepare": "simplify its operations",
    "schedule": "make loops of them",
    "memory": "plan its memory",
    "codegen": "generate machine code",
}

Watcher = Callable[["Compilation"], None]


class _State(threading.local):
    # Weak: one whose end was interrupted is gone with the frame that it was made in.
    current: weakref.ref[Compilation] | None = None


_state = _State()
_watchers: list[Watcher] = []


class Compilation:
    """A context in which a function may be compiled; one inside of another one is part of that.

    Parameters
    ----------
    name : str
        Of the function.
    may_put_off : bool
        Whether machine code may be made while calls run plain.

    Attributes
    ----------
    stage : str
        The one that it is in; empty in front of the first and behind the last.
    seconds : dict of str to float
        Time that the stages have taken so far.
    has_put_off : bool
        Whether machine code is being made that was not there.
    """

    __slots__ = ("__weakref__", "_began", "_is_outermost", "has_put_off", "may_put_off", "name", "seconds", "stage")

    def __init__(self, name: str, may_put_off: bool = False):
        self.name, self.stage, self._began = name, "", 0.0
        self.may_put_off, self.has_put_off = may_put_off, False
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Compilation:
        try:
            self._is_outermost = _current() is None
            if self._is_outermost:
                _state.current = weakref.ref(self)
        except MemoryError:  # the call is served, and nobody watches
            self._is_outermost = False
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_outermost:
            _state.current = None
            with suppress(MemoryError):
                self.enters("")

    def enters(self, stage: str) -> None:
        """A stage begins, which ends the one before; an empty one if nothing follows."""
        if stage == self.stage:
            return
        now = perf_counter()
        if self.stage:
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self._began
        self.stage, self._began = stage, now
        for watcher in _watchers:
            watcher(self)


def _current() -> Compilation | None:
    return None if _state.current is None else _state.current()


def enters(stage: str) -> None:
    """A stage of what this thread compiles begins; see `STAGES`."""
    compilation = _current()
    if compilation is not None:
        compilation.enters(stage)


def may_put_off() -> bool:
    """Whether the code of what this thread compiles may be made later."""
    compilation = _current()
    return compilation is not None and compilation.may_put_off


def put_off() -> None:
    """It will be."""
    compilation = _current()
    if compilation is not None:
        compilation.has_put_off = True


def compiled_now() -> str:
    """The name of the function that this thread compiles; empty if there is none."""
    compilation = _current()
    return "" if compilation is None else compilation.name


def watch(watcher: Watcher) -> None:
    """Let `watcher` know of each stage that begins, and of the end of the last one."""
    _watchers.append(watcher)


def unwatch(watcher: Watcher) -> None:
    """End `watch`."""
    if watcher in _watchers:
        _watchers.remove(watcher)
