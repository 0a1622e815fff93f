"""First calls with small arrays, which the plain function serves: too few may follow to pay for a compiler."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .. import policy
from ..values.glance import Glance, functions_reached, instructions_reached


def kind_of_call(args: tuple, kwargs: dict[str, Any]) -> Hashable:
    """What a glance tells of a call: the classes of its arguments, and the dtypes of arrays."""
    kinds: list[Any] = [value.dtype if type(value) is np.ndarray else type(value) for value in args]
    if kwargs:
        kinds += [(name, value.dtype if type(value) is np.ndarray else type(value)) for name, value in kwargs.items()]
    return tuple(kinds)


class Waiting:
    """How many calls of each kind run plain before one is traced.

    Parameters
    ----------
    function : callable
        The plain function.
    has_loops : bool
        Whether it has loops of its own, of which NumPy may take long: calls wait only if a glance says that they will
        not.
    """

    def __init__(self, function: Callable[..., Any], has_loops: bool):
        self._function, self._has_loops = function, has_loops
        self._reached: dict[tuple[type, ...], tuple[list[int], Glance]] = {}  # instructions and sizes of what it names
        self._passed: dict[Hashable, int] = {}

    def is_first(self, args: tuple, kwargs: dict[str, Any], unpaid: float) -> bool:
        """Whether arrays are small, and few such calls have come before: they do not pay for a trace.

        Parameters
        ----------
        args : tuple
        kwargs : dict of str to any
        unpaid : float
            Traces of the function that have not paid so far: as many further calls wait.
        """
        kind = _small_call(args, kwargs)
        if kind is None:
            return False
        passed = self._passed.get(kind, 0)
        if passed < _ENOUGH:
            # The fewest wait in any case, where there are no loops.
            calls = policy.FEWEST_SMALL_CALLS
            if self._has_loops or passed >= calls:
                calls = self._calls(args, kwargs)
            if calls:
                calls += min(int(unpaid), policy.CREDIT_FOR_SMALL)
            passed = passed + 1 if passed < calls else _ENOUGH
            self._note(kind, passed)
        return passed < _ENOUGH

    def end(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """No call like this one waits any more."""
        self._note(_small_call(args, kwargs), _ENOUGH)

    def _note(self, kind: Hashable, passed: int) -> None:
        if kind not in self._passed and len(self._passed) >= policy.SEEN:
            self._passed.pop(next(iter(self._passed)), None)
        self._passed[kind] = passed

    def _calls(self, args: tuple, kwargs: dict[str, Any]) -> int:
        """How many calls like this one wait: NumPy is expected to be done with all of them soon."""
        work = self._work(args, kwargs)
        calls = min(int(policy.SMALL_WORK / max(work, 1.0)), policy.SMALL_CALLS)
        if calls >= policy.FEWEST_SMALL_CALLS:
            return calls
        return 0 if self._has_loops else policy.FEWEST_SMALL_CALLS

    def _work(self, args: tuple, kwargs: dict[str, Any]) -> float:
        """Nanoseconds that a glance expects NumPy to take for a call."""
        function = self._function
        given = (*args, *kwargs.values())
        classes = tuple(dict.fromkeys(kind for kind in map(type, given) if kind.__flags__ & _HEAP_TYPE))
        if classes not in self._reached:
            reached = functions_reached(function, classes)
            named = Glance(_ASKED)
            for called, _ in reached:
                named.look_at_code(called)
            self._reached[classes] = instructions_reached(reached), named
        loops, named = self._reached[classes]
        seen = named.copy()
        seen.look((*given, *(getattr(function, "__defaults__", None) or ())))
        return seen.work(loops, policy.FEW_TURNS)


def _small_call(args: tuple, kwargs: dict[str, Any]) -> Hashable | None:
    """What a glance tells of a call with small arrays, which takes NumPy less than a trace; None for others."""
    kinds: list[Any] = [*kwargs]
    size = 0
    for value in (*args, *kwargs.values()):
        if type(value) is np.ndarray:
            size += value.nbytes
            kinds.append((value.dtype, value.shape))
        else:
            kinds.append(value if type(value) in _TOLD_APART else type(value))
    return tuple(kinds) if size <= policy.SMALL_CALL else None


_ASKED = (np.ndarray, np.generic)  # of other objects a glance would run their own code
_TOLD_APART = (bool, str, type(None))
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: classes that Python code has made
_ENOUGH = 1 << 30  # no further call waits
