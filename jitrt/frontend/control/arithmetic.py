"""Arithmetic of numbers that are known only at run time: Python's for Python's numbers, NumPy's where one is NumPy's.

Whatever straight machine code would do otherwise stops the procedure: a division by zero of Python's numbers, an
integer that leaves its range, a function of `math` without a result.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import operators
from ...ir.integers import Poly
from ...ir.ops.optable import OPS
from ...ir.ops.ufuncs import SCALAR_MULTIPLY
from . import scalars
from .recorder import Recorder
from .values import (
    BOOL,
    FLOAT,
    INT,
    UNSIGNED,
    KindsDiffer,
    NotStaged,
    Raises,
    Scalar,
    both,
    dtype_of,
    integer,
    is_number,
    is_python_number,
    is_static,
    is_word,
)

_EXACT = 1 << 53  # up to which integers are floats

BINARY = {ufunc.__name__: python for ufunc, python in operators.BINARY.values() if ufunc is not np.matmul}
COMPARISONS = {ufunc.__name__: python for ufunc, python in operators.COMPARISONS.values()}
SYMBOLS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
_UNARY = {ufunc.__name__: python for ufunc, python in operators.UNARY.values()}
_POLY = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
_CHECKED = {"add": "add", "subtract": "sub", "multiply": "mul"}
_MOST_UNSIGNED = (1 << 64) - 1
_MOST_SHIFTED = 62  # bits by which one may be shifted, and stays positive
_BITS = {"left_shift": "shl", "right_shift": "shr", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}


def mixed(r: Recorder, op: str, x: Any, y: Any) -> Scalar | None:
    """A sum, difference, product or quotient of numbers that are integers of Python's, or may be; None for others.

    Floats hold integers exactly, so that only the kind of the result has to be found out: it is a float if one of the
    operands is, as quotients always are, and Python's if both are.
    """
    floats = [v for v in (x, y) if isinstance(v, Scalar) and v.dtype == FLOAT and v.settled]
    integers = [v for v in (x, y) if is_number(v) and dtype_of(v) == INT and is_python_number(v) is True]
    if op not in (*_POLY, "divide") or not floats or len(floats) + len(integers) != 2:
        return None
    names, zero = [exactly(r, v, FLOAT) for v in (x, y)], r.literal(0.0, FLOAT)
    made = r.compute(op, names, FLOAT)
    if op == "divide":
        r.stop(r.compute("equal", [names[1], zero], FLOAT, BOOL))
        python, flag = _whose(r, floats, False)
        return Scalar(FLOAT, python, made, flag=flag)
    is_float = r.compute("logical_or", [scalars.settled_flag(r, v, FLOAT) for v in (x, y)], BOOL)
    limit = r.literal(float(_EXACT), FLOAT)
    without_sign = r.compute("add", [made, zero], FLOAT)  # there is one zero among integers
    size = r.compute("absolute", [made], FLOAT)
    is_small = r.compute("less", [size, limit], FLOAT, BOOL)
    is_exact = r.compute("logical_or", [is_float, is_small], BOOL)
    r.stop(r.compute("logical_not", [is_exact], BOOL))
    name = r.compute("where", [is_float, made, without_sign], [BOOL, FLOAT, FLOAT], FLOAT)
    python, flag = _whose(r, floats, True)
    return Scalar(FLOAT, python, name, flag=flag, settled=is_float)


def _whose(r: Recorder, floats: Sequence[Scalar], unsettled: bool) -> tuple[bool | None, str]:
    """Whether a number made of such, which may be integers, is Python's, and the flag that says so where that is open.

    One that is `unsettled`, too, is NumPy's only if it is a float.
    """
    kinds = {v.python for v in floats}
    if kinds == {True} or (kinds == {False} and unsettled):
        return kinds.pop(), ""
    flags = []
    for v in floats:
        is_integer = r.compute("logical_not", [v.settled], BOOL)
        flags.append(r.compute("logical_or", [scalars.flag_of(r, v), is_integer], BOOL))
    return None, functools.reduce(lambda x, y: r.compute("logical_and", [x, y], BOOL), flags)


def comparable(value: Any) -> Any:
    """The number as an operand of a comparison: floats compare as the integers that they hold."""
    if isinstance(value, Scalar) and value.settled and value.dtype == FLOAT and value.python is not False:
        return Scalar(FLOAT, value.python, value.name, flag=value.flag)
    return value


def exactly(r: Recorder, value: Any, dtype: np.dtype) -> str:
    """A number in a register of another dtype, which holds it exactly."""
    source = dtype_of(value)
    if source == dtype:
        return scalars.register_of(r, value, dtype)
    if source.kind in "iu" and dtype.kind in "fc":
        limit = 1 << (53 if dtype in (FLOAT, np.dtype(complex)) else 24)
        r.require(limit - scalars.poly_of(r, value))
        r.require(scalars.poly_of(r, value) + limit)
        return scalars.register_of(r, value, dtype)
    if source == FLOAT and (dtype == np.dtype(complex) or (dtype.kind == "c" and is_static(value) and value == 0)):
        return scalars.register_of(r, value, dtype)
    if source == FLOAT and dtype.kind == "f" and is_static(value) and float(dtype.type(value)) == float(value):
        return scalars.register_of(r, value, dtype)
    raise KindsDiffer(f"a variable that is {source} and {dtype}")


def _flagged(r: Recorder, made: Any, x: Any, y: Any) -> Any:
    """The result of an operation on numbers: it is Python's if both are."""
    if not isinstance(made, Scalar) or made.python is not None:
        return made
    flag = r.compute("logical_and", [scalars.flag_of(r, x), scalars.flag_of(r, y)], BOOL)
    return Scalar(made.dtype, None, made.name, made.value, flag=flag)


