"""Lists of run time: those that staged functions make, their rows, and those that are arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NoReturn

from ...ir.integers import Poly
from . import references
from .arrays import ZERO
from .columns import Column, columns_of
from .kinds import Kind, Number, Rows, is_covered
from .listkinds import joined, kind_of_element
from .recorder import Recorder
from .values import INT, Array, Composite, ListChanges, NotStaged, Referenced, RunTime


class GrownList(RunTime):
    """A list of run time.

    Parameters
    ----------
    r : Recorder
    place : hashable
        Where in the program it is made.

    Attributes
    ----------
    kind : Kind
        Of its elements; None as long as it is empty.
    depth : int
        Of the loops around.
    is_shared : bool
        Whether its elements share memory with other arrays, so that it is only a list of their values.
    """

    stands_for = list

    def __init__(self, r: Recorder, place: Hashable):
        self.place, self.depth, self.made_at = place, r.depth, frozenset({place})
        self.count, self.room = r.variable(), r.variable()
        self.kind: Kind | None = None
        self.columns: list[Column] = []
        self.is_shared = False
        r.grown.append(self)
        r.put(self.count, r.integer(ZERO), INT)
        r.put(self.room, r.integer(ZERO), INT)
        if (kind := r.lists.get(place)) is not None:
            self._settle(r, kind)

    def state(self) -> tuple[Any, ...]:
        """What is known of it, for `restore`."""
        return self.kind, list(self.columns), self.is_shared

    def restore(self, state: tuple[Any, ...]) -> None:
        """Forget what has become known since."""
        self.kind, self.columns, self.is_shared = state

    def is_changing(self, r: Recorder) -> bool:
        """Whether its elements are objects that change."""
        return (self.place, "elements") in r.changing

    def need_changes(self, r: Recorder) -> NoReturn:
        """Begin again with elements that are objects and no copies."""
        r.changing.add((self.place, "elements"))
        raise ListChanges("an object in a list that changes")

    def numbers(self) -> tuple[Number, Hashable]:
        if not isinstance(self.kind, Number):
            references.need("a list of objects in a list", self)
        return self.kind, self.place

    def _settle(self, r: Recorder, kind: Kind) -> None:
        self.kind = kind
        self.columns = columns_of(r, kind, ("list", self.place))

    def suppose(self, r: Recorder) -> None:
        """Take it, if it is empty so far, for a list of integers, until it is known what is appended."""
        if self.kind is None and self.place not in r.guesses:
            r.guesses[self.place] = True
            r.lists[self.place] = Number(INT, True)
            self._settle(r, r.lists[self.place])

    def guess(self, r: Recorder) -> NoReturn:
        """Begin again, as if it were a list of integers, until it is known what is appended."""
        if self.place in r.guesses:
            raise NotStaged("an element of a list that is empty")
        self.suppose(r)
        raise ListChanges("an element of a list that is empty so far")

    def accept(self, r: Recorder, value: Any) -> None:
        """Make sure that it can hold a value of this kind."""
        if isinstance(value, Composite) and value.of is not None:
            if self.is_changing(r) or value.is_element:
                raise NotStaged("an object in several lists")
            self.is_shared = True
        kind = kind_of_element(value)
        if self.kind is None:
            self._settle(r, kind)
        elif not is_covered(kind, self.kind):
            r.lists[self.place] = kind if r.guesses.get(self.place) else joined(self.kind, kind)
            if self.place in r.guesses:
                r.guesses[self.place] = False
            raise ListChanges("a list of values of different kinds")


class Appended(GrownList):
    """A list that is an argument, or a part of one: what is appended to it. It is not read.

    Parameters
    ----------
    r : Recorder
    number : int
        Of the argument.

    Attributes
    ----------
    where : pair
        The path to what holds it, and its name there.
    """

    where: tuple[tuple[Any, ...], Any]

    def __init__(self, r: Recorder, number: int):
        super().__init__(r, ("given", number))
        self.number, self.made_at = number, frozenset()

    def numbers(self) -> tuple[Number, Hashable]:
        raise NotStaged("a list that is an argument, in another one")


class RowOf(RunTime):
    """A list of numbers that is an element of a list, or the argument of that number."""

    stands_for = list

    def __init__(
        self,
        r: Recorder,
        values: GrownList | None,
        at: Poly,
        kind: Number,
        columns: list[Column],
        argument: int | None = None,
    ):
        self.values, self.at, self.kind, self.columns, self.depth = values, at, kind, columns, r.depth
        self.argument = argument
        if values is not None and isinstance(values.kind, Rows):
            self.made_at = frozenset({values.kind.place})

    def names(self) -> Iterator[str]:
        return self.at.names()

    def numbers(self) -> tuple[Number, Hashable]:
        references.need("a list in several lists", self)


class Given(RunTime):
    """A list of tuples of numbers, or of arrays, which is an argument: the caller has made an array of it.

    Parameters
    ----------
    kind : Kind
        Of its elements.
    element : callable
        Gives the element at an index.
    array : callable
        Gives what NumPy makes of the list.
    count : Poly
    argument : int
    """

    stands_for = list

    def __init__(
        self, kind: Kind, element: Callable[[Poly], Any], array: Callable[[], Array], count: Poly, argument: int
    ):
        self.kind, self.element, self.array, self.count, self.argument = kind, element, array, count, argument


RunTimeList = GrownList | RowOf | Given | Referenced
