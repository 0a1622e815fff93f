"""Rows of Python's operators on Python numbers, where Python's rules are not those of NumPy's loops.

``1.0 / 0.0`` raises, ``2.0**1e9`` too, and a negative number has complex powers; Python itself executes these rows.
Unlike other calls they are values: the same operator of the same operands is the same node.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ...base.operators import ARITHMETIC
from ..node import Node, type_of
from .optable import LIBM, Kind, Op, row

_OPERATORS: dict[Callable[[Any, Any], Any], Op] = {
    function: row(Op(f"python_{function.__name__}", Kind.HOST, numpy=function, library="python"))
    for function in ARITHMETIC
}


def python_operation(function: Callable[..., Any], args: tuple[Node, ...], value: Any) -> Node | None:
    """The node of ``function(*args)`` of Python numbers, which is `value` for the inputs of this trace.

    None if there is no row for it: comparisons, and results that are no floating-point numbers.
    """
    op = _OPERATORS.get(function)
    if op is None or type(value) not in (float, complex):
        return None
    return Node(op, args, (), type_of(value))


# Functions of floats that Python takes from the C library, so that kernels get the same bits there. Python raises where
# the result is not finite.
LIBRARY_FUNCTIONS: dict[Callable[..., Any], Op] = {
    function: row(Op(f"libm_{name}", Kind.ELEMENTWISE, numpy=function, library=LIBM, cost=200))
    for name, function in (
        ("pow", operator.pow), *((name, getattr(math, name)) for name in """sqrt sin cos tan asin acos atan atan2 sinh
        cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p erf erfc""".split()),
    )
}  # fmt: skip


def is_python(op: Op) -> bool:
    """Whether Python executes an operation."""
    return op.library == "python"
