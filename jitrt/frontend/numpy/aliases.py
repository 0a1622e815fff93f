"""Arrays that calls which NumPy makes give in the memory of an argument: `numpy.lib.stride_tricks.as_strided`.

What is written to one of the two is seen through the other, and no node says so: where the function writes to either,
or gives both away, it has to run plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Untraceable
from ...ir.aliasing import may_alias
from ...ir.node import Node
from ...ir.ops.contractions import Call
from ...ir.ops.updates import Region
from ...values.kinds import flatten
from ..python.userline import user_line
from ..storage import Cell
from .operators import is_tracer

if TYPE_CHECKING:
    from .tracer import Tracer


class Aliases:
    """Memory in which arrays lie that no node says to share it."""

    def __init__(self) -> None:
        self._lent: dict[Cell, Node] = {}
        self._pairs: list[tuple[Cell, Cell, bool]] = []
        self._handed_out: list[np.ndarray] = []
        self._broadcast: set[tuple[Cell, Region]] = set()
        self._refused: set[Cell] = set()

    def refuse(self, array: Tracer) -> None:
        """Note that NumPy refuses to write into `array`; with which words depends on whether that is read-only."""
        self._refused.add(array._storage())

    def lend(self, array: Tracer) -> None:
        """Note that others go on using the memory of `array`."""
        cell = array._storage()
        self._lent.setdefault(cell, cell.content)

    def note(self, call: Call, arguments: Any, results: Any, value: Callable[[Tracer], Any]) -> None:
        """Note which of the `results` of a call lie in the memory of its `arguments`.

        Parameters
        ----------
        call : Call
        arguments, results
            Tracers, and nested tuples, lists and dicts of them.
        value : callable
            The value of a tracer in this call of the function; None if it is not there.
        """
        if not may_alias(call):
            return
        given = [(t, value(t)) for t in arrays_of(arguments)]
        for result in arrays_of(results):
            made = value(result)
            for operand, seen in given:
                if isinstance(made, np.ndarray) and isinstance(seen, np.ndarray) and np.may_share_memory(made, seen):
                    self.pair(result, operand, copied=False)

    def pair(self, result: Tracer, operand: Tracer, copied: bool) -> None:
        """Note that NumPy's `result` lies in the memory of `operand`; `copied` says that ours does not."""
        self.lend(result)
        self.lend(operand)
        self._pairs.append((result._storage(), operand._storage(), copied))

    def hand_out(self, array: np.ndarray) -> None:
        """Note that functions which know no tracers got `array`; they must not write into the copy that it is."""
        array.flags.writeable = False
        self._handed_out.append(array)

    def note_broadcast(self, results: Any) -> None:
        """Note what `np.broadcast_arrays` gave: arrays that may be written, but NumPy warns of it."""
        self._broadcast.update((t._storage(), t._region()) for t in arrays_of(results) if t._node.op.read_only)

    def check_error(self, error: BaseException) -> None:
        """Raise `Untraceable` if `error` is that of writing into what was handed out."""
        if self._handed_out and isinstance(error, ValueError) and "read-only" in str(error):
            raise Untraceable("writes into an array that is made of a value") from error

    def check_write(self, cell: Cell) -> None:
        """Raise `Untraceable` if others would see what is written."""
        if cell in self._lent:
            raise Untraceable("writes into an array whose memory others use, too", user_line())

    def check(self, returned: list[Any], given: dict[Cell | None, Node]) -> None:
        """Raise `Untraceable` if memory was changed that others see, or results were to share it.

        Parameters
        ----------
        returned : list
            What the function gives back, or stores.
        given : dict of Cell to Node
            The memory of the arguments, and what it held.
        """
        if any(cell.content is given.get(cell) for cell in self._refused):  # which is never written: nobody asks
            raise Untraceable("catches what NumPy raises where it refuses to write into an argument")
        for cell, content in self._lent.items():
            if cell.content is not content:
                raise Untraceable("writes into an array whose memory others use, too")
        arrays = [a for a in returned if isinstance(a, np.ndarray) and not is_tracer(a)]  # as which tracers pass
        for array in arrays if self._handed_out else ():
            if any(np.may_share_memory(array, a) for a in self._handed_out):
                raise Untraceable("returns an array that is made of a value")
        for symbol in returned if self._broadcast else ():
            if is_tracer(symbol) and any((symbol._cell, r) in self._broadcast for r in _seen_through(symbol)):
                raise Untraceable("returns what np.broadcast_arrays gave, of which NumPy warns when it is written")
        if self._pairs:
            cells = {t._cell for t in returned if is_tracer(t)}
            for result, operand, copied in self._pairs:
                changed = operand in given and operand.content is not given[operand]
                seen = copied if operand in given else operand in cells
                if result in cells and (changed or seen):
                    raise Untraceable("returns an array in memory that it shares with another one")


def _seen_through(array: Tracer) -> Iterator[Region]:
    """Of what an array is a view, and what that is a view of, and so on: where in the memory it is."""
    region = array._region()
    return (region[:k] for k in range(1, len(region) + 1))


def arrays_of(value: Any) -> Iterator[Tracer]:
    """The arrays that are traced in nested tuples, lists and dicts."""
    leaves: list[Any] = []
    flatten(value, leaves)
    return (leaf for leaf in leaves if is_tracer(leaf) and leaf._is_array())
