"""What variables hold in a loop that is being recorded: when an iteration begins, and behind the loop."""

from __future__ import annotations

from typing import Any

from .holders import is_listed
from .kinds import Kind, Number, is_covered, join, kind_of, seen_from, surviving
from .recorder import Recorder
from .unbound import LOST, UNBOUND, need_unbound, put_unbound
from .values import BOOL, FIRST, FLOAT, INT, KindsDiffer, ListChanges, NotStaged, Unassigned, Unbound, is_number
from .variables import Variable


def joined(r: Recorder, x: Kind, y: Kind) -> Kind:
    """What holds what a variable has in the first iteration of a loop, and later on.

    Raises
    ------
    KindsDiffer
        If nothing does, or if it depends on who has made a number in how many bits it is computed with.
    """
    try:
        made = join(x, y)
    except ListChanges:
        raise
    except NotStaged as reason:
        raise KindsDiffer(str(reason)) from None
    is_either = isinstance(made, Number) and made.python is None
    if FIRST in r.changing and is_either and made.dtype not in (INT, FLOAT):  # type: ignore[union-attr]
        raise KindsDiffer("a number that is Python's or NumPy's")
    return made


class Retry(Exception):
    """Variables of a loop hold other kinds of values than was supposed, or a list refers to one of them."""

    def __init__(self, kinds: dict[str, Kind], listed: str = ""):
        super().__init__(*kinds, listed)
        self.kinds, self.listed = kinds, listed


class Loop:
    """A loop that is being recorded: where `break` and `continue` go, and what its variables hold."""

    def __init__(
        self, r: Recorder, kinds: dict[str, Kind], flags: dict[str, str], names: list[str], entry: dict[str, Any]
    ):
        self.end, self.next, self.exhausted = r.label(), r.label(), r.label()
        self.outside = r.around()
        self.kinds, self.flags, self.names = dict(kinds), flags, names
        self.depth, self.entry, self.lost = r.depth + 1, entry, set[str]()
        self.variables = {name: Variable(r, kind) for name, kind in kinds.items()}

    def put(self, r: Recorder, values: dict[str, Any]) -> None:
        """Hand the variables over to the next iteration, or to what stands behind the loop."""
        for name, value in values.items():
            if name not in self.names and is_listed(value) and not is_listed(self.entry.get(name)):
                raise Retry({}, name)
        assigned = {name: values[name] for name in self.names if name in values}
        for name, value in assigned.items():
            if value is LOST:
                self._lose(r, name)
            elif isinstance(value, Unbound) and (UNBOUND, name) in r.changing and is_number(value.value):
                self._put_unbound(r, name, value)
        held = {name: value for name, value in assigned.items() if not isinstance(value, Unbound)}
        found = {
            name: surviving(seen_from(r, kind_of(value), self.outside), self.depth) for name, value in held.items()
        }
        others = {n: kind for n, kind in found.items() if n in self.kinds and not is_covered(kind, self.kinds[n])}
        if others:  # all at once: each attempt records the whole body
            raise Retry(others)
        for name, kind in found.items():
            if name not in self.kinds:  # assigned in the loop only
                if name in self.lost:
                    need_unbound(r, name)
                if (UNBOUND, name) in r.changing:
                    raise Retry({name: kind}) if is_number(held[name]) else Unassigned(name)
                self.kinds[name], self.variables[name] = kind, Variable(r, kind)
                self.flags[name] = r.variable()
            self.variables[name].put(r, held[name])
            if name in self.flags:
                r.put(self.flags[name], r.literal(True, BOOL), BOOL)

    def _lose(self, r: Recorder, name: str) -> None:
        """Begin again, if the next iteration, or what stands behind the loop, may read what is not known."""
        if name in self.variables:
            need_unbound(r, name)
        self.lost.add(name)

    def _put_unbound(self, r: Recorder, name: str, value: Unbound) -> None:
        kind = seen_from(r, kind_of(value.value), self.outside)
        if name not in self.flags or not is_covered(kind, self.kinds[name]):
            raise Retry({name: kind})
        put_unbound(r, self.variables[name], self.flags[name], value)

    def read(self, r: Recorder, name: str) -> Any:
        """What a variable holds when an iteration begins, and behind the loop."""
        value = self.variables[name].get(r)
        return Unbound(value, self.flags[name]) if name in self.flags else value

    def behind(self, r: Recorder, before: dict[str, Any]) -> dict[str, Any]:
        """What variables hold behind the loop, and held in front of it."""
        return before | dict.fromkeys(self.lost, LOST) | {name: self.read(r, name) for name in self.variables}

    def begin(self, r: Recorder, values: dict[str, Any]) -> None:
        """Let variables hold what they hold when an iteration begins."""
        for name in self.variables:
            if name in values or name in self.flags:
                values[name] = self.read(r, name)
