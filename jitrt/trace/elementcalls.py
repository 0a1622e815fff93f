"""Calls that loops over elements may make: Python's and NumPy's functions of numbers, and what makes arrays."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .elementtypes import (
    BOOL,
    FLOAT,
    INT,
    SINGLE,
    Array,
    NotTranslated,
    Scalar,
    Value,
    as_float,
    as_int,
    check_dtype,
    flag_as,
    in_range,
    join,
    loop_dtype,
    number,
    stored,
    truth,
)

# Functions of floats, by their names in the module `math` of translated code: Python's gives a Python float and raises
# where it has no result, NumPy's gives a NumPy scalar and warns; the translated code stops in both cases.
_FLOAT_FUNCTIONS: dict[Any, tuple[str, bool]] = {}
for _name in "sqrt exp log sin cos tan sinh cosh tanh log2 log10 log1p expm1 fabs".split():
    _FLOAT_FUNCTIONS[getattr(math, _name)] = (_name, True)
    _FLOAT_FUNCTIONS[getattr(np, _name)] = (_name, False)
for _python, _numpy in (("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("atan2", "arctan2")):
    _FLOAT_FUNCTIONS[getattr(math, _python)] = (_python, True)
    _FLOAT_FUNCTIONS[getattr(np, _numpy)] = (_python, False)
_FLOAT_FUNCTIONS[np.hypot] = ("hypot", False)
EXACT_FUNCTIONS = frozenset({"sqrt", "fabs"})  # correctly rounded everywhere
_TESTS = {math.isnan: ("isnan", True), np.isnan: ("isnan", False), math.isinf: ("isinf", True),
          np.isinf: ("isinf", False), math.isfinite: ("isfinite", True), np.isfinite: ("isfinite", False)}  # fmt: skip


def call(function: Any, args: list[Value]) -> Value:
    """The translated form of a call of a function of numbers.

    Raises
    ------
    NotTranslated
        If there is none.
    """
    try:
        found = function in _FLOAT_FUNCTIONS
    except TypeError:
        found = False
    if found:
        return _float_function(function, args)
    handler = _HANDLERS.get(function) if callable(function) and _hashable(function) else None
    if handler is None:
        name = getattr(function, "__name__", type(function).__name__)
        raise NotTranslated(f"a call of {name}")
    return handler(function, args)


def _hashable(value: Any) -> bool:
    return type(value).__hash__ is not None


def _float_function(function: Any, args: list[Value]) -> Value:
    name, python = _FLOAT_FUNCTIONS[function]
    kinds = [number(a) for a in args]
    if not python and len(args) == 1 and kinds[0].dtype == SINGLE and name in EXACT_FUNCTIONS:
        return Value(f"_finite(_f4(math.{name}({args[0].code})))", Scalar(SINGLE, False))
    if not python and loop_dtype(function, *(Scalar(k.dtype, False) for k in kinds))[0] != FLOAT:
        raise NotTranslated(f"{name} of {kinds[0].dtype}")
    code = ", ".join(as_float(a) for a in args)
    return Value(f"_finite(math.{name}({code}))", Scalar(FLOAT, python))


def _test(function: Any, args: list[Value]) -> Value:
    name, python = _TESTS[function]
    (x,) = args
    return Value(f"math.{name}({as_float(x)})", Scalar(BOOL, python))


def _absolute(function: Any, args: list[Value]) -> Value:
    (x,) = args
    kind = number(x)
    if kind.maybe_int or kind.dtype == BOOL:
        raise NotTranslated("abs of this")
    code = f"abs({x.code})" if kind.dtype.kind == "f" else in_range(f"_abs({x.code})", kind.dtype)
    if function is builtins.abs:
        return Value(code, Scalar(kind.dtype, kind.python), x.flag)
    return Value(code, Scalar(kind.dtype, False))


def _extreme(function: Any, args: list[Value]) -> Value:
    """Python's min and max: the first argument, unless a later one is smaller or larger."""
    if len(args) < 2:
        raise NotTranslated("min or max of one thing")
    best, symbol = args[0], "<" if function is builtins.min else ">"
    for other in args[1:]:
        kind = join(number(best), number(other))
        assert isinstance(kind, Scalar)
        wins = f"({other.code} {symbol} {best.code})"
        flag = f"({flag_as(other, kind)} if {wins} else {flag_as(best, kind)})" if kind.flagged else ""
        left, right = (as_float(v) if kind.maybe_int else v.code for v in (other, best))
        best = Value(f"({left} if {wins} else {right})", kind, flag)
    return best


def _numpy_extreme(function: Any, args: list[Value]) -> Value:
    x, y = args
    dtype, _ = loop_dtype(function, number(x), number(y))
    larger = function is np.maximum
    if dtype.kind in "iu":
        code = f"{'max' if larger else 'min'}({in_range(as_int(x), dtype)}, {in_range(as_int(y), dtype)})"
    elif dtype == FLOAT:
        code = f"{'_larger' if larger else '_smaller'}({as_float(x)}, {as_float(y)})"
    else:
        raise NotTranslated(f"{function.__name__} of {dtype}")
    return Value(code, Scalar(dtype, False))


def _int(function: Any, args: list[Value]) -> Value:
    (x,) = args
    kind = number(x)
    code = f"_truncate({as_float(x)})" if kind.dtype.kind == "f" else as_int(x)
    return Value(code, Scalar(INT, True))


def _rounded(function: Any, args: list[Value]) -> Value:
    """An integer of Python next to a float."""
    (x,) = args
    if number(x).dtype != FLOAT or number(x).maybe_int:
        raise NotTranslated("rounding of this")
    name = {math.floor: "floor", math.ceil: "ceil", builtins.round: "rint"}[function]
    return Value(f"_truncate(np.{name}({x.code}))", Scalar(INT, True))


def _float(function: Any, args: list[Value]) -> Value:
    (x,) = args
    return Value(as_float(x), Scalar(FLOAT, True))


def _bool(function: Any, args: list[Value]) -> Value:
    (x,) = args
    return Value(truth(x), Scalar(BOOL, True))


def _numpy_scalar(function: Any, args: list[Value]) -> Value:
    (x,) = args
    dtype = np.dtype(function)
    check_dtype(dtype)
    if dtype.kind in "iu" and number(x).dtype.kind == "f":
        raise NotTranslated(f"{function.__name__} of a float")
    return Value(stored(x, dtype), Scalar(dtype, False))


def _length(function: Any, args: list[Value]) -> Value:
    (x,) = args
    if not isinstance(x.type, Array) or not x.type.ndim:
        raise NotTranslated("len of no array")
    return Value(f"len({x.code})", Scalar(INT, True))


Handler = Callable[[Any, list[Value]], Value]
_HANDLERS: dict[Any, Handler] = {
    builtins.abs: _absolute, np.abs: _absolute, builtins.min: _extreme, builtins.max: _extreme,
    np.maximum: _numpy_extreme, np.minimum: _numpy_extreme, builtins.int: _int, builtins.float: _float,
    builtins.bool: _bool, builtins.round: _rounded, math.floor: _rounded, math.ceil: _rounded, builtins.len: _length,
    **dict.fromkeys(_TESTS, _test),
    **{np.dtype(c).type: _numpy_scalar for c in "?bhilqBHIfd"},
}  # fmt: skip

# Functions that make an array: the name of the one in translated code, and whether its dtype is that of an argument.
CREATION = {np.zeros: "zeros", np.ones: "ones", np.empty: "empty", np.full: "full"}
LIKE = {np.zeros_like: "zeros", np.ones_like: "ones", np.empty_like: "empty", np.full_like: "full"}
