"""What code finds in place of ``type`` during a trace: symbols have the classes of what they stand for."""

from __future__ import annotations

import builtins
from typing import Any

_STAND_INS = "jitrt."  # the modules of objects that stand for others, and say in ``__class__`` for what


class _Type(type):
    """The class of `traced_type`."""

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return builtins.type(*args, **kwargs)
        kind = builtins.type(args[0])
        return args[0].__class__ if kind.__module__.startswith(_STAND_INS) else kind

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, builtins.type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, builtins.type)

    def __eq__(cls, other: Any) -> bool:
        return other is cls or other is builtins.type

    def __hash__(cls) -> int:
        return hash(builtins.type)


class traced_type(type, metaclass=_Type):
    """``type``, of a symbol the class of the value.

    Examples
    --------
    >>> traced_type(1.5), traced_type("A", (), {}).__name__, isinstance(int, traced_type), traced_type == type
    (<class 'float'>, 'A', True, True)
    """


traced_type.__name__ = traced_type.__qualname__ = "type"
