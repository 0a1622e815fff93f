"""Frames of programs with steps that NumPy executes, which know the graph behind the image."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expr.interpret import evaluate
from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.pythonnumbers import is_python
from ..memory.frame import FrameLayout
from ..prepare.simplify import literal
from ..schedule.fuse import storage
from .assemble import assemble, numbered_places
from .errstate import noting
from .frames import Frame
from .hostcalls import Fetch, HostCall, allocating, gathered, into_memory, on_python_numbers
from .image import Image
from .program import Details
from .results import empty
from .steps import HostStep, Step, kernel_steps


class HostFrame(Frame):
    """A frame of which NumPy executes some steps.

    Parameters
    ----------
    graph, steps, layout
        As in `program.Details`.
    image : Image
    limit : int
        Most threads to use.
    strides : sequence
        As in `program.Details`.
    """

    def __init__(
        self,
        graph: Graph,
        steps: Sequence[Step],
        layout: FrameLayout,
        image: Image,
        limit: int,
        strides: Sequence[tuple[int, ...] | None] = (),
    ):
        addresses = {s.kernel.name: s.kernel.address for s in kernel_steps(steps)}
        super().__init__(image, [addresses[name] for name in image.kernels], limit)
        self.graph = graph
        self.hosted = layout.hosted
        self.places = numbered_places(graph, steps)
        self.values: dict[Node, np.ndarray] = {
            node: np.ndarray(slot.shape, slot.dtype, self.memory, slot.offset) for node, slot in layout.slots.items()
        }
        self.calls_numpy = any(isinstance(s, HostStep) and not is_python(s.node.op) for s in steps)
        self.lent = sorted({self.places[host] for host, _ in self.hosted.values()})
        self._fixed: list[Any] = []  # objects that are the same in every call, and room for what NumPy returns
        self._returned: dict[Node, int] = {}  # by what steps return, the number of the object
        hosts = (s for s in steps if isinstance(s, HostStep))
        self.actions = [self._bound(next(hosts)) if action is None else action for action in self.actions]
        self.outputs = tuple(self._returned.get(node, k) for node, k in zip(graph.outputs, image.outputs))
        # What NumPy makes of operands that lie in the frame has their order there, and not that of the user's arrays.
        self._ordered = [
            (k, order)
            for k, (node, order) in enumerate(zip(graph.outputs, strides))
            if order is not None and node in self._returned and node.op.name not in ("call", "result")
        ]

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        with noting(watched if self.calls_numpy else 0):
            outputs = super().run(inputs, watched)
        for k, order in self._ordered:
            if outputs[k].strides != order:
                ordered = empty(outputs[k].shape, outputs[k].dtype, outputs[k].nbytes, order)
                ordered[...] = outputs[k]
                outputs[k] = ordered
        return outputs

    def begin(self, inputs: Sequence[Any]) -> list[Any]:
        return [*super().begin(inputs), *self._fixed]

    def perform(self, action: Any, objects: list[Any], watched: int) -> None:
        if isinstance(action, HostCall):
            action.run(objects)
        else:
            super().perform(action, objects, watched)

    def _bound(self, step: HostStep) -> HostCall:
        """What executes a step; steps before it are bound already."""
        node = step.node
        operands = gathered([self._operand(node, a) for a in node.args])
        if is_python(node.op):
            return on_python_numbers(step, operands, self.places[node], self._room(node))
        if node in self.values or node in self.hosted:
            return into_memory(step, operands, self._memory(node), self._room(node))
        places = [self.places[r] for r in step.results]
        return allocating(step, operands, places, [self._room(r) for r in step.results], self._own)

    def _room(self, node: Node) -> int:
        """The number of the object that a step returns for `node`."""
        return self._returned.setdefault(node, self._object(None))

    def _object(self, value: Any) -> int:
        """The number of an object that is `value` when a call begins."""
        self._fixed.append(value)
        return self.image.places + len(self._fixed) - 1

    def _own(self, value: Any, objects: list[Any]) -> Any:
        """`value`, copied if it lies in memory that is used again: the frame, or a result that is not yet written."""
        if not isinstance(value, np.ndarray):
            return value
        used_again = [self.memory, *[objects[k] for k in self.lent]] if self.lent else [self.memory]
        if value.base is None and value.flags.owndata and not any(value is memory for memory in used_again):
            return value  # its memory is its own
        return value.copy() if any(np.may_share_memory(value, memory) for memory in used_again) else value

    def _operand(self, user: Node, node: Node) -> int | Fetch:
        """Where an operand is; a ufunc takes a literal as a scalar and broadcasts it, as in the user's code."""
        number = literal(node) if user.op.kind is Kind.ELEMENTWISE and user.op.ufunc is not None else None
        return self._value(node) if number is None else self._object(number)

    def _value(self, node: Node) -> int | Fetch:
        """Where the operand of a step that NumPy executes is: the number of an object, or what gives it."""
        if node in self._returned:
            return self._returned[node]
        if node in self.places:
            return self.places[node]
        if node.op.name == "constant":
            return self._object(node["value"].value)
        if node in self.values or node in self.hosted:
            memory = self._memory(node)
            if node.type.weak:
                return lambda objects: memory(objects).item()
            if not node.type.ndim:
                return lambda objects: memory(objects)[()]
            return self._object(self.values[node]) if node in self.values else memory
        base = storage(node)
        found = self._value(base)
        if base in self.values and base.type.ndim and isinstance(found, int):
            view = evaluate((node,), {base: self.values[base]})[0]
            if isinstance(view, np.ndarray) and np.may_share_memory(view, self.values[base]):
                return self._object(view)
        fetch = operator.itemgetter(found) if isinstance(found, int) else found
        return lambda objects: evaluate((node,), {base: fetch(objects)})[0]

    def _memory(self, node: Node) -> Fetch:
        """What gives the memory of a value that lies in the frame or in that of a result."""
        if node in self.values:
            memory = self.values[node]
            return lambda objects: memory
        host, slot = self.hosted[node]
        place = self.places[host]
        return lambda objects: np.ndarray(slot.shape, slot.dtype, objects[place], slot.offset)


def separate_frame(made: Details, limit: int) -> HostFrame:
    """A frame in which each step is an action of its own."""
    graph, steps, layout = made.graph, made.steps, made.layout
    image = assemble(graph, steps, layout, made.strides, separate=True)
    return HostFrame(graph, steps, layout, image, limit, made.strides)
