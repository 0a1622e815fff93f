"""Loops whose iterations may run in any order, on any threads: an analysis of procedures.

    for i in range(0, n, 1):              each i stores elements of its own, and loads none that another one stores;
      t = load x{8*i}                     its variables are put before they are got
      …
      store m{8*i*k + 8*j} w

Memory that an iteration asks for is its own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from heapq import heappop, heappush

from ..base.frozen import frozen
from ..ir import loops as ir
from ..ir.integers import Poly
from ..ir.ops.optable import OPS
from ..ir.verify import defined_in, uses
from .places import Places, stores_apart

WHOLE = 64  # parts of the unit that work is counted in: an addition of two elements
_GUESSED = 8  # iterations of loops of which nothing is known
_EXTENT, _MANY = 1000, 100_000  # what extents are taken for
_MOST_SHARED = 4  # loops of one procedure: each takes LLVM some milliseconds


@frozen
class Apart:
    """What is known of a loop whose iterations are independent.

    Parameters
    ----------
    last : tuple of (str, Type)
        Variables that are read behind the loop: what the last iteration has put there.
    work : Poly
        About what all iterations do, in parts of the unit, by names that are known where the loop begins.
    """

    last: tuple[tuple[str, ir.Type], ...]
    work: Poly


def loops_apart(procedure: ir.Procedure, least: int = 0) -> dict[str, Apart]:
    """The outermost loops with independent iterations, by their indices.

    At most `_MOST_SHARED` are given, those that probably do most, and none that probably does less than `least` units
    of work: extents are taken for `_EXTENT`, and for more in loops of the user's that no other one surrounds.
    """
    places: Places | None = None
    read = _variables_read(procedure)
    found: dict[str, Apart] = {}
    candidates: list[tuple[int, int, _Candidate]] = []  # a heap: those that probably do most come first
    numbers = itertools.count()

    def add(body: Sequence[ir.Statement], around: tuple[str, ...]) -> None:
        for s in body:
            if isinstance(s, ir.For):
                candidate = _Candidate(s, around)
                heappush(candidates, (-candidate.amount, next(numbers), candidate))
            elif not isinstance(s, ir.Routine):
                for block in ir.blocks_of(s):
                    add(block, (*around, "") if isinstance(s, ir.Forever) else around)

    add(procedure.body, ())
    while candidates and len(found) < _MOST_SHARED:
        _, _, candidate = heappop(candidates)
        loop = candidate.loop
        if candidate.amount >= least * WHOLE and (last := candidate.last_values(read)) is not None:
            places = places or Places(procedure)
            if stores_apart(loop, candidate.inside, places):
                found[loop.index] = Apart(last, places.resolved(candidate.work))
                continue
        add(loop.body, (*candidate.around, loop.index))
    return found


class _Candidate:
    """A loop, the indices of the loops around it, and about what all its iterations do."""

    def __init__(self, loop: ir.For, around: tuple[str, ...]):
        self.loop, self.around = loop, around
        self.inside = list(ir.statements_within(loop.body))
        defined = {loop.index, *defined_in(self.inside)}
        self.work = _trips(loop, defined) * _work(loop.body, defined, loop)
        is_first = not around and any(isinstance(s, ir.Scope) for s in self.inside)
        self.amount = _amount(self.work, _MANY if is_first else _EXTENT, around)

    def last_values(self, read: Mapping[str, int]) -> tuple[tuple[str, ir.Type], ...] | None:
        """Variables that are read behind the loop; None if it is left early, or hands variables from turn to turn."""
        if self.loop.folds or not self._computes_much() or not _is_closed(self.inside):
            return None
        return _last_values(self.loop, self.inside, read)

    def _computes_much(self) -> bool:
        """Whether a loop does more than wait for memory, from which threads together get no more than one.

        A loop over whole arrays does where it has folds or elementary functions inside: what other ones read has just
        been written, and is in the cache of the thread that wrote it.
        """
        if any(isinstance(s, ir.Scope) for s in self.inside):
            stored = {s.value for s in self.inside if isinstance(s, ir.Store)}
            return not stored.isdisjoint(defined_in(s for s in self.inside if not isinstance(s, (ir.Literal, ir.Load))))
        return any(
            bool(s.folds) if isinstance(s, ir.For) else isinstance(s, ir.Compute) and OPS[s.op].is_function
            for s in self.inside
        )


def _amount(work: Poly, extent: int, around: Sequence[str]) -> int:
    """The work where names are `extent`, and half of that for the indices of loops around."""
    return sum(c * extent ** len(m) // 2 ** sum(name in around for name in m) for m, c in work.terms)


def _is_closed(inside: Sequence[ir.Statement]) -> bool:
    """Whether statements leave, fold and call nothing outside of them."""
    labels = {s.label for s in inside if isinstance(s, ir.Scope)}
    folds = {f.name for s in inside if isinstance(s, ir.For) for f in s.folds}
    return not any(
        isinstance(s, ir.Do)
        or (isinstance(s, ir.Leave) and s.label not in labels)
        or (isinstance(s, ir.Update) and s.accumulator not in folds)
        or (isinstance(s, ir.External) and not s.symbol.startswith("libm."))
        for s in inside
    )


def _variables_read(procedure: ir.Procedure) -> Counter[str]:
    """How many statements read each variable to any effect; results are read by the caller."""
    every = list(ir.statements_within(procedure.body))
    results = {name for name, _ in procedure.results}
    while True:
        used = {name for s in every for name in uses(s)}
        every_read = Counter(s.variable for s in every if isinstance(s, ir.Get) and s.target in used)
        kept = [
            s
            for s in every
            if not (isinstance(s, ir.Put) and s.variable not in results and not every_read[s.variable])
            and not (isinstance(s, ir.Get) and s.target not in used)
        ]
        if len(kept) == len(every):
            return every_read + Counter(results)
        every = kept


def _last_values(
    loop: ir.For, inside: Sequence[ir.Statement], read: Mapping[str, int]
) -> tuple[tuple[str, ir.Type], ...] | None:
    """Variables that are read behind the loop; None if an iteration reads what another one has put."""
    types = {s.variable: s.type for s in inside if isinstance(s, ir.Put)}
    early: set[str] = set()
    assigned = _assigned(loop.body, frozenset(), {}, early) or frozenset()
    used = {name for s in inside for name in uses(s)}
    own = Counter(s.variable for s in inside if isinstance(s, ir.Get) and s.target in used)
    if any(own[name] for name in early & types.keys()):
        return None
    behind = [(name, type_) for name, type_ in types.items() if read[name] > own[name]]
    if any(name not in assigned or type_ == ir.POINTER for name, type_ in behind):
        return None
    return tuple(behind)


_Assigned = frozenset[str] | None  # None where no execution gets to


def _assigned(
    body: Sequence[ir.Statement], before: _Assigned, exits: dict[str, _Assigned], early: set[str]
) -> _Assigned:
    """Variables that are certainly put behind `body`, if those `before` are; gets of others are added to `early`."""
    now = before
    for s in body:
        if now is None:
            break
        if isinstance(s, ir.Get) and s.variable not in now:
            early.add(s.variable)
        elif isinstance(s, ir.Put):
            now = now | {s.variable}
        elif isinstance(s, ir.If):
            now = _both(*(_assigned(block, now, exits, early) for block in ir.blocks_of(s)))
        elif isinstance(s, ir.Scope):
            exits[s.label] = None
            now = _both(_assigned(s.body, now, exits, early), exits[s.label])
        elif isinstance(s, ir.Leave):
            now, exits[s.label] = None, _both(now, exits[s.label])
        elif isinstance(s, ir.For):
            behind = _assigned(s.body, now, exits, early)
            runs = (count := _trips(s, frozenset()).constant) is not None and count > 0
            now = behind if runs else now
        elif isinstance(s, ir.Forever):
            _assigned(s.body, now, exits, early)
            now = None
    return now


def _both(one: _Assigned, other: _Assigned) -> _Assigned:
    return other if one is None else one if other is None else one & other


def _trips(loop: ir.For, unknown: Set[str]) -> Poly:
    count = (loop.stop - loop.start) if loop.step > 0 else (loop.start - loop.stop)
    if not unknown.isdisjoint(count.names()):
        return Poly.number(_GUESSED)
    return count


def _work(body: Sequence[ir.Statement], unknown: Set[str], around: ir.For) -> Poly:
    """About what a body does, in parts of the unit; extents that the index of `around` bounds are taken in the mean."""
    total = Poly.number(0)
    for s in body:
        if isinstance(s, ir.For):
            first, last = (
                ir.For(s.index, s.start.replaced(around.index, at), s.stop.replaced(around.index, at), s.step, ())
                for at in (around.start, around.stop)
            )
            trips = _trips(first, unknown) + _trips(last, unknown)
            total = total + _divided(trips * _work(s.body, unknown, around), 2 * abs(s.step))
        elif isinstance(s, ir.Forever):
            total = total + _GUESSED * _work(s.body, unknown, around)
        elif isinstance(s, ir.If):
            total = total + _divided(_work(s.then, unknown, around) + _work(s.otherwise, unknown, around), 2)
        elif isinstance(s, ir.Scope):
            total = total + _work(s.body, unknown, around)
        elif isinstance(s, (ir.Compute, ir.Load, ir.Store)):
            total = total + WHOLE * (OPS[s.op].cost if isinstance(s, ir.Compute) else 1)
    return total


def _divided(p: Poly, by: int) -> Poly:
    return Poly.of([(m, c // by) for m, c in p.terms])
