"""Frames at run time: the memory of one call, and the tables by which native code finds its way in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expr.interpret import evaluate, evaluate_node
from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.pythonnumbers import is_python
from ..expr.types import ArrayType, canonical
from ..kernels import driver as native
from ..memory.frame import ALIGNMENT, FrameLayout
from ..prepare.simplify import literal
from ..schedule.fuse import storage
from . import results, threads
from .errstate import FloatingPointRaised, noting
from .objects import address
from .steps import HostStep, Step, total_work
from .table import WORK_BETWEEN_SIGNALS, Place, build_table


class Retrace(Exception):
    """A call that NumPy made gave another type than when traced: the program does not fit this call."""


class Frame:
    """Memory for one call at a time: slots, kernel parameters, and the tables of the native driver.

    With `separate`, each step is an action of its own.
    """

    def __init__(
        self,
        graph: Graph,
        steps: Sequence[Step],
        layout: FrameLayout,
        limit: int,
        separate: bool = False,
        strides: Sequence[tuple[int, ...] | None] = (),
    ):
        self.graph = graph
        self.memory = self._allocate(layout.nbytes)
        self.hosted = layout.hosted
        self.saved = layout.saved
        self.copies: dict[Node, np.ndarray] = {}
        self.values: dict[Node, np.ndarray] = {
            node: np.ndarray(slot.shape, slot.dtype, self.memory, slot.offset) for node, slot in layout.slots.items()
        }
        for node in graph.nodes():
            if node.op.name == "constant":
                self.values[node] = np.asarray(node["value"].value)
        self.scalars = [(k, self.values[n]) for k, n in enumerate(graph.inputs) if n in self.values]
        # Arrays of one call, by their place in the tuple that the driver reads.
        self.places: dict[Node, int] = {n: k for k, n in enumerate(graph.inputs)}
        self.calls_numpy = any(isinstance(s, HostStep) and not is_python(s.node.op) for s in steps)
        by_numpy = [r for s in steps if isinstance(s, HostStep) for r in s.results]
        for node in (*graph.outputs, *by_numpy):
            self.places.setdefault(node, len(self.places))
        self.output_places = [self.places[n] for n in graph.outputs]
        self.fresh = [(self.places[n], n.type) for n in graph.outputs if n not in by_numpy and n not in self.hosted]
        self.sizes = [kind.nbytes for _, kind in self.fresh]
        self.lent = sorted({self.places[host] for host, _ in self.hosted.values()})
        # An argument that was donated becomes the result.
        self.given = [(self.places[n], self.places[self.hosted[n][0]]) for n in graph.outputs if n in self.hosted]
        places = [self.places[n] for n in graph.outputs]
        self.strides = {place: s for place, s in zip(places, strides) if s is not None}
        self.blocks: list[np.ndarray] = []
        self.limit = limit
        self.run_native = threads.driver()
        self.actions: list[int | HostStep] = []
        pending: list[Step] = []
        amount = 0
        for step in steps:
            amount += total_work([step])
            if isinstance(step, HostStep) or separate or amount > WORK_BETWEEN_SIGNALS:
                self._add_block(pending)
                pending = []
                amount = total_work([step])
            if isinstance(step, HostStep):
                self.actions.append(step)
            else:
                pending.append(step)
        self._add_block(pending)

    def _allocate(self, nbytes: int) -> np.ndarray:
        """Memory that begins at a cache line."""
        memory = np.empty(nbytes + ALIGNMENT, np.uint8)
        return memory[-address(memory) % ALIGNMENT :][:nbytes]

    def _add_block(self, steps: list[Step]) -> None:
        """Make a table of consecutive steps that run natively."""
        if steps:
            self.blocks.append(build_table(steps, self._find, self.limit))
            self.actions.append(address(self.blocks[-1]))

    def _find(self, node: Node) -> Place:
        """Where the memory of a node is."""
        if node not in self.values and node.op.name == "constant":  # of a body
            self.values[node] = np.asarray(node["value"].value)
        array = self.values.get(node)
        if array is not None:
            return Place(address(array))
        if node in self.hosted:
            host, slot = self.hosted[node]
            return Place(slot.offset, item=self.places[host])
        return Place(0, item=self.places[node])

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        """Outputs for these inputs, if none of the floating-point exceptions `watched` is raised."""
        objects = self.begin(inputs)
        returned: dict[Node, Any] = {}
        saved = self._save(objects) if watched else ()
        try:
            with noting(watched if self.calls_numpy else 0):
                for action in self.actions:
                    self.perform(action, objects, returned, watched)
        except BaseException:
            for memory, before in saved:  # the plain function starts from what the arguments were
                memory[...] = before
            raise
        if not returned:
            return [objects[k] for k in self.output_places]
        return [returned[n] if n in returned else objects[self.places[n]] for n in self.graph.outputs]

    def _save(self, objects: list[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The bytes of arguments that are going to be overwritten, and copies of them."""
        found = []
        for node, (start, stop) in self.saved.items():
            memory = objects[self.places[node]].reshape(-1).view(np.uint8)[start:stop]
            if node not in self.copies:
                self.copies[node] = np.empty(stop - start, np.uint8)
            self.copies[node][...] = memory
            found.append((memory, self.copies[node]))
        return found

    def begin(self, inputs: Sequence[Any]) -> list[Any]:
        """Arrays of a call by their places, with fresh ones for its outputs."""
        objects: list[Any] = [*inputs, *[None] * (len(self.places) - len(inputs))]
        for place, view in self.scalars:
            view[()] = inputs[place]
        for (place, kind), nbytes in zip(self.fresh, self.sizes):
            objects[place] = self._new_result(place, kind, nbytes)
        for place, argument in self.given:
            objects[place] = objects[argument]
        return objects

    def perform(self, action: int | HostStep, objects: list[Any], returned: dict[Node, Any], watched: int) -> None:
        """Run consecutive kernels, or a step that NumPy executes."""
        if isinstance(action, HostStep):
            if is_python(action.node.op):
                self._run_python(action.node, objects, returned)
                return
            self._run_host(action, objects, returned)
        else:
            self._run_native(action, objects, watched)

    def _new_result(self, place: int, kind: ArrayType, nbytes: int) -> np.ndarray:
        """Memory for a result."""
        if nbytes < results.LARGE and place not in self.strides:
            return np.empty(kind.shape, kind.dtype)
        return results.empty(kind.shape, kind.dtype, nbytes, self.strides.get(place))

    def _run_native(self, action: int, objects: list[Any], watched: int) -> None:
        arrays = tuple(objects)
        position = 0
        while True:  # Python runs signal handlers between the calls
            state = self.run_native(action, id(arrays), watched, position)
            if state & watched:
                raise FloatingPointRaised
            position = state >> native.POSITION_BIT
            if not position:
                break

    def _run_python(self, node: Node, objects: list[Any], returned: dict[Node, Any]) -> None:
        """Execute an operator on Python numbers."""
        assert node.op.numpy is not None
        value = node.op.numpy(*[self._value(a, objects, returned) for a in node.args])
        if type(value) is not node.dtype.type(0).item().__class__:
            raise Retrace(f"{node.op.name} gave {type(value).__name__}, not {node.type}")
        returned[node] = value
        objects[self.places[node]] = np.asarray(value)

    def _run_host(self, step: HostStep, objects: list[Any], returned: dict[Node, Any]) -> None:
        node = step.node
        value = evaluate_node(node, [self._operand(node, a, objects, returned) for a in node.args])
        for result in step.results:
            part = value if result is node else evaluate_node(result, [value])
            part = self._own(part, objects)
            array = np.asarray(part)
            if array.shape != result.shape or canonical(array.dtype) != result.dtype:
                # Types of rows are inferred, and inferred types are right; only those of other calls can change.
                failure = Retrace if node.op.name == "call" else TypeError
                raise failure(f"{node.op.name} gave {array.dtype}{array.shape}, not {result.type}")
            returned[result] = part if result.type.weak or node.op.name == "call" else array
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

    def _operand(self, user: Node, node: Node, objects: list[Any], returned: dict[Node, Any]) -> Any:
        """The value of an operand; a ufunc takes a literal as a scalar and broadcasts it, as in the user's code."""
        number = literal(node) if user.op.kind is Kind.ELEMENTWISE and user.op.ufunc is not None else None
        return self._value(node, objects, returned) if number is None else number

    def _value(self, node: Node, objects: list[Any], returned: dict[Node, Any]) -> Any:
        """The value of an operand of a step that NumPy executes."""
        if node in returned:
            return returned[node]
        if node in self.places:
            return objects[self.places[node]]
        if node.op.name == "constant":
            return node["value"].value
        if node in self.values:
            array = self.values[node]
            return array.item() if node.type.weak else array[()] if array.ndim == 0 else array
        if node in self.hosted:
            host, slot = self.hosted[node]
            array = np.ndarray(slot.shape, slot.dtype, objects[self.places[host]], slot.offset)
            return array[()] if array.ndim == 0 else array
        base = storage(node)
        return evaluate((node,), {base: self._value(base, objects, returned)})[0]
