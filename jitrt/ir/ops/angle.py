"""The angle of complex numbers, an operation of its own, since kernels read both parts of a number at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import build as b
from ..node import Node
from ..types import ArrayType
from .operands import strong_node
from .optable import NotCovered, numpy_function
from .ufuncs import ANGLE


@numpy_function(np.angle)
def angle(z: Any, deg: bool = False) -> Node:
    """``np.angle`` of complex numbers, times ``180 / pi`` for degrees, as NumPy computes it."""
    z = strong_node(z)
    if z.dtype.kind != "c":
        raise NotCovered("the angle of real numbers")
    radians = Node(ANGLE, (z,), (), ArrayType(np.dtype(f"f{z.dtype.itemsize // 2}"), z.shape))
    return b.elementwise(np.multiply, radians, b.constant(180 / np.pi)) if deg else radians
