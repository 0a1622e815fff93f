"""What nothing reads is computed for the exceptions that it may raise.

LLVM takes floating-point exceptions for nothing, and leaves it out. So an assembly statement without instructions reads
the value. Loops that may become loops of vectors cannot have any: there the bits of all values are joined, which nobody
has who computes less, and read behind the loop.

    %q = fdiv double %x, %y  →  %q = fdiv double %x, %y; asm sideeffect "" (%q)
"""

from __future__ import annotations

import platform

from llvmlite import ir

FLOATS = {"x86_64": "x", "amd64": "x", "aarch64": "w", "arm64": "w"}.get(platform.machine().lower())
"""The registers that floats are in, in the words of assembly statements."""


def keep(builder: ir.IRBuilder, value: ir.Value) -> None:
    """Let a value be computed, although nothing may read it."""
    for part in _parts(builder, value):
        register = FLOATS if isinstance(part.type, (ir.FloatType, ir.DoubleType)) else None
        if register is None:
            part, register = _bits(builder, part), "r"
        builder.asm(ir.FunctionType(ir.VoidType(), [part.type]), "", register, [part], True)


class Joined:
    """The bits that are set in any of the values of a loop, each of which is computed then."""

    def __init__(self) -> None:
        self._places: dict[ir.Type, ir.Value] = {}

    def add(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        """Join a value, in the loop."""
        for part in _parts(builder, value):
            bits = _bits(builder, part)
            if bits.type not in self._places:
                with builder.goto_entry_block():
                    self._places[bits.type] = builder.alloca(bits.type)
                    builder.store(ir.Constant(bits.type, 0), self._places[bits.type])
            place = self._places[bits.type]
            builder.store(builder.or_(builder.load(place), bits), place)

    def keep(self, builder: ir.IRBuilder) -> None:
        """Read them, behind the loop."""
        for place in self._places.values():
            keep(builder, builder.load(place))


def _parts(builder: ir.IRBuilder, value: ir.Value) -> list[ir.Value]:
    if isinstance(value.type, ir.LiteralStructType):
        return [builder.extract_value(value, k) for k in range(len(value.type))]
    return [value]


def _bits(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A number as an integer of a width that registers have."""
    kind = value.type
    for of, width in ((ir.HalfType, 16), (ir.FloatType, 32), (ir.DoubleType, 64)):
        if isinstance(kind, of):
            return builder.bitcast(value, ir.IntType(width))
    return value if is_word(kind) else builder.zext(value, ir.IntType(8))


def is_word(kind: ir.Type) -> bool:
    """Whether a type is one of the integers that registers have."""
    return isinstance(kind, ir.IntType) and kind.width in (8, 16, 32, 64)
