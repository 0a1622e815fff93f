"""Rows of the arithmetic that the compiler may rearrange: what it is otherwise is what the table says of NumPy's."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base.frozen import replaced
from .optable import Op, row
from .ufuncs import NUMPY_UFUNCS

RELAXED = "relaxed"  # the library of the operations of that name behind ``relaxed_``
_ROWS: dict[Op, Op] = {
    op: row(replaced(op, name=f"relaxed_{op.name}", library=RELAXED))
    for op in (NUMPY_UFUNCS[u] for u in (np.add, np.subtract, np.multiply, np.divide, np.negative))
}


def relaxed(op: Op, operands: Iterable[np.dtype]) -> Op | None:
    """The row of `op` as it may be rearranged; None if it is none of single or double precision.

    Examples
    --------
    >>> relaxed(NUMPY_UFUNCS[np.add], [np.dtype("f4"), np.dtype("f4")])
    Op(relaxed_add)
    >>> relaxed(NUMPY_UFUNCS[np.add], [np.dtype("i4"), np.dtype("i4")]) is None
    True
    """
    return _ROWS.get(op) if all(t.char in "fd" for t in operands) else None
