"""Objects in staged functions: those of arguments, and those that the function makes, which are never built.

The attributes of an object that is made are variables of the procedure; its methods stand in place of their calls.

    w = Welford()                     →    v1 = 0, v2 = 0.0
    for x in values: w.add(x)              for …: v1 = v1 + 1, v2 = v2 + (x - v2) / v1

An object that no statement changes once it is made is its attributes: variables hold these, and ways that meet may have
made it at different places (`Composite.is_value`). One that is changed is one object under all of its names; its
attributes are `Cell`s. Whether it is changed turns out when it is: staging begins again then.
"""

from __future__ import annotations

import enum
import types
from collections import namedtuple
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...base.frozen import frozen
from ...values.attributes import (
    GENERATED,
    OWN_WAYS,
    USUAL_WAYS,
    has_plain_attributes,
    has_plain_fields,
    slots_of,
)
from ...values.functions import MISSING, is_jitted, underlying
from . import arithmetic, composites, lists, references
from .composites import Cell
from .kinds import Parts, Reference, Same, is_covered, join, kind_of, seen_from
from .recorder import Recorder
from .values import (
    BOOL,
    Attributes,
    Composite,
    DictDisplay,
    Display,
    Gone,
    ListChanges,
    Method,
    NotStaged,
    RunTime,
    integer,
)
from .variables import Variable

if TYPE_CHECKING:
    from .expressions import Expressions

_WAYS = (*OWN_WAYS, *USUAL_WAYS, "__setattr__", "__init__")
NAMED_TUPLE: Any = namedtuple("NAMED_TUPLE", "")


@frozen(eq=False)
class Replace:
    """The method `_replace` of a tuple with names of fields."""

    owner: Composite


@frozen(eq=False)
class Super:
    """``super()``: an object, and the class behind which its attributes are looked for."""

    owner: Any
    behind: type


def is_object(value: Any) -> bool:
    """Whether a value is an object of a class of the user's."""
    return isinstance(value, Composite) and value.kind is not dict and not composites.is_records(value)


# -- classes


def note_class(where: Expressions, kind: type) -> None:
    """Note that what objects of a class are has to stay as it is."""
    where.captures.note("__mro__", kind.__mro__, kind, "__mro__")
    for name in _WAYS:
        found_in(where, kind.__mro__, name)


def found_in(where: Expressions, classes: tuple[type, ...], name: str) -> Any:
    """What the first of these classes that has the name has under it, which has to stay so; or a mark of its own."""
    for c in classes:
        if c is object:
            break
        found = vars(c).get(name, MISSING)
        where.captures.note(name, found, c, name)
        if found is not MISSING:
            return found
    return MISSING


def member(where: Expressions, value: Composite, name: str) -> Any:
    """What the class of an object has under a name."""
    if value.places:
        return found_in(where, value.kind.__mro__, name)
    return next((vars(c)[name] for c in value.kind.__mro__[:-1] if name in vars(c)), MISSING)  # in the key of the call


