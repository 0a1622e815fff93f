"""Accesses: which bytes of which stored value a kernel reads and writes, and in what order."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from ..base.frozen import Remembering, frozen, remembered
from ..ir.node import Node
from ..ir.strided import depends
from ..schedule.layout import Layout
from ..schedule.loopnest import (
    FoldInto,
    Gather,
    Load,
    Loop,
    LoopNest,
    Operand,
    ScanStep,
    Statement,
    Store,
    StoreNeutral,
    Strips,
    Tiles,
    parallel_axis,
)
from ..schedule.nest import KernelCall

_EXACT_WORK = 10_000  # steps of NumPy's search for a common element; beyond, there may be one
_FAR_FROM_ZERO = 1 << 40  # an address for phantoms, so that offsets can be negative

_WRITES = (Store, StoreNeutral, FoldInto)


@frozen
class Access(Remembering):
    """An operand of a kernel: elements of the stored value `node`.

    Parameters
    ----------
    step : int
        Number of the kernel among the steps of the program.
    operand : int
        Number of the operand.
    node : Node
        The stored value.
    layout : Layout
        Where its elements lie in the memory of `node`.
    extents : tuple of int
        Of the axes of the nest.
    dtype : numpy.dtype
    reads, writes : bool
        A fold in memory that the kernel itself starts is written only.
    anywhere : bool
        Whether the elements are found by computed indices, so that they can be any of `node`.
    """

    step: int
    operand: int
    node: Node
    layout: Layout
    extents: tuple[int, ...]
    dtype: np.dtype
    reads: bool
    writes: bool
    anywhere: bool = False

    @remembered
    def byte_range(self) -> tuple[int, int]:
        """The first byte that is touched, and the one behind the last."""
        if self.anywhere:
            return 0, self.node.type.nbytes
        reach = [(n - 1) * s for n, s in zip(self.extents, self.layout.strides) if s]
        start = self.layout.offset + sum(min(r, 0) for r in reach)
        return start, self.layout.offset + sum(max(r, 0) for r in reach) + self.dtype.itemsize

    @remembered
    def touched_axes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Extents and strides of the axes that lead to other elements: a nest may have more than an array can have."""
        axes = [(n, s) for n, s in zip(self.extents, self.layout.strides) if n != 1 and (s or not n)]
        return tuple(n for n, _ in axes), tuple(s for _, s in axes)

    @remembered
    def steps(self) -> list[tuple[int, int]]:
        """Strides and extents of the axes along which it moves, in order."""
        steps = zip(self.layout.strides, self.extents)
        return sorted((stride, extent) for stride, extent in steps if stride and extent != 1)


def accesses(step: int, call: KernelCall) -> list[Access]:
    """The accesses of a kernel to memory that outlives it."""
    read, written, anywhere = set(), set(), set()
    for s in call.nest.statements():
        operand = getattr(s, "operand", None)
        if operand is None:
            continue
        if isinstance(s, (Load, Gather)):
            read.add(operand)
        else:
            written.add(operand)
        if not isinstance(s, (Load, ScanStep, *_WRITES)):
            anywhere.add(operand)
    return [
        Access(step, k, where.base, where, call.extents, o.dtype, o in read, o in written, o in anywhere)
        for k, (o, where) in enumerate(zip(call.nest.operands, call.layouts))
        if not o.is_local
    ]


