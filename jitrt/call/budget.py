"""Whether another trace of a function pays: what traces have cost, against what compiled calls have saved.

Arguments of new types, shapes or static values cost a trace, and a trace is repaid by the calls that come again. Which
will is not known beforehand, as with skis that are rented or bought (Karlin, Manasse, Rudolph and Sleator 1988). So a
function has credit for some traces. When that is used up, calls with new arguments run plain, but for those that are
seen twice among the few that are looked at, and what calls save gives new credit.

All times are estimates from graphs. By the clock it would depend on the moment which calls run compiled, and with it
the last bits of their results.
"""

from __future__ import annotations

from collections.abc import Hashable

from .. import policy
from .tree import Plain, Specialisation

_USUAL = policy.TRACE + policy.TRACED_NODE * policy.USUAL_OPERATIONS


def _time(found: Specialisation | Plain) -> int:
    """What a trace has taken."""
    return policy.TRACE + policy.TRACED_NODE * found.operations


class TraceBudget:
    """What the traces of one function have cost, in traces of usual ones, and what of it calls have not yet saved."""

    def __init__(self) -> None:
        self.unpaid = 0.0
        self.traces = 0
        """How many there were since all was paid."""
        self.failure = ""
        """Why the latest one has ended with the plain function, if it has."""
        self._seen: dict[Hashable, None] = {}
        self._new: list[Specialisation] = []
        self._kernels: set[str] = set()
        self._measured = 0
        self._frequency = 0.0  # of calls of plain NumPy: per nanosecond, summed over what was traced

    def is_used_up(self, credit: int) -> bool:
        """Whether new arguments have to come again before they are traced."""
        return self.unpaid > credit - 1

    def allows(self, key: Hashable, credit: int) -> bool:
        """Whether a call with new arguments, known by `key`, is to be traced."""
        return not self.is_used_up(credit) or (key in self._seen and self.unpaid < credit + policy.CREDIT_FOR_SEEN)

    def note_refused(self, key: Hashable) -> None:
        """A call runs plain since it was not allowed to be traced."""
        if len(self._seen) >= policy.SEEN:
            self._seen.pop(next(iter(self._seen)))
        self._seen[key] = None
        self.unpaid -= policy.PAID_BY_LOOK

    def note_trace(self, key: Hashable, found: Specialisation | Plain | None) -> None:
        """A call was traced, which gave `found`; None if it failed."""
        self._seen.pop(key, None)
        before, self.failure = self.failure, found.reason if isinstance(found, Plain) else ""
        fails_again = self.failure == before  # for arguments of another kind: it is the code that is to blame
        cost = 1.0 if found is None else max(1.0, _time(found) / _USUAL)
        self.unpaid += cost * ((policy.FAILED_AGAIN if fails_again else policy.FAILED) if self.failure else 1)
        self.traces += 1
        if isinstance(found, Specialisation):
            self._new.append(found)
            kernels = found.kernels
            if not kernels <= self._kernels and len(self._kernels) >= policy.FEW_KERNELS:
                self.unpaid += policy.COMPILE * cost
            self._kernels |= kernels

    def note_calls(self, found: Specialisation | Plain, calls: int) -> None:
        """So many calls ran `found`."""
        if self.unpaid > 0 and isinstance(found, Specialisation):
            self.unpaid -= calls * found.numpy_time / (policy.GAINING * min(_time(found), _USUAL))
        if self.unpaid <= 0:
            self.unpaid, self.traces = 0.0, 0

    def note_new(self) -> None:
        """Count what the calls have saved that were traced since this was done before."""
        for found in self._new:
            self._measured += 1
            self._frequency += 1 / max(found.numpy_time, 1.0)
            self.note_calls(found, 1)
        self._new.clear()

    @property
    def calls_between_looks(self) -> int:
        """How many calls with new arguments run plain between two that are looked at."""
        if not self._measured:
            return policy.MOST_BETWEEN
        return min(max(int(policy.LOOK * self._frequency / self._measured), policy.FEWEST_BETWEEN), policy.MOST_BETWEEN)
