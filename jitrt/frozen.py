"""Immutable values with named fields: what ``dataclass(frozen=True, slots=True)`` makes, at a tenth of its time.

A dataclass generates and compiles a text for each of its methods, and then the class a second time. With some eighty
classes that took most of the time of importing the package. Here only ``__init__`` is compiled, and the other methods
are shared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, FrozenInstanceError, field
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


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


def _made(cls: Any, eq: bool) -> Any:
    names = tuple(inspect.get_annotations(cls))
    namespace = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    namespace |= {"__slots__": names, "__match_args__": names, "__setattr__": _refuse, "__delattr__": _refuse}
    namespace.setdefault("__repr__", _repr)
    namespace["__getstate__"], namespace["__setstate__"] = _state, _set_state
    if eq and "__eq__" not in namespace:
        namespace["__eq__"], namespace["__hash__"] = _equality(names)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    made.__init__ = _initialiser(made, names, defaults)
    return made


def _initialiser(cls: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    parameters = ", ".join(f"{name}=_default_{name}" if name in defaults else name for name in names)
    factories = {name: d.default_factory for name, d in defaults.items() if isinstance(d, Field)}
    values = {name: f"_make_{name}() if {name} is _default_{name} else {name}" for name in factories}
    lines = [f"    _set_{name}(self, {values.get(name, name)})" for name in names]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    scope: dict[str, Any] = {f"_default_{name}": value for name, value in defaults.items()}
    scope |= {f"_make_{name}": make for name, make in factories.items()}
    scope |= {f"_set_{name}": vars(cls)[name].__set__ for name in names}
    exec(f"def __init__(self, {parameters}):\n" + "\n".join(lines or ["    pass"]), scope)
    return scope["__init__"]


def _equality(names: tuple[str, ...]) -> tuple[Callable[..., Any], Callable[..., int]]:
    if len(names) > 1:
        values: Callable[[Any], Any] = attrgetter(*names)
    else:

        def values(self: Any) -> tuple:
            return tuple(getattr(self, name) for name in names)

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hash_(self: Any) -> int:
        return hash(values(self))

    return equal, hash_


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state):
        object.__setattr__(self, name, value)


def replaced(value: T, **changes: Any) -> T:
    """`value` with other fields."""
    fields = {name: getattr(value, name) for name in type(value).__slots__}  # type: ignore[attr-defined]
    return type(value)(**fields | changes)
