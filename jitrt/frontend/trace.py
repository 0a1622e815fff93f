"""Tracing a call: from a Python function and its arguments to a graph and a recipe for the result."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..base import collection
from ..base.arrays import is_writeable
from ..base.atwork import users_code
from ..base.dtypes import is_twin
from ..base.frozen import frozen, replaced
from ..errors import Untraceable, latest_control, watch_control
from ..ir.build import input_node
from ..ir.integers import Poly
from ..ir.node import Graph, Node, topological_order, type_of
from ..ir.ops.assumptions import assumption
from ..ir.ops.contractions import Call, writes_out
from ..ir.rounding import EXACT, Rounding
from ..ir.types import ArrayType
from ..values.frozen import is_frozen
from ..values.keys import GENERATORS, is_dynamic
from ..values.kinds import NAMED, OBJECT, Tree, rebuild
from ..values.memory import steps_into_itself
from ..values.trees import data_in, fields_in, methods_in, nodes
from .context import tracing
from .forms import Form, check, encoding_of, form_of, of_own_class
from .graphbreaks import check_wait
from .numpy.draws import of_argument
from .numpy.modules import renew_all
from .numpy.scopes import Scope
from .numpy.silence import errors_end_trace, let_warnings_end_traces
from .numpy.tracer import Tracer
from .python.boundmethods import bound_again
from .python.captures import Capture, Captures
from .python.clones import Clones
from .python.elsewhere import Logger
from .python.sources import Sources
from .python.stores import Containers, Store
from .returned import Outputs, Result
from .rolling.conditions import Conditions
from .rolling.loopnumber import NotRolled, Place
from .segments import Execute, GraphBreak
from .state import Trace
from .storage import Cell

# Shapes and strides of inputs by their numbers.
Extents = Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]

# What a function that stores values may be unrolled to: such a loop may well be the whole simulation, called once.
_MOST_NODES_WITH_STORES = 1000


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
    structure : Tree
        Nesting of the result.
    stores : tuple of Store
        What the function changes in the objects, dicts and lists that it was given.
    host_calls : tuple of (name, line)
        Calls left to NumPy, with the user's lines.
    written : tuple of (int, int)
        Inputs that the function writes into, and the number of the output that each has to hold afterwards.
    breaks : tuple of GraphBreak
        Where the function looked at values. The graph is what remains to be computed afterwards.
    registers : tuple of int
        Where the values of the inputs of the graph are.
    values : tuple
        What the registers held at the end of the trace.
    scope : Scope, optional
        The error state under which the graph is computed.
    draws : bool
        Whether random numbers are drawn.
    forms : tuple of (int, Form)
        Inputs that are no ordinary arrays.
    fields : frozenset of int
        Inputs that are fields of arrays of records.
    data : frozenset of int
        Inputs that are the data of masked arrays.
    sizes : tuple of (Poly, int)
        The extents on which views depend that are results, and for each the number of the output that it is.
    recorded : int
        How much was recorded, also of what is not computed.
    """

    graph: Graph
    arguments: tuple[int, ...]
    captured: tuple[Capture, ...]
    results: tuple[Result, ...]
    structure: Tree
    host_calls: tuple[tuple[str, str], ...]
    written: tuple[tuple[int, int], ...]
    stores: tuple[Store, ...] = ()
    breaks: tuple[GraphBreak, ...] = ()
    registers: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()
    scope: Scope | None = None
    draws: bool = False
    forms: tuple[tuple[int, Form], ...] = ()
    fields: frozenset[int] = frozenset()
    data: frozenset[int] = frozenset()
    sizes: tuple[tuple[Poly, int], ...] = ()
    recorded: int = 0

    def __repr__(self) -> str:
        return f"<trace: breaks={len(self.breaks)}, {self.graph!r}>"


