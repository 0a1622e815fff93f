"""What variables of a staged function hold: numbers and arrays that are known only when it runs."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np

from ...base.dtypes import is_twin
from ...base.frozen import frozen
from ...ir.integers import Poly

BOOL, INT, UNSIGNED, FLOAT = (np.dtype(t) for t in (bool, np.int64, np.uint64, np.float64))


class NotStaged(Exception):
    """The function does something that staged code cannot do, or might do otherwise than Python.

    `is_lasting` says that this follows from its text, and the kinds of its arguments and of what it names: no values
    but those in `stage.STATIC` have been looked at.
    """

    is_lasting = False

    def at(self, line: int) -> None:
        """Say at which line of the function's text it is, unless that is known."""
        if type(self) in (NotStaged, Unassigned, Raises) and " at line " not in str(self):
            self.args = (f"{self} at line {line}",)


class Unassigned(NotStaged):
    """A variable is read on a way on which it has not been assigned."""

    def __init__(self, variable: str):
        super().__init__(f"{variable} may not be assigned yet")
        self.variable = variable


class Raises(NotStaged):
    """Python would raise an exception: where that is one of several ways, the procedure stops there."""


def refusal(reason: str, *values: Any) -> NotStaged:
    """Why an operation on these values is not staged: Python raises an exception where one of them is None."""
    return (Raises if any(v is None for v in values) else NotStaged)(reason)


class NotNow(NotStaged):
    """As `NotStaged`, as long as something outside stays as it is."""


class WholeArrays(NotStaged):
    """The loops work on whole arrays, for which tracing gives better code, where it gives any."""

    def __init__(self) -> None:
        super().__init__("its loops work on whole arrays")


class KindsDiffer(NotStaged):
    """A variable of a loop holds other kinds of values in the first iteration than later on."""


class NeedsValue(NotStaged):
    """The value of an argument has to be known: staging begins again with it."""

    def __init__(self, argument: int):
        super().__init__(f"the value of argument {argument} decides what is computed")
        self.argument = argument


class ListChanges(NotStaged):
    """A list is appended to, or holds other values than was supposed: staging begins again with what is known of it."""


class ListsMeet(ListChanges):
    """Lists have to be held by reference (see `references`): staging begins again with that.

    Parameters
    ----------
    reason : str
    lists : pairs of (frozenset of hashable, Kind or None)
        Where lists are made that may be one and the same, and what they were found to hold.
    """

    def __init__(self, reason: str, *lists: tuple[frozenset[Hashable], Any]):
        super().__init__(reason)
        self.lists = lists


ROLLED = "rolled"  # as an origin: elements change from where they are read along an axis
FIRST = "first"  # among what changes: where kinds of numbers do in the first iteration, that is recorded by itself
IN_LIST = "given"  # an origin of arrays in a list that is an argument
LISTED = "listed"  # an origin of memory that a list refers to, or a diagonal: it must not be written any more


@frozen(eq=False)
class Scalar:
    """A number.

    Parameters
    ----------
    dtype : numpy.dtype
    python : bool or None
        Whether it is a number of Python's, which takes the dtype of arrays that it meets (NEP 50), and not of NumPy's;
        None where it is the one or the other, as `flag` says.
    name : str
        Where it is, in a register of its dtype; integers are in registers of 64 bits.
    value : Poly, optional
        Of integers.
    argument : int, optional
        The argument that it is.
    flag : str
        The name of a truth value: whether it is Python's.
    settled : str
        The name of a truth value, if the number may still be one of Python's of another kind, which the register holds
        exactly: whether it is of this dtype (``total = 0`` in front of ``total += x[i]``).
    """

    dtype: np.dtype
    python: bool | None
    name: str = ""
    value: Poly | None = None
    argument: int | None = None
    flag: str = ""
    settled: str = ""

    @property
    def poly(self) -> Poly:
        """The value of an integer."""
        assert self.value is not None
        return self.value


def is_word(dtype: np.dtype) -> bool:
    """Whether numbers of a dtype are polynomials: integers that fit into 64 bits with a sign."""
    return dtype.kind in "iu" and dtype != UNSIGNED


