"""Debug mode (``JITRT_DEBUG=1``): frames that check what every kernel reads and writes.

Steps run one by one. Memory that holds nothing alive is poisoned before each, and surrounded by canaries. A kernel must
find its operands written, must change nothing but what it is to write, and must give the same bytes again when the
poison is another one. What it reads in the memory of an operand that it replaces counts as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import MemoryFault
from ..ir.node import Graph, Node
from ..ir.types import ArrayType, dtype_name
from ..memory.accesses import Access, accesses
from ..memory.frame import FrameLayout
from .assemble import assemble, hosts_of
from .hostcalls import HostCall
from .hostframes import HostFrame
from .image import Image
from .steps import CheckStep, ControlStep, HostStep, KernelStep, Step, addresses

MARGIN = 256  # bytes of canaries in front of and behind a frame or a result
CANARY = 0xA5
POISONS = (0xCB, 0xFF)  # bytes; all bits set are a NaN in every floating-point format


@dataclass(eq=False)
class _Region:
    """Memory with canaries around it: the frame, or a result."""

    name: str
    nbytes: int
    whole: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.whole = np.full(self.nbytes + 2 * MARGIN, CANARY, np.uint8)

    @property
    def memory(self) -> np.ndarray:
        return self.whole[MARGIN : MARGIN + self.nbytes]


@dataclass(eq=False)
class _Value:
    """A stored value: where it lies, in which steps it is alive, and which of its bytes have been written."""

    node: Node
    region: _Region
    offset: int
    first: int
    end: int
    written: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.written = np.zeros(self.node.type.nbytes, np.bool_)

    def __str__(self) -> str:
        node = self.node
        shape = f"{dtype_name(node.dtype)}{list(node.shape)}"
        return f"slot {shape} of {node.op.name}, at 0x{self.offset:02X} of {self.region.name}"


class DebugFrame(HostFrame):
    """A frame that raises `MemoryFault` when a kernel does not keep to its slots."""

    def __init__(
        self,
        graph: Graph,
        steps: Sequence[Step],
        layout: FrameLayout,
        limit: int,
        strides: Sequence[tuple[int, ...] | None] = (),
    ):
        self.graph, self.steps, self.layout = graph, steps, layout
        self.values_of_call: dict[Node, _Value] = {}
        image = assemble(graph, steps, layout, strides, separate=True)
        super().__init__(hosts_of(graph, steps, layout, strides), image, list(addresses(steps, image.kernels)), limit)
        self.step_of = {action: k for k, action in enumerate(self.actions) if not isinstance(action, HostCall)}

    def _allocate(self, nbytes: int) -> np.ndarray:
        self.frame = _Region("the frame", nbytes)
        return self.frame.memory

    def _maker(self, place: int, kind: ArrayType, strides: tuple[int, ...] | None) -> Callable[[], np.ndarray]:
        return lambda: self._new_result(place, kind, strides)

    def _make_late(self, image: Image) -> None:
        """Results are watched from the beginning of a call."""

    def _new_result(self, place: int, kind: ArrayType, strides: tuple[int, ...] | None) -> np.ndarray:
        node = next(n for n in self.graph.outputs if self.places[n] == place)
        region = self.regions[node] = _Region("a result", kind.nbytes)
        return np.ndarray(kind.shape, kind.dtype, region.memory, strides=strides)

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        self.regions: dict[Node, _Region] = {}
        self.values_of_call = {}
        inputs = list(inputs)
        for node in self.layout.overwritten():
            region = self.regions[node] = _Region("an argument", node.type.nbytes)
            argument = np.ndarray(node.shape, node.dtype, region.memory)
            argument[...] = inputs[self.places[node]]
            inputs[self.places[node]] = argument
        kept = [value for node, value in zip(self.graph.inputs, inputs) if node not in self.regions]
        self.inputs = [(value, value.copy()) for value in kept if isinstance(value, np.ndarray)]
        self.frame.memory[:] = POISONS[0]
        outputs = super().run(inputs, watched)
        guarded = [region.whole for region in self.regions.values()]
        return [o.copy(order="K") if any(np.may_share_memory(o, w) for w in guarded) else o for o in outputs]

    def perform(self, action: Any, objects: list[Any], watched: int) -> None:
        self._find_values()
        if isinstance(action, HostCall):
            super().perform(action, objects, watched)
            for node in action.step.results:
                if (value := self.values_of_call.get(node)) is not None:
                    self._note_written(value, np.ones(node.type.nbytes, np.bool_))
            return
        number = self.step_of[action]
        step = self.steps[number]
        assert not isinstance(step, HostStep)
        touched = accesses(number, step.call) if isinstance(step, KernelStep) else []
        name = _name(number, step)
        self._check_operands(name, touched)
        writes = dict(self._to_be_written(step, touched))
        regions = [self.frame, *self.regions.values()]
        dead = {region: ~self._alive(region, number) for region in regions}
        before = {region: region.whole.copy() for region in regions}
        outcomes = []
        for poison in POISONS:
            for region in regions:
                region.whole[:] = before[region]
                region.memory[dead[region]] = poison
            poisoned = {region: region.memory.copy() for region in regions}
            super().perform(action, objects, watched)
            self._check_changes(name, poisoned, writes)
            outcomes.append([v.region.memory[v.offset :][: mask.size][mask].tobytes() for v, mask in writes.items()])
        for value, one, other in zip(writes, *outcomes):
            if one != other and value.node not in self._scratch(step):
                raise MemoryFault(f"{name} reads memory that was not written: what it stores in {value} depends on it")
        for value, mask in writes.items():
            self._note_written(value, mask)

    def _find_values(self) -> None:
        """The values of this call; results are there only after it began."""
        if self.values_of_call:
            return
        last = len(self.steps) + 1
        values = [_Value(n, self.frame, s.offset, s.first, s.end) for n, s in self.layout.slots.items()]
        values += [_Value(n, region, 0, 0, last) for n, region in self.regions.items()]
        for node, (host, slot) in self.layout.hosted.items():
            values.append(_Value(node, self.regions[host], slot.offset, slot.first, slot.end))
        self.values_of_call = {v.node: v for v in values}
        for node in self.graph.inputs:  # scalars, and arguments that may be overwritten
            if node in self.values_of_call:
                self.values_of_call[node].written[:] = True

    def _is_written(self, node: Node) -> np.ndarray:
        """Which bytes of a value are there, be it as those of an operand that it replaces."""
        value = self.values_of_call[node]
        found = value.written.copy()
        for operand in self.layout.over.get(node, ()):
            replaced = self.values_of_call[operand]
            shift = replaced.offset - value.offset
            start, stop = max(shift, 0), min(shift + replaced.written.size, found.size)
            found[start:stop] |= self._is_written(operand)[start - shift : stop - shift]
        return found

    def _check_operands(self, name: str, touched: Sequence[Access]) -> None:
        written = {a.node for a in touched if a.writes}
        for access in touched:
            value = self.values_of_call.get(access.node)
            if value is None:
                continue
            start, stop = access.byte_range()
            if all(access.extents) and (start < 0 or stop > access.node.type.nbytes):
                raise MemoryFault(f"{name} leaves {value}: bytes {start} to {stop}")
            replaces = access.writes and access.node in self.layout.over
            is_read = access.reads and (replaces or access.node not in written)
            if is_read and not _elements(self._is_written(access.node), access).all():
                raise MemoryFault(f"{name} reads {value} before it is written")

    def _to_be_written(self, step: Step, touched: Sequence[Access]) -> Iterator[tuple[_Value, np.ndarray]]:
        """The values that a step writes, and which of their bytes."""
        masks: dict[Node, np.ndarray] = {}
        for access in touched:
            if access.writes and access.node in self.values_of_call:
                mask = masks.setdefault(access.node, np.zeros(access.node.type.nbytes, np.bool_))
                _elements(mask, access)[...] = True
        if isinstance(step, ControlStep):
            for node in (*step.call.writes(), *self._scratch(step)):
                if node in self.values_of_call:
                    masks[node] = np.ones(node.type.nbytes, np.bool_)
        for node, mask in masks.items():
            yield self.values_of_call[node], mask

    def _scratch(self, step: Step) -> list[Node]:
        """Memory in which a loop works, and whose content means nothing behind it."""
        if not isinstance(step, ControlStep):
            return []
        results = set(step.call.results.values())
        return [*(n for n in step.call.writes() if n not in results), *(b.frame for b in step.blocks)]

    def _alive(self, region: _Region, number: int) -> np.ndarray:
        """Which bytes of a region hold something that is still needed."""
        alive = np.zeros(region.nbytes, np.bool_)
        for value in self.values_of_call.values():
            if value.region is region and value.first <= number < value.end:
                alive[value.offset :][: value.written.size] |= self._is_written(value.node)
        return alive

    def _check_changes(self, name: str, before: dict[_Region, np.ndarray], writes: dict[_Value, np.ndarray]) -> None:
        for region, memory in before.items():
            if (region.whole[:MARGIN] != CANARY).any() or (region.whole[MARGIN + region.nbytes :] != CANARY).any():
                raise MemoryFault(f"{name} writes outside of {region.name}")
            changed = region.memory != memory
            for value, mask in writes.items():
                if value.region is region:
                    changed[value.offset :][: mask.size] &= ~mask
            if changed.any():
                raise MemoryFault(f"{name} writes to {self._owner(region, int(np.argmax(changed)))}")
        for array, copy in self.inputs:
            if array.tobytes() != copy.tobytes():
                raise MemoryFault(f"{name} writes to an argument of the function")

    def _owner(self, region: _Region, byte: int) -> str:
        for value in self.values_of_call.values():
            if value.region is region and 0 <= byte - value.offset < value.written.size and value.written.any():
                return str(value)
        return f"unused memory at 0x{byte:02X} of {region.name}"

    def _note_written(self, value: _Value, mask: np.ndarray) -> None:
        """`value` has new bytes, and what else lay there is gone."""
        value.written |= mask
        for other in self.values_of_call.values():
            if other is not value and other.region is value.region:
                shift = value.offset - other.offset
                start, stop = max(shift, 0), min(shift + mask.size, other.written.size)
                if start < stop:
                    other.written[start:stop] &= ~mask[start - shift : stop - shift]


def _elements(mask: np.ndarray, access: Access) -> np.ndarray:
    """The bytes of `mask`, which are those of a value, that an access touches."""
    if access.anywhere:
        return mask
    shape, strides = access.touched_axes()
    if not all(shape):
        return mask[:0]
    return as_strided(mask[access.layout.offset :], (*shape, access.dtype.itemsize), (*strides, 1))


def _name(number: int, step: Step) -> str:
    if isinstance(step, KernelStep):
        return f"step {number}, kernel {step.kernel.name}"
    if isinstance(step, CheckStep):
        return f"step {number}, a check of indices"
    assert isinstance(step, ControlStep)
    return f"step {number}, a {'choice' if len(step.blocks) > 1 else 'loop'}"
