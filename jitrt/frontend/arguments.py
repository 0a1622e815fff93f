"""Arguments and results of a call as flat lists of leaves and a structure."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..errors import Untraceable
from .python.attributes import attributes_of, has_plain_attributes, has_plain_fields
from .python.callbacks import Closure, Code, Constant, Same, is_taken_apart, parts_of, stays

Structure = Any

_DEEPEST = 8  # objects in objects; deeper ones, which may be circles, are leaves
_MOST_LEAVES = 512  # objects behind so many are leaves, too


class Record:
    """Marks the structure of an object with attributes."""


class Again:
    """Marks the structure of a list, dict or object that has occurred before, and is followed by its number."""


@frozen
class Growing:
    """The lists with which a function does nothing, or that it only appends to: what they hold is no part of a call.

    Parameters
    ----------
    attributes : frozenset of str
        Attributes of objects that hold lists that it appends to.
    positions : frozenset of int
        Positional arguments that are such lists.
    state : frozenset of int
        Those among the lists, dicts and objects that the code names.
    """

    attributes: frozenset[str] = frozenset()
    positions: frozenset[int] = frozenset()
    state: frozenset[int] = frozenset()
    read: frozenset[str] | None = None
    """Attributes of objects that it does anything else with, if they are known."""

    callbacks: Mapping[Code, frozenset[int]] = MappingProxyType({})
    """Which parts of functions that are arguments are such lists."""

    def has(self, attribute: str) -> bool:
        """Whether a list that objects have as this attribute is one of these."""
        return attribute in self.attributes or (self.read is not None and attribute not in self.read)


class _Seen(dict[int, int]):
    """The numbers of lists, dicts and objects by their identity."""

    __slots__ = ("growing",)

    def __init__(self) -> None:
        self.growing: set[int] = set()  # identities of lists of which nothing is known


class _Needed(Exception):
    """A list that a function does nothing with as the attribute of an object is given to it in another way, too."""


class Keys(tuple[Any, ...]):
    """Keys of a dict that are not all strings: ``{1: x}``, ``{True: x}`` and ``{1.0: x}`` are told apart."""

    __slots__ = ()

    @staticmethod
    def of(value: dict) -> tuple[Any, ...]:
        """The keys of a dict."""
        return tuple(value) if all(type(key) is str for key in value) else Keys(value)

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True and _kinds(self) == _kinds(other)

    __hash__ = tuple.__hash__


def _kinds(value: Any) -> Any:
    """What tells equal keys apart."""
    if isinstance(value, (tuple, frozenset)):
        return (type(value), *map(_kinds, value))
    return type(value), repr(value) if isinstance(value, (float, complex)) else None


class Appended:
    """Stands for a list that grows, during a trace."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Any] = []

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Any) -> None:
        self.items.extend(values)

    def __getattr__(self, name: str) -> Any:
        raise Untraceable("reads a list that it otherwise appends to")

    def __len__(self) -> int:
        return self.__getattr__("__len__")

    def __eq__(self, other: object) -> bool:
        return self.__getattr__("__eq__")

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")

    def __getitem__(self, index: Any) -> Any:
        return self.__getattr__("__getitem__")


def flatten_call(args: tuple, kwargs: dict[str, Any], state: tuple, leaves: list[Any], growing: Growing) -> Structure:
    """The leaves and the structure of a call, ``(args, kwargs, state)``, with its objects.

    `state` are the lists, dicts and objects that the function names.
    """
    before = len(leaves)
    try:
        return _flatten_call(args, kwargs, state, leaves, growing)
    except _Needed:
        del leaves[before:]
        return _flatten_call(args, kwargs, state, leaves, Growing())


def _flatten_call(args: tuple, kwargs: dict[str, Any], state: tuple, leaves: list[Any], growing: Growing) -> Structure:
    seen = _Seen()

    def parts(values: tuple, lists: frozenset[int]) -> Structure:
        found = [
            _grown(v, seen) if k in lists and type(v) is list else _flatten(v, leaves, seen, 0, growing)
            for k, v in enumerate(values)
        ]
        return (tuple, tuple(found))

    positional = parts(args, growing.positions)
    seen[id(kwargs)] = len(seen)
    named = tuple([_flatten(v, leaves, seen, 0, growing) for v in kwargs.values()])
    return (tuple, (positional, (dict, tuple(kwargs), named), parts(state, growing.state)))


