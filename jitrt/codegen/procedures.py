"""From a procedure of the loop language to an LLVM function ``entry(arguments, workspace, results)``.

Arguments are words: three offsets, of an array object's data, extents and strides, the floating-point exceptions that
are not ignored, the address of what the process knows of threads and how many may be used, then a word for each scalar,
and the address of the object for each array. The workspace is a table
of the pieces of memory that the procedure may use, each a pointer and a size, which it enlarges as it needs. The
result is 0, 1 where the procedure has stopped or has raised one of these exceptions, after which it has taken back
what it wrote, or 2 where an array that it writes shares memory with another one, or with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np
from llvmlite import ir

from .. import config, policy
from ..base.frozen import replaced
from ..base.stages import enters
from ..ir.loops import Compute, For, Parameter, Procedure, Routine, Type, statement_count, statements_within
from ..ir.ops.optable import OPS
from ..ir.verify import verify
from ..kernels.floatflags import clear_flags, raised_flags
from ..kernels.procedure import FIRST_ARGUMENT, WATCHED
from ..passes.apart import Apart, loops_apart
from ..passes.carried import carry
from ..passes.nests import fuse_nests, independent_loops
from ..passes.overwriting import overwrite
from ..passes.raising import computed_to_raise
from .baseline import Trampoline, symbols
from .compile import assemble_module, compile_module
from .context import I64, call_intrinsic, internal
from .context import POINTER as BYTES
from .countedloops import blocks_of_sums, lanes_of
from .fingerprint import digest, fingerprint
from .loophints import prefer_wide_vectors
from .routines import Routines
from .savedarrays import SavedArrays
from .scalar import value_type
from .sharedloops import emit_shared
from .statements import WORDS, Plan, Statements, Unsupported

ENTRY_TYPE = ir.FunctionType(I64, [WORDS, WORDS, WORDS])
_I1 = ir.IntType(1)
_NONE: Mapping[str, Apart] = {}


def compile_procedure(key: str, procedure: Procedure, written: Sequence[int]) -> dict[str, int]:
    """The symbol and the address of the entry of a procedure; parameters and exceptions as for `entries.entry_of`.

    `key` is the text by which the disk cache knows it.
    """
    module, name = _names(key)

    def emit(target: ir.Module) -> None:
        prefer_wide_vectors(emit_procedure(target, procedure, written, name))

    computed = (OPS[s.op] for s in statements_within(procedure.body) if isinstance(s, Compute))
    enters("codegen")
    return compile_module(module, emit, {key: [name]}, all(op.emit is None for op in computed))


def assemble_procedure(key: str, procedure: Procedure, written: Sequence[int]) -> dict[str, int]:
    """The symbols and the addresses of the entry of a baseline version, and of its words."""
    module, name = _names(key)

    def emit(target: ir.Module) -> None:
        turns = policy.MUCH_WORK * max(1, statement_count(procedure.body) // policy.QUICK_STATEMENTS)
        trampoline = Trampoline(target, name, ENTRY_TYPE, turns)
        plan = replaced(_plan(procedure, procedure), leaves=trampoline.leaves)
        emission = _Procedure(target, procedure, f"{name}_body", plan)
        _emit_entry(trampoline.baseline, emission, procedure, written)

    enters("codegen")
    return assemble_module(module, emit, {key: symbols(name)})


def _names(key: str) -> tuple[str, str]:
    """The names of a module and of the procedure in it."""
    module = digest(key + fingerprint())
    return module, f"jitrt_{module[:24]}"


def emit_procedure(module: ir.Module, procedure: Procedure, written: Sequence[int], name: str) -> ir.Function:
    """Add the entry of a procedure, optimised by passes, to `module` under `name`; the function that does the work.

    Raises
    ------
    Unsupported
        If it has an operation that cannot be emitted.
    """
    fused = fuse_nests(procedure)
    if config.strict():
        verify(fused)
    body = carry(overwrite(fused))
    plan = replaced(_plan(procedure, body), independent=independent_loops(fused))
    emission = _Procedure(module, body, f"{name}_body", plan, loops_apart(fused, policy.SHARED_WORK))
    _emit_entry(ir.Function(module, ENTRY_TYPE, name), emission, procedure, written)
    return emission.function


def _plan(procedure: Procedure, emitted: Procedure) -> Plan:
    """The plan of a procedure, of which this is emitted."""
    return Plan(computed_to_raise(emitted), blocks_of_sums(procedure), lanes_of(procedure))


def _emit_entry(entry: ir.Function, emission: _Procedure, procedure: Procedure, written: Sequence[int]) -> None:
    """Emit a procedure, and what takes back what it has written where it stops, or raises what is watched."""
    emission.emit({f"x{k}" for k in written})
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    saved = SavedArrays(builder, procedure, written, emission.plan.leaves is not None)
    clear_flags(builder)
    # A call, and no part of it: to the compiler, arithmetic and flags are independent.
    status = builder.call(emission.function, entry.args)
    watched = builder.load(builder.gep(entry.args[0], [ir.Constant(I64, WATCHED)]))
    raised = builder.icmp_signed("!=", builder.and_(raised_flags(builder), watched), ir.Constant(I64, 0))
    status = builder.or_(status, builder.zext(raised, I64))
    saved.restore_if(builder.icmp_signed("!=", status, ir.Constant(I64, 0)))
    builder.ret(status)


class _Procedure(Statements):
    """Emission of one procedure, some of whose loops are `apart`, as a function `name`."""

    def __init__(
        self, module: ir.Module, procedure: Procedure, name: str, plan: Plan, apart: Mapping[str, Apart] = _NONE
    ):
        super().__init__(module, procedure, internal(module, ENTRY_TYPE, name), plan)
        self.apart = apart
        self.routines = Routines(self)

    def _for(self, s: For) -> None:
        if s.index in self.apart:
            emit_shared(self, s, self.apart[s.index])
        else:
            super()._for(s)

    def _routine(self, s: Routine) -> None:
        self.routines.emit(s)

    def emit(self, written: Set[str]) -> None:
        builder = self.builder
        offsets = [self._argument(k) for k in range(3)]
        for k, p in enumerate(self.procedure.parameters):
            word = self._argument(FIRST_ARGUMENT + k)
            if p.ndim < 0:
                self.values[p.name] = self._from_word(word, p.dtype)
                continue
            data, extents, strides = (self._field(word, offset) for offset in offsets)
            self.values[p.name] = builder.inttoptr(data, BYTES)
            for axis in range(p.ndim):
                for name, table in ((p.extent(axis), extents), (p.stride(axis), strides)):
                    self.values[name] = self._field(table, ir.Constant(I64, 8 * axis))
        self._keep_apart(written)
        self.block(self.procedure.body)
        for k, (variable, type_) in enumerate(self.procedure.results):
            place = builder.gep(self.function.args[2], [ir.Constant(I64, k)])
            builder.store(self._to_word(builder.load(self.variable(variable, type_)), type_), place)
        builder.ret(ir.Constant(I64, 0))
        if self.stopped is not None:
            builder.position_at_end(self.stopped)
            builder.ret(ir.Constant(I64, 1))

    def _field(self, record: ir.Value, offset: ir.Value) -> ir.Value:
        place = self.builder.add(record, offset)
        return self.builder.load(self.builder.inttoptr(place, WORDS))

    def _keep_apart(self, written: Set[str]) -> None:
        """Return 2 if an array that is written reaches into the memory of another one."""
        builder = self.builder
        arrays = [p for p in self.procedure.parameters if p.ndim >= 0]
        reaches = {p.name: self._reach(p) for p in arrays} if written else {}
        shares: ir.Value = ir.Constant(_I1, 0)
        for k, p in enumerate(arrays):
            for q in arrays[:k]:
                if p.name in written or q.name in written:
                    if p.records is not None and q.records is not None and p.records[0] == q.records[0]:
                        continue  # fields are apart where records are
                    (low, high), (first, last) = reaches[p.name], reaches[q.name]
                    meets = builder.and_(builder.icmp_unsigned("<", low, last), builder.icmp_unsigned("<", first, high))
                    shares = builder.or_(shares, meets)
            if p.name in written and not p.contiguous:
                shares = builder.or_(shares, self._overlaps_itself(p, range(p.ndim), p.dtype.itemsize))
            if p.name in written and p.records is not None:
                _, nbytes, inner = p.records
                shares = builder.or_(shares, self._overlaps_itself(p, range(p.ndim - inner), nbytes))
        with builder.if_then(shares, likely=False):
            builder.ret(ir.Constant(I64, 2))

    def _overlaps_itself(self, p: Parameter, axes: range, nbytes: int) -> ir.Value:
        """Whether elements may have memory in common: an axis steps over less than axes of smaller strides span."""
        builder = self.builder
        extents = [self.values[p.extent(axis)] for axis in axes]
        last = [builder.sub(n, ir.Constant(I64, 1)) for n in extents]
        steps = [self.values[p.stride(axis)] for axis in axes]
        steps = [call_intrinsic(builder, "smax", (s, builder.neg(s))) for s in steps]
        found: ir.Value = ir.Constant(_I1, 0)
        for k in axes:
            span: ir.Value = ir.Constant(I64, nbytes)
            for j in axes:
                if j != k:
                    is_inner = builder.icmp_signed("<" if j < k else "<=", steps[j], steps[k])
                    part = builder.mul(steps[j], last[j])
                    span = builder.select(is_inner, builder.add(span, part), span)
            several = builder.icmp_signed(">", last[k], ir.Constant(I64, 0))
            found = builder.or_(found, builder.and_(several, builder.icmp_signed("<", steps[k], span)))
        for n in extents:
            found = builder.and_(found, builder.icmp_signed(">", n, ir.Constant(I64, 0)))
        return found

    def _reach(self, p: Parameter) -> tuple[ir.Value, ir.Value]:
        """Where the memory of an array begins and ends; both are the same for an empty one."""
        builder, zero = self.builder, ir.Constant(I64, 0)
        low = builder.ptrtoint(self.values[p.name], I64)
        high = builder.add(low, ir.Constant(I64, p.dtype.itemsize))
        empty: ir.Value = ir.Constant(_I1, 0)
        for axis in range(p.ndim):
            extent = self.values[p.extent(axis)]
            empty = builder.or_(empty, builder.icmp_signed("==", extent, zero))
            last = builder.mul(builder.sub(extent, ir.Constant(I64, 1)), self.values[p.stride(axis)])
            low = builder.add(low, call_intrinsic(builder, "smin", (last, zero)))
            high = builder.add(high, call_intrinsic(builder, "smax", (last, zero)))
        return low, builder.select(empty, low, high)

    def _argument(self, position: int) -> ir.Value:
        return self.builder.load(self.builder.gep(self.function.args[0], [ir.Constant(I64, position)]))

    def _from_word(self, word: ir.Value, dtype: np.dtype) -> ir.Value:
        builder = self.builder
        if dtype.kind == "f":
            bits = word if dtype.itemsize == 8 else builder.trunc(word, ir.IntType(32))
            return builder.bitcast(bits, value_type(dtype))
        return word if dtype.kind in "iu" else builder.trunc(word, value_type(dtype))

    def _to_word(self, value: ir.Value, type_: Type) -> ir.Value:
        builder = self.builder
        if isinstance(type_, str):
            return builder.ptrtoint(value, I64)
        if type_.kind == "f":
            bits = builder.bitcast(value, ir.IntType(8 * type_.itemsize))
            return bits if type_.itemsize == 8 else builder.zext(bits, I64)
        if type_.kind == "c":
            raise Unsupported("a complex number as a result")
        return value if type_.kind == "i" else builder.zext(value, I64)
