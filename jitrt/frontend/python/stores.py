"""What a traced function leaves behind in the objects, dicts and lists that it was given.

The trace works on copies of them. What it has put into a copy by the end is a further result of the program, and is
put into the object itself when nothing can fail any more: until then a call that has to run plain finds everything as
it was.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...base.frozen import frozen
from ...errors import Untraceable
from ...values import kinds
from ...values.attributes import attributes_of, original_class
from ...values.constants import is_constant
from ...values.growing import Appended
from ...values.mappings import put
from ...values.masked import changes
from ..numpy.tracer import Tracer

# What a call gets: positional and keyword arguments, and the lists, dicts and objects that the function names.
Arguments = tuple[tuple, dict[str, Any], tuple]


@frozen
class Store:
    """A change of a list or of a dict, which may be that of an object's attributes.

    Parameters
    ----------
    path : Path
        Where the list or dict is.
    keys : tuple, optional
        What is assigned to in a dict; None for a list, whose elements are all replaced.
    structure : Tree
        Of what is stored: a tuple of elements, or of the values of the keys.
    removed : tuple
        Keys that are deleted.
    appends : bool
        Whether the elements of a list stay, and others are added.
    """

    path: kinds.Path
    keys: tuple[Any, ...] | None
    structure: kinds.Tree
    removed: tuple[Any, ...] = ()
    appends: bool = False


@frozen(eq=False)
class Given:
    """A leaf of a result that is an object, a dict, a list or a function of the caller's."""

    path: kinds.Path


@frozen(eq=False)
class _Known:
    """An object, dict, list or function that a trace got, where it is, and what it held then."""

    value: Any
    path: kinds.Path
    kind: kinds.Kind
    what: Any
    parts: tuple[Any, ...]


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
        self._known: dict[int, _Known] = {}
        args, kwargs, state = arguments
        self._walk(args, (0,))
        self._walk(state, (2,))
        for name, value in kwargs.items():  # the dict itself is made for each call
            self._walk(value, (1, name))

    def _walk(self, value: Any, path: kinds.Path) -> None:
        if id(value) in self._known:
            return
        kind = (
            kinds.FUNCTION
            if id(value) in self._functions
            else kinds.GROWING
            if type(value) is Appended
            else _kind(value)
        )
        if kind is None:
            return
        what, parts = kind.take(value)
        if kind.begin is not None:
            self._known[id(value)] = _Known(value, path, kind, what, tuple(parts))
        for step, part in zip(kind.steps(what, parts), parts):
            self._walk(part, (*path, *step))

    def objects(self) -> list[Any]:
        """The objects."""
        return [known.value for known in self._known.values() if known.kind is kinds.OBJECT]

    def _flatten(self, value: Any, leaves: list[Any], made: dict[int, int]) -> kinds.Tree:
        """As `kinds.flatten` does it for results: what the caller has given is a leaf.

        `made` numbers the lists, dicts and objects by their identity.
        """
        known = self._known.get(id(value))
        kind = _kind(value)
        if kind is None or known is not None:
            leaves.append(value if known is None else Given(known.path))
            return None
        if kind.begin is not None:
            if id(value) in made:
                return (kinds.AGAIN, made[id(value)], ())
            made[id(value)] = len(made)
        if kind is kinds.RECORDS:
            raise Untraceable("returns a part of an array of records, or keeps one")
        what, parts = kind.take(value)
        if kind is kinds.PARTIAL:
            raise Untraceable("returns a partial function, or keeps one")
        if kind is kinds.DICT:
            what = tuple(map(_known_key, what))
        elif kind is kinds.MAPPING:
            what = what._replace(keys=tuple(map(_known_key, what.keys)))
        return (kind, what, tuple([self._flatten(part, leaves, made) for part in parts]))

    def stores(self, result: Any, leaves: list[Any]) -> tuple[kinds.Tree, tuple[Store, ...]]:
        """The structure of the result, and what has been stored; `leaves` get those of the result first."""
        made: dict[int, int] = {}
        structure = self._flatten(result, leaves, made)
        found = []
        for known in self._known.values():
            container, kind = known.value, known.kind
            if kind is kinds.FUNCTION or kind is kinds.RECORDS:
                continue  # code that assigns to what it has closed over is not traced; fields stay the same arrays
            if kind is kinds.GROWING:
                if container.items:
                    added = self._flatten(tuple(container.items), leaves, made)
                    found.append(Store(known.path, None, added, appends=True))
                continue
            if kind is kinds.LIST:
                if len(known.parts) != len(container) or any(a is not b for a, b in zip(known.parts, container)):
                    found.append(Store(known.path, None, self._flatten(tuple(container), leaves, made)))
                continue
            if kind is kinds.MASKED:
                if changed := changes(container, known.what, known.parts):
                    values = self._flatten(tuple(changed.values()), leaves, made)
                    found.append(Store((*known.path, *kind.lead), tuple(changed), values))
                continue
            before = dict(zip(kind.names(known.what, known.parts), known.parts))
            after = container if kind is kinds.DICT or kind is kinds.MAPPING else attributes_of(container)
            keys = tuple(k for k, v in after.items() if k not in before or v is not before[k])
            removed = tuple(k for k in before if k not in after)
            if list(after) != [*(k for k in before if k in after), *(k for k in keys if k not in before)]:
                raise Untraceable("deletes a key or attribute and sets it again")
            if keys or removed:
                made_keys = tuple(map(_known_key, keys))
                values = self._flatten(tuple(after[k] for k in keys), leaves, made)
                found.append(Store((*known.path, *kind.lead), made_keys, values, removed))
        return structure, tuple(found)


def _known_key(key: Any) -> Any:
    """A key of a dict, which holds values and no symbols: the value of one is looked at.

    Raises
    ------
    Untraceable
        If it is, or holds, what a trace may have a copy of, which is another key.
    """
    if type(key) is Tracer:
        return key._value("a key of a dict is made of it", lambda value: value)
    if type(key) is tuple:
        return tuple(map(_known_key, key))
    if is_constant(key) or (type(key) is type and original_class(key) is key):
        return key
    raise Untraceable(f"returns a dict with a {type(key).__name__} as a key, or keeps one")


def _kind(value: Any) -> kinds.Kind | None:
    """The kind of a value of a trace, in which all tuples with names of fields are these."""
    return kinds.kind_of(value) or kinds.kind_of(value, objects=False)


def apply(stores: Sequence[Store], places: Sequence[Any], values: Sequence[Any]) -> None:
    """Store `values` in the lists and dicts `places`, all found before anything is stored."""
    for store, place, value in zip(stores, places, values):
        if store.keys is None:
            place[len(place) if store.appends else 0 :] = value
            continue
        for key in store.removed:
            del place[key]
        put(place, store.keys, value)
