"""Comparisons of staged functions, and tests of identity and of membership."""

from __future__ import annotations

import ast
import enum
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.operators import COMPARISONS, OF_SYNTAX
from . import arithmetic, complexnumbers, library, objects, references, scalars, sequences, specialmethods, strings
from .containers import DictView
from .generated import NO_DEFAULT
from .runtimelists import GrownList
from .values import (
    Array,
    Chosen,
    Composite,
    Gone,
    NotStaged,
    Perhaps,
    Raises,
    Referenced,
    is_number,
    is_python_number,
    is_static,
    refusal,
    type_name,
)

if TYPE_CHECKING:
    from .expressions import Expressions

_UFUNCS = {kind: COMPARISONS[name][0].__name__ for kind, name in OF_SYNTAX.items() if name in COMPARISONS}
_ONE_OBJECT = (bool, type, enum.Enum, np.ufunc, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)


def compare(where: Expressions, op: ast.cmpop, x: Any, y: Any) -> Any:
    """``x op y``."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        is_wanted = isinstance(op, ast.Is)
        if _are_members(x, y) and len(_classes(x) | _classes(y)) == 1:
            return _of_values(where, "equal" if is_wanted else "not_equal", x, y)
        return scalars.answer(where.r, _is_same(where, x, y), is_wanted)
    if isinstance(op, (ast.In, ast.NotIn)):
        return scalars.answer(where.r, _is_in(where, x, y), isinstance(op, ast.In))
    return _of_values(where, _UFUNCS[type(op)], x, y)


def _are_members(x: Any, y: Any) -> bool:
    """Whether both values are members of enumerations."""
    return all(isinstance(v, enum.Enum) or (isinstance(v, Chosen) and v.are_members) for v in (x, y))


def _classes(value: Any) -> set[type]:
    """The classes of what may be the value."""
    return {type(v) for v in (value.strings if isinstance(value, Chosen) else (value,))}


def _is_same(where: Expressions, x: Any, y: Any) -> bool | str:
    """``x is y``."""
    if isinstance(x, Gone) or isinstance(y, Gone):
        raise NotStaged("identity")
    for value, other in ((x, y), (y, x)):
        if isinstance(value, Perhaps) and other is None:
            return value.is_none
    if _are_members(x, y):  # of several classes
        return False
    if any(v is NO_DEFAULT or v is None or isinstance(v, _ONE_OBJECT) for v in (x, y)):
        return x is y  # each of these is one object
    if isinstance(x, Referenced) and isinstance(y, Referenced):
        return references.is_same(where.r, x, y)
    if isinstance(x, (GrownList, Referenced)) and isinstance(y, (GrownList, Referenced)):
        return x is y
    if objects.is_object(x) or objects.is_object(y):
        return scalars.truth(where.r, objects.is_same(where.r, x, y))
    raise NotStaged("identity")


def _is_in(where: Expressions, x: Any, among: Any) -> bool | str:
    """``x in among``."""
    if isinstance(among, Composite) and among.kind is dict:
        among = tuple(among.parts)
    if is_static(x) and is_static(among):
        try:
            return x in among
        except TypeError as error:
            raise NotStaged("a container that cannot be searched") from error
    if isinstance(among, DictView) and among.name == "keys":
        return _is_in(where, x, among.owner)
    if isinstance(among, (dict, set)):
        among = tuple(among)
    if isinstance(x, Chosen) and is_static(among):
        return strings.is_in(where.r, x, among)
    if isinstance(among, strings.Text):
        raise NotStaged("a part of a text")
    return scalars.truth(where.r, sequences.is_in(where, x, among, where.here))


def _of_values(where: Expressions, name: str, x: Any, y: Any) -> Any:
    """A comparison by the name of its ufunc."""
    r = where.r
    if objects.is_object(x) or objects.is_object(y):
        return specialmethods.compare(where, name, x, y, where.here)
    if isinstance(x, Chosen) or isinstance(y, Chosen):
        return strings.compare(r, name, x, y)
    if isinstance(x, strings.Text) and isinstance(y, strings.Text) and name in ("equal", "not_equal"):
        with r.library():
            same = where.inlined(strings.are_equal, [x, y], {}, where.here)
        return same if name == "equal" else scalars.answer(r, where.truth_of(same), False)
    if sequences.are_compared(x, y):
        return sequences.compare(where, name, x, y)
    if complexnumbers.are_complex(x, y):
        return complexnumbers.equal(r, name, x, y)
    if all(is_number(v) and is_python_number(v) is not False for v in (x, y)):
        x, y = arithmetic.comparable(x), arithmetic.comparable(y)
    if all(isinstance(v, Array) or is_number(v) for v in (x, y)):
        x, y = scalars.beside(r, x, y), scalars.beside(r, y, x)
    if isinstance(x, Array) or isinstance(y, Array):
        return library.ufunc(r, getattr(np, name), [x, y])
    if is_number(x) and is_number(y):
        return arithmetic.compare(r, name, x, y)
    if is_static(x) and is_static(y):
        try:
            return arithmetic.COMPARISONS[name](x, y)
        except TypeError as error:
            raise Raises(str(error)) from None
    raise refusal(f"a comparison of {type_name(x)} and {type_name(y)}", x, y)
