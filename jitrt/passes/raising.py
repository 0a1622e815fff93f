"""What a procedure computes for its floating-point exceptions alone: an analysis of procedures.

    for i in range(0, n, 1):
      t1 = load x{8*i}
      t2 = divide t3 t1                     the next iteration puts another quotient, and the loop ends with one of
      v1 = t2                               them: LLVM would divide once, behind the loop

NumPy warns of each quotient. LLVM takes exceptions for nothing: it leaves out what nothing reads, and computes what
some ways read on these ways only. So the analysis asks which values are needed on every way from where they are
computed. It goes backwards, as liveness does, but both branches of a choice have to need a value, and an iteration and
what stands behind the loop. Where it is in doubt it finds too much, which costs little and is never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..ir import loops as ir
from ..ir.integers import Poly
from ..ir.ops.optable import OPS
from ..ir.ops.ufuncs import COMPARISONS
from ..ir.verify import uses

Needed = set[str] | None
"""Names and variables; None for all, which is so where no way leads on."""

_MOST_STORES = 64  # of one loop, which are compared with each other


def computed_to_raise(procedure: ir.Procedure) -> frozenset[str]:
    """The names of values that may raise exceptions and are not needed on every way, and of folds that are not."""
    return _Analysis(procedure).found()


class _Analysis:
    def __init__(self, procedure: ir.Procedure):
        self.procedure = procedure
        self.labels: dict[str, Needed] = {}
        self.unneeded: set[str] = set()
        inside = list(ir.statements_within(procedure.body))
        self.puts = ir.variables_put(procedure)
        self.literals = {s.target: s for s in inside if isinstance(s, ir.Literal)}
        self.lasting = frozenset(map(id, _lasting(procedure.body, inside)))

    def found(self) -> frozenset[str]:
        self.block(self.procedure.body, {variable for variable, _ in self.procedure.results})
        return frozenset(self.unneeded)

    def block(self, body: Sequence[ir.Statement], needed: Needed) -> Needed:
        """What is needed in front of a block, given what is needed behind it; `needed` changes."""
        for s in reversed(body):
            needed = self.statement(s, needed)
        return needed

    def statement(self, s: ir.Statement, needed: Needed) -> Needed:
        if isinstance(s, ir.Leave):
            return _copy(self.labels[s.label])
        if isinstance(s, ir.Scope):
            self.labels[s.label] = _copy(needed)
            return self.block(s.body, needed)
        if isinstance(s, ir.If):
            return self.choice(s, needed)
        if isinstance(s, ir.For):
            return self.loop(s, needed)
        if isinstance(s, ir.Forever):
            return self.fixed_point(s.body, None, None)
        if isinstance(s, ir.Put):
            if needed is not None and s.variable in needed:
                needed.remove(s.variable)
                needed.add(s.value)
        elif isinstance(s, ir.Get):
            if needed is not None and s.target in needed:
                needed.add(s.variable)
                needed.remove(s.target)
        elif isinstance(s, ir.Do):
            if needed is not None:
                needed -= self.puts[s.routine]  # which may have been computed before
            _add(needed, s.args)
        elif isinstance(s, ir.Store):
            _add(needed, [s.base, *s.offset.names(), *((s.value,) if id(s) in self.lasting else ())])
        elif (target := getattr(s, "target", None)) is None or isinstance(s, ir.External):
            _add(needed, uses(s))
        elif needed is not None:
            is_needed = target in needed
            if isinstance(s, ir.Compute) and OPS[s.op].tells(s.dtypes):
                (self.unneeded.discard if is_needed else self.unneeded.add)(target)
                is_needed = True  # with its operands: what they are decides what it raises
            elif isinstance(s, ir.Compute):
                is_needed = is_needed and self.compares(s)  # other operations may choose one of their operands
            needed.discard(target)
            if is_needed:
                needed.update(uses(s))
        return needed

    def compares(self, s: ir.Compute) -> bool:
        """Whether an operation is a comparison whose outcome LLVM cannot know from the sign of an operand."""
        numbers = [self.literals[v].value for v in s.args if v in self.literals]
        return OPS[s.op].ufunc in COMPARISONS and all(isinstance(v, float) and 0 < v < np.inf for v in numbers)

    def choice(self, s: ir.If, needed: Needed) -> Needed:
        chooses = self.chooses(s, needed)
        then, otherwise = (self.block(body, _copy(needed)) for body in (s.then, s.otherwise))
        joined = _common(then, otherwise)
        if chooses:
            _add(joined, (s.condition,))
        return joined

    def chooses(self, s: ir.If, needed: Needed) -> bool:
        """Whether what happens differs by a condition, as far as LLVM can know."""
        inside = ir.statements_within((*s.then, *s.otherwise))
        if any(isinstance(t, (ir.Do, ir.External, ir.Update)) or id(t) in self.lasting for t in inside):
            return True
        puts = [{t.variable: t.value for t in body if isinstance(t, ir.Put)} for body in (s.then, s.otherwise)]
        return any(
            (needed is None or variable in needed)
            and puts[0].get(variable) != puts[1].get(variable)
            and any(value not in self.literals for value in (p[variable] for p in puts if variable in p))
            for variable in puts[0].keys() | puts[1].keys()
        )

    def loop(self, s: ir.For, needed: Needed) -> Needed:
        if needed is not None:
            for fold in s.folds:
                (self.unneeded.discard if fold.name in needed else self.unneeded.add)(fold.name)
                needed.discard(fold.name)
        needed = self.fixed_point(s.body, needed, needed)
        _add(needed, [*s.start.names(), *s.stop.names()])
        return needed

    def fixed_point(self, body: Sequence[ir.Statement], behind: Needed, needed: Needed) -> Needed:
        """What is needed in front of a loop: the most that, needed behind the body, is needed in front of it, too."""
        while True:
            before = self.block(body, _copy(needed))
            following = before if behind is None else _common(behind, before)
            if following == needed:
                return following
            needed = following


def _copy(needed: Needed) -> Needed:
    return None if needed is None else set(needed)


def _common(one: Needed, other: Needed) -> Needed:
    if one is None or other is None:
        return _copy(other if one is None else one)
    return one & other


def _add(needed: Needed, names: Iterable[str]) -> None:
    if needed is not None:
        needed.update(names)


def _lasting(body: Sequence[ir.Statement], inside: Sequence[ir.Statement]) -> list[ir.Store]:
    """Stores of which LLVM cannot know that another one overwrites them before anything is read."""
    addresses = {s.target: s for s in inside if isinstance(s, ir.Address)}
    variable = frozenset(s.target for s in inside if isinstance(s, ir.Get))
    found = []
    for stores, own in _turns(body):
        if len(stores) > _MOST_STORES:
            continue
        places = [_place(s, addresses) for s in stores]
        for k, s in enumerate(stores):
            if own is not None and own.isdisjoint((places[k][0], *places[k][1].names())):
                continue  # each iteration overwrites it
            others = [p for j, p in enumerate(places) if j != k and stores[j].scope == s.scope]
            if not any(_may_be_known_equal(places[k], other, variable) for other in others):
                found.append(s)
    return found


def _turns(body: Sequence[ir.Statement]) -> Iterator[tuple[list[ir.Store], frozenset[str] | None]]:
    """For each loop, and for what is in none, the stores in no inner loop; and the names that a turn defines."""
    pending: list[tuple[Sequence[ir.Statement], ir.For | ir.Forever | None]] = [(body, None)]
    while pending:
        block, loop = pending.pop()
        stores, own = [], {loop.index} if isinstance(loop, ir.For) else set()
        blocks = [block]
        while blocks:
            for s in blocks.pop():
                if isinstance(s, ir.Store):
                    stores.append(s)
                elif isinstance(s, (ir.For, ir.Forever)):
                    pending.append((s.body, s))
                    own.update(f.name for f in getattr(s, "folds", ()))
                else:
                    blocks += ir.blocks_of(s)
                    if (target := getattr(s, "target", None)) is not None:
                        own.add(target)
        yield stores, None if loop is None else frozenset(own)


def _place(s: ir.Store, addresses: dict[str, ir.Address]) -> tuple[str, Poly]:
    base, offset = s.base, s.offset
    while base in addresses:
        base, offset = addresses[base].base, offset + addresses[base].offset
    return base, offset


def _may_be_known_equal(one: tuple[str, Poly], other: tuple[str, Poly], variable: frozenset[str]) -> bool:
    if one[0] != other[0]:
        return True
    distance = one[1] - other[1]
    return distance.constant == 0 if distance.constant is not None else not variable.isdisjoint(distance.names())