def integer(value: Poly, dtype: np.dtype = INT, python: bool | None = True, flag: str = "") -> Scalar | int:
    """An integer: a number where it is known."""
    known = value.constant
    if known is not None and python:
        return known
    return Scalar(dtype, python, "", value, flag=flag)


@frozen(eq=False)
class Complex:
    """A complex number of Python's: two floats of Python's, known or not."""

    real: Any
    imag: Any


@frozen(eq=False)
class Unread:
    """An argument that is no parameter of the procedure: its value may be known, once it is asked for."""

    number: int
    kind: type


_KNOWN_KINDS = (
    str, bool, np.bool, type(None), enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type,
    type(np.sum), np.ufunc,
)  # fmt: skip


class Attributes(dict[str, Any]):
    """The attributes of an object that the function makes; `is_open` says that it is still being made."""

    is_open = True


@frozen(eq=False)
class Composite:
    """An argument that holds others, a dict whose items change, or an object that the function makes.

    Parameters
    ----------
    kind : type
    parts : dict
        By their names, keys or places.
    place : hashable
        What tells it from others. None for what never changes.
    cells : dict
        What holds those parts that are assigned, by their names.
    places : frozenset
        The places one of which makes it; empty for arguments.
    block, depth : int
        Of the recorder, and of the loops around, where it is made.
    of : pair, optional
        The list of objects that it is an element of, and its index.
    """

    kind: type
    parts: dict[Any, Any]
    place: Hashable = None
    cells: dict[Any, Any] = field(default_factory=dict)
    places: frozenset[Hashable] = frozenset()
    block: int = -1
    depth: int = -1
    of: tuple[Any, Poly] | None = None

    @property
    def is_given(self) -> bool:
        """Whether it is an argument, or a part of one: those have the number of the argument first in their place."""
        return isinstance(self.place, tuple) and isinstance(self.place[0], int)

    def part(self, name: Any) -> Any:
        """The part of that name.

        Raises
        ------
        NotStaged
            If there is none, or none that can be used.
        """
        if name not in self.parts:
            raise NotStaged(f"{self.kind.__name__} has no {name!r}")
        value = self.parts[name]
        if isinstance(value, Unread):
            if issubclass(value.kind, _KNOWN_KINDS) or value.kind is list:
                raise NeedsValue(value.number)
            raise NotStaged(f"an object of type {value.kind.__name__} in an argument")
        return value

    @property
    def items(self) -> tuple[Any, ...] | None:
        """What a tuple holds; None for others."""
        return tuple(map(self.part, self.parts)) if issubclass(self.kind, tuple) else None

    @property
    def is_value(self) -> bool:
        """Whether it is its attributes: no statement changes it, so that nobody sees which of its copies it is."""
        is_whole = self.place is None and not getattr(self.parts, "is_open", False)
        return bool(self.places) and is_whole and not self.is_element

    @property
    def is_element(self) -> bool:
        """Whether its attributes are in the columns of a list of objects that change."""
        return self.of is not None and not self.parts

    def with_parts(self, parts: dict[Any, Any]) -> Composite:
        """The same, with other parts."""
        return Composite(self.kind, parts, self.place, self.cells, self.places, self.block, self.depth, self.of)


def held_by(value: Composite) -> list[Any]:
    """What an object holds that is known while staging: its parts, and what stays the same of those that change."""
    return [*value.parts.values(), *(cell.variable.kind.value for cell in value.cells.values() if cell.is_same)]


@frozen(eq=False)
class Method:
    """A function of a class, and what it gets as its first argument: an object, or the class."""

    owner: Any
    function: Any


@frozen(eq=False)
class View:
    """Memory in which an array lies.

    Parameters
    ----------
    base : str
        A pointer.
    offset : Poly
        Of the first element, in bytes.
    strides : tuple of Poly
        In bytes.
    origins : frozenset of str
        Arguments and sites of memory that it may belong to.
    whole : bool
        Whether it is all of the memory, C-contiguous.
    is_given : bool
        Whether it is an argument itself, and no view of it.
    """

    base: str
    offset: Poly
    strides: tuple[Poly, ...]
    origins: frozenset[str]
    whole: bool = False
    is_given: bool = False

    @property
    def scope(self) -> str:
        """Memory that overlaps no memory of another name; empty where several are possible."""
        (*others, scope) = self.origins - {LISTED}
        return "" if others else scope


