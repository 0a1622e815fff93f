"""Types of the values in a loop over elements: what NumPy's promotion (NEP 50) needs to know of them.

In the translated code every integer is an int64 in the range of its dtype, whatever the dtype is; floats and truth
values are what their dtype says. An operation whose result Python would not hold in that form (an integer beyond 64
bits, a division by zero, a NaN out of numbers) stops the translated code, and the plain function decides.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..frozen import frozen

BOOL, INT, FLOAT, SINGLE = (np.dtype(t) for t in ("?", "i8", "f8", "f4"))
_KEPT = frozenset("?bhilqBHIfd")  # types of elements that a loop may look at; uint64 does not fit an int64


class NotTranslated(Exception):
    """The function is no loop over elements that can be compiled with NumPy's results.

    Parameters
    ----------
    reason : str
    by_argument : bool
        Whether other arguments might change that.
    """

    def __init__(self, reason: str, by_argument: bool = False):
        super().__init__(reason)
        self.by_argument = by_argument


@frozen
class Scalar:
    """A number.

    Parameters
    ----------
    dtype : numpy.dtype
    python : bool or None
        Whether it is a Python number and not a NumPy scalar; None if a flag beside it says so at run time.
    maybe_int : bool
        A float64 that stands for a Python int where its flag is set: ``total = 0`` before a sum of floats.
    literal : bool
        A Python int that is written in the code.
    """

    dtype: np.dtype
    python: bool | None
    maybe_int: bool = False
    literal: bool = False

    @property
    def flagged(self) -> bool:
        return self.maybe_int or self.python is None


@frozen
class Array:
    """An array.

    Parameters
    ----------
    origins : frozenset
        Numbers of the arguments whose memory it may be, and ``"fresh"`` for memory of its own.
    whole : bool
        Whether it is all of that array, and not a view of a part.
    c_order : bool
        Whether it is known to be C-contiguous.
    """

    dtype: np.dtype
    ndim: int
    origins: frozenset[int | str]
    whole: bool = True
    c_order: bool = True


Type = Scalar | Array


@frozen
class Value:
    """An expression of the translated code; `flag` is the code that tells a Python number from a NumPy scalar."""

    code: str
    type: Type
    flag: str = ""


def check_dtype(dtype: np.dtype) -> None:
    """Raise `NotTranslated` for elements that translated code does not handle."""
    if dtype.char not in _KEPT or not dtype.isnative:
        raise NotTranslated(f"an array of {dtype}", by_argument=True)


def number(value: Value) -> Scalar:
    """The type of a value that has to be a number."""
    if not isinstance(value.type, Scalar):
        raise NotTranslated("an operation on whole arrays")
    return value.type


def join(a: Type, b: Type) -> Type:
    """The type of a variable that holds values of both types.

    Examples
    --------
    >>> zero, element = Scalar(INT, True, literal=True), Scalar(FLOAT, False)
    >>> join(zero, element)
    Scalar(dtype=dtype('float64'), python=False, maybe_int=True, literal=False)
    """
    if a == b:
        return a
    if isinstance(a, Array) and isinstance(b, Array):
        if (a.dtype, a.ndim, a.whole) != (b.dtype, b.ndim, b.whole):
            raise NotTranslated("a variable that holds different arrays")
        return Array(a.dtype, a.ndim, a.origins | b.origins, a.whole, a.c_order and b.c_order)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        if b.literal and not a.literal:
            a, b = b, a
        if a.literal and b.dtype == FLOAT and b.python is not None:
            return Scalar(FLOAT, b.python, maybe_int=True)
        if a.dtype == b.dtype:
            if a.python == b.python:
                return Scalar(a.dtype, a.python, a.maybe_int or b.maybe_int)
            if not (a.maybe_int or b.maybe_int):
                return Scalar(a.dtype, None)
    raise NotTranslated("a variable that holds values of different types")


def flag_of(value: Value) -> str:
    """Code of the flag of a value: whether it is a Python number, or an int in the form of a float."""
    kind = number(value)
    if kind.flagged:
        if not value.flag:
            raise NotTranslated("a value that is a Python or a NumPy number, one knows not which")
        return value.flag
    return str(bool(kind.python))


def flag_as(value: Value, kind: Scalar) -> str:
    """Code of the flag of a value that becomes one of the flagged type `kind`."""
    given = number(value)
    return str(given.literal) if kind.maybe_int and not given.flagged else flag_of(value)


def as_float(value: Value, exact: bool = False) -> str:
    """Code of a number as a float64; with `exact`, only of integers that a float64 holds."""
    kind = number(value)
    if kind.dtype == FLOAT:
        return value.code
    if kind.dtype.kind in "iu" and exact and not kind.literal:
        return f"_exact({value.code})"
    return f"_f8({value.code})"


def as_int(value: Value) -> str:
    """Code of an integer or a truth value as an int64."""
    kind = number(value)
    if kind.dtype.kind not in "iub" or kind.maybe_int:
        raise NotTranslated("a float where an integer is needed")
    return f"_i8({value.code})" if kind.dtype == BOOL else value.code


def in_range(code: str, dtype: np.dtype) -> str:
    """Code that stops where an int64 is out of the range of `dtype`."""
    if dtype.itemsize == 8:
        return code
    info = np.iinfo(dtype)
    return f"_fits({code}, {info.min}, {info.max})"


_UFUNCS: dict[type[ast.operator], np.ufunc] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide, ast.Mod: np.remainder,
    ast.FloorDiv: np.floor_divide, ast.Pow: np.power, ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor, ast.LShift: np.left_shift, ast.RShift: np.right_shift,
}  # fmt: skip
_CHECKED = {
    ast.Add: "_add", ast.Sub: "_sub", ast.Mult: "_mul", ast.FloorDiv: "_floordiv", ast.Mod: "_mod",
    ast.LShift: "_shl", ast.RShift: "_shr",
}  # fmt: skip
_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)


def loop_dtype(ufunc: np.ufunc, *operands: Scalar) -> tuple[np.dtype, np.dtype]:
    """The dtype that NumPy, or Python between its own numbers, computes in, and that of the result."""
    if any(o.python is None and o.dtype not in (INT, FLOAT) for o in operands):
        raise NotTranslated("a value that is a Python or a NumPy number, one knows not which")
    if any(o.python is None for o in operands) and any(o.dtype not in (INT, FLOAT) for o in operands):
        raise NotTranslated("a value that is a Python or a NumPy number, one knows not which")
    mixed = any(o.python is False for o in operands)
    given: list[Any] = []
    for o in operands:
        weak = mixed and o.python and o.dtype != BOOL
        given.append({"i": int, "f": float}[o.dtype.kind] if weak else o.dtype)
    if not mixed and any(o.dtype == BOOL for o in operands):
        given = [INT if o.dtype == BOOL else o.dtype for o in operands]
    try:
        resolved = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError:
        raise NotTranslated(f"{ufunc.__name__} of these types") from None
    return resolved[0], resolved[-1]


def combined_flag(values: list[Value]) -> tuple[bool | None, str]:
    """Whether the result of an operation is a Python number: if all operands are; and the code of that."""
    kinds = [number(v) for v in values]
    if any(k.python is False and not k.maybe_int for k in kinds):
        return False, ""
    unsure = [v for v, k in zip(values, kinds) if k.flagged and not (k.maybe_int and k.python)]
    if not unsure:
        return True, ""
    return None, "(" + " and ".join(flag_of(v) for v in unsure) + ")"


def binary(op: ast.operator, x: Value, y: Value) -> Value:
    """The translated form of ``x <op> y``."""
    a, b = number(x), number(y)
    kind = type(op)
    if kind not in _UFUNCS or kind is ast.Pow:
        raise NotTranslated(f"the operator {kind.__name__}")
    if (a.maybe_int and (b.dtype != FLOAT or b.maybe_int)) or (b.maybe_int and a.dtype != FLOAT):
        raise NotTranslated("arithmetic with what may be an int or a float")
    python, flag = combined_flag([x, y])
    if a.dtype == b.dtype == BOOL and kind in _BITS:
        return Value(f"({x.code} {_SYMBOLS[kind]} {y.code})", Scalar(BOOL, python), flag)
    dtype, result = loop_dtype(_UFUNCS[kind], a, b)
    made = Scalar(result, python)
    if dtype.kind in "iu":
        if dtype.char not in _KEPT:
            raise NotTranslated(f"arithmetic in {dtype}")
        left, right = (in_range(as_int(v), dtype) if number(v).python else as_int(v) for v in (x, y))
        if kind in _BITS:
            return Value(f"({left} {_SYMBOLS[kind]} {right})", made, flag)
        return Value(in_range(f"{_CHECKED[kind]}({left}, {right})", dtype), made, flag)
    if dtype == FLOAT:
        exact = kind is ast.Div and a.dtype != FLOAT and b.dtype != FLOAT
        left, right = as_float(x, exact), as_float(y, exact)
        if kind in (ast.Add, ast.Sub, ast.Mult):
            return Value(f"({left} {_SYMBOLS[kind]} {right})", made, flag)
        if kind in (ast.Div, ast.FloorDiv, ast.Mod):
            name = {ast.Div: "_div", ast.FloorDiv: "_floor_quotient", ast.Mod: "_remainder"}[kind]
            return Value(f"{name}({left}, {right})", made, flag)
    if dtype == SINGLE:
        left, right = f"_f4({x.code})", f"_f4({y.code})"
        if kind in (ast.Add, ast.Sub, ast.Mult):
            return Value(f"({left} {_SYMBOLS[kind]} {right})", made, flag)
        if kind is ast.Div:
            return Value(f"_div4({left}, {right})", made, flag)
    raise NotTranslated(f"the operator {kind.__name__} on {dtype}")


def power(x: Value, y: Value, exponent: Any) -> Value:
    """``x ** y``, where `exponent` is the value of `y` if it is a literal."""
    a, b = number(x), number(y)
    python, flag = combined_flag([x, y])
    if a.dtype == INT and b.dtype == INT and exponent in (2, 3):
        square = f"_mul({x.code}, {x.code})"
        code = square if exponent == 2 else f"_mul({square}, {x.code})"
        return Value(code, Scalar(INT, python), flag)
    if a.maybe_int or b.maybe_int or loop_dtype(np.power, a, b)[0] != FLOAT:
        raise NotTranslated("this power")
    return Value(f"_pow({as_float(x)}, {as_float(y)})", Scalar(FLOAT, python), flag)


_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def compare(op: ast.cmpop, x: Value, y: Value) -> Value:
    """The translated form of ``x <op> y``."""
    a, b = number(x), number(y)
    symbol = _COMPARISONS.get(type(op))
    if symbol is None:
        raise NotTranslated(f"the comparison {type(op).__name__}")
    python, flag = combined_flag([x, y])
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        left, right = as_int(x), as_int(y)
    elif SINGLE in (a.dtype, b.dtype):
        if loop_dtype(np.less, a, b)[0] == SINGLE:
            left, right = f"_f4({x.code})", f"_f4({y.code})"
        else:
            left, right = as_float(x, True), as_float(y, True)
    else:
        left, right = as_float(x, True), as_float(y, True)
    return Value(f"({left} {symbol} {right})", Scalar(BOOL, python), flag)


def unary(op: ast.unaryop, x: Value) -> Value:
    """The translated form of ``<op> x``."""
    kind = number(x)
    if isinstance(op, ast.Not):
        return Value(f"(not {truth(x)})", Scalar(BOOL, True))
    if kind.maybe_int:
        raise NotTranslated("arithmetic with what may be an int or a float")
    if isinstance(op, ast.USub) and kind.dtype.kind in "iuf":
        code = f"(-{x.code})" if kind.dtype.kind == "f" else in_range(f"_neg({x.code})", kind.dtype)
        return Value(code, Scalar(kind.dtype, kind.python, literal=kind.literal), x.flag)
    if isinstance(op, ast.UAdd) and kind.dtype.kind in "iuf":
        return x
    if isinstance(op, ast.Invert) and kind.dtype.kind == "i":
        return Value(f"(~{x.code})", Scalar(kind.dtype, kind.python), x.flag)
    if isinstance(op, ast.Invert) and kind.dtype == BOOL and kind.python is False:
        return Value(f"(not {x.code})", kind)
    raise NotTranslated(f"the operator {type(op).__name__} on {kind.dtype}")


def truth(value: Value) -> str:
    """Code of ``bool(value)``."""
    kind = number(value)
    return value.code if kind.dtype == BOOL else f"({value.code} != 0)"


def stored(value: Value, dtype: np.dtype) -> str:
    """Code of a number as NumPy writes it into an array of `dtype`."""
    kind = number(value)
    if dtype == BOOL:
        return truth(value)
    if dtype.kind in "iu":
        if kind.dtype.kind == "f":
            if kind.maybe_int:
                raise NotTranslated("what may be an int or a float is written into an integer array")
            return in_range(f"_truncate({as_float(value)})", dtype)
        return in_range(as_int(value), dtype) if kind.dtype != dtype else value.code
    if dtype == FLOAT:
        return as_float(value)
    return value.code if kind.dtype == SINGLE else f"_f4({as_float(value, True)})"
