"""How floating-point exceptions are reported: NumPy's error state and Python's filters, as an operation found them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..runtime.errstate import error_state

_AT_ONCE = frozenset({"raise", "call", "print", "log"})


class Reporting:
    """A state in which operations are recorded, to be computed in the same one."""

    __slots__ = ("_capsule", "_filters", "_first", "_known", "_show", "_switches", "_variable", "is_lazy")

    def __init__(self) -> None:
        self._variable = variable = error_state()
        self._capsule = None if variable is None else variable.get()
        self._switches: dict[str, Any] = dict(np.geterr())
        self._known = warnings.filters
        self._filters = list(warnings.filters)
        self._first = self._filters[0] if self._filters else None
        self._show = _shown_by()
        self.is_lazy = not (_AT_ONCE.intersection(self._switches.values()) or _are_errors(self._filters))
        """Whether what is reported can wait: an exception is raised at the line that is responsible for it."""

    def is_current(self) -> bool:
        """Whether the state is the same now."""
        filters = warnings.filters
        if filters is not self._known or len(filters) != len(self._filters):
            return False
        if filters and filters[0] is not self._first:
            return False
        if self._variable is None:
            return np.geterr() == self._switches
        return self._variable.get() is self._capsule

    def entered(self) -> contextlib.AbstractContextManager[None]:
        """The state as a context."""
        return contextlib.nullcontext() if self.is_current() else self._entered()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if warnings.filters is not self._known or len(warnings.filters) != len(self._filters):
                stack.enter_context(warnings.catch_warnings())
                warnings.filters[:] = self._filters  # type: ignore[index]
                warnings.showwarning, warnings._showwarnmsg_impl = self._show  # type: ignore[attr-defined]
            stack.enter_context(np.errstate(**self._switches))
            yield


def _shown_by() -> tuple[Any, Any]:
    return warnings.showwarning, warnings._showwarnmsg_impl  # type: ignore[attr-defined]


def _are_errors(filters: Sequence[Any]) -> bool:
    """Whether warnings of floating-point exceptions may be raised as errors."""
    for action, message, category, module, line in filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False
