"""Frames of programs with steps that NumPy executes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.build import literal
from ..ir.interpret import evaluate
from ..ir.node import Node
from ..ir.ops.movement import base_of
from ..ir.ops.optable import ASKS_OF_INVALID, Kind
from ..ir.ops.pythonnumbers import is_python
from ..kernels.driver import PATCH
from ..kernels.floatflags import INVALID
from .errstate import Noting
from .frames import Frame
from .hostcalls import Fetch, HostCall, allocating, gathered, into_memory, making, on_python_numbers
from .hosts import Hosts, HostStep
from .image import Image
from .results import empty

_ITEM = PATCH.index("item")


class HostFrame(Frame):
    """A frame of which NumPy executes some steps.

    Parameters
    ----------
    hosts : Hosts
    image, kernels, limit
        As for `Frame`.
    """

    def __init__(self, hosts: Hosts, image: Image, kernels: Sequence[int], limit: int):
        super().__init__(image, kernels, limit)
        self.hosted = hosts.hosted
        self.places = hosts.places
        self.values: dict[Node, np.ndarray] = {
            node: np.ndarray(slot.shape, slot.dtype, self.memory, slot.offset) for node, slot in hosts.slots.items()
        }
        self.calls_numpy = any(not is_python(s.node.op) for s in hosts.steps)
        asks = any(getattr(s.node.kwargs.get("call"), "function", None) in ASKS_OF_INVALID for s in hosts.steps)
        self.noting = Noting()
        self.noted = ~INVALID if asks else -1  # the floating-point exceptions of which `noting` may keep silent
        self.lent = sorted({place for place, _ in self.hosted.values()})
        self._returned: dict[Node, int] = {}  # by what steps return, the number of the object
        self._views: dict[Node, int] = {}  # by views that are made once a call, the same
        steps = iter(hosts.steps)
        self.actions = [self._bound(next(steps)) if action is None else action for action in self.actions]
        self._make_late(image)
        returned = (None if node is None else self._returned.get(node) for node in hosts.outputs)
        self.outputs = tuple(k if number is None else number for number, k in zip(returned, image.outputs))
        self._ordered = [(k, order) for k, order in enumerate(hosts.orders) if order is not None]

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        noted = watched & self.noted if self.calls_numpy else 0
        if noted:
            token = self.noting.begin(noted)
            try:
                outputs = super().run(inputs, watched)
            finally:
                self.noting.end(token)
        else:
            outputs = super().run(inputs, watched)
        for k, order in self._ordered:
            if outputs[k].strides != order:
                ordered = empty(outputs[k].shape, outputs[k].dtype, outputs[k].nbytes, order)
                ordered[...] = outputs[k]
                outputs[k] = ordered
        return outputs

    def _bound(self, step: HostStep) -> HostCall:
        """What executes a step; steps before it are bound already."""
        node = step.node
        operands = gathered([self._operand(node, a) for a in node.args])
        if is_python(node.op):
            return on_python_numbers(step, operands, self.places[node], self._room(node))
        made = step.results[0] if len(step.results) == 1 else node
        if made in self.values or made in self.hosted:
            return into_memory(step, operands, self._memory(made), self._room(made))
        places = [self.places[r] for r in step.results]
        return allocating(step, operands, places, [self._room(r) for r in step.results], self._own)

    def _make_late(self, image: Image) -> None:
        """Let results be made behind NumPy's last step before the kernel that writes them: it has freed memory."""
        makers = {place: make for place, make in self.made if place not in self.lent}
        self.made = [(place, make) for place, make in self.made if place in self.lent]
        before = None
        for k, table in enumerate(image.actions):
            if table is None:
                before = k
                continue
            found = [(place, makers.pop(place)) for place in table.patches[:, _ITEM].tolist() if place in makers]
            if before is None:
                self.made += found
            elif found:
                self.actions[before] = making(self.actions[before], found)
        self.made += makers.items()

    def _room(self, node: Node) -> int:
        """The number of the object that a step returns for `node`."""
        return self._returned.setdefault(node, self._object(None))

    def _object(self, value: Any) -> int:
        """The number of an object that is `value` when a call begins, behind the places that kernels know."""
        self.rest.append(value)
        return len(self.rest) - 1

    def _own(self, value: Any, objects: list[Any]) -> Any:
        """`value`, copied if it lies in memory that is used again: the frame, or a result that is not yet written."""
        if not isinstance(value, np.ndarray):
            return value
        if value.base is None and value.flags.owndata and value is not self.memory:
            for k in self.lent:
                if objects[k] is value:
                    break
            else:
                return value  # its memory is its own
        used_again = [self.memory, *[objects[k] for k in self.lent]]
        return value.copy("K") if any(np.may_share_memory(value, memory) for memory in used_again) else value

    def _operand(self, user: Node, node: Node) -> int | Fetch:
        """Where an operand is; a ufunc takes a literal as a scalar and broadcasts it, as in the user's code."""
        number = literal(node) if user.op.kind is Kind.ELEMENTWISE and user.op.ufunc is not None else None
        return self._value(node) if number is None else self._object(number)

    def _value(self, node: Node) -> int | Fetch:
        """Where the operand of a step that NumPy executes is: the number of an object, or what gives it."""
        if node in self._returned:
            return self._returned[node]
        if node in self.places:
            place = self.places[node]
            return _python_number(place) if node.type.weak else place
        if node.op.name == "constant":
            return self._object(node["value"].value)
        if node in self.values or node in self.hosted:
            memory = self._memory(node)
            if node.type.weak:
                return lambda objects: memory(objects).item()
            if not node.type.ndim:
                return lambda objects: memory(objects)[()]
            return self._object(self.values[node]) if node in self.values else memory
        base = base_of(node)
        found = self._value(base)
        if base in self.values and base.type.ndim and isinstance(found, int):
            view = evaluate((node,), {base: self.values[base]})[0]
            if isinstance(view, np.ndarray) and np.may_share_memory(view, self.values[base]):
                return self._object(view)
        fetch = operator.itemgetter(found) if isinstance(found, int) else found
        if node not in self._views:
            self._views[node] = self._object(None)
        place = self._views[node]

        def view_of(objects: list[Any]) -> Any:
            if objects[place] is not None:
                return objects[place]
            memory = fetch(objects)
            made = evaluate((node,), {base: memory})[0]
            if np.may_share_memory(made, memory):  # a copy does not show what is written later
                objects[place] = made
            return made

        return view_of

    def _memory(self, node: Node) -> Fetch:
        """What gives the memory of a value that lies in the frame or in that of a result."""
        if node in self.values:
            memory = self.values[node]
            return lambda objects: memory
        place, slot = self.hosted[node]
        return lambda objects: np.ndarray(slot.shape, slot.dtype, _in_order(objects[place]), slot.offset)


def _in_order(result: np.ndarray) -> np.ndarray:
    """The memory of a result, which has no gaps but perhaps another order, as a buffer."""
    if result.flags.forc:
        return result
    return result.transpose(sorted(range(result.ndim), key=lambda axis: -result.strides[axis]))


def _python_number(place: int) -> Fetch:
    """What gives a Python number that is an argument, or that a kernel has stored in an array of its own."""

    def fetch(objects: list[Any]) -> Any:
        value = objects[place]
        return value.item() if isinstance(value, np.ndarray) else value

    return fetch
