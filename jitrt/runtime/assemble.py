"""From the steps of a program to its image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.extents import is_extent
from ..ir.node import Graph, Node
from ..ir.ops.optable import Kind
from ..ir.types import contiguous_strides
from ..memory.frame import FrameLayout
from .hosts import Hosts, HostStep, Room
from .image import Image, Table
from .steps import Step, total_work
from .table import WORK_BETWEEN_SIGNALS, Place, build_table


def numbered_places(graph: Graph, steps: Sequence[Step]) -> dict[Node, int]:
    """Numbers of the arrays of one call, by which the driver finds them."""
    places = {node: k for k, node in enumerate(graph.inputs) if not is_extent(node["index"])}
    by_numpy = [r for s in steps if isinstance(s, HostStep) for r in s.results]
    for node in (*graph.outputs, *by_numpy):
        places.setdefault(node, len(places))
    return places


def hosts_of(
    graph: Graph, steps: Sequence[Step], layout: FrameLayout, strides: Sequence[tuple[int, ...] | None] = ()
) -> Hosts:
    """What of a program a frame needs for the steps that NumPy executes; parameters as for `assemble`."""
    places = numbered_places(graph, steps)
    found = tuple(s for s in steps if isinstance(s, HostStep))
    returned = {r for s in found for r in (s.node, *s.results)}
    return Hosts(
        found,
        places,
        {node: Room(s.offset, s.dtype, s.shape) for node, s in layout.slots.items()},
        {node: (places[host], Room(s.offset, s.dtype, s.shape)) for node, (host, s) in layout.hosted.items()},
        tuple(node if node in returned else None for node in graph.outputs),
        tuple(
            _order(node, order) if node in returned and node.op.name not in ("call", "result") else None
            for node, order in zip(graph.outputs, strides)
        ),
    )


def _order(node: Node, order: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The strides that a result is to have; None where NumPy gives it these."""
    chosen = order is None and callable(node.op.order)  # by the order of the operands, which lie in the frame
    return contiguous_strides(node.shape, node.dtype.itemsize) if chosen else order


def assemble(
    graph: Graph,
    steps: Sequence[Step],
    layout: FrameLayout,
    strides: Sequence[tuple[int, ...] | None] = (),
    may_raise: int = 0,
    separate: bool = False,
) -> Image:
    """The image of a program.

    Parameters
    ----------
    graph, steps, layout
        As in `program.Details`.
    strides : sequence, optional
        For each output its strides; None, and for all by default, those of a C-contiguous array.
    may_raise : int
        Floating-point exceptions that NumPy may report.
    separate : bool
        Whether each step is an action of its own.
    """
    return _Assembler(graph, steps, layout).image(strides, may_raise, separate)


class _Assembler:
    """What is numbered on the way: constants, kernels and arrays of a call."""

    def __init__(self, graph: Graph, steps: Sequence[Step], layout: FrameLayout):
        self.graph, self.steps, self.layout = graph, steps, layout
        self.places = numbered_places(graph, steps)
        self.constants: dict[Node, int] = {}
        self.kernels: dict[str, int] = {}

    def image(self, strides: Sequence[tuple[int, ...] | None], may_raise: int, separate: bool) -> Image:
        graph, places, hosted = self.graph, self.places, self.layout.hosted
        by_numpy = {r for s in self.steps if isinstance(s, HostStep) for r in s.results}
        given = [n for n in graph.outputs if n in hosted]
        fresh = [n for n in graph.outputs if n not in by_numpy and n not in hosted and n.op.kind is not Kind.CHECK]
        order = dict(zip((places[n] for n in graph.outputs), strides))
        slots = [(k, self.layout.slots.get(n)) for k, n in enumerate(graph.inputs)]
        called = sum(not is_extent(n["index"]) for n in graph.inputs)
        actions = tuple(self._actions(separate))
        return Image(
            nbytes=self.layout.nbytes,
            places=len(places),
            scalars=tuple((k, slot.offset, slot.dtype) for k, slot in slots[:called] if slot is not None),
            counts=tuple((slot.offset, graph.inputs[k]["index"]) for k, slot in slots[called:] if slot is not None),
            outputs=tuple(places[n] for n in graph.outputs),
            fresh=tuple((places[n], n.type, order.get(places[n])) for n in fresh),
            given=tuple((places[n], places[hosted[n][0]]) for n in given),
            saved=tuple((places[n], *extent) for n, extent in self.layout.saved.items()),
            constants=tuple(np.asarray(n["value"].value) for n in self.constants),
            actions=actions,
            kernels=tuple(self.kernels),
            work=total_work(self.steps),
            may_raise=may_raise,
        )

    def _actions(self, separate: bool) -> list[Table | None]:
        """A table for consecutive steps that run natively, and None for each that NumPy executes."""
        actions: list[Table | None] = []
        pending: list[Step] = []
        amount = 0

        def flush() -> None:
            if pending:
                actions.append(build_table(pending, self._find, self.kernels))
                pending.clear()

        for step in self.steps:
            amount += total_work([step])
            if isinstance(step, HostStep) or separate or amount > WORK_BETWEEN_SIGNALS:
                flush()
                amount = total_work([step])
            if isinstance(step, HostStep):
                actions.append(None)
            else:
                pending.append(step)
        flush()
        return actions

    def _find(self, node: Node) -> Place:
        """Where the memory of a node is."""
        if node in self.layout.slots:
            return Place(self.layout.slots[node].offset, region=0)
        if node.op.name == "constant":
            return Place(0, region=1 + self.constants.setdefault(node, len(self.constants)))
        if node in self.layout.hosted:
            host, slot = self.layout.hosted[node]
            return Place(slot.offset, item=self.places[host])
        return Place(0, item=self.places[node])
