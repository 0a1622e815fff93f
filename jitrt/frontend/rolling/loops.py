"""Recording loops and choices that a traced function makes with `jitrt.fori_loop` and the like, as single nodes.

The body runs once, on tracers that stand for what one iteration hands to the next.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...base.frozen import frozen
from ...errors import Untraceable, watch_control
from ...ir import build as b
from ...ir.absorbed import absorbed
from ...ir.control import Branch, Loop, branch, close, loop
from ...ir.node import Node, topological_order
from ...ir.ops.optable import INPUT
from ...ir.ops.optable import Kind as OpKind
from ...ir.ops.raising import can_raise, witness
from ...ir.types import ArrayType
from ...values.functions import contents
from ...values.kinds import Tree, flatten, rebuild
from ..effects import Write, forced_of
from ..numpy.tracer import Tracer
from ..python.bytecode import assigns_nonlocals
from ..state import Trace
from ..storage import Cell

_MOST_UNROLLED = 1000  # iterations of a loop that is no single node
_ATTEMPTS = 4  # at finding types that an iteration keeps

# From carried values and elements to new carried values and elements.
Step = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


class NotOneNode(Exception):
    """What is carried changes its structure, or its type in every iteration."""


@frozen
class Kind:
    """What has to stay the same of a carried value: its type, and whether it is a scalar and not an array."""

    type: ArrayType
    scalar: bool


def trace_of(*values: Any) -> Trace | None:
    """The trace that tracers among `values`, or in closures of functions among them, belong to."""
    for value in values:
        leaves: list[Any] = []
        flatten(value, leaves)
        for leaf in leaves:
            if type(leaf) is Tracer:
                return leaf._trace
            for cell in getattr(leaf, "__closure__", None) or ():
                try:
                    found: list[Any] = []
                    flatten(cell.cell_contents, found)
                except ValueError:
                    continue
                inner = next((v for v in found if type(v) is Tracer), None)
                if inner is not None:
                    return inner._trace
    return None


@contextmanager
def run_once(*functions: Callable[..., Any]) -> Iterator[None]:
    """A context in which functions run once for all the times that they would.

    Raises
    ------
    Untraceable
        If they assign variables around themselves, or change what these hold.
    """
    cells = [contents(cell) for f in functions for cell in getattr(f, "__closure__", None) or ()]
    for part in (*functions, *cells):
        if isinstance(part, types.FunctionType) and assigns_nonlocals(part.__code__):
            raise Untraceable(f"{part.__name__}, which runs once, assigns a nonlocal variable", _definition(part))
    structure, leaves = _taken_apart(cells)
    try:
        yield
    finally:  # also where they have to run again
        after, changed = _taken_apart(cells)
        if structure != after or any(x is not y for x, y in zip(leaves, changed)):
            raise Untraceable("a function that runs once changes what it has closed over", _definition(functions[0]))


def _definition(function: Callable[..., Any]) -> str:
    """The line where a function begins."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _taken_apart(values: list[Any]) -> tuple[Tree, list[Any]]:
    leaves: list[Any] = []
    return flatten(values, leaves, objects=True), leaves


def record_fori(state: Trace, numbers: range, body: Callable[[int, Any], Any], init: Any) -> Any:
    """``for i in numbers: init = body(i, init)`` as one node, after as many plain iterations as change its types."""
    value = init
    for done in numbers[:_ATTEMPTS]:
        leaves: list[Any] = [done]
        structure = flatten(value, leaves)

        def step(carried: list[Any], _: list[Any], structure: Tree = structure) -> tuple[list[Any], list[Any]]:
            i, *rest = carried
            return [_successor(i), *_leaves(body(i, rebuild(structure, iter(rest))), structure)], []

        try:
            results, _ = _record(state, step, leaves, [], numbers.stop - done, guarded=False)
        except (NotOneNode, Untraceable):
            watch_control(True)
            value = body(done, value)
            continue
        return rebuild(structure, iter(results[1:]))
    for i in numbers[_ATTEMPTS:]:
        _check_unrolled(len(numbers))
        value = body(i, value)
    return value


