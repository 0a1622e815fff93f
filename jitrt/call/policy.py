"""When what has failed is tried again: the calls of one kind that run as plain NumPy, and the looks at them between."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

MOST_PLAIN_CALLS = 16  # of one kind in a row; after that most of them run plain without a look at them
MOST_TIMES_GIVEN_UP = 8  # that make looks rarer
MOST_KINDS = 64  # of which it is known that they run plain


def kind_of_call(args: tuple, kwargs: dict[str, Any]) -> Hashable:
    """What a glance tells of a call: the classes of its arguments, and the dtypes of arrays."""
    kinds: list[Any] = [value.dtype if type(value) is np.ndarray else type(value) for value in args]
    if kwargs:
        kinds += [(name, value.dtype if type(value) is np.ndarray else type(value)) for name, value in kwargs.items()]
    return tuple(kinds)


class Fallback:
    """Calls of one kind that run as plain NumPy.

    When many of them in a row have, the others do so without a look at them, but for those whose number is a power of
    two, and one in `between`: arrays may get larger, and shapes come again.

    Attributes
    ----------
    plain : object
        Why the plain function runs.
    table : object
        What lets native code serve such calls.
    holds : bool
        Whether calls run plain without a look at them.
    """

    __slots__ = ("between", "calls", "has_run_compiled", "holds", "plain", "table", "times_given_up")

    def __init__(self) -> None:
        self.plain: Any = None
        self.table: Any = None
        self.holds = self.has_run_compiled = False
        self.calls = self.times_given_up = 0
        self.between = 1

    def note_plain(self, plain: Any, between: int, at_once: bool) -> None:
        """A call has been looked at, and runs plain, as those after it do; `at_once` does not wait for more of them."""
        self.plain, self.between = plain, between
        self.calls += 1
        if not (self.holds or at_once or self.calls > MOST_PLAIN_CALLS):
            return
        if self.has_run_compiled:
            self.has_run_compiled = False
            self.times_given_up += 1
            self.calls = MOST_PLAIN_CALLS << min(self.times_given_up, MOST_TIMES_GIVEN_UP)
        self.holds = True

    def note_compiled(self) -> None:
        """A call has been looked at, and runs compiled."""
        self.holds, self.calls, self.has_run_compiled = False, 0, True

    def is_look_due(self) -> bool:
        """Count a call, and tell whether it is looked at."""
        self.calls += 1
        n = self.calls
        return n & (n - 1) == 0 or n % self.between == 0

    def calls_to_next_look(self) -> int:
        """How many calls run plain before the next one is looked at."""
        n = self.calls
        return min(1 << n.bit_length(), n - n % self.between + self.between) - 1 - n
