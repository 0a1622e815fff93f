"""What one iteration stores and the next one loads stays in a register: a pass over procedures.

    for i in range(1, n, 1):              for i in range(1, n, 1):
      t = load x{8*i - 8}         →         if i == 1: v = load x{8*i - 8}
      …                                     t = get v
      store x{8*i} w                        …
                                            store x{8*i} w; v = w

A processor takes some five cycles to load what has just been stored, in every iteration of a recursion. Exact, because
the loop stores nothing else into that memory, and all that it computes it computes in the same order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from ..base.frozen import replaced
from ..ir import loops as ir
from ..ir.integers import Poly
from ..ir.verify import uses


def carry(procedure: ir.Procedure) -> ir.Procedure:
    """The procedure, with what is carried from iteration to iteration in variables."""
    names = (f"carried{k}" for k in itertools.count())
    return replaced(procedure, body=_block(procedure.body, names))


def _block(body: Sequence[ir.Statement], names: Iterator[str]) -> tuple[ir.Statement, ...]:
    made: list[ir.Statement] = []
    for s in body:
        if not isinstance(s, ir.Routine):
            s = ir.with_blocks(s, lambda inner: _block(inner, names))
        if isinstance(s, ir.For):
            for store in [t for t in _passed(s.body) if isinstance(t, ir.Store)]:
                if loads := _carried_loads(s, store):
                    s = _carrying(s, store, loads, names)
        made.append(s)
    return tuple(made)


def _passed(body: Sequence[ir.Statement]) -> Iterator[ir.Statement]:
    """The statements that every iteration runs that gets to its end."""
    for s in body:
        if isinstance(s, ir.Scope) and not any(
            isinstance(t, ir.Leave) and t.label == s.label for t in ir.statements_within([s])
        ):
            yield from _passed(s.body)
        else:
            yield s


def _carried_loads(loop: ir.For, store: ir.Store) -> list[ir.Load]:
    """Loads of what `store` has stored one iteration before, if that is all that the loop stores there."""
    inside = list(ir.statements_within(loop.body))
    defined = {s.target for s in inside if hasattr(s, "target")}
    others = (s for s in inside if isinstance(s, ir.Store) and s is not store)
    if (
        not store.scope
        or any(s.scope in ("", store.scope) for s in others)
        or any(isinstance(s, (ir.Do, ir.External, ir.Memory)) for s in inside)
        or not defined.isdisjoint((store.base, *store.offset.names()))
    ):
        return []
    may_stop = any(isinstance(s, (ir.Checked, ir.Stop)) for s in inside)
    if loop.index not in store.offset.names() and not may_stop:
        return []  # LLVM keeps such an element in a register by itself
    known = store.offset.replaced(loop.index, Poly.name(loop.index) - loop.step)
    wanted = store.base, known, store.dtype
    earlier = itertools.takewhile(lambda s: s is not store, _passed(loop.body))
    return [s for s in earlier if isinstance(s, ir.Load) and (s.base, s.offset, s.dtype) == wanted]


def _carrying(loop: ir.For, store: ir.Store, loads: Sequence[ir.Load], names: Iterator[str]) -> ir.For:
    """The loop, with what `store` stores in a variable in place of `loads`."""
    variable, first, is_first, made, again, start = itertools.islice(names, 6)
    cast = _only_cast(loop, store, loads)
    dtype = store.dtype if cast is None else cast.dtype

    def put(value: str, name: str) -> list[ir.Statement]:
        if cast is None:
            return [ir.Put(variable, value, dtype)]
        return [ir.Compute(name, cast.op, (value,), cast.dtypes, dtype), ir.Put(variable, name, dtype)]

    load = ir.Load(first, store.dtype, store.base, loads[0].offset, store.scope, store.encoding)
    fetch = ir.If(is_first, (load, *put(first, made)))
    changes: dict[int, list[ir.Statement]] = {id(s): [] for s in loads}
    changes[id(loads[0])] = [ir.Integer(start, loop.start), ir.Machine(is_first, "==", (loop.index, start)), fetch]
    carried = loads if cast is None else [cast]
    for s in carried:
        changes.setdefault(id(s), []).append(ir.Get(s.target, variable, dtype))
    changes[id(store)] = [store, *put(store.value, again)]
    latest = _Latest([s.target for s in carried], names)
    return replaced(loop, body=_changed(loop.body, changes, latest))


def _only_cast(loop: ir.For, store: ir.Store, loads: Sequence[ir.Load]) -> ir.Compute | None:
    """The cast that is all that the loop does with what it loads, if it does that before it stores."""
    targets = {s.target for s in loads}
    users = [s for s in ir.statements_within(loop.body) if not targets.isdisjoint(uses(s))]
    found = users[0] if len(users) == 1 else None
    earlier = itertools.takewhile(lambda s: s is not store, _passed(loop.body))
    return found if any(s is found for s in earlier) and isinstance(found, ir.Compute) and found.op == "cast" else None


def _changed(
    body: Sequence[ir.Statement], changes: dict[int, list[ir.Statement]], latest: _Latest
) -> tuple[ir.Statement, ...]:
    made: list[ir.Statement] = []
    for s in body:
        if isinstance(s, ir.Scope):
            made.append(ir.with_blocks(s, lambda inner: _changed(inner, changes, latest)))
        elif id(s) in changes:
            made += changes[id(s)]
        else:
            made += latest.ordered(s)
    return tuple(made)


class _Latest:
    """Extremes of integers are formed of what is carried last, since all else is known before.

        min (min c a) b   →   min (min a b) c

    Parameters
    ----------
    carried : iterable of str
    names : iterator of str
        New ones.
    """

    def __init__(self, carried: Iterable[str], names: Iterator[str]):
        self._carried, self._names = set(carried), names
        self._extremes: dict[str, ir.Machine] = {}

    def ordered(self, s: ir.Statement) -> list[ir.Statement]:
        """What stands for a statement."""
        if self._carried.isdisjoint(uses(s)):
            return [s]
        self._carried.add(getattr(s, "target", ""))
        if not isinstance(s, ir.Machine) or s.op not in ("min", "max"):
            return [s]
        self._extremes[s.target] = s
        inner, other = sorted(s.args, key=lambda name: name not in self._carried)
        before = self._extremes.get(inner)
        if other in self._carried or before is None or before.op != s.op:
            return [s]
        last, first = sorted(before.args, key=lambda name: name not in self._carried)
        name = next(self._names)
        return [ir.Machine(name, s.op, (first, other)), ir.Machine(s.target, s.op, (name, last))]