def _grown(value: list, seen: _Seen) -> Structure:
    if id(value) in seen:
        return (Again, seen[id(value)], ())
    seen[id(value)] = len(seen)
    seen.growing.add(id(value))
    return (Appended, ())


def flatten(value: Any, leaves: list[Any], objects: bool = False) -> Structure:
    """Append the leaves of nested tuples, lists and dicts to `leaves`; return what is left, a hashable value.

    With `objects`, the attributes of objects of the user's classes are leaves, too, and what occurs twice is taken
    apart once.

    Examples
    --------
    >>> leaves = []
    >>> structure = flatten({"a": (1.0, [2.0])}, leaves)
    >>> leaves
    [1.0, 2.0]
    >>> rebuild(structure, iter(["x", "y"]))
    {'a': ('x', ['y'])}
    """
    return _flatten(value, leaves, _Seen() if objects else None, 0, Growing())


def _flatten(value: Any, leaves: list[Any], seen: _Seen | None, depth: int, growing: Growing) -> Structure:
    """`seen` numbers the lists, dicts and objects by their identity; None if they do not matter."""
    kind = type(value)
    if kind is np.ndarray or kind is float:
        leaves.append(value)
        return None
    if kind is tuple:
        return (kind, tuple([_flatten(v, leaves, seen, depth, growing) for v in value]))
    if kind is list or kind is dict:
        if seen is not None:
            if id(value) in seen:
                if id(value) in seen.growing:
                    raise _Needed
                return (Again, seen[id(value)], ())
            seen[id(value)] = len(seen)
        if kind is list:
            return (kind, tuple([_flatten(v, leaves, seen, depth, growing) for v in value]))
        return (dict, Keys.of(value), tuple([_flatten(v, leaves, seen, depth, growing) for v in value.values()]))
    if isinstance(value, tuple) and hasattr(value, "_fields") and (seen is None or _is_its_fields(value)):
        return (kind, tuple([_flatten(v, leaves, seen, depth, growing) for v in value]))
    if seen is not None and has_plain_attributes(kind):
        if id(value) in seen:
            return (Again, seen[id(value)], ())
        if depth < _DEEPEST and len(leaves) < _MOST_LEAVES:
            seen[id(value)] = len(seen)
            attributes = attributes_of(value)
            parts = [
                _grown(v, seen)
                if type(v) is list and growing.has(name)
                else _flatten(v, leaves, seen, depth + 1, growing)
                for name, v in attributes.items()
            ]
            return (Record, kind, tuple(attributes), tuple(parts))
    if seen is not None and kind is types.FunctionType and depth < _DEEPEST and is_taken_apart(value):
        if id(value) in seen:
            return (Again, seen[id(value)], ())
        seen[id(value)] = len(seen)
        code = Code(value)
        lists = growing.callbacks.get(code, frozenset())
        parts = [
            (Constant, Same(v), ())
            if stays(v)
            else _grown(v, seen)
            if type(v) is list and k in lists
            else _flatten(v, leaves, seen, depth + 1, growing)
            for k, v in enumerate(parts_of(value))
        ]
        return (Closure, code, tuple(parts))
    leaves.append(value)
    return None


def _is_its_fields(value: tuple) -> bool:
    """Whether a tuple with names of fields has nothing else: classes without slots give theirs a dict, too."""
    kind = type(value)
    return has_plain_fields(kind) and not (kind.__dictoffset__ and vars(value))


Make = Callable[[Code], types.FunctionType]


def _make_plain(code: Code) -> types.FunctionType:
    return code.make(code.namespace)


def rebuild(structure: Structure, leaves: Any, make: Make = _make_plain) -> Any:
    """The value of that `structure` with the leaves that the iterator `leaves` gives.

    `make` gives functions whose cells are empty.
    """
    return _rebuild(structure, leaves, [], make)