def have_common_bytes(a: Access, b: Access, shift: int = 0) -> bool:
    """Whether two accesses touch a byte in common if the memory of `b` begins `shift` bytes behind that of `a`."""
    (start, stop), (other_start, other_stop) = a.byte_range(), b.byte_range()
    if stop <= other_start + shift or other_stop + shift <= start:
        return False
    if depends(*a.touched_axes(), *b.touched_axes(), (a.layout.offset, b.layout.offset, shift)):
        return True
    try:
        return bool(np.shares_memory(_phantom(a, 0), _phantom(b, shift), max_work=_EXACT_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


class ByteRanges:
    """Accesses to one array, found by the bytes between the first and the last that they touch."""

    def __init__(self, accesses: Sequence[Access]):
        self.accesses = accesses
        self.ranges = [_touched_range(a) for a in accesses]
        self._order: list[int] = []
        self._starts: list[float] = []
        self._furthest: list[float] = []

    def meeting(self, start: float, stop: float) -> Iterator[Access]:
        """Those that may touch a byte in between."""
        if not self._order:
            self._order = sorted(range(len(self.accesses)), key=lambda k: self.ranges[k][0])
            self._starts = [self.ranges[k][0] for k in self._order]
            self._furthest = list(accumulate((self.ranges[k][1] for k in self._order), max))
        for k in range(bisect_left(self._starts, stop) - 1, -1, -1):
            if self._furthest[k] <= start:
                break
            if self.ranges[self._order[k]][1] > start:
                yield self.accesses[self._order[k]]


def near(one: ByteRanges, other: ByteRanges, shift: int = 0) -> Iterator[tuple[Access, Access]]:
    """Pairs that may have a byte in common if the memory of `other` begins `shift` bytes behind that of `one`.

    Their number, and that of the accesses to the array with fewer of them, say how long it takes.
    """
    if len(one.accesses) <= len(other.accesses):
        for access, (start, stop) in zip(one.accesses, one.ranges):
            yield from ((access, found) for found in other.meeting(start - shift, stop - shift))
    else:
        for access, (start, stop) in zip(other.accesses, other.ranges):
            yield from ((found, access) for found in one.meeting(start + shift, stop + shift))


def _touched_range(access: Access) -> tuple[float, float]:
    """Its byte range; for an access to nothing, which is nowhere, everywhere."""
    return access.byte_range() if all(access.extents) else (-math.inf, math.inf)


class _Placed:
    """Memory that is not there: NumPy compares addresses only."""

    def __init__(self, access: Access, shift: int):
        start, itemsize = access.layout.offset, access.dtype.itemsize
        shape, strides = access.touched_axes()
        if access.anywhere:
            start, shape, strides, itemsize = 0, (access.node.type.nbytes,), (1,), 1
        self.__array_interface__ = {
            "version": 3,
            "data": (_FAR_FROM_ZERO + shift + start, False),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{itemsize}",
        }


def _phantom(access: Access, shift: int) -> np.ndarray:
    return np.asarray(_Placed(access, shift))


def are_same_elements(a: Access, b: Access, shift: int = 0) -> bool:
    """Whether two accesses of one kernel touch the same elements, if perhaps in different loops."""
    if a.anywhere or b.anywhere:
        return False
    return a.layout.offset == b.layout.offset + shift and a.steps() == b.steps() and a.dtype == b.dtype


def are_one_operand(read: Access, write: Access) -> bool:
    """Whether two accesses that touch the same elements do so along the same axes.

    An axis of one element may be one of loops that are around the stores and not around the loads.
    """
    strides = zip(read.layout.strides, write.layout.strides, read.extents)
    return all(s == t or (n == 1 and (s or not t)) for s, t, n in strides)


def copied_operand(nest: LoopNest, written: Operand) -> Operand | None:
    """The operand of which `written` is a plain copy; None if it is not one."""
    statements = nest.statements()
    stores = [s for s in statements if isinstance(s, _WRITES) and s.operand == written]
    if len(stores) != 1 or not isinstance(stores[0], Store):
        return None
    value = stores[0].value
    return next((s.operand for s in statements if isinstance(s, Load) and s.target == value), None)


Places = dict[Operand, list[tuple[int, tuple["_Around", ...]]]]


@frozen
class Order:
    """For each operand of a nest where it is loaded and stored: the number of the statement, and the loops around it.

    `shared` are the axes of loops that threads share.
    """

    loads: Places
    stores: Places
    shared: frozenset[int]


def order_of(nest: LoopNest) -> Order:
    """The order in which a nest touches its operands."""
    loads: Places = {}
    stores: Places = {}
    for place, (around, s) in enumerate(_positions(nest.body, ())):
        if isinstance(s, (Load, *_WRITES)):
            (loads if isinstance(s, Load) else stores).setdefault(s.operand, []).append((place, around))
    shared = frozenset(axis for s in nest.statements() if (axis := parallel_axis(s)) is not None)
    return Order(loads, stores, shared)


def is_read_first(nest: LoopNest, order: Order, read: Access, write: Access) -> bool:
    """Whether every element is read for the last time before it is written, if both accesses are the same elements.

    Two statements touch one element in one turn of the loops around both, provided that each of these loops leads to
    other elements, and that the loops around only one of them traverse the elements alike. Then the statement that
    stands first runs first. Threads that share a loop have to have elements of their own, too.
    """
    loads = order.loads.get(nest.operands[read.operand], ())
    stores = order.stores.get(nest.operands[write.operand], ())
    for place, around_load in loads:
        for later, around_store in stores:
            common = [a for a, b in zip(around_load, around_store) if a.number == b.number]
            load_only, store_only = around_load[len(common) :], around_store[len(common) :]
            alike = _traversed(load_only, read) == _traversed(store_only, write)
            separate = {a.axis for a in common} | order.shared
            led = _leading(around_load, read) & _leading(around_store, write)
            same = all(read.layout.strides[a.axis] == write.layout.strides[a.axis] for a in common)
            if later < place or not alike or not same or not separate <= led:
                return False
    return True


@frozen
class _Around:
    """A loop around a statement; `number` tells it from others over the same axis."""

    number: int
    axis: int
    block_of: int | None


def _traversed(loops: Sequence[_Around], access: Access) -> list[tuple[int, int, int]]:
    """How loops move through the elements."""
    moves = ((access.layout.strides[a.axis], access.extents[a.axis], a.block_of) for a in loops)
    return sorted((s, n, -1 if block is None else block) for s, n, block in moves if s and n != 1)


def _leading(loops: Sequence[_Around], access: Access) -> set[int]:
    """The axes of which each index has elements of its own: directly, or as the number of a block."""
    own = {a.axis for a in loops if access.layout.strides[a.axis] or access.extents[a.axis] == 1}
    return own | {a.block_of for a in loops if a.axis in own and a.block_of is not None}


def _positions(body: Sequence[Statement], path: tuple[_Around, ...]) -> Iterator[tuple[tuple[_Around, ...], Statement]]:
    """Statements in the order in which they stand, with the loops around them."""
    for s in body:
        if isinstance(s, Loop):
            # Windows of blocks overlap: the number of a block does not lead to elements of its own.
            block_of = s.block_of if s.window is None else None
            yield from _positions(s.body, (*path, _Around(id(s), s.axis, block_of)))
        elif isinstance(s, Tiles):
            yield from _positions(s.body, (*path, _Around(id(s), s.outer, None), _Around(id(s.body), s.inner, None)))
        elif isinstance(s, Strips):  # each part is a loop; over one strip the parts run one after the other
            for part in s.parts:
                yield from _positions(part, (*path, _Around(id(part), s.axis, None)))
        else:
            yield path, s
