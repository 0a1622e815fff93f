"""States of a frame between two iterations of a loop: what they are made of, and what happens from one to the next."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..expr.control import Closed, Loop, close, loop
from ..expr.node import Node, topological_order
from ..expr.ufuncs import COPY
from ..expr.updates import Region, through
from ..frozen import frozen
from .arguments import Appended, Record, has_plain_attributes
from .captures import MISSING, contents
from .draws import TracedGenerator
from .elsewhere import Logger
from .loopnumber import Counter, LoopNumber
from .state import Trace
from .storage import Cell
from .stores import original_class
from .tracer import Tracer

NAMED = "<named>"  # in place of a variable: the lists, dicts and objects that the function names
_LARGE = 1 << 16  # bytes of a plain array that is compared with what it was an iteration before


class Unknown(Exception):
    """A value of which it is not known whether the body changes it."""


@frozen
class Role:
    """Something that the state holds: memory of arrays, or a scalar, for which `cell` is None."""

    cell: Cell | None
    node: Node
    scalar: bool


@dataclass(slots=True)
class State:
    """The state of a frame between two iterations.

    Parameters
    ----------
    structure : dict of str to hashable
        For each variable its containers and other values; tracers by the number of their role and how they view it.
    roles : list of Role
    tracers : dict of int to (int, Region)
        For each tracer, by identity, its role and how it views that.
    containers : list
        Lists and dicts.
    integers : dict of hashable to int
        The variables that are integers, by their names, and such attributes and items of dicts, by their places.
    places : dict of hashable to (dict, object)
        For each of the latter the dict that holds it, and its key.
    cells, copies, writes, looks, phases : int
        How many cells, copies, assignments, looks at values, and error states or draws there had been.
    """

    structure: dict[str, Hashable] = field(default_factory=dict)
    roles: list[Role] = field(default_factory=list)
    tracers: dict[int, tuple[int, Region]] = field(default_factory=dict)
    containers: list[Any] = field(default_factory=list)
    integers: dict[Hashable, int] = field(default_factory=dict)
    places: dict[Hashable, tuple[dict[Any, Any], Any]] = field(default_factory=dict)
    cells: int = 0
    copies: int = 0
    writes: int = 0
    looks: int = 0
    phases: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self.structure)

    @property
    def kinds(self) -> dict[str, Hashable]:
        """For each variable its structure without roles."""
        return {name: _renumbered(value, lambda role: 0, lambda container: 0) for name, value in self.structure.items()}

    def restricted(self, names: Sequence[str], kept: int) -> State:
        """The state of some of the variables, with roles numbered anew but for the first ones, which are kept."""
        roles = {k: k for k in range(kept)}
        containers: dict[int, int] = {}
        structure = {
            name: _renumbered(
                self.structure[name],
                lambda role: roles.setdefault(role, len(roles)),
                lambda container: containers.setdefault(container, len(containers)),
            )
            for name in names
        }
        return State(
            structure,
            [self.roles[k] for k in roles],
            {t: (roles[role], region) for t, (role, region) in self.tracers.items() if role in roles},
            [self.containers[k] for k in containers],
            {name: value for name, value in self.integers.items() if name in names},
            {},
            self.cells,
            self.copies,
            self.writes,
            self.looks,
            self.phases,
        )


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


# Values that nothing changes.
_SIMPLE = (int, float, complex, bool, str, bytes, type(None), slice, range, type(...), np.dtype, type, np.generic)
_FIXED = (types.BuiltinFunctionType, types.ModuleType, np.ufunc)


def _renumbered(structure: Any, role: Callable[[int], int], container: Callable[[int], int]) -> Hashable:
    """A structure with other numbers for roles and containers."""
    if not isinstance(structure, tuple) or not structure:
        return structure
    kind, *rest = structure
    if kind is Tracer:
        return (Tracer, role(rest[0]), *rest[1:])
    if kind is list or kind is dict or kind is Record:
        number = container(rest[0])
        return (kind, number, *(_renumbered(part, role, container) for part in rest[1:]))
    return tuple(_renumbered(part, role, container) for part in structure)


def has_containers(structure: Any) -> bool:
    """Whether a structure has lists, dicts or objects in it, which may be seen from elsewhere."""
    if not isinstance(structure, tuple) or not structure:
        return False
    return structure[0] in (list, dict, Record) or any(map(has_containers, structure[1:]))


class _Walk:
    """Collects the structure and the roles of a state."""

    def __init__(self, counter: Counter | None) -> None:
        self.state = State()
        self.counter = counter
        self.cells: dict[Cell, int] = {}
        self.scalars: dict[Node, int] = {}
        self.functions: set[int] = set()

    def value(self, value: Any) -> Hashable:
        kind = type(value)
        if kind is Tracer:
            return self._tracer(value)
        if kind is LoopNumber:
            index = value.counter.index
            if self.counter is not None and self.counter.owns(value):
                if index != self.counter.index:  # in a container, where it is not brought up to date
                    raise Unknown
                index = -1
            return (LoopNumber, value.factor, value.offset, index)
        if kind is list or kind is tuple:
            return (kind, self._container(value), *(self.value(v) for v in value))
        if kind is dict:
            keys = tuple((type(k), k) for k in value)
            self._integers_in(value)
            return (dict, self._container(value), keys, *(self.value(v) for v in value.values()))
        if has_plain_attributes(original_class(value)):
            known = any(c is value for c in self.state.containers)
            number, attributes = self._container(value), vars(value)
            if known:  # as its owner, for example
                return (Record, number)
            self._integers_in(attributes)
            return (Record, number, kind, tuple(attributes), *(self.value(v) for v in attributes.values()))
        if isinstance(value, types.MethodType):
            return (types.MethodType, self.value(value.__self__), self.value(value.__func__))
        if kind is Appended:
            return (Appended, id(value), len(value.items))
        if kind is TracedGenerator or kind is Logger:
            return (kind, id(value))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return (kind, *(self.value(v) for v in value))
        if kind is np.ndarray and value.dtype.kind in "biufcmM" and value.nbytes <= _LARGE:
            return (np.ndarray, id(value), value.tobytes())
        if isinstance(value, types.FunctionType):
            return (types.FunctionType, id(value), *self._function(value))
        if isinstance(value, _FIXED):
            return (kind, id(value))
        if isinstance(value, _SIMPLE) and (kind.__hash__ is not None):
            return (kind, repr(value) if isinstance(value, (float, complex, np.generic)) else value)
        raise Unknown

    def _integers_in(self, holder: dict[Any, Any]) -> None:
        """Note the integers that a dict or an object holds."""
        for key, value in holder.items():
            if type(value) is int:
                self.state.integers[id(holder), key] = value
            if type(value) is int or type(value) is LoopNumber:
                self.state.places[id(holder), key] = holder, key

    def _container(self, value: Any) -> int | None:
        """The number of a list or dict."""
        if type(value) is tuple:
            return None
        for k, known in enumerate(self.state.containers):
            if known is value:
                return k
        self.state.containers.append(value)
        return len(self.state.containers) - 1

    def _function(self, function: types.FunctionType) -> Iterator[Hashable]:
        """What a call of a function may change: what it has closed over, and its defaults."""
        if id(function) in self.functions:
            return
        self.functions.add(id(function))
        for cell in function.__closure__ or ():
            found = contents(cell)
            yield MISSING if found is MISSING else self.value(found)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield self.value(default)

    def _tracer(self, tracer: Tracer) -> Hashable:
        if tracer._choice is not None:  # its elements are not there yet
            raise Unknown
        node = tracer._node
        strides = None
        region: Region = ()
        if tracer._is_array():
            cell = tracer._storage()
            region = tracer._region()
            strides = tracer._trace.orders.normal(cell.content, cell.strides)
            role = self.cells.get(cell)
            if role is None:
                role = self.cells[cell] = self._add(Role(cell, cell.content, False))
        else:
            role = self.scalars.get(node)
            if role is None:
                role = self.scalars[node] = self._add(Role(None, node, tracer._scalar))
        self.state.tracers[id(tracer)] = role, region
        return (Tracer, role, region, strides, node.type, tracer._scalar)

    def _add(self, role: Role) -> int:
        self.state.roles.append(role)
        return len(self.state.roles) - 1


def observe(
    frame: types.FrameType,
    left_out: Collection[str],
    trace: Trace,
    first: Sequence[Role] = (),
    counter: Counter | None = None,
) -> State:
    """The state of a frame.

    Parameters
    ----------
    frame : frame
    left_out : collection of str
        Variables that are no part of it.
    trace : Trace
    first : sequence of Role
        The first roles.
    counter : Counter, optional
        Of the loop.

    Raises
    ------
    Unknown
        If a variable holds something that might change without being seen.
    """
    walk = _Walk(counter)
    walk.state.roles += first
    variables = {name: value for name, value in frame.f_locals.items() if name not in left_out}
    walk.state.structure = {name: walk.value(value) for name, value in variables.items()}
    if trace.named:
        walk.state.structure[NAMED] = walk.value(trace.named)
    walk.state.integers.update((name, value) for name, value in variables.items() if type(value) is int)
    walk.state.cells = Cell.made()
    walk.state.phases = trace.phases.number + trace.draws
    walk.state.copies, walk.state.writes, walk.state.looks = trace.copies, len(trace.writes), len(trace.looks)
    return walk.state


def step_between(
    before: State, after: State, trace: Trace, decided: Collection[int] = (), own: Counter | None = None
) -> Step | None:
    """What happened between two states; None if it cannot be told, or if they differ in structure.

    `decided` are places in ``trace.looks`` of values whose truth the state itself holds, and `own` is the counter of
    the loop; those of other loops do not change meanwhile.
    """
    if list(before.structure.items()) != list(after.structure.items()) or not _containers_stay(before, after):
        return None
    if before.phases != after.phases:
        return None
    outside = _written_outside(before, after, trace)
    if outside is None:
        return None
    old = [*before.roles, *_outside_roles(outside, before, trace)]
    new = [*after.roles, *_outside_roles(outside, after, trace)]
    source = _sources(old, new, before.cells)
    if source is None or any(a.node.type != b.node.type for a, b in zip(old, new)):
        return None
    varying = [k for k, (a, b) in enumerate(zip(old, new)) if a.node is not b.node or source[k] not in (k, None)]
    first: dict[Node, int] = {}
    same = tuple(first.setdefault(old[k].node, k) for k in varying)
    if any(new[k].node is not new[s].node for k, s in zip(varying, same)):
        return None  # two values that have been equal by chance
    parameters = list(first)

    def made_meanwhile(node: Node) -> bool:
        return node.op is COPY and -after.copies <= node["number"] < -before.copies

    looks = [trace.looks[k] for k in range(before.looks, after.looks) if k not in decided]
    if any(n is not None and not first.keys().isdisjoint(topological_order((n,))) for n in looks):
        return None
    constant = {role.node for k, role in enumerate(old) if k not in varying}
    constant |= {counter.node for counter in trace.counters.values() if counter is not own}
    constant.difference_update(parameters)
    closed = close(([new[k].node for k in first.values()],), parameters, made_meanwhile, constant)
    return Step(source, tuple(varying), same, outside, closed)


def _containers_stay(before: State, after: State) -> bool:
    """Whether lists and dicts are the same objects, or new ones."""
    known = {id(c) for c in before.containers}
    return all(a is b or id(b) not in known for a, b in zip(before.containers, after.containers))


def _written_outside(before: State, after: State, trace: Trace) -> tuple[Cell, ...] | None:
    """Memory that existed before and has been assigned to, but that no variable leads to.

    None if a variable leads to it afterwards.
    """
    known, later = ({r.cell for r in state.roles} for state in (before, after))
    written = dict.fromkeys(cell for cell, _ in trace.writes[before.writes : after.writes])
    outside = tuple(cell for cell in written if cell.number < before.cells and cell not in known)
    return None if any(cell in later for cell in outside) else outside


def _outside_roles(cells: Sequence[Cell], state: State, trace: Trace) -> list[Role]:
    """Roles for memory that no variable leads to, with what it held at the time of `state`."""
    roles = []
    for cell in cells:
        later = (content for written, content in trace.writes[state.writes :] if written is cell)
        roles.append(Role(cell, next(later, cell.content), False))
    return roles


def _sources(old: Sequence[Role], new: Sequence[Role], cells: int) -> tuple[int | None, ...] | None:
    """For each role the one whose memory it had before; None if it has got memory from elsewhere."""
    places = {role.cell: k for k, role in enumerate(old) if role.cell is not None}
    if any(r.cell is not None and r.cell not in places and r.cell.number < cells for r in new):
        return None
    return tuple(k if r.cell is None else places.get(r.cell) for k, r in enumerate(new))


def _repeated(source: Sequence[int | None], times: int) -> list[int | None]:
    """For each role the one whose memory it has after some iterations; None for memory made in one of them."""
    result: list[int | None] = list(range(len(source)))
    power: list[int | None] = list(source)
    while times:
        if times & 1:
            result = [None if k is None else power[k] for k in result]
        power = [None if k is None else power[k] for k in power]
        times >>= 1
    return result


def finish(
    frame: types.FrameType,
    variables: dict[str, Any],
    first: State,
    last: State,
    step: Step,
    left: int | None,
    trace: Trace,
    guarded: bool = False,
    unbound: Collection[str] = (),
    counter: Counter | None = None,
) -> list[Node]:
    """Bring a frame into the state after the loop; return what its roles are then.

    Parameters
    ----------
    frame : frame
    variables : dict of str to object
        Further variables to set.
    first, last : State
        The first state that the step was seen to start from, and the state now.
    step : Step
    left : int or None
        Most iterations after the first state; None if only the condition tells.
    trace : Trace
    guarded : bool
        Whether the first role says if there is a next iteration.
    unbound : collection of str
        Variables that have no value after the loop.
    counter : Counter, optional
        Of the loop, whose numbers become integers.
    """
    start = [*first.roles, *_outside_roles(step.outside, first, trace)]
    now = [*last.roles, *_outside_roles(step.outside, last, trace)]
    carried = list(dict.fromkeys(step.same))
    nodes = [role.node for role in now]
    if carried:
        what = Loop(step.closed.graphs[0], len(carried), 0, 0, left, guarded)
        results = dict(zip(carried, loop(what, [*(start[k].node for k in carried), *step.closed.kept])))
        for k, same in zip(step.varying, step.same):
            nodes[k] = results[same]
    cells: dict[int, Cell] = {}
    # The memory of each role after the last iteration, told from the one before the first.
    for k, (role, origin) in enumerate(zip(now, _repeated(step.source, 1 if guarded else left or 0))):
        if role.cell is not None:
            kept = None if origin is None else start[origin].cell
            cells[k] = Cell(nodes[k], role.cell.strides) if kept is None else kept
            trace.orders.note(nodes[k], role.cell.strides)
    for k, cell in cells.items():
        if cell.content is not nodes[k]:
            trace.writes.append((cell, cell.content))
            cell.content = nodes[k]
    rebinding = _Rebinding(last, nodes, cells, trace, counter)
    values = {name: rebinding.value(value) for name, value in frame.f_locals.items() if name not in unbound}
    set_variables(frame, values | variables, unbound)
    rebinding.value(trace.named)
    trace.rolled += 1
    return nodes


class _Rebinding:
    """Puts the values that tracers have after a loop in their places."""

    def __init__(
        self, state: State, nodes: Sequence[Node], cells: dict[int, Cell], trace: Trace, counter: Counter | None
    ):
        self.state, self.nodes, self.cells, self.trace, self.counter = state, nodes, cells, trace, counter
        self.done: set[int] = set()

    def value(self, value: Any) -> Any:
        """`value` as it is after the loop; lists and dicts are changed."""
        kind = type(value)
        if kind is Tracer and id(value) in self.state.tracers:
            return self._tracer(value, *self.state.tracers[id(value)])
        if kind is LoopNumber and self.counter is not None and self.counter.owns(value):
            return value.after(self.counter.most)
        if kind is list:
            if self._is_new(value):
                value[:] = [self.value(v) for v in value]
        elif kind is dict:
            if self._is_new(value):
                value.update({k: self.value(v) for k, v in value.items()})
        elif has_plain_attributes(original_class(value)):
            if self._is_new(value):
                vars(value).update({k: self.value(v) for k, v in vars(value).items()})
        elif isinstance(value, types.MethodType):
            self.value(value.__self__)
        elif isinstance(value, tuple):
            parts = [self.value(v) for v in value]
            if any(a is not b for a, b in zip(parts, value)):
                return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
        elif isinstance(value, types.FunctionType):
            for cell in (value.__closure__ or ()) if self._is_new(value) else ():
                found = contents(cell)
                if found is not MISSING:
                    cell.cell_contents = self.value(found)
        return value

    def _is_new(self, value: Any) -> bool:
        new = id(value) not in self.done
        self.done.add(id(value))
        return new

    def _tracer(self, tracer: Tracer, role: int, region: Region) -> Tracer:
        cell = self.cells.get(role)
        if cell is None:
            node = self.nodes[role]
            return tracer if node is tracer._node else Tracer(node, self.trace, scalar=tracer._scalar)
        return tracer if tracer._cell is cell else Tracer(through(cell.content, region), self.trace, cell=cell)


def set_variables(frame: types.FrameType, variables: dict[str, Any], unbound: Collection[str] = ()) -> None:
    """Set local variables of a frame, and unset others."""
    f_locals = frame.f_locals
    f_locals.update(variables)
    for name in unbound:
        del f_locals[name]
    if sys.version_info < (3, 13):  # later `f_locals` writes through (PEP 667)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(bool(unbound)))
