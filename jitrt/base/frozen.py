"""Values with named fields, most of them immutable: what ``dataclass(slots=True)`` makes, at a fraction of its time.

A dataclass generates and compiles a text for each of its methods, and then the class a second time. With some eighty
classes that took most of the time of importing the package. Here only ``__init__`` is compiled, once for all classes of
as many fields, and the other methods are shared.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import Field, FrozenInstanceError, field
from functools import cache, wraps
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
S = TypeVar("S", bound="Remembering")


@overload
def frozen(cls: type[T]) -> type[T]: ...
@overload
def frozen(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, *, eq: bool = True) -> Any:
    """Make a class of annotated fields an immutable value.

    Parameters
    ----------
    cls : type
        A default may be ``dataclasses.field(default_factory=…)``.
    eq : bool
        Whether instances with equal fields are equal. Otherwise each is equal to itself alone.

    Examples
    --------
    >>> @frozen
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1) == Point(1, 0), Point(2, y=3)
    (True, Point(x=2, y=3))
    >>> replaced(Point(2, 3), x=5)
    Point(x=5, y=3)
    """
    return _made(cls, eq) if cls is not None else lambda cls: _made(cls, eq)


@overload
def record(cls: type[T]) -> type[T]: ...
@overload
def record(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def record(cls: Any = None, *, eq: bool = True) -> Any:
    """Make a class of annotated fields one whose fields are set at first, and may be set again.

    Parameters as for `frozen`; what is equal to others by its fields cannot be hashed.

    Examples
    --------
    >>> @record
    ... class Walk:
    ...     place: int
    ...     seen: list = field(default_factory=list)
    >>> walk = Walk(2)
    >>> walk.place += 1
    >>> walk
    Walk(place=3, seen=[])
    """
    return _made(cls, eq, False) if cls is not None else lambda cls: _made(cls, eq, False)


def _made(cls: Any, eq: bool, is_frozen: bool = True) -> Any:
    names = tuple(inspect.get_annotations(cls))
    namespace = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    namespace |= {"__slots__": names, "__match_args__": names}
    namespace.setdefault("__repr__", _repr)
    if is_frozen:
        namespace |= {"__setattr__": _refuse, "__delattr__": _refuse}
        namespace |= {"__getstate__": _state, "__setstate__": _set_state}
    if eq and "__eq__" not in namespace:
        namespace["__eq__"], hash_ = _equality(names)
        namespace["__hash__"] = hash_ if is_frozen else None
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    made.__init__ = _initialiser(made, names, defaults)
    return made


def _initialiser(cls: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    """The template for classes of as many fields, with the names of these."""
    if tuple(defaults) != names[len(names) - len(defaults) :]:
        raise TypeError(f"a field of {cls.__qualname__} without a default stands behind one with a default")
    template = _template(len(names), hasattr(cls, "__post_init__"))
    setters = {name: vars(cls)[name].__set__ for name in names}
    for name, default in defaults.items():
        if isinstance(default, Field):
            setters[name] = _setter_or_maker(setters[name], default)
    scope = {f"set_{k}": setter for k, setter in enumerate(setters.values())}
    return types.FunctionType(
        template.replace(co_varnames=("self", *names)), scope, "__init__", tuple(defaults.values())
    )


@cache
def _template(count: int, has_post_init: bool) -> types.CodeType:
    """The code of an ``__init__`` of so many fields."""
    parameters = ", ".join(["self", *(f"field_{k}" for k in range(count))])
    lines = [f"    set_{k}(self, field_{k})" for k in range(count)]
    if has_post_init:
        lines.append("    self.__post_init__()")
    scope: dict[str, Any] = {}
    exec(f"def __init__({parameters}):\n" + "\n".join(lines or ["    pass"]), scope)
    return scope["__init__"].__code__


def _setter_or_maker(setter: Callable[[Any, Any], None], default: Field) -> Callable[[Any, Any], None]:
    """As `setter`; for `default` itself, it sets what the factory of `default` makes."""
    make: Any = default.default_factory

    def set_or_make(self: Any, value: Any) -> None:
        setter(self, make() if value is default else value)

    return set_or_make


def _equality(names: tuple[str, ...]) -> tuple[Callable[..., Any], Callable[..., int]]:
    if len(names) > 1:
        values: Callable[[Any], Any] = attrgetter(*names)
    elif names:
        only = attrgetter(*names)

        def values(self: Any) -> tuple:
            return (only(self),)  # tuples compare identities first
    else:

        def values(self: Any) -> tuple:
            return ()

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hash_(self: Any) -> int:
        return hash(values(self))

    return equal, hash_


@recursive_repr()
def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state):
        object.__setattr__(self, name, value)


class Remembering:
    """Base of immutable classes that have `remembered` methods."""

    __slots__ = ("_remembered",)

    _remembered: dict[str, Any]


def remembered(method: Callable[[S], T]) -> Callable[[S], T]:
    """Make a method without arguments of a `Remembering` class work out its answer once for each instance.

    Examples
    --------
    >>> @frozen
    ... class Text(Remembering):
    ...     content: str
    ...     @remembered
    ...     def words(self):
    ...         return tuple(self.content.split())
    >>> text = Text("to be or not")
    >>> text.words() is text.words(), text == Text("to be or not")
    (True, True)
    """
    name = method.__name__

    @wraps(method)
    def answer(self: S) -> T:
        try:
            return self._remembered[name]
        except AttributeError:
            object.__setattr__(self, "_remembered", {})
        except KeyError:
            pass
        found = self._remembered[name] = method(self)
        return found

    return answer


def replaced(value: T, /, **changes: Any) -> T:
    """`value` with other fields."""
    fields = {name: getattr(value, name) for name in type(value).__slots__}  # type: ignore[attr-defined]
    return type(value)(**fields | changes)
