"""What operators and Python's functions ask objects of staged functions for: methods of special names."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ...base.operators import BINARY, UNARY
from ...values.functions import MISSING
from . import containers, scalars
from .objects import is_object, is_same, member
from .values import (
    BOOL,
    INT,
    Composite,
    NotStaged,
    dtype_of,
    is_number,
    is_python_number,
)

if TYPE_CHECKING:
    from .expressions import Expressions


_NAMES = {ufunc.__name__: name for name, (ufunc, _) in (BINARY | UNARY).items()}
_COMPARED = {
    "less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"), "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"), "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__"),
}  # fmt: skip


def special(where: Expressions, value: Composite, name: str, args: list[Any], e: Any) -> Any:
    """What the method of a special name gives; `MISSING` if the class has none.

    Raises
    ------
    NotStaged
        If it is no function.
    """
    found = member(where, value, name)
    if found is MISSING:
        return MISSING
    if not isinstance(found, types.FunctionType):
        raise NotStaged(f"{value.kind.__name__}.{name}")
    with where.r.aside(containers.is_container(value)):
        return where.inlined(found, [value, *args], {}, e)


def item(where: Expressions, value: Composite, index: Any, e: Any) -> Any:
    """``value[index]``."""
    return needed(special(where, value, "__getitem__", [index], e), value, "__getitem__")


def called(where: Expressions, value: Composite, args: list[Any], e: Any) -> Any:
    """``value(*args)``."""
    return needed(special(where, value, "__call__", args, e), value, "__call__")


def needed(made: Any, value: Composite, name: str) -> Any:
    """What a method has given, if the class has it."""
    if made is MISSING:
        raise NotStaged(f"{value.kind.__name__} has no {name!r}")
    return made


def unary(where: Expressions, op: str, value: Composite, e: Any) -> Any:
    """An operator of one operand."""
    made = special(where, value, f"__{_NAMES[op]}__", [], e)
    if made is MISSING or made is NotImplemented:
        raise NotStaged(f"{op} of {value.kind.__name__}")
    return made


def binary(where: Expressions, op: str, x: Any, y: Any, e: Any) -> Any:
    """An operator of two operands, one of which is an object."""
    name = _NAMES[op]
    return _first(where, x, y, f"__{name}__", f"__r{name}__", e)


def updated(where: Expressions, op: str, x: Composite, y: Any, e: Any) -> Any:
    """``x op= y``."""
    made = special(where, x, f"__i{_NAMES[op]}__", [y], e)
    return binary(where, op, x, y, e) if made is MISSING or made is NotImplemented else made


def compare(where: Expressions, op: str, x: Any, y: Any, e: Any) -> Any:
    """A comparison, by the name of its ufunc, of two values one of which is an object."""
    if op in ("equal", "not_equal"):
        owned = [v for v in (x, y) if is_object(v)]
        has = {name: any(member(where, v, name) is not MISSING for v in owned) for name in ("__eq__", "__ne__")}
        if not any(has.values()) and len(owned) == 2 and not any(issubclass(v.kind, tuple) for v in owned):
            same = scalars.truth(where.r, is_same(where.r, x, y))
            return scalars.answer(where.r, same, op == "equal")
        if op == "not_equal" and not has["__ne__"]:
            equal = where.truth_of(_first(where, x, y, *_COMPARED["equal"], e))
            return scalars.answer(where.r, equal, False)
    return _first(where, x, y, *_COMPARED[op], e)


def _first(where: Expressions, x: Any, y: Any, name: str, reflected: str, e: Any) -> Any:
    """What the left operand's method gives, or the right one's, if the left one has none."""
    if any(isinstance(v, Composite) and issubclass(v.kind, tuple) for v in (x, y)):
        raise NotStaged("an operation on tuples")
    are_objects = is_object(x) and is_object(y)
    if are_objects and x.kind is not y.kind and x.kind in y.kind.__mro__:
        raise NotStaged("an operation on objects of a class and of one that is made of it")
    made: Any = MISSING
    if is_object(x):
        made = special(where, x, name, [y], e)
    elif not (is_number(x) and is_python_number(x)) and type(x) not in (str, type(None)):
        raise NotStaged("an operation on an object and an array")
    is_other = not are_objects or x.kind is not y.kind or name.strip("_") in ("eq", "ne", "lt", "le", "gt", "ge")
    if (made is MISSING or made is NotImplemented) and is_object(y) and is_other:
        made = special(where, y, reflected, [x], e)
    if made is MISSING or made is NotImplemented:
        raise NotStaged(f"the method {name} of {type(x).__name__} and {type(y).__name__}")
    return made


def truth(where: Expressions, value: Composite, e: Any) -> Any:
    """What the truth of an object is that of."""
    if issubclass(value.kind, tuple):
        return bool(value.parts)
    made = special(where, value, "__bool__", [], e)
    if made is MISSING:
        return True if member(where, value, "__len__") is MISSING else length(where, value, e)
    if not (is_number(made) and dtype_of(made) == BOOL and is_python_number(made)):
        raise NotStaged("a truth value that is not Python's")
    return made


def length(where: Expressions, value: Composite, e: Any) -> Any:
    """``len(value)``."""
    made = needed(special(where, value, "__len__", [], e), value, "__len__")
    if not (is_number(made) and dtype_of(made) == INT and is_python_number(made)):
        raise NotStaged("a length that is no integer of Python's")
    where.r.require(scalars.poly_of(where.r, made))
    return made


def absolute(where: Expressions, value: Composite, e: Any) -> Any:
    """``abs(value)``."""
    return needed(special(where, value, "__abs__", [], e), value, "__abs__")
