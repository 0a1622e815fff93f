"""The attributes of objects of the user's classes, in a dict or in slots, and which classes have nothing else."""

from __future__ import annotations

import abc
import sys
import types
import typing
from collections import namedtuple
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .versions import Unchanged

OWN_WAYS = (
    "__del__",
    "__getattr__",
    "__array__",
    "__array_ufunc__",
    "__array_function__",
    "__jitrt_function__",
)
# What a class may not do in another way than `object`, but for ``__setattr__`` of frozen dataclasses.
USUAL_WAYS = ("__getattribute__", "__new__")
# Modules whose objects are more than they hold; those of `argparse` are not.
_OTHERS = (sys.stdlib_module_names | {"numpy"}) - {"__main__", "argparse"}
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE, which classes of C code may have, too


_USUAL_SIZE = type("Usual", (), {}).__basicsize__  # of an object with nothing but attributes
# What references to an object that do not keep it take in it: since Python 3.12 they are in front of it.
_WEAK_SIZE = type("Weak", (), {"__slots__": ("__weakref__",)}).__basicsize__ - object.__basicsize__


# What has been found of classes, and whether that still holds.
_Known = dict[type, tuple[bool, Unchanged | None]]
_known: _Known = {}
_known_tuples: _Known = {}
_MOST_KNOWN = 1024


def has_plain_attributes(kind: type) -> bool:
    """Whether objects of a class are their attributes: `types.SimpleNamespace`, or a user's with the ways of `object`.

    Examples
    --------
    >>> class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> has_plain_attributes(Point), has_plain_attributes(dict), has_plain_attributes(int)
    (True, False, False)
    """
    return _remembered(kind, _has_plain_attributes, _known)


def original_class(kind: type) -> type:
    """The class for which `kind` stands during a trace; `kind` itself outside of one."""
    return vars(kind).get("__jitrt_class__", kind)


def is_known_class(kind: type) -> bool:
    """Whether what a class is to code is known: it cannot change, or it is plain, or a part of Python or NumPy."""
    return not kind.__flags__ & _HEAP_TYPE or package_of(kind) in _OTHERS or is_plain_class(kind)


def package_of(kind: type) -> str:
    """The name of the package that a class says it is from; classes may say anything."""
    name = kind.__module__
    return name.partition(".")[0] if isinstance(name, str) else ""


def is_plain_class(kind: type) -> bool:
    """Whether it is a class of the user's whose objects are their attributes or their items."""
    return has_plain_attributes(kind) or has_plain_fields(kind)


def is_copied(kind: type) -> bool:
    """Whether a class is one of the user's, of which nothing notices that it has a subclass."""
    is_users = has_plain_attributes(kind) and kind is not types.SimpleNamespace
    return is_users and not any("__init_subclass__" in vars(c) for c in kind.__mro__[:-1] if c.__module__ != "typing")


def has_plain_fields(kind: type) -> bool:
    """Whether tuples of a class with names of fields are their items, however they are read.

    Examples
    --------
    >>> class Point(namedtuple("Point", "x y")):
    ...     __slots__ = ()
    ...     def norm(self):
    ...         return self.x + self.y
    >>> class Odd(Point):
    ...     def __len__(self):
    ...         return 3
    >>> has_plain_fields(Point), has_plain_fields(Odd), has_plain_fields(tuple)
    (True, False, False)
    """
    return _remembered(kind, _has_plain_fields, _known_tuples)


def _remembered(kind: type, ask: Callable[[type], bool], memory: _Known) -> bool:
    """What `ask` says of a class, which is asked again when the class has changed."""
    known = memory.get(kind)
    if known is not None and (known[1] is None or known[1]()):
        return known[0]
    if len(memory) >= _MOST_KNOWN:
        memory.clear()
    can_change = kind.__flags__ & _HEAP_TYPE
    watch = Unchanged(kind, lambda: ask(kind) == found) if can_change else None
    found = ask(kind)
    memory[kind] = found, watch
    return found


