"""Loops in strips, whose parts run one after the other over each strip.

Scheduling makes them for scans. A call of NumPy's inner loop takes a whole strip, and cuts the loop around it in parts:

    for i:                     for i in strips:
      v0 = x0[i]                 part: v0 = x0[i]; v1 = multiply v0 v0
      v1 = multiply v0 v0   →    part: v2 = power v1 c0          (one call)
      v2 = power v1 c0           part: v0 = x0[i]; v3 = add v2 v0; y0[i] = v3
      v3 = add v2 v0
      y0[i] = v3
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from ..base.frozen import frozen
from ..kernels.numpy_strips import STRIP, emit_call
from ..schedule.loopnest import (
    Compute,
    FoldInto,
    Gather,
    Literal,
    Load,
    Operand,
    Result,
    ScanStep,
    Statement,
    Store,
    Strips,
    Update,
)
from .context import I64, has_avx512, has_fma
from .loophints import interleaving
from .operations import numpys_loop
from .scalar import data_type, from_memory, to_memory

if TYPE_CHECKING:
    from .emit import Kernel

_COMPUTED = (Compute, Gather, Result, ScanStep)
_FLAT = (Compute, Gather, Load, Literal, Store, FoldInto, Update, ScanStep)


@frozen
class Division:
    """The parts of a loop, and what is the same for all of its elements and computed once a strip."""

    fixed: tuple[Statement, ...]
    parts: tuple[tuple[Statement, ...], ...]
    read: tuple[Load, ...] = ()  # by calls where they lie


def call_of(s: Statement) -> str | None:
    """The symbol of NumPy's loop that computes `s`, if one does."""
    return numpys_loop(s.op, s.dtypes, s.dtype) if isinstance(s, Compute) else None


def divided(body: Sequence[Statement], axis: int, varying: Collection[int] = ()) -> Division | None:
    """A loop over `axis` in parts; None if it calls none of NumPy's loops, or has other loops inside.

    A call is a part of its own. Every part loads what it needs, and what only later parts need is computed there, so
    that it need not be kept. `varying` are values from in front of `body` that depend on the element.
    """
    if not any(call_of(s) for s in body) or not all(isinstance(s, _FLAT) for s in body):
        return None
    fixed = _fixed(body, axis, varying)
    rest = [s for s in body if s not in fixed]
    made = [s for s in rest if isinstance(s, _COMPUTED)]
    place: dict[int, int] = {}  # of what is computed; odd ones are those of calls
    for s in made:
        behind = max((place.get(v, 0) for v in used_values(s)), default=0)
        place[s.target] = behind + ((call_of(s) is not None) != behind % 2)
    last = 1 + max((place[s.target] for s in made if call_of(s)), default=-1)
    for s in reversed(made):
        users = [place[t.target] if isinstance(t, _COMPUTED) else last for t in rest if s.target in used_values(t)]
        if users and not place[s.target] % 2 and not isinstance(s, ScanStep):
            place[s.target] = max(place[s.target], min(users) & ~1)
    parts: list[tuple[Statement, ...]] = []
    for number in range(last + 1):
        own = [
            s
            for s in rest
            if not isinstance(s, Load) and (place[s.target] if isinstance(s, _COMPUTED) else last) == number
        ]
        if number % 2:
            parts += [(s,) for s in own]
            continue
        loaded = {v for s in own for v in used_values(s)}
        called = {v for s in made if place[s.target] == number + 1 for v in used_values(s)}
        loads = [
            s
            for s in rest
            if isinstance(s, Load) and (s.target in loaded or (s.target in called and not _are_neighbours(s, axis)))
        ]
        if own or loads:
            parts.append((*loads, *own))
    read = tuple(s for s in rest if isinstance(s, Load) and _are_neighbours(s, axis))
    return Division(tuple(fixed), tuple(parts), read)


def _fixed(body: Sequence[Statement], axis: int, varying: Collection[int]) -> list[Statement]:
    """Statements that give the same for every element along `axis`."""
    depends = {*varying, *(s.target for s in body if isinstance(s, (Load, *_COMPUTED)))}
    found: list[Statement] = []
    for s in body:
        if isinstance(s, Literal):
            found.append(s)
        elif (isinstance(s, Load) and s.operand.strides[axis] == "0") or (
            isinstance(s, Compute) and depends.isdisjoint(s.args)
        ):
            found.append(s)
            depends.discard(s.target)
    return found


def _are_neighbours(s: Statement, axis: int) -> bool:
    """Whether `s` loads or stores what lies side by side along `axis`, as NumPy's loops take it."""
    return isinstance(s, (Load, Store)) and s.operand.strides[axis] == "1" and not s.operand.encoding


def used_values(s: Statement) -> tuple[int, ...]:
    """The values that a statement of a part reads."""
    match s:
        case Compute(_, _, args) | Gather(_, _, args):
            return args
        case Store(_, value) | Update(_, value) | FoldInto(_, _, value) | ScanStep(_, _, _, _, value):
            return (value,)
    return ()