def compare(r: Recorder, op: str, x: Any, y: Any) -> Any:
    """A comparison of two numbers by the name of its ufunc."""
    return _flagged(r, _compared(r, op, x, y), x, y)


def _compared(r: Recorder, op: str, x: Any, y: Any) -> Any:
    symbol, function = SYMBOLS[op], COMPARISONS[op]
    if is_static(x) and is_static(y):
        return function(x, y)
    python = both(is_python_number(x), is_python_number(y))
    kinds = dtype_of(x).kind + dtype_of(y).kind
    bound = next((v for v in (x, y) if type(v) is float and math.isinf(v)), None)
    expected = function(*(v if v is bound else 0.0 for v in (x, y)))
    if bound is not None and set(kinds) & set("iu"):
        return scalars.truth_value(expected, python)
    if set(kinds) <= set("biu") and any(isinstance(v, Scalar) and v.dtype == UNSIGNED for v in (x, y)):
        return _unsigned_compared(r, op, x, y, python)
    if set(kinds) <= set("biu"):
        left, right = scalars.poly_of(r, x), scalars.poly_of(r, y)
        known = scalars.decided(r, symbol, left - right)
        return scalars.truth_value(r.machine(symbol, left, right) if known is None else known, python)
    if "c" in kinds:
        raise NotStaged("a comparison of complex numbers")
    dtype = FLOAT if python else scalars.dtypes_of(getattr(np, op), (x, y))[0]
    if python is not False:
        for v in (x, y):
            _need_exact(r, v)
    names = [scalars.register_of(r, v, dtype) for v in (x, y)]
    made = r.compute(op, names, dtype, BOOL)
    if bound is None or not r.in_first_iteration or symbol not in "<>":
        return scalars.truth_value(made, python)
    # ``best = inf`` in front of ``if v < best: best = v``: from here on it is of the type of `v`.
    r.stop(r.compute("logical_not", [made], BOOL) if expected else made)
    return scalars.truth_value(expected, python)