class RunTime:
    """What is known only at run time, beside numbers and arrays."""

    depth = 0  # of the loops around the place where it is made
    made_at: frozenset[Hashable] = frozenset()  # places of the lists that it may be

    def names(self) -> Iterator[str]:
        """What it is made of."""
        return iter(())

    def numbers(self) -> tuple[Any, Hashable]:
        """The kind of the numbers of a list that may be an element of a list, and the place where it is made."""
        raise NotStaged("a list of objects")


def type_name(value: Any) -> str:
    """What people call the type of a value that is known only at run time."""
    kind = getattr(type(value), "stands_for", type(value))
    return "None" if value is None else kind.__name__


class Source(RunTime):
    """A generator of random numbers.

    Parameters
    ----------
    kind : type
        `numpy.random.Generator` or `numpy.random.RandomState`.
    word : str
        The address of its bit generator, or of the state of the old kind.
    depth : int
        Of the loops around the place where it is made.
    """

    def __init__(self, kind: type, word: str, depth: int = -1):
        self.kind, self.word, self.depth = kind, word, depth

    def names(self) -> Iterator[str]:
        yield self.word


class Perhaps(RunTime):
    """A value, or None where the truth value `is_none` is true."""

    def __init__(self, value: Any, is_none: str):
        self.value, self.is_none = value, is_none


class Chosen(RunTime):
    """One of several strings, or members of enumerations: the register `number` says which."""

    def __init__(self, strings: tuple[Any, ...], number: str):
        self.strings, self.number = strings, number

    def names(self) -> Iterator[str]:
        yield self.number

    @property
    def are_members(self) -> bool:
        """Whether all are members of enumerations, which are one object each."""
        return all(isinstance(s, enum.Enum) for s in self.strings)

    def __bool__(self) -> bool:
        if not all(isinstance(s, str) for s in self.strings):
            raise NotStaged("the truth of a member of an enumeration that values decide on")
        found = {bool(s) for s in self.strings}
        if len(found) > 1:
            raise NotStaged("the truth of a string that values decide on")
        return found.pop()


class Referenced(RunTime):
    """A list that is held by reference (see `references`).

    Parameters
    ----------
    kind : Kind
        Of its elements.
    made_at : frozenset of hashable
    handle : Poly
        Which list it is.
    """

    stands_for = list

    def __init__(self, kind: Any, made_at: frozenset[Hashable], handle: Poly):
        self.kind, self.made_at, self.handle = kind, made_at, handle

    def names(self) -> Iterator[str]:
        return self.handle.names()


class Gone(RunTime):
    """A value that cannot be used any more: a list of an earlier iteration, or one that is an element of another."""

    def __init__(self, made_at: frozenset[Hashable] = frozenset()):
        self.made_at = made_at


class DictDisplay(dict):
    """A dict as it is written out; `place` tells where, `block` in which block of the recorder, in `depth` loops.

    Keys may be added in that block. Where another item is assigned, staging begins again.
    """

    stands_for = dict

    def __init__(self, values: dict[Any, Any], place: Hashable, block: int, depth: int):
        super().__init__(values)
        self.place, self.block, self.depth = place, block, depth


class Display(list):
    """A list as it is written out; `place` tells where.

    It is a constant of staging. Where it is appended to, staging begins again with a list of run time in its place.
    """

    stands_for = list

    def __init__(self, values: Iterable[Any], place: Hashable):
        super().__init__(values)
        self.place = place
        self.made_at = frozenset({place})


class Copied(list):
    """A list of known length out of a variable or a list of run time; `made_at` tells where it is written out."""

    stands_for = list

    def __init__(self, values: Iterable[Any], made_at: frozenset[Hashable]):
        super().__init__(values)
        self.made_at = made_at


