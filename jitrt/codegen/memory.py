"""The memory of a kernel ``kernel(params, lo, hi)``: its `parameters`, and the elements of its operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llvmlite import ir

from ..base.frozen import record
from ..schedule.loopnest import Compute, LoopNest, Operand
from .context import I64, POINTER, call_intrinsic
from .loophints import is_function
from .parameters import parameter_words
from .scalar import data_type, from_memory, to_memory, value_type

_STACK_ALIGNMENT = 64  # bytes: the widest vector

_SCRATCH = ""  # in place of the name of an operand

Scopes = dict[str, tuple[ir.MDValue, ir.MDValue | None]]
KERNEL_TYPE = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), I64, I64])


def _far_stride(builder: ir.IRBuilder, stride: ir.Value) -> ir.Value:
    """`stride`, of which LLVM does not suppose that it is that of neighbours.

    If a stride is a bare parameter, LLVM makes vectors for neighbours alone, and a loop for all other strides that goes
    element by element: right where little is computed, as loads and stores at a distance take longer in vectors. But
    functions are several times as fast in vectors. No stride is below the limit, which is all that LLVM does not know.
    """
    return call_intrinsic(builder, "smax", (stride, ir.Constant(I64, -(1 << 62))))


@record
class Turned:
    """A transposed tile of an operand: where it is kept, its axes, and where it begins and how long its rows are."""

    buffer: ir.Value
    axes: tuple[int, int]
    first: tuple[ir.Value, ir.Value]
    width: int

    def address(self, builder: ir.IRBuilder, indices: dict[int, ir.Value]) -> ir.Value:
        row, column = (builder.sub(indices[axis], first) for axis, first in zip(self.axes, self.first))
        place = builder.add(builder.mul(row, ir.Constant(I64, self.width)), column)
        return builder.gep(self.buffer, [place], inbounds=True)


class Memory:
    """The parameters of a kernel, and loads and stores of what they point to.

    Parameters
    ----------
    builder : ir.IRBuilder
        Stands where the kernel begins.
    params : ir.Value
    nest : LoopNest
    scopes : Scopes
        Of the operands, as `alias_scopes` makes them.
    """

    def __init__(self, builder: ir.IRBuilder, params: ir.Value, nest: LoopNest, scopes: Scopes):
        self.builder = builder
        self.scopes = scopes
        self.turned: dict[str, Turned] = {}
        self.extents: dict[int, ir.Value] = {}
        self.blocks: dict[int, ir.Value] = {}
        self.bases: dict[str, ir.Value] = {}
        self.strides: dict[tuple[str, int], ir.Value] = {}
        self.literals: dict[int, ir.Value] = {}
        literal_words: dict[int, list[ir.Value]] = {}
        functions = any(isinstance(s, Compute) and is_function(s) for s in nest.statements())
        for position, (kind, k, detail) in enumerate(parameter_words(nest)):
            word = builder.load(builder.gep(params, [ir.Constant(I64, position)]))
            if kind == "extent":
                self.extents[k] = word
            elif kind == "block":
                self.blocks[k] = word
            elif kind == "pointer":
                self.bases[nest.operands[k].name] = builder.inttoptr(word, POINTER)
            elif kind == "bytes":
                self.bases[nest.operands[k].name] = _stack_memory(builder, word)
            elif kind == "offset":
                operand = nest.operands[k]
                self.bases[operand.name] = builder.gep(self.bases[operand.memory], [word], inbounds=True)
            elif kind == "stride":
                self.strides[nest.operands[k].name, detail] = _far_stride(builder, word) if functions else word
            else:
                literal_words.setdefault(k, []).append(word)
        for k, words in literal_words.items():
            self.literals[k] = self._number(nest.literals[k], words)

    def _number(self, dtype: np.dtype, words: list[ir.Value]) -> ir.Value:
        """The literal whose bytes fill `words`."""
        kind = value_type(dtype)
        if dtype.kind in "mM":
            return words[0]
        if dtype.kind == "f":
            width = 8 * dtype.itemsize
            bits = words[0] if width == 64 else self.builder.trunc(words[0], ir.IntType(width))
            return self.builder.bitcast(bits, kind)
        part = np.dtype(f"f{dtype.itemsize // 2}")
        if dtype.itemsize == 8:
            words = [words[0], self.builder.lshr(words[0], ir.Constant(I64, 32))]
        pair = ir.Constant(kind, ir.Undefined)
        for k, word in enumerate(words):
            pair = self.builder.insert_value(pair, self._number(part, [word]), k)
        return pair

    def stride(self, operand: Operand, axis: int) -> ir.Value | None:
        """Bytes from one element to the next along an axis; None where they are neighbours."""
        kind = operand.strides[axis]
        if kind == "s":
            return self.strides[operand.name, axis]
        return None if kind == "1" else ir.Constant(I64, int(kind) * operand.dtype.itemsize)

    def address(self, operand: Operand, indices: dict[int, ir.Value]) -> ir.Value:
        """Where the element of these indices lies."""
        builder = self.builder
        address = self.bases[operand.name]
        for axis, kind in enumerate(operand.strides):
            if kind == "s":
                offset = builder.mul(self._row(operand, axis, indices[axis]), self.strides[operand.name, axis])
                address = builder.gep(address, [offset], inbounds=True)
        address = builder.bitcast(address, data_type(operand.dtype).as_pointer())
        for axis, kind in enumerate(operand.strides):
            if kind not in "0s":
                steps = builder.mul(indices[axis], ir.Constant(I64, int(kind)))
                address = builder.gep(address, [steps if kind != "1" else indices[axis]], inbounds=True)
        return address

    def _row(self, operand: Operand, axis: int, index: ir.Value) -> ir.Value:
        """The index along an axis in memory, which may hold a few rows only, one in place of another."""
        if operand.ring is None or operand.ring[0] != axis:
            return index
        _, shift, rows = operand.ring
        return self.builder.urem(self.builder.add(index, ir.Constant(I64, shift)), ir.Constant(I64, rows))

    def load(self, operand: Operand, indices: dict[int, ir.Value]) -> ir.Value:
        """The element of these indices."""
        if operand.name in self.turned:
            data = self.builder.load(self.turned[operand.name].address(self.builder, indices))
        else:
            data = self.builder.load(self.address(operand, indices))
            data.align = 1 if operand.encoding else operand.dtype.alignment
            self._mark(data, operand)
        return from_memory(self.builder, operand.dtype, data, operand.encoding)

    def store(self, operand: Operand, indices: dict[int, ir.Value], value: ir.Value) -> None:
        """Write the element of these indices."""
        data = to_memory(self.builder, operand.dtype, value, operand.encoding)
        if operand.name in self.turned:
            self.builder.store(data, self.turned[operand.name].address(self.builder, indices))
            return
        store = self.builder.store(data, self.address(operand, indices))
        store.align = 1 if operand.encoding else operand.dtype.alignment
        self._mark(store, operand)

    def _mark(self, instruction: ir.Instruction, operand: Operand) -> None:
        self._set_scopes(instruction, operand.name)

    def mark_scratch(self, instruction: ir.Instruction) -> None:
        """Tell LLVM that `instruction` accesses memory of the stack, which NumPy's loops know, and nothing else."""
        self._set_scopes(instruction, _SCRATCH)

    def _set_scopes(self, instruction: ir.Instruction, name: str) -> None:
        own, others = self.scopes[name]
        instruction.set_metadata("alias.scope", own)
        if others is not None:
            instruction.set_metadata("noalias", others)


