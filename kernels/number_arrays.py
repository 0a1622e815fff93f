"""The back end of `Number` that computes with NumPy arrays at once."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .number import AROUND_ONE, DOMAIN, FLOAT, INT, Number

_DTYPE = {(FLOAT, 64): np.float64, (FLOAT, 32): np.float32, (INT, 64): np.int64, (INT, 32): np.int32}
_UNSIGNED: dict[int, type] = {64: np.uint64, 32: np.uint32}
_SAME_IN_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.bitwise_not,
    "shl": np.left_shift,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rint": np.rint,
    "copysign": np.copysign,
    "select": np.where,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


class Arrays:
    """Computes with NumPy arrays of float64, float32, int64, int32 and bool.

    Parameters
    ----------
    fma
        Emulate a fused multiply-add exactly; otherwise `Number.fma` rounds twice, as on hardware without it.
    avx512
        Whether formulas are to take the way that they take on AVX-512.
    """

    def __init__(self, fma: bool = True, avx512: bool = False) -> None:
        self.fma = fma
        self.avx512 = avx512

    def constant(self, value: float | int, kind: str, bits: int) -> Any:
        return np.asarray(value, _DTYPE[kind, bits])[()]

    def apply(self, operation: str, kind: str, bits: int, *values: Any) -> Any:
        with np.errstate(all="ignore"):
            if operation in _SAME_IN_NUMPY:
                return _SAME_IN_NUMPY[operation](*values)
            if operation == "fma":
                return (fused_multiply_add64 if bits == 64 else fused_multiply_add32)(*values)
            if operation == "to_bits":
                return values[0].view(_DTYPE[INT, bits])
            if operation == "from_bits":
                return values[0].view(_DTYPE[FLOAT, bits])
            if operation == "lshr":
                unsigned = _UNSIGNED[bits]
                return (values[0].view(unsigned) >> unsigned(values[1])).view(_DTYPE[INT, bits])
            if operation == "rarely":
                return self._rarely(bits, *values)
            if operation in _OF_AVX512:
                return _OF_AVX512[operation](bits, *values)
        raise NotImplementedError(operation)

    def in_float64(self, formula: Callable[..., Number], *values: Any) -> Any:
        result = formula(*(Number(self, value.astype(np.float64)) for value in values))
        with np.errstate(all="ignore"):
            return result.value.astype(np.float32)

    def _rarely(
        self,
        bits: int,
        mask: Any,
        name: str,
        general: Callable[..., Number],
        usual: Callable[..., Number],
        instead: Any,
        *values: Any,
    ) -> Any:
        replaced = (np.where(mask, instead, value) for value in values)
        rare = general(*(Number(self, value, FLOAT, bits) for value in values))
        return np.where(mask, rare.value, usual(*(Number(self, value, FLOAT, bits) for value in replaced)).value)

    def beyond(self, bound: float, name: str, bits: int, x: Any, result: Any) -> Any:
        rare = np.flatnonzero(np.abs(x) > bound)
        if not rare.size:
            return result
        x, result = np.atleast_1d(x), np.atleast_1d(result).copy()
        result[rare] = [_library_call(name, float(value)) for value in x[rare]]
        return result


def _exponent(bits: int, x: Any) -> Any:
    exponent = np.frexp(x)[1].astype(x.dtype) - x.dtype.type(1)
    return np.where(np.isfinite(x) & (x != 0), exponent, np.where(x == 0, -np.inf, np.abs(x))).astype(x.dtype)


def _significand(bits: int, x: Any, interval: int, negative: int) -> Any:
    m = np.abs(np.frexp(x)[0]) * x.dtype.type(2)
    if interval == AROUND_ONE:
        m = np.where(m >= 1.5, m * x.dtype.type(0.5), m)
    m = np.where((x == 0) | np.isinf(x), x.dtype.type(1), m)
    return np.where((x < 0) & (negative == DOMAIN), x.dtype.type(np.nan), m)


def _scale(bits: int, x: Any, exponent: Any) -> Any:
    finite = np.clip(np.nan_to_num(np.floor(exponent)), -10000, 10000).astype(np.int32)
    extreme = np.where(exponent > 0, exponent, 0 * exponent)
    infinite = np.where(exponent > 0, x * np.inf, np.where(np.isinf(x), np.nan, np.copysign(0, x)))
    value = np.where(np.isinf(exponent), infinite, np.ldexp(x, finite))
    return np.where(np.isnan(exponent), extreme, value).astype(x.dtype)


def _range(bits: int, x: Any, bound: Any, choice: int) -> Any:
    if choice == 2:
        return np.copysign(np.fmin(np.abs(x), bound), x)
    if choice == 10:
        return np.fmin(np.abs(x), np.abs(bound))
    if choice == 11:
        return np.fmax(np.abs(x), np.abs(bound))
    return np.fmin(x, bound) if choice == 4 else np.fmax(x, bound)


def _look_up(bits: int, index: Any, table: Any) -> Any:
    return np.asarray(table, _DTYPE[FLOAT, bits])[index & (len(table) - 1)]


def _repair(bits: int, result: Any, x: Any, classes: Any, flags: int) -> Any:
    nan, _, zero, one, minus_infinity, infinity, negative, positive = classes
    response = np.select(
        [np.isnan(x), x == 0, x == 1, x == -np.inf, x == np.inf, x < 0],
        [nan, zero, one, minus_infinity, infinity, negative],
        positive,
    )
    unit = x.dtype.type(1)
    values = [
        result, x, x, unit * np.nan, -unit * np.inf, unit * np.inf, np.copysign(unit * np.inf, x), -unit * 0, unit * 0,
        -unit, unit,
    ]  # fmt: skip
    return np.choose(response, np.broadcast_arrays(*values)).astype(x.dtype)


_OF_AVX512: dict[str, Callable[..., Any]] = {
    "exponent": _exponent,
    "significand": _significand,
    "scale": _scale,
    "range": _range,
    "look_up": _look_up,
    "repair": _repair,
}


def fused_multiply_add32(a: Any, b: Any, c: Any) -> Any:
    """``a*b + c`` of float32, rounded once.

    The product is exact in float64. The sum is rounded to odd there, after which rounding to float32 is right:
    float64 has more than two extra bits (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
    IEEE Trans. Comp. 57, 2008).
    """
    product = np.multiply(a, b, dtype=np.float64)
    addend = np.asarray(c, np.float64)
    return _round_to_odd_sum(product, addend).astype(np.float32)


def fused_multiply_add64(a: Any, b: Any, c: Any) -> Any:
    """``a*b + c`` of float64, rounded once.

    Error-free transformations with one sum rounded to odd (Boldo and Melquiond 2008) where no part can
    overflow or fall below the least normal number, the C library elsewhere.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    size = np.abs(product)
    large, small = 2.0**900, 2.0**-900
    plain = (size == 0) & ((a == 0) | (b == 0)) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    safe = (size > small) & (size < large) & (np.abs(a) < large) & (np.abs(b) < large) & (np.abs(c) < large)
    error = _product_error(a, b, product)
    low_sum, low_error = _two_sum(c, error)
    high_sum, high_error = _two_sum(product, low_sum)
    result = np.asarray(high_sum + _round_to_odd_sum(low_error, high_error))
    result = np.where(plain, product + c, result)
    rest = np.flatnonzero(~(plain | safe))
    if rest.size:
        flat = result.reshape(-1).copy()
        call = _library_fma()
        flat[rest] = [call(*xyz) for xyz in zip(a.flat[rest], b.flat[rest], c.flat[rest], strict=True)]
        result = flat.reshape(result.shape)
    return result


