"""What happens with the warnings of one thread."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any, Literal


class ThisThread:
    """In the place of a pattern in a filter of warnings: matches every module, in the thread that made it.

    Attributes
    ----------
    has_warned : bool
        Whether a warning has come to the filter.
    """

    def __init__(self) -> None:
        self.thread: int | None = threading.get_ident()
        self.has_warned = False

    def match(self, _: str) -> bool:
        is_here = threading.get_ident() == self.thread
        self.has_warned |= is_here
        return is_here


@contextlib.contextmanager
def in_this_thread(action: Literal["ignore", "error"]) -> Iterator[ThisThread]:
    """A context in which all warnings of this thread that would be shown have this effect.

    `warnings.catch_warnings` would change what other threads are told.

    Examples
    --------
    >>> with in_this_thread("ignore") as place:
    ...     warnings.warn("nobody sees this")
    >>> place.has_warned
    True
    """
    place = ThisThread()
    entry: Any = (action, None, Warning, place, 0)
    warnings.filters.insert(0, entry)  # type: ignore[attr-defined]
    try:
        yield place
    finally:
        place.thread = None  # where another thread has put another list there, or a copy
        with contextlib.suppress(ValueError):
            warnings.filters.remove(entry)  # type: ignore[attr-defined]
