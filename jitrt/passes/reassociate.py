"""Constants that meet in sums and products, whatever stands between them.

t0 = add x0 1; t1 = subtract x1 3; t2 = add t0 t1   →   t0 = add x0 x1; t1 = add t0 -2
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.optable import CONSTANT
from ..ir.ops.ufuncs import NUMPY_UFUNCS
from ..ir.strided import depends
from ..policy import FOLDED_BYTES

_ADD, _SUBTRACT, _MULTIPLY = (NUMPY_UFUNCS[f] for f in (np.add, np.subtract, np.multiply))
_MOST = 16  # operands of one sum or product


def reassociated(n: Node) -> Node | None:
    """A sum or product of several constants as one of a single constant, which stands last.

    None if there are fewer, or their sum or product overflows.
    """
    ops = (_MULTIPLY,) if n.op is _MULTIPLY else (_ADD, _SUBTRACT)
    added: list[Node] = []
    subtracted: list[Node] = []
    constants: list[tuple[Node, bool]] = []
    stack = [(n, False)]
    while stack:
        node, is_negative = stack.pop()
        if node.op in ops and len(added) + len(subtracted) + len(constants) + len(stack) < _MOST:
            x, y = node.args
            stack += [(y, is_negative != (node.op is _SUBTRACT)), (x, is_negative)]
        elif (found := _constant(node)) is not None:
            constants.append((found, is_negative))
        else:
            (subtracted if is_negative else added).append(node)
    if len(constants) < 2 or not (added or subtracted):
        return None
    value = _joined(n, constants)
    if value is None:
        return None
    constant = b.broadcast_to(b.constant(value), n.shape)
    operands = [*added, constant] if added else [constant]
    total = reduce(lambda x, y: Node(ops[0], (x, y), n.params, n.type), operands)
    return reduce(lambda x, y: Node(_SUBTRACT, (x, y), n.params, n.type), subtracted, total)


def _constant(n: Node) -> Node | None:
    """What a constant is before it is broadcast."""
    if n.op.name == "broadcast_to":
        (n,) = n.args
    return n if n.op is CONSTANT else None


def _joined(n: Node, constants: list[tuple[Node, bool]]) -> Any:
    """The sum or product of constants; None if it would be too large or overflows."""
    shape = np.broadcast_shapes(*(c.shape for c, _ in constants))
    sizes = [c.type.nbytes for c, _ in constants]
    if depends(shape) or math.prod(shape) * n.dtype.itemsize > max(FOLDED_BYTES, *sizes):
        return None
    value = np.ones(1, n.dtype) if n.op is _MULTIPLY else np.zeros(1, n.dtype)
    with np.errstate(all="ignore"):
        for constant, is_negative in constants:
            ufunc = np.multiply if n.op is _MULTIPLY else np.subtract if is_negative else np.add
            value = ufunc(value, constant["value"].value)
    if not np.isfinite(value).all():
        return None
    return value.reshape(shape)[()]
