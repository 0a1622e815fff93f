"""The state of a frame between two iterations of a loop: its variables, and the memory that they lead to."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...base.frozen import frozen, record
from ...ir.node import Node
from ...ir.ops.updates import Region
from ...values.attributes import attributes_of
from ...values.constants import SIMPLE
from ...values.functions import MISSING, contents
from ...values.growing import Appended, Unread
from ...values.kinds import DICT, OBJECT, Kind, kind_of
from ..numpy.draws import TracedGenerator
from ..numpy.tracer import Tracer
from ..python.elsewhere import Logger
from ..state import Trace
from ..storage import Cell
from .loopnumber import Counter, LoopNumber

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


@record
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
    cells : int
        Memory made since then has larger numbers.
    position : int
        In the log of effects.
    """

    structure: dict[str, Hashable] = field(default_factory=dict)
    roles: list[Role] = field(default_factory=list)
    tracers: dict[int, tuple[int, Region]] = field(default_factory=dict)
    containers: list[Any] = field(default_factory=list)
    integers: dict[Hashable, int] = field(default_factory=dict)
    places: dict[Hashable, tuple[dict[Any, Any], Any]] = field(default_factory=dict)
    cells: int = 0
    position: int = 0

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
            self.position,
        )


# Values that nothing changes.
_SIMPLE = (*SIMPLE, type)
_FIXED = (types.BuiltinFunctionType, types.ModuleType, np.ufunc)


def _renumbered(structure: Any, role: Callable[[int], int], container: Callable[[int], int]) -> Hashable:
    """A structure with other numbers for roles and containers."""
    if not isinstance(structure, tuple) or not structure:
        return structure
    kind, *rest = structure
    if kind is Tracer:
        return (Tracer, role(rest[0]), *rest[1:])
    if isinstance(kind, Kind) and kind.begin is not None:
        return (kind, container(rest[0]), *rest[1:2], *(_renumbered(part, role, container) for part in rest[2:]))
    return tuple(_renumbered(part, role, container) for part in structure)


def has_containers(structure: Any) -> bool:
    """Whether a structure has lists, dicts or objects in it, which may be seen from elsewhere."""
    if not isinstance(structure, tuple) or not structure:
        return False
    kind = structure[0]
    return (isinstance(kind, Kind) and kind.begin is not None) or any(map(has_containers, structure[1:]))


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
        container = kind_of(value) or kind_of(value, objects=False)
        if container is not None:
            return self._container(value, container)
        if isinstance(value, types.MethodType):
            return (types.MethodType, self.value(value.__self__), self.value(value.__func__))
        if kind is Appended:
            return (Appended, id(value), len(value.items))
        if kind is TracedGenerator or kind is Logger or kind is Unread:
            return (kind, id(value))
        if kind is np.ndarray and value.dtype.kind in "biufcmM" and value.nbytes <= _LARGE:
            return (np.ndarray, id(value), value.tobytes())
        if isinstance(value, types.FunctionType):
            return (types.FunctionType, id(value), *self._function(value))
        if isinstance(value, _FIXED):
            return (kind, id(value))
        if isinstance(value, _SIMPLE) and (kind.__hash__ is not None):
            return (kind, repr(value) if isinstance(value, (float, complex, np.generic)) else value)
        raise Unknown

    def _container(self, value: Any, kind: Kind) -> Hashable:
        """The structure of what holds others."""
        what, parts = kind.take(value)
        number = None
        if kind.begin is not None:
            number = next((k for k, known in enumerate(self.state.containers) if known is value), None)
            if number is not None and kind is OBJECT:  # as its owner, for example
                return (kind, number)
            if number is None:
                number = len(self.state.containers)
                self.state.containers.append(value)
        if kind is DICT or kind is OBJECT:
            self._integers_in(value if kind is DICT else attributes_of(value))
        return (kind, number, (type(value), what), *(self.value(part) for part in parts))

    def _integers_in(self, holder: Any) -> None:
        """Note the integers that a dict or an object holds."""
        for key, value in holder.items():
            if type(value) is int or type(value) is LoopNumber:
                if not isinstance(holder, dict):  # slots
                    raise Unknown
                self.state.places[id(holder), key] = holder, key
            if type(value) is int:
                self.state.integers[id(holder), key] = value

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
    walk.state.position = trace.effects.position
    return walk.state
