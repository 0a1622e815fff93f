"""A number on which a formula is written once: it emits LLVM IR, or computes with NumPy arrays.

The elementary functions of `vmath` are plain Python functions of `Number`. With a back end of `number_llvm` their
operators append straight-line instructions to an `IRBuilder`; with that of `number_arrays` the same operators compute
at once, so accuracy is tested without a compiler.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Protocol

FLOAT, INT, MASK = "float", "int", "mask"


ONE_TO_TWO, AROUND_ONE = 0, 3  # intervals of a significand: [1, 2), and [3/4, 3/2)
MAGNITUDE, DOMAIN = 1, 2  # negative numbers: the significand of the magnitude, or nan and the flag of the domain error


class Special(enum.IntEnum):
    """What an AVX-512 repair puts in the place of a result."""

    KEEP = 0
    OPERAND = 1
    QUIET_NAN = 2
    NAN = 3
    MINUS_INFINITY = 4
    INFINITY = 5
    ZERO = 8


class Raise(enum.IntFlag):
    """Flags that an AVX-512 repair raises."""

    NOTHING = 0
    ZERO_DIVIDES = 1
    MINUS_INFINITY_INVALID = 32
    NEGATIVE_INVALID = 64


class BackEnd(Protocol):
    """What a `Number` needs to compute: constants, operations by name, and whether there is a fused multiply-add."""

    fma: bool
    avx512: bool

    def constant(self, value: float | int, kind: str, bits: int) -> Any: ...

    def apply(self, operation: str, kind: str, bits: int, *values: Any) -> Any: ...

    def beyond(self, bound: float, name: str, bits: int, x: Any, result: Any) -> Any: ...

    def in_float64(self, formula: Callable[..., Number], *values: Any) -> Any: ...


Operator = Callable[["Number", "Number | float"], "Number"]


def _operator(operation: str, kind: str | None = None) -> Operator:
    return lambda x, y: x._apply(operation, y, kind=kind)


def _reflected(operation: str) -> Operator:
    """The operator of a Python number on its left side."""
    return lambda y, x: y.constant(x)._apply(operation, y)  # type: ignore[arg-type]


class Number:
    """A float of 32 or 64 bits, an integer of the same width, or a mask, in one of the back ends.

    Beside floats and integers, Python's numbers become constants of the same type. Comparisons give masks; floats have
    ``+ - * /``, integers ``+ -`` (wrapping), ``& | ^ <<``, and masks ``& | ~``.
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

    def _apply(self, operation: str, *others: Number | float | int, kind: str | None = None) -> Number:
        values = [self._same(other).value for other in others]
        result = self.back.apply(operation, self.kind, self.bits, self.value, *values)
        return Number(self.back, result, kind or self.kind, self.bits)

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _operator("div"), _reflected("div")
    __and__ = _operator("and")
    __or__ = _operator("or")
    __xor__ = _operator("xor")
    __lshift__ = _operator("shl")
    __lt__ = _operator("<", MASK)
    __le__ = _operator("<=", MASK)
    __gt__ = _operator(">", MASK)
    __ge__ = _operator(">=", MASK)

    def __neg__(self) -> Number:
        return self._apply("neg")

    def __invert__(self) -> Number:
        return self._apply("not")

    def shift_right_logical(self, other: int) -> Number:
        """The integer's bits moved down, zeros moved in."""
        return self._apply("lshr", other)

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

    # What AVX-512 has instructions for, and only its back ends know.

    def exponent(self) -> Number:
        """``floor(log2(|x|))`` as a float, also of subnormal numbers; -inf for zero, inf for infinities."""
        return self._apply("exponent")

    def significand(self, interval: int, negative: int) -> Number:
        """``|x| / 2**k`` in the interval; one for zero and infinity."""
        return self._with_parameters("significand", (interval, negative))

    def scale(self, exponent: Number) -> Number:
        """``self * 2**floor(exponent)``, rounded once, and without limits of the exponent."""
        return self._apply("scale", exponent)

    def smaller(self, bound: float) -> Number:
        """The smaller of the two, and the bound for nan; unlike `at_most` it raises no flag for nan."""
        return self._with_parameters("range", (self.constant(bound).value, 4))

    def smaller_magnitude(self, bound: Number | float) -> Number:
        """The smaller of two magnitudes, and the bound for nan."""
        return self._with_parameters("range", (self._same(bound).value, 10))

    def within(self, bound: float) -> Number:
        """The number with the smaller of its magnitude and the bound; that is the bound for nan."""
        return self._with_parameters("range", (self.constant(bound).value, 2))

    def larger(self, bound: float) -> Number:
        """The larger of the two, and the bound for nan."""
        return self._with_parameters("range", (self.constant(bound).value, 5))

    def larger_magnitude(self, other: Number) -> Number:
        """The larger of two magnitudes, and the number if the other one is nan."""
        return self._with_parameters("range", (other.value, 11))

    def look_up(self, table: Sequence[float]) -> Number:
        """The entry of `table`, one or two registers long, that the low bits of this integer name."""
        return self._with_parameters("look_up", (tuple(table),), kind=FLOAT)

    def repair(
        self,
        operand: Number,
        *,
        zero: Special = Special.KEEP,
        negative: Special = Special.KEEP,
        minus_infinity: Special = Special.KEEP,
        infinity: Special = Special.KEEP,
        flags: Raise = Raise.NOTHING,
    ) -> Number:
        """This result, with the special ones of an operand of the classes named put in, and its nan.

        `negative` are the finite numbers below zero.
        """
        nan, other = Special.QUIET_NAN, Special.KEEP
        classes = (nan, nan, zero, other, minus_infinity, infinity, negative, other)
        value = self.back.apply("repair", self.kind, self.bits, self.value, operand.value, classes, flags)
        return Number(self.back, value, self.kind, self.bits)

    def _with_parameters(self, operation: str, parameters: tuple, kind: str | None = None) -> Number:
        result = self.back.apply(operation, self.kind, self.bits, self.value, *parameters)
        return Number(self.back, result, kind or self.kind, self.bits)

    def in_float64(self, formula: Callable[..., Number], *others: Number) -> Number:
        """`formula` of this float32, and others, in float64, rounded at the end."""
        value = self.back.in_float64(formula, self.value, *(other.value for other in others))
        return Number(self.back, value, FLOAT, 32)


def select(mask: Number, chosen: Number | float, other: Number | float) -> Number:
    """`chosen` where `mask` holds, `other` elsewhere; both are computed."""
    if not isinstance(chosen, Number):
        if not isinstance(other, Number):
            raise TypeError("one of the alternatives must be a Number")
        chosen = other.constant(chosen)
    other = chosen._same(other)
    value = mask.back.apply("select", chosen.kind, chosen.bits, mask.value, chosen.value, other.value)
    return Number(mask.back, value, chosen.kind, chosen.bits)


def rarely(
    name: str,
    mask: Number,
    general: Callable[..., Number],
    usual: Callable[..., Number],
    *operands: Number,
    ordinary: float = 1.0,
) -> Number:
    """``general(*operands)`` where the mask holds, which should seldom be, ``usual(*operands)`` elsewhere.

    The usual formula sees an ordinary number in the place of the others' operands. On registers of AVX-512, whose back
    ends alone know this, nothing else runs where the mask holds for no lane; the general formula is a function of its
    own, with `name` in its name.
    """
    back, bits = mask.back, operands[0].bits
    values = [operand.value for operand in operands]
    instead = operands[0].constant(ordinary).value
    value = back.apply("rarely", FLOAT, bits, mask.value, name, general, usual, instead, *values)
    return Number(back, value, FLOAT, bits)
