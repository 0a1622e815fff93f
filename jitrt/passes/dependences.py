"""Whether a loop over arrays may be one with another one behind it.

    for i in range(n): m[i] = f(x[i], x[i + 1])      behind turn i nothing reads x[i]: each turn of the second loop may
    for j in range(n): x[j] = m[j]                   come behind that of the first one

All that the first loop does in turns up to i comes before what the second one does in turn i, and the rest behind it.
That is exact unless an element that one of the two writes is accessed in a turn i of the first, and in j < i of the
second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.inequalities import is_impossible
from ..ir.integers import Poly
from ..ir.loops import For, Load, Statement, Store, blocks_of, statements_within
from .forwarding import renamed
from .places import Access, indices_of, listed, onto
from .pointers import Pointers

_MOST_PAIRS = 200  # of accesses of one array
_MOST_EXTREMES = 16


class Dependences:
    """What loops of a procedure, all of whose steps are 1, have to wait for."""

    def __init__(self, pointers: Pointers):
        self._pointers = pointers
        self._ends: dict[tuple[Poly, ...], tuple[Poly, ...]] = {}

    def may_be_one(self, first: For, second: For) -> bool:
        """Whether `second` may run in turn with `first`, which stands before it and has as many turns."""
        indices = {s.index for s in statements_within([first, second]) if isinstance(s, For)}
        mine, its = self._accesses(first), self._accesses(second)
        ahead = Poly.name(first.index) - Poly.name(second.index) - 1
        for base, group in mine.items():
            for other, others in its.items():
                if not any(a.stores for a in (*group, *others)) or not self._pointers.may_meet(base, other):
                    continue
                if base != other or not self._never_meet(ahead, group, others, indices):
                    return False
        return True

    def is_independent(self, loop: For) -> bool:
        """Whether no turn of a loop accesses what another one stores."""
        another = renamed(loop, {loop.index: f"{loop.index}'"})
        assert isinstance(another, For)
        return self.may_be_one(loop, another)

    def _never_meet(self, ahead: Poly, mine: list[Access], its: list[Access], defined: set[str]) -> bool:
        """Whether no element of an array is accessed in a turn of the one loop `ahead` of that of the other."""
        if len(mine) * len(its) > _MOST_PAIRS:
            return False
        indices = indices_of([*mine, *its], self._pointers.parameters, defined)
        if indices is None:
            return False
        pairs = {
            (tuple(x), tuple(y), one.facts, other.facts)
            for one, x in zip(mine, indices)
            for other, y in zip(its, indices[len(mine) :])
            if one.stores or other.stores
        }
        return all(
            _is_apart(ahead, [p - q for p, q in zip(x, y)], (*listed(facts), *listed(others)))
            for x, y, facts, others in sorted(pairs, key=str)
        )

    def _accesses(self, loop: For) -> dict[str, list[Access]]:
        found: dict[str, list[Access]] = {}
        for a in self._within((loop,), loop.body):
            found.setdefault(a.root, []).append(a)
        return found

    def _within(self, loops: tuple[For, ...], body: Sequence[Statement]) -> Iterator[Access]:
        facts: tuple | None = None
        for s in body:
            if isinstance(s, (Load, Store)):
                facts = self._facts(loops) if facts is None else facts
                offset = self._pointers.offset(s.offset)
                yield Access(s.base, offset, s.dtype.itemsize, s.scope, isinstance(s, Store), facts)
            elif isinstance(s, For):
                yield from self._within((*loops, s), s.body)
            else:
                for block in blocks_of(s):
                    yield from self._within(loops, block)

    def _facts(self, loops: tuple[For, ...]) -> tuple:
        """What is not negative inside of loops: of their indices, and of what their ends are made of."""
        pointers = self._pointers
        ends = [(pointers.offset(loop.start), pointers.offset(loop.stop)) for loop in loops]
        counts = tuple(stop - start - 1 for start, stop in ends)
        if counts not in self._ends:
            self._ends[counts] = tuple(self._implied(counts))
        facts = onto((), self._ends[counts])
        for loop, (start, stop) in zip(loops, ends):
            index = Poly.name(loop.index)
            facts = onto(facts, (index - start, stop - index - 1))
        return facts

    def _implied(self, counts: tuple[Poly, ...]) -> list[Poly]:
        """What follows from loops having turns.

        0 < max(n - 1, 0)   →   max(n - 1, 0) = n - 1
        """
        pointers, rows = self._pointers, list(counts)
        waiting = [n for p in counts for n in p.names()]
        seen: set[str] = set()
        extremes: dict[str, tuple[bool, Poly, Poly]] = {}
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            made = [Poly.name(name)] if name in pointers.natural else []
            if name in pointers.equal:
                made += _equal(name, pointers.integer(Poly.name(name)))
            if (s := pointers.extremes.get(name)) is not None and len(extremes) < _MOST_EXTREMES:
                x, y = (pointers.offset(Poly.name(arg)) for arg in s.args)
                extremes[name] = s.op == "max", x, y
                made += [Poly.name(name) - e if s.op == "max" else e - Poly.name(name) for e in (x, y)]
            rows += made
            waiting += [n for p in made for n in p.names()]
        changed = True
        while changed:
            changed = False
            for name, (is_max, x, y) in list(extremes.items()):
                for value, other in ((x, y), (y, x)):
                    is_other = other - Poly.name(name) if is_max else Poly.name(name) - other
                    if is_impossible([*rows, is_other]):
                        rows += _equal(name, value)
                        del extremes[name]
                        changed = True
                        break
        return rows


def _is_apart(ahead: Poly, differences: Sequence[Poly], facts: Sequence[Poly]) -> bool:
    """Whether no element is that of an access in a turn that is that far `ahead` of that of another one."""
    for d in differences:
        for rest in (ahead - d, ahead + d):
            if rest.constant is not None and rest.constant < 0:
                return True
    return is_impossible([ahead, *differences, *(-d for d in differences), *facts])


def _equal(name: str, value: Poly) -> list[Poly]:
    return [Poly.name(name) - value, value - Poly.name(name)]