def _library_call(name: str, x: float) -> float:
    """``math``'s function, which is the C library's, without its exceptions."""
    try:
        return getattr(math, name)(x)
    except ValueError:
        return math.nan


def _library_fma() -> Callable[[float, float, float], float]:
    library = ctypes.CDLL(ctypes.util.find_library("m") or ctypes.util.find_msvcrt())  # type: ignore[attr-defined]
    call = library.fma
    call.argtypes = [ctypes.c_double] * 3
    call.restype = ctypes.c_double
    return call


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Knuth's exact sum: ``a + b == result[0] + result[1]``."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product_error(a: Any, b: Any, product: Any) -> Any:
    """``a*b - product`` exactly (Dekker 1971, with Veltkamp's splitting)."""
    splitter = 2.0**27 + 1
    a_high = a * splitter - (a * splitter - a)
    b_high = b * splitter - (b * splitter - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _round_to_odd_sum(a: Any, b: Any) -> Any:
    """The sum of two float64, truncated to 53 bits with the last bit set if anything was cut off."""
    total, error = _two_sum(a, b)
    total, error = np.broadcast_arrays(np.asarray(total), np.asarray(error))
    bits = total.copy().view(np.int64)
    inexact_and_even = (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    toward_zero = (error > 0) ^ (total > 0)
    step = np.where(toward_zero, -1, 1)
    # A total of zero is exact, so stepping the representation never crosses zero.
    return np.where(inexact_and_even, bits + step, bits).view(np.float64)
