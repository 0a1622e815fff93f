"""Objects that staged functions make, from the call of their class on to the result or the list that holds them."""

from __future__ import annotations

import ast
import types
from collections import namedtuple
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...base.syntax import syntax_tree
from ...values.attributes import has_plain_attributes, has_plain_fields
from ...values.functions import MISSING
from . import composites, lists
from .composites import Cell
from .holders import holds
from .kinds import Kind, NoneOr, Parts, join, kind_of
from .objects import assign, check_not_given_away, found_in, is_constant, need_identity, note_class
from .source import bind
from .values import BOOL, Attributes, Composite, NotStaged, held_by
from .variables import Variable

if TYPE_CHECKING:
    from .expressions import Expressions


def is_made(kind: Any) -> bool:
    """Whether a call of this makes an object of a class of the user's."""
    return isinstance(kind, type) and (has_plain_attributes(kind) or has_plain_fields(kind))


def make(where: Expressions, kind: type, args: list[Any], kwargs: dict[str, Any], e: Any) -> Composite:
    """``kind(*args, **kwargs)``."""
    r, place = where.r, where.place_of(e)
    note_class(where, kind)
    if has_plain_fields(kind):
        return _tuple(where, kind, args, kwargs, place)
    init = found_in(where, kind.__mro__, "__init__")
    changes = place in r.changing
    parts = {} if changes else Attributes()
    made = Composite(kind, parts, place if changes else None, {}, frozenset({place}), r.inside, r.depth)
    if changes:
        r.holders.append(made)
        _begin_cells(where, made)
    if isinstance(init, types.FunctionType):
        if where.inlined(init, [made, *args], kwargs, e) is not None:
            raise NotStaged(f"{kind.__name__}.__init__ returns a value")
    elif kind is types.SimpleNamespace and not args:
        for name, value in kwargs.items():
            assign(where, made, name, value, e)
    elif init is not MISSING or args or kwargs:
        raise NotStaged(f"arguments of {kind.__name__}")
    check_not_given_away(r, made)
    if isinstance(parts, Attributes):
        parts.is_open = False
    return made


def _begin_cells(where: Expressions, made: Composite) -> None:
    """Cells of attributes that may not be assigned on all ways: those of the class stand in for them."""
    r = where.r
    for name, kind in r.cells.get(made.place, {}).items():
        if (made.place, name) not in r.changing:
            continue
        default = found_in(where, made.kind.__mro__, name)
        is_default = is_constant(default)
        whole: Kind = join(kind, kind_of(default)) if is_default else kind
        cell = made.cells[name] = Cell(Variable(r, whole), r.variable(), False)
        r.put(cell.is_set, r.literal(is_default, BOOL), BOOL)
        if is_default:
            cell.variable.put(r, default)


def _tuple(where: Expressions, kind: type, args: list[Any], kwargs: dict[str, Any], place: Any) -> Composite:
    """A tuple with names of fields."""
    new = getattr(found_in(where, kind.__mro__, "__new__"), "__func__", None)
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    if not isinstance(new, types.FunctionType) or not _is_generated(new.__code__, fields):
        raise NotStaged(f"a call of {kind.__name__}")
    where.captures.note_function(new)
    owner = next(c for c in kind.__mro__ if "_fields" in vars(c))
    where.captures.note("_fields", fields, owner, "_fields")
    bound = bind(_definition(fields), new.__defaults__ or (), [where.kept(v) for v in args], kwargs)
    return Composite(kind, {name: where.kept(bound[name]) for name in fields}, places=frozenset({place}))


@lru_cache(maxsize=512)
def _is_generated(code: types.CodeType, fields: tuple[str, ...]) -> bool:
    """Whether it is what `namedtuple` writes for the method ``__new__``."""
    usual = namedtuple("usual", fields).__new__.__code__
    return all(
        getattr(code, part) == getattr(usual, part)
        for part in ("co_code", "co_names", "co_varnames", "co_consts", "co_argcount", "co_freevars")
    )


@lru_cache(maxsize=512)
def _definition(fields: tuple[str, ...]) -> ast.FunctionDef:
    """A definition with these parameters."""
    made = syntax_tree(f"def __new__({', '.join(fields)}): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    return made


def replaced(where: Expressions, value: Composite, kwargs: dict[str, Any], e: Any) -> Composite:
    """``value._replace(**kwargs)``."""
    if not kwargs.keys() <= value.parts.keys():
        raise NotStaged("names of no fields")
    parts = {name: where.kept(kwargs[name]) if name in kwargs else value.part(name) for name in value.parts}
    return Composite(value.kind, parts, places=frozenset({where.place_of(e)}))


# -- objects in lists


def element(where: Expressions, values: lists.GrownList, value: Composite, e: Any) -> Composite:
    """An object that is appended to a list: that it is its attributes from here on, and has no other name.

    Where the elements of the list do not change, nobody sees whether they have other names.
    """
    r = where.r
    if value.of is not None or issubclass(value.kind, tuple) or not value.places:
        return value
    is_new = isinstance(e, ast.Call) and value.places == {where.place_of(e)}
    if not value.is_value:
        check_not_given_away(r, value)
        r.given_away.append(value)
    elif is_new or not values.is_changing(r):
        values.is_shared |= not is_new
        return value
    else:
        need_identity(r, value)
    if holds(r, value) or value.depth < r.depth:
        raise NotStaged("an object that may be in a list several times")
    where.forget(value)
    return Composite(value.kind, attributes_at_end(r, value), places=value.places)


# -- results


def objects_in(value: Any) -> Iterator[Composite]:
    """The objects that the function makes in a value, each as often as it occurs."""
    if isinstance(value, Composite) and value.places:
        yield value
    if isinstance(value, Composite):
        value = held_by(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from objects_in(part)


def _places_in(kind: Kind) -> Iterator[frozenset[Hashable]]:
    """For each object that a value of a kind holds, the places where it may be made."""
    if isinstance(kind, NoneOr):
        yield from _places_in(kind.kind)
    elif isinstance(kind, Parts):
        if kind.places and not issubclass(kind.make, tuple):
            yield kind.places
        for part in kind.kinds:
            yield from _places_in(part)


def check_results(values: list[Any]) -> None:
    """Raise `NotStaged` where two results may be one object."""
    objects = [made for value in values for made in objects_in(value) if not issubclass(made.kind, tuple)]
    if any(made.of is not None for made in objects):
        raise NotStaged("a result that is an object in a list")
    cells = [cell.variable.kind for made in objects for cell in made.cells.values() if not cell.is_same]
    found = [*(made.places for made in objects), *(places for kind in cells for places in _places_in(kind))]
    if sum(map(len, found)) > len(frozenset().union(*found)):
        raise NotStaged("a result that may be an object several times")


def attributes_at_end(where_read: Any, value: Composite) -> dict[str, Any]:
    """The attributes of an object that is a result, in the order in which they have been assigned.

    Raises
    ------
    NotStaged
        If that depends on the way.
    """
    if not all(cell.begins for cell in value.cells.values()):
        raise NotStaged("a result that is an object whose attributes may not all be assigned")
    names = value.cells if value.place is not None else value.parts
    return {name: composites.read(where_read, value, name) for name in names}
