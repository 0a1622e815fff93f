"""What results depend on and LLVM may yet leave out, since an operation absorbs it whose other operand it knows.

    bitwise_or (greater (divide 1.0 x0) 5.0) (isfinite i0)  →  beside it force (divide 1.0 x0)

NumPy warns of the quotient. LLVM, to which exceptions are nothing, knows that integers are finite, that the result is
true whatever the quotient is, and divides no more. So what may raise has to be needed by operations on floating-point
numbers, or by such operations on integers and truth values whose other operands nobody knows before they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .build import literal
from .node import Node, topological_order
from .ops.optable import INPUT, Kind
from .ops.raising import EMPTY, can_raise
from .ops.ufuncs import CAST, COMPARISONS, WHERE

_NEGATIONS = frozenset({np.logical_not, np.invert})
_STEPS = frozenset({Kind.HOST, Kind.CONTROL, Kind.CHECK})
_DEPENDING = frozenset({np.multiply, np.floor_divide, np.remainder})  # on a number, if the other one is no 0 and no 1
# Of two values of which nothing is known they make another one.
_MIXING = COMPARISONS | {
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or, np.logical_xor, np.add, np.subtract,
}  # fmt: skip


def absorbed(outputs: Sequence[Node]) -> list[Node]:
    """Nodes that may raise, and that `outputs` may be had without; what is a step by itself is computed anyway."""
    needed, found = set(outputs), []
    known: dict[Node, bool] = {}
    for node in reversed(topological_order(outputs)):
        if node.op.kind in _STEPS:
            needed.add(node)
        elif node not in needed and can_raise(node) and node.type.size:
            found.append(node)
            needed.add(node)
        if node in needed and node not in EMPTY:
            needed.update(arg for arg in node.args if not _may_absorb(node, arg, known))
    return found


def _may_absorb(node: Node, arg: Node, known: dict[Node, bool]) -> bool:
    """Whether `node` may be had without `arg`."""
    if node.op.kind is not Kind.ELEMENTWISE or len(node.args) < 2:
        return False
    if node.op is WHERE:
        return arg is not node.args[0] and not _is_open(node.args[0], known)
    if node.dtype.kind not in "biu" or node.op.ufunc in COMPARISONS:
        return False
    if node.op.ufunc in _DEPENDING and (value := literal(node.args[1])) is not None and arg is node.args[0]:
        return value in (-1, 0, 1)
    return not all(_is_open(other, known) for other in node.args if other is not arg) or node.args.count(arg) > 1


def _is_open(node: Node, known: dict[Node, bool]) -> bool:
    """Whether nothing is known of the values of a node before it is computed."""
    for n in topological_order((node,), known):
        known[n] = _is_open_operation(n, known)
    return known[node]


def _is_open_operation(node: Node, known: Mapping[Node, bool]) -> bool:
    """Whether it is so where that is `known` of its arguments."""
    args = node.args
    if node.op.kind is Kind.SOURCE:
        return node.op is INPUT
    if node.op.kind is Kind.VIEW or node.op.ufunc in _NEGATIONS:
        return known[args[0]]
    if node.op.kind is not Kind.ELEMENTWISE:
        return True
    if node.op is CAST:
        return args[0].dtype.kind in "fc" or known[args[0]]
    if len(args) != 2 or args[0] is args[1]:
        return False
    if node.op.ufunc in COMPARISONS and (
        args[0].dtype.kind in "fc" or any(_lies_inside(*args, known) for args in (args, args[::-1]))
    ):
        return True
    is_negated = any(x.op.ufunc in _NEGATIONS and x.args[0] is y for x, y in (args, args[::-1]))
    return node.op.ufunc in _MIXING and not is_negated and all(known[arg] for arg in args)


def _lies_inside(number: Node, x: Node, known: Mapping[Node, bool]) -> bool:
    """Whether a literal is none that all integers like `x`, of which nothing is known, are on one side of."""
    value = literal(number)
    if value is None or x.dtype.kind not in "iu" or not known[x]:
        return False
    limits = np.iinfo(x.dtype)
    return bool(limits.min < value < limits.max)
