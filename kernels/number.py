"""A number on which a formula is written once: it emits LLVM IR, or computes with NumPy arrays.

The elementary functions of `vmath` are plain Python functions of `Number`. With the `LLVM` back end their
operators append straight-line instructions to an `IRBuilder`, which the loop vectoriser widens with the loop
around them; with the `Arrays` back end the same operators compute at once, so accuracy is tested without a compiler.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from llvmlite import ir

from .vmath_rare import emit_beyond

FLOAT, INT, MASK = "float", "int", "mask"


class BackEnd(Protocol):
    """What a `Number` needs to compute: constants, operations by name, and whether there is a fused multiply-add."""

    fma: bool

    def constant(self, value: float | int, kind: str, bits: int) -> Any: ...

    def apply(self, operation: str, kind: str, bits: int, *values: Any) -> Any: ...

    def beyond(self, bound: float, name: str, bits: int, x: Any, result: Any) -> Any: ...


class Number:
    """A float of 32 or 64 bits, an integer of the same width, or a mask, in one of the back ends.

    Operands that are Python numbers become constants of the same type. Comparisons give masks; floats have ``+
    - * /``, integers ``+ -`` (wrapping), ``& | ^ <<``, and masks ``& | ~``.
    """

    __slots__ = ("back", "bits", "kind", "value")

    def __init__(self, back: BackEnd, value: Any, kind: str = FLOAT, bits: int = 64) -> None:
        self.back = back
        self.value = value
        self.kind = kind
        self.bits = bits

    def constant(self, value: float | int) -> Number:
        """`value` as a number of this type."""
        return Number(self.back, self.back.constant(value, self.kind, self.bits), self.kind, self.bits)

    def _same(self, other: Number | float | int) -> Number:
        if isinstance(other, Number):
            if other.kind != self.kind or other.bits != self.bits:
                raise TypeError(f"{self.kind}{self.bits} meets {other.kind}{other.bits}")
            return other
        return self.constant(other)

    def _apply(
        self, operation: str, *others: Number | float | int, kind: str | None = None, bits: int | None = None
    ) -> Number:
        values = [self._same(other).value for other in others]
        result = self.back.apply(operation, self.kind, self.bits, self.value, *values)
        return Number(self.back, result, kind or self.kind, bits or self.bits)

    def __add__(self, other: Number | float) -> Number:
        return self._apply("add", other)

    def __radd__(self, other: float) -> Number:
        return self.constant(other)._apply("add", self)

    def __sub__(self, other: Number | float) -> Number:
        return self._apply("sub", other)

    def __rsub__(self, other: float) -> Number:
        return self.constant(other)._apply("sub", self)

    def __mul__(self, other: Number | float) -> Number:
        return self._apply("mul", other)

    def __rmul__(self, other: float) -> Number:
        return self.constant(other)._apply("mul", self)

    def __truediv__(self, other: Number | float) -> Number:
        return self._apply("div", other)

    def __rtruediv__(self, other: float) -> Number:
        return self.constant(other)._apply("div", self)

    def __neg__(self) -> Number:
        return self._apply("neg")

    def __and__(self, other: Number | int) -> Number:
        return self._apply("and", other)

    def __or__(self, other: Number | int) -> Number:
        return self._apply("or", other)

    def __xor__(self, other: Number | int) -> Number:
        return self._apply("xor", other)

    def __invert__(self) -> Number:
        return self._apply("not")

    def __lshift__(self, other: int) -> Number:
        return self._apply("shl", other)

    def shift_right_logical(self, other: int) -> Number:
        """The integer's bits moved down, zeros moved in."""
        return self._apply("lshr", other)

    def __lt__(self, other: Number | float) -> Number:
        return self._apply("<", other, kind=MASK)

    def __le__(self, other: Number | float) -> Number:
        return self._apply("<=", other, kind=MASK)

    def __gt__(self, other: Number | float) -> Number:
        return self._apply(">", other, kind=MASK)

    def __ge__(self, other: Number | float) -> Number:
        return self._apply(">=", other, kind=MASK)

    def equals(self, other: Number | float) -> Number:
        """The mask ``self == other``, false where either is nan."""
        return self._apply("==", other, kind=MASK)

    def differs(self, other: Number | float) -> Number:
        """The mask ``self != other``, true where either is nan."""
        return self._apply("!=", other, kind=MASK)

    def is_nan(self) -> Number:
        """The mask of nan."""
        return self._apply("!=", self, kind=MASK)

    def fma(self, factor: Number | float, addend: Number | float) -> Number:
        """``self * factor + addend``, rounded once where the hardware can, twice elsewhere."""
        if self.back.fma:
            return self._apply("fma", factor, addend)
        return self * factor + addend

    def abs(self) -> Number:
        """The absolute value."""
        return self._apply("abs")

    def sqrt(self) -> Number:
        """The correctly rounded square root."""
        return self._apply("sqrt")

    def rint(self) -> Number:
        """The nearest integer as a float, ties to even."""
        return self._apply("rint")

    def copysign(self, sign: Number) -> Number:
        """The magnitude of this number with the sign bit of another."""
        return self._apply("copysign", sign)

    def at_least(self, bound: Number | float) -> Number:
        """The larger of the two; nan stays nan."""
        bound = self._same(bound)
        return select(self < bound, bound, self)

    def at_most(self, bound: Number | float) -> Number:
        """The smaller of the two; nan stays nan."""
        bound = self._same(bound)
        return select(self > bound, bound, self)

    def beyond(self, bound: float, name: str, result: Number) -> Number:
        """`result`, but the C library's function `name` of this number where its magnitude exceeds `bound`.

        For arguments too rare to slow the others down; see `vmath_rare`.
        """
        value = self.back.beyond(bound, name, self.bits, self.value, result.value)
        return Number(self.back, value, FLOAT, self.bits)

    def to_bits(self) -> Number:
        """The representation, as an integer of the same width."""
        return self._apply("to_bits", kind=INT)

    def to_float(self) -> Number:
        """The float that this integer represents, bit for bit."""
        return self._apply("from_bits", kind=FLOAT)

    def widen(self) -> Number:
        """float32 to float64."""
        return self._apply("widen", bits=64)

    def narrow(self) -> Number:
        """float64 to float32, rounded to nearest."""
        return self._apply("narrow", bits=32)


