"""Order, equality and membership of tuples and lists whose elements are known only at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import arithmetic, library, scalars, specialmethods, strings
from .objects import is_object
from .outside import of_listing
from .recorder import Recorder
from .runtimelists import RunTimeList
from .values import BOOL, FLOAT, Array, Chosen, NotStaged, Scalar, dtype_of, is_number, is_static

if TYPE_CHECKING:
    from .expressions import Expressions

_MOST = 16  # elements that are compared one by one
_STRICT = {"less_equal": "less", "greater_equal": "greater"}


def are_compared(x: Any, y: Any) -> bool:
    """Whether two values are tuples whose comparison depends on values."""
    return type(x) is tuple and type(y) is tuple and not (is_static(x) and is_static(y))


def compare(where: Expressions, name: str, x: tuple[Any, ...], y: tuple[Any, ...]) -> Any:
    """A comparison of two tuples, by the name of its ufunc: that of their first elements that differ.

    (a, b) < (c, d)    →    (a == c and b < d) or a < c
    """
    r = where.r
    if name in ("equal", "not_equal"):
        same = _equal(where, x, y)
        return scalars.answer(r, same, name == "equal")
    made: bool | str = arithmetic.COMPARISONS[name](len(x), len(y))
    python: bool | str = True  # the comparison gives what that of the elements gives
    for v, w in reversed(list(zip(x, y))):
        same = _equal(where, (v,), (w,))
        differ = _element(where, _STRICT.get(name, name), v, w)
        made = _or(r, _and(r, same, made), scalars.truth(r, differ))
        is_own: bool | str | None = scalars.is_python_number(differ)
        is_own = differ.flag if is_own is None else is_own
        if (python, is_own) != (True, True):
            python = _or(r, _and(r, same, python), _and(r, scalars.negation(r, same), is_own))
    if isinstance(python, bool):
        return scalars.truth_value(made, python)
    name = r.literal(made, BOOL) if isinstance(made, bool) else made
    return Scalar(BOOL, None, name, flag=python)


def _element(where: Expressions, name: str, v: Any, w: Any) -> Any:
    if type(v) is tuple and type(w) is tuple:
        return compare(where, name, v, w)
    if not (is_number(v) and is_number(w)):
        raise NotStaged("a comparison of tuples of other values than numbers")
    return arithmetic.compare(where.r, name, v, w)


def _equal(where: Expressions, x: tuple[Any, ...], y: tuple[Any, ...]) -> bool | str:
    if len(x) != len(y):
        return False
    made: bool | str = True
    for v, w in zip(x, y):
        made = _and(where.r, made, is_same_or_equal(where, v, w))
    return made


def is_same_or_equal(where: Expressions, v: Any, w: Any) -> bool | str:
    """``v is w or v == w``. Stops where a nan may be the other one."""
    r = where.r
    if type(v) is tuple and type(w) is tuple:
        return _equal(where, v, w)
    if is_number(v) and is_number(w):
        if "c" in (dtype_of(v).kind, dtype_of(w).kind):
            raise NotStaged("a comparison of complex numbers")
        if all(dtype_of(x).kind == "f" for x in (v, w)):
            name = scalars.register_of(r, v, FLOAT)
            r.stop(r.compute("not_equal", [name, name], FLOAT, BOOL))
        return scalars.truth(r, arithmetic.compare(r, "equal", v, w))
    if is_static(v) and is_static(w):
        return bool(v is w or v == w)
    if any(is_number(x) for x in (v, w)) and any(isinstance(x, Chosen) and not x.are_members for x in (v, w)):
        return False
    if all(isinstance(x, (str, Chosen)) for x in (v, w)):
        return scalars.truth(r, strings.compare(r, "equal", v, w))
    if isinstance(v, Chosen) or isinstance(w, Chosen) or any(map(_is_other, (v, w))):
        raise NotStaged("a test of membership")
    return False  # such as a number and a string


def _is_other(value: Any) -> bool:
    return not is_number(value) and not isinstance(value, (str, tuple, type(None)))


def is_in(where: Expressions, x: Any, among: Any, e: Any) -> Any:
    """``x in among``."""
    r = where.r
    if is_object(among):
        made = specialmethods.special(where, among, "__contains__", [x], e)
        return scalars.truth_value(where.truth_of(specialmethods.needed(made, among, "__contains__")))
    if isinstance(among, RunTimeList):
        with r.library():
            return where.inlined(_is_among, [x, among], {}, e)
    if isinstance(among, Array) and is_number(x):
        found = library.ufunc(r, np.equal, [among, x])
        return scalars.truth_value(scalars.truth(r, library.METHODS["any"](r, found)))
    among = of_listing(among)
    if not isinstance(among, (tuple, list)) or len(among) > _MOST:
        raise NotStaged("a test of membership")
    made = False
    for v in among:
        made = _or(r, made, is_same_or_equal(where, x, v))
    return scalars.truth_value(made)


def _is_among(x: Any, values: Any) -> Any:
    for v in values:  # noqa: SIM110
        if v in (x,):
            return True
    return False


def _and(r: Recorder, x: bool | str, y: bool | str) -> bool | str:
    if isinstance(x, bool):
        return y if x else False
    if isinstance(y, bool):
        return x if y else False
    return r.compute("logical_and", [x, y], BOOL)


def _or(r: Recorder, x: bool | str, y: bool | str) -> bool | str:
    if isinstance(x, bool):
        return True if x else y
    if isinstance(y, bool):
        return True if y else x
    return r.compute("logical_or", [x, y], BOOL)
