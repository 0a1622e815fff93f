"""Python's containers of run time: deques, sets, and dicts whose keys are chosen by values. See `written_containers`.

seen = set()              →    an object with a list of keys and a table of places
seen.add((i, j))          →    the statements of `written_containers.Set.add`
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...ir.integers import Poly
from ...values.functions import MISSING
from . import composites, lists, makingobjects, objects, references, scalars, sharing, strings
from .arrays import ZERO
from .ranges import Iteration
from .registry import function
from .values import (
    Composite,
    DictDisplay,
    ListChanges,
    ListsMeet,
    NotStaged,
    Referenced,
    RunTime,
    dtype_of,
    is_number,
    is_static,
)
from .written_containers import Counter, DefaultDict, Deque, Dict, ListDict, Set, new_list

if TYPE_CHECKING:
    from .expressions import Expressions
    from .recorder import Recorder

PYTHONS: dict[type, type] = {
    Deque: collections.deque, Set: set, Dict: dict, Counter: collections.Counter, DefaultDict: collections.defaultdict,
    ListDict: collections.defaultdict,
}  # fmt: skip
_MADE_BY = {kind: own for own, kind in PYTHONS.items() if own not in (Dict, ListDict)}
_VIEWS = ("keys", "values", "items")
_FACTORIES: dict[Any, Any] = {int: 0, float: 0.0, bool: False}


class DictView(RunTime):
    """``d.keys()``, ``d.values()`` or ``d.items()``."""

    def __init__(self, owner: Any, name: str):
        self.owner, self.name = owner, name


class SetDisplay(set[Any]):
    """A set as it is written out, of elements that are known. Where one is added, staging begins again."""

    def __init__(self, values: Iterable[Any], place: Hashable):
        super().__init__(values)
        self.place = place


class Container:
    """How results are made that are containers; as a `values.kinds.Kind`."""

    def made(self, what: tuple[type, Any], parts: Any) -> Any:
        """A container of that class, of its parts; a `Deque` is made with its `maxlen`, others with a factory."""
        own, option = what
        if own is Deque:
            values, first, maxlen = parts
            return collections.deque(values[first:], maxlen)
        if own is Set:
            made = set()
            for key in parts[0]:  # one after the other, since the order of a set depends on that
                made.add(key)
            return made
        items = zip(*parts)
        if own in (DefaultDict, ListDict):
            return collections.defaultdict(option, items)
        return PYTHONS[own](dict(items))


CONTAINER = Container()


def is_container(value: Any) -> bool:
    """Whether a value is one of these containers."""
    return isinstance(value, Composite) and value.kind in PYTHONS


def has_items(value: Any) -> bool:
    """Whether a value is a dict of run time."""
    return is_container(value) and issubclass(value.kind, Dict)


@function(new_list)
def _new_list(r: Recorder, owner: Composite) -> Referenced:
    place = owner.place, "lists"
    if not references.is_reference(r, place):
        raise ListsMeet("a dict of lists", (frozenset({place}), None))
    return references.new(r, place)


def slot(where: Expressions, value: Composite, key: Any, e: Any) -> tuple[Any, Any]:
    """The list of values of a dict, and the index of that of a key; a key that is missing gets the default value."""
    with where.r.aside():
        at = where.inlined(objects.attribute(where, value, "_slot", e).function, [value, key], {}, e)
    return objects.attribute(where, value, "_values", e), at


def is_made(function: Any) -> bool:
    """Whether a call of this makes one of them."""
    return isinstance(function, type) and function in _MADE_BY


def make(where: Expressions, function: Any, args: list[Any], kwargs: Mapping[str, Any], e: Any) -> Composite:
    """``deque(…)``, ``set(…)``, ``Counter(…)`` or ``defaultdict(…)``."""
    own = _MADE_BY[function]
    if own is DefaultDict:
        if args == [list] and not kwargs:
            return _made(where, ListDict, [], {}, e)
        if len(args) != 1 or kwargs or type(args[0]) is not type or args[0] not in _FACTORIES:
            raise NotStaged("a defaultdict of this")
        args = [_FACTORIES[args[0]]]
    elif kwargs.keys() - ({"maxlen"} if own is Deque else set()) or any(isinstance(v, dict) for v in args):
        raise NotStaged(f"arguments of {function.__name__}")
    return _made(where, own, [_values_of(where, v) for v in args], kwargs, e)


def _made(where: Expressions, own: type, args: list[Any], kwargs: Mapping[str, Any], e: Any) -> Composite:
    """An object that changes, whose lists are supposed to hold integers until something else is added."""
    r = where.r
    r.changing.add(where.place_of(e))
    count = len(r.grown)
    with r.aside():
        made = makingobjects.make(where, own, args, dict(kwargs), e)
    for values in r.grown[count:]:
        values.suppose(r)
    return made


def hashed(where: Expressions, values: Any, e: Any) -> Composite:
    """A dict or a set that is written out, as one whose keys are chosen by values."""
    if isinstance(values, dict):
        return _made(where, Dict, [tuple(values), tuple(values.values())], {}, e)
    given = {"keys": tuple(values)} if isinstance(values, SetDisplay) else {"values": tuple(values)}
    return _made(where, Set, [], given, e)


def items_of(where: Expressions, value: Any = ()) -> dict[Any, Any] | None:
    """What ``dict(value)`` holds, if that is known."""
    if not _is_dict(value):
        return {} if value == () else None
    return dict(iteration(where, DictView(value, "items")))  # type: ignore[arg-type]


def items_in(value: Any) -> Any:
    """What ``dict(value)`` goes through."""
    return DictView(value, "items") if is_container(value) else value


def keys_of(where: Expressions, value: Any) -> Any:
    """The list of the elements of a set, for what does not depend on their order; None for other values."""
    is_set = is_container(value) and value.kind is Set
    if is_set:
        compact(where, value)
    return objects.attribute(where, value, "_keys", None) if is_set else None


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, Composite) and value.kind is dict)


def is_hashed(r: Recorder, place: Hashable) -> bool:
    """Whether the keys of the dict that is made there are chosen by values."""
    return (place, "hashed") in r.changing


def need_hashed(r: Recorder, owner: Any, key: Any = None) -> NoReturn:
    """Begin again with a dict whose keys are chosen by values, since this one is.

    Raises
    ------
    NotStaged
        If the dict is an argument, or the key a text, of which only characters have a number at run time.
    """
    if isinstance(key, strings.Text):
        raise NotStaged("a text of run time as a key")
    place = owner.place if isinstance(owner, (Composite, DictDisplay, SetDisplay)) else None
    if not isinstance(place, tuple) or isinstance(place[0], int):
        raise NotStaged("a key of a dict that is not known")
    if is_hashed(r, place):
        raise NotStaged("a key of a dict")
    r.changing.add((place, "hashed"))
    raise ListChanges("a dict whose keys values decide on")


def method(where: Expressions, value: Any, name: str, args: list[Any]) -> Any:
    """What a method of a dict or a set that is written out gives, or a view of any dict; MISSING for others."""
    is_dict = _is_dict(value)
    if name in _VIEWS and not args and (is_dict or has_items(value)):
        return DictView(value, name)
    if isinstance(value, SetDisplay) and name in ("add", "update", "remove", "discard", "clear"):
        need_hashed(where.r, value)
    if is_dict and name in ("pop", "clear"):
        need_hashed(where.r, value)
    if is_dict and name in ("get", "setdefault") and 1 <= len(args) <= 2:
        if name == "setdefault" or not is_static(args[0]):
            need_hashed(where.r, value, args[0])
        known = value.parts if isinstance(value, Composite) else value
        return _item(where, value, args[0]) if args[0] in known else (*args[1:], None)[0]
    return MISSING


def _item(where: Expressions, value: Any, key: Any) -> Any:
    return composites.item(where.r, value, key) if isinstance(value, Composite) else value[key]


def iteration(where: Expressions, value: Any) -> Iteration | list[Any]:
    """What a loop over a container runs over. It must not grow meanwhile."""
    r = where.r
    if isinstance(value, Composite) and value.kind is Set:
        raise NotStaged("the order of a set")
    if isinstance(value, Composite) and value.kind is Deque:
        values, first = (objects.attribute(where, value, name, None) for name in ("_values", "_first"))
        begin = scalars.poly_of(r, first)
        r.iterated.append(values)
        n = lists.length(r, values) - begin
        return Iteration(ZERO, n, 1, n, lambda k: lists.element(r, values, begin + k))
    owner, name = (value.owner, value.name) if isinstance(value, DictView) else (value, "keys")
    if not is_container(owner):
        keys = tuple(owner.parts if isinstance(owner, Composite) else owner)
        if name == "keys":
            return list(keys)
        return [(key, _item(where, owner, key)) if name == "items" else _item(where, owner, key) for key in keys]
    compact(where, owner)
    keys, held = (objects.attribute(where, owner, part, None) for part in ("_keys", "_values"))
    r.iterated.append(keys)
    n = lists.length(r, keys)

    def bind(k: Poly) -> Any:
        if name == "items":
            return lists.element(r, keys, k), lists.element(r, held, k)
        return lists.element(r, keys if name == "keys" else held, k)

    return Iteration(ZERO, n, 1, n, bind)


_NOWHERE: Any = ast.Constant(None, lineno=0, col_offset=0)


def compact(where: Expressions, value: Any) -> None:
    """Leave keys out of the list of keys that have been removed."""
    if is_container(value) and sharing.removes(where.r, value):
        with where.r.aside():
            where.inlined(objects.attribute(where, value, "_compact", None).function, [value], {}, _NOWHERE)


def remove(where: Expressions, owner: Any, key: Any, e: Any) -> None:
    """``del owner[key]``."""
    if _is_dict(owner):
        need_hashed(where.r, owner)
    if not has_items(owner):
        raise NotStaged("a part that is deleted")
    with where.r.aside():
        where.inlined(objects.attribute(where, owner, "__delitem__", e).function, [owner, key], {}, e)


def _values_of(where: Expressions, value: Any) -> Any:
    if is_container(value) or isinstance(value, DictView):
        raise NotStaged("a container of what is in another one")
    return value


def result_parts(r: Recorder, value: Composite) -> tuple[tuple[type, Any], list[Any]]:
    """What a result that is a container is made of."""
    names: tuple[str, ...] = ("_keys", "_values")
    if not issubclass(value.kind, Dict):
        names = ("_values", "_first", "maxlen") if value.kind is Deque else ("_keys",)
        if sharing.removes(r, value):
            raise NotStaged("the order of a set that elements were removed from")
    parts = makingobjects.attributes_at_end(r, value)
    option: Any = list if value.kind is ListDict else None
    if value.kind is DefaultDict:
        option = next(f for f, v in _FACTORIES.items() if np.dtype(type(v)) == dtype_of(parts["_default"]))
    if not all(is_number(parts[n]) or parts[n] is None or isinstance(parts[n], lists.GrownList) for n in names):
        raise NotStaged(f"a result that is a {PYTHONS[value.kind].__name__}")
    return (value.kind, option), [parts[name] for name in names]