def _unsigned_compared(r: Recorder, op: str, x: Any, y: Any, python: bool | None) -> Any:
    """A comparison of integers of which one is an unsigned one of 64 bits: by their values, whatever the other is."""
    for v in (x, y):
        if is_static(v) and not 0 <= v <= _MOST_UNSIGNED:
            return scalars.truth_value(COMPARISONS[op](*(v if w is v else 0 for w in (x, y))), python)
        if isinstance(v, Scalar) and v.value is not None:
            r.require(v.poly)
    names = [scalars.register_of(r, v, UNSIGNED) for v in (x, y)]
    return scalars.truth_value(r.compute(op, names, UNSIGNED, BOOL), python)


def _need_exact(r: Recorder, x: Any) -> None:
    """Stop where an integer is no float."""
    if isinstance(x, Scalar) and x.value is not None:
        r.require(_EXACT - x.poly)
        r.require(x.poly + _EXACT)
    elif isinstance(x, int) and abs(x) > _EXACT:
        raise NotStaged("an integer that is no float")


def binary(r: Recorder, op: str, x: Any, y: Any, product: str = SCALAR_MULTIPLY.name) -> Any:
    """``x op y`` for two numbers; a `product` of NumPy's complex ones is that of their operator."""
    return _flagged(r, _binary(r, op, x, y, product), x, y)


def _binary(r: Recorder, op: str, x: Any, y: Any, product: str) -> Any:
    if is_static(x) and is_static(y):
        with np.errstate(all="raise"):
            try:
                return BINARY[op](x, y)
            except Exception as error:
                raise Raises(str(error)) from None
    python = both(is_python_number(x), is_python_number(y))
    kinds: set[str] = {dtype_of(x).kind, dtype_of(y).kind}
    if python is not False and "c" not in kinds:
        return _python_binary(r, op, x, y, kinds, python)
    ufunc = getattr(np, op)
    operands = scalars.dtypes_of(ufunc, (x, y))
    dtype = operands[-1]
    if op == "multiply" and dtype.kind == "c":
        op = product
    if dtype.kind in "iu" and op != "power":
        return _integer_binary(r, op, x, y, dtype, False)
    if op == "power" and isinstance(y, (int, float)) and y == 2 and dtype.kind in "fc":
        name = scalars.register_of(r, x, dtype)
        if dtype.kind == "c":
            return Scalar(dtype, False, r.compute(SCALAR_MULTIPLY.name, [name, name], dtype))
        return Scalar(dtype, False, r.compute("square", [name], dtype))
    if dtype.kind in "iu":
        return _integer_power(r, x, y, dtype, False)
    if op == "power" and dtype == np.float32:  # NumPy's loop of arrays takes the root for 0.5
        wide = [r.cast(scalars.register_of(r, v, d), d, FLOAT) for v, d in zip((x, y), operands)]
        return scalars.from_register(r, r.cast(r.compute(op, wide, FLOAT), FLOAT, dtype), dtype)
    names = [scalars.register_of(r, v, d) for v, d in zip((x, y), operands)]
    return scalars.from_register(r, r.compute(op, names, operands[:2], dtype), dtype)


def _python_binary(r: Recorder, op: str, x: Any, y: Any, kinds: set[str], python: bool | None) -> Any:
    if python is None and (kinds & {"b"} or any(dtype_of(v) not in (INT, FLOAT) for v in (x, y))):
        raise KindsDiffer("a number that is Python's or NumPy's")
    if kinds == {"b"} and op.startswith("bitwise"):
        name = r.compute(op, [scalars.register_of(r, v, BOOL) for v in (x, y)], BOOL)
        return Scalar(BOOL, True, name)
    if kinds <= {"b", "i"} and op == "power":
        return _integer_power(r, x, y, INT, python)
    if kinds <= {"b", "i"} and op != "divide":
        return _integer_binary(r, op, x, y, INT, python)
    for v in (x, y):
        _need_exact(r, v)
    names = [scalars.register_of(r, v, FLOAT) for v in (x, y)]
    if op in ("divide", "floor_divide", "remainder") and not (is_static(y) and y):
        r.stop(r.compute("equal", [names[1], r.literal(0.0, FLOAT)], FLOAT, BOOL))
    if op == "power":
        return _float_power(r, y, names, python)
    return Scalar(FLOAT, python, r.compute(op, names, FLOAT))


