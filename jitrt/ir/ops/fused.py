"""Products that are added to something with one rounding, as BLAS adds them where processors can."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from .optable import Kind, Op, numpy_function, row


def fused_multiply_add(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z`` of one floating-point type, rounded once.

    Examples
    --------
    >>> float(fused_multiply_add(1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0)) == -(2.0**-60)
    True
    """
    from ...kernels import number_arrays as exact

    single = all(v.dtype == np.float32 for v in map(np.asarray, (x, y, z)))
    with np.errstate(all="ignore"):
        return (exact.fused_multiply_add32 if single else exact.fused_multiply_add64)(x, y, z)


FUSED = row(
    Op(
        "fused_multiply_add",
        Kind.ELEMENTWISE,
        numpy=fused_multiply_add,
        cost=2,
        flags=frozenset({"over", "under", "invalid"}),
    )
)


@numpy_function(fused_multiply_add)
def _node(x: Node, y: Node, z: Node) -> Node:
    shape = b.joint_shape([x.shape, y.shape, z.shape])
    args = tuple(b.broadcast_to(v, shape) for v in (x, y, z))
    return Node(FUSED, args, (), args[0].type)
