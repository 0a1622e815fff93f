"""A verifier of procedures: names are defined once and used where they are visible, and scopes are left from inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from . import loops


class Malformed(Exception):
    """A procedure that breaks a rule of the loop language."""


def verify(procedure: loops.Procedure) -> None:
    """Check a procedure.

    Raises
    ------
    Malformed
        If it breaks a rule; the message has the statement.
    """
    names = set()
    for p in procedure.parameters:
        names.add(p.name)
        for axis in range(p.ndim):
            names |= {p.extent(axis), p.stride(axis)}
    _verify(procedure.body, names, names.copy(), frozenset(), frozenset())


def _verify(
    body: Sequence[loops.Statement], visible: set[str], defined: set[str], labels: frozenset[str], folds: frozenset[str]
) -> None:
    visible = set(visible)
    for s in body:
        for name in uses(s):
            if name not in visible:
                raise Malformed(f"{name} is not visible: {_head(s)}")
        if isinstance(s, loops.Leave) and s.label not in labels:
            raise Malformed(f"no such scope around: {s}")
        if isinstance(s, loops.Routine):
            defined.add(s.name)
        if isinstance(s, loops.Do) and s.routine not in defined:
            raise Malformed(f"no such routine before: {s}")
        if isinstance(s, loops.Update) and s.accumulator not in folds:
            raise Malformed(f"no such accumulator around: {s}")
        inside, around, accumulators = visible, labels, folds
        if isinstance(s, loops.Routine):
            inside = visible | {_define(name, defined, s) for name, _ in s.parameters}
        if isinstance(s, loops.For):
            inside = visible | {_define(s.index, defined, s)}
            accumulators = folds | {f.name for f in s.folds}
        elif isinstance(s, loops.Scope):
            around = labels | {s.label}
        for block in loops.blocks_of(s):
            _verify(block, inside, defined, around, accumulators)
        if isinstance(s, loops.For):
            visible |= {_define(f.name, defined, s) for f in s.folds}
        elif target := getattr(s, "target", None):
            visible.add(_define(target, defined, s))


def _define(name: str, defined: set[str], s: loops.Statement) -> str:
    if name in defined:
        raise Malformed(f"{name} is defined twice: {_head(s)}")
    defined.add(name)
    return name


def _head(s: loops.Statement) -> str:
    return str(s).partition("\n")[0]


def defined_in(statements: Iterable[loops.Statement]) -> Iterator[str]:
    """The names that statements define, for themselves and for those behind them."""
    for s in statements:
        if isinstance(s, loops.For):
            yield s.index
            yield from (f.name for f in s.folds)
        elif isinstance(s, loops.Routine):
            yield from (name for name, _ in s.parameters)
        elif target := getattr(s, "target", None):
            yield target


def uses(s: loops.Statement) -> Iterator[str]:
    """The names that a statement itself uses."""
    if isinstance(s, (loops.Compute, loops.Machine, loops.Checked, loops.External, loops.Do)):
        yield from s.args
    elif isinstance(s, loops.Integer):
        yield from s.value.names()
    elif isinstance(s, (loops.Address, loops.Load, loops.Store)):
        yield s.base
        yield from s.offset.names()
        if isinstance(s, loops.Store):
            yield s.value
    elif isinstance(s, (loops.Put, loops.Update)):
        yield s.value
    elif isinstance(s, loops.Memory):
        yield from s.nbytes.names()
        yield from s.apart
    elif isinstance(s, loops.Move):
        yield from (s.to, s.source, *s.nbytes.names())
    elif isinstance(s, loops.For):
        yield from s.start.names()
        yield from s.stop.names()
    elif isinstance(s, (loops.If, loops.Stop)):
        yield s.condition
