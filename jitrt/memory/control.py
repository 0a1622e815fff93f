"""Memory of programs with loops: the frame of each body is a slot of the frame around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..expr.node import Node
from ..expr.types import ArrayType
from ..schedule.control import Block, BranchCall, LoopCall, buffer
from .frame import FrameLayout, plan_frame
from .liveness import lifetimes


@dataclass(frozen=True, slots=True, eq=False)
class BlockMemory:
    """Where a block keeps what it stores.

    Parameters
    ----------
    layout : FrameLayout
    inner : dict of Block to (Node, BlockMemory)
        For each block inside of it the node whose slot is the frame of that block.
    """

    layout: FrameLayout
    inner: dict[Block, tuple[Node, BlockMemory]]


def plan_block(block: Block, permanent: Sequence[Node] = ()) -> BlockMemory:
    """Slots for what a block stores that is not among its outputs, and for `permanent` values."""
    inner: dict[Block, tuple[Node, BlockMemory]] = {}
    steps: list[tuple[list[Node], list[Node]]] = []
    for step, (reads, writes) in zip(block.steps, block.accesses()):
        frames = []
        for body in step.blocks() if isinstance(step, (LoopCall, BranchCall)) else ():
            memory = plan_block(body)
            frame = buffer(ArrayType(np.dtype(np.uint8), (memory.layout.nbytes,)))
            inner[body] = frame, memory
            frames.append(frame)
        steps.append((reads, [*writes, *frames]))
    outputs = set(block.graph.outputs)
    live = {node: span for node, span in lifetimes(steps).items() if node not in outputs}
    return BlockMemory(plan_frame(permanent, live, len(steps)), inner)