@frozen(eq=False)
class Request:
    """A call that is to be traced.

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
    answers : dict
        Gets what calls have given that NumPy has made to learn their types, for a run that follows with the same
        values.
    extents : mapping of int to (tuple, tuple), optional
        Shapes and strides of inputs, by their numbers, in place of those of their values.
    numbers : mapping of int to Extent, optional
        What stands for integers, by the numbers of their leaves, which are inputs that nothing reads.
    rounding : Rounding, optional
        In what results may differ from the function's.
    """

    function: Callable[..., Any]
    leaves: list[Any]
    structure: Tree
    captures: Captures
    sharing: Sequence[int] | None = None
    execute: Execute | None = None
    unsteady: bool = False
    changing: bool = False
    integers: Collection[int] = ()
    memory: dict[Hashable, Any] | None = None
    answers: dict[Call, Any] = field(default_factory=dict)
    extents: Extents = field(default_factory=dict)
    numbers: Mapping[int, Any] = field(default_factory=dict)
    rounding: Rounding = EXACT

    @property
    def arguments(self) -> tuple[int, ...]:
        """The numbers of the leaves that are inputs."""
        return tuple(k for k, leaf in enumerate(self.leaves) if is_dynamic(leaf) or k in self.integers)


def trace(request: Request) -> Traced:
    """Run the function of a call on tracers.

    Raises
    ------
    Untraceable
        If the function has to run as plain NumPy.
    IntegerWanted
        If it needs the values of some of the integers.
    Exception
        Whatever the function itself raises.
    """
    excepted: set[Place] = set()
    while True:
        request.answers.clear()
        try:
            # Classes know their subclasses: copies of the user's are soon gone if the collector finds them young.
            with collection.paused() if _copies_classes(request) else contextlib.nullcontext():
                return _trace_once(request, excepted)
        except NotRolled as failed:
            excepted.add(failed.place)


def _copies_classes(request: Request) -> bool:
    return bool(request.captures.classes) or any(kind is OBJECT for kind, *_ in nodes(request.structure))


def _trace_once(request: Request, excepted: set[Place]) -> Traced:
    """Run the function on tracers, where nothing is assumed about the loops `excepted`."""
    captures = request.captures
    originals = [request.leaves[k] for k in request.arguments] + [c.read() for c in captures.arrays]
    forms = [form_of(value) for value in originals]
    inputs, state = _begin(request, list(map(of_own_class, originals)), excepted)
    state.has_forms = any(forms)
    symbols = _symbols(request, originals, inputs, state)
    tuples = (what for kind, what, _ in nodes(request.structure) if kind is NAMED)
    if captures.sets_attributes and any(kind.__dictoffset__ for kind in tuples):
        raise Untraceable("may set an attribute of a named tuple, which has a dict, too")
    clones, given = _stand_ins(request, originals, symbols, state)
    containers = Containers(given, clones.given())
    _check_classes(request, clones)
    for value in containers.objects():
        if (stand_in := clones.class_of(type(value))) is not type(value):
            object.__setattr__(value, "__class__", stand_in)  # also where it is frozen
    if methods_in(request.structure):
        given = bound_again(given, clones.given())
        containers = Containers(given, clones.given())
    conditions = Conditions(state)
    state.loops.decide = conditions.decide
    let_warnings_end_traces()
    watch_control(True)
    try:
        with tracing(state), users_code(), errors_end_trace():
            result = clones.of(request.function)(*given[0], **given[1])
        _check_nothing_swallowed(state)
    except (Exception, Untraceable) as error:
        conditions.check(error)
        _check_control()
        state.aliases.check_error(error)
        _forget_values(state)
        if isinstance(error, TypeError):  # perhaps of C code that takes no integers but Python's own, as deque's limit
            state.want_all_integers()
        if isinstance(error, Untraceable):
            error.operations = state.effects.position
        raise
    finally:
        watch_control(False)
    conditions.check(None)
    if state.calls.draws:  # of which the run will have others
        request.answers.clear()
    if clones.have_been_changed():
        raise Untraceable("sets an attribute of what is no argument")
    traced = _describe(result, containers, inputs, symbols, request, state)
    _forget_values(state)
    if state.has_forms:
        traced = replaced(traced, forms=tuple((k, form) for k, form in enumerate(forms) if form is not None))
    fields, data = fields_in(request.structure), data_in(request.structure)
    if fields or data:
        numbers = {leaf: number for number, leaf in enumerate(request.arguments)}
        found = [frozenset(numbers[leaf] for leaf in leaves if leaf in numbers) for leaves in (fields, data)]
        traced = replaced(traced, fields=found[0], data=found[1])
    return traced


