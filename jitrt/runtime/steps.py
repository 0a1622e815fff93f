"""Steps of a program: kernels, and nodes that NumPy executes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..base.frozen import frozen
from ..codegen.kernels import Addresses, Kernel
from ..ir.node import Node
from ..memory.frame import FrameLayout
from ..schedule.control import BranchCall, CheckCall, LoopCall
from ..schedule.nest import KernelCall
from .hosts import HostStep


@frozen
class KernelStep:
    """A kernel with the numbers that it runs with."""

    call: KernelCall
    kernel: Kernel


@frozen
class BlockSteps:
    """The steps of a body, and the node whose slot is its frame, laid out as `layout` says."""

    steps: tuple[Step, ...]
    frame: Node
    layout: FrameLayout


@frozen
class ControlStep:
    """A loop or a choice, with the steps of each of its bodies."""

    call: LoopCall | BranchCall
    blocks: tuple[BlockSteps, ...]


@frozen
class CheckStep:
    """A check of indices: where it fails the plain function has to run."""

    call: CheckCall


Step = KernelStep | HostStep | ControlStep | CheckStep


UNBOUNDED = 1 << 20  # iterations of a loop that nobody can count beforehand


def touched_bytes(call: KernelCall) -> int:
    """Bytes that a kernel reads and writes, each once."""
    seen = set()
    touched: dict[Node, int] = {}
    for operand, layout in zip(call.nest.operands, call.layouts):
        if layout not in seen and not operand.is_local:
            seen.add(layout)
            extents = (n for n, stride in zip(call.extents, layout.strides) if stride)
            nbytes = touched.get(layout.base, 0) + operand.dtype.itemsize * math.prod(extents)
            touched[layout.base] = min(nbytes, layout.base.type.nbytes)
    return sum(touched.values())


def total_work(steps: Sequence[Step]) -> int:
    """Additions that the kernels of the steps amount to."""
    total = 0
    for step in steps:
        if isinstance(step, KernelStep):
            total += step.call.work
        elif isinstance(step, ControlStep):
            inner = sum(total_work(b.steps) for b in step.blocks)
            count = step.call.what.count if isinstance(step.call, LoopCall) else 1
            total += inner * (UNBOUNDED if count is None else count)
    return total


def kernel_steps(steps: Sequence[Step]) -> Iterator[KernelStep]:
    """The steps that are kernels, those of bodies included."""
    for step in steps:
        if isinstance(step, KernelStep):
            yield step
        elif isinstance(step, ControlStep):
            for block in step.blocks:
                yield from kernel_steps(block.steps)


def addresses(steps: Sequence[Step], names: Sequence[str]) -> Addresses:
    """Addresses of the kernels of these names."""
    found = {step.kernel.name: step.kernel for step in kernel_steps(steps)}
    return Addresses([found[name] for name in names])
