"""Steps of a program: kernels, and nodes that NumPy executes."""

from __future__ import annotations

from dataclasses import dataclass

from ..codegen.compile import Kernel
from ..expr.node import Node
from ..schedule.nest import KernelCall


@dataclass(frozen=True, slots=True)
class KernelStep:
    """A kernel with the numbers that it runs with."""

    call: KernelCall
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class HostStep:
    """A node that NumPy executes; `results` are the stored values that it gives."""

    node: Node
    results: tuple[Node, ...]


Step = KernelStep | HostStep


def work(call: KernelCall) -> int:
    """Additions that a kernel call amounts to."""
    return call.elements * call.cost
