"""Scheduling: which operations share a loop nest, and what the nests look like.

For experts and tests, positions can be set by hand:

>>> from jitrt.schedule import Fusion, compute_with, inline_most
>>> f = Fusion()
>>> x = f.input("x", 3, 4)
>>> mean = f.broadcast("b", f.reduce("s", x, axes=(1,)), new=(1,))
>>> y = f.output(f.elementwise("y", x, mean))
>>> _ = inline_most(f)
>>> print(f)
for i in 3:
  s = neutral
  for j in 4:
    s (+)= red(x[i,j])
  b = bc(s)
  for k in 4:
    y[i,k] = ew(x[i,k],b)
"""

from .compute_at import (
    common_consumer,
    compute_at,
    compute_with,
    inline_at,
    inline_most,
    limit,
    self_mapped_axes,
    unmappable_axes,
)
from .domain import Axis, AxisKind, Domain
from .fusion import Expression, Fusion, ScheduleError, Tensor
from .propagation import propagate

__all__ = [
    "Axis",
    "AxisKind",
    "Domain",
    "Expression",
    "Fusion",
    "ScheduleError",
    "Tensor",
    "common_consumer",
    "compute_at",
    "compute_with",
    "inline_at",
    "inline_most",
    "limit",
    "propagate",
    "self_mapped_axes",
    "unmappable_axes",
]
