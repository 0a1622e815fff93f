"""Arrays that a procedure writes are copied before it runs where it may have to take back what it wrote."""

from __future__ import annotations

from collections.abc import Sequence, Set

from llvmlite import ir

from ..ir.loops import (
    Checked,
    Compute,
    For,
    Forever,
    Memory,
    Parameter,
    Procedure,
    Statement,
    Stop,
    Store,
    blocks_of,
    statements_within,
)
from ..kernels.procedure import FIRST_ARGUMENT, WATCHED
from ..kernels.words import I64, WORDS, copy_bytes, counted, declared, word
from .context import POINTER as BYTES

_I1 = ir.IntType(1)
_ENDS = (Stop, Checked, Memory)


class SavedArrays:
    """Copies of the arrays that a call of a procedure may write, made where `builder` stands.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Of the entry of the procedure, which gives 1 where there is no memory for the copies.
    procedure : Procedure
    written : sequence of int
        The numbers of these arrays.
    is_left : bool
        Whether the procedure may be left anywhere, as baseline versions are.
    """

    def __init__(self, builder: ir.IRBuilder, procedure: Procedure, written: Sequence[int], is_left: bool):
        self.builder = builder
        self.arrays: list[_Array] = []
        if not written:
            return
        stops = is_left or _may_stop_late(procedure.body, {f"x{n}" for n in written}, False)
        if not (stops or _may_raise(procedure)):
            return
        arguments = builder.function.args[0]
        offsets = [builder.load(builder.gep(arguments, [word(k)])) for k in range(3)]
        for k, p in enumerate(procedure.parameters):
            if p.name in {f"x{n}" for n in written} and p.ndim >= 0:
                place = builder.load(builder.gep(arguments, [word(FIRST_ARGUMENT + k)]))
                self.arrays.append(_Array(builder, p, place, offsets))
        nbytes: ir.Value = word(0)
        for array in self.arrays:
            nbytes = builder.add(nbytes, array.nbytes)
        watched = builder.load(builder.gep(arguments, [word(WATCHED)]))
        self.are_needed = ir.Constant(_I1, 1) if stops else builder.icmp_signed("!=", watched, word(0))
        with builder.goto_entry_block():
            self.place = builder.alloca(BYTES)
        with builder.if_then(self.are_needed):
            malloc = declared(builder.module, "malloc", ir.FunctionType(BYTES, [I64]))
            made = builder.call(malloc, [builder.add(nbytes, word(1))])
            with builder.if_then(builder.icmp_unsigned("==", builder.ptrtoint(made, I64), word(0)), likely=False):
                builder.ret(word(1))
            builder.store(made, self.place)
            self._copy_all(True)

    def restore_if(self, condition: ir.Value) -> None:
        """Take back what was written where a condition holds, and free the copies."""
        if not self.arrays:
            return
        builder = self.builder
        with builder.if_then(self.are_needed):
            with builder.if_then(condition, likely=False):
                self._copy_all(False)
            free = declared(builder.module, "free", ir.FunctionType(ir.VoidType(), [BYTES]))
            builder.call(free, [builder.load(self.place)])

    def _copy_all(self, saving: bool) -> None:
        saved = self.builder.load(self.place)
        for array in self.arrays:
            array.copy(saved, saving)
            saved = self.builder.gep(saved, [array.nbytes])


class _Array:
    """An argument, as the object at the address `place` describes it."""

    def __init__(self, builder: ir.IRBuilder, parameter: Parameter, place: ir.Value, offsets: Sequence[ir.Value]):
        self.builder, self.parameter = builder, parameter

        def words(address: ir.Value) -> ir.Value:
            return builder.inttoptr(address, WORDS)

        self.data, *tables = (builder.load(words(builder.add(place, offset))) for offset in offsets)
        axes = range(parameter.ndim)
        extents, strides = ([builder.load(builder.gep(words(t), [word(k)])) for k in axes] for t in tables)
        self.extents, self.strides = extents, strides
        self.nbytes: ir.Value = word(parameter.dtype.itemsize)
        for extent in extents:
            self.nbytes = builder.mul(self.nbytes, extent)

    def copy(self, saved: ir.Value, saving: bool) -> None:
        """Copy all elements to `saved`, one behind the other, or back from there."""
        builder = self.builder
        if self.parameter.contiguous:
            self._move(builder.inttoptr(self.data, BYTES), saved, self.nbytes, saving)
            return
        self._axis(0, self.data, saved, self.nbytes, saving)

    def _axis(self, axis: int, data: ir.Value, saved: ir.Value, nbytes: ir.Value, saving: bool) -> None:
        builder = self.builder
        if axis == self.parameter.ndim:
            itemsize = word(self.parameter.dtype.itemsize)
            self._move(builder.inttoptr(data, BYTES), saved, itemsize, saving)
            return
        with builder.if_then(builder.icmp_signed("!=", nbytes, word(0))):
            inner = builder.sdiv(nbytes, self.extents[axis])
            with counted(builder, self.extents[axis]) as k:
                there = builder.add(data, builder.mul(k, self.strides[axis]))
                self._axis(axis + 1, there, builder.gep(saved, [builder.mul(k, inner)]), inner, saving)

    def _move(self, place: ir.Value, saved: ir.Value, nbytes: ir.Value, saving: bool) -> None:
        copy_bytes(self.builder, *((saved, place) if saving else (place, saved)), nbytes)


def _may_stop_late(body: Sequence[Statement], written: Set[str], is_late: bool) -> bool:
    """Whether statements may stop a procedure when it has stored into one of the arrays; it has before if `is_late`."""

    def stores(body: Sequence[Statement]) -> bool:
        return any(isinstance(s, Store) and (s.scope in written or not s.scope) for s in statements_within(body))

    for s in body:
        inner = is_late or (isinstance(s, (For, Forever)) and stores((s,)))
        blocks = blocks_of(s)
        if (is_late and not blocks and isinstance(s, _ENDS)) or any(_may_stop_late(b, written, inner) for b in blocks):
            return True
        is_late = is_late or stores((s,))
    return False


def _may_raise(procedure: Procedure) -> bool:
    """Whether a procedure may raise a floating-point exception."""
    found = (s for s in statements_within(procedure.body) if isinstance(s, Compute))
    return any(d.kind in "fc" for s in found for d in (*s.dtypes, s.dtype))
