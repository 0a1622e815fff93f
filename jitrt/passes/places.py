"""Where the loads and stores of procedures go, and which iterations of a loop never meet in memory.

An offset is taken apart into the indices of an array: one for each product of extents that its names are multiplied
with.

    8*i*n*m + 8*j*m + 8*k   →   [i, j, k]   if 0 <= j < n and 0 <= k < m

Different indices are different elements then. Whether two iterations may have one in common is a question of linear
inequalities: those of the loops, of the stops that have been passed, and of the indices being equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations_with_replacement, islice, pairwise

from ..base.frozen import frozen
from ..ir import loops as ir
from ..ir.inequalities import is_impossible
from ..ir.integers import Monomial, Poly
from ..ir.verify import defined_in

_MOST_FACTS = 48  # that one proof looks at: the latest, of each kind
_MOST_PAIRS = 400  # of accesses of one loop


@frozen
class Access:
    """What a load or a store reaches, and what is known where it stands, latest first."""

    root: str
    offset: Poly
    size: int
    scope: str
    stores: bool
    facts: tuple


class Places:
    """Where the loads and stores of a procedure go, in names that no statement computes from others.

    Attributes
    ----------
    accesses : dict of int to Access
        By the identity of the statement.
    parameters : dict of str to Parameter
    apart : dict of str to tuple of str
        For memory the pointers that it is different from.
    """

    def __init__(self, procedure: ir.Procedure):
        self.accesses: dict[int, Access] = {}
        self.parameters = {p.name: p for p in procedure.parameters if p.ndim >= 0}
        self.apart: dict[str, tuple[str, ...]] = {}
        self._integers: dict[str, Poly] = {}
        self._addresses: dict[str, tuple[str, Poly]] = {}
        self._conditions: dict[str, ir.Statement] = {}
        self._natural = {p.extent(axis) for p in self.parameters.values() for axis in range(p.ndim)}
        self._block(procedure.body, onto((), map(Poly.name, sorted(self._natural))))

    def resolved(self, p: Poly) -> Poly:
        """With what names have been computed from in place of them."""
        for name in set(p.names()) & self._integers.keys():
            p = p.replaced(name, self._integers[name])
        return p

    def _block(self, body: Sequence[ir.Statement], facts: tuple) -> None:
        for s in body:
            if isinstance(s, ir.Literal) and type(s.value) is int:
                self._integers[s.target] = Poly.number(s.value)
            elif isinstance(s, ir.Integer):
                self._integers[s.target] = self.resolved(s.value)
            elif isinstance(s, (ir.Machine, ir.Compute)):
                self._conditions[s.target] = s
                facts = onto(facts, self._extreme(s))
            elif isinstance(s, ir.Stop):
                facts = onto(facts, self._implied(s.condition, False))
            elif isinstance(s, ir.Address):
                self._addresses[s.target] = self._place(s.base, s.offset)
            elif isinstance(s, ir.Memory):
                self.apart[s.target] = s.apart
            elif isinstance(s, (ir.Load, ir.Store)):
                root, offset = self._place(s.base, s.offset)
                stores = isinstance(s, ir.Store)
                self.accesses[id(s)] = Access(root, offset, s.dtype.itemsize, s.scope, stores, facts)
            elif isinstance(s, ir.For):
                self._block(s.body, onto(facts, self._bounds(s)))
            elif isinstance(s, ir.If):
                for block, holds in ((s.then, True), (s.otherwise, False)):
                    self._block(block, onto(facts, self._implied(s.condition, holds)))
            else:
                for block in ir.blocks_of(s):
                    self._block(block, facts)

    def _place(self, base: str, offset: Poly) -> tuple[str, Poly]:
        root, start = self._addresses.get(base, (base, Poly.number(0)))
        return root, start + self.resolved(offset)

    def _is_natural(self, p: Poly) -> bool:
        return all(c > 0 and self._natural.issuperset(m) for m, c in p.terms)

    def _bounds(self, s: ir.For) -> list[Poly]:
        if s.step > 0 and self._is_natural(self.resolved(s.start)):
            self._natural.add(s.index)
        index, start, stop = Poly.name(s.index), self.resolved(s.start), self.resolved(s.stop)
        return [index - start, stop - index - 1] if s.step > 0 else [start - index, index - stop - 1]

    def _extreme(self, s: ir.Machine | ir.Compute) -> list[Poly]:
        if not isinstance(s, ir.Machine) or s.op not in ("min", "max"):
            return []
        target, args = Poly.name(s.target), [self.resolved(Poly.name(arg)) for arg in s.args]
        natural = list(map(self._is_natural, args))
        if all(natural) if s.op == "min" else any(natural):
            self._natural.add(s.target)
        found = [arg - target if s.op == "min" else target - arg for arg in args]
        return [target, *found] if s.target in self._natural else found

    def _implied(self, condition: str, holds: bool) -> list[Poly]:
        """What is not negative where a condition holds, or does not."""
        s = self._conditions.get(condition)
        if isinstance(s, ir.Compute):
            if s.op == "logical_not":
                return self._implied(s.args[0], not holds)
            if s.op == ("logical_and" if holds else "logical_or"):
                return [p for arg in s.args for p in self._implied(arg, holds)]
        elif isinstance(s, ir.Machine) and s.op in _COMPARISONS:
            x, y = (self.resolved(Poly.name(arg)) for arg in s.args)
            return _COMPARISONS[s.op if holds else ir.OPPOSITE[s.op]](x, y)
        return []


_COMPARISONS: dict[str, Callable[[Poly, Poly], list[Poly]]] = {
    "<": lambda x, y: [y - x - 1],
    "<=": lambda x, y: [y - x],
    ">": lambda x, y: [x - y - 1],
    ">=": lambda x, y: [x - y],
    "==": lambda x, y: [x - y, y - x],
    "!=": lambda x, y: [],
}


def onto(facts: tuple, found: Iterable[Poly]) -> tuple:
    for p in found:
        facts = (p, facts)
    return facts


def stores_apart(loop: ir.For, inside: Sequence[ir.Statement], places: Places) -> bool:
    """Whether no iteration accesses what another one stores, but for memory that each has for itself."""
    own = _own_memory(inside)
    if any(isinstance(s, ir.Store) and s.value in own for s in inside):
        return False
    accesses = [
        a for s in inside if isinstance(s, (ir.Load, ir.Store)) and (a := places.accesses[id(s)]).root not in own
    ]
    stored = {a.scope for a in accesses if a.stores}
    shared = [a for a in accesses if a.scope in stored or not a.scope]
    if any(a.stores and not a.scope for a in shared):
        return False
    defined = {loop.index, *defined_in(inside)}
    groups: dict[str, list[Access]] = {}
    for a in shared:
        groups.setdefault(a.root, []).append(a)
    for one in groups.values():
        for other in groups.values():
            scopes = {a.scope for a in (*one, *other)}
            is_near = one is not other and any(a.stores for a in one) and (len(scopes) == 1 or "" in scopes)
            if is_near and not _are_different(one[0].root, other[0].root, places):
                return False
    return not any(root in defined for root in groups) and all(
        _meet_never(loop, group, places, defined) for group in groups.values() if any(a.stores for a in group)
    )


def _own_memory(inside: Sequence[ir.Statement]) -> set[str]:
    """Names of pointers to memory that an iteration has got for itself."""
    own = {s.target for s in inside if isinstance(s, ir.Memory)}
    puts: dict[str, set[str]] = {}
    for s in inside:
        if isinstance(s, ir.Put):
            puts.setdefault(s.variable, set()).add(s.value)
    while True:
        found = {s.target for s in inside if isinstance(s, ir.Get) and s.variable in puts and puts[s.variable] <= own}
        found |= {s.target for s in inside if isinstance(s, ir.Address) and s.base in own}
        if found <= own:
            return own
        own |= found


def _are_different(one: str, other: str, places: Places) -> bool:
    return other in places.apart.get(one, ()) or one in places.apart.get(other, ())


def _meet_never(loop: ir.For, group: Sequence[Access], places: Places, defined: Set[str]) -> bool:
    """Whether what one iteration stores into an array, no other one accesses."""
    indices = indices_of(group, places.parameters, defined)
    if indices is None:
        return False
    # Statements of one place and like conditions need one proof.
    distinct = {(tuple(index), a.stores, a.facts): (index, a) for index, a in zip(indices, group)}
    pairs = [
        (one, other)
        for one, other in combinations_with_replacement(distinct.values(), 2)
        if one[1].stores or other[1].stores
    ]
    return len(pairs) <= _MOST_PAIRS and all(
        _is_apart(loop, one, other, defined) and (one is other or _is_apart(loop, other, one, defined))
        for one, other in pairs
    )


def _is_apart(
    loop: ir.For, one: tuple[Sequence[Poly], Access], other: tuple[Sequence[Poly], Access], defined: Set[str]
) -> bool:
    """Whether no element is that of `one` in some iteration, and that of `other` in a later one."""

    def later(p: Poly) -> Poly:
        return Poly.of([(tuple(sorted(f"{n}'" if n in defined else n for n in m)), c) for m, c in p.terms])

    index = Poly.name(loop.index)
    rows = [later(index) - index - abs(loop.step)]
    for x, y in zip(one[0], other[0]):
        rows += [x - later(y), later(y) - x]
    if is_impossible(rows):
        return True
    facts = _latest(one[1].facts, defined)
    return is_impossible([*rows, *facts, *map(later, _latest(other[1].facts, defined))])


def _latest(facts: tuple, defined: Set[str]) -> list[Poly]:
    """The latest of what is known, of what the loop defines and of what it does not."""
    every = list(listed(facts))
    within = (p for p in every if not defined.isdisjoint(p.names()))
    outside = (p for p in every if defined.isdisjoint(p.names()))
    return [*islice(within, _MOST_FACTS), *islice(outside, _MOST_FACTS // 2)]


def listed(facts: tuple) -> Iterator[Poly]:
    while facts:
        p, facts = facts
        yield p


def indices_of(
    group: Sequence[Access], parameters: Mapping[str, ir.Parameter], defined: Set[str]
) -> list[list[Poly]] | None:
    """For each access the indices of its element, of which some differ if elements do; None if there are none.

    The accesses are of one array; `defined` are the names that tell its elements apart.
    """
    parameter = parameters.get(group[0].root)
    if parameter is not None and not parameter.contiguous:
        return _strided(group, parameter)
    size = group[0].size
    products = {m for a in group for m, _ in a.offset.terms if not defined.isdisjoint(m)}
    strides = {()} | {tuple(n for n in m if n not in defined) for m in products}
    order = sorted(strides, key=len, reverse=True)
    spans = [_quotient(outer, inner) for outer, inner in pairwise(order)]
    if None in spans or any(a.size != size or c % size for a in group for _, c in a.offset.terms):
        return None
    made = [_divided_by(a.offset, order, size) for a in group]
    for a, index in zip(group, made):
        for k, span in enumerate(spans, 1):
            facts = _latest(a.facts, defined)
            if not all(_follows(p, facts) for p in (index[k], Poly.of({span or (): 1}) - index[k] - 1)):
                return None
    return made


def _follows(p: Poly, facts: Sequence[Poly]) -> bool:
    """Whether `p` is not negative where none of `facts` is."""
    return p in facts or is_impossible([*facts, -p - 1])


def _divided_by(offset: Poly, strides: Sequence[Monomial], size: int) -> list[Poly]:
    """What an offset is in each of `strides`, the largest first."""
    index = [Poly.number(0) for _ in strides]
    for m, c in offset.terms:
        k, rest = next((k, rest) for k, s in enumerate(strides) if (rest := _quotient(m, s)) is not None)
        index[k] = index[k] + Poly.of({rest: c // size})
    return index


def _strided(group: Sequence[Access], parameter: ir.Parameter) -> list[list[Poly]] | None:
    """The indices of an array of which it is known that no two elements share memory."""
    made = []
    axes = {parameter.stride(axis): axis for axis in range(parameter.ndim)}
    for a in group:
        index = [Poly.number(0)] * parameter.ndim
        for m, c in a.offset.terms:
            found = [n for n in m if n in axes]
            if not m and 0 <= c <= parameter.dtype.itemsize - a.size:
                continue  # a part of the element
            if len(found) != 1:
                return None
            index[axes[found[0]]] += Poly.of({tuple(n for n in m if n not in axes): c})
        made.append(index)
    return made


def _quotient(m: Monomial, divisor: Monomial) -> Monomial | None:
    left, right = Counter(m), Counter(divisor)
    return tuple(sorted((left - right).elements())) if right <= left else None
