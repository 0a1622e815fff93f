"""Where the pointers of a procedure may point, and what its integers are in terms of others."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from ..ir import loops as ir
from ..ir.integers import Poly

ANYWHERE = "?"
_INT = np.dtype(np.int64)


class Pointers:
    """What is known of the names of a procedure.

    Attributes
    ----------
    parameters : dict of str to Parameter
        Those that are arrays.
    equal : dict of str to Poly
        What a name is equal to where statements are looked at now: a stop has been passed else.
    extremes : dict of str to Machine
    natural : set of str
        Extents.
    """

    def __init__(self, procedure: ir.Procedure):
        self.parameters = {p.name: p for p in procedure.parameters if p.ndim >= 0}
        self.natural = {p.extent(axis) for p in self.parameters.values() for axis in range(p.ndim)}
        self.equal: dict[str, Poly] = {}
        self.extremes: dict[str, ir.Machine] = {}
        self._integers: dict[str, Poly] = {}
        self._comparisons: dict[str, ir.Machine] = {}
        self._apart: dict[str, tuple[str, ...]] = {}
        self._origins: dict[str, set[str]] = {p: {p} for p in self.parameters}
        puts: dict[str, set[str]] = {}
        derived: dict[str, set[str]] = {}  # pointers by those that they are made of
        gets: list[ir.Get] = []
        scopes: dict[str, set[str]] = {}  # of memory whose address is an integer
        for s in ir.statements_within(procedure.body):
            if isinstance(s, ir.Literal) and type(s.value) is int:
                self._integers[s.target] = Poly.number(s.value)
            elif isinstance(s, ir.Integer):
                self.define(s.target, s.value)
            elif isinstance(s, ir.Machine):
                (self.extremes if s.op in ("min", "max") else self._comparisons)[s.target] = s
            elif isinstance(s, ir.Memory):
                self._apart[s.target] = s.apart
                self._origins[s.target] = {f"m{s.site}"}
            elif isinstance(s, ir.Address):
                derived[s.target] = {s.base}
            elif isinstance(s, ir.Put):
                puts.setdefault(s.variable, set()).add(s.value)
            elif isinstance(s, ir.Get):
                gets.append(s)
            elif isinstance(s, (ir.Load, ir.Store)):
                scopes.setdefault(s.base, set()).add(s.scope or ANYWHERE)
        derived |= {s.target: puts.get(s.variable, {ANYWHERE}) for s in gets if s.type == ir.POINTER}
        self._close(derived)
        self._origins = scopes | self._origins
        for s in gets:
            values = {self.offset(Poly.name(v)) for v in puts.get(s.variable, ())} if s.type == _INT else set()
            if values == {Poly.number(0)}:  # as variables are before anything is put there
                self.define(s.target, Poly.number(0))
        self._find_natural({s.target: puts.get(s.variable, set()) for s in gets})

    def _close(self, derived: dict[str, set[str]]) -> None:
        """Find the origins of pointers that are made of others."""
        for target in derived:
            self._origins.setdefault(target, set())
        changed = True
        while changed:
            changed = False
            for target, sources in derived.items():
                found = self._origins[target].union(*(self._origins.get(v, {ANYWHERE}) for v in sources))
                changed |= found != self._origins[target]
                self._origins[target] = found

    def _find_natural(self, gets: dict[str, set[str]]) -> None:
        """Find the names that are no negative integers; variables are zero at first."""
        self.natural |= gets.keys()
        while True:
            for name, s in self.extremes.items():
                are = [self.is_natural(Poly.name(arg)) for arg in s.args]
                if any(are) if s.op == "max" else all(are):
                    self.natural.add(name)
            wrong = {n for n, values in gets.items() if not all(self.is_natural(Poly.name(v)) for v in values)}
            if self.natural.isdisjoint(wrong):
                return
            self.natural -= wrong | self.extremes.keys()

    def is_natural(self, p: Poly) -> bool:
        """Whether an integer is certainly not negative."""
        return all(c > 0 and self.natural.issuperset(m) for m, c in self._resolved(p, self._integers).terms)

    def define(self, name: str, value: Poly) -> None:
        """Say what an integer is."""
        self._integers[name] = self._resolved(value, self._integers)

    def known(self) -> Set[str]:
        """The names that are pointers."""
        return self._origins.keys()

    def origins(self, pointer: str) -> set[str]:
        """The parameters and sites that a pointer may point into."""
        return self._origins.get(pointer, {ANYWHERE})

    def may_meet(self, one: str, other: str) -> bool:
        """Whether memory that one pointer points into may be that of the other; reading alone does no harm."""
        if one == other:
            return True
        if other in self._apart.get(one, ()) or one in self._apart.get(other, ()):
            return False
        mine, its = self.origins(one), self.origins(other)
        return ANYWHERE in mine or ANYWHERE in its or not mine.isdisjoint(its)

    def is_apart_from_all(self, memory: ir.Memory, bases: set[str]) -> bool:
        """Whether memory may be asked for while these pointers are in use: it is not theirs."""
        site = f"m{memory.site}"
        return all(base in memory.apart or not ({site, ANYWHERE} & self.origins(base)) for base in bases)

    def offset(self, p: Poly) -> Poly:
        """An offset in names that no statement computes from others; of equal names one stands for all."""
        p = self._resolved(p, self._integers)
        while name := next((n for n in p.names() if n in self.equal and _is_name(self.equal[n])), None):
            p = p.replaced(name, self.equal[name])
        return p

    def integer(self, p: Poly) -> Poly:
        """An integer likewise, with all that is known to be equal."""
        p = self._resolved(p, self._integers)
        while name := next((n for n in p.names() if n in self.equal), None):
            p = self._resolved(p.replaced(name, self.equal[name]), self._integers)
        return p

    def note(self, s: ir.Stop) -> None:
        """Note what is equal behind a stop."""
        condition = self._comparisons.get(s.condition)
        if condition is None or condition.op != "!=":
            return
        x, y = (self.integer(Poly.name(arg)) for arg in condition.args)
        for one, other in ((y, x), (x, y)):
            if _is_name(one) and (name := next(one.names())) not in other.names():
                self.equal[name] = other
                return

    def _resolved(self, p: Poly, known: dict[str, Poly]) -> Poly:
        for name in set(p.names()) & known.keys():
            p = p.replaced(name, known[name])
        return p


def _is_name(p: Poly) -> bool:
    return len(p.terms) == 1 and p.terms[0][1] == 1 and len(p.terms[0][0]) == 1
