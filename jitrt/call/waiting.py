"""First calls with small arrays, which the plain function serves: too few may follow to pay for a compiler."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .. import policy
from ..values.glance import Glance, instructions


def kind_of_call(args: tuple, kwargs: dict[str, Any]) -> Hashable:
    """What a glance tells of a call: the classes of its arguments, and the dtypes of arrays."""
    kinds: list[Any] = [value.dtype if type(value) is np.ndarray else type(value) for value in args]
    if kwargs:
        kinds += [(name, value.dtype if type(value) is np.ndarray else type(value)) for name, value in kwargs.items()]
    return tuple(kinds)


class Waiting:
    """How many calls of each kind still run plain.

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
        self._instructions: list[int] | None = None
        self._left: dict[Hashable, int] = {}

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
        left = self._left.get(kind)
        if left is None:
            left = self._calls(args, kwargs)
            if left:
                left += min(int(unpaid), policy.CREDIT_FOR_SMALL)
            self._note(kind, left)
        if left:
            self._left[kind] = left - 1
        return left > 0

    def end(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """No call like this one waits any more."""
        self._note(_small_call(args, kwargs), 0)

    def _note(self, kind: Hashable, left: int) -> None:
        if kind not in self._left and len(self._left) >= policy.SEEN:
            self._left.pop(next(iter(self._left)), None)
        self._left[kind] = left

    def _calls(self, args: tuple, kwargs: dict[str, Any]) -> int:
        """How many calls like this one wait."""
        if not self._has_loops or policy.SMALL_CALLS * self._work(args, kwargs) <= policy.SMALL_WORK:
            return policy.SMALL_CALLS
        return 0

    def _work(self, args: tuple, kwargs: dict[str, Any]) -> float:
        """Nanoseconds that a glance expects NumPy to take for a call."""
        function = self._function
        if self._instructions is None:
            self._instructions = instructions(function.__code__)
        seen = Glance(_ASKED)
        seen.look((*args, *kwargs.values(), *(function.__defaults__ or ())))
        seen.look_at_code(function)
        return seen.work(self._instructions, policy.FEW_TURNS)


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
