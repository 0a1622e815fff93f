"""Code whose pieces never come again: NumPy computes its operations at once, since recording them gains nothing.

A loop over parts of an array that shrink from turn to turn, as in the factorisation of a matrix, records another graph
in every turn. None of them is compiled, and to record one takes as long as some operations.
"""

from __future__ import annotations

from types import CodeType

_IN_VAIN = 32  # new pieces in a row: a loop with so many looks in a turn records each of them once, too
_UNTIL_TRIED = 2048  # operations that NumPy computes at once until the code is tried again
_WHEN_TRIED = 24  # new pieces in a row that it begins with then
_MOST = 1024


class InVain:
    """What is known of the code that looks at values."""

    def __init__(self) -> None:
        self._new: dict[int, tuple[CodeType, int]] = {}
        """Pieces in a row that had not come before, by the identity of the code; equality of code takes long."""
        self.left: dict[int, int] = {}
        """Of code that records in vain: how many operations NumPy computes at once."""

    def note(self, code: CodeType, is_new: bool) -> None:
        """Note that `code` has looked at a piece."""
        key = id(code)
        if not is_new:
            self._new.pop(key, None)
            return
        if len(self._new) >= _MOST:
            self._new.clear()
            self.left.clear()
        count = self._new.get(key, (code, 0))[1] + 1
        self._new[key] = code, count
        if count >= _IN_VAIN:
            self.left[key] = _UNTIL_TRIED

    def holds(self, code: CodeType) -> bool:
        """Whether the next operation of `code` is better computed at once."""
        key = id(code)
        left = self.left.get(key)
        if left is None:
            return False
        if left > 1:
            self.left[key] = left - 1
        else:
            del self.left[key]
            self._new[key] = code, _WHEN_TRIED
        return True