def rebuild_all(structures: Sequence[Structure], leaves: Any) -> list[Any]:
    """The values of several structures; what occurs in two of them is one object."""
    made: list[Any] = []
    return [_rebuild(structure, leaves, made, _make_plain) for structure in structures]


def _rebuild(structure: Structure, leaves: Any, made: list[Any], make: Make) -> Any:
    """`made` are the lists, dicts, objects and functions so far."""
    if structure is None:
        return next(leaves)
    kind = structure[0]
    if kind is Again:
        return made[structure[1]]
    if kind is Appended:
        made.append(Appended())
        return made[-1]
    if kind is Constant:
        return structure[1].value
    if kind is Closure:
        function = make(structure[1])
        made.append(function)
        structure[1].fill(function, [_rebuild(s, leaves, made, make) for s in structure[2]])
        return function
    if kind is Record:
        value = object.__new__(structure[1])
        made.append(value)
        attributes_of(value).update(
            {name: _rebuild(s, leaves, made, make) for name, s in zip(structure[2], structure[3])}
        )
        return value
    if kind is dict:
        value = {}
        made.append(value)
        value.update((key, _rebuild(s, leaves, made, make)) for key, s in zip(structure[1], structure[2]))
        return value
    if kind is list:
        value = []
        made.append(value)
        value.extend([_rebuild(s, leaves, made, make) for s in structure[1]])
        return value
    children = [_rebuild(s, leaves, made, make) for s in structure[1]]
    return made_of(kind, children)


def made_of(kind: type, parts: Sequence[Any]) -> Any:
    """A tuple or a list of that kind; one with names of fields takes its parts one by one."""
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def is_flat(structure: Structure) -> bool:
    """Whether it is that of a tuple of leaves."""
    return structure is not None and structure[0] is tuple and all(part is None for part in structure[1])


def is_made_of_leaves(structure: Structure) -> bool:
    """Whether it is that of nested tuples, lists and dicts, each of which occurs once."""
    if structure is None:
        return True
    kind = structure[0]
    is_made = kind in (tuple, list, dict) or (isinstance(kind, type) and issubclass(kind, tuple))
    return is_made and all(map(is_made_of_leaves, structure[-1]))


def maker_of(structure: Structure, parts: Iterable[Callable[[Any], Any] | None] = ()) -> Callable[[tuple], Any]:
    """What makes the value of such a structure of a tuple of its leaves: code that is written for it.

    `parts` are functions that leaves go through; None for those that are taken as they are.

    Examples
    --------
    >>> structure = flatten({"a": (1.0, [2.0]), "b": 3.0}, [])
    >>> maker_of(structure)(("x", "y", "z"))
    {'a': ('x', ['y']), 'b': 'z'}
    """
    constants: dict[str, Any] = {}
    leaves = enumerate(itertools.chain(parts, itertools.repeat(None)))

    def constant(value: Any) -> str:
        name = f"c{len(constants)}"
        constants[name] = value
        return name

    def text(part: Structure) -> str:
        if part is None:
            number, change = next(leaves)
            return f"leaves[{number}]" if change is None else f"{constant(change)}(leaves[{number}])"
        values = [text(p) for p in part[-1]]
        if part[0] is dict:
            keys = [repr(k) if type(k) is str else constant(k) for k in part[1]]
            return "{" + ", ".join(f"{key}: {value}" for key, value in zip(keys, values)) + "}"
        inside = "".join(f"{v}, " for v in values)
        if part[0] is list:
            return f"[{inside}]"
        return f"({inside})" if part[0] is tuple else f"{constant(part[0])}({inside})"

    return eval(f"lambda leaves: {text(structure)}", constants)


def classes_in(structure: Structure) -> set[type]:
    """The classes of the objects that were flattened, and those of tuples with names of fields."""
    if structure is None:
        return set()
    parts = structure[-1]
    found = {c for part in parts for c in classes_in(part)} if isinstance(parts, tuple) else set()
    kind = structure[1] if structure[0] is Record else structure[0]
    return found | {kind} if structure[0] is Record or hasattr(kind, "_fields") else found
