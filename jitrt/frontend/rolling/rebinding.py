"""After a loop that became one node: the frame and what it leads to get the values of its last iteration."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Sequence
from typing import Any

from ...ir.control import Loop, loop
from ...ir.node import Node
from ...ir.ops.updates import Region, through
from ...values.functions import MISSING, contents
from ...values.kinds import kind_of
from ..numpy.tracer import Tracer
from ..state import Trace
from ..storage import Cell
from .iterations import Step, depending, outside_roles
from .loopnumber import Counter, LoopNumber
from .states import State


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
    counter : Counter, optional
        Of the loop, whose numbers become integers.
    """
    start = [*first.roles, *outside_roles(step.outside, first, trace)]
    now = [*last.roles, *outside_roles(step.outside, last, trace)]
    carried = list(dict.fromkeys(step.same))
    nodes = [role.node for role in now]
    recorded = trace.effects.operations(first.position)
    of_iterations = depending(recorded, {start[k].node for k in carried})
    trace.effects.take(first.position, set(recorded) - of_iterations)
    if carried:
        what = Loop(step.closed.graphs[0], len(carried), 0, 0, left, guarded)
        results = dict(zip(carried, loop(what, [*(start[k].node for k in carried), *step.closed.kept])))
        for k, same in zip(step.varying, step.same):
            nodes[k] = results[same]
        for node in results.values():
            trace.effects.operation(node)
    cells: dict[int, Cell] = {}
    # The memory of each role after the last iteration, told from the one before the first.
    for k, (role, origin) in enumerate(zip(now, _repeated(step.source, 1 if guarded else left or 0))):
        if role.cell is not None:
            kept = None if origin is None else start[origin].cell
            cells[k] = Cell(nodes[k], role.cell.strides) if kept is None else kept
            trace.orders.note(nodes[k], role.cell.strides)
    for k, cell in cells.items():
        if cell.content is not nodes[k]:
            trace.effects.write(cell)
            cell.content = nodes[k]
    rebinding = _Rebinding(last, nodes, cells, trace, counter)
    values = {name: rebinding.value(value) for name, value in frame.f_locals.items() if name not in variables}
    set_variables(frame, values | variables)
    rebinding.value(trace.named)
    return nodes


class _Rebinding:
    """Puts the values that tracers have after a loop in their places."""

    def __init__(
        self, state: State, nodes: Sequence[Node], cells: dict[int, Cell], trace: Trace, counter: Counter | None
    ):
        self.state, self.nodes, self.cells, self.trace, self.counter = state, nodes, cells, trace, counter
        self.done: set[int] = set()
        self.tracers: dict[int, Tracer] = {}  # by those of the last iteration: what is one array stays one

    def value(self, value: Any) -> Any:
        """`value` as it is after the loop; lists and dicts are changed."""
        kind = type(value)
        if kind is Tracer and id(value) in self.state.tracers:
            if id(value) not in self.tracers:
                self.tracers[id(value)] = self._tracer(value, *self.state.tracers[id(value)])
            return self.tracers[id(value)]
        if kind is LoopNumber and self.counter is not None and self.counter.owns(value):
            return value.after(self.counter.most)
        container = kind_of(value) or kind_of(value, objects=False)
        if container is not None:
            if container.begin is not None and not self._is_new(value):
                return value
            what, parts = container.take(value)
            found = [self.value(part) for part in parts]
            if container.begin is not None:
                container.fill(value, what, found)
            elif any(a is not b for a, b in zip(parts, found)):
                return container.made(what, found)
        elif isinstance(value, types.MethodType):
            self.value(value.__self__)
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


def set_variables(frame: types.FrameType, variables: dict[str, Any]) -> None:
    """Set local variables of a frame."""
    frame.f_locals.update(variables)
    if sys.version_info < (3, 13):  # later `f_locals` writes through (PEP 667)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
