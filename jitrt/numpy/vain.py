"""Code whose pieces never come again: NumPy computes its operations at once, since recording them gains nothing.

A loop over parts of an array that shrink from turn to turn, as in the factorisation of a matrix, records another graph
in every turn. None of them is compiled, and to record one takes as long as some operations.
"""

from __future__ import annotations

from types import CodeType

from ..base.frozen import record

_IN_VAIN = 16  # new pieces in a row
_WHEN_TRIED = 64  # the same where it is tried again: a loop may have so many looks in a turn
_UNTIL_TRIED = 2048  # operations that NumPy computes at once until then; twice as many each further time
_MOST_DOUBLED, _MOST = 6, 1024


@record
class _Code:
    """What is known of a function's code, which is found by its identity: equality of code takes long."""

    code: CodeType
    new: int = 0
    """Pieces in a row that had not come lately."""
    times: int = 0
    """How often it has been found to record in vain."""


class InVain:
    """What is known of the code that looks at values."""

    def __init__(self) -> None:
        self._codes: dict[int, _Code] = {}
        self.left: dict[int, int] = {}
        """Of code that records in vain: how many operations NumPy computes at once."""

    def note(self, code: CodeType, is_new: bool) -> None:
        """Note that `code` has looked at a piece."""
        key = id(code)
        if not is_new:
            self._codes.pop(key, None)
            return
        if len(self._codes) >= _MOST:
            self._codes.clear()
            self.left.clear()
        known = self._codes.setdefault(key, _Code(code))
        known.new += 1
        if known.new >= (_WHEN_TRIED if known.times else _IN_VAIN):
            self.left[key] = _UNTIL_TRIED << min(known.times, _MOST_DOUBLED)
            known.new, known.times = 0, known.times + 1

    def holds(self, code: CodeType) -> bool:
        """Whether the next operation of `code` is better computed at once."""
        left = self.left.get(id(code))
        if left is None:
            return False
        if left > 1:
            self.left[id(code)] = left - 1
        else:
            del self.left[id(code)]
        return True