def alias_scopes(module: ir.Module, operands: Sequence[Operand], name: str) -> Scopes:
    """For each operand its alias scope and the scopes that it does not overlap: those of other memory.

    True by construction: a kernel writes only to its own slots or results, which no other memory of it occupies.
    """
    domain = module.add_metadata([ir.MetaDataString(module, name)])

    def scope(of: str) -> ir.MDValue:
        return module.add_metadata([ir.MetaDataString(module, f"{name}.{of}"), domain])

    # Two loads never get in each other's way, so memory that is only read needs no scopes of its own.
    written = {memory: scope(memory) for memory in dict.fromkeys(o.memory for o in operands if not o.is_input)}
    read = scope("inputs")
    stores = module.add_metadata(list(written.values())) if written else None
    marks: Scopes = {}
    of_input = module.add_metadata([read]), stores
    of_memory = {}
    for memory, own in written.items():
        others = [read, *(other for other in written.values() if other is not own)]
        of_memory[memory] = module.add_metadata([own]), module.add_metadata(others)
    scratch = module.add_metadata([scope("scratch")])
    marks[_SCRATCH] = scratch, module.add_metadata([read, *written.values()])
    for o in operands:
        marks[o.name] = of_input if o.is_input else of_memory[o.memory]
    return marks


def _stack_memory(builder: ir.IRBuilder, nbytes: ir.Value) -> ir.Value:
    """Memory for what is local to one turn of the outer loops, so that every thread has its own."""
    memory = builder.alloca(ir.IntType(8), nbytes)
    memory.align = _STACK_ALIGNMENT
    return memory
