"""Tracing a call: from a Python function and its arguments to a graph and a recipe for the result."""

from __future__ import annotations

import logging
import types
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import numpy as np

from ..errors import Untraceable, latest_control, watch_control
from ..expr import build as b
from ..expr.assumptions import assumption
from ..expr.build import input_node
from ..expr.contractions import Call
from ..expr.node import Graph, Node, type_of
from ..expr.optable import Kind
from ..expr.types import ArrayType
from ..expr.updates import through
from ..frozen import frozen
from .arguments import GENERATORS, Structure, is_dynamic, rebuild
from .captures import Capture, Captures
from .clones import Clones
from .conditions import Conditions
from .context import tracing
from .draws import of_argument
from .elsewhere import Logger
from .loopnumber import NotRolled, Place
from .scopes import Scope
from .segments import Cut, Execute
from .state import Trace
from .storage import Cell
from .stores import Containers, Given, Store
from .tracer import Tracer

# What a function that stores values may be unrolled to: such a loop may well be the whole simulation, called once.
_MOST_NODES_WITH_STORES = 1000


@frozen
class Result:
    """How one leaf of the result is made.

    Parameters
    ----------
    source : str
        ``"array"``: output number `index` of the graph; ``"input"``: the input number `index` itself;
        ``"value"``: the Python object `value`; ``"given"``: what is at the path `value` of the arguments.
    view : Node, optional
        View operations that lead from the array to the leaf, as a chain of nodes on `base`.
    scalar, weak : bool
        Whether the leaf is a NumPy scalar or a Python number, not an array.
    """

    source: str
    index: int = -1
    view: Node | None = None
    base: Node | None = None
    scalar: bool = False
    weak: bool = False
    value: Any = None


@frozen
class Traced:
    """What a trace found.

    Parameters
    ----------
    graph : Graph
        Inputs (arguments first, then captured arrays), the arrays to compute, each of them a fresh one, and what
        calls give that NumPy has to make.
    arguments : tuple of int
        For each input that is an argument, the number of its leaf.
    captured : tuple of Capture
        For the inputs after those, where to read them.
    results : tuple of Result
        How each leaf of the result, and then of what is stored, is made.
    structure : Structure
        Nesting of the result.
    stores : tuple of Store
        What the function changes in the objects, dicts and lists that it was given.
    host_calls : tuple of (name, line)
        Calls left to NumPy, with the user's lines.
    written : tuple of (int, int)
        Inputs that the function writes into, and the number of the output that each has to hold afterwards.
    cuts : tuple of Cut
        The values that the function looked at. The graph is what remains to be computed afterwards.
    registers : tuple of int
        Where the values of the inputs of the graph are.
    values : tuple
        What the registers held at the end of the trace.
    scope : Scope, optional
        The error state under which the graph is computed.
    draws : bool
        Whether random numbers are drawn.
    has_state : bool
        Whether the function names lists, dicts or objects, which are looked at in every call.
    """

    graph: Graph
    arguments: tuple[int, ...]
    captured: tuple[Capture, ...]
    results: tuple[Result, ...]
    structure: Structure
    host_calls: tuple[tuple[str, str], ...]
    written: tuple[tuple[int, int], ...]
    stores: tuple[Store, ...] = ()
    cuts: tuple[Cut, ...] = ()
    registers: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()
    scope: Scope | None = None
    draws: bool = False
    has_state: bool = False


_WRITTEN_BY_KERNELS = frozenset(
    {Kind.ELEMENTWISE, Kind.REDUCTION, Kind.ASSEMBLE, Kind.SCAN, Kind.GATHER, Kind.COMPOUND}
)


def trace(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: Structure,
    captures: Captures,
    sharing: Sequence[int] | None = None,
    execute: Execute | None = None,
    unsteady: bool = False,
    changing: bool = False,
    integers: Collection[int] = (),
    memory: dict[Hashable, Any] | None = None,
    answers: dict[Call, Any] | None = None,
) -> Traced:
    """Run `function` on tracers.

    Parameters
    ----------
    function : callable
        The user's function.
    leaves, structure
        ``(args, kwargs)`` of the call, as `flatten` takes them apart.
    captures : Captures
        What the function reads beside its arguments.
    sharing : sequence of int, optional
        For each input the first input that is the same memory; by default all are told apart.
    execute : callable, optional
        What computes a graph when the function looks at a value.
    unsteady : bool
        Whether calls that NumPy makes give other types in other calls of the function.
    changing : bool
        Whether the function is traced at every call, since it looks at values that change.
    integers : collection of int, optional
        Numbers of the leaves that are Python integers and inputs of the program.
    memory : dict, optional
        Nodes and graphs that earlier traces of the function have made, by what they were made of; it gains those of
        this one.
    answers : dict, optional
        Gets what calls have given that NumPy has made to learn their types, for a run that follows with the same
        values.

    Returns
    -------
    Traced

    Raises
    ------
    Untraceable
        If the function has to run as plain NumPy.
    IntegerWanted
        If it needs the values of some of the `integers`.
    Exception
        Whatever the function itself raises.
    """
    excepted: set[Place] = set()
    answers = {} if answers is None else answers
    while True:
        answers.clear()
        try:
            return _trace_once(
                function,
                leaves,
                structure,
                captures,
                sharing,
                execute,
                unsteady,
                changing,
                integers,
                memory,
                answers,
                excepted,
            )
        except NotRolled as failed:
            excepted.add(failed.place)


