"""The back ends of `Number` that emit LLVM IR: scalars for the loop vectoriser, and vectors of AVX-512."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

from llvmlite import ir

from .number import FLOAT, INT, Number
from .vmath_rare import emit_beyond, emit_lanes_beyond, pure_function
from .words import declared

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_INSTRUCTIONS = {  # of integers and masks, and of floats
    "add": ("add", "fadd"), "sub": ("sub", "fsub"), "mul": ("mul", "fmul"), "div": ("", "fdiv"), "neg": ("neg", "fneg"),
    "and": ("and_", ""), "or": ("or_", ""), "xor": ("xor", ""), "not": ("not_", ""), "shl": ("shl", ""),
    "lshr": ("lshr", ""), "select": ("select", "select"),
}  # fmt: skip
_INTRINSICS = {"fma": "fma", "abs": "fabs", "sqrt": "sqrt", "rint": "rint", "copysign": "copysign"}
_REPRESENTATIONS = {"to_bits": INT, "from_bits": FLOAT}
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
        self.avx512 = False

    def constant(self, value: float | int, kind: str, bits: int) -> ir.Constant:
        return ir.Constant(self._type(kind, bits), value)

    def _type(self, kind: str, bits: int) -> ir.Type:
        return (_FLOAT_TYPE if kind == FLOAT else _INT_TYPE)[bits]

    def apply(self, operation: str, kind: str, bits: int, *values: ir.Value) -> ir.Value:
        if operation in _COMPARISONS:
            return self._compare(operation, kind, *values)
        if operation in _INSTRUCTIONS:
            return getattr(self.builder, _INSTRUCTIONS[operation][kind == FLOAT])(*values)
        if operation in _INTRINSICS:
            return self._intrinsic(_INTRINSICS[operation], bits, *values)
        if operation in _REPRESENTATIONS:
            return self.builder.bitcast(*values, self._type(_REPRESENTATIONS[operation], bits))
        return getattr(self, f"_{operation}")(kind, bits, *values)

    def in_float64(self, formula: Callable[..., Number], *values: ir.Value) -> ir.Value:
        wide = [Number(self, self.builder.fpext(value, self._type(FLOAT, 64))) for value in values]
        return self.builder.fptrunc(formula(*wide).value, self._type(FLOAT, 32))

    def beyond(self, bound: float, name: str, bits: int, x: ir.Value, result: ir.Value) -> ir.Value:
        return emit_beyond(self.builder, bound, name, bits, x, result)

    def _compare(self, operation: str, kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
        if kind == INT:
            return self.builder.icmp_signed(operation, a, b)
        if operation == "!=":
            return self.builder.fcmp_unordered(operation, a, b)
        return self.builder.fcmp_ordered(operation, a, b)

    def _intrinsic(self, name: str, bits: int, *values: ir.Value) -> ir.Value:
        return self._call(f"llvm.{name}.f{bits}", self._type(FLOAT, bits), *values)

    def _call(self, name: str, result: ir.Type, *values: ir.Value) -> ir.Value:
        kind = ir.FunctionType(result, [v.type for v in values])
        return self.builder.call(declared(self.builder.module, name, kind), values)


_SUFFIX = {64: "pd.512", 32: "ps.512"}
_QUIET = {"==": 0, "<": 17, "<=": 18, ">": 30, ">=": 29, "!=": 4}  # predicates of the instruction
_CURRENT_ROUNDING = ir.Constant(ir.IntType(32), 4)


class Vectors(LLVM):
    """Appends instructions on whole 512-bit registers, those that only AVX-512 has among them."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        super().__init__(builder, fma=True)
        self.avx512 = True

    def constant(self, value: float | int, kind: str, bits: int) -> ir.Constant:
        return _splat(_element(value, kind, bits), kind, bits)

    def _type(self, kind: str, bits: int) -> ir.Type:
        return _vector_type(kind, bits)

    def in_float64(self, formula: Callable[..., Number], *values: ir.Value) -> ir.Value:
        """Of the sixteen lanes two times eight."""
        parts = []
        for start in (0, 8):
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), 8), list(range(start, start + 8)))
            eights = [self.builder.shuffle_vector(value, value, lanes) for value in values]
            wide = [Number(self, self.builder.fpext(eight, self._type(FLOAT, 64))) for eight in eights]
            parts.append(self.builder.fptrunc(formula(*wide).value, eights[0].type))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), 16), list(range(16)))
        return self.builder.shuffle_vector(*parts, lanes)

    def beyond(self, bound: float, name: str, bits: int, x: ir.Value, result: ir.Value) -> ir.Value:
        return emit_lanes_beyond(self.builder, bound, name, bits, x, result)

    def _rarely(
        self,
        kind: str,
        bits: int,
        mask: ir.Value,
        name: str,
        general: Callable[..., Number],
        usual: Callable[..., Number],
        instead: ir.Value,
        *values: ir.Value,
    ) -> ir.Value:
        """Branches around what only rare lanes need; the usual formula stands there once."""
        builder, vector = self.builder, values[0].type
        flags = builder.bitcast(mask, ir.IntType(vector.count))
        any_rare = builder.icmp_unsigned("!=", flags, ir.Constant(flags.type, 0))
        entry = builder.block
        with builder.if_then(any_rare, likely=False):
            replaced = [builder.select(mask, instead, value) for value in values]
            replacing = builder.block
        operands = []
        for value, other in zip(values, replaced, strict=True):
            operand = builder.phi(vector)
            operand.add_incoming(value, entry)
            operand.add_incoming(other, replacing)
            operands.append(Number(self, operand, FLOAT, bits))
        result = usual(*operands).value
        computed = builder.block
        with builder.if_then(any_rare, likely=False):
            function = self._general(f"jitrt.{name}.f{bits}.general", general, bits, vector, len(values))
            mended = builder.select(mask, builder.call(function, values), result)
            mending = builder.block
        final = builder.phi(vector)
        final.add_incoming(result, computed)
        final.add_incoming(mended, mending)
        return final

    def _general(
        self, name: str, formula: Callable[..., Number], bits: int, vector: ir.Type, arity: int
    ) -> ir.Function:
        """A function of its own, so that loops stay short."""
        function = self.builder.module.globals.get(name)
        if function is None:
            function = pure_function(self.builder.module, name, vector, arity, "noinline")
            back = Vectors(ir.IRBuilder(function.append_basic_block("entry")))
            back.builder.ret(formula(*(Number(back, value, FLOAT, bits) for value in function.args)).value)
        return function

    def _intrinsic(self, name: str, bits: int, *values: ir.Value) -> ir.Value:
        return self._call(f"llvm.{name}.v{512 // bits}f{bits}", self._type(FLOAT, bits), *values)

    def _compare(self, operation: str, kind: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Comparisons of floats raise no flag for nan here, while the instructions that LLVM selects do."""
        if kind == INT:
            return super()._compare(operation, kind, a, b)
        lanes = a.type.count
        every = ir.Constant(ir.VectorType(ir.IntType(1), lanes), [1] * lanes)
        predicate = ir.Constant(ir.IntType(32), _QUIET[operation])
        name = f"llvm.x86.avx512.mask.cmp.{_SUFFIX[512 // lanes]}"
        return self._call(name, every.type, a, b, predicate, every, _CURRENT_ROUNDING)

    def _masked(self, name: str, bits: int, *values: ir.Value) -> ir.Value:
        """An instruction on all lanes, without lanes to keep."""
        kept = ir.Constant(self._type(FLOAT, bits), ir.Undefined)
        lanes = ir.Constant(ir.IntType(512 // bits), -1)
        name = f"llvm.x86.avx512.mask.{name}.{_SUFFIX[bits]}"
        return self._call(name, self._type(FLOAT, bits), *values, kept, lanes, _CURRENT_ROUNDING)

    def _exponent(self, kind: str, bits: int, a: ir.Value) -> ir.Value:
        return self._masked("getexp", bits, a)

    def _significand(self, kind: str, bits: int, a: ir.Value, interval: int, negative: int) -> ir.Value:
        return self._masked("getmant", bits, a, ir.Constant(ir.IntType(32), negative << 2 | interval))

    def _scale(self, kind: str, bits: int, a: ir.Value, exponent: ir.Value) -> ir.Value:
        return self._masked("scalef", bits, a, exponent)

    def _range(self, kind: str, bits: int, a: ir.Value, bound: ir.Value, choice: int) -> ir.Value:
        return self._masked("range", bits, a, bound, ir.Constant(ir.IntType(32), choice))

    def _look_up(self, kind: str, bits: int, index: ir.Value, table: Sequence[float]) -> ir.Value:
        vector, lanes = self._type(FLOAT, bits), 512 // bits
        parts = [_table(table[k : k + lanes], bits) for k in range(0, len(table), lanes)]
        if len(parts) == 1:
            name = {64: "df", 32: "sf"}[bits]
            return self._call(f"llvm.x86.avx512.permvar.{name}.512", vector, parts[0], index)
        return self._call(f"llvm.x86.avx512.vpermi2var.{_SUFFIX[bits]}", vector, parts[0], index, parts[1])

    def _repair(
        self, kind: str, bits: int, a: ir.Value, operand: ir.Value, classes: Sequence[int], flags: int
    ) -> ir.Value:
        table = self.constant(sum(response << 4 * k for k, response in enumerate(classes)), INT, bits)
        lanes = ir.Constant(ir.IntType(512 // bits), -1)
        return self._call(
            f"llvm.x86.avx512.mask.fixupimm.{_SUFFIX[bits]}",
            self._type(FLOAT, bits),
            a,
            operand,
            table,
            ir.Constant(ir.IntType(32), int(flags)),
            lanes,
            _CURRENT_ROUNDING,
        )


class _Written(ir.Constant):
    """A vector constant as text, which costs less than to have its elements written one by one."""

    def __init__(self, kind: ir.Type, elements: str) -> None:
        self.type = kind
        self.constant = f"<{elements}>"

    def _to_string(self) -> str:
        return f"{self.type} {self.constant}"

    def get_reference(self) -> str:
        return self.constant


@lru_cache(maxsize=8)
def _vector_type(kind: str, bits: int) -> ir.Type:
    return ir.VectorType((_FLOAT_TYPE if kind == FLOAT else _INT_TYPE)[bits], 512 // bits)


def _element(value: float | int, kind: str, bits: int) -> str:
    """A constant as LLVM writes it: a float32 as the float64 of its value."""
    if kind == INT:
        return f"i{bits} {int(value)}"
    if bits == 32:
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"{'double' if bits == 64 else 'float'} 0x{struct.unpack('Q', struct.pack('d', value))[0]:016x}"


@lru_cache(maxsize=1024)
def _splat(element: str, kind: str, bits: int) -> ir.Constant:
    text = ", ".join([element] * (512 // bits))
    return _Written(_vector_type(kind, bits), text)


@lru_cache(maxsize=128)
def _table(values: tuple[float, ...], bits: int) -> ir.Constant:
    text = ", ".join(_element(value, FLOAT, bits) for value in values)
    return _Written(_vector_type(FLOAT, bits), text)
