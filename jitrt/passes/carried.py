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

from ..ir.integers import Poly
from ..ir.loops import (
    Checked,
    Compute,
    Do,
    External,
    For,
    Forever,
    Get,
    If,
    Integer,
    Leave,
    Load,
    Machine,
    Memory,
    Procedure,
    Put,
    Scope,
    Statement,
    Stop,
    Store,
    statements_within,
)
from ..ir.verify import uses


def carry(procedure: Procedure) -> Procedure:
    """The procedure, with what is carried from iteration to iteration in variables."""
    names = (f"carried{k}" for k in itertools.count())
    return Procedure(procedure.parameters, _block(procedure.body, names), procedure.results, procedure.sites)


def _block(body: Sequence[Statement], names: Iterator[str]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for s in body:
        if isinstance(s, For):
            s = For(s.index, s.start, s.stop, s.step, _block(s.body, names), s.folds)
            for store in [t for t in _passed(s.body) if isinstance(t, Store)]:
                if loads := _carried_loads(s, store):
                    s = _carrying(s, store, loads, names)
        elif isinstance(s, If):
            s = If(s.condition, _block(s.then, names), _block(s.otherwise, names))
        elif isinstance(s, Forever):
            s = Forever(_block(s.body, names))
        elif isinstance(s, Scope):
            s = Scope(s.label, _block(s.body, names))
        made.append(s)
    return tuple(made)


def _passed(body: Sequence[Statement]) -> Iterator[Statement]:
    """The statements that every iteration runs that gets to its end."""
    for s in body:
        if isinstance(s, Scope) and not any(
            isinstance(t, Leave) and t.label == s.label for t in statements_within([s])
        ):
            yield from _passed(s.body)
        else:
            yield s


def _carried_loads(loop: For, store: Store) -> list[Load]:
    """Loads of what `store` has stored one iteration before, if that is all that the loop stores there."""
    inside = list(statements_within(loop.body))
    defined = {s.target for s in inside if hasattr(s, "target")}
    others = (s for s in inside if isinstance(s, Store) and s is not store)
    if (
        not store.scope
        or any(s.scope in ("", store.scope) for s in others)
        or any(isinstance(s, (Do, External, Memory)) for s in inside)
        or not defined.isdisjoint((store.base, *store.offset.names()))
    ):
        return []
    may_stop = any(isinstance(s, (Checked, Stop)) for s in inside)
    if loop.index not in store.offset.names() and not may_stop:
        return []  # LLVM keeps such an element in a register by itself
    known = store.offset.replaced(loop.index, Poly.name(loop.index) - loop.step)
    wanted = store.base, known, store.dtype
    earlier = itertools.takewhile(lambda s: s is not store, _passed(loop.body))
    return [s for s in earlier if isinstance(s, Load) and (s.base, s.offset, s.dtype) == wanted]


def _carrying(loop: For, store: Store, loads: Sequence[Load], names: Iterator[str]) -> For:
    """The loop, with what `store` stores in a variable in place of `loads`."""
    variable, first, is_first, made, again, start = itertools.islice(names, 6)
    cast = _only_cast(loop, store, loads)
    dtype = store.dtype if cast is None else cast.dtype

    def put(value: str, name: str) -> list[Statement]:
        if cast is None:
            return [Put(variable, value, dtype)]
        return [Compute(name, cast.op, (value,), cast.dtypes, dtype), Put(variable, name, dtype)]

    load = Load(first, store.dtype, store.base, loads[0].offset, store.scope, store.encoding)
    fetch = If(is_first, (load, *put(first, made)))
    changes: dict[int, list[Statement]] = {id(s): [] for s in loads}
    changes[id(loads[0])] = [Integer(start, loop.start), Machine(is_first, "==", (loop.index, start)), fetch]
    carried = loads if cast is None else [cast]
    for s in carried:
        changes.setdefault(id(s), []).append(Get(s.target, variable, dtype))
    changes[id(store)] = [store, *put(store.value, again)]
    latest = _Latest([s.target for s in carried], names)
    return For(loop.index, loop.start, loop.stop, loop.step, _changed(loop.body, changes, latest), loop.folds)


def _only_cast(loop: For, store: Store, loads: Sequence[Load]) -> Compute | None:
    """The cast that is all that the loop does with what it loads, if it does that before it stores."""
    targets = {s.target for s in loads}
    users = [s for s in statements_within(loop.body) if not targets.isdisjoint(uses(s))]
    found = users[0] if len(users) == 1 else None
    earlier = itertools.takewhile(lambda s: s is not store, _passed(loop.body))
    return found if any(s is found for s in earlier) and isinstance(found, Compute) and found.op == "cast" else None


def _changed(body: Sequence[Statement], changes: dict[int, list[Statement]], latest: _Latest) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for s in body:
        if isinstance(s, Scope):
            made.append(Scope(s.label, _changed(s.body, changes, latest)))
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
        self._extremes: dict[str, Machine] = {}

    def ordered(self, s: Statement) -> list[Statement]:
        """What stands for a statement."""
        if self._carried.isdisjoint(uses(s)):
            return [s]
        self._carried.add(getattr(s, "target", ""))
        if not isinstance(s, Machine) or s.op not in ("min", "max"):
            return [s]
        self._extremes[s.target] = s
        inner, other = sorted(s.args, key=lambda name: name not in self._carried)
        before = self._extremes.get(inner)
        if other in self._carried or before is None or before.op != s.op:
            return [s]
        last, first = sorted(before.args, key=lambda name: name not in self._carried)
        name = next(self._names)
        return [Machine(name, s.op, (first, other)), Machine(s.target, s.op, (name, last))]