def _trace_once(
    function: Callable[..., Any],
    leaves: list[Any],
    structure: Structure,
    captures: Captures,
    sharing: Sequence[int] | None,
    execute: Execute | None,
    unsteady: bool,
    changing: bool,
    integers: Collection[int],
    memory: dict[Hashable, Any] | None,
    answers: dict[Call, Any],
    excepted: set[Place],
) -> Traced:
    """Run `function` on tracers, where nothing is assumed about the loops `excepted`."""
    arguments = [k for k, leaf in enumerate(leaves) if is_dynamic(leaf) or k in integers]
    given = [leaves[k] for k in arguments] + [c.read() for c in captures.arrays]
    inputs = [input_node(number, _input_type(value)) for number, value in enumerate(given)]
    fixed = captures.floats if changing else None
    # Integers that are captured are numbered behind the leaves.
    numbers = [*arguments, *range(len(leaves), len(leaves) + len(captures.arrays))]
    symbolic_integers = {node: k for node, k, value in zip(inputs, numbers, given) if type(value) is int}
    state = Trace(inputs, given, execute, unsteady or changing, fixed, symbolic_integers, memory, answers)
    symbols: list[Tracer] = []
    for number, (node, value) in enumerate(zip(inputs, given)):
        if sharing is not None and sharing[number] < number:
            symbols.append(symbols[sharing[number]])
            continue
        array = isinstance(value, np.ndarray)
        cell = Cell(node, value.strides, value.flags.writeable) if array else None
        symbols.append(Tracer(node, state, isinstance(value, np.generic), cell))
        symbols[-1]._is_given = True
    symbolic = list(leaves)
    for symbol, k in zip(symbols, arguments):
        symbolic[k] = symbol
    for k, leaf in enumerate(leaves):
        if type(leaf) in GENERATORS:
            symbolic[k] = of_argument(k, leaf)
        elif type(leaf) is logging.Logger:
            symbolic[k] = Logger(leaf)
    by_array = {id(c.value): symbol for symbol, c in zip(symbols[len(arguments) :], captures.arrays)}
    by_place = {c.place: symbol for symbol, c in zip(symbols[len(arguments) :], captures.arrays) if c.is_number}
    clones = Clones(by_array, captures.codes, captures.refused, not captures.asks_for_classes, by_place)
    symbolic = [clones.of(leaf) if isinstance(leaf, types.FunctionType) else leaf for leaf in symbolic]
    args, kwargs, named = rebuild(structure, iter(symbolic))
    clones.stand_for(captures.containers(), named)
    state.named = named
    containers = Containers((args, kwargs, named))
    has_classes = captures.asks_for_classes or any(isinstance(leaf, type) for leaf in leaves)
    if captures.sets_attributes and has_classes:
        raise Untraceable("sets attributes, perhaps of a class, of which there is no copy")
    if captures.refused and captures.asks_for_classes:
        raise Untraceable(next(reason for _, reason in captures.refused.values()))
    for value in containers.objects():
        object.__setattr__(value, "__class__", clones.class_of(type(value)))  # also where it is frozen
    conditions = Conditions(state, excepted)
    state.decide = conditions.decide
    watch_control(True)
    try:
        with tracing(state):
            result = clones.of(function)(*args, **kwargs)
        _check_nothing_swallowed(state)
    except (Exception, Untraceable) as error:
        conditions.check(error)
        _check_control()
        state.aliases.check_error(error)
        state.forget_values()
        raise
    finally:
        watch_control(False)
    conditions.check(None)
    if state.draws:  # of which the run will have others
        answers.clear()
    if clones.have_been_changed():
        raise Untraceable("sets an attribute of what is no argument")
    traced = _describe(result, containers, inputs, symbols, tuple(arguments), captures, state)
    state.forget_values()
    return traced


def _check_control() -> None:
    control = latest_control()
    if control is not None:
        raise control


def _check_nothing_swallowed(state: Trace) -> None:
    """Raise what the user's code has caught and cannot know about.

    Raises
    ------
    ControlException
        If it was one, and whatever the function does afterwards, it does not do without a trace.
    Untraceable
        If it was an exception because of values: calls with others have to go on behind it.
    """
    _check_control()
    if state.failures.last is not None:
        error, line = state.failures.last
        raise Untraceable(f"catches {type(error).__name__}, which depends on values", line)


def _input_type(value: Any) -> ArrayType:
    type_ = type_of(value)
    if type_.dtype.kind not in "biufcmM":
        raise Untraceable(f"a captured array of {type_.dtype}")
    return type_


