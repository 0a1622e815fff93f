"""What a traced function has done, in order: one log, which only grows.

A position in the log tells what was done before from what was done afterwards: states of a loop are compared by what
stands between theirs, a segment computes what stands before its end. Operations that a loop node or a segment computes
stay in the log, and are marked as taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from .. import config
from ..errors import Untraceable
from ..ir.control import used_results
from ..ir.node import Node, topological_order
from ..ir.ops.raising import EMPTY, can_raise, force, is_of_raising_control
from ..ir.worthwhile import is_worth_recording
from .context import offer_loops, wants_unrolled
from .python.userline import user_line
from .storage import Cell

_MOST_EFFECTS = 20_000  # a compile of as many takes seconds
_UNROLLED = 256  # effects of loops from which on they may be better as a procedure
_CHECKED = 2048  # effects after which it is asked again whether to go on


class Operation(NamedTuple):
    """An operation that the function has asked for; nodes that the trace makes for itself are none."""

    node: Node


class Step(NamedTuple):
    """A call that NumPy executes."""

    node: Node


class Write(NamedTuple):
    """An assignment to memory, which held `before`."""

    cell: Cell
    before: Node


class Guarded(NamedTuple):
    """A look at the value of `node`."""

    node: Node


class Copy(NamedTuple):
    """A copy, with a number that no other one in the trace has."""

    number: int


class Phase(NamedTuple):
    """Another error state begins, or random numbers are drawn: no iteration of a loop node does that."""


Effect = Operation | Step | Write | Guarded | Copy | Phase
E = TypeVar("E", bound=Effect)


class Effects:
    """The log of one trace."""

    def __init__(self) -> None:
        self._log: list[Effect] = []
        self._taken: set[int] = set()
        self._first = 0  # all operations before it are taken
        self._copies = 0

    @property
    def position(self) -> int:
        """How much stands in the log."""
        return len(self._log)

    def operation(self, node: Node) -> None:
        """Note an operation.

        Raises
        ------
        Untraceable
            If there are so many that compiling them could not pay.
        LoopsWanted
            If they are taken to be of loops that are unrolled, and a procedure may serve the call.
        """
        count = len(self._log)
        if count >= _MOST_EFFECTS:
            raise Untraceable(f"its loops are unrolled to more than {_MOST_EFFECTS} operations", user_line())
        if count == _UNROLLED or (count and count % _CHECKED == 0):
            self._check_pays(0, 1.0, seen=False)
        self._log.append(Operation(node))

    def check_rest(self, start: int, times: float) -> None:
        """Ask whether to go on with a loop, of which all behind a position is what the first iterations have recorded.

        Parameters
        ----------
        start : int
        times : float
            How many times as many iterations there will be.

        Raises
        ------
        Untraceable
            If compiling them could not pay.
        LoopsWanted
            As for `operation`.
        """
        if times * (self.position - start) >= _UNROLLED:
            self._check_pays(start, times, seen=True)

    def _check_pays(self, start: int, times: float, seen: bool) -> None:
        is_offered = wants_unrolled(seen)
        if config.strict() and not is_offered:
            return
        operations = self.operations(start) + [step.node for step in self.between(Step, start)]
        writes = [k for k, _ in self._found(Write, start, None)]  # of which each is an operation of the graph
        if is_offered and not is_worth_recording(operations, len(writes), times, few=0):
            offer_loops(user_line(), seen)
        if not (config.strict() or is_worth_recording(operations, len(writes), times)):
            raise Untraceable("its loops are unrolled to too many operations on small arrays", user_line())

    def step(self, node: Node) -> None:
        """Note a call that NumPy executes."""
        self._log.append(Step(node))

    def write(self, cell: Cell) -> None:
        """Note that memory is about to be assigned to."""
        self._log.append(Write(cell, cell.content))

    def guard(self, node: Node) -> None:
        """Note a look at a value."""
        self._log.append(Guarded(node))

    def copy(self) -> int:
        """Note a copy; its number."""
        self._copies += 1
        self._log.append(Copy(-self._copies))
        return -self._copies

    def phase(self) -> None:
        """Note that another phase begins."""
        self._log.append(Phase())

    def between(self, kind: type[E], start: int, stop: int | None = None, but: Collection[int] = ()) -> list[E]:
        """The effects of one kind between two positions, without those that are taken, and those at `but`."""
        return [effect for k, effect in self._found(kind, start, stop) if k not in but]

    def operations(self, start: int = 0, stop: int | None = None) -> list[Node]:
        """The nodes of the operations between two positions, without those that are taken."""
        return [effect.node for _, effect in self._found(Operation, max(start, self._first), stop)]

    def take(self, start: int, kept: Collection[Node] = ()) -> None:
        """Mark the operations behind a position, but for `kept`, as computed by a segment or a loop."""
        found = list(self._found(Operation, max(start, self._first), None))
        taken = [k for k, effect in found if effect.node not in kept]
        if start <= self._first and len(taken) == len(found):
            self._first = self.position
        else:
            self._taken.update(taken)

    def take_back(self, position: int) -> None:
        """Forget what stands behind a position, and is used by nothing."""
        del self._log[position:]
        self._first = min(self._first, position)
        self._taken = {k for k in self._taken if k < position}

    def settle(self, positions: Iterable[int]) -> None:
        """Mark value guards whose truth the trace does not depend on any more."""
        self._taken.update(positions)

    def forced(self, read: Sequence[Node], known: Collection[Node]) -> list[Node]:
        """What lets those operations be computed that may raise, as `forced_of` says."""
        return forced_of(self.operations()[::-1], read, known)

    def _found(self, kind: type[E], start: int, stop: int | None) -> Iterator[tuple[int, E]]:
        for k in range(start, len(self._log) if stop is None else stop):
            effect = self._log[k]
            if isinstance(effect, kind) and k not in self._taken:
                yield k, effect


def forced_of(nodes: Iterable[Node], read: Sequence[Node], known: Collection[Node]) -> list[Node]:
    """Outputs for those nodes that may raise, and that `read`, for which `known` is there, does not need."""
    done = {*known, *topological_order(read, known, EMPTY)}
    used: dict[Node, set[int]] | None = None
    new: list[Node] = []  # of `done`, and not yet looked at for `used`
    found: list[Node] = []
    for node in nodes:
        if node in done or node in EMPTY:
            continue
        if used is None:
            used = used_results(done)
        order = topological_order((node,), done, EMPTY)
        done.update(order)
        new += order
        if any(can_raise(n) or is_of_raising_control(n, used) for n in order):
            found.append(force(node))
            for control, numbers in used_results(new).items():
                used.setdefault(control, set()).update(numbers)
            new.clear()
    return found
