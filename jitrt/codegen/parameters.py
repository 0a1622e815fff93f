"""The parameters of a kernel ``kernel(params, lo, hi)``.

`params` points to 64-bit words: an extent for each axis, the length of a block for each axis that has blocks, then for
each operand its address (of a local one the number of its bytes) and a stride in bytes for each axis of class ``s``,
then the literals.
"""

from __future__ import annotations

import math

from ..schedule.loopnest import LoopNest


def parameter_words(nest: LoopNest) -> list[tuple[str, int, int]]:
    """What the kernel's parameters are, in order.

    ``("extent", axis, 0)``, ``("block", axis, 0)``, ``("pointer", operand, 0)``, ``("stride", operand, axis)``,
    ``("literal", number, word)``. Local operands have, in place of the pointer, ``("bytes", operand, 0)`` where their
    memory is seen first, and ``("offset", operand, 0)`` where it is seen again.
    """
    words = [("extent", axis, 0) for axis in range(nest.axes)]
    words += [("block", axis, 0) for axis in nest.blocked_axes()]
    for k, operand in enumerate(nest.operands):
        if not operand.is_local:
            words.append(("pointer", k, 0))
        else:
            words.append(("bytes" if operand.name == operand.memory else "offset", k, 0))
        words += [("stride", k, axis) for axis, kind in enumerate(operand.strides) if kind == "s"]
    for k, dtype in enumerate(nest.literals):
        words += [("literal", k, w) for w in range(math.ceil(dtype.itemsize / 8))]
    return words