def _describe(
    result: Any,
    containers: Containers,
    inputs: list[Node],
    symbols: list[Tracer],
    arguments: tuple[int, ...],
    captures: Captures,
    state: Trace,
) -> Traced:
    flat: list[Any] = []
    structure, stores = containers.stores(result, flat)
    for leaf in flat:
        if isinstance(leaf, Tracer):
            leaf._gather_now()  # which may compute others, too
    state.aliases.check(flat, {symbol._cell: node for symbol, node in zip(symbols, inputs)})
    scope = state.phases.settle()
    plain = [leaf for leaf in flat if type(leaf) is np.ndarray]
    if any(np.may_share_memory(x, y) for k, x in enumerate(plain) for y in plain[:k]):
        raise Untraceable("returns arrays that share memory and do not depend on its arguments")
    of_input: dict[Cell, int] = {}
    written = []
    # What the graph checks comes first, before it computes anything in vain.
    roots: list[Node] = [assumption(state.conditions)] if state.conditions else []
    strides: list[tuple[int, ...] | None] = [None] * len(roots)
    for number, symbol in enumerate(symbols):
        if symbol._cell is not None and symbol._cell not in of_input:
            of_input[symbol._cell] = number
            if symbol._cell.content is not inputs[number]:
                written.append((number, len(roots)))
                roots.append(symbol._cell.content)
                strides.append(None)  # copied to the input
    places: dict[Any, int] = {}
    owners: dict[Any, int] = {}
    for key in map(_memory_of, flat):
        owners[key] = owners.get(key, 0) + 1
    claimed: dict[Node, Any] = {}  # what a segment has computed is returned as it is, once
    results: list[Result] = []
    for leaf in flat:
        ordinary = type(leaf) is np.ndarray and leaf.dtype.kind in "biufcmM" and leaf.dtype.isnative
        if ordinary and leaf.flags.c_contiguous:
            results.append(Result("array", len(roots)))
            roots.append(b.constant(leaf.copy()))  # the same in every call that comes this way
            strides.append(state.orders.of_result(roots[-1], leaf.strides))
            if strides[-1] not in (None, leaf.strides) or (strides[-1] is None and not leaf.flags.c_contiguous):
                raise Untraceable("returns a view of an array that does not depend on its arguments")
            continue
        if not isinstance(leaf, Tracer):
            results.append(_plain_result(leaf))
            continue
        node, cell = leaf._node, leaf._cell
        if not leaf._is_array() and node in inputs:
            number = inputs.index(node)
            results.append(Result("input", number))
            continue
        if cell is not None and cell in of_input:
            number = of_input[cell]
            base = inputs[number]
            seen = through(base, leaf._region())
            results.append(Result("input", number, None if seen is base else seen, base))
            continue
        base = node if cell is None else cell.content
        key = _memory_of(leaf)
        if state.registers.get(base, -1) >= len(inputs) and base.shape and claimed.setdefault(base, key) == key:
            seen = through(base, leaf._region()) if cell is not None else base
            results.append(Result("input", state.registers[base], None if seen is base else seen, base))
            continue
        if node is not base and _is_all_of(leaf, base) and owners[key] == 1:
            results.append(Result("array", len(roots)))
            roots.append(node)
            strides.append(state.orders.of_result(node, leaf._strides()))
            continue
        if key not in places:
            places[key] = len(roots)
            roots.append(base)
            strides.append(state.orders.of_result(base, None if cell is None else cell.strides))
        view = None if node is base else node
        results.append(Result("array", places[key], view, base, leaf._scalar, node.type.weak))
    for node in state.pending_calls():
        if node not in roots:
            roots.append(node)
            strides.append(None)
    graph, registers = Graph(tuple(inputs), tuple(roots), tuple(strides)), tuple(range(len(inputs)))
    if stores and len(graph.nodes()) > _MOST_NODES_WITH_STORES:
        raise Untraceable(f"its loops are unrolled to {len(graph.nodes())} operations")
    if state.cuts:
        graph, registers = state.graph_of(roots, strides)
    return Traced(
        graph,
        arguments,
        tuple(captures.arrays),
        tuple(results),
        structure,
        tuple(state.host_calls),
        tuple(written),
        stores,
        tuple(state.cuts),
        registers,
        tuple(state.given),
        scope,
        state.draws > 0,
        bool(captures.state),
    )


def _memory_of(leaf: Any) -> Any:
    """What is the same for results that share memory."""
    if not isinstance(leaf, Tracer):
        return None
    return leaf._cell or (id(leaf) if leaf._is_array() else leaf._node)


def _is_all_of(leaf: Tracer, base: Node) -> bool:
    """Whether a view has the elements of an array that a kernel writes, each once and in ascending order of memory.

    Then the kernel can write the view's elements, and nobody has to make a view of the array.
    """
    node = leaf._node
    if base.op.kind not in _WRITTEN_BY_KERNELS or (node.type.size, node.dtype) != (base.type.size, base.dtype):
        return False
    return min(leaf._strides() or (0,)) >= 0


def _plain_result(leaf: Any) -> Result:
    if isinstance(leaf, Given):
        return Result("given", value=leaf.path)
    if isinstance(leaf, np.ndarray):
        raise Untraceable("returns an array that does not depend on its arguments")
    if isinstance(leaf, (int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, slice, range)):
        return Result("value", value=leaf)
    raise Untraceable(f"returns a value of type {type(leaf).__name__}")
