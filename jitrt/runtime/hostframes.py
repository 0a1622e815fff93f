"""Frames of programs with steps that NumPy executes, which know the graph behind the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expr.interpret import evaluate, evaluate_node
from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.pythonnumbers import is_python
from ..expr.types import canonical
from ..memory.frame import FrameLayout
from ..prepare.simplify import literal
from ..schedule.fuse import storage
from .assemble import assemble, numbered_places
from .errstate import noting
from .frames import Frame, Retrace
from .image import Image
from .program import Details
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
    """

    def __init__(self, graph: Graph, steps: Sequence[Step], layout: FrameLayout, image: Image, limit: int):
        addresses = {s.kernel.name: s.kernel.address for s in kernel_steps(steps)}
        super().__init__(image, [addresses[name] for name in image.kernels], limit)
        self.graph = graph
        self.hosted = layout.hosted
        self.places = numbered_places(graph, steps)
        self.values: dict[Node, np.ndarray] = {
            node: np.ndarray(slot.shape, slot.dtype, self.memory, slot.offset) for node, slot in layout.slots.items()
        }
        hosts = (s for s in steps if isinstance(s, HostStep))
        self.actions = [next(hosts) if action is None else action for action in self.actions]
        self.calls_numpy = any(isinstance(s, HostStep) and not is_python(s.node.op) for s in steps)
        self.lent = sorted({self.places[host] for host, _ in self.hosted.values()})
        self.returned: dict[Node, Any] = {}

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        self.returned = {}
        try:
            with noting(watched if self.calls_numpy else 0):
                outputs = super().run(inputs, watched)
            return [self.returned.get(node, value) for node, value in zip(self.graph.outputs, outputs)]
        finally:
            self.returned = {}

    def perform(self, action: Any, objects: list[Any], watched: int) -> None:
        if not isinstance(action, HostStep):
            super().perform(action, objects, watched)
        elif is_python(action.node.op):
            self._run_python(action.node, objects)
        else:
            self._run_host(action, objects)

    def _run_python(self, node: Node, objects: list[Any]) -> None:
        """Execute an operator on Python numbers."""
        assert node.op.numpy is not None
        value = node.op.numpy(*[self._value(a, objects) for a in node.args])
        if type(value) is not node.dtype.type(0).item().__class__:
            raise Retrace(f"{node.op.name} gave {type(value).__name__}, not {node.type}")
        self.returned[node] = value
        objects[self.places[node]] = np.asarray(value)

    def _run_host(self, step: HostStep, objects: list[Any]) -> None:
        node = step.node
        args = [self._operand(node, a, objects) for a in node.args]
        if node in self.values or node in self.hosted:
            assert node.op.numpy is not None
            self.returned[node] = node.op.numpy(*args, **node.numpy_kwargs, out=self._array(node, objects))
            return
        value = evaluate_node(node, args)
        for result in step.results:
            part = value if result is node else evaluate_node(result, [value])
            part = self._own(part, objects)
            array = np.asarray(part)
            if array.shape != result.shape or canonical(array.dtype) != result.dtype:
                # Types of rows are inferred, and inferred types are right; only those of other calls can change.
                failure = Retrace if node.op.name == "call" else TypeError
                raise failure(f"{node.op.name} gave {array.dtype}{array.shape}, not {result.type}")
            self.returned[result] = part if result.type.weak or node.op.name == "call" else array
            contiguous = array.flags.c_contiguous
            objects[self.places[result]] = array if contiguous else np.ascontiguousarray(array).reshape(array.shape)

    def _own(self, value: Any, objects: list[Any]) -> Any:
        """`value`, copied if it lies in memory that is used again: the frame, or a result that is not yet written."""
        if not isinstance(value, np.ndarray):
            return value
        used_again = [self.memory, *[objects[k] for k in self.lent]]
        if value.base is None and value.flags.owndata and not any(value is memory for memory in used_again):
            return value  # its memory is its own
        return value.copy() if any(np.may_share_memory(value, memory) for memory in used_again) else value

    def _operand(self, user: Node, node: Node, objects: list[Any]) -> Any:
        """The value of an operand; a ufunc takes a literal as a scalar and broadcasts it, as in the user's code."""
        number = literal(node) if user.op.kind is Kind.ELEMENTWISE and user.op.ufunc is not None else None
        return self._value(node, objects) if number is None else number

    def _value(self, node: Node, objects: list[Any]) -> Any:
        """The value of an operand of a step that NumPy executes."""
        if node in self.returned:
            return self.returned[node]
        if node in self.places:
            return objects[self.places[node]]
        if node.op.name == "constant":
            return node["value"].value
        if node in self.values:
            array = self.values[node]
            return array.item() if node.type.weak else array[()] if array.ndim == 0 else array
        if node in self.hosted:
            array = self._array(node, objects)
            return array[()] if array.ndim == 0 else array
        base = storage(node)
        return evaluate((node,), {base: self._value(base, objects)})[0]

    def _array(self, node: Node, objects: list[Any]) -> np.ndarray:
        """The memory of a value that lies in the frame or in that of a result."""
        if node in self.values:
            return self.values[node]
        host, slot = self.hosted[node]
        return np.ndarray(slot.shape, slot.dtype, objects[self.places[host]], slot.offset)


def separate_frame(made: Details, limit: int) -> HostFrame:
    """A frame in which each step is an action of its own."""
    graph, steps, layout = made.graph, made.steps, made.layout
    return HostFrame(graph, steps, layout, assemble(graph, steps, layout, made.strides, separate=True), limit)
