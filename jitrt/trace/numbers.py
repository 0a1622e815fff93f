"""Python's operators on Python numbers that depend on arguments.

Where kernels compute what Python computes they do, and the trace assumes that Python would not raise. Python itself
executes what is left (`expr.pythonnumbers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..expr import build as b
from ..expr.build import constant
from ..expr.node import Node
from ..expr.types import ArrayType
from ..expr.ufuncs import elementwise_op

if TYPE_CHECKING:
    from .state import Trace

# Python evaluates these on two floats exactly as float64 kernels do; powers differ.
_EXACT_ON_FLOATS = frozenset({np.add, np.subtract, np.multiply})
# These too, unless the divisor is zero: NumPy's loops are those of `float.__divmod__`.
_EXACT_BUT_FOR_ZERO = frozenset({np.divide, np.floor_divide, np.remainder})
# Comparisons of two numbers of one type are exact, but give a Python bool, which is not what a kernel's result becomes.
_COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})
_FLOAT, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)
EXACT = 1 << 53  # integers up to here are floats exactly


def operation(trace: Trace, ufunc: np.ufunc, x: Node, y: Node) -> Node | None:
    """The node of a Python operator on two Python numbers, for which NumPy has `ufunc`; None if it takes Python."""
    kinds = x.dtype.kind + y.dtype.kind
    if kinds == "ff" and ufunc in _EXACT_ON_FLOATS:
        return _number(ufunc, _FLOAT, x, y)
    if kinds == "ff" and ufunc in _EXACT_BUT_FOR_ZERO and _assume(trace, np.not_equal, y, 0.0):
        return _number(ufunc, _FLOAT, x, y)
    if ufunc in _COMPARISONS and (exact := _as_floats((x, y))) is not None:
        return _number(ufunc, _BOOL, *exact)
    return None


def _number(ufunc: np.ufunc, dtype: np.dtype, *args: Node) -> Node:
    """The node of a Python number."""
    return Node(elementwise_op(ufunc), args, (), ArrayType(dtype, (), weak=True))


def _assume(trace: Trace, comparison: np.ufunc, x: Node, limit: Any) -> bool:
    """Let the trace hold for calls in which ``comparison(x, limit)`` is true; False if it is not now, or unknown."""
    return trace.can_assume(x) and trace.assume(b.elementwise(comparison, x, constant(limit)))


def _as_floats(nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """Python floats and literal integers as floats; None if an integer is not one exactly."""
    found = []
    for node in nodes:
        if node.dtype.kind == "i" and node.op.name == "constant" and abs(node["value"].value) <= EXACT:
            node = constant(float(node["value"].value))
        if node.dtype != _FLOAT:
            return None
        found.append(node)
    return tuple(found)