def _float_power(r: Recorder, y: Any, names: list[str], python: bool | None) -> Scalar:
    """Python's power: an exception where it is infinite, a complex number where it is no number."""
    made = r.compute("square", names[:1], FLOAT) if is_static(y) and y == 2 else r.compute("power", names, FLOAT)
    _stop_unless_finite(r, made, names)
    return Scalar(FLOAT, python, made)


def _stop_unless_finite(r: Recorder, made: str, operands: list[str]) -> None:
    """Stop where finite operands give no finite number: Python raises there."""
    ends = r.compute("logical_not", [r.compute("isfinite", [made], FLOAT, BOOL)], BOOL)
    for operand in operands:
        finite = r.compute("isfinite", [operand], FLOAT, BOOL)
        ends = r.compute("logical_and", [ends, finite], BOOL)
    r.stop(ends)


def _stop_where_undefined(r: Recorder, made: str, operands: list[str]) -> None:
    """Stop where numbers of which none is nan give nan."""
    ends = r.compute("isnan", [made], FLOAT, BOOL)
    for operand in operands:
        is_number = r.compute("logical_not", [r.compute("isnan", [operand], FLOAT, BOOL)], BOOL)
        ends = r.compute("logical_and", [ends, is_number], BOOL)
    r.stop(ends)


def _integer_power(r: Recorder, x: Any, y: Any, dtype: np.dtype, python: bool | None) -> Any:
    if not is_static(y) and dtype == INT:
        return integer(_open_power(r, scalars.poly_of(r, x), scalars.poly_of(r, y)), dtype, python)
    exponent = scalars.static_integer(y)
    if not 0 <= exponent <= 16:
        raise NotStaged("a power of an integer")
    result: Any = 1 if python is not False else dtype.type(1)
    for _ in range(exponent):
        result = _integer_binary(r, "multiply", result, x, dtype, python)
    return result


def _open_power(r: Recorder, x: Poly, y: Poly) -> Poly:
    """A power with an exponent of run time: the procedure stops if that is negative, or the power is too long."""
    r.require(y)
    if x.constant == -1:
        odd = Poly.name(r.machine("and", y, Poly.number(1), [0], [1]))
        return Poly.number(1) - odd * 2
    r.require(_MOST_SHIFTED - y)
    if x.constant == 2:
        return _power_of_two(r, y)
    power = r.variable()
    r.put(power, r.integer(Poly.number(1)), INT)
    with r.loop(Poly.number(0), y, varying=True):
        r.put(power, r.integer(r.checked("mul", Poly.name(r.get(power, INT)), x)), INT)
    return Poly.name(r.get(power, INT))


def _power_of_two(r: Recorder, exponent: Poly) -> Poly:
    return Poly.name(r.machine("shl", Poly.number(1), exponent, [1], [1 << _MOST_SHIFTED]))


def _shifted(r: Recorder, op: str, x: Any, y: Any, python: bool | None) -> Any:
    """An integer of 64 bits, shifted by a number of bits of run time."""
    left, count = scalars.poly_of(r, x), scalars.poly_of(r, y)
    r.require(count)
    if op == "left_shift":
        r.require(_MOST_SHIFTED - count)
        return _integer_binary(r, "multiply", x, integer(_power_of_two(r, count)), INT, python)
    low, high = r.facts.interval(left)
    lows, highs = ([0], [left]) if r.facts.is_at_least(left) else ([low], [max(high, 0)])
    return integer(Poly.name(r.machine("shr", left, r.minimum(count, Poly.number(63)), lows, highs)), INT, python)