def _begin(request: Request, given: Sequence[Any], excepted: set[Place]) -> tuple[list[Node], Trace]:
    """The inputs of the graph, whose values are `given`, and a trace that has recorded nothing."""
    captures, extents = request.captures, request.extents
    inputs = [
        input_node(number, _input_type(value, extents.get(number)), encoding_of(value))
        for number, value in enumerate(given)
    ]
    # Integers that are captured are numbered behind the leaves.
    numbers = [*request.arguments, *range(len(request.leaves), len(request.leaves) + len(captures.arrays))]
    integers = {node: k for node, k, value in zip(inputs, numbers, given) if type(value) is int}
    strides = {k: value.strides for k, value in enumerate(given) if isinstance(value, np.ndarray)}
    strides.update((k, own) for k, (_, own) in extents.items())
    return inputs, Trace(
        inputs,
        given,
        strides,
        request.execute,
        request.unsteady or request.changing,
        captures.floats if request.changing else None,
        integers,
        request.memory,
        request.answers,
        excepted,
        extents if extents or request.numbers else None,
    )


def _symbols(request: Request, originals: Sequence[Any], inputs: list[Node], state: Trace) -> list[Tracer]:
    """The tracers of the inputs; inputs that are the same memory have one."""
    symbols: list[Tracer] = []
    for number, (node, original) in enumerate(zip(inputs, originals)):
        if request.sharing is not None and request.sharing[number] < number:
            symbols.append(symbols[request.sharing[number]])
            continue
        array, form = isinstance(original, np.ndarray), form_of(original)
        own = request.extents[number][1] if number in request.extents else getattr(original, "strides", ())
        cell = Cell(node, own, is_writeable(original), form=form) if array else None
        symbols.append(Tracer(node, state, isinstance(original, np.generic), cell))
        symbols[-1]._is_given = True
        if array and steps_into_itself(node.shape, own, original.itemsize):
            state.aliases.lend(symbols[-1])  # an element that is written is seen through others
    return symbols


def _stand_ins(
    request: Request, originals: Sequence[Any], symbols: Sequence[Tracer], state: Trace
) -> tuple[Clones, tuple[Any, Any, Any]]:
    """What the function runs with: copies of functions and classes, its arguments, and the objects that it names."""
    captures, arguments = request.captures, request.arguments
    symbolic = list(request.leaves)
    for symbol, k in zip(symbols, arguments):
        symbolic[k] = request.numbers.get(k, symbol)
    for k, leaf in enumerate(request.leaves):
        if type(leaf) in GENERATORS:
            symbolic[k] = of_argument(k, leaf)
        elif type(leaf) is logging.Logger:
            symbolic[k] = Logger(leaf)
    outside = list(zip(captures.arrays, originals[len(arguments) :], symbols[len(arguments) :]))
    by_array = {id(value): symbol for capture, value, symbol in outside if not capture.is_number}
    by_place = {capture.place: symbol for capture, _, symbol in outside}
    if request.rounding.wide_constants:  # NumPy would compute with what is frozen, in its own precision
        symbolic = [_lifted(leaf, state) if _is_constant(leaf) else leaf for leaf in symbolic]
        by_place |= {c.place: _lifted(c.value, state) for c in captures.values if _is_constant(c.value)}
    makes_copies = not captures.asks_for_classes
    clones = Clones(by_array, captures.codes, captures.refused, makes_copies, by_place, captures.texts)
    given = rebuild(request.structure, map(clones.of_leaf, symbolic), clones.make)
    with tracing(state):
        clones.stand_for(captures.containers(), given[2])
    state.named = given[2]

    def namespace() -> Any:
        renew_all(np)
        return clones.of(np)

    state.namespace = namespace
    state.through = Sources().call
    return clones, given


def _is_constant(value: Any) -> bool:
    return type(value) is np.ndarray and is_frozen(value)


def _lifted(array: np.ndarray, state: Trace) -> Tracer:
    """The tracer of an array that is a constant of the graph."""
    node = state.lift(array)
    return Tracer(node, state, cell=Cell(node, writable=False))


