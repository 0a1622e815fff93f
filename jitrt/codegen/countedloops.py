"""Loops of procedures that count, and what they fold.

A sum of numbers one by one is as long as additions take one after the other. Where nothing but elements is computed, it
is formed in lanes, see `_Lanes`; what is left of them is added behind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from ..ir.integers import Poly
from ..ir.loops import (
    Checked,
    Compute,
    External,
    Fold,
    For,
    Forever,
    Get,
    If,
    Leave,
    Load,
    Machine,
    Procedure,
    Put,
    Scope,
    Statement,
    Stop,
    Store,
    statements_within,
)
from ..ir.ops.folds import FOLDS, REDUCE_ADD
from ..ir.ops.optable import Op
from ..kernels.loop_metadata import AccessGroup, set_hints
from .context import I64, call_intrinsic
from .folds import PairwiseSum, combine, neutral
from .kept import Joined
from .loophints import Hint, independent, lanes_at_once, one_element, one_vector
from .scalar import Emitter, value_type

if TYPE_CHECKING:
    from .statements import Statements

_I32 = ir.IntType(32)
_LANES = 16
_PART = 4  # lanes that are taken into others at once
_BLOCK = 512  # elements that are added in lanes before pairs are formed


def emit_for(where: Statements, s: For) -> None:
    """Emit a loop, and what its folds give."""
    builder = where.builder
    start, stop = where.polynomial(s.start), where.polynomial(s.stop)
    if s.folds and s.index in where.plan.blocks:
        given = {s.folds[0].name: _summed(where, s, start, stop)}
    else:
        sums = {f.name: PairwiseSum(builder, REDUCE_ADD, f.dtype) for f in s.folds if _is_sum(f)}
        for name, total in sums.items():
            total.reset(builder)
            where.folds[name] = functools.partial(total.push, builder)
        others = [f for f in s.folds if f.name not in sums]
        given = {f.name: value for f, value in zip(others, counted(where, s, start, stop, others))}
        given |= {name: total.result(builder) for name, total in sums.items()}
    for name, value in given.items():
        where.values[name] = value
        if name in where.plan.kept:
            where.keep(value)


def _summed(where: Statements, s: For, start: ir.Value, stop: ir.Value) -> ir.Value:
    """A sum by blocks: within a block in lanes, of more than one block in pairs."""
    builder, (fold,) = where.builder, s.folds
    total = PairwiseSum(builder, REDUCE_ADD, fold.dtype)
    several = builder.icmp_signed(">", builder.sub(stop, start), ir.Constant(I64, _BLOCK))
    with builder.if_then(several, likely=False):
        total.reset(builder)
    single = _place_of(builder, fold)

    def block(index: ir.Value) -> None:
        last = call_intrinsic(builder, "smin", (stop, builder.add(index, ir.Constant(I64, _BLOCK))))
        (part,) = counted(where, s, index, last, [fold])
        builder.store(part, single)
        with builder.if_then(several, likely=False):
            total.push(builder, part)

    _loop(where, start, stop, _BLOCK, block)
    with builder.if_then(several, likely=False):
        builder.store(total.result(builder), single)
    return builder.load(single)


def counted(where: Statements, s: For, start: ir.Value, stop: ir.Value, folds: Sequence[Fold]) -> list[ir.Value]:
    """Emit the turns from one number up to another one; what the folds give."""
    builder = where.builder
    places = [_place_of(builder, fold) for fold in folds]
    group = AccessGroup.of(where.module) if s.index in where.plan.independent else None
    before, joined = where.joined, Joined()
    where.joined = joined if _is_whole(s.body) and not is_serial(s) else None

    def turn(index: ir.Value) -> None:
        where.values[s.index] = index
        around, where.group = where.group, group
        where.turn(s.index, s.body)
        where.group = around

    hints: list[Hint] = [] if group is None else [independent(group)]
    if folds and s.index in where.plan.lanes:
        start = _lanes(where, start, stop, turn, folds[0], places[0], hints)
        hints += [*one_element(), ("llvm.loop.unroll.disable",)]
    elif _is_scattered(s.body):
        # Instructions that load from eight places, or store there, take longer than eight loads or stores.
        hints += one_element()
    elif not s.folds and _is_plain(s.body):
        # Rows are short: several vectors at a time would leave more of them to a loop over single elements.
        hints += one_vector(not where.has_many_loops)
    for fold, place in zip(folds, places):
        combined = combine(FOLDS[fold.op], fold.dtype, _is_plain(s.body), in_order=True)
        where.folds[fold.name] = functools.partial(_fold_into, builder, combined, place)
    _loop(where, start, stop, s.step, turn, hints)
    where.joined = before
    joined.keep(builder)
    return [builder.load(place) for place in places]


def _lanes(
    where: Statements,
    start: ir.Value,
    stop: ir.Value,
    turn: Callable[[ir.Value], None],
    fold: Fold,
    place: ir.Value,
    hints: Sequence[Hint],
) -> ir.Value:
    """Emit as many turns as there are whole groups of lanes, and store what they give; the number of the next turn."""
    builder = where.builder
    count = builder.sub(stop, start)
    following = builder.sub(stop, builder.and_(count, ir.Constant(I64, _LANES - 1)))
    has_groups = builder.icmp_signed(">=", count, ir.Constant(I64, _LANES))
    with builder.if_then(has_groups):
        lanes = _Lanes(builder, FOLDS[fold.op], fold.dtype)

        def group(first: ir.Value) -> None:
            def one(lane: ir.Value) -> None:
                where.folds[fold.name] = functools.partial(lanes.fold, builder, lane)
                turn(builder.add(first, lane, flags=["nsw"]))

            _loop(where, I64(0), I64(_LANES), 1, one, [*hints, *lanes_at_once(where.module)], asks=False)

        _loop(where, start, following, _LANES, group)
        builder.store(lanes.total(builder), place)
    return builder.select(has_groups, following, start)


def _loop(
    where: Statements,
    start: ir.Value,
    stop: ir.Value,
    step: int,
    turn: Callable[[ir.Value], None],
    hints: Sequence[Hint] = (),
    asks: bool = True,
) -> None:
    """``for index in range(start, stop, step): turn(index)``; `asks` where the baseline version may be left."""
    builder, before = where.builder, where.builder.block
    body, after = builder.append_basic_block("turn"), builder.append_basic_block("done")
    order = "<" if step > 0 else ">"
    builder.cbranch(builder.icmp_signed(order, start, stop), body, after)
    builder.position_at_end(body)
    index = builder.phi(I64)
    index.add_incoming(start, before)
    if asks:
        where.leave_if_asked()
    turn(index)
    if not builder.block.is_terminated:
        following = builder.add(index, ir.Constant(I64, step), flags=["nsw"])
        index.add_incoming(following, builder.block)
        latch = builder.cbranch(builder.icmp_signed(order, following, stop), body, after)
        if hints:
            set_hints(latch, where.module, hints)
    builder.position_at_end(after)


def _place_of(builder: ir.IRBuilder, fold: Fold) -> ir.Value:
    """The accumulator of a fold, of which LLVM makes a register."""
    with builder.goto_entry_block():
        place = builder.alloca(value_type(fold.dtype))
    builder.store(neutral(FOLDS[fold.op], fold.dtype), place)
    return place


def _fold_into(builder: ir.IRBuilder, combined: Emitter, place: ir.Value, value: ir.Value) -> None:
    builder.store(combined(builder, (builder.load(place), value)), place)


def blocks_of_sums(procedure: Procedure) -> frozenset[str]:
    """The indices of loops that form one sum, by blocks of elements; others add each element to pairs."""
    return frozenset(
        s.index
        for s in statements_within(procedure.body)
        if isinstance(s, For)
        and len(s.folds) == 1
        and _is_sum(s.folds[0])
        and not any(isinstance(t, (For, Forever)) for t in s.body)
    )


def lanes_of(procedure: Procedure) -> frozenset[str]:
    """The indices of loops whose sum or product of floats is formed in lanes: they do nothing else in order."""
    return frozenset(s.index for s in statements_within(procedure.body) if isinstance(s, For) and _has_lanes(s))


def _is_sum(fold: Fold) -> bool:
    return fold.op == "add" and fold.dtype.kind in "fc"


def _has_lanes(s: For) -> bool:
    if len(s.folds) != 1 or s.step != 1 or _is_scattered(s.body):
        return False
    (fold,) = s.folds
    in_order = (For, Forever, Stop, Checked, Put, External, Scope)
    is_float = fold.op in ("add", "multiply") and fold.dtype.kind == "f"
    return is_float and not any(isinstance(t, in_order) for t in statements_within(s.body))


def _is_plain(body: Sequence[Statement]) -> bool:
    """Whether a loop with that body only computes elements, so that vectors are all that it gains from."""
    return not any(isinstance(s, (If, Scope, Stop, Checked, Put, External)) for s in body)


def _is_whole(body: Sequence[Statement]) -> bool:
    """Whether a loop with that body has no loop in it, and is not left before its end, unless the procedure stops."""
    inside = list(statements_within(body))
    labels = {s.label for s in inside if isinstance(s, Scope)}
    return not any(isinstance(s, (For, Forever)) or (isinstance(s, Leave) and s.label not in labels) for s in inside)


def is_serial(s: For) -> bool:
    """Whether no vectors are made of a loop: a turn needs a float of the one before, or what that has stored."""
    inside = list(statements_within(s.body))
    put = {t.variable for t in inside if isinstance(t, Put) and isinstance(t.type, np.dtype) and t.type.kind == "f"}
    first: dict[str, type] = {}
    for t in inside:
        if isinstance(t, (Get, Put)):
            first.setdefault(t.variable, type(t))
    if any(first[variable] is Get for variable in put):
        return True
    read = {(t.base, t.offset) for t in inside if isinstance(t, Load)}
    before = Poly.name(s.index) - s.step
    return any((t.base, t.offset.replaced(s.index, before)) in read for t in inside if isinstance(t, Store))


def _is_scattered(body: Sequence[Statement]) -> bool:
    """Whether a loop with that body reads or writes elements at places that it has read or computed."""
    computed = {s.target for s in body if isinstance(s, (Load, Compute, Machine))}
    return any(isinstance(s, (Load, Store)) and not computed.isdisjoint(s.offset.names()) for s in body)


class _Lanes:
    """The lanes of one fold, all of them neutral from here on: accumulators, of which processors take several at once.

    LLVM makes lanes of a loop that may be reordered, as many as it likes, and none where it cannot. Here their number
    and their order are fixed, so that results depend neither on that nor on the processor.

        for i in range(n): total += f(i)  →  for i in range(0, n, 16): for k in range(16): lanes[k] += f(i + k)
                                             total = sums of halves, of halves of that ...
    """

    def __init__(self, builder: ir.IRBuilder, fold: Op, dtype: np.dtype):
        self._kind, self._alignment = value_type(dtype), dtype.alignment
        self._combined = combine(fold, dtype, in_order=True)
        with builder.goto_entry_block():
            self._places = builder.alloca(ir.ArrayType(self._kind, _LANES))
        for k in range(_LANES):
            builder.store(neutral(fold, dtype), self._place(builder, I64(k)))

    def _place(self, builder: ir.IRBuilder, lane: ir.Value) -> ir.Value:
        return builder.gep(self._places, [I64(0), lane], inbounds=True)

    def fold(self, builder: ir.IRBuilder, lane: ir.Value, value: ir.Value) -> None:
        """Fold a value into a lane."""
        place = self._place(builder, lane)
        builder.store(self._combined(builder, (builder.load(place), value)), place)

    def total(self, builder: ir.IRBuilder) -> ir.Value:
        """What the lanes give together: those of the second half are taken into those of the first one, and so on."""
        vector, parts = ir.VectorType(self._kind, _PART).as_pointer(), []
        for k in range(0, _LANES, _PART):
            part = builder.load(builder.bitcast(self._place(builder, I64(k)), vector))
            part.align = self._alignment
            parts.append(part)
        last = self._halved(builder, parts)
        return self._halved(builder, [builder.extract_element(last, _I32(k)) for k in range(_PART)])

    def _halved(self, builder: ir.IRBuilder, values: list[ir.Value]) -> ir.Value:
        while len(values) > 1:
            half = len(values) // 2
            values = [self._combined(builder, pair) for pair in zip(values[:half], values[half:])]
        return values[0]
