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

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .indexing import GATHER
from .optable import Kind, Op, row


def _assume(low: Any, high: Any, extent: int) -> np.ndarray:
    if not -extent <= low <= high < extent:
        raise ArithmeticError("values are not as the trace assumed")
    return np.zeros((), np.int8)


ASSUME = row(Op("assume", Kind.CHECK, numpy=_assume))


def assumption(conditions: Iterable[Node]) -> Node:
    """What ends the program unless all `conditions`, boolean scalars, are true.

    Examples
    --------
    >>> from jitrt.ir.interpret import evaluate
    >>> x = b.constant(2.0)
    >>> int(evaluate((assumption([b.elementwise(np.greater, x, b.constant(1.0))]),), {})[0])
    0
    """
    every = reduce(lambda x, y: b.elementwise(np.logical_and, x, y), conditions)
    wrong = b.cast(b.elementwise(np.logical_not, every), np.dtype(np.intp))
    return Node(ASSUME, (wrong, wrong), b.params(extent=1), ArrayType(np.dtype(np.int8), ()))


def _lower_guarded(n: Node) -> Node:
    """Elements that are read behind a check."""
    value, condition = n.args
    flat, places = b.view("reshape", value, shape=(-1,)), b.constant(np.arange(value.type.size))
    behind = Node(GATHER, (flat, places, assumption([condition])), b.params(source=(-1,)), flat.type)
    return b.view("reshape", behind, shape=value.shape)


row(Op("guarded", Kind.COMPOUND, numpy=lambda value, condition: value, lower=_lower_guarded))


def guarded(value: Node, condition: Node) -> Node:
    """`value`, which is not read unless the boolean scalar `condition` is true: for what a loop assumes."""
    return b.compound("guarded", (value, condition), value.type)
