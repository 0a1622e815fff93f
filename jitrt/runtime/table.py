"""Tables for the native driver: rows for kernels, loops and choices, and the words that they read, without addresses.

A loop is unrolled by the repeat length of its rotation, so that every pointer is known beforehand, except those that
advance with the iterations:

    set counter = 0
    copy first values that do not stay where they lie
    head:  count → exit 0;  unless condition → exit 0;  move advancing pointers;  kernels of an iteration;  add steps
           count → exit 1;  …
           jump head
    exit 0:  copy what does not lie where it is wanted;  jump end
    …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen, record, replaced
from ..codegen.parameters import parameter_words
from ..ir.extents import is_extent
from ..ir.node import Node
from ..kernels import driver as native
from ..schedule.control import BranchCall, LoopCall
from ..schedule.layout import Layout
from ..schedule.nest import KernelCall
from .image import FIRST_KERNEL, Table
from .steps import BlockSteps, CheckStep, ControlStep, HostStep, KernelStep, Step, total_work, touched_bytes

# Less stays on one thread: on a machine with other work to do, waiting for a worker that has been interrupted costs
# more than its help saves. A thread makes 16e9 additions of float64 in a second, and moves 43e9 bytes that are not in
# its caches, so that both take some 30 microseconds and more.
_PARALLEL_ADDITIONS, _PARALLEL_BYTES = 480_000, 1 << 21
# After so many additions, some 50 ms, native code lets signal handlers run: Ctrl-C must be seen.
WORK_BETWEEN_SIGNALS = 500_000_000
_ROW_WORK = 200  # additions that walking a row amounts to


@frozen
class Place:
    """Where memory begins: `offset` bytes behind one of the following.

    Parameters
    ----------
    offset : int
    region : int, optional
        Number of memory that stays where it is: 0 for the frame, 1 and on for constants.
    item : int, optional
        Number of an array in the tuple that the driver gets.
    word : int, optional
        Position of a word among the parameters that has the address.
    """

    offset: int
    region: int | None = None
    item: int | None = None
    word: int | None = None

    def shifted(self, offset: int) -> Place:
        return replaced(self, offset=self.offset + offset)


Find = Callable[[Node], Place]


@record
class _Row:
    """A row of the driver as in `image.Table`."""

    kernel: int
    word: int
    value: int = 0
    jump: int = 0
    by_word: bool = False


def build_table(steps: Sequence[Step], find: Find, numbers: dict[str, int]) -> Table:
    """The table that makes the driver execute `steps`.

    Parameters
    ----------
    steps : sequence of Step
        None of them one that NumPy executes.
    find : callable
        Where the memory of a node is.
    numbers : dict of str to int
        Numbers of kernels by their symbols; new ones are added.
    """
    table = _Table(numbers)
    rows = [(r.by_word, r.kernel, r.word, r.value, r.jump) for r in table.rows(steps, find)]
    return Table(
        numbers_of(table.params),
        numbers_of(table.relocations, 2),
        numbers_of([(word, place.item, place.offset) for word, place in table.patches], 3),
        numbers_of(rows, 5),
    )


def numbers_of(values: Sequence[Any], width: int = 0) -> np.ndarray:
    """Integers as an array, of rows if `width` is given; one of objects where some of them depend on variables."""
    flat = [number for row in values for number in row] if width else values
    depends = any(map(is_extent, flat))
    made = np.empty(len(flat), object) if depends else np.array(flat, np.int64)
    for k, number in enumerate(flat if depends else ()):
        made[k] = number
    return made.reshape(-1, width) if width else made


class _Table:
    """Parameters, and which are written when a frame is made (`relocations`), a call begins or an iteration."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers
        self.params: list[int] = []
        self.relocations: list[tuple[int, int]] = []
        self.patches: list[tuple[int, Place]] = []
        self.moves: dict[int, list[tuple[int, int]]] = {}

    def rows(self, steps: Sequence[Step], find: Find) -> list[_Row]:
        rows: list[_Row] = []
        for step in steps:
            assert not isinstance(step, HostStep)
            if isinstance(step, KernelStep):
                number = self.numbers.setdefault(step.kernel.name, len(self.numbers))
                shared = step.call.work // _PARALLEL_ADDITIONS + touched_bytes(step.call) // _PARALLEL_BYTES
                shared = -shared if step.call.adds_to_rows else shared
                rows.append(_Row(FIRST_KERNEL + number, len(self.params), step.call.span, shared))
                self._add_parameters(step.call, find)
            elif isinstance(step, CheckStep):
                rows.append(_Row(native.CHECK, len(self.params), step.call.extent))
                for layout in (step.call.low, step.call.high):
                    self._pointer(_place(layout, find))
            elif isinstance(step.call, LoopCall):
                rows += self._loop(step, step.call, find)
            else:
                rows += self._branch(step, step.call, find)
        return rows

    def _add_parameters(self, call: KernelCall, find: Find) -> None:
        for kind, k, detail in parameter_words(call.nest):
            if kind == "extent":
                self._word(call.extents[k])
            elif kind == "block":
                self._word(call.blocks[k])
            elif kind == "bytes":
                self._word(call.local_bytes[k])
            elif kind == "offset":
                self._word(call.layouts[k].offset)
            elif kind == "stride":
                self._word(call.layouts[k].strides[detail])
            elif kind == "literal":
                data = np.asarray(call.literals[k], call.nest.literals[k]).tobytes()
                self._word(int.from_bytes(data[8 * detail : 8 * detail + 8], "little", signed=len(data) >= 8))
            else:
                self._pointer(_place(call.layouts[k], find))

    def _word(self, value: int) -> int:
        self.params.append(value)
        return len(self.params) - 1

    def _pointer(self, place: Place) -> int:
        """A word that holds the address of a place."""
        if place.item is not None:
            self.patches.append((len(self.params), place))
        elif place.word is not None:
            self.moves.setdefault(place.word, []).append((len(self.params), place.offset))
        else:
            assert place.region is not None
            self.relocations.append((len(self.params), place.region))
            return self._word(place.offset)
        return self._word(0)

    def _copy(self, source: Place, into: Place, nbytes: int) -> _Row:
        word = self._pointer(into)
        self._pointer(source)
        return _Row(native.COPY, word, nbytes)

    def _branch(self, step: ControlStep, call: BranchCall, find: Find) -> list[_Row]:
        choices = []
        for block, body in zip(call.choices, step.blocks):
            known = {n: _place(layout, find) for n, layout in zip(block.graph.inputs, call.first)}
            known |= {n: find(call.results[k]) for k, n in enumerate(block.graph.outputs)}
            choices.append(self.rows(body.steps, _inner(known, body, find)))
        then, otherwise = choices
        condition = self._pointer(_place(call.condition, find))
        return [
            _Row(native.UNLESS, condition, jump=len(then) + 2),
            *then,
            _Row(native.JUMP, 0, jump=len(otherwise) + 1),
            *otherwise,
        ]

    def _loop(self, step: ControlStep, call: LoopCall, find: Find) -> list[_Row]:
        what, rows = call.what, []
        counter = self._word(0)
        if what.count is not None:
            rows.append(_Row(native.SET, counter))
        advancing: dict[Node, tuple[int, int]] = {}  # elements: the word that points to it, and its step
        for node, origin, stride in _elements(call, find):
            home = self._pointer(origin)
            word = self._word(0)
            advancing[node] = word, stride
            rows.append(_Row(native.MOVE, word, home, by_word=True))
        for role in range(what.carried):
            if role not in call.read_in_place:
                into, nbytes = find(call.buffers[role]), what.body.inputs[role].type.nbytes
                rows.append(self._copy(_place(call.first[role], find), into, nbytes))
        length = call.rotation.length
        iterations = range(length + 1) if call.read_in_place else range(length)
        phases = [self._iteration(step.blocks[0], call, i, advancing, counter, find) for i in iterations]
        exits = [self._exit(call, i, find) for i in iterations]
        turns = max(1, WORK_BETWEEN_SIGNALS // (1 + total_work(step.blocks[0].steps) + _ROW_WORK * len(phases[-1][1])))
        back = _Row(native.TURN, self._word(0), turns)
        return rows + _joined(phases, exits, back, head=1 if call.read_in_place else 0)

    def _iteration(
        self, body: BlockSteps, call: LoopCall, i: int, advancing: dict[Node, tuple[int, int]], counter: int, find: Find
    ) -> tuple[list[_Row], list[_Row]]:
        """Rows that ask whether iteration `i` takes place, and those that execute it."""
        what, inputs = call.what, call.what.body.inputs
        before, after = call.rotation.buffers(i), call.rotation.buffers(i + 1)
        known = {n: Place(0, word=word) for n, (word, _) in advancing.items()}
        for k, layout in enumerate(call.first):
            if k >= what.carried + what.sliced or (i == 0 and k in call.read_in_place):
                known[inputs[k]] = _place(layout, find)
            elif k < what.carried:
                known[inputs[k]] = find(call.buffers[before[k]])
        for k, node in enumerate(call.outputs[: what.carried]):
            if node not in inputs:
                known[node] = find(call.buffers[after[k]])
        ask = []
        if what.count is not None:
            ask.append(_Row(native.COUNT, counter, what.count))
        if what.guarded:
            ask.append(_Row(native.UNLESS, self._pointer(find(call.buffers[before[0]]))))
        rows = self.rows(body.steps, _inner(known, body, find))
        moves = [
            _Row(native.MOVE, target, word, offset, by_word=True)
            for word, _ in advancing.values()
            for target, offset in self.moves.pop(word, ())
        ]
        steps = [_Row(native.ADD, word, stride) for word, stride in advancing.values()]
        return ask, [*moves, *rows, *steps]

    def _exit(self, call: LoopCall, i: int, find: Find) -> list[_Row]:
        """Rows that bring results to where they are wanted when the loop ends before iteration `i`."""
        rows = []
        for source, into in call.moved_at_exit(i, entered=i > 0):
            place = find(source) if isinstance(source, Node) else _place(source, find)
            rows.append(self._copy(place, find(into), into.type.nbytes))
        return rows


def _joined(phases: list[tuple[list[_Row], list[_Row]]], exits: list[list[_Row]], turn: _Row, head: int) -> list[_Row]:
    """Rows of a loop that goes through its phases, again and again from phase `head` on, where `turn` jumps to."""
    lengths = [len(ask) + len(rows) for ask, rows in phases]
    starts = [sum(lengths[:k]) for k in range(len(phases) + 1)]
    back = starts[-1]
    exit_starts = [back + 1 + sum(len(e) + 1 for e in exits[:k]) for k in range(len(exits) + 1)]
    joined: list[_Row] = []
    for k, (ask, rows) in enumerate(phases):
        for row in ask:
            row.jump = exit_starts[k] - len(joined)
            joined.append(row)
        joined += rows
    turn.jump = starts[head] - back
    joined.append(turn)
    for rows in exits:
        joined += rows
        joined.append(_Row(native.JUMP, 0, jump=exit_starts[-1] - len(joined)))
    return joined


def _elements(call: LoopCall, find: Find) -> list[tuple[Node, Place, int]]:
    """What a body reads or writes by elements: its node, where the first one is, and the distance to the next."""
    what = call.what
    found = []
    for k in range(what.carried, what.carried + what.sliced):
        found.append((what.body.inputs[k], _place(call.first[k], find), call.steps[k - what.carried]))
    for k in range(what.carried, what.carried + what.stacked):
        found.append((call.outputs[k], find(call.results[k]), call.outputs[k].type.nbytes))
    return found


def _place(layout: Layout, find: Find) -> Place:
    return find(layout.base).shifted(layout.offset)


def _inner(known: dict[Node, Place], body: BlockSteps, find: Find) -> Find:
    """Where the memory of the nodes of a body is."""
    frame = find(body.frame)

    def inner(node: Node) -> Place:
        if node in known:
            return known[node]
        if node in body.layout.slots:
            return frame.shifted(body.layout.slots[node].offset)
        assert node.op.name == "constant", node
        return find(node)

    return inner
