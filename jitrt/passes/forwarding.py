"""What a block has stored or computed is not loaded or computed again in it, and what nobody reads is not kept.

    t1 = load x{8*i}                      t1 = load x{8*i}
    t2 = square t1                        t2 = square t1
    store m{8*i} t2               →       t4 = add t2 t1
    t3 = load m{8*i}                      …
    t5 = load x{8*i}
    t4 = add t3 t5

Exact: a name stands for the same bits, and memory that only the procedure knows and nothing loads from has no reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.frozen import replaced
from ..ir import loops as ir
from ..ir.integers import Poly
from ..ir.ops.optable import OPS
from ..ir.verify import uses
from .pointers import Pointers

_NAMES = ("args", "value", "base", "condition", "apart")


def renamed(s: ir.Statement, names: Mapping[str, str]) -> ir.Statement:
    """A statement with other names in place of those that it uses, and of an index that it defines."""
    changes: dict[str, Any] = {}
    for field in type(s).__annotations__:
        value = getattr(s, field)
        if isinstance(value, Poly):
            for name in set(value.names()) & names.keys():
                value = value.replaced(name, Poly.name(names[name]))
        elif field in ("body", "then", "otherwise"):
            value = tuple(renamed(t, names) for t in value)
        elif field in _NAMES and isinstance(value, str):
            value = names.get(value, value)
        elif field in _NAMES and isinstance(value, tuple):
            value = tuple(names.get(v, v) for v in value)
        else:
            continue
        if value is not getattr(s, field):
            changes[field] = value
    if isinstance(s, ir.For) and s.index in names:
        changes["index"] = names[s.index]
    return replaced(s, **changes) if changes else s


def forwarded(body: Iterable[ir.Statement], pointers: Pointers) -> tuple[ir.Statement, ...]:
    """A block in which names stand in place of what has been stored, loaded or computed before."""
    made: list[ir.Statement] = []
    names: dict[str, str] = {}
    computed: dict[Any, str] = {}
    stored: dict[tuple[str, Poly, Any], str] = {}  # what lies where
    for s in body:
        s = renamed(s, names) if names else s
        if isinstance(s, (ir.Literal, ir.Compute, ir.Integer, ir.Machine)):
            key: Any = type(s), *(getattr(s, f) for f in type(s).__annotations__ if f != "target")
            if isinstance(s, ir.Literal):
                key = *key, repr(s.value)  # zeros have signs
            known = computed.setdefault(key, s.target)
            if known != s.target:
                names[s.target] = known
                continue
        elif isinstance(s, ir.Load):
            place = s.base, pointers.offset(s.offset), (s.dtype, s.encoding)
            known = stored.setdefault(place, s.target)
            if known != s.target:
                names[s.target] = known
                continue
        elif isinstance(s, ir.Store):
            place = s.base, pointers.offset(s.offset), (s.dtype, s.encoding)
            stored = {p: v for p, v in stored.items() if not _may_meet(p, place, pointers)}
            if s.value not in pointers.known():  # an address is loaded as an integer
                stored[place] = s.value
        elif isinstance(s, (ir.For, ir.Forever, ir.If, ir.Scope)):
            inside = list(ir.statements_within([s]))
            if any(isinstance(t, (ir.Do, ir.External)) for t in inside):
                stored = {}
            bases = {t.base for t in inside if isinstance(t, ir.Store)}
            stored = {p: v for p, v in stored.items() if not any(pointers.may_meet(p[0], b) for b in bases)}
        elif isinstance(s, (ir.Do, ir.External, ir.Memory)):
            stored = {}
        made.append(s)
    return tuple(made)


def _may_meet(one: tuple[str, Poly, Any], other: tuple[str, Poly, Any], pointers: Pointers) -> bool:
    """Whether two elements may have memory in common."""
    if one[0] != other[0]:
        return pointers.may_meet(one[0], other[0])
    distance = (one[1] - other[1]).constant
    if distance is None:
        return True
    return -one[2][0].itemsize < distance < other[2][0].itemsize


def without_unread(procedure: ir.Procedure) -> ir.Procedure:
    """The procedure without variables, names and memory that nothing reads.

    A value that may raise a floating-point exception is computed nevertheless.
    """
    every, results = list(ir.statements_within(procedure.body)), {name for name, _ in procedure.results}
    results |= {s.result[0] for s in every if isinstance(s, ir.Routine) and s.result is not None}
    unread = {s.target for s in every if isinstance(s, ir.Memory)}
    while True:
        live, read = _live(every, results, unread)
        kept = live
        if unread.isdisjoint(live):
            kept = {s.base for s in every if isinstance(s, ir.Store) and s.value not in live}
        if unread.isdisjoint(kept):
            return replaced(procedure, body=_kept(procedure.body, live, read, unread))
        unread -= kept


def _live(every: Sequence[ir.Statement], results: set[str], unread: set[str]) -> tuple[set[str], set[str]]:
    """The names and the variables that are read to some effect."""
    live: set[str] = set()
    read = set(results)
    while True:
        before = len(live) + len(read)
        for s in reversed(every):
            if isinstance(s, ir.Get) and s.target in live:
                read.add(s.variable)
            elif isinstance(s, _PURE):
                if isinstance(s, ir.Compute) and OPS[s.op].tells(s.dtypes):
                    live.add(s.target)
                if s.target in live:
                    live.update(uses(s))
            elif isinstance(s, ir.Put):
                if s.variable in read:
                    live.update(uses(s))
            elif isinstance(s, ir.Store):
                if s.base not in unread:
                    live.update(uses(s))
            elif isinstance(s, ir.Memory):
                if s.target not in unread:
                    live.update(name for name in uses(s) if name not in unread)
            else:
                live.update(uses(s))
        if len(live) + len(read) == before:
            return live, read


_PURE = (ir.Literal, ir.Compute, ir.Integer, ir.Machine, ir.Load, ir.Get, ir.Address)


def _kept(body: Sequence[ir.Statement], live: set[str], read: set[str], unread: set[str]) -> tuple[ir.Statement, ...]:
    made: list[ir.Statement] = []
    for s in body:
        if isinstance(s, ir.Store):
            if s.base in unread:
                continue
        elif isinstance(s, ir.Memory):
            if s.target in unread:
                continue
            if not unread.isdisjoint(s.apart):
                s = replaced(s, apart=tuple(p for p in s.apart if p not in unread))
        elif isinstance(s, ir.Put):
            if s.variable not in read:
                continue
        elif isinstance(s, _PURE):
            if s.target not in live:
                continue
        elif not isinstance(s, ir.Routine):
            s = ir.with_blocks(s, lambda block: _kept(block, live, read, unread))
            if isinstance(s, ir.For) and not s.body:
                continue
        made.append(s)
    return tuple(made)
