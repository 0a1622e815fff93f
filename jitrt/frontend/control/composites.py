"""Arguments that hold others: tuples, named tuples, dicts, and objects of the user's classes.

They are taken apart before a function is staged: its procedure has a parameter for each number and each array in them.
Staged functions read them, and call the methods of their classes. What they assign goes through variables of the
procedure; objects and dicts get it when the procedure has come to its end.

    f(Spring(k=2.0, x=x), n)    →    f with parameters k, x, n
    spring.x += spring.k        →    v1 = v1 + k, and behind the procedure: spring.x = v1
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from ...base.frozen import frozen
from ...ir.integers import Poly
from ...values import kinds
from ...values.kinds import DICT, LIST, MAPPING, MASKED, METHOD, NAMED, OBJECT, PARTIAL, PROXY, RECORDS, TUPLE, Tree
from ...values.records import has_fields
from ...values.versions import version_of
from . import references
from .arrays import materialise
from .kinds import Kind, Parts, Same, is_covered, join, kind_of, seen_from
from .recorder import Recorder
from .runtimelists import Appended
from .values import (
    BOOL,
    Array,
    Composite,
    ListChanges,
    Method,
    NeedsValue,
    NotStaged,
    Unread,
    integer,
    is_number,
    is_static,
)
from .variables import Variable

_MOST_DEEP = 4
_WITHOUT_CLASS = frozenset({TUPLE, DICT, RECORDS, METHOD})
_LEAVES = frozenset({LIST, MASKED, MAPPING, PROXY, PARTIAL})
_MOST_PARTS = 64  # of one call
LEAVES = frozenset({np.ndarray, int, float, bool, str, type(None), np.float64, np.float32, np.int64, complex})


def take_apart(args: tuple) -> tuple[tuple[Tree, ...], tuple, tuple[int, ...]]:
    """The arguments as trees, what they hold, and the versions of the classes of their objects."""
    leaves: list[Any] = []
    versions: list[int] = []
    return tuple([_tree(a, leaves, versions, 0) for a in args]), tuple(leaves), tuple(versions)


def _tree(value: Any, leaves: list[Any], versions: list[int], depth: int) -> Tree:
    cls, kind = type(value), _kind(value, depth)
    if kind is not None:
        what, parts = kind.take(value)
        version = 1 if kind in _WITHOUT_CLASS else version_of(cls)
        is_read = version and (kind is not DICT or all(type(k) in (str, int) for k in what))
        if is_read and len(leaves) + len(parts) <= _MOST_PARTS:
            if kind is NAMED or kind is OBJECT:
                versions.append(version)
            return kind, what, tuple([_tree(v, leaves, versions, depth + 1) for v in parts])
    leaves.append(value)
    return None


def classes_within(trees: Iterable[Tree]) -> Iterator[type]:
    """The classes of the objects that hold others."""
    for tree in trees:
        if tree is not None:
            if tree[0] is NAMED or tree[0] is OBJECT:
                yield tree[1][0] if isinstance(tree[1], tuple) else tree[1]
            yield from classes_within(tree[2])


def is_leaf(value: Any) -> bool:
    """Whether a value is a number or an array of numbers, as most are; others may be, too."""
    return type(value) in LEAVES and not has_fields(value)


def _kind(value: Any, depth: int) -> kinds.Kind | None:
    """The kind of a value that is taken apart as such; None for a leaf."""
    kind = None if is_leaf(value) or depth == _MOST_DEEP else kinds.kind_of(value)
    return None if kind in _LEAVES else kind


def are_different(args: tuple) -> bool:
    """Whether no two of what holds others are the same object."""
    found: list[int] = []

    def visit(value: Any, depth: int) -> None:
        kind = _kind(value, depth)
        if kind is not None:
            found.append(id(value))
            for part in kind.take(value)[1]:
                visit(part, depth + 1)

    for arg in args:
        visit(arg, 0)
    return len(found) == len(set(found))


def assign_part(args: tuple, path: tuple[Any, ...], name: Any, value: Any, appends: bool = False) -> None:
    """``args[…].….name = value``, or what ``.extend(value)`` does there."""
    owner: Any = args
    for step in path:
        owner = _part_of(owner, step)
    if appends:
        _part_of(owner, name).extend(value)
    elif isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _part_of(owner: Any, name: Any) -> Any:
    return owner[name] if isinstance(owner, dict) or type(name) is int else getattr(owner, name)


def holder_count(tree: Tree) -> int:
    """How many objects of a tree hold others."""
    return 0 if tree is None else 1 + sum(map(holder_count, tree[2]))


def item(r: Recorder, value: Composite, index: Any) -> Any:
    """``value[index]`` for an index that is known."""
    if not is_static(index) or isinstance(index, slice):
        raise NotStaged("an item of an argument that is not known")
    if value.kind is dict or (is_records(value) and isinstance(index, str)):
        return read(r, value, index)
    if value.items is None or not isinstance(index, int) or not -len(value.items) <= index < len(value.items):
        raise NotStaged(f"an item of {value.kind.__name__}")
    return value.items[index]


@frozen(eq=False)
class Cell:
    """What holds a part that is assigned: its variable, and that of whether it has been assigned.

    `begins` says that it holds the part from the beginning.
    """

    variable: Variable
    is_set: str
    begins: bool

    @property
    def is_same(self) -> bool:
        """Whether it holds one value, whatever happens."""
        return isinstance(self.variable.kind, Same)


def with_cells(r: Recorder, kind: type, parts: dict[Any, Any], place: Hashable, block: int = -1) -> Composite:
    """What holds these parts, with cells for those that are assigned."""
    made = Composite(kind, parts, place, block=block)
    for name, its in r.cells.get(place, {}).items():
        initial = [kind_of(_kept(r, made.part(name)))] if name in parts else []
        begins = bool(initial) and is_covered(initial[0], its)
        cell = made.cells[name] = Cell(Variable(r, its), r.variable(), begins)
        if begins:
            cell.variable.put(r, _kept(r, parts[name]))
        r.put(cell.is_set, r.literal(False, BOOL), BOOL)
    if made.cells:
        r.holders.append(made)
    return made


def _kept(r: Recorder, value: Any) -> Any:
    return materialise(r, value) if isinstance(value, Array) else value


def read(r: Recorder, value: Composite, name: Any) -> Any:
    """A part."""
    cell = value.cells.get(name)
    if cell is None:
        return value.part(name)
    if not cell.begins:
        is_set = r.get(cell.is_set, BOOL)
        r.stop(r.compute("logical_not", [is_set], BOOL))
    return cell.variable.get(r)


def write(r: Recorder, owner: Composite, name: Any, value: Any) -> None:
    """``owner.name = value`` or ``owner[name] = value``."""
    check_assignable(owner, name)
    found = seen_from(r, kind_of(value), frozenset({0}))
    _check_kind(found)
    known = r.cells.setdefault(owner.place, {})
    if name not in owner.cells or not is_covered(found, known[name]):
        if name in known:
            known[name] = join(known[name], found)
        else:
            known[name] = found
            with contextlib.suppress(NeedsValue, NotStaged):
                known[name] = join(found, kind_of(_kept(r, owner.part(name))))
        raise ListChanges("an attribute or an item that changes")
    cell = owner.cells[name]
    cell.variable.put(r, value)
    r.put(cell.is_set, r.literal(True, BOOL), BOOL)


_USUAL = (object.__setattr__, types.SimpleNamespace.__setattr__)


def check_assignable(owner: Composite, name: Any) -> None:
    """Raise `NotStaged` if an attribute or an item must not be assigned, or in another way than usual."""
    if owner.place is None and not owner.places:
        raise NotStaged("an assignment to what holds others")
    if owner.kind is dict:
        if name not in owner.parts:
            raise NotStaged("a new key of a dict")
    elif issubclass(owner.kind, tuple) or owner.kind.__setattr__ not in _USUAL:
        raise NotStaged(f"an assignment to {owner.kind.__name__}")
    else:
        check_attribute(owner, name)


def check_attribute(owner: Composite, name: str) -> None:
    """Raise `NotStaged` if a class does something of its own where an attribute is assigned."""
    descriptors = [type(vars(c).get(name)) for c in owner.kind.__mro__]
    if owner.places:  # slots are as good as a dict
        descriptors = [d for d in descriptors if d is not types.MemberDescriptorType]
    if any(hasattr(d, "__set__") for d in descriptors) and name not in owner.parts:
        raise NotStaged(f"an assignment to {owner.kind.__name__}.{name}")


def _check_kind(kind: Kind) -> None:
    if isinstance(kind, Parts):
        for part in kind.kinds:
            _check_kind(part)
    elif isinstance(kind, Same) and not (kind.value is None or isinstance(kind.value, str)):
        references.need("an assignment of an object", kind.value)


def is_records(value: Any) -> bool:
    """Whether a value is an array of records."""
    return isinstance(value, Composite) and value.kind in (np.ndarray, np.recarray)


def of_records(value: Composite, name: str) -> Any:
    """An attribute of an array of records."""
    if value.kind is np.recarray and name in value.parts and not hasattr(np.recarray, name):
        return value.part(name)
    if name not in ("shape", "ndim", "size"):
        raise NotStaged(f"the attribute {name} of an array of records")
    return {"shape": (integer(length(value)),), "ndim": 1, "size": integer(length(value))}[name]


def length(value: Composite) -> Poly:
    """How many records an array has; of more axes, or of records in records, others know."""
    fields = [field for field in value.parts.values() if isinstance(field, Array)]
    if not any(field.ndim == 1 for field in fields):
        raise NotStaged("an array of records of several axes, or without a field of numbers")
    return fields[0].shape[0]


@frozen(eq=False)
class Record:
    """A record of an array, or several: their fields are read when they are asked for."""

    records: Composite
    index: Any

    @property
    def is_copy(self) -> bool:
        """Whether NumPy copies them: those that indices or a mask choose."""
        return not (is_number(self.index) or isinstance(self.index, slice))


def written_field(value: Record, name: Any) -> Any:
    """The same as `field`, of a record that is written into."""
    if value.is_copy:
        raise NotStaged("an assignment to a copy of records")
    return field(value, name)


def field(value: Record, name: Any) -> Any:
    """The array that a field of a record is an element of."""
    found = value.records.part(name) if isinstance(name, str) else None
    if not isinstance(found, Array):
        raise NotStaged("a field of a record that is not named")
    return found


def put_together(r: Recorder, tree: Tree, leaves: Iterator[Any], place: tuple[Any, ...]) -> Any:
    """What an argument is while staging, of what its leaves are; `place` is the path to it."""
    if tree is None:
        return next(leaves)
    kind, what, trees = tree
    if kind is METHOD:
        owner = put_together(r, trees[0], leaves, (*place, "__self__"))
        if not isinstance(owner, Composite):
            raise NotStaged(f"a method of {type(owner).__name__}")
        return Method(owner, next(vars(c)[what] for c in owner.kind.__mro__ if what in vars(c)))
    cls = tuple if kind is TUPLE else dict if kind is DICT else what if kind is NAMED else what[kind is RECORDS]
    names = what._fields if kind is NAMED else kind.names(what, trees)
    parts = dict(zip(names, [put_together(r, t, leaves, (*place, name)) for name, t in zip(names, trees)]))
    for name, part in parts.items():
        if isinstance(part, Appended):
            part.where = place, name
    made = with_cells(r, cls, parts, place)
    return made.items if kind is TUPLE and not any(isinstance(v, Unread) for v in parts.values()) else made
