"""Frames at run time: the memory of one call, and the tables by which native code finds its way in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..codegen.emit import parameter_words
from ..expr.interpret import evaluate, evaluate_node
from ..expr.node import Graph, Node
from ..expr.types import canonical
from ..kernels import driver as native
from ..memory.frame import ALIGNMENT, FrameLayout
from ..prepare.simplify import literal
from ..schedule.fuse import storage
from ..schedule.nest import KernelCall
from . import results, threads
from .objects import address, tuple_and_array_offsets
from .steps import HostStep, KernelStep, Step, work

# Work below this many additions, some 30 µs, stays on one thread: on a machine with other work to do, waiting for a
# worker that has been interrupted costs more than its help saves.
PARALLEL_WORK = 500_000
_PIECES_PER_THREAD = 4


class Retrace(Exception):
    """A call that NumPy made gave another type than when traced: the program does not fit this call."""


class Frame:
    """Memory for one call at a time: slots, kernel parameters, and the tables of the native driver."""

    def __init__(self, graph: Graph, steps: Sequence[Step], layout: FrameLayout, limit: int):
        self.graph = graph
        nbytes = layout.nbytes
        memory = np.empty(nbytes + ALIGNMENT, np.uint8)
        self.memory = memory[-address(memory) % ALIGNMENT :][:nbytes]
        self.values: dict[Node, np.ndarray] = {
            node: np.ndarray(slot.shape, slot.dtype, self.memory, slot.offset) for node, slot in layout.slots.items()
        }
        for node in graph.nodes():
            if node.op.name == "constant":
                self.values[node] = np.asarray(node["value"].value)
        self.scalars = [(k, self.values[n]) for k, n in enumerate(graph.inputs) if n in self.values]
        # Arrays of one call, by their place in the tuple that the driver reads.
        self.places: dict[Node, int] = {n: k for k, n in enumerate(graph.inputs)}
        by_numpy = [r for s in steps if isinstance(s, HostStep) for r in s.results]
        for node in (*graph.outputs, *by_numpy):
            self.places.setdefault(node, len(self.places))
        self.fresh = [(self.places[n], n.type) for n in graph.outputs if n not in by_numpy]
        self.blocks: list[np.ndarray] = []
        self.limit = limit
        self.run_native = threads.driver()
        self.actions: list[int | HostStep] = []
        pending: list[KernelStep] = []
        for step in steps:
            if isinstance(step, KernelStep):
                pending.append(step)
                continue
            self._add_block(pending)
            pending = []
            self.actions.append(step)
        self._add_block(pending)

    def _add_block(self, steps: list[KernelStep]) -> None:
        """Lay out header, patches, rows and parameters of consecutive kernels in one array of words."""
        if not steps:
            return
        patches: list[tuple[int, int, int]] = []  # word of the parameters, item, offset
        rows: list[tuple[int, int, int, int]] = []  # kernel, word of the parameters, span, chunk
        params: list[int] = []
        for step in steps:
            rows.append((step.kernel.address, len(params), step.call.span, _chunk(step.call)))
            self._add_parameters(step, params, patches)
        if self.limit > 1 and any(chunk for *_, chunk in rows):
            threads.start_pool()
        header, width = len(native.HEADER), len(native.PATCH)
        patch_table = header
        row_table = patch_table + width * len(patches)
        first = row_table + len(native.ROW) * len(rows)
        block = np.zeros(first + len(params), np.int64)
        base = address(block)

        def at(word: int) -> int:
            return base + 8 * word

        item, data = tuple_and_array_offsets()
        block[:header] = (
            len(patches), at(patch_table), len(rows), at(row_table), threads.process_words(), self.limit, item, data,
        )  # fmt: skip
        for k, (word, place, offset) in enumerate(patches):
            block[patch_table + width * k :][:width] = at(first + word), place, offset
        for k, (kernel, word, span, chunk) in enumerate(rows):
            block[row_table + len(native.ROW) * k :][: len(native.ROW)] = kernel, at(first + word), span, chunk
        block[first:] = params
        self.blocks.append(block)
        self.actions.append(base)

    def _add_parameters(self, step: KernelStep, params: list[int], patches: list[tuple[int, int, int]]) -> None:
        call = step.call
        for kind, k, detail in parameter_words(call.nest):
            if kind == "extent":
                params.append(call.extents[k])
            elif kind == "stride":
                params.append(call.layouts[k].strides[detail])
            elif kind == "literal":
                data = np.asarray(call.literals[k], call.nest.literals[k]).tobytes()
                params.append(int.from_bytes(data[8 * detail : 8 * detail + 8], "little", signed=len(data) >= 8))
            else:
                layout = call.layouts[k]
                array = self.values.get(layout.base)
                if array is None:
                    patches.append((len(params), self.places[layout.base], layout.offset))
                params.append(0 if array is None else address(array) + layout.offset)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        objects: list[Any] = [*inputs, *[None] * (len(self.places) - len(inputs))]
        for place, view in self.scalars:
            view[()] = inputs[place]
        for place, kind in self.fresh:
            objects[place] = results.empty(kind.shape, kind.dtype, kind.nbytes)
        returned: dict[Node, Any] = {}
        for action in self.actions:
            if isinstance(action, HostStep):
                self._run_host(action, objects, returned)
            else:
                arrays = tuple(objects)
                self.run_native(action, id(arrays))
        return [returned[n] if n in returned else objects[self.places[n]] for n in self.graph.outputs]

    def _run_host(self, step: HostStep, objects: list[Any], returned: dict[Node, Any]) -> None:
        node = step.node
        value = evaluate_node(node, [self._operand(node, a, objects, returned) for a in node.args])
        for result in step.results:
            part = value if result is node else evaluate_node(result, [value])
            part = self._own(part)
            array = np.asarray(part)
            if array.shape != result.shape or canonical(array.dtype) != result.dtype:
                # Types of rows are inferred, and inferred types are right; only those of other calls can change.
                failure = Retrace if node.op.name == "call" else TypeError
                raise failure(f"{node.op.name} gave {array.dtype}{array.shape}, not {result.type}")
            returned[result] = part if result.type.weak or node.op.name == "call" else array
            objects[self.places[result]] = np.ascontiguousarray(array).reshape(array.shape)

    def _own(self, value: Any) -> Any:
        """`value`, copied if it lies in the frame, which the next call overwrites."""
        if isinstance(value, np.ndarray) and np.may_share_memory(value, self.memory):
            return value.copy()
        return value

    def _operand(self, user: Node, node: Node, objects: list[Any], returned: dict[Node, Any]) -> Any:
        """The value of an operand; a ufunc takes a literal as a scalar and broadcasts it, as in the user's code."""
        number = literal(node) if user.op.ufunc is not None else None
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
            return array[()] if array.ndim == 0 else array
        base = storage(node)
        return evaluate((node,), {base: self._value(base, objects, returned)})[0]


def _chunk(call: KernelCall) -> int:
    """Iterations of the parallel loop that one thread takes at a time; 0 if the work is too small to be shared."""
    if call.span <= 1 or work(call) < PARALLEL_WORK:
        return 0
    pieces = _PIECES_PER_THREAD * threads.num_threads()
    chunk = -(-call.span // pieces)
    return chunk if chunk < 64 else -(-chunk // 64) * 64
