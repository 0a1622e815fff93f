"""What the emission of a kernel gives to that of its loops, which stands in files of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from llvmlite import ir

from ..ir.ops.optable import Op
from ..schedule.loopnest import Loop, Statement
from .memory import Memory

Bounds = tuple[ir.Value, ir.Value]


class Kernel(Protocol):
    """A kernel that is being emitted.

    `values`, `folds` and `accumulators` are by the numbers of the loop nest, and `indices` by its axes.
    """

    builder: ir.IRBuilder
    memory: Memory
    values: dict[int, ir.Value]
    folds: dict[int, tuple[Op, np.dtype]]
    accumulators: dict[int, ir.Value]
    indices: dict[int, ir.Value]

    def statement(self, s: Statement) -> None:
        """Emit a statement."""

    def block(self, body: Sequence[Statement]) -> None:
        """Emit statements one after the other."""

    def bounds(self, loop: Loop) -> Bounds:
        """Where a loop begins and ends."""

    def counted(self, loop: Loop, start: ir.Value, stop: ir.Value, carried: list[int], hint: int | None = None) -> None:
        """``for index in range(start, stop)``, around the body of `loop`."""

    def repeat(
        self,
        name: str,
        start: ir.Value,
        stop: ir.Value,
        step: int,
        carried: list[int],
        turn: Callable[[ir.Value, ir.Value], None],
        interleaving: int | None = None,
    ) -> None:
        """``for index in range(start, stop, step): turn(index, index + step)`` with the accumulators `carried`."""


def smaller(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """The smaller of two indices."""
    return builder.select(builder.icmp_signed("<", x, y), x, y)
