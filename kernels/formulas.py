"""Formulas and guards over extents, as rows of numbers that native code evaluates.

`emit_formulas` adds to a module

    jitrt_formulas(rows, count, items, registers) -> i1    whether all guards hold

Row `k` computes register `k`. The first rows read extents and strides of the arrays at `items`, and integers. If all of
them are what they were in the call before, which the registers still hold, whatever depends on them is left out. Where
a guard fails, or a number does not fit into 64 bits, the first register becomes -1, which no extent is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from .guard import field, go_on_if
from .words import I1, I64, WORDS, checked, defined, record, repeat_while, variable, word

ROW = ("op", "x", "y", "z")
(
    EXTENT,  # extent `y` of the array that is item `x`
    STRIDE,  # its stride along axis `y`, in bytes
    INTEGER,  # the word at the address `x`
    BEGIN,  # 0, which a register is not behind a call that did not fit: the first row, if that reads no extent
    UNLESS_CHANGED,  # go on at row `x` if none of these has changed
    NUMBER,  # `x`
    SUM,  # register `x` + `y` * register `z`
    PRODUCT,  # register `x` * register `y`
    QUOTIENT,  # register `x` // register `y`, rounded down
    WITHIN,  # a guard: `y` <= register `x` <= `z`
    OUTSIDE,  # whether register `x` is less than `y` or above `z`
    SPEND,  # a guard: unless register `x` is 0, the word at the address `y` loses register `z`, and stays natural
    DIFFERS,  # a guard: register `x` is not `y`
    POOLED,  # a guard: register `x` is 0, or the word at `y` is not; where it fails, the word at `z` becomes 1
    CHUNK,  # iterations that a thread takes at a time of `x` ones in some `y` pieces; 0 if register `z` is 0, and a
    #         multiple of the unit if it is negative
    STORE,  # register `x` goes to the word at the address `y` + register `z`
    COPY,  # the word at the address `x` goes to the address `y` + register `z`
) = range(17)

_CHUNK_UNIT = 64  # iterations, of which larger chunks have a multiple


def emit_formulas(module: ir.Module, fields: dict[str, int]) -> ir.Function:
    """Add ``jitrt_formulas`` to `module`; `fields` are offsets of the fields of objects."""
    return _Formulas(module, fields).emit()


class _Formulas:
    def __init__(self, module: ir.Module, fields: dict[str, int]):
        kind = ir.FunctionType(I1, [WORDS, I64, WORDS, WORDS])
        self.function, self.builder = defined(module, kind, "jitrt_formulas")
        self.rows, self.count, self.items, self.registers = self.function.args
        self.fields = fields
        self.missed = self.function.append_basic_block("missed")
        self._require = partial(go_on_if, self.builder, self.missed)

    def emit(self) -> ir.Function:
        builder = self.builder
        self.position, self.changed = variable(builder), variable(builder)
        repeat_while(builder, lambda: builder.icmp_signed("<", builder.load(self.position), self.count), self._row)
        builder.ret(ir.Constant(I1, 1))
        builder.position_at_end(self.missed)
        builder.store(word(-1), self.registers)
        builder.ret(ir.Constant(I1, 0))
        return self.function

    def _row(self) -> None:
        builder = self.builder
        k = builder.load(self.position)
        builder.store(builder.add(k, word(1)), self.position)
        op, self.x, self.y, self.z = record(builder, self.rows, k, ROW)
        following = builder.append_basic_block("next")
        place = builder.gep(self.registers, [k])
        switch = builder.switch(op, self.missed)
        emitters: dict[int, Callable[[ir.Value], ir.Value | None]] = {
            EXTENT: lambda place: self._read(self._of_array("shape"), place),
            STRIDE: lambda place: self._read(self._of_array("strides"), place),
            INTEGER: lambda place: self._read(builder.load(builder.inttoptr(self.x, WORDS)), place),
            BEGIN: lambda place: self._read(self.x, place),
            UNLESS_CHANGED: self._unless_changed,
            NUMBER: lambda _: self.x,
            SUM: self._sum,
            PRODUCT: lambda _: self._exact("smul", self._register(self.x), self._register(self.y)),
            QUOTIENT: self._quotient,
            WITHIN: lambda _: self._require(self._is_within()),
            OUTSIDE: lambda _: builder.zext(builder.not_(self._is_within()), I64),
            SPEND: self._spend,
            DIFFERS: lambda _: self._require(builder.icmp_signed("!=", self._register(self.x), self.y)),
            POOLED: self._pooled,
            CHUNK: self._chunk,
            STORE: lambda _: self._put(self._register(self.x)),
            COPY: lambda _: self._put(builder.load(builder.inttoptr(self.x, WORDS))),
        }
        for number, emitter in emitters.items():
            block = builder.append_basic_block("op")
            switch.add_case(word(number), block)
            builder.position_at_end(block)
            value = emitter(place)
            if value is not None:
                builder.store(value, place)
            builder.branch(following)
        builder.position_at_end(following)

    def _register(self, k: ir.Value) -> ir.Value:
        return self.builder.load(self.builder.gep(self.registers, [k]))

    def _exact(self, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """A sum or product; a miss if it does not fit."""
        value, overflows = checked(self.builder, name, x, y)
        self._require(self.builder.not_(overflows))
        return value

    def _of_array(self, name: str) -> ir.Value:
        """Extent or stride `y` of item `x`."""
        builder = self.builder
        array = builder.load(builder.gep(self.items, [self.x]))
        return builder.load(builder.gep(builder.inttoptr(field(builder, array, self.fields[name]), WORDS), [self.y]))

    def _read(self, value: ir.Value, place: ir.Value) -> ir.Value:
        builder = self.builder
        differs = builder.zext(builder.icmp_signed("!=", value, builder.load(place)), I64)
        builder.store(builder.or_(builder.load(self.changed), differs), self.changed)
        return value

    def _unless_changed(self, _: ir.Value) -> None:
        builder = self.builder
        with builder.if_then(builder.icmp_signed("==", builder.load(self.changed), word(0))):
            builder.store(self.x, self.position)

    def _sum(self, _: ir.Value) -> ir.Value:
        product = self._exact("smul", self.y, self._register(self.z))
        return self._exact("sadd", self._register(self.x), product)

    def _quotient(self, _: ir.Value) -> ir.Value:
        builder = self.builder
        x, y = self._register(self.x), self._register(self.y)
        self._require(builder.icmp_signed("!=", y, word(0)))
        fits = builder.icmp_signed("!=", x, word(-1 << 63))  # whose negative does not
        self._require(builder.or_(fits, builder.icmp_signed("!=", y, word(-1))))
        quotient = builder.sdiv(x, y)
        rest = builder.sub(x, builder.mul(quotient, y))
        below = builder.icmp_signed("<", builder.xor(rest, y), word(0))  # of different signs
        below = builder.and_(below, builder.icmp_signed("!=", rest, word(0)))
        return builder.sub(quotient, builder.zext(below, I64))

    def _is_within(self) -> ir.Value:
        value = self._register(self.x)
        low, high = (self.builder.icmp_signed("<=", *pair) for pair in ((self.y, value), (value, self.z)))
        return self.builder.and_(low, high)

    def _spend(self, _: ir.Value) -> None:
        builder = self.builder
        with builder.if_then(builder.icmp_signed("!=", self._register(self.x), word(0)), likely=False):
            place = builder.inttoptr(self.y, WORDS)
            left = builder.sub(builder.load(place), self._register(self.z))
            builder.store(left, place)
            self._require(builder.icmp_signed(">=", left, word(0)))

    def _pooled(self, _: ir.Value) -> None:
        builder = self.builder
        with builder.if_then(builder.icmp_signed("!=", self._register(self.x), word(0))):
            pool, wanted = (builder.inttoptr(value, WORDS) for value in (self.y, self.z))
            has_none = builder.icmp_signed("==", builder.load(pool), word(0))
            with builder.if_then(has_none, likely=False):
                builder.store(word(1), wanted)
                builder.branch(self.missed)

    def _chunk(self, _: ir.Value) -> ir.Value:
        builder = self.builder

        def rounded(value: ir.Value, unit: ir.Value) -> ir.Value:
            return builder.sdiv(builder.add(value, builder.sub(unit, word(1))), unit)

        chunk = rounded(self._register(self.x), self.y)
        even = builder.mul(rounded(chunk, word(_CHUNK_UNIT)), word(_CHUNK_UNIT))
        wanted = self._register(self.z)
        is_small = builder.icmp_signed("<", chunk, word(_CHUNK_UNIT))
        chunk = builder.select(builder.and_(is_small, builder.icmp_signed(">", wanted, word(0))), chunk, even)
        return builder.select(builder.icmp_signed("==", wanted, word(0)), word(0), chunk)

    def _put(self, value: ir.Value) -> None:
        address = self.builder.add(self.y, self._register(self.z))
        self.builder.store(value, self.builder.inttoptr(address, WORDS))
