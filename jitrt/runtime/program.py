"""Programs: what a compiled graph is, and how it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..config import debug
from ..expr.node import Graph
from ..memory.frame import FrameLayout
from .debug import DebugFrame
from .errstate import FloatingPointRaised, Patience, errors
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
    may_raise : int
        Floating-point exceptions that NumPy may report for the graph, as `errstate.may_raise` numbers them.
    strides : tuple
        For each output its strides; None, and for all by default, those of a C-contiguous array.
    """

    graph: Graph
    steps: tuple[Step, ...]
    layout: FrameLayout
    limit: int
    may_raise: int = 0
    strides: tuple[tuple[int, ...] | None, ...] = ()
    _frames: list[Frame] = field(default_factory=list)

    def run(self, inputs: Sequence[Any], patience: Patience | None = None, reports: bool = True) -> list[Any]:
        """Outputs of the graph, as fresh arrays.

        Parameters
        ----------
        inputs : sequence
            Values of ``graph.inputs``: arrays of the types that the program was made for, and scalars.
        patience : Patience, optional
            What remembers how often kernels have raised floating-point exceptions.
        reports : bool
            Whether floating-point exceptions matter; without, all are ignored.

        Raises
        ------
        Retrace
            If a call that NumPy made gave another type than when traced.
        FloatingPointRaised
            If kernels raised a floating-point exception that the error state does not ignore.
        Exception
            Whatever NumPy raises in a step that it executes.
        """
        if not reports:
            with np.errstate(all="ignore"):
                return self.run(inputs)
        watched = self.may_raise and self.may_raise & errors()
        if watched and patience is not None and patience.is_over():
            raise FloatingPointRaised
        # Taking from and giving to the list are atomic, so every concurrent call has a frame of its own.
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self.new_frame()
        try:
            outputs = frame.run(inputs, watched)
        except FloatingPointRaised:
            if patience is not None:
                patience.note(raised=True)
            raise
        finally:
            self._frames.append(frame)
        if patience is not None:
            patience.note(raised=False)
        return outputs

    def kernel_steps(self) -> list[KernelStep]:
        """The steps that are kernels, those inside of loops included."""
        return list(kernel_steps(self.steps))

    def release(self) -> None:
        """Free the frames that no call uses."""
        self._frames.clear()

    def new_frame(self) -> Frame:
        """Memory for one more call at a time."""
        make = DebugFrame if debug() else Frame
        return make(self.graph, self.steps, self.layout, self.limit, strides=self.strides)
