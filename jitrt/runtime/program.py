"""Programs: what a compiled graph is, and how it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..expr.node import Graph
from ..memory.frame import FrameLayout
from .frames import Frame
from .steps import KernelStep, Step, kernel_steps


@dataclass(eq=False, slots=True)
class Program:
    """A compiled graph for inputs of given types, shapes and strides.

    Parameters
    ----------
    graph : Graph
        The legalised graph.
    steps : tuple of Step
    layout : FrameLayout
    limit : int
        Most threads to use.
    """

    graph: Graph
    steps: tuple[Step, ...]
    layout: FrameLayout
    limit: int
    _frames: list[Frame] = field(default_factory=list)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs of the graph, as fresh arrays.

        Parameters
        ----------
        inputs : sequence
            Values of ``graph.inputs``: arrays of the types that the program was made for, and scalars.

        Raises
        ------
        Retrace
            If a call that NumPy made gave another type than when traced.
        Exception
            Whatever NumPy raises in a step that it executes.
        """
        # Taking from and giving to the list are atomic, so every concurrent call has a frame of its own.
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self.new_frame()
        try:
            return frame.run(inputs)
        finally:
            self._frames.append(frame)

    def kernel_steps(self) -> list[KernelStep]:
        """The steps that are kernels, those inside of loops included."""
        return list(kernel_steps(self.steps))

    def new_frame(self) -> Frame:
        """Memory for one more call at a time."""
        return Frame(self.graph, self.steps, self.layout, self.limit)
