"""Code that gains nothing by recording: NumPy computes its operations at once.

A loop over parts of an array that shrink from turn to turn, as in the factorisation of a matrix, records another graph
in every turn. None of them is compiled, and to record one takes as long as some operations. And where a value is looked
at after each operation or two, on arrays that are hardly large, NumPy is done sooner than they are recorded.
"""

from __future__ import annotations

from types import CodeType

from ..base.frozen import record

_IN_VAIN = 16  # pieces in a row that gain nothing
_WHEN_TRIED = 32  # the same where code is tried again: a loop may have so many looks in a turn
_UNTIL_TRIED = 2048  # operations that NumPy computes at once until then; twice as many each further time
_ELEMENTS = 1 << 15  # for which an operation counts once more: the larger the arrays, the more there is to gain
_MOST_DOUBLED, _MOST = 6, 1024


@record
class _Code:
    """What is known of a function's code, which is found by its identity: equality of code takes long."""

    code: CodeType
    pieces: int = 0
    """Those in a row that gained nothing."""
    times: int = 0
    """How often it has been found to record in vain."""


class InVain:
    """What is known of the code that looks at values."""

    def __init__(self) -> None:
        self._codes: dict[int, _Code] = {}
        self.left: dict[int, int] = {}
        """Of code that records in vain: how many operations NumPy computes at once."""

    def note(self, code: CodeType, is_vain: bool) -> None:
        """Note that `code` has looked at a piece, and whether nothing was gained."""
        key = id(code)
        if not is_vain:
            self._codes.pop(key, None)
            return
        if len(self._codes) >= _MOST:
            self._codes.clear()
            self.left.clear()
        known = self._codes.setdefault(key, _Code(code))
        known.pieces += 1
        if known.pieces >= (_WHEN_TRIED if known.times else _IN_VAIN):
            self.left[key] = _UNTIL_TRIED << min(known.times, _MOST_DOUBLED)
            known.pieces, known.times = 0, known.times + 1

    def holds(self, code: CodeType, size: int) -> bool:
        """Whether the next operation of `code`, on so many elements, is better computed at once."""
        left = self.left.get(id(code))
        if left is None:
            return False
        left -= 1 + size // _ELEMENTS
        if left > 0:
            self.left[id(code)] = left
        else:
            self.left.pop(id(code), None)  # unless another thread has done so
        return True
