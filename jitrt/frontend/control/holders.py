"""What variables hold of memory and of lists: found, marked as what a list refers to, and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...base.frozen import replaced
from ...ir.loops import POINTER
from .columns import listed as listed_array
from .kinds import Held, Kind, Parts, Same, join
from .recorder import Recorder
from .runtimelists import GrownList
from .values import LISTED, Array, Attributes, Composite, Copied, Gone, Perhaps, Unbound, held_by, rebuilt


def is_list_of_same_place(kind: Kind, other: Kind | None) -> bool:
    """Whether both are lists that one place of the program has made in different attempts."""
    lists_ = [k.value for k in (kind, other) if isinstance(k, Same) and isinstance(k.value, GrownList)]
    return len(lists_) == 2 and lists_[0].place == lists_[1].place


def listed(r: Recorder, value: Any, origins: frozenset[str] | None = None) -> Any:
    """The value, of which what lies in memory of these origins must not be written any more."""
    if isinstance(value, Array) and value.view is not None:
        return listed_array(r, value) if origins is None or origins & value.view.origins else value
    if type(value) in (tuple, list, Copied):
        return rebuilt(value, (listed(r, v, origins) for v in value))
    if isinstance(value, dict):
        for key, v in list(value.items()):  # which has other names
            if (part := listed(r, v, origins)) is not v:
                r.change(value, key, part)
        return value
    if isinstance(value, Perhaps):
        return Perhaps(listed(r, value.value, origins), value.is_none)
    if isinstance(value, Unbound):
        return replaced(value, value=listed(r, value.value, origins))
    if isinstance(value, Composite):
        parts = {name: listed(r, part, origins) for name, part in value.parts.items()}
        if not isinstance(value.parts, Attributes):
            return value.with_parts(parts) if parts else value
        for name, part in parts.items():  # it may still be being made
            if part is not value.parts[name]:
                r.change(value.parts, name, part)
    return value


def without(value: Any, values: Any) -> Any:
    """The value, of which that list or object must not be used."""
    if type(value) in (tuple, list, Copied):
        return rebuilt(value, (without(v, values) for v in value))
    return Gone(getattr(values, "made_at", frozenset())) if _is_in(values, value) else value


def _is_in(values: Any, value: Any) -> bool:
    """Whether a value is that list or object, or holds it."""
    if isinstance(value, (tuple, list)):
        return any(_is_in(values, v) for v in value)
    if isinstance(value, dict):
        return any(_is_in(values, v) for v in value.values())
    return value is values or (isinstance(value, Composite) and any(_is_in(values, v) for v in held_by(value)))


def is_listed(value: Any) -> bool:
    """Whether a list refers to memory of this value."""
    if isinstance(value, (tuple, list)):
        return any(map(is_listed, value))
    if isinstance(value, dict):
        return any(map(is_listed, value.values()))
    if isinstance(value, (Unbound, Perhaps)):
        return is_listed(value.value)
    if isinstance(value, Composite):
        return any(map(is_listed, value.parts.values()))
    return isinstance(value, Array) and value.view is not None and LISTED in value.view.origins


def holds(r: Recorder, value: Any) -> bool:
    """Whether an attribute of an object is this list or object."""
    kinds = [cell.variable.kind for holder in r.holders for cell in holder.cells.values()]
    return any(_is_in(value, same) for kind in kinds for same in _known_in(kind))


def _known_in(kind: Kind) -> Iterator[Any]:
    """The values in one of a kind that stay the same."""
    if isinstance(kind, Same):
        yield kind.value
    elif isinstance(kind, Parts):
        for part in kind.kinds:
            yield from _known_in(part)


def list_attributes(r: Recorder, origins: frozenset[str]) -> None:
    """What attributes that change hold in memory of these origins must not be written."""
    for holder in r.holders:
        for name, cell in holder.cells.items():
            kind, known = cell.variable.kind, r.cells.get(holder.place, {})
            if isinstance(kind, Held) and kind.origins & origins and LISTED not in known[name].origins:
                listed_kind = replaced(kind, origins=kind.origins | {LISTED})
                known[name] = join(known[name], listed_kind)
                r.begins_again = True


def pointers_of(call: Any) -> Callable[[str], list[str]]:
    """What gives the pointers of variables into memory of an origin."""

    def live(origin: str) -> list[str]:
        found: dict[str, None] = {}

        def visit(value: Any) -> None:
            if isinstance(value, Array) and value.view is not None and origin in value.view.origins:
                found[value.view.base] = None
            elif isinstance(value, (tuple, list)):
                for v in value:
                    visit(v)
            elif isinstance(value, dict):
                visit(tuple(value.values()))
            elif isinstance(value, (Unbound, Perhaps)):
                visit(value.value)
            elif isinstance(value, Composite):
                visit(tuple(value.parts.values()))

        for value in call.live():
            visit(value)
        for holder in call.r.holders:
            for cell in holder.cells.values():
                for variable in cell.variable.pointers(origin):
                    found[call.r.get(variable, POINTER, chooses=False)] = None
        return list(found)

    return live