def _check_classes(request: Request, clones: Clones) -> None:
    """Raise `Untraceable` where the function could tell copies of classes from the classes."""
    captures = request.captures
    has_classes = captures.holds_classes or any(
        isinstance(leaf, type) and clones.class_of(leaf) is leaf for leaf in request.leaves
    )
    if captures.sets_attributes and has_classes:
        raise Untraceable("sets attributes, perhaps of a class, of which there is no copy")
    if captures.methods_read and captures.asks_for_classes:
        raise Untraceable("asks for the class of an object, and methods read what may change")
    refused = [reason for value, reason in captures.refused.values() if not isinstance(value, type)]
    if not refused and captures.refused and any("__class__" in code.co_names for code in captures.codes):
        refused = [reason for _, reason in captures.refused.values()]  # it is none of what stands for these
    if refused and captures.asks_for_classes:
        raise Untraceable(refused[0])


def _forget_values(state: Trace) -> None:
    """Let arrays be freed at once: a trace lives until garbage collection."""
    state.registers.forget_values()
    state.breaks.made.clear()


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


def _input_type(value: Any, extents: tuple[tuple[int, ...], tuple[int, ...]] | None) -> ArrayType:
    type_ = type_of(value) if extents is None else ArrayType(type_of(value).dtype, extents[0])
    of_fields = isinstance(value, np.ndarray) and value.dtype.names is not None
    if type_.dtype.kind not in "biufcmM" or of_fields or is_twin(getattr(value, "dtype", type_.dtype)):
        raise Untraceable(f"uses an array of {type_.dtype}, which has no kernels")
    if not encoding_of(value):
        return type_
    if type_.dtype.char in "gG":
        raise Untraceable(f"uses an array of {type_.dtype} in a layout that has no kernels")
    return ArrayType(np.dtype(type_.dtype.newbyteorder("=").str), type_.shape)


def _describe(
    result: Any,
    containers: Containers,
    inputs: list[Node],
    symbols: list[Tracer],
    request: Request,
    state: Trace,
) -> Traced:
    """What the trace in `state` has found, of which `result` is what the function returned."""
    flat: list[Any] = []
    structure, stores = containers.stores(result, flat)
    for leaf in flat:
        if isinstance(leaf, Tracer):
            leaf._gather_now()  # which may compute others, too
    cells = {symbol._cell for symbol in symbols}
    for leaf in flat if state.has_forms else ():
        if isinstance(leaf, Tracer) and leaf._cell not in cells:
            check(leaf._form(), "it returns a copy")
    state.aliases.check(flat, {symbol._cell: node for symbol, node in zip(symbols, inputs)})
    scope = state.phases.settle()
    plain = [leaf for leaf in flat if type(leaf) is np.ndarray]
    if any(np.may_share_memory(x, y) for k, x in enumerate(plain) for y in plain[:k]):
        raise Untraceable("returns arrays that share memory and do not depend on its arguments")
    outputs = Outputs(inputs, state)
    if state.conditions:  # what the graph checks comes first, before it computes anything in vain
        outputs.add(assumption(state.conditions))
    written = outputs.written(symbols)
    results = outputs.results(flat)
    sizes = outputs.sizes(results)
    read = set(topological_order(outputs.roots, state.registers.places))
    for node in state.calls.pending():
        if node not in outputs.roots and not (node in read and writes_out(node)):
            outputs.add(node)
    for node in state.effects.forced(outputs.roots, state.registers.places):
        outputs.add(node)
    roots, strides = outputs.roots, outputs.strides
    graph, registers = Graph(tuple(inputs), tuple(roots), tuple(strides)), tuple(range(len(inputs)))
    if stores and len(graph.nodes()) > _MOST_NODES_WITH_STORES:
        raise Untraceable(f"its loops are unrolled to {len(graph.nodes())} operations")
    if state.breaks.made:
        graph, registers = state.breaks.graph_of(roots, strides)
    check_wait(graph)
    return Traced(
        graph,
        request.arguments,
        tuple(request.captures.arrays),
        tuple(results),
        structure,
        tuple(state.calls.noted),
        tuple(written),
        stores,
        tuple(state.breaks.made),
        registers,
        tuple(state.registers.given),
        scope,
        state.calls.draws > 0,
        sizes=sizes,
        recorded=state.effects.position,
    )
