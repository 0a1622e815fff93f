"""What the calls of a function lose: seconds in which Python finds or makes what serves them, and plain calls.

Native code counts the plain calls that it makes in words of the tally; calls that compiled code serves are not timed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from time import perf_counter
from typing import Any

import numpy as np

from ..base.atwork import is_at_work
from ..kernels.entry import TALLY
from .objects import address

_DEPTH, _CALLS = TALLY.index("depth"), TALLY.index("calls")
assert TALLY[_CALLS:] == ("calls", "ticks")

HANDED_BACK = object()
"""What Python code returns that leaves a call to the plain function, with no frame of ours before it."""


class Tally:
    """Calls of the functions of one name that something was lost in.

    A call inside of another one of the same function is part of that.

    Parameters
    ----------
    name : str
        With the module's name.
    line : str
        Where the function begins, as ``file:line``; empty if unknown.

    Attributes
    ----------
    looked : list of int and float
        Calls that Python has served, by whatever, and their seconds.
    compiled : list of int and float
        Calls among them of a procedure that Python has to start, and their seconds.
    plain : dict of str to list
        For each reason the calls among them that ran the plain function, and their seconds.
    latest : str
        The latest reason, which holds for the plain calls that native code counts in `words`.
    handed_back : dict of str to list
        For each reason before it the plain calls that native code has counted, and their ticks.
    loops : str
        Why its loops are no procedure; empty if they are, or if there are none.
    served : list of int, float and float
        If they are timed (`running.report`): calls that compiled code served, their seconds, those of the longest.
    words : array
        What native code counts, laid out as `TALLY`.
    """

    __slots__ = ("compiled", "handed_back", "latest", "line", "looked", "loops", "name", "plain", "served", "words")

    def __init__(self, name: str, line: str):
        self.name, self.line, self.latest, self.loops = name, line, "", ""
        self.looked: list[Any] = [0, 0.0]
        self.compiled: list[Any] = [0, 0.0]
        self.plain: dict[str, list[Any]] = {}
        self.handed_back: dict[str, list[int]] = {}
        self.served: list[Any] | None = None
        self.words = np.zeros(len(TALLY), np.int64)

    @property
    def address(self) -> int:
        """The address of the words."""
        return address(self.words)

    @property
    def is_outermost(self) -> bool:
        """Whether the call that is looked at now stands in no other one of the same function."""
        return bool(self.words[_DEPTH] <= 1)

    def looks(self) -> AbstractContextManager[None]:
        """A context: Python serves a call. One in the trace of another function is part of that."""
        try:
            return _Timed(self, [0, 0.0] if is_at_work() else self.looked)
        except MemoryError:
            return _UNCOUNTED

    def hand_back(self, reason: str) -> object:
        """`HANDED_BACK`: native code calls the plain function next, for that reason."""
        with suppress(MemoryError):  # the plain function may need none
            if reason != self.latest:
                self.settle()
                self.latest = reason
        return HANDED_BACK

    def settle(self) -> None:
        """Note what native code has counted under the reason that holds for it."""
        calls, ticks = self.words[_CALLS:].tolist()
        if calls:
            found = self.handed_back.setdefault(self.latest, [0, 0])
            found[:] = found[0] + calls, found[1] + ticks
            self.words[_CALLS:] = 0

    def runs_compiled(self) -> AbstractContextManager[None]:
        """A context inside of it: a procedure runs that is known, which loses nothing."""
        try:
            return _Timed(self, self.compiled, depth=1)
        except MemoryError:
            return _UNCOUNTED

    def runs_plain(self, reason: str) -> AbstractContextManager[None]:
        """A context inside of it: the plain function runs, for that reason."""
        try:
            self.hand_back(reason)
            return _Timed(self, self.plain.setdefault(reason, [0, 0.0]), depth=1)
        except MemoryError:  # the plain function may need none
            return _UNCOUNTED


_UNCOUNTED = nullcontext()


class _Timed:
    """A context that is counted and timed, if it stands in no other one of its kind."""

    __slots__ = ("_depth", "_start", "_sums", "_tally")

    def __init__(self, tally: Tally, sums: list[Any], depth: int = 0):
        self._tally, self._sums, self._depth = tally, sums, depth
        self._start = 0.0

    def __enter__(self) -> None:
        try:
            self._tally.words[_DEPTH] += 1
            self._start = perf_counter()
        except MemoryError:  # the call is served, and not counted
            self._sums = [0, 0.0]

    def __exit__(self, *exception: object) -> None:
        try:
            seconds, words = perf_counter() - self._start, self._tally.words
            words[_DEPTH] -= 1
            self._sums[0] += 1
            if words[_DEPTH] <= self._depth:
                self._sums[1] += seconds
        except MemoryError:
            self._tally.words[_DEPTH] = 0


_tallies: dict[tuple[str, str], Tally] = {}  # native code counts in them: they live as long as the process


def tally_of(function: Any) -> Tally:
    """The tally of all functions that are defined under one name at one line."""
    code = getattr(function, "__code__", None)
    line = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    qualname = getattr(function, "__qualname__", type(function).__qualname__)
    name = f"{getattr(function, '__module__', '')}.{qualname}".removeprefix("__main__.")
    return _tallies.setdefault((name, line), Tally(name, line))


def tallies() -> list[Tally]:
    """Those of all functions of the process."""
    return list(_tallies.values())
