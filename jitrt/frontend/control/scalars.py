"""Numbers that are known only at run time: registers, polynomials and truth of them, and the types of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from ...ir.ops import ufuncs  # noqa: F401 (its rows are in the op table then)
from ...ir.types import canonical
from .recorder import Recorder
from .values import (
    BOOL,
    FLOAT,
    INT,
    UNSIGNED,
    Array,
    KindsDiffer,
    NeedsValue,
    NotStaged,
    Perhaps,
    Scalar,
    dtype_of,
    is_number,
    is_python_number,
    is_static,
    is_word,
    rebuilt,
    type_of,
)

_KEPT_KINDS = frozenset("biufc")
_AXES = frozenset({"axis", "axis1", "axis2", "k", "offset"})


@lru_cache(maxsize=4096)
def loop_dtypes(ufunc: np.ufunc, operands: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """The dtypes of NumPy's loop for operands, given as `type_of` has them.

    Raises
    ------
    NotStaged
        If there is none, or one of Python objects.
    """
    try:
        dtypes = ufunc.resolve_dtypes((*operands, *[None] * ufunc.nout))
    except TypeError as error:
        raise NotStaged(str(error)) from None
    if any(d.kind not in _KEPT_KINDS or d.char in "egG" for d in dtypes):
        raise NotStaged(f"{ufunc.__name__} of {', '.join(map(str, operands))}")
    return tuple(map(canonical, dtypes))


def dtypes_of(ufunc: np.ufunc, values: Sequence[Any]) -> tuple[np.dtype, ...]:
    """The dtypes of NumPy's loop for these operands.

    Raises
    ------
    NotStaged
        If there is none.
    KindsDiffer
        If it depends on whether a number is Python's, and that is not known.
    """
    found = loop_dtypes(ufunc, tuple(map(type_of, values)))
    uncertain = any(is_number(v) and is_python_number(v) is None for v in values)
    if uncertain and found != loop_dtypes(ufunc, tuple(type_of(v, weak=False) for v in values)):
        raise KindsDiffer("a number that is Python's or NumPy's")
    return found


def register_of(r: Recorder, value: Any, dtype: np.dtype) -> str:
    """The name of a number, converted to `dtype`."""
    if is_static(value):
        if isinstance(value, int) and dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise NotStaged(f"{value} does not fit into {dtype}")
        if np.iscomplexobj(value) and dtype.kind not in "bc":  # NumPy warns, or raises
            raise NotStaged("a complex number that loses a part")
        with np.errstate(all="raise", under="ignore"):
            try:
                return r.literal(value, dtype)
            except FloatingPointError:  # NumPy warns of it in each turn
                raise NotStaged(f"{value} does not fit into {dtype}") from None
    if value.value is None:
        return r.cast(value.name, value.dtype, dtype)
    if value.python and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if dtype == UNSIGNED:
            r.require(value.poly)
        else:
            r.require(value.poly - int(limits.min))
            r.require(int(limits.max) - value.poly)
    return r.cast(r.integer(value.poly), INT, dtype)


def from_register(r: Recorder, name: str, dtype: np.dtype) -> Scalar:
    """A number from the register of its dtype."""
    if not is_word(dtype):
        return Scalar(dtype, False, name)
    return Scalar(dtype, False, "", r.of_dtype(r.cast(name, dtype, INT), dtype))


def poly_of(r: Recorder, value: Any) -> Poly:
    """The value of an integer, or of a truth value as one."""
    if isinstance(value, (bool, int, np.integer, np.bool)):
        return Poly.number(int(value))
    if isinstance(value, Scalar) and value.value is not None:
        return value.poly
    if isinstance(value, Scalar) and value.dtype == BOOL:
        return r.bounded(r.cast(value.name, BOOL, INT), 0, 1)
    if isinstance(value, Scalar) and value.dtype == UNSIGNED:
        return r.at_least_zero(r.of_dtype(r.cast(value.name, UNSIGNED, INT), INT))
    raise NotStaged("an integer is needed")


def index_of(r: Recorder, value: Any) -> Poly:
    """The value of what may be an index."""
    if dtype_of(value).kind not in "iu" or isinstance(value, (bool, np.bool)):
        raise NotStaged("an index that is no integer")
    return poly_of(r, value)


def static_integer(value: Any) -> int:
    """An integer that has to be known while staging."""
    if isinstance(value, Scalar) and value.argument is not None:
        raise NeedsValue(value.argument)
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise NotStaged("an integer that has to be known")
    return int(value)


def check_axes(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise `NotStaged` if an axis or a diagonal is given as what may equal an integer, and is none: True, or 1.0."""
    code = function.__code__
    given = (*zip(code.co_varnames[: code.co_argcount], args), *kwargs.items())
    for value in (value for name, value in given if name in _AXES):
        is_none_of_them = isinstance(value, (bool, np.bool, float, complex, np.inexact, np.ndarray, Array))
        if is_none_of_them or (isinstance(value, Scalar) and value.dtype.kind not in "iu"):
            raise NotStaged("an axis that is no integer")