class StripLoop:
    """Emission of one loop in strips."""

    def __init__(self, kernel: Kernel, axis: int, division: Division):
        self.kernel, self.builder, self.axis, self.division = kernel, kernel.builder, axis, division
        self.kept: dict[int, tuple[np.dtype, ir.Value]] = {}  # where parts have written what later ones need

    def emit(self, start: ir.Value, stop: ir.Value, carried: list[int]) -> None:
        """The strips from `start` to `stop`; the accumulators `carried` go from one to the next."""
        parts = self.division.parts
        into = self._stored_by_call()
        direct = {load.target for load in self.division.read}

        def strip(first: ir.Value, following: ir.Value) -> None:
            end = self.builder.select(self.builder.icmp_signed("<", following, stop), following, stop)
            self.kept = {}
            for s in self.division.fixed:
                self.kernel.statement(s)
            for k, part in enumerate(parts):
                call = call_of(part[0]) if len(part) == 1 else None
                if call is not None:
                    self._call(part[0], call, first, end, into if k == len(parts) - 2 else None)
                    if into is not None and k == len(parts) - 2:
                        return
                    continue
                behind = [s for other in parts[k + 1 :] for s in other]
                called = {v for s in behind if call_of(s) for v in used_values(s)} - direct
                self._part(part, first, end, {v for s in behind for v in used_values(s)}, called, carried)

        self.kernel.repeat(f"axis{self.axis}.strips", start, stop, STRIP, carried, strip)

    def _stored_by_call(self) -> Operand | None:
        """Where the result of the last call is stored, if nothing else is left to do and it lies side by side."""
        match self.division.parts:
            case (*_, (Compute() as call,), (Store(operand, value),)) if call_of(call) and value == call.target:
                alike = _are_neighbours(Store(operand, value), self.axis) and operand.dtype == call.dtype
                return operand if alike else None
        return None

    def _part(
        self,
        part: Sequence[Statement],
        first: ir.Value,
        end: ir.Value,
        later: set[int],
        called: set[int],
        carried: list[int],
    ) -> None:
        """One part over one strip."""
        builder, kernel = self.builder, self.kernel
        used = {v for s in part for v in used_values(s)}
        written: dict[int, tuple[np.dtype, ir.Value]] = {}

        def element(index: ir.Value, _: ir.Value) -> None:
            place = builder.sub(index, first)
            kernel.indices[self.axis] = index
            for value in used & self.kept.keys():
                dtype, buffer = self.kept[value]
                data = builder.load(builder.gep(buffer, [place], inbounds=True))
                kernel.memory.mark_scratch(data)
                kernel.values[value] = from_memory(builder, dtype, data)
            for s in part:
                kernel.statement(s)
                if (isinstance(s, _COMPUTED) and s.target in later) or (isinstance(s, Load) and s.target in called):
                    if s.target not in written:
                        written[s.target] = self._dtype(s), self._buffer(self._dtype(s))
                    dtype, buffer = written[s.target]
                    data = to_memory(builder, dtype, kernel.values[s.target])
                    store = builder.store(data, builder.gep(buffer, [place], inbounds=True))
                    kernel.memory.mark_scratch(store)

        updated = [acc for acc in carried if any(isinstance(s, Update) and s.acc == acc for s in part)]
        kernel.repeat(f"axis{self.axis}", first, end, 1, updated, element, interleaving(part))
        self.kept |= written

    def _call(self, s: Statement, symbol: str, first: ir.Value, end: ir.Value, into: Operand | None) -> None:
        """A call of NumPy's loop on one strip, whose result goes to a buffer or `into` the memory of an operand."""
        assert isinstance(s, Compute)
        builder, loads = self.builder, {load.target: load.operand for load in self.division.read}
        self.kernel.indices[self.axis] = first
        places = []
        for value, dtype in zip(s.args, s.dtypes):
            step = dtype.itemsize
            if value in self.kept:
                place = self.kept[value][1]
            elif value in loads:
                place = self.kernel.memory.address(loads[value], self.kernel.indices)
            else:
                with builder.goto_entry_block():
                    place = builder.alloca(data_type(dtype))
                builder.store(self.kernel.values[value], place)
                step = 0
            places.append((place, ir.Constant(I64, step)))
        result = self._buffer(s.dtype) if into is None else self.kernel.memory.address(into, self.kernel.indices)
        places.append((result, ir.Constant(I64, s.dtype.itemsize)))
        emit_call(builder, symbol, places, builder.sub(end, first), has_fma(), has_avx512())
        self.kept[s.target] = s.dtype, result

    def _buffer(self, dtype: np.dtype) -> ir.Value:
        with self.builder.goto_entry_block():
            return self.builder.alloca(data_type(dtype), STRIP)

    def _dtype(self, s: Statement) -> np.dtype:
        """The dtype of the value of `s`."""
        match s:
            case Compute():
                return s.dtype
            case Gather() | ScanStep() | Load():
                return s.operand.dtype
            case Result():
                return self.kernel.folds[s.acc][1]
        raise TypeError(s)


def division_of(strips: Strips) -> Division:
    """The parts of a loop that is in strips already; what calls NumPy's loops is divided further."""
    made = {s.target for part in strips.parts for s in part if isinstance(s, (Load, *_COMPUTED))}
    fixed: list[Statement] = []
    read: list[Load] = []
    parts: list[tuple[Statement, ...]] = []
    for part in strips.parts:
        own = {s.target for s in part if isinstance(s, (Load, *_COMPUTED))}
        division = divided(part, strips.axis, made - own)
        if division is None:
            parts.append(part)
        else:
            fixed += division.fixed
            parts += division.parts
            read += division.read
    return Division(tuple(fixed), tuple(parts), tuple(read))