def _integer_binary(r: Recorder, op: str, x: Any, y: Any, dtype: np.dtype, python: bool | None) -> Any:
    if not is_word(dtype):
        return _unsigned_binary(r, op, x, y, dtype)
    left, right = scalars.poly_of(r, x), scalars.poly_of(r, y)
    limits = np.iinfo(dtype)
    if python is False and dtype.itemsize < 8:
        left, right = (
            v if is_python_number(n) is False else in_range(r, v, limits) for n, v in ((x, left), (y, right))
        )
    if op in _POLY:
        exact = _POLY[op](left, right)
        low, high = r.facts.interval(exact)
        if not (limits.min <= low and high <= limits.max):
            low, high = (-(1 << 63), (1 << 63) - 1) if dtype.itemsize == 8 else (low, high)
            if not (low >= -(1 << 63) and high < 1 << 63):
                raise NotStaged("integers that are too long")
            exact = r.checked(_CHECKED[op], left, right) if dtype.itemsize == 8 else in_range(r, exact, limits)
        return integer(exact, dtype, python)
    if op in ("floor_divide", "remainder"):
        if right.constant == 0:
            raise NotStaged("division by zero")
        if right.constant is None and not (r.facts.is_at_least(right, 1) or r.facts.is_at_least(-right, 1)):
            r.stop(r.machine("==", right, Poly.number(0)))
        if r.facts.interval(left)[0] == -(1 << 63) and not r.facts.is_at_least(right, 0):
            r.stop(r.machine("==", right, Poly.number(-1)))
        return integer(_quotient(r, op, left, right), dtype, python)
    if op in _BITS:
        if "shift" in op:
            if not is_static(y) and dtype == INT:
                return _shifted(r, op, x, y, python)
            count = scalars.static_integer(y)
            if not 0 <= count < 63:
                raise NotStaged("a shift")
            if op == "left_shift":
                return _integer_binary(r, "multiply", x, 1 << count, dtype, python)
        low, high = limits.min, limits.max
        if op == "bitwise_and" and (right.constant or -1) >= 0:
            low, high = 0, right.constant or 0
        elif all(r.facts.is_at_least(v) for v in (left, right)):
            low, high = 0, (1 << max(r.facts.interval(v)[1] for v in (left, right)).bit_length()) - 1
            high = min(high, (1 << 63) - 1)
        return integer(Poly.name(r.machine(_BITS[op], left, right, [int(low)], [int(high)])), dtype, python)
    raise NotStaged(f"{op} of integers")


def _unsigned_binary(r: Recorder, op: str, x: Any, y: Any, dtype: np.dtype) -> Any:
    """An operation on unsigned integers of 64 bits, in registers of their own; it stops where NumPy warns."""
    names = [scalars.register_of(r, v, dtype) for v in (x, y)]
    if op in ("floor_divide", "remainder"):
        if is_static(y) and not y:
            raise NotStaged("division by zero")
        if not is_static(y):
            r.stop(r.compute("equal", [names[1], r.literal(0, dtype)], dtype, BOOL))
    elif op not in _POLY and op not in _BITS:
        raise NotStaged(f"{op} of integers")
    made = r.compute(op, names, dtype)
    if op in _POLY and "over" not in r.ignored:
        r.stop(_has_wrapped(r, op, (x, y), names, made))
    return Scalar(dtype, False, made)


def _has_wrapped(r: Recorder, op: str, operands: Sequence[Any], names: Sequence[str], made: str) -> str:
    """Whether a sum, a difference or a product of unsigned integers of 64 bits is another modulo 2**64."""

    def less(a: str, b: str) -> str:
        return r.compute("less", [a, b], UNSIGNED, BOOL)

    x, y = names
    if op != "multiply":
        return less(made, x) if op == "add" else less(x, y)
    for factor, other in ((operands[0], y), (operands[1], x)):
        if is_static(factor):
            most = _MOST_UNSIGNED // int(factor) if factor else _MOST_UNSIGNED
            return less(r.literal(np.uint64(most), UNSIGNED), other)
    one = r.literal(1, UNSIGNED)
    divisor = r.compute("maximum", [x, one], UNSIGNED)
    back = r.compute("floor_divide", [made, divisor], UNSIGNED)
    differs = r.compute("not_equal", [back, y], UNSIGNED, BOOL)
    is_zero = r.compute("less", [x, one], UNSIGNED, BOOL)
    return r.compute("logical_and", [differs, r.compute("logical_not", [is_zero], BOOL)], BOOL)