def truth(r: Recorder, value: Any) -> bool | str:
    """Whether a number is true: known, or the name of a truth value."""
    if is_static(value):
        return bool(value)
    if not isinstance(value, Scalar):
        raise NotStaged("the truth value of an array")
    if value.value is not None:
        known = decided(r, "!=", value.poly)
        return r.machine("!=", value.poly, Poly.number(0)) if known is None else known
    if value.dtype == BOOL:
        return value.name
    return r.compute("not_equal", [value.name, r.literal(0, value.dtype)], value.dtype, BOOL)


def negation(r: Recorder, condition: bool | str) -> bool | str:
    """``not condition``."""
    if isinstance(condition, bool):
        return not condition
    return r.compute("logical_not", [condition], BOOL)


def truth_value(condition: bool | str, python: bool | None = True) -> Any:
    """A truth value as a number."""
    if isinstance(condition, bool):
        if python is None:
            raise NotStaged("a truth value that is Python's or NumPy's")
        return condition if python else np.bool(condition)
    return Scalar(BOOL, python, condition)


def answer(r: Recorder, found: bool | str, is_wanted: bool) -> Any:
    """A truth value, or, unless that is wanted, its opposite, as one of Python's."""
    return truth_value(found if is_wanted else negation(r, found))


def decided(r: Recorder, op: str, difference: Poly) -> bool | None:
    """What a comparison of a difference with 0 gives, if that is certain."""
    positive, negative = r.facts.is_at_least(difference, 1), r.facts.is_at_least(-difference, 1)
    natural, opposite = r.facts.is_at_least(difference), r.facts.is_at_least(-difference)
    zero = not difference.terms
    if op in ("==", "!="):
        known = True if zero else False if positive or negative else None
        return known if op == "==" or known is None else not known
    yes, no = {
        "<": (negative, natural),
        "<=": (opposite, positive),
        ">": (positive, opposite),
        ">=": (natural, negative),
    }[op]
    return True if yes else False if no else None


def flag_of(r: Recorder, value: Any) -> str:
    """The name of a truth value: whether a number is Python's."""
    python = is_python_number(value)
    return value.flag if python is None else r.literal(python, BOOL)


def settled_flag(r: Recorder, value: Any, dtype: np.dtype) -> str:
    """The name of a truth value: whether a number is of that dtype, and no other one that is held in its register."""
    if dtype_of(value) != dtype:
        return r.literal(False, BOOL)
    return value.settled if isinstance(value, Scalar) and value.settled else r.literal(True, BOOL)


def settled(r: Recorder, value: Any) -> Any:
    """The number, where its kind matters: the procedure stops if it is not the one that was supposed.

    So are the numbers in lists and tuples.
    """
    if isinstance(value, Perhaps):
        r.stop(value.is_none)
        return settled(r, value.value)
    if isinstance(value, (list, tuple)):
        return rebuilt(value, (settled(r, v) for v in value))
    if not (isinstance(value, Scalar) and value.settled):
        return value
    r.stop(negation(r, value.settled))  # type: ignore[arg-type]
    return replaced(value, argument=None, settled="")


def stored(r: Recorder, value: Any, dtype: np.dtype) -> Any:
    """The number as what is written into an array of that dtype.

    Floats are the same there as the integers of Python's that they hold.
    """
    if isinstance(value, Scalar) and value.settled and value.dtype == FLOAT and dtype.kind in "fc":
        return Scalar(value.dtype, value.python, value.name, flag=value.flag)
    return settled(r, value)


def beside(r: Recorder, value: Any, other: Any) -> Any:
    """The number as an operand beside another one, which may make its kind matter."""
    if not (isinstance(value, Scalar) and value.settled):
        return value
    dtype = dtype_of(other)
    is_certain = not (isinstance(other, Scalar) and other.settled)
    is_float = value.dtype == FLOAT and value.python is not False
    is_strong = not is_number(other) or is_python_number(other) is False
    holds = dtype.kind in "fc" and np.result_type(value.dtype, dtype) == dtype  # so does its other kind
    if is_certain and dtype.kind in "fc" and (is_float or (is_strong and holds)):
        return value
    return settled(r, value)
