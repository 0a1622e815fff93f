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

Of a jit function, `f.lower(*args).by_hand()` makes such a fusion, which runs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .byhand import ByHand, by_hand
    from .domain import Axis, AxisKind, Domain
    from .fusion import Expression, Fusion, ScheduleError, Tensor
    from .positions import (
        common_consumer,
        compute_at,
        compute_with,
        inline_at,
        inline_most,
        limit,
        self_mapped_axes,
        unmappable_axes,
    )
    from .propagation import propagate

__all__ = [
    "Axis",
    "AxisKind",
    "ByHand",
    "Domain",
    "Expression",
    "Fusion",
    "ScheduleError",
    "Tensor",
    "by_hand",
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

_MODULES = (
    "domain",
    "fusion",
    "positions",
    "propagation",
    "byhand",
)  # imported for fusions made by hand, not for every program


if not TYPE_CHECKING:  # to type checkers, what is not imported above does not exist

    def __getattr__(name: str) -> Any:
        if name in __all__:
            for module in _MODULES:
                found = importlib.import_module(f".{module}", __name__)
                if hasattr(found, name):
                    value = globals()[name] = getattr(found, name)
                    return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
