"""Python integers among the arguments: part of a trace at first, inputs of the program once they have varied.

An integer may be an axis, an extent or a number of iterations, and then every value is another trace. It may also be a
multiplier or the number of a time step, and then all values should share one. Which of these it is shows in a trace: an
argument that has had a few values is traced as a symbol, and where the function needs the integer itself
`IntegerWanted` ends the trace; that argument is part of the trace again, for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from .. import policy
from ..base.frozen import record
from ..errors import ControlException
from ..values.kinds import Tree
from .python.captures import Place

_MOST_STRUCTURES = 64  # of arguments, whose integers are remembered
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1  # of what kernels compute with


class IntegerWanted(ControlException):
    """A function needs the value of an integer that is traced as a symbol; it has to be traced with the value.

    Parameters
    ----------
    leaves : frozenset of int
        Numbers of the leaves of the arguments that are wanted.
    """

    def __init__(self, leaves: Iterable[int]):
        super().__init__("the value of an integer is wanted")
        self.leaves = frozenset(leaves)


@record
class _Integers:
    """Of calls of one structure, by the numbers of leaves: the values there were, the symbols, and what is none."""

    values: dict[int, set[int]] = field(default_factory=dict)
    symbols: set[int] = field(default_factory=set)
    fixed: set[int] = field(default_factory=set)


class VaryingIntegers:
    """Which integers among the arguments of one function are symbols.

    Examples
    --------
    >>> integers = VaryingIntegers()
    >>> [sorted(integers.note(None, [k, 7])) for k in range(5)]
    [[], [], [], [0], [0]]
    >>> integers.fix(None, [0])
    >>> sorted(integers.note(None, [9, 7]))
    []
    """

    def __init__(self) -> None:
        self._known: dict[Tree, _Integers] = {}

    def symbols(self, structure: Tree, leaves: Sequence[Any]) -> frozenset[int]:
        """Numbers of the integers among `leaves` that are symbols."""
        known = self._known.get(structure)
        if known is None or not known.symbols:
            return frozenset()
        return frozenset(k for k in known.symbols if type(leaves[k]) is int)

    def note(self, structure: Tree, leaves: Sequence[Any]) -> frozenset[int]:
        """The same, after what is known has been brought up to date by a call that is not like any before."""
        known = self._of(structure)
        for k, leaf in enumerate(leaves):
            if type(leaf) is not int or k in known.fixed or k in known.symbols:
                continue
            values = known.values.setdefault(k, set())
            values.add(leaf)
            if len(values) > policy.FEW_VALUES:
                del known.values[k]
                known.symbols.add(k)
        return self.symbols(structure, leaves)

    def fix(self, structure: Tree, leaves: Iterable[int]) -> None:
        """Let these integers be part of every trace."""
        known = self._of(structure)
        known.fixed.update(leaves)
        known.symbols -= known.fixed

    def wanted(self, structure: Tree) -> frozenset[int]:
        """Numbers of the integers that vary, and of which programs need the values."""
        known = self._known.get(structure)
        return frozenset() if known is None else frozenset(known.fixed)

    def _of(self, structure: Tree) -> _Integers:
        """What is known of calls of that structure, which is hashed once: it may have thousands of parts."""
        found = self._known.get(structure)
        if found is None:
            if len(self._known) >= _MOST_STRUCTURES:
                self._known.pop(next(iter(self._known)), None)
            found = self._known[structure] = _Integers()
        return found


class VaryingNumbers:
    """Which numbers among those that one function reads from outside are symbols."""

    def __init__(self) -> None:
        self._changes: dict[Place, int] = {}
        self._fixed: set[Place] = set()

    @property
    def varying(self) -> frozenset[Place]:
        """Places of numbers that have been found changed a few times."""
        return frozenset(p for p, n in self._changes.items() if n >= policy.FEW_VALUES and p not in self._fixed)

    def note(self, changed: Iterable[Place]) -> None:
        """Numbers at these places are others than in the calls before."""
        if len(self._changes) > _MOST_STRUCTURES:
            self._changes.clear()
        for place in changed:
            self._changes[place] = self._changes.get(place, 0) + 1

    def fix(self, places: Iterable[Place]) -> None:
        """Let these numbers be part of every trace."""
        self._fixed.update(places)
