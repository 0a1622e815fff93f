"""What staged functions read from outside: objects that have to stay as they are, arrays and generators."""

from __future__ import annotations

import itertools
import logging
import sys
import types
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from ...base.frozen import frozen
from ...values.functions import MISSING, is_callback, is_jitted
from ...values.keys import GENERATORS
from ..python.captures import Capture
from ..python.numbas import is_numbas
from ..python.operations import operation_of
from .generated import NO_DEFAULT
from .values import Array, NotStaged, RunTime, Source

_PLAIN = (
    bool, int, float, complex, str, type(None), np.dtype, type, types.ModuleType, np.ufunc, types.EllipsisType,
    type(NO_DEFAULT), logging.Logger,
)  # fmt: skip
_PACKAGE = __name__.rpartition(".")[0] + "."

_MOST_LISTED = 256  # elements of a list of outside


class Settings(RunTime):
    """A dict of outside, of which items are read: they have to stay, the others need not."""

    stands_for = dict

    def __init__(self, name: str, values: dict[Any, Any]):
        self.name, self.values = name, values


class Listing(RunTime):
    """A list of outside whose elements cannot change: they have to stay. It is read where its name stands."""

    stands_for = list

    def __init__(self, values: list[Any]):
        self.values = tuple(values)


def of_listing(value: Any) -> Any:
    """The elements of a list of outside, for those that do nothing but to go through them; other values as they are."""
    return value.values if isinstance(value, Listing) else value


class Captures:
    """What a procedure reads from outside: objects that have to stay; arrays and generators are parameters."""

    def __init__(self, array: Callable[[Capture], Array | Source]):
        self._array = array
        self.has_lists = False
        self.objects: dict[tuple[int, str], Capture] = {}
        self.arrays: dict[tuple[int, str], tuple[Capture, Array | Source]] = {}

    def of_users(self) -> tuple[Capture, ...]:
        """The objects that somebody may replace; those that this package has written stay as they are."""
        return tuple(c for c in self.objects.values() if not _is_written_here(c))

    def note(self, name: str, value: Any, container: Any, key: Any) -> None:
        """Note what has to stay as it is."""
        self.objects[id(container), name] = Capture(name, value, container, key)

    def note_function(self, function: Any) -> None:
        """Note what can be replaced of a function."""
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.note(name, getattr(function, name), function, name)

    def note_attributes(self, value: Any, *names: str) -> None:
        """Note attributes of an object that have to stay as they are."""
        for name in names:
            self.note(name, vars(value)[name], vars(value), name)

    def item(self, settings: Settings, key: Any) -> Any:
        """An item of a dict of outside."""
        if key not in settings.values:
            raise NotStaged(f"a key of {settings.name}")
        name = f"{settings.name}[{key!r}]"
        value = settings.values[key]
        if not isinstance(value, (*_PLAIN, np.generic)):
            raise NotStaged(f"{name}, of type {type(value).__name__}")
        self.note(name, value, settings.values, key)
        return value

    def imported(self, module: str, name: str = "") -> Any:
        """What an import statement gives: a module, or what has that name in it."""
        found = sys.modules.get(module)
        if found is None:
            raise NotStaged(f"an import of {module}, which nobody has imported yet")
        if not name:
            return found
        return self.of(name, vars(found), name) if name in vars(found) else self.imported(f"{module}.{name}")

    def of(self, name: str, space: Any, key: Any) -> Any:
        """The object of that name."""
        at = id(space), name
        if at in self.arrays:
            return self.arrays[at][1]
        try:
            value = space.cell_contents if key is None else space[key]
        except ValueError:
            raise NotStaged(f"{name} is not assigned") from None
        capture = Capture(name, value, space, key)
        if type(value) is np.ndarray or is_source(value):
            made = self._array(capture)
            self.arrays[at] = capture, made
            return made
        if type(value) is dict:
            self.objects[at] = capture
            return Settings(name, value)
        is_listing = type(value) is list and len(value) <= _MOST_LISTED and all(map(_is_constant, value))
        if not (is_listing or is_function(value) or _is_constant(value)):
            raise NotStaged(f"{name}, of type {type(value).__name__}")
        self.objects[at] = capture
        return self._listing(name, value) if is_listing else value

    def _listing(self, name: str, values: list[Any]) -> Listing:
        for k, value in enumerate([*values, MISSING]):
            self.note(f"{name}[{k}]", value, values, k)
        self.has_lists = True
        return Listing(values)