def record_while(state: Trace, condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """``while condition(init): init = body(init)`` as one node.

    Raises
    ------
    Untraceable
        If the plain function has to run.
    """
    leaves: list[Any] = []
    structure = flatten(init, leaves)

    def holds(values: Sequence[Any]) -> Any:
        flag = condition(rebuild(structure, iter(values)))
        if type(flag) is not Tracer or flag.size != 1:
            raise Untraceable("a condition that is no scalar computed from arrays")
        return Tracer(b.cast(b.view("reshape", flag._node, shape=()), np.dtype(np.bool_)), state, scalar=True)

    def iterate(carried: list[Any], _: list[Any]) -> tuple[list[Any], list[Any]]:
        return _leaves(body(rebuild(structure, iter(carried))), structure), []

    def step(carried: list[Any], _: list[Any]) -> tuple[list[Any], list[Any]]:
        values, _ = iterate(carried[1:], [])
        return [holds(values), *values], []

    try:
        leaves = [_as_tracer(v, state) for v in _with_stable_types(state, iterate, leaves)]
        results, _ = _record(state, step, [holds(leaves), *leaves], [], None, guarded=True)
    except NotOneNode as reason:
        raise Untraceable(str(reason)) from None
    return rebuild(structure, iter(results[1:]))


def record_scan(state: Trace, body: Callable[[Any, Any], Any], init: Any, xs: Any, length: int) -> Any:
    """``for x in xs: init, y = body(init, x)`` as one node; the result is ``(init, ys)``.

    Raises
    ------
    NotOneNode
        If it cannot be one.
    """
    leaves: list[Any] = []
    structure = flatten(init, leaves)
    arrays: list[Any] = []
    array_structure = flatten(xs, arrays)
    made: list[Tree] = []

    def step(carried: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
        value, y = body(rebuild(structure, iter(carried)), rebuild(array_structure, iter(elements)))
        stacked: list[Any] = []
        made.append(flatten(y, stacked))
        return _leaves(value, structure), stacked

    leaves = _with_stable_types(state, step, leaves, arrays)
    results, stacked = _record(state, step, leaves, arrays, length, guarded=False)
    return rebuild(structure, iter(results)), rebuild(made[-1], iter(stacked))


def record_cond(
    state: Trace, condition: Tracer, then: Callable[..., Any], otherwise: Callable[..., Any], args: tuple
) -> Any:
    """``then(*args) if condition else otherwise(*args)`` as one node.

    Raises
    ------
    Untraceable
        If the plain function has to run, since the types of the results depend on the condition.
    """
    if condition.size != 1:
        raise Untraceable("a condition that is no scalar")
    flag = b.cast(b.view("reshape", condition._node, shape=()), np.dtype(np.bool_))
    leaves: list[Any] = []
    structure = flatten(args, leaves)
    outputs, kinds, structures, unread = [], [], [], []
    parameters = [_placeholder(state, v) if _is_number(v) else v for v in leaves]
    inner = [p._node for p in parameters if type(p) is Tracer]  # before the functions write into them
    for choice in (then, otherwise):
        results: list[Any] = []
        with _closed(state) as recorded:
            structures.append(flatten(choice(*rebuild(structure, iter(parameters))), results))
        outputs.append([state.node_of(v) for v in results])
        unread.append(_unread(recorded, outputs[-1]))
        kinds.append([_kind(v, state) for v in results])
    if structures[0] != structures[1] or kinds[0] != kinds[1]:
        raise Untraceable("the two results of a cond are of different types")
    if any(unread):
        outputs = [[*group, witness(nodes)] for group, nodes in zip(outputs, unread)]
    closed = close(outputs, inner, _raising_part([n for nodes in unread for n in nodes]))
    outer = [state.node_of(v) for v in leaves if _is_number(v)]
    made = branch(flag, Branch(*closed.graphs), [*outer, *closed.kept])
    if any(unread):
        state.effects.operation(made[-1])
    tracers = [Tracer(n, state, scalar=k.scalar) for n, k in zip(made, kinds[0])]
    return rebuild(structures[0], iter(tracers))


def _with_stable_types(state: Trace, step: Step, initial: list[Any], arrays: Sequence[Any] = ()) -> list[Any]:
    """The first values of what is carried, in types that an iteration keeps.

    Raises
    ------
    NotOneNode
        If there are none.
    """
    for _ in range(_ATTEMPTS):
        host_calls = len(state.calls.noted)
        carried = [_placeholder(state, v) if _is_number(v) else v for v in initial]
        elements = [_element(state, a) for a in arrays]
        with _closed(state):
            results, _ = step(carried, elements)
        del state.calls.noted[host_calls:]
        changed = [k for k, v in enumerate(initial) if _is_number(v) and _kind(v, state) != _kind(results[k], state)]
        if not changed:
            return initial
        initial = list(initial)
        for k in changed:
            initial[k] = _promoted(initial[k], _kind(initial[k], state), _kind(results[k], state), state)
    raise NotOneNode("a carried value changes its type in every iteration")


def _record(
    state: Trace, step: Step, initial: list[Any], arrays: list[Any], count: int | None, guarded: bool
) -> tuple[list[Any], list[Any]]:
    """The results of a loop node: what is carried, and what is stacked."""
    moving = [k for k, v in enumerate(initial) if _is_number(v)]
    carried = [_placeholder(state, v) if k in moving else v for k, v in enumerate(initial)]
    elements = [_element(state, a) for a in arrays]
    parameters = [t._node for t in (*(carried[k] for k in moving), *elements)]  # before the body writes into them
    host_calls = len(state.calls.noted)
    with _closed(state) as recorded:
        results, stacked = step(list(carried), list(elements))
    if any(results[k] is not initial[k] for k in range(len(initial)) if k not in moving):
        raise NotOneNode("a carried value that is neither an array nor a number changes")
    kinds = [_kind(initial[k], state) for k in moving]
    if kinds != [_kind(results[k], state) for k in moving]:
        del state.calls.noted[host_calls:]
        raise NotOneNode("a carried value changes its type")
    new, stacks = [state.node_of(results[k]) for k in moving], [state.node_of(v) for v in stacked]
    unread = _unread(recorded, [*new, *stacks])
    if unread:  # one more value is carried
        start = np.intp(0)
        parameters.insert(len(new), _placeholder(state, start)._node)
        moving, initial, new = [*moving, len(initial)], [*initial, start], [*new, witness(unread)]
        kinds.append(_kind(start, state))
    outputs = [*new, *stacks]
    closed = close((outputs,), parameters, _raising_part(unread))
    what = Loop(closed.graphs[0], len(moving), len(elements), len(stacked), count, guarded)
    outer = [state.node_of(initial[k]) for k in moving] + [state.node_of(a) for a in arrays]
    nodes = loop(what, [*outer, *closed.kept])
    final = list(initial)
    for k, kind, node in zip(moving, kinds, nodes):
        final[k] = Tracer(node, state, scalar=kind.scalar)
    if unread:
        state.effects.operation(final.pop()._node)
    return final, [Tracer(n, state) for n in nodes[len(moving) :]]


def _unread(recorded: Sequence[Node], outputs: Sequence[Node]) -> list[Node]:
    """What a body has computed that its `outputs` do not need, and that may raise.

    Raises
    ------
    Untraceable
        If it is a check.
    """
    own = set(recorded)
    found = [n.args[0] for n in forced_of(recorded[::-1], outputs, ())] + [n for n in absorbed(outputs) if n in own]
    if any(n.op.kind is OpKind.CHECK or not n.type.size for n in found):
        raise Untraceable("an operation of a body that may raise, and that nothing reads")
    return found


def _raising_part(unread: Sequence[Node]) -> Callable[[Node], bool]:
    """Whether a node may raise for the sake of `unread`: it has to be computed when the body is, and not before."""
    found = {n for n in topological_order(unread) if can_raise(n)}
    return found.__contains__


@contextmanager
def _closed(state: Trace) -> Iterator[list[Node]]:
    """Let a body write into arrays alone that it makes: the first value of what is carried is the caller's.

    What it records is in the list that it gives afterwards, and no longer in the trace. Of a body that cannot be
    recorded nothing is left.

    Raises
    ------
    Untraceable
        If it writes into an array from outside, which is then as it was.
    """
    made, start, mark = Cell.made(), state.effects.position, state.mark()
    recorded: list[Node] = []
    try:
        yield recorded
    except (NotOneNode, Untraceable):
        for write in reversed(list(state.effects.between(Write, start))):
            write.cell.content = write.before
        state.take_back(mark)
        raise
    recorded += state.effects.operations(start)
    state.effects.take(start)
    outside = [write for write in state.effects.between(Write, start) if write.cell.number < made]
    for write in reversed(outside):
        write.cell.content = write.before
    if outside:
        raise Untraceable("the body of a loop writes into an array from outside")


_placeholder_numbers = itertools.count()


def _placeholder(state: Trace, value: Any) -> Tracer:
    """A tracer for what `value` is in the first iteration."""
    kind, node = _kind(value, state), state.node_of(value)
    parameter = Node(INPUT, (), b.params(index=next(_placeholder_numbers), placeholder=True), kind.type)
    state.loops.first_values[parameter] = node
    return Tracer(parameter, state, scalar=kind.scalar)


def _element(state: Trace, array: Any) -> Tracer:
    first = b.view("getitem", state.node_of(array), index=(0,))
    parameter = Node(INPUT, (), b.params(index=next(_placeholder_numbers), placeholder=True), first.type)
    state.loops.first_values[parameter] = first
    return Tracer(parameter, state, scalar=first.shape == ())


def _is_number(value: Any) -> bool:
    return isinstance(value, (Tracer, np.ndarray, np.generic, int, float, complex))


def _as_tracer(value: Any, state: Trace) -> Any:
    if type(value) is Tracer or not _is_number(value):
        return value
    return Tracer(state.lift(value), state, scalar=isinstance(value, np.generic))


def _kind(value: Any, state: Trace) -> Kind:
    if type(value) is Tracer:
        return Kind(value._node.type, value._scalar and not value._node.type.weak)
    return Kind(state.lift(value).type, isinstance(value, (bool, np.generic)))


def _promoted(value: Any, wanted: Kind, found: Kind, state: Trace) -> Any:
    """The first value of something carried, in the type that its values have after an iteration."""
    if wanted == found:
        return value
    if wanted.type.shape != found.type.shape:
        raise NotOneNode(f"a carried value changes its shape from {wanted.type.shape} to {found.type.shape}")
    numbers = [np.zeros((), t.dtype).item() if t.weak else t.dtype for t in (wanted.type, found.type)]
    if np.result_type(*numbers) != found.type.dtype or (found.type.weak and not wanted.type.weak):
        return value  # the next iteration may give another type, which both fit
    if not found.type.weak:
        return Tracer(b.cast(state.node_of(value), found.type.dtype), state, scalar=found.scalar)
    if isinstance(value, (int, float)):
        return found.type.dtype.type(value).item()
    raise NotOneNode("a carried number changes its type")


def _successor(i: Any) -> Any:
    """``i + 1`` of the number of an iteration, which never overflows."""
    node = i._node
    add = b.elementwise(np.add, node, b.constant(1))
    return Tracer(Node(add.op, add.args, add.params, node.type), i._trace)


def _leaves(value: Any, structure: Tree) -> list[Any]:
    leaves: list[Any] = []
    if flatten(value, leaves) != structure:
        raise NotOneNode("a carried value changes its structure")
    return leaves


def _check_unrolled(n: int) -> None:
    if n > _MOST_UNROLLED:
        raise Untraceable(f"a loop of {n} iterations whose carried values change their types")
