"""Python integers among the arguments: part of a trace at first, inputs of the program once they have varied.

An integer may be an axis, an extent or a number of iterations, and then every value is another trace. It may also be a
multiplier or the number of a time step, and then all values should share one. Which of these it is shows in a trace: an
argument that has had a few values is traced as a symbol, and where the function needs the integer itself
`IntegerWanted` ends the trace; that argument is part of the trace again, for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ControlException
from ..values.kinds import Tree
from .python.captures import Place

_FEW_VALUES = 3  # that an integer has before it is traced as a symbol
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
        self._values: dict[tuple[Tree, int], set[int]] = {}
        self._symbols: dict[Tree, frozenset[int]] = {}
        self._fixed: set[tuple[Tree, int]] = set()

    def symbols(self, structure: Tree, leaves: Sequence[Any]) -> frozenset[int]:
        """Numbers of the integers among `leaves` that are symbols."""
        found = self._symbols.get(structure)
        if not found:
            return frozenset()
        return frozenset(k for k in found if type(leaves[k]) is int)

    def note(self, structure: Tree, leaves: Sequence[Any]) -> frozenset[int]:
        """The same, after what is known has been brought up to date by a call that is not like any before."""
        for k, leaf in enumerate(leaves):
            place = (structure, k)
            if type(leaf) is not int or place in self._fixed or k in self._symbols.get(structure, ()):
                continue
            if len(self._symbols) >= _MOST_STRUCTURES:
                self._values.clear()
                self._symbols.clear()
            values = self._values.setdefault(place, set())
            values.add(leaf)
            if len(values) > _FEW_VALUES:
                del self._values[place]
                self._symbols[structure] = self._symbols.get(structure, frozenset()) | {k}
        return self.symbols(structure, leaves)

    def fix(self, structure: Tree, leaves: Iterable[int]) -> None:
        """Let these integers be part of every trace."""
        if len(self._fixed) > _MOST_STRUCTURES:
            self._fixed.clear()
        self._fixed.update((structure, k) for k in leaves)
        self._symbols[structure] = self._symbols.get(structure, frozenset()).difference(leaves)

    def wanted(self, structure: Tree) -> frozenset[int]:
        """Numbers of the integers that vary, and of which programs need the values."""
        return frozenset(k for known, k in self._fixed if known == structure)


class VaryingNumbers:
    """Which numbers among those that one function reads from outside are symbols."""

    def __init__(self) -> None:
        self._changes: dict[Place, int] = {}
        self._fixed: set[Place] = set()

    @property
    def varying(self) -> frozenset[Place]:
        """Places of numbers that have been found changed a few times."""
        return frozenset(p for p, n in self._changes.items() if n >= _FEW_VALUES and p not in self._fixed)

    def note(self, changed: Iterable[Place]) -> None:
        """Numbers at these places are others than in the calls before."""
        if len(self._changes) > _MOST_STRUCTURES:
            self._changes.clear()
        for place in changed:
            self._changes[place] = self._changes.get(place, 0) + 1

    def fix(self, places: Iterable[Place]) -> None:
        """Let these numbers be part of every trace."""
        self._fixed.update(places)
