"""NumPy's integer scalars: their operators report an overflow, of which the loops over arrays know nothing.

x0[0] + x0[1]  →  (add t0 t1), and beside it, read by nothing, a float that overflows where the sum does
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ir import build as b
from ...ir.node import Node

if TYPE_CHECKING:
    from ..state import Trace

OVERFLOWING = frozenset({np.add, np.subtract, np.multiply, np.negative, np.absolute})
_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)
_BELOW = 1 - 2.0**-50  # the rounding of floats cannot hide an overflow beyond that part of a limit
_HUGE = np.float64(2.0**1023)


def note_overflow(trace: Trace, ufunc: np.ufunc, result: Node, *operands: Node) -> None:
    """Record what raises an overflow where `ufunc` of these scalars, whose `result` is an integer, is too large."""
    dtype = result.dtype
    if dtype.kind == "u" and ufunc is np.absolute:
        return
    condition = _is_too_large(ufunc, dtype, *[b.cast(n, dtype) for n in operands])
    huge = b.elementwise(np.multiply, b.cast(condition, _FLOAT), b.constant(_HUGE))
    trace.effects.operation(b.elementwise(np.add, huge, huge))


def _is_too_large(ufunc: np.ufunc, dtype: np.dtype, x: Node, y: Node | None = None) -> Node:
    """Whether the result is none of `dtype`; if it has 64 bits, also for a few that are."""
    limits = np.iinfo(dtype)
    if y is None:
        unequal = dtype.kind == "u"
        return b.elementwise(np.not_equal if unequal else np.equal, x, b.constant(dtype.type(limits.min)))
    if ufunc is np.subtract and dtype.kind == "u":
        return b.elementwise(np.less, x, y)
    wide, scale = (_FLOAT, _BELOW) if dtype.itemsize == 8 else (_INT, 1)
    low, high = (b.constant(wide.type(limit * scale)) for limit in (limits.min, limits.max))
    exact = b.elementwise(ufunc, b.cast(x, wide), b.cast(y, wide))
    return b.elementwise(np.logical_or, b.elementwise(np.less, exact, low), b.elementwise(np.greater, exact, high))