def _is_constant(value: Any) -> bool:
    """Whether nothing can change a value: of tuples with names of fields, somebody may change the class."""
    return all(map(_is_constant, value)) if type(value) is tuple else isinstance(value, (*_PLAIN, np.generic))


def _is_written_here(capture: Capture) -> bool:
    """Whether a module, a class, a function or a cell of this package holds what is captured."""
    holder = capture.value if type(capture.container) is types.CellType else capture.container
    name = holder.get("__name__") if isinstance(holder, dict) else getattr(holder, "__module__", None)
    return isinstance(name, str) and name.startswith(_PACKAGE)


def is_source(value: Any) -> bool:
    """Whether a value is a generator of random numbers with a bit generator of NumPy's."""
    if type(value) not in GENERATORS:
        return False
    bits = type(value.bit_generator if type(value) is np.random.Generator else value._bit_generator)
    return bits.__module__.partition(".")[0] == "numpy"


_OF_WORDS: dict[frozenset[type], type] = {frozenset({t}): t for t in (int, float, np.int64, np.float64)}


DTYPES = "?bhilqBHILQfdFD"  # of arrays that procedures take


@frozen
class ArraysOf:
    """What the elements of a list are that are arrays of one shape, aligned and in C order."""

    dtype: str
    ndim: int


def element_types(value: list[Any]) -> Any:
    """The type of the numbers in a list, or a tuple of types where it holds tuples of numbers; None for other lists.

    Of a list of arrays of one type and shape it is `ArraysOf`.

    Examples
    --------
    >>> element_types([1.0, 2.0]), element_types([(1, 2.0), (3, 4.0)]), element_types([1, 2.0])
    (<class 'float'>, (<class 'int'>, <class 'float'>), None)
    >>> element_types([np.zeros(3), np.ones(3)])
    ArraysOf(dtype='d', ndim=1)
    """
    kinds = frozenset(map(type, value))
    if kinds == {np.ndarray}:
        dtype, shape = value[0].dtype, value[0].shape
        is_known = dtype.isnative and dtype.char in DTYPES and shape
        is_alike = is_known and all(a.shape == shape and a.dtype == dtype and a.flags.carray for a in value)
        return ArraysOf(dtype.char, len(shape)) if is_alike else None
    if kinds != {tuple}:
        return _OF_WORDS.get(kinds)
    lengths = frozenset(map(len, value))
    if len(lengths) > 1:
        return None
    parts = [_OF_WORDS.get(frozenset(map(type, map(itemgetter(k), value)))) for k in range(*lengths)]
    return None if not parts or None in parts else tuple(parts)


def array_of(values: list[Any], types: Any) -> np.ndarray:
    """The elements of a list as procedures get them: of tuples the parts one after the other, each in words.

    Of arrays it is a place for the offset of an array's data address in its object, their shape, and the objects.

    Raises
    ------
    OverflowError
        If an integer takes more than a word.
    """
    if isinstance(types, ArraysOf):
        head = (0, *values[0].shape)
        return np.fromiter(itertools.chain(head, map(id, values)), np.int64, len(head) + len(values))
    if not isinstance(types, tuple):
        return np.array(values, types)
    made = np.empty((len(types), len(values)), np.int64)
    for k, kind in enumerate(types):
        made[k].view(kind)[:] = np.fromiter(map(itemgetter(k), values), kind, len(values))
    return made


def is_function(value: Any) -> bool:
    """Whether a value is a function that can be called while staging."""
    plain = (types.FunctionType, types.BuiltinFunctionType, type(np.sum), np.ufunc)
    if isinstance(value, plain) or type(value) is np.vectorize or is_jitted(value) or is_callback(value):
        return True
    return is_numbas(value) or operation_of(value) is not None
