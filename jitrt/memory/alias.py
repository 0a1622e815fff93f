"""Aliases: which stored values may lie in the memory of which.

A stored value has memory of its own, unless it is the result of a call that may hand its argument through: a call that
NumPy makes of a function without a row in the op table. What such a result may alias has to stay as it is for as long
as the result is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.aliasing import may_alias_arguments
from ..ir.node import Node
from ..ir.ops.movement import storage
from ..schedule.groups import producer


def alias_sets(nodes: Sequence[Node]) -> dict[Node, frozenset[Node]]:
    """For each node the stored values in whose memory it may lie.

    Parameters
    ----------
    nodes : sequence of Node
        Arguments before users.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt.ir import build as b
    >>> from jitrt.ir.types import ArrayType
    >>> x = b.input_node(0, ArrayType(np.dtype(np.float64), (2, 3)))
    >>> y = b.elementwise(np.exp, x)
    >>> sets = alias_sets([x, y, b.view("transpose", y, axes=(1, 0))])
    >>> [[n.op.name for n in s] for s in sets.values()]
    [['input'], ['exp'], ['exp']]
    """
    sets: dict[Node, frozenset[Node]] = {}
    for node in nodes:
        base = storage(node)
        if base is not node:
            sets[node] = sets[base]
            continue
        source = producer(node)
        sets[node] = frozenset((node,))
        if may_alias_arguments(source):
            sets[node] = sets[node].union(*(sets[a] for a in source.args))
    return sets