def rebuilt(value: tuple[Any, ...] | list[Any], parts: Iterable[Any]) -> Any:
    """A tuple or a list like another one, with other parts."""
    if isinstance(value, Copied):
        return Copied(parts, value.made_at)
    if isinstance(value, Display):
        return Display(parts, value.place)
    if isinstance(value, list):
        return list(parts)
    if type(value) is not tuple:
        raise NotStaged(f"a {type(value).__name__} from outside")
    return tuple(parts)


Element = Callable[[tuple[Poly, ...]], str]


@frozen(eq=False)
class Array:
    """An array, in memory or still to be computed.

    Parameters
    ----------
    dtype : numpy.dtype
    shape : tuple of Poly
    element : callable
        Records what computes the element at given indices, and gives its name.
    reads : frozenset of str
        Origins of the memory that the elements are read from: they have to be computed before it is written.
    view : View, optional
        Where it lies in memory.
    c_order : bool
        Whether NumPy would have it in C order; where not known, it cannot be a result.
    turned : tuple of int
        How the axes stand of a view of one in C order, where that is known; else empty.
    order : tuple of int
        How they stand of an array that NumPy computes from such views alone, and puts in memory as these are; else
        empty.
    column_of : tuple of (Array, int, int), optional
        The new array of which it is a column, which one, and of how many.
    cut : tuple of (Array, tuple of `subscripts.Axis`), optional
        The array of which it is a view, and what the subscript does.
    is_part : bool
        Whether NumPy would have it in the memory of an array that is not computed here as a whole, with strides of
        that. It cannot be a result.
    """

    dtype: np.dtype
    shape: tuple[Poly, ...]
    element: Element
    reads: frozenset[str]
    view: View | None = None
    c_order: bool = True
    turned: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    column_of: tuple[Array, int, int] | None = None
    cut: tuple[Array, tuple[Any, ...]] | None = None
    is_part: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def memory(self) -> View:
        """Where it lies, of an array that is in memory."""
        assert self.view is not None
        return self.view

    @property
    def size(self) -> Poly:
        size = Poly.number(1)
        for extent in self.shape:
            size = size * extent
        return size


@frozen(eq=False)
class Unbound:
    """A variable that is assigned on some ways only.

    Parameters
    ----------
    value : object
    ran : str
        The name of a variable that says whether it is assigned.
    is_first : bool
        Whether it is that of the first iteration of a loop that assigns it, too.
    """

    value: Any
    ran: str
    is_first: bool = False


def is_static(value: Any) -> bool:
    """Whether a value is known while staging."""
    if isinstance(value, (tuple, list)):
        return all(map(is_static, value))
    if isinstance(value, slice):
        return all(map(is_static, (value.start, value.stop, value.step)))
    if isinstance(value, dict):
        return all(map(is_static, value.values()))
    return not isinstance(value, (Scalar, Complex, Array, Unbound, RunTime, Composite, Unread))


def is_number(value: Any) -> bool:
    """Whether a value is a number, known or not; members of enumerations are not, even if they are integers, too."""
    return isinstance(value, (Scalar, bool, int, float, complex, np.generic)) and not isinstance(value, enum.Enum)


def is_python_number(value: Any) -> bool | None:
    """Whether a number is Python's; None if that is not known."""
    return value.python if isinstance(value, Scalar) else not isinstance(value, np.generic)


def dtype_of(value: Any) -> np.dtype:
    """The dtype of a number or an array."""
    if isinstance(value, np.generic) and is_twin(value.dtype):
        raise NotStaged(f"a number of type {type(value).__name__}")
    if isinstance(value, (Scalar, Array, np.generic)):
        return value.dtype
    if isinstance(value, bool):
        return BOOL
    return np.dtype(type(value))


def type_of(value: Any, weak: bool = True) -> Any:
    """What `ufunc.resolve_dtypes` takes for a value: a Python type for numbers of Python's.

    Those that may be Python's count as such if `weak` says so.
    """
    if is_number(value) and (weak if (python := is_python_number(value)) is None else python):
        return {"b": BOOL, "i": int, "u": int, "f": float, "c": complex}[dtype_of(value).kind]
    return dtype_of(value)


def both(x: bool | None, y: bool | None) -> bool | None:
    """Whether two numbers are both Python's."""
    if x is False or y is False:
        return False
    return True if x and y else None