def in_range(r: Recorder, value: Poly, limits: Any) -> Poly:
    """An integer that the procedure stops for if it is out of range."""
    low, high = r.facts.interval(value)
    if limits.min <= low and high <= limits.max:
        return value
    r.require(value - int(limits.min))
    r.require(int(limits.max) - value)
    return r.narrowed(value, int(limits.min), int(limits.max))


def _quotient(r: Recorder, op: str, x: Poly, y: Poly) -> Poly:
    """The quotient or the remainder in Python's sense."""
    c = y.constant
    divides = op == "floor_divide"
    if c is not None and c > 0 and all(k % c == 0 for _, k in x.terms):
        return Poly.of({m: k // c for m, k in x.terms}) if divides else Poly.number(0)
    low, high = r.facts.interval(x)
    if divides:
        ends = sorted((low // c, high // c)) if c else [-max(abs(low), abs(high)), max(abs(low), abs(high))]
        lows: list[Any] = [ends[0]]
        highs: list[Any] = [ends[1]]
        if r.facts.is_at_least(x) and r.facts.is_at_least(y, 1):
            lows, highs = [0], [*highs, x]
        if c is not None and c > 0 and c & (c - 1) == 0:
            return Poly.name(r.machine("shr", x, Poly.number(c.bit_length() - 1), lows, highs))
        op = "udiv" if r.facts.is_at_least(x) and r.facts.is_at_least(y, 1) else "floordiv"
        return Poly.name(r.machine(op, x, y, lows, highs))
    if c is not None and c > 0 and c & (c - 1) == 0:
        return Poly.name(r.machine("and", x, Poly.number(c - 1), [0], [c - 1]))
    if r.facts.is_at_least(x) and r.facts.is_at_least(y, 1):
        return Poly.name(r.machine("urem", x, y, [0], [y - 1, x]))
    if r.facts.is_at_least(y, 1):
        return Poly.name(r.machine("mod", x, y, [0], [y - 1]))
    return Poly.name(r.machine("mod", x, y, [-(1 << 62)], [1 << 62]))


def unary(r: Recorder, op: str, x: Any) -> Any:
    """``negative``, ``positive``, ``invert`` or ``absolute`` of a number."""
    x = scalars.settled(r, x)
    return _flagged(r, _unary(r, op, x), x, x)


def _unary(r: Recorder, op: str, x: Any) -> Any:
    if is_static(x):
        return _UNARY[op](x)
    dtype, python = x.dtype, x.python
    if dtype == BOOL and not python and op == "invert":
        return scalars.truth_value(scalars.negation(r, x.name), False)
    if dtype == UNSIGNED:
        if op == "negative":
            raise NotStaged("negative of an unsigned integer of 64 bits")
        return Scalar(dtype, False, r.compute(op, [x.name], dtype)) if op == "invert" else x
    if dtype.kind in "iub":
        if dtype == BOOL and not python:
            raise NotStaged(f"{op} of a truth value")
        dtype = INT if dtype == BOOL else dtype
        if op == "positive":
            return integer(scalars.poly_of(r, x), dtype, python)
        if op == "invert":
            return _integer_binary(r, "subtract", -1, x, dtype, python)
        if op == "negative":
            return _integer_binary(r, "subtract", 0, x, dtype, python)
        negative = scalars.poly_of(r, _integer_binary(r, "subtract", 0, x, dtype, python))
        return integer(r.maximum(scalars.poly_of(r, x), negative), dtype, python)
    if op == "invert":
        raise NotStaged("the inverse of a float")
    if op == "positive":
        return x
    result = np.dtype(f"f{dtype.itemsize // 2}") if op == "absolute" and dtype.kind == "c" else dtype
    return Scalar(result, python, r.compute(op, [x.name], dtype, result))


def apply(r: Recorder, ufunc: np.ufunc, args: list[Any]) -> Any:
    """A ufunc of NumPy's on numbers."""
    name = ufunc.__name__
    if name in BINARY and len(args) == 2:
        x, y = (np.asarray(a)[()] if is_static(a) else Scalar(a.dtype, False, a.name, a.value) for a in args)
        weak = [is_python_number(a) for a in args]
        # A function of NumPy's makes a NumPy number of Python's; beside a NumPy number Python's stay weak.
        x, y = (x, y) if all(weak) else args
        made = binary(r, name, x, y, product="multiply")
        return Scalar(made.dtype, False, made.name, made.value) if isinstance(made, Scalar) else made
    if name in COMPARISONS:
        made = compare(r, name, *args)
        return np.bool(made) if is_static(made) else Scalar(BOOL, False, made.name)
    if name in ("absolute", "negative", "positive", "invert") or (
        name == "conjugate" and dtype_of(args[0]).kind != "c"
    ):
        made = unary(r, "positive" if name == "conjugate" else name, args[0])
        return made if is_static(made) else Scalar(made.dtype, False, made.name, made.value)
    operands = scalars.dtypes_of(ufunc, args)
    *inputs, dtype = operands
    if name in ("maximum", "minimum", "fmax", "fmin") and is_word(dtype):
        left, right = (scalars.poly_of(r, a) for a in args)
        return integer((r.maximum if "max" in name else r.minimum)(left, right), dtype, False)
    if name == "square" and dtype.kind == "c":  # of a single element it rounds each product, too
        return binary(r, "multiply", args[0], args[0])
    if name not in OPS:
        raise NotStaged(f"numpy.{name}")
    return scalars.from_register(
        r, r.compute(name, [scalars.register_of(r, a, d) for a, d in zip(args, inputs)], inputs, dtype), dtype
    )


def as_float(r: Recorder, x: Any) -> Any:
    """Python's ``float(x)``."""
    if is_static(x):
        return float(x)
    if x.dtype.kind == "c":
        raise NotStaged("a float of a complex number")
    _need_exact(r, x)
    return Scalar(FLOAT, True, scalars.register_of(r, x, FLOAT))


def as_int(r: Recorder, x: Any) -> Any:
    """Python's ``int(x)``."""
    if is_static(x):
        return int(x)
    if x.dtype.kind in "iub":
        return integer(scalars.poly_of(r, x))
    if x.dtype.kind != "f":
        raise NotStaged("an integer of a complex number")
    return rounded(r, x, "trunc")


def rounded(r: Recorder, x: Any, how: str) -> Any:
    """A float as an integer of Python's: ``trunc``, ``floor``, ``ceil`` or ``rint``."""
    name = scalars.register_of(r, x, FLOAT)
    return integer(r.truncated(name if how == "trunc" else r.compute(how, [name], FLOAT)))


def of_math(r: Recorder, name: str, args: list[Any]) -> Any:
    """A function of Python's module `math` of floats; where it raises, the procedure stops."""
    for a in args:
        _need_exact(r, a)
    names = [scalars.register_of(r, a, FLOAT) for a in args]
    made = r.compute(name, names, FLOAT)
    if name != "absolute":
        _stop_unless_finite(r, made, names)
        _stop_where_undefined(r, made, names)
    return Scalar(FLOAT, True, made)


_OTHER_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "fabs": "absolute", "erf": "libm_erf",
    "erfc": "libm_erfc",
}  # fmt: skip
OF_TWO = frozenset({math.hypot, math.atan2, math.copysign, math.fmod})
MATH = {
    getattr(math, name): _OTHER_NAMES.get(name, name)
    for name in """sqrt exp exp2 log sin cos tan sinh cosh tanh log2 log10 log1p expm1 cbrt hypot asin acos atan atan2
    fabs copysign fmod erf erfc""".split()
}
ROUNDING = {math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc", round: "rint"}
TESTS = {math.isnan: "isnan", math.isinf: "isinf", math.isfinite: "isfinite"}
