"""Functions that NumPy composes of ufuncs: rounding to decimals, angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .operands import array_node, strong_node
from .optable import Kind, NotCovered, Op, numpy_function, row
from .ufuncs import ANGLE

_MOST_DECIMALS = 22  # up to which a power of ten is a number of float64


def _lower_round(n: Node) -> Node:
    """``rint(a * 10**decimals) / 10**decimals``"""
    (x,), decimals = n.args, n["decimals"]
    first, last = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    factor = b.constant(10.0 ** abs(decimals))
    return b.elementwise(last, b.elementwise(np.rint, b.elementwise(first, x, factor)), factor)


row(Op("round", Kind.COMPOUND, numpy=np.round, lower=_lower_round, order="A"))


@numpy_function(np.round, np.around, method="round")
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Node:
    """Of floats; of integers NumPy gives the operand itself."""
    x = array_node(a)
    if out is not None or type(decimals) is not int or abs(decimals) > _MOST_DECIMALS or x.dtype.char not in "fd":
        raise NotCovered("rounding of such operands")
    return b.compound("round", (x,), x.type, decimals=decimals) if decimals else b.elementwise(np.rint, x)


@numpy_function(np.angle)
def angle(z: Any, deg: bool = False) -> Node:
    """``np.angle`` of complex numbers: an operation of its own, since kernels read both parts of a number at once."""
    z = strong_node(z)
    if z.dtype.kind != "c":
        raise NotCovered("the angle of real numbers")
    radians = Node(ANGLE, (z,), (), ArrayType(np.dtype(f"f{z.dtype.itemsize // 2}"), z.shape))
    return b.elementwise(np.multiply, radians, b.constant(180 / np.pi)) if deg else radians