def is_constant(value: Any) -> bool:
    """Whether a value that a class has never changes."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return isinstance(value, (bool, int, float, complex, str, type(None), np.generic, enum.Enum))


def _bound(where: Expressions, found: Any, owner: Any, kind: type, name: str, e: Any) -> Any:
    """What an attribute is that a class has: of an object, or, where `owner` is None, of the class."""
    if isinstance(found, property) and owner is not None and found.fget is not None:
        return where.inlined(found.fget, [owner], {}, e)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        return Method(kind, found.__func__)
    if is_jitted(found) or isinstance(found, types.FunctionType):
        function = underlying(found)
        return function if owner is None else Method(owner, function)
    if is_constant(found):
        return found
    raise NotStaged(f"the attribute {name} of {kind.__name__}")


def of_class(where: Expressions, kind: type, name: str, e: Any) -> Any:
    """``kind.name``."""
    if issubclass(kind, enum.Enum) and name in kind.__members__:
        return kind.__members__[name]
    if kind is object and name == "__setattr__":
        return object.__setattr__
    if has_plain_attributes(kind) or has_plain_fields(kind):
        note_class(where, kind)
        found = found_in(where, kind.__mro__, name)
        if found is not MISSING and not name.startswith("__"):
            return _bound(where, found, None, kind, name, e)
        if isinstance(found, types.FunctionType):
            return found
    raise NotStaged(f"the attribute {name} of the class {kind.__name__}")


def super_of(where: Expressions, args: list[Any]) -> Super:
    """``super()``."""
    function = where.function
    if args or "__class__" not in where.cells or not function.__code__.co_argcount:
        raise NotStaged("a call of super")
    behind = where.captures.of("__class__", where.cells["__class__"], None)
    owner = where.variables.get(function.__code__.co_varnames[0])
    if not (isinstance(owner, Composite) and is_object(owner)) or behind not in owner.kind.__mro__:
        raise NotStaged("a call of super")
    return Super(owner, behind)


def of_super(where: Expressions, value: Super, name: str, e: Any) -> Any:
    """``super().name``."""
    mro = value.owner.kind.__mro__
    found = found_in(where, mro[mro.index(value.behind) + 1 :], name)
    if found is MISSING and name == "__init__" and not issubclass(value.owner.kind, tuple):
        return Method(value.owner, object.__init__)
    return _bound(where, found, value.owner, value.owner.kind, name, e)


# -- attributes


def attribute(where: Expressions, value: Composite, name: str, e: Any) -> Any:
    """``value.name``."""
    if value.kind is dict:
        raise NotStaged(f"the method {name} of a dict")
    if composites.is_records(value):
        return composites.of_records(value, name)
    found = member(where, value, name)
    if name == "__class__" and found is MISSING:
        return value.kind
    if isinstance(found, property):
        return _bound(where, found, value, value.kind, name, e)
    if value.is_element and value.of is not None and name in value.of[0].kind.keys:
        return lists.attribute(where.r, *value.of, name)
    check_not_given_away(where.r, value)
    if value.kind is not tuple and (name in value.cells or name in value.parts):
        made = composites.read(where.r, value, name)
        if isinstance(made, Gone):
            references.need("an object of an earlier iteration", made)
        return made
    code = getattr(found, "__code__", None)
    if name == "_replace" and has_plain_fields(value.kind) and code is NAMED_TUPLE._replace.__code__:
        return Replace(value)
    if found is MISSING or name in GENERATED:
        raise NotStaged(f"{value.kind.__name__} has no {name!r}")
    return _bound(where, found, value, value.kind, name, e)


def assign(where: Expressions, owner: Composite, name: str, value: Any, e: Any) -> None:
    """``owner.name = value``."""
    found = member(where, owner, name)
    if isinstance(found, property) and found.fset is not None:
        where.inlined(found.fset, [owner, value], {}, e)
    elif owner.places:
        composites.check_assignable(owner, name)
        _set(where, owner, name, value)
    else:
        composites.write(where.r, owner, name, value)


def set_directly(where: Expressions, owner: Any, name: Any, value: Any) -> None:
    """``object.__setattr__(owner, name, value)``, as frozen dataclasses initialise their fields."""
    if not (is_object(owner) and owner.places and isinstance(name, str)) or issubclass(owner.kind, tuple):
        raise NotStaged("a call of __setattr__")
    composites.check_attribute(owner, name)
    _set(where, owner, name, value)


def _set(where: Expressions, owner: Composite, name: str, value: Any) -> None:
    """Assign an attribute of an object that the function makes."""
    r = where.r
    check_not_given_away(r, owner)
    if owner.kind.__dictoffset__ == 0 and name not in slots_of(owner.kind):
        raise NotStaged(f"{owner.kind.__name__} has no {name!r}")
    if owner.of is not None:
        if not owner.is_element:
            owner.of[0].need_changes(r)
        lists.set_attribute(r, *owner.of, name, where.referred(owner.of[0], value))
        return
    if owner.place is None:
        if isinstance(owner.parts, Attributes) and owner.parts.is_open and r.inside == owner.block:
            r.change(owner.parts, name, value)
            return
        need_identity(r, owner)
    found = kind_of(value)
    parted = owner.place, name, "parts"  # where different tuples or lists are assigned
    if isinstance(value, (tuple, list)) and isinstance(found, Same) and parted in r.changing:
        found = Parts(list if isinstance(value, list) else type(value), tuple(map(kind_of, value)))
    cell = owner.cells.get(name)
    before = None if cell is None else cell.variable.kind
    if isinstance(before, Same) and isinstance(before.value, (tuple, list)) and not is_covered(found, before):
        r.changing.add(parted)
        raise ListChanges("tuples that change")
    if isinstance(found, Reference) and before is not None:
        join(before, found)  # which both have to be references
    is_one_object = isinstance(found, Same) and not (value is None or isinstance(value, (str, enum.Enum)))
    if is_one_object:
        _check_object(owner, value)
        known = {} if name not in owner.cells else {name: owner.cells[name].variable.kind}
    else:
        found, known = seen_from(r, found, frozenset({0})), r.cells.setdefault(owner.place, {})
    known[name] = join(known[name], found) if name in known else found
    if cell is None or not is_covered(found, cell.variable.kind):
        begins = r.inside == owner.block if cell is None else cell.begins
        if cell is not None:
            r.begins_again = True  # it has been kept as something narrower so far
        elif not begins:
            if (owner.place, name) in r.changing:
                raise NotStaged("an attribute that may not be assigned")
            r.changing.add((owner.place, name))
            r.begins_again = True
        cell = Cell(Variable(r, known[name]), "" if begins else r.variable(), begins)
        r.change(owner.cells, name, cell)
    cell.variable.put(r, value)
    if not cell.begins:
        r.put(cell.is_set, r.literal(True, BOOL), BOOL)


def check_not_given_away(r: Recorder, value: Composite | DictDisplay) -> None:
    """Raise `NotStaged` if an object is an element of a list now, whatever held it before."""
    if any(known is value for known in r.given_away):
        raise NotStaged("an object that is in a list, under another name")


def need_identity(r: Recorder, value: Composite) -> NoReturn:
    """Begin again with one object in place of its attributes."""
    if value.of is not None and not value.is_element:
        value.of[0].need_changes(r)
    if value.places <= r.changing or issubclass(value.kind, tuple):
        raise NotStaged("an object that may be one of several")
    r.changing |= value.places
    raise ListChanges("an object that changes, or of which it matters which it is")


def is_same(r: Recorder, x: Any, y: Any) -> Any:
    """``x is y``, one of which is an object."""
    objects = [value for value in (x, y) if is_object(value)]
    if len(objects) == 2 and all(value.of is not None for value in objects) and x.of[0] is y.of[0]:
        if not x.is_element:
            x.of[0].need_changes(r)
        return arithmetic.compare(r, "equal", integer(x.of[1]), integer(y.of[1]))
    for value in objects:
        if len(objects) == 2 and value.is_value:
            need_identity(r, value)
    return x is y


def _check_object(owner: Composite, value: Any) -> None:
    """Raise `NotStaged` if an attribute must not hold what may be another object later on."""
    if isinstance(value, Composite) and value.is_element:
        raise NotStaged("an object in a list, as an attribute of another one")
    if isinstance(value, (RunTime, Composite)) and value.depth > owner.depth:
        references.need("an object that is made in a loop, as the attribute of one that is not", value)
    if isinstance(value, (list, dict)) and not isinstance(value, (Display, DictDisplay)):
        raise NotStaged("a list as an attribute of an object that changes")
