"""What code finds in place of ``type``, ``isinstance``, ``hasattr`` and ``getattr`` during a trace.

Symbols have the classes of what they stand for, and their attributes: a number has no ``shape`` and no ``__len__``.
"""

from __future__ import annotations

import builtins
from abc import ABCMeta
from collections.abc import Mapping
from types import MappingProxyType, ModuleType, UnionType
from typing import Any
from weakref import WeakValueDictionary

from ...errors import Untraceable
from ..numpy.standin import without_stand_in
from .userline import user_line

_STAND_INS = "jitrt."  # the modules of objects that stand for others, and say in ``__class__`` for what


class StandInForClass(type):
    """The class of what stands for a class: the two are equal, and have the same instances and subclasses."""

    _kind: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._kind)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls._kind)

    def __eq__(cls, other: Any) -> bool:
        return getattr(other, "_kind", other) is cls._kind

    def __hash__(cls) -> int:
        return hash(cls._kind)


class _Type(StandInForClass):
    """The class of `traced_type`."""

    _kind = builtins.type

    _stand_ins: Mapping[type, type] = MappingProxyType({})

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return builtins.type(*args, **kwargs)
        kind = builtins.type(args[0])
        found = args[0].__class__ if str(kind.__module__).startswith(_STAND_INS) else kind
        return cls if found is builtins.type else cls._stand_ins.get(found, found)


class traced_type(type, metaclass=_Type):
    """``type``, of a symbol the class of the value.

    Examples
    --------
    >>> traced_type(1.5), traced_type("A", (), {}).__name__, isinstance(int, traced_type), traced_type == type
    (<class 'float'>, 'A', True, True)
    """


traced_type.__name__ = traced_type.__qualname__ = "type"


def type_among(stand_ins: Mapping[type, type]) -> type:
    """``type`` for code that finds `stand_ins` in place of classes: it may compare them with what this gives."""
    return _Type("type", (traced_type,), {"_stand_ins": stand_ins}) if stand_ins else traced_type


class _Asked(StandInForClass):
    """The class of what stands for a class that a trace may ask about and not call."""

    _reason: str

    @property  # type: ignore[misc]  # nobody sets it
    def __class__(cls) -> type:
        """The class of the class, as `traced_type` tells it."""
        return builtins.type(cls._kind)

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable(cls._reason, user_line())

    def __getattr__(cls, name: str) -> Any:
        raise Untraceable(cls._reason, user_line())


def asked(kind: type, reason: str) -> type:
    """What stands for a class of which code may only ask what its instances are.

    Examples
    --------
    >>> stand_in = asked(int, "makes an integer")
    >>> isinstance(1, stand_in), isinstance(1.5, (str, stand_in)), issubclass(bool, stand_in), stand_in == int
    (True, False, True, True)
    """
    made = _known.get(id(kind))
    if made is None:  # code compares it by identity
        told = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
        made = _known[id(kind)] = _Asked(kind.__name__, (), {"_kind": kind, "_reason": reason, **told})
    return made


_known: WeakValueDictionary[int, type] = WeakValueDictionary()  # by the identity of the class, which they keep


def _class_of_symbol(value: Any) -> type | None:
    """The class that `value` stands for an instance of; None if its own attributes are what code is to find."""
    kind = builtins.type(value)
    if issubclass(kind, ModuleType):  # the view of a module answers for it
        return None
    return value.__class__ if str(kind.__module__).startswith(_STAND_INS) and value.__class__ is not kind else None


def name_of(kind: type) -> str:
    """The name that exceptions have for a class of NumPy's, or of Python's."""
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def traced_hasattr(value: Any, name: str, /) -> bool:
    """``hasattr``, of a symbol whether the value has it."""
    kind = _class_of_symbol(value)
    return builtins.hasattr(value, name) if kind is None else any(name in vars(c) for c in kind.__mro__)


def traced_getattr(value: Any, name: str, /, *default: Any) -> Any:
    """``getattr``, of a symbol the default where the value has no such attribute."""
    kind = _class_of_symbol(value)
    if kind is None or len(default) > 1 or not isinstance(name, str):
        return builtins.getattr(value, name, *default)
    if not traced_hasattr(value, name):
        if default:
            return default[0]
        raise AttributeError(f"{name_of(kind)!r} object has no attribute {name!r}")
    try:
        return builtins.getattr(value, name)
    except AttributeError:
        raise Untraceable(f".{name} of a value that is being traced", user_line()) from None


def traced_isinstance(value: Any, classes: Any, /) -> bool:
    """``isinstance``, of a symbol what its value's class is: abstract classes also look at the methods of the symbol.

    Examples
    --------
    >>> from collections.abc import Sized
    >>> traced_isinstance([], (int, Sized)), traced_isinstance(1.5, int | Sized)
    (True, False)
    """
    kind, classes = _class_of_symbol(value), _originals(classes)
    if kind is None:
        return builtins.isinstance(value, classes)
    if isinstance(classes, tuple):
        return any(traced_isinstance(value, c) for c in classes)
    if not tells_by_class(classes):
        return builtins.isinstance(value, classes)
    try:
        return builtins.issubclass(kind, classes)
    except TypeError:  # a protocol of attributes
        raise Untraceable(f"isinstance(…, {classes.__name__}) of a value that is being traced", user_line()) from None


def tells_by_class(kinds: Any) -> bool:
    """Whether `isinstance` of a class, or of those of a tuple or union, depends on the class of the value alone.

    Examples
    --------
    >>> from collections.abc import Sized
    >>> tells_by_class((int, Sized)), tells_by_class(traced_type)
    (True, False)
    """
    if isinstance(kinds, (tuple, UnionType)):
        return all(map(tells_by_class, kinds if isinstance(kinds, tuple) else kinds.__args__))
    asks = getattr(builtins.type(kinds), "__instancecheck__", None)
    return asks in _OF_CLASSES or bool(getattr(kinds, "_is_protocol", False))


_OF_CLASSES = (builtins.type.__instancecheck__, ABCMeta.__instancecheck__)


def may_ask_values(kind: Any) -> bool:
    """Whether what is an instance of a class may depend on more of a value than the class that it tells; in doubt.

    Examples
    --------
    >>> from collections.abc import Sized
    >>> from numbers import Number
    >>> may_ask_values(Sized), may_ask_values(Number), may_ask_values(int)
    (True, False, False)
    """
    if not isinstance(kind, builtins.type) or builtins.type(kind).__instancecheck__ not in _OF_CLASSES:
        return True
    return any("__subclasshook__" in vars(c) for c in kind.__mro__ if c is not object)


def traced_issubclass(kind: Any, classes: Any, /) -> bool:
    """``issubclass``, of what stands for classes that of the classes themselves: it has other bases."""
    return builtins.issubclass(_originals(kind), _originals(classes))


def _originals(classes: Any) -> Any:
    """The classes that a class, or all of a tuple or union, stand for."""
    if isinstance(classes, tuple):
        return tuple(map(_originals, classes))
    if isinstance(classes, UnionType):
        return _originals(classes.__args__)
    if builtins.type(classes) is _Asked:
        return classes._kind
    classes = without_stand_in(classes)
    return vars(classes).get("__jitrt_class__", classes) if isinstance(classes, builtins.type) else classes


STAND_INS = {
    "type": traced_type, "isinstance": traced_isinstance, "hasattr": traced_hasattr, "getattr": traced_getattr,
    "issubclass": traced_issubclass,
}  # fmt: skip