_NAMED = namedtuple("_NAMED", "")
GENERATED = frozenset(vars(_NAMED))  # members that `namedtuple` gives a class
_TUPLE_WAYS = ("__len__", "__iter__", "__getitem__", "__getattribute__", "__init__")


def _has_plain_fields(kind: type) -> bool:
    if not (issubclass(kind, tuple) and hasattr(kind, "_fields")) or type(kind) is not type:
        return False
    if any(getattr(kind, name) is not getattr(tuple, name) for name in _TUPLE_WAYS) or hasattr(kind, "__getattr__"):
        return False
    makes = next(c for c in kind.__mro__ if "__new__" in vars(c))
    return "_fields" in vars(makes) and not hasattr(kind, "__del__") and not hasattr(kind, "__jitrt_function__")


_METACLASSES = (type, abc.ABCMeta, type(typing.Protocol))  # which do nothing to the objects of their classes


def _has_plain_attributes(kind: type) -> bool:
    if kind is types.SimpleNamespace:
        return True
    own = kind.__mro__[:-1]
    if not own or type(kind) not in _METACLASSES or any(not c.__flags__ & _HEAP_TYPE for c in own):
        return False
    usual = all(getattr(kind, name) is getattr(object, name) for name in USUAL_WAYS)
    setting = next(c for c in kind.__mro__ if "__setattr__" in vars(c))
    usual = usual and (setting is object or getattr(vars(setting).get("__dataclass_params__"), "frozen", False))
    usual = usual and (_has_slots_alone(kind) if kind.__dictoffset__ == 0 else kind.__basicsize__ == _USUAL_SIZE)
    usual = usual and (kind.__dictoffset__ == 0 or not slots_of(kind))
    is_users = package_of(kind) not in _OTHERS
    return usual and is_users and not any(hasattr(kind, name) for name in OWN_WAYS)


def _has_slots_alone(kind: type) -> bool:
    """Whether all attributes of objects of a class are in slots, which no other member of a class hides."""
    own = kind.__mro__[:-1]
    weak = any("__weakref__" in vars(c) for c in own)
    size = object.__basicsize__ + 8 * len(slots_of(kind)) + _WEAK_SIZE * weak
    visible = all(type(getattr(kind, name, None)) is types.MemberDescriptorType for name in slots_of(kind))
    return visible and kind.__basicsize__ == size and all("__slots__" in vars(c) for c in own)


def slots_of(kind: type) -> dict[str, Any]:
    """The slots of a class and of its bases by their names, in the order of memory: what reads and writes them."""
    members = (item for c in reversed(kind.__mro__[:-1]) for item in vars(c).items())
    return {name: member for name, member in members if type(member) is types.MemberDescriptorType}


class Slots(MutableMapping[str, Any]):
    """The attributes of an object that has slots and no dict, as ``vars`` gives those of others.

    Examples
    --------
    >>> class Point:
    ...     __slots__ = ("x", "y")
    >>> point = Point()
    >>> point.x = 1.0
    >>> dict(attributes_of(point))
    {'x': 1.0}
    >>> attributes_of(point).update(y=2.0)
    >>> point.y
    2.0
    """

    __slots__ = ("_slots", "_value")

    def __init__(self, value: Any):
        self._value, self._slots = value, slots_of(type(value))

    def __getitem__(self, name: str) -> Any:
        try:
            return self._slots[name].__get__(self._value)
        except AttributeError:  # not assigned
            raise KeyError(name) from None

    def __setitem__(self, name: str, value: Any) -> None:
        self._slots[name].__set__(self._value, value)

    def __delitem__(self, name: str) -> None:
        self._slots[name].__delete__(self._value)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._slots if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def attributes_of(value: Any) -> MutableMapping[str, Any]:
    """The attributes of an object of a class with plain attributes; changes of them are its changes."""
    return vars(value) if type(value).__dictoffset__ else Slots(value)
