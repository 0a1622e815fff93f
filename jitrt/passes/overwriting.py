"""What a variable holds next may lie where its old value is: a pass over procedures.

    p = get v                                      p = get v
    m = memory 0{8*n} apart from (p)               m = memory 0{8*n} apart from ()
    v = m                                    →     v = m
    for i in range(0, n, 1):                       for i in range(0, n, 1):
      t = load p{8*i}                                t = load p{8*i}
      …                                              …
      store m{8*i} w                                 store m{8*i} w

A loop then goes over one array where it went over two, which fit into a cache less often. Exact, because each element
of the old value is loaded for the last time before the new one is stored in its place, and nothing else has the memory:
what other variables point to remains among the pointers that it is apart from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..base.frozen import replaced
from ..ir import loops as ir
from ..ir.integers import Poly
from ..ir.verify import uses
from .pointers import ANYWHERE, Pointers


def overwrite(procedure: ir.Procedure) -> ir.Procedure:
    """The procedure, with less memory that has to be apart from other memory."""
    found = dict(_Overwriting(procedure).found(procedure.body))
    return replaced(procedure, body=_changed(procedure.body, found)) if found else procedure


class _Overwriting:
    """What is known of the names of a procedure."""

    def __init__(self, procedure: ir.Procedure):
        every = list(ir.statements_within(procedure.body))
        self._pointers = pointers = Pointers(procedure)
        self._uses = Counter(name for s in every if not isinstance(s, ir.Memory) for name in uses(s))
        stored = {s.value for s in every if isinstance(s, ir.Store)}
        stored |= {name for s in every if isinstance(s, ir.External) for name in s.args}
        self._elsewhere = {origin for name in stored & pointers.known() for origin in pointers.origins(name)}

    def found(self, body: Sequence[ir.Statement]) -> Iterator[tuple[str, str]]:
        """Memory, and what it may overwrite."""
        pointers = self._pointers
        before, pointers.equal = pointers.equal, dict(pointers.equal)
        got = {s.target: s.variable for s in body if isinstance(s, ir.Get) and s.type == ir.POINTER}
        gets = Counter(got.values())
        for k, s in enumerate(body):
            if isinstance(s, ir.Stop):
                pointers.note(s)
            for block in ir.blocks_of(s):
                yield from self.found(block)
            if not isinstance(s, ir.Memory) or not self._elsewhere.isdisjoint((f"m{s.site}", ANYWHERE)):
                continue
            for old in s.apart:
                if old in got and gets[got[old]] == 1 and self._may_overwrite(s, old, got[old], body[k + 1 :]):
                    yield s.target, old
                    break
        pointers.equal = before

    def _may_overwrite(self, memory: ir.Memory, old: str, variable: str, behind: Sequence[ir.Statement]) -> bool:
        """Whether one loop behind is all that reads `old`, and the variable that held it is put before it is read."""
        loops = [k for k, s in enumerate(behind) if isinstance(s, ir.For) and _accesses(s, old)]
        puts = [k for k, s in enumerate(behind) if isinstance(s, ir.Put) and s.variable == variable]
        if len(loops) != 1 or len(puts) != 1:
            return False
        (at,), (put,) = loops, puts
        loop, then = behind[at], behind[put]
        assert isinstance(loop, ir.For) and isinstance(then, ir.Put)
        between = ir.statements_within(behind[: max(at, put)])
        if then.value != memory.target or any(isinstance(s, (ir.Do, ir.Leave, ir.External)) for s in between):
            return False
        before, self._pointers.equal = self._pointers.equal, dict(self._pointers.equal)
        for s in behind[:at]:
            if isinstance(s, ir.Stop):
                self._pointers.note(s)
        is_in_place = self._is_in_place(loop, memory, old)
        self._pointers.equal = before
        return is_in_place

    def _is_in_place(self, loop: ir.For, memory: ir.Memory, old: str) -> bool:
        """Whether a loop loads all of `old`, each element before it stores its only one into the memory there."""
        pointers, target = self._pointers, memory.target
        loads = [k for k, s in enumerate(loop.body) if isinstance(s, ir.Load) and s.base == old]
        stores = [k for k, s in enumerate(loop.body) if isinstance(s, ir.Store) and s.base == target]
        if len(loads) != self._uses[old] or len(stores) != 1 or max(loads) > stores[0]:
            return False
        if any(isinstance(s, ir.Load) and s.base == target for s in loop.body):
            return False
        accesses = [loop.body[k] for k in (*loads, *stores)]
        return (
            loop.step == 1
            and not loop.start.terms
            and all(
                isinstance(s, (ir.Load, ir.Store))
                and not s.encoding
                and pointers.offset(s.offset) == s.dtype.itemsize * Poly.name(loop.index)
                and pointers.offset(memory.nbytes) == s.dtype.itemsize * pointers.offset(loop.stop)
                for s in accesses
            )
        )


def _accesses(loop: ir.For, base: str) -> bool:
    return any(isinstance(s, (ir.Load, ir.Store)) and s.base == base for s in ir.statements_within(loop.body))


def _changed(body: Sequence[ir.Statement], found: dict[str, str]) -> tuple[ir.Statement, ...]:
    made: list[ir.Statement] = []
    for s in body:
        if isinstance(s, ir.Memory) and s.target in found:
            s = replaced(s, apart=tuple(p for p in s.apart if p != found[s.target]))
        made.append(ir.with_blocks(s, lambda inner: _changed(inner, found)))
    return tuple(made)