def select(mask: Number, chosen: Number | float, other: Number | float) -> Number:
    """`chosen` where `mask` holds, `other` elsewhere; both are computed."""
    if not isinstance(chosen, Number):
        if not isinstance(other, Number):
            raise TypeError("one of the alternatives must be a Number")
        chosen = other.constant(chosen)
    other = chosen._same(other)
    value = mask.back.apply("select", chosen.kind, chosen.bits, mask.value, chosen.value, other.value)
    return Number(mask.back, value, chosen.kind, chosen.bits)


_INT_COMPARE = {"==", "!=", "<", "<=", ">", ">="}
_FLOAT_TYPE = {64: ir.DoubleType(), 32: ir.FloatType()}
_INT_TYPE = {64: ir.IntType(64), 32: ir.IntType(32)}


class LLVM:
    """Appends one instruction for each operation at the position of an `IRBuilder`.

    Parameters
    ----------
    builder
        Where to emit.
    fma
        Emit ``llvm.fma``; only sensible if the target has the instruction, for it is a library call otherwise.
    """

    def __init__(self, builder: ir.IRBuilder, fma: bool = True) -> None:
        self.builder = builder
        self.fma = fma

    def constant(self, value: float | int, kind: str, bits: int) -> ir.Constant:
        if kind == MASK:
            return ir.Constant(ir.IntType(1), int(value))
        return ir.Constant((_FLOAT_TYPE if kind == FLOAT else _INT_TYPE)[bits], value)

    def apply(self, operation: str, kind: str, bits: int, *values: ir.Value) -> ir.Value:
        if operation in _INT_COMPARE:
            return self._compare(operation, kind, *values)
        return getattr(self, f"_{operation}")(kind, bits, *values)

    def beyond(self, bound: float, name: str, bits: int, x: ir.Value, result: ir.Value) -> ir.Value:
        return emit_beyond(self.builder, bound, name, bits, x, result)

    def _compare(self, operation: str, kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
        if kind == INT:
            return self.builder.icmp_signed(operation, a, b)
        if operation == "!=":
            return self.builder.fcmp_unordered(operation, a, b)
        return self.builder.fcmp_ordered(operation, a, b)

    def _intrinsic(self, name: str, bits: int, *values: ir.Value) -> ir.Value:
        full_name = f"llvm.{name}.f{bits}"
        function = self.builder.module.globals.get(full_name)
        if function is None:
            float_type = _FLOAT_TYPE[bits]
            function = ir.Function(
                self.builder.module, ir.FunctionType(float_type, [float_type] * len(values)), full_name
            )
        return self.builder.call(function, values)

    def _add(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fadd(a, b) if kind == FLOAT else self.builder.add(a, b)

    def _sub(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fsub(a, b) if kind == FLOAT else self.builder.sub(a, b)

    def _mul(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fmul(a, b) if kind == FLOAT else self.builder.mul(a, b)

    def _div(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fdiv(a, b)

    def _neg(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self.builder.fneg(a) if kind == FLOAT else self.builder.neg(a)

    def _and(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.and_(a, b)

    def _or(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.or_(a, b)

    def _xor(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.xor(a, b)

    def _not(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self.builder.not_(a)

    def _shl(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.shl(a, b)

    def _lshr(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.lshr(a, b)

    def _fma(self, kind: str, bits: int, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        return self._intrinsic("fma", bits, a, b, c)

    def _abs(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self._intrinsic("fabs", bits, a)

    def _sqrt(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self._intrinsic("sqrt", bits, a)

    def _rint(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self._intrinsic("rint", bits, a)

    def _copysign(self, kind: str, bits: int, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._intrinsic("copysign", bits, a, b)

    def _to_bits(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self.builder.bitcast(a, _INT_TYPE[bits])

    def _from_bits(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self.builder.bitcast(a, _FLOAT_TYPE[bits])

    def _widen(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self.builder.fpext(a, _FLOAT_TYPE[64])

    def _narrow(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self.builder.fptrunc(a, _FLOAT_TYPE[32])

    def _select(self, kind: str, bits: int, mask: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.select(mask, a, b)


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
    """

    def __init__(self, fma: bool = True) -> None:
        self.fma = fma

    def constant(self, value: float | int, kind: str, bits: int) -> Any:
        if kind == MASK:
            return np.bool_(value)
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
            if operation in ("widen", "narrow"):
                return values[0].astype(np.float64 if operation == "widen" else np.float32)
        raise NotImplementedError(operation)

    def beyond(self, bound: float, name: str, bits: int, x: Any, result: Any) -> Any:
        rare = np.flatnonzero(np.abs(x) > bound)
        if not rare.size:
            return result
        x, result = np.atleast_1d(x), np.atleast_1d(result).copy()
        result[rare] = [_library_call(name, float(value)) for value in x[rare]]
        return result


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
    return getattr(math, name)(x) if math.isfinite(x) else math.nan


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
