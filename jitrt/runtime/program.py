"""Programs: what a compiled graph is, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import policy
from ..base.frozen import frozen, record
from ..base.stages import enters
from ..config import debug
from ..ir.worthwhile import Amount
from .errstate import UNCOMPUTED, FloatingPointRaised, Uncomputed, errors
from .frames import Frame
from .generalframes import LEAST_ROOM, GeneralFrame
from .hosts import Hosts
from .image import Image

if TYPE_CHECKING:
    from ..ir.node import Graph
    from ..memory.frame import FrameLayout
    from .generalhosts import Sized, SizedFrame
    from .steps import KernelStep, Step

UNLIMITED = 1 << 30  # threads
_PATIENCE = 1 << 29  # additions: some 30 milliseconds, which making a program for other sizes repays


@frozen(eq=False)
class Details:
    """What a program was made from.

    Parameters
    ----------
    graph : Graph
        The legalised graph.
    steps : tuple of Step
    layout : FrameLayout
    strides : tuple
        For each output its strides; None, and for all by default, those of a C-contiguous array.
    """

    graph: Graph
    steps: tuple[Step, ...]
    layout: FrameLayout
    strides: tuple[tuple[int, ...] | None, ...] = ()


@record(eq=False)
class Program:
    """A compiled graph for inputs of given types, shapes and strides.

    Parameters
    ----------
    image : Image
    kernels : sequence of int
        Addresses of the kernels.
    limit : int
        Most threads to use.
    hosts : Hosts
        What NumPy executes.
    details : callable
        Gives the `Details`. Only people ask for them, so a program that comes from the disk cache makes them on demand.
    """

    image: Image
    kernels: Sequence[int]
    limit: int
    hosts: Hosts
    details: Callable[[], Details]
    sized: Sized | None = None
    """How what NumPy executes depends on sizes, if it does."""
    room: int = 0
    """Bytes of the frames of a program whose numbers depend on extents."""
    patience: np.ndarray = field(default_factory=lambda: np.array([_PATIENCE], np.int64))
    """Additions that calls of sizes may still take for which another program would be better."""
    _frames: list[Frame | SizedFrame] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<program: kernels={len(self.image.kernels)}, nbytes={self.image.nbytes}>"

    @property
    def graph(self) -> Graph:
        """The legalised graph."""
        return self.details().graph

    @property
    def steps(self) -> tuple[Step, ...]:
        """What a call runs."""
        return self.details().steps

    @property
    def layout(self) -> FrameLayout:
        """Where everything lies in the frame."""
        return self.details().layout

    def run(self, inputs: Sequence[Any], backoff: policy.Backoff | None = None, reports: bool = True) -> list[Any]:
        """Outputs of the graph, as fresh arrays.

        Parameters
        ----------
        inputs : sequence
            Values of ``graph.inputs``: arrays of the types that the program was made for, and scalars.
        backoff : optional
            What remembers how often kernels have raised floating-point exceptions.
        reports : bool
            Whether floating-point exceptions matter; without, all are ignored.

        Raises
        ------
        Retrace
            If a call that NumPy made gave another type than when traced.
        FloatingPointRaised
            If kernels raised a floating-point exception that the error state does not ignore.
        Uncomputed
            If what is left out may raise one.
        Exception
            Whatever NumPy raises in a step that it executes.
        """
        if not reports:
            with np.errstate(all="ignore"):
                return self.run(inputs)
        watched = possible = self.image.may_raise
        if possible:
            asked = errors()
            if asked & possible >> UNCOMPUTED:
                raise Uncomputed
            watched = asked & possible
            if watched and backoff is not None and backoff.spared > 0 and backoff.spares():
                raise FloatingPointRaised
        frame = self.take_frame()
        try:
            outputs = frame.run(inputs, watched)
        except FloatingPointRaised:
            if backoff is not None:
                backoff.note(failed=True)
            raise
        finally:
            self.give_back(frame)
        if backoff is not None and backoff.failures:
            backoff.note(failed=False)
        return outputs

    def amount(self) -> Amount:
        """What a call does."""
        kernels = sum(len(table.rows) for table in self.image.actions if table is not None)
        return Amount(kernels, self.image.work, tuple(s.node for s in self.hosts.steps))

    def kernel_steps(self) -> list[KernelStep]:
        """The steps that are kernels, those inside of loops included."""
        from .steps import kernel_steps

        return list(kernel_steps(self.steps))

    def get_ready(self) -> None:
        """Wait for kernels that are being compiled."""
        enters("codegen")
        list(self.kernels)

    def release(self) -> None:
        """Free the frames that no call uses."""
        self._frames.clear()

    def take_frame(self) -> Any:
        """Memory for one call at a time, which no other call uses until it is given back."""
        try:
            return self._frames.pop()  # atomic, as is giving back, so every concurrent call has a frame of its own
        except IndexError:
            return self.new_frame()

    def give_back(self, frame: Frame | SizedFrame) -> None:
        """Let other calls use a frame that was taken."""
        self._frames.append(frame)
        if frame.image.nbytes > self.room:
            self.room = frame.image.nbytes

    def new_frame(self) -> Frame | SizedFrame:
        """Memory for one more call at a time."""
        kernels = list(self.kernels)  # NumPy would take what an interrupt raises here for a sequence that is none
        if self.sized is not None:
            from .generalhosts import SizedFrame

            return SizedFrame(self.hosts, self.image, kernels, self.limit, self.sized)
        if self.image.formulas is not None:
            return GeneralFrame(self.image, kernels, self.limit, max(self.room, self.image.nbytes, LEAST_ROOM))
        if self.image.is_native and not debug():
            return Frame(self.image, kernels, self.limit)
        if debug():
            from .debug import DebugFrame

            made = self.details()
            return DebugFrame(made.graph, made.steps, made.layout, self.limit, made.strides)
        from .hostframes import HostFrame

        return HostFrame(self.hosts, self.image, kernels, self.limit)
