"""What an iteration of a loop does, from the states of its frame before and after."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...base.frozen import frozen
from ...ir.absorbed import absorbed
from ...ir.control import Closed, close
from ...ir.node import Node, topological_order
from ...ir.ops.ufuncs import COPY
from ..effects import Copy, Guarded, Phase, Write, forced_of
from ..state import Trace
from ..storage import Cell
from .loopnumber import Counter
from .states import Role, State


@frozen
class Step:
    """What an iteration does.

    Parameters
    ----------
    source : tuple of int or None
        For each role the role whose memory it had before; None for memory made in the iteration.
    varying : tuple of int
        Roles that change.
    same : tuple of int
        For each of them the first one that has the same value all the time.
    outside : tuple of Cell
        Memory that no variable leads to, but that the iteration changes; further roles.
    closed : Closed
        The graph of the iteration, from varying roles to varying roles.
    """

    source: tuple[int | None, ...]
    varying: tuple[int, ...]
    same: tuple[int, ...]
    outside: tuple[Cell, ...]
    closed: Closed


def step_between(
    before: State, after: State, trace: Trace, decided: Collection[int] = (), own: Counter | None = None
) -> Step | None:
    """What happened between two states; None if it cannot be told, or if they differ in structure.

    `decided` are positions of value guards whose truth the state itself holds, and `own` is the counter of the loop;
    those of other loops do not change meanwhile.
    """
    if list(before.structure.items()) != list(after.structure.items()) or not _containers_stay(before, after):
        return None
    start, stop = before.position, after.position
    if trace.effects.between(Phase, start, stop):
        return None
    outside = _written_outside(before, after, trace)
    if outside is None:
        return None
    old = [*before.roles, *outside_roles(outside, before, trace)]
    new = [*after.roles, *outside_roles(outside, after, trace)]
    source = _sources(old, new, before.cells)
    if source is None or any(a.node.type != b.node.type for a, b in zip(old, new)):
        return None
    varying = [k for k, (a, b) in enumerate(zip(old, new)) if a.node is not b.node or source[k] not in (k, None)]
    first: dict[Node, int] = {}
    same = tuple(first.setdefault(old[k].node, k) for k in varying)
    if any(new[k].node is not new[s].node for k, s in zip(varying, same)):
        return None  # two values that have been equal by chance
    parameters = list(first)

    copies = {copy.number for copy in trace.effects.between(Copy, start, stop)}

    def made_meanwhile(node: Node) -> bool:
        return node.op is COPY and node["number"] in copies

    guards = trace.effects.between(Guarded, start, stop, decided)
    if any(not first.keys().isdisjoint(topological_order((guard.node,))) for guard in guards):
        return None
    constant = {role.node for k, role in enumerate(old) if k not in varying}
    constant |= {counter.node for counter in trace.loops.counters.values() if counter is not own}
    constant.difference_update(parameters)
    if _raises_unread(before, after, trace, [role.node for role in new], first, bool(decided)):
        return None
    closed = close(([new[k].node for k in first.values()],), parameters, made_meanwhile, constant)
    return Step(source, tuple(varying), same, outside, closed)


def _raises_unread(
    before: State, after: State, trace: Trace, made: Sequence[Node], parameters: Collection[Node], guarded: bool
) -> bool:
    """Whether an iteration computes what may raise, and what nothing needs that it hands on.

    What does not depend on the iteration is computed outside, unless there may be none.
    """
    unread = forced_of(trace.effects.operations(before.position, after.position), made, ())
    if unread and guarded:
        return True
    unread += absorbed(made)
    return bool(unread) and not depending(unread, parameters).isdisjoint(unread)


def depending(nodes: Sequence[Node], parameters: Collection[Node]) -> set[Node]:
    """What depends on `parameters` among `nodes` and what these are computed from."""
    found = set(parameters)
    for n in topological_order(tuple(nodes)):
        if not found.isdisjoint(n.args):
            found.add(n)
    return found


def _containers_stay(before: State, after: State) -> bool:
    """Whether lists and dicts are the same objects, or new ones."""
    known = {id(c) for c in before.containers}
    return all(a is b or id(b) not in known for a, b in zip(before.containers, after.containers))


def _written_outside(before: State, after: State, trace: Trace) -> tuple[Cell, ...] | None:
    """Memory that existed before and has been assigned to, but that no variable leads to.

    None if a variable leads to it afterwards.
    """
    known, later = ({r.cell for r in state.roles} for state in (before, after))
    written = dict.fromkeys(w.cell for w in trace.effects.between(Write, before.position, after.position))
    outside = tuple(cell for cell in written if cell.number < before.cells and cell not in known)
    return None if any(cell in later for cell in outside) else outside


def outside_roles(cells: Sequence[Cell], state: State, trace: Trace) -> list[Role]:
    """Roles for memory that no variable leads to, with what it held at the time of `state`."""
    roles = []
    for cell in cells:
        later = (w.before for w in trace.effects.between(Write, state.position) if w.cell is cell)
        roles.append(Role(cell, next(later, cell.content), False))
    return roles


def _sources(old: Sequence[Role], new: Sequence[Role], cells: int) -> tuple[int | None, ...] | None:
    """For each role the one whose memory it had before; None if it has got memory from elsewhere."""
    places = {role.cell: k for k, role in enumerate(old) if role.cell is not None}
    if any(r.cell is not None and r.cell not in places and r.cell.number < cells for r in new):
        return None
    return tuple(k if r.cell is None else places.get(r.cell) for k, r in enumerate(new))
