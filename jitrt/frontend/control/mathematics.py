"""Calls of Python's functions of numbers: those of `math`, and what rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import arithmetic, scalars
from .recorder import Recorder
from .values import BOOL, FLOAT, NotStaged, Scalar, dtype_of, is_number, is_static

_MOST_DECIMALS = 15  # powers of ten are exact far beyond
_WHOLE = 2.0**52  # from where on floats have no decimals


def is_known(function: Any) -> bool:
    """Whether a function is one of them."""
    return function in arithmetic.MATH or function in arithmetic.ROUNDING or function in arithmetic.TESTS


def call(r: Recorder, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What one of them gives; the procedure stops where it raises."""
    if kwargs or not all(map(is_number, args)) or any(dtype_of(v).kind == "c" for v in args):
        raise NotStaged(f"arguments of {function.__name__}")
    if all(map(is_static, args)):
        try:
            return function(*args)
        except (ValueError, OverflowError) as error:
            raise NotStaged(str(error)) from None
    if function is round and len(args) == 2:
        return _decimals(r, *args)
    if function is math.log and len(args) == 2:
        return arithmetic.binary(r, "divide", *(call(r, math.log, [v], {}) for v in args))
    if len(args) != (2 if function in arithmetic.OF_TWO else 1):
        raise NotStaged(f"arguments of {function.__name__}")
    if function in arithmetic.ROUNDING:
        return _rounded(r, function, *args)
    if function in arithmetic.TESTS:
        name = scalars.register_of(r, args[0], FLOAT)
        return Scalar(BOOL, True, r.compute(arithmetic.TESTS[function], [name], FLOAT, BOOL))
    return arithmetic.of_math(r, arithmetic.MATH[function], args)


def _rounded(r: Recorder, function: Callable[..., Any], x: Any) -> Any:
    """The integer of Python's that is next to a number, also to one of NumPy's: most of these have no ``__trunc__``."""
    dtype = dtype_of(x)
    if dtype.kind in "iu" and (x.python or function is round):
        return x if x.python else arithmetic.as_int(r, x)
    if dtype.kind != "f" or dtype.itemsize > FLOAT.itemsize or (function is math.trunc and dtype != FLOAT):
        raise NotStaged("rounding of this")
    return arithmetic.rounded(r, x, arithmetic.ROUNDING[function])


def _decimals(r: Recorder, x: Any, decimals: Any) -> Any:
    """``round(x, decimals)``.

    Python rounds the decimal number that a float is. With s = x * 10**decimals, that is rint(s) unless s is so near to
    the middle of two integers that its own rounding may have taken it to the other side: the procedure stops there. The
    quotient of rint(s) and the power, both of them exact, is the float next to the decimal number. NumPy divides
    rint(s) in any case.
    """
    if not isinstance(x, Scalar) or type(decimals) is not int or not 0 <= decimals <= _MOST_DECIMALS:
        raise NotStaged("rounding to such decimals")
    if dtype_of(x).kind in "iu" and x.python:
        return x
    if dtype_of(x) != FLOAT or x.python is None:
        raise NotStaged("rounding of this")
    name = scalars.register_of(r, x, FLOAT)
    power = r.literal(10.0**decimals, FLOAT)
    scaled = r.compute("multiply", [name, power], FLOAT) if decimals else name
    whole = r.compute("rint", [scaled], FLOAT)
    if x.python and decimals:
        size = r.compute("absolute", [scaled], FLOAT)
        distance = r.compute("absolute", [r.compute("subtract", [scaled, whole], FLOAT)], FLOAT)
        from_middle = r.compute("absolute", [r.compute("subtract", [distance, r.literal(0.5, FLOAT)], FLOAT)], FLOAT)
        error = r.compute("multiply", [size, r.literal(1 / _WHOLE, FLOAT)], FLOAT)
        for low, high in ((from_middle, error), (r.literal(_WHOLE, FLOAT), size)):
            r.stop(r.compute("less_equal", [low, high], FLOAT, BOOL))
    return Scalar(FLOAT, x.python, r.compute("divide", [whole, power], FLOAT) if decimals else whole)
