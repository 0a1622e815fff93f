"""Operations on whole arrays that stand one behind the other become one loop: a pass over procedures.

    for i in range(0, n, 1):                    for i in range(0, n, 1):
      store m{8*i} w                              store m{8*i} w
    stop if t                          →          …
    for j in range(0, n, 1):                      store y{8*i} f(w)
      t1 = load m{8*j}
      …
      store y{8*j} f(t1)

What stands between the loops and does not depend on them is done before. What the first loop stores is then still in a
register when the second one loads it, and memory that nothing else reads is not needed. Exact: each element is computed
from the same operands (`dependences`), and what has a floating-point exception to raise raises it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..base.frozen import replaced
from ..ir import loops as ir
from ..ir.integers import Poly
from ..ir.verify import uses
from .dependences import Dependences
from .forwarding import forwarded, renamed, without_unread
from .pointers import Pointers

_ELEMENTS = (ir.Compute, ir.For, ir.Integer, ir.Literal, ir.Load, ir.Machine, ir.Store, ir.Update)
_MOST_STATEMENTS = 200  # of one loop: more values than that do not stay in registers


def fuse_nests(procedure: ir.Procedure) -> ir.Procedure:
    """The procedure with loops over arrays of equal extents in one where that is exact."""
    every = list(ir.statements_within(procedure.body))
    if sum(isinstance(s, ir.For) and _is_nest(s) for s in every) < 2:
        return procedure
    body = _Fusion(procedure).block(procedure.body)
    loops = (sum(isinstance(s, ir.For) for s in inside) for inside in (every, ir.statements_within(body)))
    if next(loops) == next(loops):
        return procedure
    return without_unread(replaced(procedure, body=body))


def independent_loops(procedure: ir.Procedure) -> frozenset[str]:
    """The indices of innermost loops over arrays no turn of which accesses what another one stores."""
    found: set[str] = set()
    pointers = Pointers(procedure)
    dependences = Dependences(pointers)

    def look(body: Sequence[ir.Statement]) -> None:
        before, pointers.equal = pointers.equal, dict(pointers.equal)
        for s in body:
            if isinstance(s, ir.Stop):
                pointers.note(s)
            elif isinstance(s, ir.For) and all(isinstance(t, _ELEMENTS) and not isinstance(t, ir.For) for t in s.body):
                if s.step == 1 and dependences.is_independent(s):
                    found.add(s.index)
            else:
                for block in ir.blocks_of(s):
                    look(block)
        pointers.equal = before

    look(procedure.body)
    return frozenset(found)


def _is_nest(loop: ir.For) -> bool:
    """Whether a loop does nothing but compute elements, in order."""
    inside = list(ir.statements_within([loop]))
    return not loop.folds and all(
        isinstance(s, _ELEMENTS) and (not isinstance(s, ir.For) or s.step == 1) for s in inside
    )


class _Fusion:
    """What is known of the procedure whose loops are fused."""

    def __init__(self, procedure: ir.Procedure):
        self._pointers = Pointers(procedure)
        self._dependences = Dependences(self._pointers)

    def block(self, body: Sequence[ir.Statement], in_nest: bool = False) -> tuple[ir.Statement, ...]:
        """A block with its loops fused, and those in the blocks inside of it; of a nest, or of the program."""
        before, self._pointers.equal = self._pointers.equal, dict(self._pointers.equal)
        made: Iterable[ir.Statement] = self._fused(body)
        if not in_nest:
            made = (self._one_loop(s) if isinstance(s, ir.For) and _is_nest(s) else s for s in made)
        block = forwarded(made, self._pointers)
        self._pointers.equal = before
        return block

    def _fused(self, body: Sequence[ir.Statement]) -> Iterator[ir.Statement]:
        nest: ir.For | None = None  # that waits for others, with what is inside of it fused
        for s in body:
            if isinstance(s, ir.Stop):
                self._pointers.note(s)
            if nest is not None and self._may_pass(s, nest):
                yield s
                continue
            together = self._together(nest, s) if nest is not None and isinstance(s, ir.For) and _is_nest(s) else None
            if together is None and nest is not None:
                yield nest
            nest = together
            if nest is None:
                inner = self._inner(s)
                if isinstance(inner, ir.For) and _is_nest(inner):
                    nest = inner
                else:
                    yield inner
        if nest is not None:
            yield nest

    def _inner(self, s: ir.Statement) -> ir.Statement:
        """A statement with the blocks inside of it fused."""
        if isinstance(s, ir.Routine):
            return s
        return ir.with_blocks(s, lambda body: self.block(body, isinstance(s, ir.For) and _is_nest(s)))

    def _one_loop(self, nest: ir.For) -> ir.For:
        """A nest over memory without gaps as a single loop.

        for i in range(0, n, 1): for k in range(0, m, 1): … x{8*i*m + 8*k}   →   for i in range(0, n*m, 1): … x{8*i}
        """
        if len(nest.body) != 1 or not isinstance(inner := nest.body[0], ir.For) or inner.folds:
            return nest
        inner = self._one_loop(inner)
        if nest.start.terms or inner.start.terms or any(isinstance(s, ir.For) for s in inner.body):
            return nest
        if not (self._pointers.is_natural(nest.stop) or self._pointers.is_natural(inner.stop)):
            return nest  # the product of two negative numbers would be turns
        extent, turned = self._pointers.offset(inner.stop), []
        row, column = Poly.name(nest.index), Poly.name(inner.index)
        for s in inner.body:
            if isinstance(s, ir.Store) and s.value in (nest.index, inner.index):
                return nest
            if isinstance(s, (ir.Load, ir.Store)):
                offset = self._pointers.offset(s.offset)
                of_column = [(m, c) for m, c in offset.terms if inner.index in m]
                step = Poly.of([(tuple(n for n in m if n != inner.index), c) for m, c in of_column])
                rest = offset - step * (row * extent + column)
                if step.constant is None or not {nest.index, inner.index}.isdisjoint(rest.names()):
                    return nest
                s = replaced(s, offset=rest + step * column)
            elif not {nest.index, inner.index}.isdisjoint(uses(s)):
                return nest
            turned.append(s)
        return ir.For(inner.index, nest.start, nest.stop * inner.stop, 1, tuple(turned))

    def _may_pass(self, s: ir.Statement, nest: ir.For) -> bool:
        """Whether a statement may come before a nest behind which it stands."""
        inside = list(ir.statements_within([nest]))
        if isinstance(s, ir.Memory):
            return self._pointers.is_apart_from_all(s, {t.base for t in inside if isinstance(t, (ir.Load, ir.Store))})
        if isinstance(s, ir.Load):
            return not any(self._pointers.may_meet(s.base, t.base) for t in inside if isinstance(t, ir.Store))
        return isinstance(s, (ir.Checked, ir.Compute, ir.Get, ir.Integer, ir.Literal, ir.Machine, ir.Put, ir.Stop))

    def _together(self, first: ir.For, second: ir.For) -> ir.For | None:
        """Two loops as one, or None."""
        pointers = self._pointers
        if any(pointers.integer(x - y).terms for x, y in ((first.start, second.start), (first.stop, second.stop))):
            return None
        mine, its = (list(ir.statements_within(loop.body)) for loop in (first, second))
        if len(mine) + len(its) > _MOST_STATEMENTS or not _share(mine, its):
            return None
        if not self._dependences.may_be_one(first, second):
            return None
        body = [*first.body, *(renamed(s, {second.index: first.index}) for s in second.body)]
        made = ir.For(first.index, first.start, first.stop, 1, self.block(body, in_nest=True))
        # Rows that stay apart are no shorter way, and LLVM fills and copies whole arrays in one go.
        return made if _innermost([made]) < _innermost([first, second]) else None


def _innermost(body: Sequence[ir.Statement]) -> int:
    """How many loops without others inside there are."""
    inner = (_innermost(s.body) or 1 for s in body if isinstance(s, ir.For))
    return sum(inner)


def _share(mine: Sequence[ir.Statement], its: Sequence[ir.Statement]) -> bool:
    """Whether loops access memory by a common pointer."""
    bases, others = ({s.base for s in inside if isinstance(s, (ir.Load, ir.Store))} for inside in (mine, its))
    return not bases.isdisjoint(others)
