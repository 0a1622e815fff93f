"""What a traced function leaves behind in the objects, dicts and lists that it was given.

The trace works on copies of them. What it has put into a copy by the end is a further result of the program, and is
put into the object itself when nothing can fail any more: until then a call that has to run plain finds everything as
it was.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Sequence
from typing import Any

from ...base.frozen import frozen
from ...errors import Untraceable
from ..arguments import Again, Appended, Record, Structure
from ..numpy.tracer import Tracer
from .attributes import attributes_of, has_plain_attributes
from .callbacks import Closure, parts_of

# From the arguments of a call to an object in them: names of attributes, keys and indices.
Path = tuple[Any, ...]


# What a call gets: positional and keyword arguments, and the lists, dicts and objects that the function names.
Arguments = tuple[tuple, dict[str, Any], tuple]


class Attributes:
    """In a path: the dict of the attributes of the object so far."""


@frozen
class Store:
    """A change of a list or of a dict, which may be that of an object's attributes.

    Parameters
    ----------
    path : Path
        Where the list or dict is.
    keys : tuple, optional
        What is assigned to in a dict; None for a list, whose elements are all replaced.
    structure : Structure
        Of what is stored: a tuple of elements, or of the values of the keys.
    removed : tuple
        Keys that are deleted.
    appends : bool
        Whether the elements of a list stay, and others are added.
    """

    path: Path
    keys: tuple[Any, ...] | None
    structure: Structure
    removed: tuple[Any, ...] = ()
    appends: bool = False


@frozen(eq=False)
class Given:
    """A leaf of a result that is an object, a dict, a list or a function of the caller's."""

    path: Path


class Containers:
    """The objects, dicts and lists that a trace got for its arguments, with what they held then.

    Parameters
    ----------
    arguments : Arguments
    functions : collection of int, optional
        Identities of the functions in them that were taken apart.
    """

    def __init__(self, arguments: Arguments, functions: Collection[int] = ()):
        self._functions = functions
        self._known: dict[int, tuple[Any, Path, Any]] = {}
        args, kwargs, state = arguments
        self._walk(args, (0,))
        self._walk(state, (2,))
        for name, value in kwargs.items():  # the dict itself is made for each call
            self._walk(value, (1, name))

    def _walk(self, value: Any, path: Path) -> None:
        if id(value) in self._known:
            return
        kind = type(value)
        if kind is Appended:
            self._known[id(value)] = value, path, None
        elif kind is list or isinstance(value, tuple):
            if kind is list:
                self._known[id(value)] = value, path, list(value)
            for k, v in enumerate(value):
                self._walk(v, (*path, k))
        elif kind is dict:
            self._known[id(value)] = value, path, dict(value)
            for k, v in value.items():
                self._walk(v, (*path, k))
        elif id(value) in self._functions:
            self._known[id(value)] = value, path, None
            for k, v in enumerate(parts_of(value)):
                self._walk(v, (*path, Closure, k))
        elif has_plain_attributes(original_class(value)):
            self._known[id(value)] = value, path, dict(attributes_of(value))
            for name, v in attributes_of(value).items():
                self._walk(v, (*path, Attributes, name))

    def objects(self) -> list[Any]:
        """The objects."""
        return [c for c, _, _ in self._known.values() if type(c) not in (list, dict, Appended, types.FunctionType)]

    def _flatten(self, value: Any, leaves: list[Any], made: dict[int, int]) -> Structure:
        """As `arguments.flatten` does it for results: what the caller has given is a leaf.

        `made` numbers the lists, dicts and objects by their identity.
        """
        kind = type(value)
        if id(value) in self._known and self._known[id(value)][0] is value:
            leaves.append(Given(self._known[id(value)][1]))
            return None
        if kind is list or kind is dict or has_plain_attributes(original_class(value)):
            if id(value) in made:
                return (Again, made[id(value)], ())
            made[id(value)] = len(made)
        if (isinstance(value, tuple) and (kind is tuple or hasattr(value, "_fields"))) or kind is list:
            return (kind, tuple([self._flatten(v, leaves, made) for v in value]))
        if kind is dict:
            parts = tuple([self._flatten(v, leaves, made) for v in value.values()])
            return (dict, tuple(map(_known_key, value)), parts)
        if id(value) in made:
            parts = tuple([self._flatten(v, leaves, made) for v in attributes_of(value).values()])
            return (Record, original_class(value), tuple(attributes_of(value)), parts)
        leaves.append(value)
        return None

    def stores(self, result: Any, leaves: list[Any]) -> tuple[Structure, tuple[Store, ...]]:
        """The structure of the result, and what has been stored; `leaves` get those of the result first."""
        made: dict[int, int] = {}
        structure = self._flatten(result, leaves, made)
        found = []
        for container, path, before in self._known.values():
            if type(container) is types.FunctionType:
                continue  # code that assigns to what it has closed over is not traced
            if type(container) is Appended:
                if container.items:
                    added = self._flatten(tuple(container.items), leaves, made)
                    found.append(Store(path, None, added, appends=True))
                continue
            if type(container) is list:
                if len(before) != len(container) or any(a is not b for a, b in zip(before, container)):
                    found.append(Store(path, None, self._flatten(tuple(container), leaves, made)))
                continue
            after = container if type(container) is dict else attributes_of(container)
            where = path if type(container) is dict else (*path, Attributes)
            keys = tuple(k for k, v in after.items() if k not in before or v is not before[k])
            removed = tuple(k for k in before if k not in after)
            if keys or removed:
                order = [*(k for k in before if k in after), *(k for k in keys if k not in before)]
                if list(after) != order:
                    raise Untraceable("deletes a key or attribute and sets it again")
                made_keys = tuple(map(_known_key, keys))
                values = self._flatten(tuple(after[k] for k in keys), leaves, made)
                found.append(Store(where, made_keys, values, removed))
        return structure, tuple(found)


def _known_key(key: Any) -> Any:
    """A key of a dict, which holds values and no symbols: the value of one is looked at."""
    if type(key) is Tracer:
        return key._value("a key of a dict is made of it", lambda value: value)
    return tuple(map(_known_key, key)) if type(key) is tuple else key


def original_class(value: Any) -> type:
    """The class of an object outside of the trace."""
    return vars(type(value)).get("__jitrt_class__", type(value))


def find(arguments: Any, path: Path) -> Any:
    """What is at a path."""
    for key in path:
        if key is Closure:
            arguments = parts_of(arguments)
        else:
            arguments = attributes_of(arguments) if key is Attributes else arguments[key]
    return arguments


def apply(stores: Sequence[Store], places: Sequence[Any], values: Sequence[Any]) -> None:
    """Store `values` in the lists and dicts `places`, all found before anything is stored."""
    for store, place, value in zip(stores, places, values):
        if store.keys is None:
            place[len(place) if store.appends else 0 :] = value
            continue
        for key in store.removed:
            del place[key]
        place.update(zip(store.keys, value))
