"""The row of assumptions: conditions of values under which a trace holds.

Python's arithmetic raises where kernels go on: ``1.0 / 0.0``, or an integer that outgrows a dtype. A trace assumes that
it does not, and a program looks: where a condition is false it ends, having written nothing that its caller sees, and
the plain function decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from . import build as b
from .node import Node
from .optable import Kind, Op, row
from .types import ArrayType


def _assume(low: Any, high: Any, extent: int) -> np.ndarray:
    if not -extent <= low <= high < extent:
        raise ArithmeticError("values are not as the trace assumed")
    return np.zeros((), np.int8)


ASSUME = row(Op("assume", Kind.CHECK, numpy=_assume))


def assumption(conditions: Iterable[Node]) -> Node:
    """What ends the program unless all `conditions`, boolean scalars, are true.

    Examples
    --------
    >>> from jitrt.expr.interpret import evaluate
    >>> x = b.constant(2.0)
    >>> int(evaluate((assumption([b.elementwise(np.greater, x, b.constant(1.0))]),), {})[0])
    0
    """
    every = reduce(lambda x, y: b.elementwise(np.logical_and, x, y), conditions)
    wrong = b.cast(b.elementwise(np.logical_not, every), np.dtype(np.intp))
    return Node(ASSUME, (wrong, wrong), b.params(extent=1), ArrayType(np.dtype(np.int8), ()))
